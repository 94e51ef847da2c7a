//! What S3 does with versions and markers, one story a test.

use s3_documents::bucket::Versioning;
use s3_model::{Content, Model, ModelBucket, Object};
use stayput_core::timestamp::Timestamp;
use stayput_core::version::VersionKind;
use stayput_guard::port::{PortErrorKind, Reading};

fn at(time: &str) -> Timestamp {
    Timestamp::parse(time).unwrap()
}

fn bucket(versioning: Versioning) -> (Model, ModelBucket) {
    let model = Model::new(at("2026-11-28T10:00:00Z"));
    let bucket = model.create_bucket("flink-lab", versioning);
    (model, bucket)
}

/// `M` for a marker, the size for data, the newest first.
fn stack(bucket: &ModelBucket, key: &str) -> Vec<String> {
    let history = bucket.history(key);
    let rows = history.entries().iter();
    rows.map(|row| match &row.kind {
        VersionKind::Marker => "M".to_owned(),
        VersionKind::Data { size, .. } => size.to_string(),
    })
    .collect()
}

#[tokio::test]
async fn a_delete_hides_and_the_version_stays_readable_by_its_id() {
    let (model, bucket) = bucket(Versioning::Enabled);
    let data = bucket.put("shared/a", b"state");
    let marker = bucket.delete("shared/a").unwrap();

    assert!(!bucket.is_visible("shared/a"));
    let hidden = model.body(&bucket.at("shared/a"), None, 100).await.unwrap_err();
    assert_eq!(hidden.kind, PortErrorKind::NotFound);
    let below = model
        .body(&bucket.at("shared/a"), Some(&data), 100)
        .await
        .unwrap();
    assert_eq!(below.bytes, b"state");
    assert_eq!(below.head.version, Some(data));
    let of_marker = model
        .head(&bucket.at("shared/a"), Some(&marker))
        .await
        .unwrap_err();
    assert_eq!(of_marker.kind, PortErrorKind::NotFound);
}

#[test]
fn a_second_delete_puts_a_second_marker_and_one_on_nothing_leaves_a_lone_one() {
    let (_, bucket) = bucket(Versioning::Enabled);
    bucket.put("a", b"12345");
    let first = bucket.delete("a").unwrap();
    let second = bucket.delete("a").unwrap();
    assert_ne!(first, second);
    assert_eq!(stack(&bucket, "a"), ["M", "M", "5"]);
    let history = bucket.history("a");
    let hidden = history.hidden().unwrap();
    assert_eq!((&hidden.newest.id, &hidden.above_data.id), (&second, &first));
    assert!(hidden.newest.is_latest && !hidden.above_data.is_latest);

    bucket.delete("never-there");
    assert_eq!(stack(&bucket, "never-there"), ["M"]);
}

#[test]
fn deleting_the_marker_by_its_id_shows_the_object_again_with_its_old_age() {
    let (model, bucket) = bucket(Versioning::Enabled);
    let data = bucket.put("a", b"state");
    model.set_now(at("2026-11-28T11:00:00Z"));
    let marker = bucket.delete("a").unwrap();
    model.set_now(at("2026-11-28T12:00:00Z"));
    assert!(bucket.delete_version("a", &marker));
    let current = bucket.current("a").unwrap();
    assert_eq!(
        (current.id, current.last_modified),
        (data, at("2026-11-28T10:00:00Z"))
    );
    assert!(!bucket.delete_version("a", &marker), "it is gone already");
}

#[test]
fn deleting_the_last_version_by_its_id_leaves_no_trace() {
    let (_, bucket) = bucket(Versioning::Enabled);
    let data = bucket.put("a", b"state");
    bucket.delete_version("a", &data);
    assert!(bucket.history("a").is_empty());
    assert!(bucket.keys().is_empty());
}

