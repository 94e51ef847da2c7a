//! S3 events: which object was deleted or created, by whom and when.
//!
//! An event reaches a function in one of these ways, told apart by what the envelope says of itself, never by trying
//! one shape after another:
//!
//! | way | seen from |
//! | --- | --- |
//! | S3 → Lambda | `Records[].eventSource` ends in `:s3` |
//! | S3 → SQS → Lambda | `Records[].eventSource` is `aws:sqs`; `body` holds the notification |
//! | S3 → SNS → Lambda | `Records[].EventSource` is `aws:sns`; `Sns.Message` holds it |
//! | S3 → SNS → SQS | as SQS; `body` is an SNS envelope, or with raw delivery the notification itself |
//! | EventBridge → Lambda, or → SQS | `source` is `aws.s3`, and `detail-type` |
//!
//! Reading is lenient on what no decision needs and strict on what one does. A deletion needs the bucket, the key, the
//! name of the event and a known major version; a time that is none, a missing principal or a negative size only lower
//! what is known. S3 delivers at least once and in no order: duplicates are kept, and [`compare_sequencers`] orders the
//! events of one key.

mod attributes;
mod envelope;
mod record;

use std::cmp::Ordering;
use std::collections::BTreeMap;

pub use envelope::{parse_body, parse_delivery};

use crate::error::DocumentError;

/// The payload of one Lambda call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery {
    /// An asynchronous call by S3, SNS or EventBridge. Each record stands by itself, so that a bad one doesn't hide the
    /// good ones. Empty if the payload says that nothing happened.
    Direct(Vec<Result<Record, DocumentError>>),
    /// A batch of an SQS queue, in the order of the batch. Failures are reported by message.
    Queue(Vec<Message>),
    /// EventBridge's clock: a rule with a schedule, or the EventBridge Scheduler with its default input. It names no
    /// object; it is the time for a sweep.
    Scheduled,
}

/// One message of an SQS batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// `messageId`, never empty: what `batchItemFailures[].itemIdentifier` must hold if the message failed.
    pub message_id: String,
    /// All records of the body, or why it can't be used; one bad record fails its whole message, and no other.
    pub result: Result<Vec<Record>, DocumentError>,
    /// The body as it came, for whoever sends the message on. Empty if there is no text.
    pub body: String,
    /// The message attributes that are texts or numbers, each as its text. SQS allows ten; more aren't kept.
    pub attributes: BTreeMap<String, String>,
}

/// What S3 says happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// An object, or one version of it, was deleted or hidden.
    Deleted(DeletedObject),
    /// An object was written.
    Created(CreatedObject),
    /// Anything else; no decision about deletions needs it.
    Other(OtherEvent),
    /// `s3:TestEvent`, which S3 sends when notifications are configured.
    TestEvent,
}

/// A deletion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletedObject {
    /// Name of the bucket.
    pub bucket: String,
    /// Literal key, decoded once. Not empty; it may end in `/` (a directory marker).
    pub key: String,
    /// For [`Deletion::MarkerCreated`] the id of the marker; for [`Deletion::Removed`] the id of the version that is
    /// gone. `null` is a real id: that of what was written while versioning wasn't enabled. `None`: not said.
    pub version_id: Option<String>,
    /// What kind of deletion.
    pub what: Deletion,
    /// Who did it, as far as the event tells.
    pub agent: Agent,
    /// Time of the deletion in milliseconds since the epoch, UTC, by S3's clock. EventBridge cuts it to seconds. `None`
    /// if the event has none that can be read.
    pub event_time: Option<i64>,
    /// Orders the events of this key, see [`compare_sequencers`]. Hexadecimal digits, else `None`.
    pub sequencer: Option<String>,
    /// The region of the bucket, such as `eu-west-1`; only for logs.
    pub region: Option<String>,
    /// Which of S3's two kinds of event this was.
    pub source: Source,
}

impl DeletedObject {
    /// Whether a version is gone for good: no marker hides it, it doesn't exist any more. Without a version id it was a
    /// bucket without versioning.
    #[must_use]
    pub fn is_purge(&self) -> bool {
        self.what == Deletion::Removed && self.version_id.is_some()
    }
}

/// The kinds of deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Deletion {
    /// A delete marker hides the object; its versions are still there.
    MarkerCreated,
    /// Removed for good: with a version id that version, without one the object of an unversioned bucket.
    Removed,
    /// EventBridge without a `deletion-type` that we know: only the bucket can tell.
    Unspecified,
}

/// Who deleted or wrote.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Agent {
    /// A lifecycle rule of the bucket: an event `LifecycleExpiration:*`, or EventBridge's reason `Lifecycle Expiration`.
    Lifecycle,
    /// `userIdentity.principalId` of a notification, such as `AWS:AROAEXAMPLE:session`; as it stands there. The service
    /// `s3.amazonaws.com` is such a principal too where the event's name isn't that of a lifecycle expiration.
    Principal(String),
    /// EventBridge's `requester`: an account, which tells no role.
    Account(String),
    /// The event doesn't say, or gives a reason that we don't know.
    Unknown,
}

