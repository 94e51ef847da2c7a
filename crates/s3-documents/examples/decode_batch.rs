//! How long a batch takes: 10,000 SQS messages of S3 notifications, read by this crate and by `aws_lambda_events`.
//!
//! `cargo run --release -p s3-documents --example decode_batch`

use std::time::Instant;

use aws_lambda_events::s3::S3Event;
use aws_lambda_events::sqs::SqsEvent;
use s3_documents::notification::{Delivery, Record, parse_delivery};
use serde_json::json;

const MESSAGES: usize = 10_000;
const ROUNDS: usize = 15;

fn main() {
    let payload = batch();
    let megabytes = payload.len() as f64 / 1e6;
    println!("{MESSAGES} messages, {megabytes:.1} MB; the best of {ROUNDS} rounds");
    report("s3-documents", megabytes, || ours(&payload));
    report("aws_lambda_events", megabytes, || theirs(&payload));
}

fn report(name: &str, megabytes: f64, read: impl Fn() -> usize) {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        assert_eq!(read(), MESSAGES, "{name} must find every deletion");
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("{name:18} {:6.1} ms  {:5.0} MB/s", best * 1e3, megabytes / best);
}

fn ours(payload: &[u8]) -> usize {
    let Ok(Delivery::Queue(messages)) = parse_delivery(payload) else {
        return 0;
    };
    let records = messages
        .into_iter()
        .filter_map(|message| message.result.ok())
        .flatten();
    records
        .filter(|record| matches!(record, Record::Deleted(deleted) if !deleted.key.is_empty()))
        .count()
}

fn theirs(payload: &[u8]) -> usize {
    let Ok(batch) = serde_json::from_slice::<SqsEvent>(payload) else {
        return 0;
    };
    let bodies = batch.records.iter().filter_map(|message| message.body.as_deref());
    let events = bodies.filter_map(|body| serde_json::from_str::<S3Event>(body).ok());
    events
        .flat_map(|event| event.records)
        .filter(|record| record.s3.object.key.is_some())
        .count()
}

fn batch() -> Vec<u8> {
    let messages: Vec<_> = (0..MESSAGES)
        .map(|i| {
            let body = json!({"Records": [{
                "eventVersion": "2.1", "eventSource": "aws:s3", "awsRegion": "eu-west-1",
                "eventTime": "2026-03-14T09:26:53.589Z", "eventName": "ObjectRemoved:DeleteMarkerCreated",
                "userIdentity": {"principalId": "AWS:AROAEXAMPLEFLINKTM000:flink-taskmanager"},
                "requestParameters": {"sourceIPAddress": "10.20.30.40"},
                "responseElements": {"x-amz-request-id": "C3D13FE58DE4C810",
                    "x-amz-id-2": "EXAMPLEid2/abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789="},
                "s3": {"s3SchemaVersion": "1.0", "configurationId": "state-guard",
                    "bucket": {"name": "flink-state", "ownerIdentity": {"principalId": "A3EXAMPLEOWNER1"},
                        "arn": "arn:aws:s3:::flink-state"},
                    "object": {"key": format!("checkpoints/7c1f0a5de3b94c60a1d2f4e8b6093a17/shared/{i:08x}-58c1-4f7e-9b2a-6e1d4c7f8a90"),
                        "eTag": "d41d8cd98f00b204e9800998ecf8427e", "versionId": "Pq8vT0nZc1xW5bLmE7yRkA2dUoJ4sHgF",
                        "sequencer": format!("0066F1A2B3{i:08X}")}}}]});
            json!({
                "messageId": format!("{i:08x}-60d9-56a5-a078-1f6a7e7737e7"), "receiptHandle": "AQEBexampleReceiptHandle==",
                "body": body.to_string(),
                "attributes": {"ApproximateReceiveCount": "1", "SentTimestamp": "1773480413589",
                    "SenderId": "AIDAEXAMPLES3SERVICE1", "ApproximateFirstReceiveTimestamp": "1773480413601"},
                "messageAttributes": {}, "md5OfBody": "9d0a2224b40e6580217379b7b9581802", "eventSource": "aws:sqs",
                "eventSourceARN": "arn:aws:sqs:eu-west-1:111122223333:flink-state-events", "awsRegion": "eu-west-1",
            })
        })
        .collect();
    json!({"Records": messages}).to_string().into_bytes()
}