#[test]
fn in_a_suspended_bucket_writes_and_markers_replace_the_null_version_only() {
    let (_, bucket) = bucket(Versioning::Enabled);
    let kept = bucket.put("a", b"1");
    bucket.set_versioning(Versioning::Suspended);
    assert!(bucket.put("a", b"22").is_null());
    assert_eq!(stack(&bucket, "a"), ["2", "1"]);
    assert!(bucket.put("a", b"333").is_null());
    assert_eq!(stack(&bucket, "a"), ["3", "1"], "the null version was replaced");
    assert!(bucket.delete("a").unwrap().is_null());
    assert_eq!(
        stack(&bucket, "a"),
        ["M", "1"],
        "the null marker took the place of the null data: it is lost"
    );
    bucket.delete("a");
    assert_eq!(
        stack(&bucket, "a"),
        ["M", "1"],
        "there is one null marker at most"
    );

    bucket.set_versioning(Versioning::Enabled);
    let newer = bucket.put("a", b"4444");
    assert!(!newer.is_null());
    assert_eq!(stack(&bucket, "a"), ["4", "M", "1"]);
    assert!(bucket.version("a", &kept).is_some());
}

#[tokio::test]
async fn where_versioning_was_never_enabled_a_delete_is_for_good_and_no_version_is_told() {
    let (model, bucket) = bucket(Versioning::Never);
    bucket.put("a", b"1");
    bucket.put("a", b"22");
    assert_eq!(stack(&bucket, "a"), ["2"]);
    let head = model.head(&bucket.at("a"), None).await.unwrap();
    assert_eq!((head.version, head.size), (None, 2));
    assert_eq!(bucket.delete("a"), None);
    assert!(bucket.history("a").is_empty());
}

#[test]
fn a_rules_marker_is_dated_midnight_even_when_the_object_is_younger() {
    let (model, bucket) = bucket(Versioning::Enabled);
    bucket.put("a", b"state");
    bucket.expire("a").unwrap();
    let history = bucket.history("a");
    let hidden = history.hidden().unwrap();
    assert_eq!(hidden.above_data.last_modified, at("2026-11-28T00:00:00Z"));
    assert!(hidden.above_data.last_modified < history.data_versions().next().unwrap().last_modified);
    model.set_now(at("2026-11-29T03:00:00Z"));
    assert_eq!(
        bucket.expire("a"),
        None,
        "rules leave a key alone that they have hidden"
    );
}

#[test]
fn times_are_told_to_the_second() {
    let (model, bucket) = bucket(Versioning::Enabled);
    model.set_now(at("2026-11-28T10:00:00.999Z"));
    bucket.put("a", b"state");
    assert_eq!(
        bucket.current("a").unwrap().last_modified,
        at("2026-11-28T10:00:00Z")
    );
}

#[tokio::test]
async fn a_body_has_a_limit_zeroes_have_no_weight_and_an_archive_cannot_be_read() {
    let (model, bucket) = bucket(Versioning::Enabled);
    bucket.put("huge", Content::Zeroes(5 << 40));
    let too_large = model.body(&bucket.at("huge"), None, 2 << 30).await.unwrap_err();
    assert_eq!(too_large.kind, PortErrorKind::TooLarge { size: 5 << 40 });
    bucket.put("small", Content::Zeroes(3));
    assert_eq!(
        model.body(&bucket.at("small"), None, 3).await.unwrap().bytes,
        [0, 0, 0]
    );

    let id = bucket.put("cold", Object::new(b"state").in_class("GLACIER"));
    let archived = model.body(&bucket.at("cold"), None, 100).await.unwrap_err();
    assert_eq!(archived.kind, PortErrorKind::Archived);
    let head = model.head(&bucket.at("cold"), None).await.unwrap();
    assert_eq!(head.storage_class.as_deref(), Some("GLACIER"));
    assert!(bucket.edit("cold", &id, |object| object.thawed = true));
    assert_eq!(
        model.body(&bucket.at("cold"), None, 100).await.unwrap().bytes,
        b"state"
    );
}

