//! From the bytes of a call or of a message to its records: the envelopes.

use serde::Deserialize;

use super::attributes::Attributes;
use super::record::{self, Detail, S3Entity, UserIdentity};
use super::{Delivery, Message, Record};
use crate::error::{DocumentError, Place, Problem};
use crate::tolerant::{Field, List, MAX_ENTRIES, Node};

/// Any document that can arrive, with the fields of all envelopes side by side: one pass reads each of them, and what a
/// document is gets decided from what it says of itself.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Document<'a> {
    #[serde(rename = "Records", borrow)]
    records: List<Node<Entry<'a>>>,
    // s3:TestEvent
    #[serde(rename = "Event", borrow)]
    event: Field<'a>,
    // SNS
    #[serde(rename = "Type", borrow)]
    kind: Field<'a>,
    #[serde(rename = "TopicArn", borrow)]
    topic: Field<'a>,
    #[serde(rename = "Message", borrow)]
    message: Field<'a>,
    // EventBridge
    #[serde(borrow)]
    source: Field<'a>,
    #[serde(rename = "detail-type", borrow)]
    detail_type: Field<'a>,
    #[serde(borrow)]
    time: Field<'a>,
    #[serde(borrow)]
    region: Field<'a>,
    #[serde(borrow)]
    resources: List<Field<'a>>,
    #[serde(borrow)]
    detail: Node<Detail<'a>>,
}

/// One entry of `Records`: of S3, SQS or SNS.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Entry<'a> {
    #[serde(borrow)]
    event_source: Field<'a>,
    // SQS
    #[serde(borrow)]
    message_id: Field<'a>,
    #[serde(borrow)]
    body: Field<'a>,
    #[serde(borrow)]
    message_attributes: Node<Attributes<'a>>,
    // SNS, which writes its names with capitals
    #[serde(rename = "EventSource", borrow)]
    sns_source: Field<'a>,
    #[serde(rename = "Sns", borrow)]
    sns: Node<Sns<'a>>,
    // S3
    #[serde(borrow)]
    event_version: Field<'a>,
    #[serde(borrow)]
    event_name: Field<'a>,
    #[serde(borrow)]
    event_time: Field<'a>,
    #[serde(borrow)]
    aws_region: Field<'a>,
    #[serde(borrow)]
    user_identity: Node<UserIdentity<'a>>,
    #[serde(borrow)]
    s3: Node<S3Entity<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Sns<'a> {
    #[serde(rename = "Message", borrow)]
    message: Field<'a>,
}

/// A problem of one record, with its number from 1.
type RecordProblem = (usize, Problem);

/// Reads the payload of a Lambda call in any of the ways described in [`crate::notification`].
///
/// # Errors
/// The payload as a whole can't be used: no JSON, no envelope that we know, or an SQS message that can't be named. Then
/// the call must fail. Faults of one record or message are in the [`Delivery`].
pub fn parse_delivery(payload: &[u8]) -> Result<Delivery, DocumentError> {
    let whole = |problem| DocumentError::new(Place::Call, problem);
    let text = std::str::from_utf8(payload).map_err(|e| whole(e.into()))?;
    let document = read(text).map_err(whole)?;
    if let List::Items(entries) = &document.records
        && entries.iter().any(is_from_queue)
    {
        return queue(entries).map_err(whole);
    }
    if document.detail_type.text() == Some("Scheduled Event")
        && matches!(document.source.text(), Some("aws.events" | "aws.scheduler"))
    {
        return Ok(Delivery::Scheduled);
    }
    let records = records_of(&document, 0).map_err(whole)?;
    let named = |(number, problem)| DocumentError {
        place: Place::Call,
        record: Some(number),
        problem,
    };
    Ok(Delivery::Direct(
        records.into_iter().map(|record| record.map_err(named)).collect(),
    ))
}

/// Reads the body of one message as it stands in an SQS queue: a notification, an SNS envelope of one, an
/// EventBridge event, or `s3:TestEvent`.
///
/// # Errors
/// The body can't be used, or one of its records; the first fault is named.
pub fn parse_body(body: &[u8]) -> Result<Vec<Record>, DocumentError> {
    let whole = |problem| DocumentError::new(Place::Body, problem);
    let text = std::str::from_utf8(body).map_err(|e| whole(e.into()))?;
    all_records(text).map_err(|(record, problem)| DocumentError {
        place: Place::Body,
        record,
        problem,
    })
}

fn read(text: &str) -> Result<Document<'_>, Problem> {
    let document: Node<Document<'_>> = serde_json::from_str(text)?;
    match document {
        Node::Object(document) => Ok(document),
        Node::Missing => Err(Problem::UnknownEnvelope {
            why: "there is nothing".to_owned(),
        }),
        Node::Other(what) => Err(Problem::UnknownEnvelope {
            why: format!("it is {what}, not an object"),
        }),
    }
}

fn is_from_queue(entry: &Node<Entry<'_>>) -> bool {
    entry
        .object()
        .is_ok_and(|entry| entry.event_source.text() == Some("aws:sqs"))
}

