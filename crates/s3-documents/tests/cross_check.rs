//! A second reader, `aws_lambda_events`, finds the same objects and events in the good examples.

use aws_lambda_events::eventbridge::EventBridgeEvent;
use aws_lambda_events::s3::S3Event;
use aws_lambda_events::sns::SnsEvent;
use aws_lambda_events::sqs::SqsEvent;
use s3_documents::encoding::decode_form;
use s3_documents::notification::{Agent, Deletion, Delivery, Record, parse_delivery};
use serde_json::Value;

mod support;

/// Bucket, key, version id, and name of what happened.
type Seen = (String, String, Option<String>, String);

/// Through the other reader's types; nothing of ours but the decoding of keys, which it leaves to its user.
fn theirs(text: &str) -> Vec<Seen> {
    let document: Value = match serde_json::from_str(text) {
        Ok(document) => document,
        // The one message of the mixed batch that must fail.
        Err(_) => return Vec::new(),
    };
    if document["Event"] == "s3:TestEvent" {
        return Vec::new();
    }
    if document["Type"] == "Notification" {
        return theirs(document["Message"].as_str().unwrap());
    }
    if document["source"] == "aws.s3" {
        let event: EventBridgeEvent<Value> = serde_json::from_str(text).unwrap();
        let object = &event.detail["object"];
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let name = match &event.detail["deletion-type"] {
            Value::Null => event.detail_type,
            kind => text(kind).unwrap(),
        };
        let bucket = text(&event.detail["bucket"]["name"]).unwrap();
        return vec![(
            bucket,
            text(&object["key"]).unwrap(),
            text(&object["version-id"]),
            name,
        )];
    }
    let first = &document["Records"][0];
    if first["eventSource"] == "aws:sqs" {
        let batch: SqsEvent = serde_json::from_str(text).unwrap();
        return batch
            .records
            .iter()
            .flat_map(|message| theirs(message.body.as_ref().unwrap()))
            .collect();
    }
    if first["EventSource"] == "aws:sns" {
        let batch: SnsEvent = serde_json::from_str(text).unwrap();
        return batch
            .records
            .iter()
            .flat_map(|record| theirs(&record.sns.message))
            .collect();
    }
    let event: S3Event = serde_json::from_str(text).unwrap();
    let seen = event.records.into_iter().map(|record| {
        let object = record.s3.object;
        let key = decode_form(&object.key.unwrap()).unwrap().into_owned();
        (
            record.s3.bucket.name.unwrap(),
            key,
            object.version_id,
            record.event_name.unwrap(),
        )
    });
    seen.collect()
}

/// Through our reader, with the name put together again from its parts.
fn ours(payload: &[u8], event_bridge: bool) -> Vec<Seen> {
    let records: Vec<Record> = match parse_delivery(payload).unwrap() {
        Delivery::Direct(records) => records.into_iter().map(Result::unwrap).collect(),
        Delivery::Queue(messages) => messages
            .into_iter()
            .filter_map(|m| m.result.ok())
            .flatten()
            .collect(),
        Delivery::Scheduled => panic!("none of the examples is a schedule"),
    };
    let seen = records.into_iter().filter_map(|record| match record {
        Record::TestEvent => None,
        Record::Created(created) => Some((
            created.bucket,
            created.key,
            created.version_id,
            "ObjectCreated".to_owned(),
        )),
        Record::Other(other) => Some((
            other.bucket.unwrap(),
            other.key.unwrap(),
            other.version_id,
            other.event_name,
        )),
        Record::Deleted(deleted) => {
            let (family, kinds) = match (event_bridge, deleted.agent) {
                (true, _) => ("", ["Permanently Deleted", "Delete Marker Created"]),
                (false, Agent::Lifecycle) => ("LifecycleExpiration:", ["Delete", "DeleteMarkerCreated"]),
                (false, _) => ("ObjectRemoved:", ["Delete", "DeleteMarkerCreated"]),
            };
            let kind = kinds[usize::from(deleted.what == Deletion::MarkerCreated)];
            Some((
                deleted.bucket,
                deleted.key,
                deleted.version_id,
                format!("{family}{kind}"),
            ))
        }
    });
    seen.collect()
}

#[test]
fn both_readers_see_the_same_in_every_good_example() {
    let (mut files, mut records) = (0, 0);
    for file in std::fs::read_dir(support::events()).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "json") {
            continue;
        }
        let payload = std::fs::read(&path).unwrap();
        let text = std::str::from_utf8(&payload).unwrap();
        let mut theirs = theirs(text);
        for (.., name) in &mut theirs {
            // We keep that something was created, not how.
            if name.starts_with("ObjectCreated:") {
                *name = "ObjectCreated".to_owned();
            }
        }
        let event_bridge = text.contains("\"aws.s3\"");
        assert_eq!(ours(&payload, event_bridge), theirs, "{}", path.display());
        files += 1;
        records += theirs.len();
    }
    assert!(files >= 30 && records >= 40, "{files} files, {records} records");
}
