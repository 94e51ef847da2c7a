//! One record: from the fields of a notification or an EventBridge event to what happened.

use std::borrow::Cow;

use serde::Deserialize;

use super::envelope::needed_field;
use super::{Agent, CreatedObject, DeletedObject, Deletion, OtherEvent, Record, Source};
use crate::encoding::decode_form;
use crate::error::Problem;
use crate::timestamp::parse_timestamp;
use crate::tolerant::{Field, List, Node};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct UserIdentity<'a> {
    #[serde(rename = "principalId", borrow)]
    principal_id: Field<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct S3Entity<'a> {
    #[serde(borrow)]
    bucket: Node<Bucket<'a>>,
    #[serde(borrow)]
    object: Node<Object<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Bucket<'a> {
    #[serde(borrow)]
    name: Field<'a>,
    #[serde(borrow)]
    arn: Field<'a>,
}

/// Notifications write `versionId` and `eTag`, EventBridge `version-id` and `etag`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Object<'a> {
    #[serde(borrow)]
    key: Field<'a>,
    #[serde(borrow)]
    size: Field<'a>,
    #[serde(rename = "eTag", alias = "etag", borrow)]
    etag: Field<'a>,
    #[serde(rename = "versionId", alias = "version-id", borrow)]
    version_id: Field<'a>,
    #[serde(borrow)]
    sequencer: Field<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub(super) struct Detail<'a> {
    #[serde(borrow)]
    event_version: Field<'a>,
    #[serde(borrow)]
    bucket: Node<Bucket<'a>>,
    #[serde(borrow)]
    object: Node<Object<'a>>,
    #[serde(borrow)]
    requester: Field<'a>,
    #[serde(borrow)]
    reason: Field<'a>,
    #[serde(borrow)]
    deletion_type: Field<'a>,
}

/// The fields of a notification's record.
pub(super) struct Notification<'r, 'a> {
    pub(super) event_source: &'r Field<'a>,
    pub(super) event_version: &'r Field<'a>,
    pub(super) event_name: &'r Field<'a>,
    pub(super) event_time: &'r Field<'a>,
    pub(super) region: &'r Field<'a>,
    pub(super) user_identity: &'r Node<UserIdentity<'a>>,
    pub(super) s3: &'r Node<S3Entity<'a>>,
}

/// The fields of an EventBridge event.
pub(super) struct EventBridge<'r, 'a> {
    pub(super) detail_type: &'r Field<'a>,
    pub(super) time: &'r Field<'a>,
    pub(super) region: &'r Field<'a>,
    pub(super) resources: &'r List<Field<'a>>,
    pub(super) detail: &'r Node<Detail<'a>>,
}

/// The object of an event, with what both kinds of event tell about it.
struct Subject<'r> {
    bucket: &'r str,
    key: Cow<'r, str>,
    version_id: &'r Field<'r>,
    size: Option<u64>,
    etag: Option<String>,
    sequencer: Option<String>,
    event_time: Option<i64>,
    region: Option<String>,
    source: Source,
}

