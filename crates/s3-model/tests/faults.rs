//! Recorded calls, planned failures, crashes and the journal.

use s3_documents::bucket::Versioning;
use s3_model::{Fault, Model, ModelBucket, ModelJournal};
use stayput_core::timestamp::Timestamp;
use stayput_guard::port::{Clock, Journal, PortErrorKind, Reading};

fn world() -> (Model, ModelBucket, ModelJournal) {
    let model = Model::new(Timestamp::parse("2026-11-28T10:00:00Z").unwrap());
    let bucket = model.create_bucket("flink-lab", Versioning::Enabled);
    let ops = model.create_bucket("ops", Versioning::Never);
    let journal = model.journal(&ops, "stayput/");
    (model, bucket, journal)
}

#[tokio::test]
async fn every_call_is_recorded_with_its_outcome_and_whether_it_writes() {
    let (model, bucket, journal) = world();
    bucket.put("a", b"1");
    model.head(&bucket.at("a"), None).await.unwrap();
    model.head(&bucket.at("b"), None).await.unwrap_err();
    model.lifecycle("flink-lab").await.unwrap();
    journal.write("claims/1", b"{}".to_vec()).await.unwrap();
    let calls = model.take_calls();
    let told: Vec<_> = calls
        .iter()
        .map(|c| (c.operation, c.subject(), c.error, c.mutates()))
        .collect();
    assert_eq!(
        told,
        [
            ("HeadObject", "s3://flink-lab/a".to_owned(), None, false),
            (
                "HeadObject",
                "s3://flink-lab/b".to_owned(),
                Some(PortErrorKind::NotFound),
                false
            ),
            (
                "GetBucketLifecycleConfiguration",
                "s3://flink-lab/".to_owned(),
                None,
                false
            ),
            ("PutObject", "s3://ops/stayput/claims/1".to_owned(), None, true),
        ]
    );
    assert!(model.calls().is_empty(), "taken calls are forgotten");
}

#[tokio::test]
async fn the_journal_reads_what_it_wrote_and_anybody_can_look_at_it() {
    let (model, _, journal) = world();
    assert_eq!(journal.read("claims/1", 1 << 20).await.unwrap(), None);
    journal.write("claims/1", b"one".to_vec()).await.unwrap();
    journal.write("claims/10", b"ten".to_vec()).await.unwrap();
    journal.write("claims/1", b"uno".to_vec()).await.unwrap();
    journal.write("paused", b"".to_vec()).await.unwrap();
    assert_eq!(
        journal.read("claims/1", 1 << 20).await.unwrap().as_deref(),
        Some(b"uno".as_slice())
    );
    assert_eq!(journal.names("claims/").await.unwrap(), ["claims/1", "claims/10"]);
    assert_eq!(journal.names("").await.unwrap().len(), 3);
    let ops = model.bucket("ops").unwrap();
    assert_eq!(ops.visible_keys()[0], "stayput/claims/1");
    // A person lifts the pause.
    ops.delete("stayput/paused");
    assert_eq!(journal.read("paused", 1 << 20).await.unwrap(), None);
}

#[tokio::test]
async fn a_planned_failure_meets_the_call_it_names_and_then_no_more() {
    let (model, bucket, _) = world();
    bucket.put("chk-1/_metadata", b"m");
    bucket.put("shared/a", b"s");
    let (metadata, shared) = (bucket.at("chk-1/_metadata"), bucket.at("shared/a"));
    let fault = Fault::answers(PortErrorKind::Throttled)
        .on("GetObject")
        .key("_metadata");
    model.plan(fault.from_nth(2).times(2));
    let mut answers = Vec::new();
    for _ in 0..4 {
        answers.push(
            model
                .body(&metadata, None, 9)
                .await
                .map(|b| b.bytes)
                .map_err(|e| e.kind),
        );
        assert!(model.body(&shared, None, 9).await.is_ok());
        assert!(model.head(&metadata, None).await.is_ok());
    }
    let throttled = Err(PortErrorKind::Throttled);
    assert_eq!(
        answers,
        [Ok(b"m".to_vec()), throttled.clone(), throttled, Ok(b"m".to_vec())]
    );
}

#[tokio::test]
async fn a_failure_without_end_lasts_until_it_is_forgotten() {
    let (model, _, _) = world();
    model.plan(Fault::answers(PortErrorKind::Denied).on("ListObjectsV2").always());
    for _ in 0..3 {
        assert_eq!(
            model.list("flink-lab", "", true).await.unwrap_err().kind,
            PortErrorKind::Denied
        );
    }
    assert_eq!(
        model.requests("ListObjectsV2"),
        0,
        "they never reached the server"
    );
    model.forget_faults();
    assert!(model.list("flink-lab", "", true).await.is_ok());
}

#[tokio::test]
async fn who_crashes_after_a_write_has_written_and_is_heard_no_more_until_revived() {
    let (model, bucket, journal) = world();
    let other = model.another_client();
    bucket.put("a", b"1");
    model.plan(Fault::crash().on("PutObject").after_the_effect());
    assert!(journal.write("seen", b"x".to_vec()).await.is_err());
    assert!(model.has_crashed());
    assert!(model.head(&bucket.at("a"), None).await.is_err());
    assert!(journal.read("seen", 1 << 20).await.is_err());
    assert!(model.calls().iter().all(|c| c.crashed));
    assert_eq!(model.all_requests(), 1, "only the write reached the server");
    assert!(
        other.head(&bucket.at("a"), None).await.is_ok(),
        "the other process lives"
    );
    assert_eq!(other.calls().len(), 1);

    model.revive();
    assert_eq!(
        journal.read("seen", 1 << 20).await.unwrap().as_deref(),
        Some(b"x".as_slice())
    );
}

#[tokio::test]
async fn who_crashes_before_a_write_has_written_nothing() {
    let (model, _, journal) = world();
    model.plan(Fault::crash().from_nth(2));
    journal.write("first", b"1".to_vec()).await.unwrap();
    assert!(journal.write("second", b"2".to_vec()).await.is_err());
    model.revive();
    assert_eq!(journal.names("").await.unwrap(), ["first"]);
}

#[test]
fn all_clients_see_one_clock() {
    let (model, _, _) = world();
    let other = model.another_client();
    model.advance(std::time::Duration::from_secs(90));
    assert_eq!(Clock::now(&other).to_string(), "2026-11-28T10:01:30Z");
}

#[test]
fn clients_and_their_futures_can_cross_threads() {
    fn check<T: Send + Sync>(_: &T) {}
    fn sendable<T: Send>(_: T) {}
    let (model, bucket, journal) = world();
    check(&model);
    check(&bucket);
    check(&journal);
    sendable(model.list("flink-lab", "", false));
    sendable(journal.read("a", 1 << 20));
}
