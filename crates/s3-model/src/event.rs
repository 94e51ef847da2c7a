//! What S3 says happened, in the forms in which it says it.

use std::sync::Arc;

use s3_documents::encoding::encode_form;
use serde_json::{Value, json};
use stayput_core::timestamp::Timestamp;
use stayput_core::version::VersionId;

use crate::object::Object;
use crate::world::{Hand, S3_ITSELF};

/// The ETag of no bytes, which events of markers carry.
const ETAG_OF_NOTHING: &str = "d41d8cd98f00b204e9800998ecf8427e";
const ACCOUNT: &str = "111122223333";
const REGION: &str = "eu-west-1";

/// One thing that happened to an object, as S3 tells it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// What.
    pub kind: EventKind,
    /// Name of the bucket.
    pub bucket: Arc<str>,
    /// The literal key; the forms encode it as S3 does.
    pub key: Arc<str>,
    /// The version that was written, or that is gone; of a marker the marker's own. `None` where versioning was never enabled.
    pub version: Option<VersionId>,
    /// Length in bytes of what was written; events of deletions have none.
    pub size: Option<u64>,
    /// ETag without quotes.
    pub etag: Option<String>,
    /// When it happened, to the millisecond.
    pub at: Timestamp,
    /// Who did it: `AWS:<unique id>:<session>`, or `s3.amazonaws.com` for what S3 does itself.
    pub principal: Arc<str>,
    /// Orders the events of a key: the later has the greater number.
    pub sequence: u64,
}

impl Event {
    /// The digits that order the events of a key. Their number differs, as with S3: they are compared after filling up with zeros on the right.
    pub fn sequencer(&self) -> String {
        let digits = format!("{:016X}", 0x0066_F1A2_0000_0000_u64.wrapping_add(self.sequence));
        digits.trim_end_matches('0').to_owned()
    }

    /// One S3 notification, as Lambda gets it or a queue's message has it as its body: form-encoded key, who did it, no account.
    /// `configuration` is the name of the bucket's notification configuration.
    pub fn notification(&self, configuration: &str) -> String {
        let by_rule = self.kind.is_by_rule();
        let address = if *self.principal == *S3_ITSELF {
            S3_ITSELF
        } else {
            "10.20.30.40"
        };
        let mut object = json!({ "key": encode_form(&self.key) });
        self.describe(&mut object, ["eTag", "versionId"]);
        if self.kind.has_sequencer() {
            object["sequencer"] = self.sequencer().into();
        }
        let mut record = json!({
            "eventVersion": if by_rule || matches!(self.kind, EventKind::TagsPut | EventKind::TagsDeleted) { "2.3" } else { "2.1" },
            "eventSource": "aws:s3",
            "awsRegion": REGION,
            "eventTime": with_millis(self.at),
            "eventName": self.kind.name(),
            "userIdentity": { "principalId": &*self.principal },
            "requestParameters": { "sourceIPAddress": address },
            "responseElements": { "x-amz-request-id": self.request_id(), "x-amz-id-2": self.request_id() },
            "s3": {
                "s3SchemaVersion": "1.0",
                "configurationId": configuration,
                "bucket": {
                    "name": &*self.bucket,
                    "ownerIdentity": { "principalId": "A3EXAMPLEOWNER1" },
                    "arn": format!("arn:aws:s3:::{}", self.bucket),
                },
                "object": object,
            },
        });
        match &self.kind {
            EventKind::Transitioned(class) => {
                record["lifecycleEventData"] =
                    json!({ "transitionEventData": { "destinationStorageClass": class } });
            }
            EventKind::ThawCompleted(class, until) => {
                record["glacierEventData"] = json!({ "restoreEventData": {
                    "lifecycleRestorationExpiryTime": with_millis(*until), "lifecycleRestoreStorageClass": class,
                } });
            }
            _ => {}
        }
        json!({ "Records": [record] }).to_string()
    }

