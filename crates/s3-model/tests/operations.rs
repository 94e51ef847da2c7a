//! S3's operations as clients call them: what goes wrong on their way, and what takes time. What any S3 answers is told by the conformance suite.

use std::time::Duration;

use s3_documents::bucket::Versioning;
use s3_model::operations::{Condition, Copy, Operations, Put, Read};
use s3_model::{
    Content, Destination, ErrorCode, Fault, Form, Model, ModelBucket, Object, Retention, RetentionMode, Tier,
};
use stayput_core::timestamp::Timestamp;
use stayput_guard::port::{PortErrorKind, Reading};

fn at(time: &str) -> Timestamp {
    Timestamp::parse(time).unwrap()
}

fn world() -> (Model, ModelBucket, Operations) {
    let model = Model::new(at("2026-11-28T10:00:00Z"));
    let bucket = model.create_bucket("flink-state", Versioning::Enabled);
    let operations = model
        .another_client()
        .acting_as("AWS:AROAFLINK:tm")
        .on_bucket("flink-state");
    (model, bucket, operations)
}

#[test]
fn a_client_is_throttled_denied_and_left_without_an_answer() {
    let (model, bucket, _) = world();
    let client = model.another_client();
    let flink = client.on_bucket("flink-state");
    client.plan(Fault::code(ErrorCode::SlowDown).on("PutObject").times(2));
    assert_eq!(flink.put("a", b"1"), Err(ErrorCode::SlowDown));
    assert_eq!(flink.put("a", b"1"), Err(ErrorCode::SlowDown));
    assert!(flink.put("a", b"1").is_ok());
    client.plan(Fault::code(ErrorCode::RequestTimeout).on("DeleteObject"));
    assert_eq!(flink.delete("a"), Err(ErrorCode::RequestTimeout));
    assert!(bucket.is_visible("a"), "it had no effect");
    client.plan(
        Fault::code(ErrorCode::RequestTimeout)
            .on("DeleteObject")
            .after_the_effect(),
    );
    assert_eq!(flink.delete("a"), Err(ErrorCode::RequestTimeout));
    assert!(!bucket.is_visible("a"), "it had");
    client.plan(Fault::answers(PortErrorKind::Denied).on("GetObject").always());
    assert_eq!(flink.get("a", &Read::default()), Err(ErrorCode::AccessDenied));
    client.plan(Fault::code(ErrorCode::InternalError).on("ListObjectVersions"));
    assert_eq!(
        flink.list_versions("", false, None, 9),
        Err(ErrorCode::InternalError)
    );
    let requests: Vec<_> = client
        .calls()
        .iter()
        .map(|c| (c.operation, c.pages, c.error.is_some()))
        .collect();
    assert_eq!(
        requests,
        [
            ("PutObject", 0, true),
            ("PutObject", 0, true),
            ("PutObject", 1, false),
            ("DeleteObject", 0, true),
            ("DeleteObject", 1, true),
            ("GetObject", 0, true),
            ("ListObjectVersions", 0, true),
        ]
    );
    assert_eq!(
        client.on_bucket("nobody-made-it").delete("a"),
        Err(ErrorCode::NoSuchBucket)
    );
}

#[test]
fn a_batch_goes_well_though_some_of_its_keys_do_not() {
    let (model, bucket, _) = world();
    let client = model.another_client();
    let flink = client.on_bucket("flink-state");
    let keys: Vec<String> = (0..6).map(|n| format!("shared/{n}")).collect();
    for key in &keys {
        bucket.put(key, b"1");
    }
    client.plan(Fault::code(ErrorCode::InternalError).in_batches().key("shared/2"));
    client.plan(
        Fault::code(ErrorCode::SlowDown)
            .in_batches()
            .key("shared/4")
            .after_the_effect(),
    );
    let all: Vec<_> = keys.iter().map(|key| key.as_str().into()).collect();
    let answers = flink.delete_all(&all).unwrap();
    let told: Vec<_> = answers
        .iter()
        .map(|answer| answer.as_ref().err().copied())
        .collect();
    assert_eq!(
        told,
        [
            None,
            None,
            Some(ErrorCode::InternalError),
            None,
            Some(ErrorCode::SlowDown),
            None
        ]
    );
    assert_eq!(
        bucket.visible_keys(),
        ["shared/2"],
        "the fourth is gone though it says it isn't"
    );
    assert_eq!(client.all_requests(), 1);
}