#[tokio::test]
async fn who_is_denied_the_bytes_is_denied_the_head_but_a_slow_server_still_answers_heads() {
    let (model, bucket) = bucket(Versioning::Enabled);
    let a = bucket.at("a");
    let id = bucket.put("a", b"state");
    bucket.edit("a", &id, |object| object.refusal = Some(PortErrorKind::Denied));
    assert_eq!(
        model.head(&a, None).await.unwrap_err().kind,
        PortErrorKind::Denied
    );
    bucket.edit("a", &id, |object| object.refusal = Some(PortErrorKind::Throttled));
    assert!(model.head(&a, None).await.is_ok());
    assert_eq!(
        model.body(&a, None, 100).await.unwrap_err().kind,
        PortErrorKind::Throttled
    );
}

#[tokio::test]
async fn bytes_that_nobody_should_need_are_remembered_when_somebody_asks() {
    let (model, bucket) = bucket(Versioning::Enabled);
    let id = bucket.put("chk-1/_metadata", Content::Withheld(3958));
    let location = bucket.at("chk-1/_metadata");
    assert_eq!(model.head(&location, None).await.unwrap().size, 3958);
    assert!(model.reads_in_vain().is_empty());
    let error = model.body(&location, None, 1 << 20).await.unwrap_err();
    assert_eq!(error.kind, PortErrorKind::NotFound);
    assert_eq!(model.reads_in_vain(), [(location, id)]);
}

#[test]
fn the_etag_of_a_put_is_the_md5_of_its_bytes() {
    assert_eq!(Object::new(b"hello").etag, "\"5d41402abc4b2a76b9719d911017c592\"");
    assert_ne!(
        Object::new(Content::Zeroes(1)).etag,
        Object::new(Content::Zeroes(2)).etag
    );
}

#[tokio::test]
async fn a_bucket_that_nobody_made_is_an_error_and_not_an_empty_one() {
    let (model, _) = bucket(Versioning::Enabled);
    let error = model.list("another", "", false).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "ListObjectsV2 on s3://another/: not found (NoSuchBucket)"
    );
    assert_eq!(
        model.versioning("another").await.unwrap_err().kind,
        PortErrorKind::NotFound
    );
}

#[test]
fn a_listing_becomes_a_bucket_with_rule_markers_above_what_they_hide() {
    let (_, bucket) = bucket(Versioning::Enabled);
    bucket.put("gone", b"1");
    let json = br#"{"Versions": [
        {"Key": "a", "VersionId": "two", "IsLatest": false, "LastModified": "2026-11-28T09:00:00+00:00", "Size": 2, "ETag": "\"e2\"", "StorageClass": "STANDARD"},
        {"Key": "a", "VersionId": "one", "IsLatest": false, "LastModified": "2026-11-27T09:00:00+00:00", "Size": 1, "ETag": "\"e1\"", "StorageClass": "GLACIER"}],
        "DeleteMarkers": [{"Key": "a", "VersionId": "marker", "IsLatest": true, "LastModified": "2026-11-28T00:00:00+00:00"}]}"#;
    bucket
        .load(&s3_documents::listing::parse_versions(json).unwrap())
        .unwrap();
    assert_eq!(bucket.keys(), ["a"]);
    assert_eq!(stack(&bucket, "a"), ["M", "2", "1"]);
    let history = bucket.history("a");
    let ids: Vec<_> = history.entries().iter().map(|e| e.id.as_str()).collect();
    assert_eq!(ids, ["marker", "two", "one"]);
}

#[test]
fn a_listing_that_was_cut_off_changes_nothing() {
    let (_, bucket) = bucket(Versioning::Enabled);
    bucket.put("a", b"1");
    let cut = s3_documents::listing::VersionListing {
        truncated: true,
        ..Default::default()
    };
    assert!(bucket.load(&cut).unwrap_err().to_string().contains("cut off"));
    assert!(bucket.is_visible("a"));
}
