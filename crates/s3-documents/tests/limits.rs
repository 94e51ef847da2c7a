//! The largest that can arrive: 6 MB of payload, 10,000 messages, envelopes in envelopes. Each is read in little time, or refused.

use std::time::{Duration, Instant};

use s3_documents::notification::{Delivery, Record, parse_body, parse_delivery};
use serde_json::{Value, json};

/// The largest payload of a synchronous call of a Lambda, which is what a queue makes.
const LARGEST: usize = 6 << 20;

fn deletion(key: &str) -> Value {
    json!({
        "eventVersion": "2.1", "eventSource": "aws:s3", "eventName": "ObjectRemoved:Delete",
        "eventTime": "2026-11-28T10:00:00Z", "userIdentity": {"principalId": "AWS:A:x"},
        "s3": {"bucket": {"name": "b"}, "object": {"key": key}},
    })
}

fn sns(body: &str) -> String {
    json!({"Type": "Notification", "TopicArn": "arn:aws:sns:eu-west-1:1:t", "Message": body}).to_string()
}

fn event_bridge(detail: &Value) -> String {
    json!({"source": "aws.s3", "detail-type": "Object Deleted", "time": "2026-11-28T10:00:00Z", "detail": detail}).to_string()
}

fn queue(bodies: impl IntoIterator<Item = String>) -> Vec<u8> {
    let messages: Vec<Value> = bodies
        .into_iter()
        .enumerate()
        .map(|(n, body)| json!({"eventSource": "aws:sqs", "messageId": format!("m{n}"), "body": body}))
        .collect();
    json!({"Records": messages}).to_string().into_bytes()
}

/// What this thread has had of a processor: other things on the machine don't count. Where Linux doesn't say it, the time.
fn processor_time(began: Instant) -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|n| n.parse().ok());
    nanoseconds.map_or_else(|| began.elapsed(), Duration::from_nanos)
}

/// Reads a payload without being at it for long.
fn soon<R>(what: &str, read: impl FnOnce() -> R) -> R {
    let began = Instant::now();
    let before = processor_time(began);
    let result = read();
    let took = processor_time(began).saturating_sub(before);
    // Generous: it is read in less than a second, and ten times slower without optimization.
    assert!(took < Duration::from_secs(15), "{what} took {took:?}");
    result
}

#[test]
fn ten_thousand_messages_are_read_and_one_more_is_refused() {
    let body = json!({"Records": [deletion("k")]}).to_string();
    let payload = queue(std::iter::repeat_n(body.clone(), 10_000));
    let Ok(Delivery::Queue(messages)) = soon("10,000 messages", || parse_delivery(&payload)) else {
        panic!("it is a batch");
    };
    assert_eq!(messages.len(), 10_000);
    assert!(
        messages
            .iter()
            .all(|m| m.result.as_ref().is_ok_and(|records| records.len() == 1))
    );
    let payload = queue(std::iter::repeat_n(body, 10_001));
    let error = parse_delivery(&payload).unwrap_err().to_string();
    assert!(error.contains("10000"), "{error}");
}

#[test]
fn ten_thousand_records_in_one_message_are_read_and_one_more_is_refused() {
    let body = |n: usize| json!({"Records": vec![deletion("k"); n]}).to_string();
    let records = soon("10,000 records", || parse_body(body(10_000).as_bytes())).unwrap();
    assert_eq!(records.len(), 10_000);
    assert!(parse_body(body(10_001).as_bytes()).is_err());
}

#[test]
fn a_payload_of_six_megabytes_is_read_whatever_fills_it() {
    let filler = "k".repeat(LARGEST);
    // One key; one text that nobody needs; one text where an envelope belongs; a name of a field; numbers; white space.
    let payloads = [
        json!({"Records": [deletion(&filler)]}).to_string(),
        json!({"Records": [deletion("k")], "more": filler}).to_string(),
        json!({"Records": [{"eventSource": "aws:sqs", "messageId": "m", "body": filler}]}).to_string(),
        json!({"Records": [deletion("k")], filler.clone(): 1}).to_string(),
        format!(
            "{{\"Records\":[{}],\"more\":[{}1]}}",
            deletion("k"),
            "1,".repeat(LARGEST / 2)
        ),
        format!("{{\"Records\":[{}]}}{}", deletion("k"), " ".repeat(LARGEST)),
    ];
    for (number, payload) in payloads.iter().enumerate() {
        let read = soon(&format!("payload {number}"), || {
            parse_delivery(payload.as_bytes())
        });
        let Ok(delivery) = read else {
            panic!("payload {number} is refused");
        };
        match delivery {
            Delivery::Direct(records) => assert_eq!(records.len(), 1, "payload {number}"),
            Delivery::Queue(messages) => {
                let error = messages[0].result.as_ref().unwrap_err().to_string();
                assert!(error.len() < 2_000, "an error of {} bytes", error.len());
            }
            Delivery::Scheduled => panic!("payload {number} is no schedule"),
        }
    }
}