    /// The same as an EventBridge event: plain key, seconds, an account in place of the principal.
    pub fn event_bridge(&self) -> String {
        let seconds = Timestamp::from_millis(self.at.millis().div_euclid(1000).saturating_mul(1000));
        let by_s3 = *self.principal == *S3_ITSELF;
        let mut object = json!({ "key": &*self.key });
        self.describe(&mut object, ["etag", "version-id"]);
        if self.kind.has_sequencer() {
            object["sequencer"] = self.sequencer().to_lowercase().into();
        }
        let mut detail = json!({
            "version": "0",
            "event-version": "1.1",
            "bucket": { "name": &*self.bucket },
            "object": object,
            "request-id": self.request_id(),
            "requester": if by_s3 { S3_ITSELF } else { ACCOUNT },
        });
        if !by_s3 {
            detail["source-ip-address"] = "10.20.30.40".into();
        }
        let mut say = |name: &str, value: &str| detail[name] = value.into();
        match &self.kind {
            EventKind::Put => say("reason", "PutObject"),
            EventKind::Copied => say("reason", "CopyObject"),
            EventKind::UploadCompleted => say("reason", "CompleteMultipartUpload"),
            EventKind::MarkerCreated | EventKind::Deleted => say("reason", "DeleteObject"),
            EventKind::MarkerCreatedByRule | EventKind::DeletedByRule => {
                say("reason", "Lifecycle Expiration");
            }
            EventKind::Transitioned(class) => say("destination-storage-class", class),
            EventKind::ThawBegun(class) | EventKind::ThawEnded(class) => say("source-storage-class", class),
            EventKind::ThawCompleted(class, until) => {
                say("source-storage-class", class);
                say("restore-expiry-time", &until.to_string());
            }
            EventKind::TagsPut | EventKind::TagsDeleted => {}
        }
        match &self.kind {
            EventKind::MarkerCreated | EventKind::MarkerCreatedByRule => {
                say("deletion-type", "Delete Marker Created");
            }
            EventKind::Deleted | EventKind::DeletedByRule => say("deletion-type", "Permanently Deleted"),
            _ => {}
        }
        json!({
            "version": "0",
            "id": format!("00000000-0000-4000-8000-{:012x}", self.sequence),
            "detail-type": self.kind.detail_type(),
            "source": "aws.s3",
            "account": ACCOUNT,
            "time": seconds.to_string(),
            "region": REGION,
            "resources": [format!("arn:aws:s3:::{}", self.bucket)],
            "detail": detail,
        })
        .to_string()
    }

    fn describe(&self, object: &mut Value, [etag, version]: [&str; 2]) {
        if let Some(size) = self.size {
            object["size"] = size.into();
        }
        if let Some(tag) = &self.etag {
            object[etag] = tag.as_str().into();
        }
        if let Some(id) = &self.version {
            object[version] = id.as_str().into();
        }
    }

    fn request_id(&self) -> String {
        format!("{:016X}", self.sequence)
    }
}

/// RFC 3339 with three digits of a second, as notifications write it.
fn with_millis(time: Timestamp) -> String {
    let millis = time.millis().rem_euclid(1000);
    let seconds = Timestamp::from_millis(time.millis().saturating_sub(millis)).to_string();
    format!("{}.{millis:03}Z", seconds.trim_end_matches('Z'))
}

/// What can happen to an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EventKind {
    /// PutObject.
    Put,
    /// CopyObject.
    Copied,
    /// CompleteMultipartUpload.
    UploadCompleted,
    /// Somebody's DELETE without a version id where versions are kept.
    MarkerCreated,
    /// Somebody removed a version, a marker, or the object of an unversioned bucket.
    Deleted,
    /// A rule hid the object.
    MarkerCreatedByRule,
    /// A rule removed a version, a marker, or the object of an unversioned bucket.
    DeletedByRule,
    /// A rule moved the version to this storage class.
    Transitioned(String),
    /// RestoreObject was accepted, for a version in this class.
    ThawBegun(String),
    /// The bytes can be read, until then.
    ThawCompleted(String, Timestamp),
    /// They can't be read any more.
    ThawEnded(String),
    /// PutObjectTagging.
    TagsPut,
    /// DeleteObjectTagging.
    TagsDeleted,
}

