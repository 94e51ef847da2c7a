//! Bringing a version back, and the other writer who comes first.

use s3_documents::bucket::Versioning;
use s3_model::{Fault, Model, ModelBucket, Object};
use stayput_core::restoring::{Permit, Source, copy_metadata};
use stayput_core::timestamp::Timestamp;
use stayput_core::version::VersionId;
use stayput_guard::port::{CopyOnCondition, PortErrorKind, Reading};

const KEY: &str = "shared/34d2d0e5";

fn world() -> (Model, ModelBucket) {
    let model = Model::new(Timestamp::parse("2026-11-28T10:00:00Z").unwrap());
    let bucket = model.create_bucket("flink-lab", Versioning::Enabled);
    (model, bucket)
}

fn permit(bucket: &ModelBucket, version: &VersionId) -> Permit {
    let stored = bucket.version(KEY, version).unwrap();
    let object = stored.object.unwrap();
    let source = Source {
        version: version.clone(),
        size: object.content.len(),
        etag: object.etag,
        first_written: stored.last_modified,
        restored_before: 0,
    };
    Permit::by_a_person(bucket.at(KEY), source)
}

#[tokio::test]
async fn a_hidden_version_comes_back_with_its_metadata_its_tags_and_where_it_came_from() {
    let (model, bucket) = world();
    let object = Object::new(b"state")
        .with_metadata("Owner", "team-a")
        .with_tag("class", "hot");
    let source = bucket.put(KEY, object);
    bucket.delete(KEY);
    model.set_now(Timestamp::parse("2026-11-29T00:10:00Z").unwrap());
    let copied = model.copy_on_condition(&permit(&bucket, &source)).await.unwrap();
    assert!(copied.condition_honoured);

    let body = model.body(&bucket.at(KEY), None, 100).await.unwrap();
    assert_eq!(body.bytes, b"state");
    assert_eq!(body.head.version, copied.version);
    assert_eq!(body.head.last_modified, model.now());
    assert_eq!(body.head.metadata_value("owner"), Some("team-a"));
    assert_eq!(body.head.metadata_value(copy_metadata::COUNT), Some("1"));
    assert_eq!(
        body.head.metadata_value(copy_metadata::SOURCE_VERSION),
        Some(source.as_str())
    );
    assert_eq!(
        body.head.metadata_value(copy_metadata::SOURCE_LAST_MODIFIED),
        Some("2026-11-28T10:00:00Z")
    );
    let copy = bucket.current(KEY).unwrap().object.unwrap();
    assert_eq!(copy.tags["class"], "hot");
    assert_eq!(copy.etag, Object::new(b"state").etag);
    assert_eq!(bucket.history(KEY).entries().len(), 3, "the marker stays below");
}

#[tokio::test]
async fn what_is_visible_is_never_copied_over() {
    let (model, bucket) = world();
    let source = bucket.put(KEY, b"old");
    bucket.put(KEY, b"new");
    let error = model
        .copy_on_condition(&permit(&bucket, &source))
        .await
        .unwrap_err();
    assert_eq!(error.kind, PortErrorKind::Precondition);
    assert_eq!(bucket.current(KEY).unwrap().object.unwrap(), Object::new(b"new"));
    assert_eq!(bucket.history(KEY).entries().len(), 2);
}

#[tokio::test]
async fn another_writer_between_look_and_copy_wins() {
    let (model, bucket) = world();
    let source = bucket.put(KEY, b"old");
    bucket.delete(KEY);
    let writer = bucket.clone();
    model.on_call(move |_, call| {
        if call.operation == "CopyObject" {
            writer.put(KEY, b"of the other writer");
        }
    });
    let error = model
        .copy_on_condition(&permit(&bucket, &source))
        .await
        .unwrap_err();
    assert_eq!(error.kind, PortErrorKind::Precondition);
    model.forget_hooks();
    let body = model.body(&bucket.at(KEY), None, 100).await.unwrap();
    assert_eq!(body.bytes, b"of the other writer");
}

#[tokio::test]
async fn a_server_that_ignores_the_condition_copies_over_it_and_says_so() {
    let (model, bucket) = world();
    model.set_ignores_conditions(true);
    let source = bucket.put(KEY, b"old");
    bucket.put(KEY, b"new");
    let copied = model.copy_on_condition(&permit(&bucket, &source)).await.unwrap();
    assert!(!copied.condition_honoured);
    assert_eq!(bucket.history(KEY).entries().len(), 3);
}

#[tokio::test]
async fn archived_denied_and_purged_sources_cannot_be_copied() {
    let (model, bucket) = world();
    let source = bucket.put(KEY, Object::new(b"state").in_class("DEEP_ARCHIVE"));
    bucket.delete(KEY);
    let permit = permit(&bucket, &source);
    assert_eq!(
        model.copy_on_condition(&permit).await.unwrap_err().kind,
        PortErrorKind::Archived
    );
    bucket.edit(KEY, &source, |object| {
        object.thawed = true;
        object.refusal = Some(PortErrorKind::Denied);
    });
    assert_eq!(
        model.copy_on_condition(&permit).await.unwrap_err().kind,
        PortErrorKind::Denied
    );
    bucket.edit(KEY, &source, |object| object.refusal = None);
    assert!(model.copy_on_condition(&permit).await.is_ok());
    let copy = bucket.current(KEY).unwrap().object.unwrap();
    assert_eq!(
        (copy.storage_class, copy.thawed),
        (None, false),
        "copies go to STANDARD"
    );

    bucket.delete(KEY);
    bucket.delete_version(KEY, &source);
    assert_eq!(
        model.copy_on_condition(&permit).await.unwrap_err().kind,
        PortErrorKind::NotFound
    );
}

#[tokio::test]
async fn after_a_lost_answer_the_copy_is_there_and_the_next_try_meets_it() {
    let (model, bucket) = world();
    let source = bucket.put(KEY, b"state");
    bucket.delete(KEY);
    let permit = permit(&bucket, &source);
    model.plan(
        Fault::answers(PortErrorKind::Transient)
            .on("CopyObject")
            .after_the_effect(),
    );
    assert_eq!(
        model.copy_on_condition(&permit).await.unwrap_err().kind,
        PortErrorKind::Transient
    );
    assert_eq!(
        model.copy_on_condition(&permit).await.unwrap_err().kind,
        PortErrorKind::Precondition
    );
    let head = model.head(&bucket.at(KEY), None).await.unwrap();
    assert_eq!(
        head.metadata_value(copy_metadata::SOURCE_VERSION),
        Some(source.as_str())
    );
}

#[tokio::test]
async fn in_a_suspended_bucket_a_copy_takes_the_place_of_the_null_version() {
    let (model, bucket) = world();
    let source = bucket.put(KEY, b"old");
    bucket.set_versioning(Versioning::Suspended);
    bucket.put(KEY, b"null data");
    model.set_ignores_conditions(true);
    let copied = model.copy_on_condition(&permit(&bucket, &source)).await.unwrap();
    assert!(copied.version.unwrap().is_null());
    assert_eq!(
        bucket.history(KEY).entries().len(),
        2,
        "what was the null version is lost"
    );
}