/// The two kinds of event that S3 sends; they differ in how keys are written and in what they tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// A notification, `eventVersion` 2.x: form-encoded keys, names the principal.
    Notification,
    /// An EventBridge event: plain keys, names the account.
    EventBridge,
}

/// An object that was written: `ObjectCreated:*`, or EventBridge's `Object Created`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedObject {
    /// Name of the bucket.
    pub bucket: String,
    /// Literal key, decoded once. Not empty.
    pub key: String,
    /// Id of the new version; `None` without versioning.
    pub version_id: Option<String>,
    /// Size in bytes, if the event tells it.
    pub size: Option<u64>,
    /// ETag without quotes, if the event tells it.
    pub etag: Option<String>,
    /// Time of the write in milliseconds since the epoch, UTC.
    pub event_time: Option<i64>,
    /// Orders the events of this key, see [`compare_sequencers`].
    pub sequencer: Option<String>,
    /// The region of the bucket; only for logs.
    pub region: Option<String>,
    /// Which of S3's two kinds of event this was.
    pub source: Source,
    /// Who wrote it, as far as the event tells.
    pub agent: Agent,
}

/// An event that is neither a deletion nor a creation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherEvent {
    /// `eventName` without a leading `s3:`, or EventBridge's `detail-type`. May be empty.
    pub event_name: String,
    /// Name of the bucket, if there is one.
    pub bucket: Option<String>,
    /// Literal key, if there is one that can be decoded.
    pub key: Option<String>,
    /// Version id, if there is one.
    pub version_id: Option<String>,
}

impl OtherEvent {
    /// Whether an archived version was brought back (`ObjectRestore:Completed`) and can be copied now.
    #[must_use]
    pub fn is_thaw_completed(&self) -> bool {
        matches!(
            self.event_name.as_str(),
            "ObjectRestore:Completed" | "Object Restore Completed"
        )
    }

    /// Whether AWS documents an event of this name. One that isn't known deserves a warning: it may be a new kind of
    /// deletion.
    #[must_use]
    pub fn is_known(&self) -> bool {
        const FAMILIES: [&str; 7] = [
            "ObjectRestore",
            "ObjectTagging",
            "ObjectAcl",
            "ReducedRedundancyLostObject",
            "Replication",
            "LifecycleTransition",
            "IntelligentTiering",
        ];
        const DETAIL_TYPES: [&str; 8] = [
            "Object Restore Initiated",
            "Object Restore Completed",
            "Object Restore Expired",
            "Object Storage Class Changed",
            "Object Access Tier Changed",
            "Object ACL Updated",
            "Object Tags Added",
            "Object Tags Deleted",
        ];
        let family = self.event_name.split(':').next().unwrap_or_default();
        FAMILIES.contains(&family) || DETAIL_TYPES.contains(&self.event_name.as_str())
    }
}

/// Compares the sequencers of two events **of the same key**: the greater one happened later.
///
/// They are hexadecimal and of unequal length. As S3 prescribes, the shorter is filled with zeros on the right, then both are
/// compared as text. Letter case is ignored: notifications write capitals, EventBridge doesn't.
#[must_use]
pub fn compare_sequencers(left: &str, right: &str) -> Ordering {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    let digit = |of: &[u8], i: usize| of.get(i).map_or(b'0', u8::to_ascii_uppercase);
    (0..left.len().max(right.len()))
        .map(|i| digit(left, i).cmp(&digit(right, i)))
        .find(|o| o.is_ne())
        .unwrap_or(Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequencers_are_padded_on_the_right() {
        assert_eq!(compare_sequencers("0066F1A2", "0066F1A2B3"), Ordering::Less);
        assert_eq!(compare_sequencers("0066F1A3", "0066F1A2B3"), Ordering::Greater);
        assert_eq!(compare_sequencers("0066f1a2", "0066F1A200"), Ordering::Equal);
        assert_eq!(compare_sequencers("", "0"), Ordering::Equal);
    }

    #[test]
    fn an_event_of_an_unknown_name_is_told_from_a_documented_one() {
        let other = |name: &str| OtherEvent {
            event_name: name.into(),
            bucket: None,
            key: None,
            version_id: None,
        };
        assert!(other("ObjectRestore:Completed").is_known());
        assert!(other("ObjectRestore:Completed").is_thaw_completed());
        assert!(other("LifecycleTransition").is_known());
        assert!(other("Object Storage Class Changed").is_known());
        assert!(!other("ObjectRemoved:SomethingNew").is_known());
        assert!(!other("").is_known());
    }
}