#[test]
fn who_dies_in_the_middle_of_a_batch_has_done_half_of_it() {
    let (model, bucket, _) = world();
    let client = model.another_client();
    let keys: Vec<String> = (0..6).map(|n| format!("shared/{n}")).collect();
    for key in &keys {
        bucket.put(key, b"1");
    }
    client.plan(Fault::crash().in_batches().from_nth(4));
    let all: Vec<_> = keys.iter().map(|key| key.as_str().into()).collect();
    assert!(client.on_bucket("flink-state").delete_all(&all).is_err());
    assert!(client.has_crashed() && client.calls()[0].crashed);
    assert_eq!(bucket.visible_keys(), ["shared/3", "shared/4", "shared/5"]);
    assert!(
        client.on_bucket("flink-state").delete("shared/3").is_err(),
        "nobody calls any more"
    );
}

#[test]
fn events_of_operations_name_the_client() {
    let (_, bucket, flink) = world();
    let events = bucket.subscribe(Destination::new(Form::Notification));
    flink.put("a", b"1").unwrap();
    flink.copy("b", &Copy::of("a")).unwrap();
    flink.delete("a").unwrap();
    bucket.acting_as("AWS:AIDASOMEBODY").delete("b");
    let told: Vec<String> = events
        .arrived()
        .iter()
        .map(|m| format!("{} {}", m.event.kind.name(), m.event.principal))
        .collect();
    assert_eq!(
        told,
        [
            "ObjectCreated:Put AWS:AROAFLINK:tm",
            "ObjectCreated:Copy AWS:AROAFLINK:tm",
            "ObjectRemoved:DeleteMarkerCreated AWS:AROAFLINK:tm",
            "ObjectRemoved:DeleteMarkerCreated AWS:AIDASOMEBODY",
        ]
    );
}

