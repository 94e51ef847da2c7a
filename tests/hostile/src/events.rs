//! What must hold of any bytes that are read as a notification.

use s3_documents::notification::{Delivery, Record, parse_body, parse_delivery};
use serde_json::json;

use crate::document_error::check_error;
use crate::memory::bounded;

/// Of a document of this many bytes the reading takes at most so much. A list has at most 10,000 entries, and of each of
/// them the fields of all envelopes are held side by side.
fn most(bytes: &[u8]) -> usize {
    16 * bytes.len() + 16 * 1024 * 1024
}

/// Reads bytes as the payload of a call and as the body of a message; then as a body within the envelopes of SQS and SNS,
/// where it must mean the same. Gives whether it is a payload.
///
/// # Panics
/// Something doesn't hold.
pub fn check(bytes: &[u8]) -> bool {
    let delivery = bounded("payload", most(bytes), || parse_delivery(bytes));
    match &delivery {
        Ok(Delivery::Direct(records)) => {
            for record in records {
                match record {
                    Ok(record) => check_record(record),
                    Err(error) => check_error(error),
                }
            }
        }
        Ok(Delivery::Queue(messages)) => {
            for message in messages {
                assert!(!message.message_id.is_empty());
                match &message.result {
                    Ok(records) => records.iter().for_each(check_record),
                    Err(error) => check_error(error),
                }
            }
        }
        Ok(Delivery::Scheduled) => {}
        Err(error) => check_error(error),
    }
    let body = bounded("body", most(bytes), || parse_body(bytes));
    if let Err(error) = &body {
        check_error(error);
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        check_in_envelopes(text, body.as_ref().ok());
    }
    delivery.is_ok()
}

fn check_record(record: &Record) {
    match record {
        Record::Deleted(deleted) => {
            assert!(!deleted.bucket.is_empty() && !deleted.key.is_empty());
        }
        Record::Created(created) => {
            assert!(!created.bucket.is_empty() && !created.key.is_empty());
        }
        Record::Other(_) | Record::TestEvent => {}
    }
}

fn check_in_envelopes(body: &str, records: Option<&Vec<Record>>) {
    let sns =
        json!({"Type": "Notification", "TopicArn": "arn:aws:sns:eu-west-1:1:t", "Message": body}).to_string();
    for body in [body, &sns] {
        let queue = json!({"Records": [
            {"eventSource": "aws:sqs", "messageId": "before", "body": "{}"},
            {"eventSource": "aws:sqs", "messageId": "it", "body": body},
        ]});
        let Ok(Delivery::Queue(messages)) = parse_delivery(queue.to_string().as_bytes()) else {
            panic!("a batch is a batch, whatever lies in its messages");
        };
        let [_, message] = messages.as_slice() else {
            panic!("{} messages of two", messages.len());
        };
        match (&message.result, records) {
            (Ok(within), Some(records)) => assert_eq!(within, records),
            (Err(error), _) => {
                check_error(error);
                // One level of SNS is read, so only what lies in SNS already may be refused in it.
                assert!(records.is_none() || parse_body(sns.as_bytes()).is_err());
            }
            (Ok(_), None) => panic!("it is read within an envelope and not by itself"),
        }
    }
}