impl EventKind {
    /// `eventName` of a notification, as payloads have it: without `s3:`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Put => "ObjectCreated:Put",
            Self::Copied => "ObjectCreated:Copy",
            Self::UploadCompleted => "ObjectCreated:CompleteMultipartUpload",
            Self::MarkerCreated => "ObjectRemoved:DeleteMarkerCreated",
            Self::Deleted => "ObjectRemoved:Delete",
            Self::MarkerCreatedByRule => "LifecycleExpiration:DeleteMarkerCreated",
            Self::DeletedByRule => "LifecycleExpiration:Delete",
            Self::Transitioned(_) => "LifecycleTransition",
            Self::ThawBegun(_) => "ObjectRestore:Post",
            Self::ThawCompleted(..) => "ObjectRestore:Completed",
            Self::ThawEnded(_) => "ObjectRestore:Delete",
            Self::TagsPut => "ObjectTagging:Put",
            Self::TagsDeleted => "ObjectTagging:Delete",
        }
    }

    /// `detail-type` of an EventBridge event.
    pub fn detail_type(&self) -> &'static str {
        match self {
            Self::Put | Self::Copied | Self::UploadCompleted => "Object Created",
            Self::MarkerCreated | Self::Deleted | Self::MarkerCreatedByRule | Self::DeletedByRule => {
                "Object Deleted"
            }
            Self::Transitioned(_) => "Object Storage Class Changed",
            Self::ThawBegun(_) => "Object Restore Initiated",
            Self::ThawCompleted(..) => "Object Restore Completed",
            Self::ThawEnded(_) => "Object Restore Expired",
            Self::TagsPut => "Object Tags Added",
            Self::TagsDeleted => "Object Tags Deleted",
        }
    }

    fn is_marker(&self) -> bool {
        matches!(self, Self::MarkerCreated | Self::MarkerCreatedByRule)
    }

    fn is_by_rule(&self) -> bool {
        matches!(
            self,
            Self::MarkerCreatedByRule | Self::DeletedByRule | Self::Transitioned(_)
        )
    }

    /// Whether the order of writes and deletions of a key is told by a sequencer.
    fn has_sequencer(&self) -> bool {
        !matches!(
            self,
            Self::Transitioned(_) | Self::ThawBegun(_) | Self::ThawCompleted(..) | Self::ThawEnded(_)
        )
    }
}

/// What happened, before it is known who did it, and when.
pub(crate) struct Told {
    kind: EventKind,
    key: Arc<str>,
    version: Option<VersionId>,
    size: Option<u64>,
    etag: Option<String>,
}

impl Told {
    pub(crate) fn of(
        kind: EventKind,
        key: &str,
        version: Option<VersionId>,
        object: Option<&Object>,
    ) -> Self {
        let etag = match object {
            Some(object) => Some(object.etag.trim_matches('"').to_owned()),
            None => kind.is_marker().then(|| ETAG_OF_NOTHING.to_owned()),
        };
        Self {
            kind,
            key: key.into(),
            version,
            size: object.map(|o| o.content.len()),
            etag,
        }
    }

    pub(crate) fn happened(self, bucket: &Arc<str>, hand: Hand<'_>) -> Event {
        Event {
            kind: self.kind,
            bucket: Arc::clone(bucket),
            key: self.key,
            version: self.version,
            size: self.size,
            etag: self.etag,
            at: hand.world.now(),
            principal: Arc::clone(hand.principal),
            sequence: hand.world.next_event(),
        }
    }
}