fn queue(entries: &[Node<Entry<'_>>]) -> Result<Delivery, Problem> {
    let mut messages = Vec::with_capacity(entries.len());
    for (number, entry) in (1..).zip(entries) {
        let Ok(entry) = entry.object() else {
            return Err(Problem::NoMessageId { number });
        };
        let Some(id) = entry.message_id.filled() else {
            return Err(Problem::NoMessageId { number });
        };
        let result = match entry.body.text() {
            Some(body) => all_records(body),
            None => Err((None, needed_field("body", &entry.body, "the text of the message"))),
        };
        let attributes = entry.message_attributes.object();
        messages.push(Message {
            message_id: id.to_owned(),
            body: entry.body.text().unwrap_or_default().to_owned(),
            attributes: attributes.map(Attributes::texts).unwrap_or_default(),
            result: result.map_err(|(record, problem)| DocumentError {
                place: Place::Message {
                    number,
                    id: id.to_owned(),
                },
                record,
                problem,
            }),
        });
    }
    Ok(Delivery::Queue(messages))
}

/// The records of one body, all good or the first fault.
fn all_records(text: &str) -> Result<Vec<Record>, (Option<usize>, Problem)> {
    let records = records_of_text(text, 0).map_err(|problem| (None, problem))?;
    records
        .into_iter()
        .collect::<Result<_, _>>()
        .map_err(|(number, problem)| (Some(number), problem))
}

fn records_of_text(text: &str, depth: u8) -> Result<Vec<Result<Record, RecordProblem>>, Problem> {
    records_of(&read(text)?, depth)
}

/// `depth` counts the SNS envelopes around the document.
fn records_of(document: &Document<'_>, depth: u8) -> Result<Vec<Result<Record, RecordProblem>>, Problem> {
    match &document.records {
        List::Items(entries) => return entry_records(entries, depth),
        List::TooMany => return Err(Problem::TooManyEntries { limit: MAX_ENTRIES }),
        List::Other(what) => {
            return Err(Problem::UnknownEnvelope {
                why: format!("its `Records` is {what}, not a list"),
            });
        }
        List::Missing => {}
    }
    if document.event.text() == Some("s3:TestEvent") {
        return Ok(vec![Ok(Record::TestEvent)]);
    }
    match document.kind.text() {
        Some("Notification") => return sns_records(&document.message, "Message", depth),
        Some("SubscriptionConfirmation" | "UnsubscribeConfirmation") => {
            let topic = document.topic.filled().unwrap_or("an unnamed topic").to_owned();
            return Err(Problem::SubscriptionNotConfirmed { topic });
        }
        _ => {}
    }
    if matches!(document.source, Field::Missing) && matches!(document.detail_type, Field::Missing) {
        let why =
            "it has none of `Records`, `Event`, `Type`, `source` and `detail-type` in a form that is known";
        return Err(Problem::UnknownEnvelope { why: why.to_owned() });
    }
    match document.source.text() {
        Some("aws.s3") => {}
        Some(other) => {
            return Err(Problem::UnknownSource {
                field: "source",
                source_name: other.to_owned(),
            });
        }
        None => return Err(needed_field("source", &document.source, "`aws.s3`")),
    }
    let record = record::from_event_bridge(&record::EventBridge {
        detail_type: &document.detail_type,
        time: &document.time,
        region: &document.region,
        resources: &document.resources,
        detail: &document.detail,
    });
    Ok(vec![record.map_err(|problem| (1, problem))])
}

fn entry_records(
    entries: &[Node<Entry<'_>>],
    depth: u8,
) -> Result<Vec<Result<Record, RecordProblem>>, Problem> {
    let mut records = Vec::with_capacity(entries.len());
    for (number, entry) in (1..).zip(entries) {
        let entry = match entry.object() {
            Ok(entry) => entry,
            Err(found) => {
                records.push(Err((
                    number,
                    Problem::Field {
                        field: "Records[]",
                        found,
                        needed: "an object",
                    },
                )));
                continue;
            }
        };
        if entry.sns_source.text() != Some("aws:sns") {
            records.push(notification(entry).map_err(|problem| (number, problem)));
            continue;
        }
        let message = match entry.sns.object() {
            Ok(sns) => sns_records(&sns.message, "Sns.Message", depth),
            Err(found) => Err(Problem::Field {
                field: "Sns",
                found,
                needed: "an object",
            }),
        };
        match message {
            Ok(inner) => records.extend(
                inner
                    .into_iter()
                    .map(|record| record.map_err(|(_, problem)| (number, problem))),
            ),
            Err(problem) => records.push(Err((number, problem))),
        }
    }
    Ok(records)
}

fn sns_records(
    message: &Field<'_>,
    field: &'static str,
    depth: u8,
) -> Result<Vec<Result<Record, RecordProblem>>, Problem> {
    if depth > 0 {
        return Err(Problem::NestedEnvelope);
    }
    match message.text() {
        Some(text) => records_of_text(text, depth + 1),
        None => Err(needed_field(field, message, "the text of the notification")),
    }
}

fn notification(entry: &Entry<'_>) -> Result<Record, Problem> {
    record::from_notification(&record::Notification {
        event_source: &entry.event_source,
        event_version: &entry.event_version,
        event_name: &entry.event_name,
        event_time: &entry.event_time,
        region: &entry.aws_region,
        user_identity: &entry.user_identity,
        s3: &entry.s3,
    })
}

pub(super) fn needed_field(field: &'static str, value: &Field<'_>, needed: &'static str) -> Problem {
    Problem::Field {
        field,
        found: value.found(),
        needed,
    }
}