pub(super) fn from_notification(record: &Notification<'_, '_>) -> Result<Record, Problem> {
    // AWS writes aws:s3; Ceph, MinIO and others put their own name before the colon.
    match record.event_source.text() {
        Some(source) if source.ends_with(":s3") => {}
        Some(source) => {
            return Err(Problem::UnknownSource {
                field: "eventSource",
                source_name: source.to_owned(),
            });
        }
        None => {
            return Err(needed_field(
                "eventSource",
                record.event_source,
                "the name of an S3",
            ));
        }
    }
    check_version("eventVersion", record.event_version, 2, "2.x")?;
    let Some(name) = record.event_name.text() else {
        return Err(needed_field(
            "eventName",
            record.event_name,
            "the name of what happened",
        ));
    };
    // AWS leaves the prefix out, MinIO doesn't.
    let name = name.strip_prefix("s3:").unwrap_or(name);
    let what = match name {
        "ObjectRemoved:Delete" | "LifecycleExpiration:Delete" => Some(Deletion::Removed),
        "ObjectRemoved:DeleteMarkerCreated" | "LifecycleExpiration:DeleteMarkerCreated" => {
            Some(Deletion::MarkerCreated)
        }
        _ => None,
    };
    if what.is_none() && !name.starts_with("ObjectCreated:") {
        return Ok(other(
            name,
            record.s3.object().ok().map(|s3| (&s3.bucket, &s3.object)),
            true,
        ));
    }

    let s3 = record.s3.object().map_err(|found| object_needed("s3", found))?;
    let bucket = s3
        .bucket
        .object()
        .map_err(|found| object_needed("s3.bucket", found))?;
    let object = s3
        .object
        .object()
        .map_err(|found| object_needed("s3.object", found))?;
    let Some(name_of_bucket) = bucket.name.filled() else {
        return Err(needed_field(
            "s3.bucket.name",
            &bucket.name,
            "the name of the bucket",
        ));
    };
    check_arn(name_of_bucket, std::slice::from_ref(&bucket.arn))?;
    let Some(key) = object.key.filled() else {
        return Err(needed_field(
            "s3.object.key",
            &object.key,
            "the key of the object",
        ));
    };
    let subject = Subject {
        key: decode_form(key).map_err(|source| Problem::Key {
            key: key.to_owned(),
            source,
        })?,
        ..subject(
            name_of_bucket,
            object,
            record.event_time,
            record.region,
            Source::Notification,
        )
    };
    let agent = if name.starts_with("LifecycleExpiration:") {
        Agent::Lifecycle
    } else {
        match record
            .user_identity
            .object()
            .ok()
            .and_then(|identity| identity.principal_id.filled())
        {
            Some(principal) => Agent::Principal(principal.to_owned()),
            None => Agent::Unknown,
        }
    };
    let Some(what) = what else {
        return Ok(created(subject, agent));
    };
    deleted(subject, what, agent, "s3.object.versionId")
}

pub(super) fn from_event_bridge(event: &EventBridge<'_, '_>) -> Result<Record, Problem> {
    let Some(detail_type) = event.detail_type.text() else {
        return Err(needed_field(
            "detail-type",
            event.detail_type,
            "the name of what happened",
        ));
    };
    let is_deleted = detail_type == "Object Deleted";
    if !is_deleted && detail_type != "Object Created" {
        let detail = event.detail.object().ok();
        return Ok(other(
            detail_type,
            detail.map(|detail| (&detail.bucket, &detail.object)),
            false,
        ));
    }
    let detail = event
        .detail
        .object()
        .map_err(|found| object_needed("detail", found))?;
    // The field came in 2026; events before it, and many copies of S3, have none.
    if !matches!(detail.event_version, Field::Missing) {
        check_version("detail.event-version", &detail.event_version, 1, "1.x")?;
    }
    let bucket = detail
        .bucket
        .object()
        .map_err(|found| object_needed("detail.bucket", found))?;
    let object = detail
        .object
        .object()
        .map_err(|found| object_needed("detail.object", found))?;
    let Some(name_of_bucket) = bucket.name.filled() else {
        return Err(needed_field(
            "detail.bucket.name",
            &bucket.name,
            "the name of the bucket",
        ));
    };
    if let List::Items(resources) = event.resources {
        check_arn(name_of_bucket, resources)?;
    }
    let Some(key) = object.key.filled() else {
        return Err(needed_field(
            "detail.object.key",
            &object.key,
            "the key of the object",
        ));
    };
    let subject = Subject {
        key: Cow::Borrowed(key),
        ..subject(
            name_of_bucket,
            object,
            event.time,
            event.region,
            Source::EventBridge,
        )
    };
    if !is_deleted {
        let requester = detail.requester.filled().map(str::to_owned);
        return Ok(created(subject, requester.map_or(Agent::Unknown, Agent::Account)));
    }
    let what = match detail.deletion_type.text() {
        Some("Permanently Deleted") => Deletion::Removed,
        Some("Delete Marker Created") => Deletion::MarkerCreated,
        _ => Deletion::Unspecified,
    };
    let agent = match (detail.reason.text(), detail.requester.filled()) {
        (Some("Lifecycle Expiration"), _) => Agent::Lifecycle,
        (Some("DeleteObject"), Some(requester)) => Agent::Account(requester.to_owned()),
        _ => Agent::Unknown,
    };
    deleted(subject, what, agent, "detail.object.version-id")
}