#[tokio::test]
async fn an_archived_version_is_readable_hours_later_and_for_some_days() {
    let (model, bucket, flink) = world();
    let events = bucket.subscribe(Destination::new(Form::Notification).on("s3:ObjectRestore:*"));
    let id = bucket.put("cold", Object::new(b"state").in_class("DEEP_ARCHIVE"));
    bucket.delete("cold");
    let which = ("cold", &id);
    assert_eq!(
        flink.get(which, &Read::default()),
        Err(ErrorCode::InvalidObjectState)
    );
    assert_eq!(
        flink.restore(which, 3, Tier::Expedited),
        Err(ErrorCode::InvalidArgument)
    );
    assert_eq!(flink.restore(which, 3, Tier::Standard), Ok(false));
    assert_eq!(
        flink.restore(which, 3, Tier::Standard),
        Err(ErrorCode::RestoreAlreadyInProgress)
    );
    let restore = || flink.head(which, &Read::default()).unwrap().restore;
    assert_eq!(restore().unwrap(), r#"ongoing-request="true""#);
    model.advance(Duration::from_secs(12 * 3_600 - 1));
    assert_eq!(
        flink.get(which, &Read::default()),
        Err(ErrorCode::InvalidObjectState)
    );
    model.advance(Duration::from_secs(1));
    assert_eq!(flink.get(which, &Read::default()).unwrap().0, b"state");
    assert_eq!(
        restore().unwrap(),
        r#"ongoing-request="false", expiry-date="2026-12-02T00:00:00Z""#,
        "three days after the thaw, rounded up to midnight"
    );
    // The guard's port sees the same.
    let body = model.body(&bucket.at("cold"), Some(&id), 100).await.unwrap();
    assert_eq!(body.bytes, b"state");
    // Asked for again, it lasts longer; in one long step the clock passes its end.
    model.advance(Duration::from_secs(86_400));
    assert_eq!(flink.restore(which, 5, Tier::Standard), Ok(true));
    model.advance(Duration::from_secs(30 * 86_400));
    assert_eq!(
        flink.get(which, &Read::default()),
        Err(ErrorCode::InvalidObjectState)
    );
    assert_eq!(restore(), None);
    let told: Vec<String> = events
        .all()
        .iter()
        .map(|m| format!("{} {}", m.event.at, m.event.kind.name()))
        .collect();
    assert_eq!(
        told,
        [
            "2026-11-28T10:00:00Z ObjectRestore:Post",
            "2026-11-28T22:00:00Z ObjectRestore:Completed",
            "2026-12-05T00:00:00Z ObjectRestore:Delete",
        ]
    );
}

#[test]
fn a_version_that_is_purged_while_it_thaws_comes_to_nothing() {
    let (model, bucket, flink) = world();
    let id = bucket.put("cold", Object::new(b"state").in_class("GLACIER"));
    bucket.thaw("cold", &id, 1, Tier::Bulk).unwrap();
    assert!(bucket.delete_version("cold", &id));
    model.advance(Duration::from_secs(7 * 86_400));
    assert_eq!(flink.head("cold", &Read::default()), Err(ErrorCode::NoSuchKey));
}

#[test]
fn an_upload_is_as_old_as_its_beginning_and_its_copy_has_another_etag() {
    let (model, bucket, flink) = world();
    let object = Object::new(b"")
        .with_metadata("Owner", "team")
        .with_tag("class", "hot")
        .in_class("STANDARD_IA");
    let upload = flink.begin_upload("big", object).unwrap();
    model.advance(Duration::from_secs(3_600));
    let first = flink
        .upload_part("big", &upload, 1, Content::Zeroes(5 << 20))
        .unwrap();
    let second = flink.upload_part("big", &upload, 2, b"end").unwrap();
    let small = flink.upload_part("big", &upload, 3, b"more").unwrap();
    let parts = [(1, first), (2, second), (3, small)];
    let complete =
        |parts: &[(u32, String)], condition| flink.complete_upload("big", &upload, parts, &condition);
    assert_eq!(
        complete(&parts, Condition::Always),
        Err(ErrorCode::EntityTooSmall)
    );
    let way = bucket.put("big", b"in the way");
    assert_eq!(
        complete(&parts[..2], Condition::Absent),
        Err(ErrorCode::PreconditionFailed)
    );
    bucket.delete_version("big", &way);
    let written = complete(&parts[..2], Condition::Absent).unwrap();
    assert!(written.etag.ends_with("-2\""), "{}", written.etag);
    let head = flink.head("big", &Read::default()).unwrap();
    assert_eq!(
        (head.size, head.last_modified),
        ((5 << 20) + 3, at("2026-11-28T10:00:00Z"))
    );
    assert_eq!((head.metadata["owner"].as_str(), head.tag_count), ("team", 1));
    assert_eq!(head.storage_class.as_deref(), Some("STANDARD_IA"));
    let copied = flink.copy("copy", &Copy::of("big")).unwrap();
    assert!(!copied.etag.contains('-'), "{}", copied.etag);
    assert_eq!(flink.abort_upload("big", &upload), Err(ErrorCode::NoSuchUpload));
}

#[test]
fn what_is_written_into_a_bucket_with_a_default_retention_has_it() {
    let (model, _, _) = world();
    let bucket = model.create_bucket("locked", Versioning::Enabled);
    bucket.enable_object_lock(Some((RetentionMode::Governance, Duration::from_secs(86_400))));
    let client = model.on_bucket("locked");
    let id = client.put("a", b"1").unwrap().version.unwrap();
    let until = at("2026-11-29T10:00:00Z");
    assert_eq!(
        client.retention(("a", &id)),
        Ok(Retention {
            mode: RetentionMode::Governance,
            until
        })
    );
    assert_eq!(client.delete(("a", &id)), Err(ErrorCode::AccessDenied));
    assert!(
        client.delete("a").unwrap().is_marker,
        "a marker is always allowed"
    );
    assert!(client.copy("a", &Copy::of_version("a", &id)).is_ok());
    let copy = bucket.current("a").unwrap().object.unwrap();
    assert_eq!(copy.retention.map(|r| r.until), Some(until), "a copy too");
    model.advance(Duration::from_secs(86_400));
    assert!(client.delete(("a", &id)).is_ok());
    let unlocked = model.on_bucket("flink-state");
    let held = Object {
        legal_hold: true,
        ..Object::new(b"1")
    };
    assert_eq!(unlocked.put("a", Put::from(held)), Err(ErrorCode::InvalidRequest));
}