#[test]
fn envelopes_in_envelopes_are_refused_and_not_followed() {
    let body = json!({"Records": [deletion("k")]}).to_string();
    assert!(
        parse_body(sns(&body).as_bytes()).is_ok(),
        "one level is how it comes"
    );
    assert!(parse_body(sns(&sns(&body)).as_bytes()).is_err());
    // Each level escapes the one within, so that twelve are a megabyte of backslashes.
    let mut nested = body;
    for _ in 0..12 {
        nested = sns(&nested);
    }
    let error = soon("twelve levels", || parse_body(nested.as_bytes()))
        .unwrap_err()
        .to_string();
    assert!(error.len() < 2_000 && error.contains("SNS"), "{error}");
    // SNS in SQS in EventBridge: an event of another service is no event of S3, and is never opened.
    let in_queue = String::from_utf8(queue([sns("{}")])).unwrap();
    let outer = event_bridge(&json!({"bucket": {"name": "b"}, "object": {"key": "k"}, "inner": in_queue}));
    let records = parse_body(outer.as_bytes()).unwrap();
    assert!(matches!(records.as_slice(), [Record::Deleted(deleted)] if deleted.key == "k"));
    let in_records = json!({"Records": [{"eventSource": "aws:sqs", "messageId": "m", "body": in_queue}]});
    let Ok(Delivery::Queue(messages)) = parse_delivery(in_records.to_string().as_bytes()) else {
        panic!("it is a batch");
    };
    assert!(messages[0].result.is_err(), "a batch in a message of a batch");
}

#[test]
fn an_error_is_one_short_line_whatever_the_document_says() {
    let long = "\u{1b}[2J\n\u{85}\u{2028}\"".repeat(100_000);
    let faults = [
        json!({"Records": [{"eventSource": long}]}),
        json!({"Records": [{"eventSource": "aws:s3", "eventVersion": long}]}),
        json!({"Records": [{"eventSource": "aws:sqs", "messageId": long, "body": "{"}]}),
        json!({"source": long, "detail-type": "x"}),
        json!({"Type": "SubscriptionConfirmation", "TopicArn": long}),
        json!({"Records": [{"eventVersion": "2.1", "eventSource": "aws:s3", "eventName": "ObjectRemoved:Delete",
            "s3": {"bucket": {"name": "b", "arn": format!("arn:aws:s3:::{long}")}, "object": {"key": "k"}}}]}),
        json!({"Records": [{"eventVersion": "2.1", "eventSource": "aws:s3", "eventName": "ObjectRemoved:Delete",
            "s3": {"bucket": {"name": "b"}, "object": {"key": format!("%{long}")}}}]}),
    ];
    for (number, fault) in faults.iter().enumerate() {
        let errors: Vec<String> = match parse_delivery(fault.to_string().as_bytes()) {
            Err(error) => vec![error.to_string()],
            Ok(Delivery::Direct(records)) => records
                .into_iter()
                .filter_map(|r| r.err().map(|e| e.to_string()))
                .collect(),
            Ok(Delivery::Queue(messages)) => messages
                .into_iter()
                .filter_map(|m| m.result.err().map(|e| e.to_string()))
                .collect(),
            Ok(Delivery::Scheduled) => Vec::new(),
        };
        assert!(!errors.is_empty(), "fault {number} is none");
        for error in errors {
            assert!(error.len() < 4_000, "fault {number}: {} bytes", error.len());
            assert!(
                !error.contains(|c: char| c.is_control() || c == '\u{2028}'),
                "fault {number}: {error:?}"
            );
        }
    }
}