fn subject<'r>(
    bucket: &'r str,
    object: &'r Object<'_>,
    time: &Field<'_>,
    region: &Field<'_>,
    source: Source,
) -> Subject<'r> {
    let is_hex = |text: &&str| text.bytes().all(|b| b.is_ascii_hexdigit());
    Subject {
        bucket,
        key: Cow::Borrowed(""),
        version_id: &object.version_id,
        size: match object.size {
            Field::Unsigned(size) => Some(size),
            Field::Missing | Field::Text(_) | Field::Other(_) => None,
        },
        etag: object.etag.filled().map(|etag| etag.trim_matches('"').to_owned()),
        sequencer: object.sequencer.filled().filter(is_hex).map(str::to_owned),
        event_time: time.text().and_then(parse_timestamp),
        region: region.filled().map(str::to_owned),
        source,
    }
}

fn deleted(
    subject: Subject<'_>,
    what: Deletion,
    agent: Agent,
    field: &'static str,
) -> Result<Record, Problem> {
    // With or without a version id, a permanent deletion means two different things: an id of the wrong kind can't be
    // taken for none.
    let version_id = match subject.version_id {
        Field::Text(id) if !id.is_empty() => Some(id.clone().into_owned()),
        Field::Missing | Field::Text(_) | Field::Other("null") => None,
        wrong @ (Field::Unsigned(_) | Field::Other(_)) => {
            return Err(needed_field(field, wrong, "a version id, or nothing,"));
        }
    };
    Ok(Record::Deleted(DeletedObject {
        bucket: subject.bucket.to_owned(),
        key: subject.key.into_owned(),
        version_id,
        what,
        agent,
        event_time: subject.event_time,
        sequencer: subject.sequencer,
        region: subject.region,
        source: subject.source,
    }))
}

fn created(subject: Subject<'_>, agent: Agent) -> Record {
    Record::Created(CreatedObject {
        bucket: subject.bucket.to_owned(),
        key: subject.key.into_owned(),
        version_id: subject.version_id.filled().map(str::to_owned),
        size: subject.size,
        etag: subject.etag,
        event_time: subject.event_time,
        sequencer: subject.sequencer,
        region: subject.region,
        source: subject.source,
        agent,
    })
}

/// Nothing depends on such an event, so nothing in it can fail.
fn other(name: &str, about: Option<(&Node<Bucket<'_>>, &Node<Object<'_>>)>, form_encoded: bool) -> Record {
    let bucket = about.and_then(|(bucket, _)| bucket.object().ok());
    let object = about.and_then(|(_, object)| object.object().ok());
    let key = object.and_then(|object| object.key.filled()).and_then(|key| {
        if form_encoded {
            decode_form(key).ok().map(Cow::into_owned)
        } else {
            Some(key.to_owned())
        }
    });
    Record::Other(OtherEvent {
        event_name: name.to_owned(),
        bucket: bucket.and_then(|bucket| bucket.name.filled()).map(str::to_owned),
        key,
        version_id: object
            .and_then(|object| object.version_id.filled())
            .map(str::to_owned),
    })
}

fn object_needed(field: &'static str, found: &'static str) -> Problem {
    Problem::Field {
        field,
        found,
        needed: "an object",
    }
}

/// Majors must be equal; a greater minor only adds fields.
fn check_version(
    field: &'static str,
    version: &Field<'_>,
    major: u32,
    known: &'static str,
) -> Result<(), Problem> {
    let found = match version.text() {
        Some(text) if text.split('.').next().and_then(|digits| digits.parse().ok()) == Some(major) => {
            return Ok(());
        }
        Some(text) => format!("{text:?}"),
        None => version.found().to_owned(),
    };
    Err(Problem::UnknownVersion { field, found, known })
}

/// Refuses if ARNs are there and none of them is that of the bucket. What is no ARN says nothing.
fn check_arn(bucket: &str, arns: &[Field<'_>]) -> Result<(), Problem> {
    let mut mismatch = None;
    for arn in arns.iter().filter_map(Field::text) {
        // arn:partition:s3:region:account:bucket
        let mut parts = arn.splitn(6, ':');
        if parts.next() != Some("arn") {
            continue;
        }
        match parts.nth(4) {
            Some(name) if name == bucket => return Ok(()),
            Some(_) => mismatch = mismatch.or(Some(arn)),
            None => {}
        }
    }
    match mismatch {
        Some(arn) => Err(Problem::BucketMismatch {
            bucket: bucket.to_owned(),
            arn: arn.to_owned(),
        }),
        None => Ok(()),
    }
}
