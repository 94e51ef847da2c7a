//! What the reading of a `_metadata`, and a verdict by it, cost in memory: the limit that is derived from a function's memory rests on it.
//! In a binary of its own, with one test, since memory is counted for all threads.

use std::time::Duration;

use peak_alloc::PeakAlloc;
use s3_documents::bucket::Versioning;
use s3_documents::notification::parse_body;
use s3_model::{Content, Model, ModelBucket, Object};
use serde_json::json;
use stayput_core::cause::Principals;
use stayput_core::metadata_limit::{MEMORY_PER_BYTE, MetadataLimit};
use stayput_core::report::finding::FindingCode;
use stayput_core::root::{Root, RootKind, Roots};
use stayput_core::timestamp::Timestamp;
use stayput_core::verdict::Policy;
use stayput_guard::batch::{BatchReport, Message};
use stayput_guard::guard::Guard;
use stayput_guard::mandate::{Mandate, SIDECARS_FROM};
use stayput_hostile::large;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const BUCKET: &str = "flink-state";
const MINUTE: Duration = Duration::from_secs(60);
const MIB: usize = 1 << 20;

fn mandate(limit: MetadataLimit) -> Mandate {
    let root = Root::new(&format!("s3://{BUCKET}/cp/"), RootKind::Checkpoints, None).expect("a root");
    Mandate {
        roots: Roots::new(vec![root]),
        principals: Principals {
            flink: vec!["AROAFLINK".to_owned()],
            ours: Vec::new(),
        },
        policy: Policy {
            settle: MINUTE,
            dormant_after: 90 * 24 * 60 * MINUTE,
        },
        catalogue_max_age: MINUTE,
        metadata_limit: limit,
        sidecars_from: SIDECARS_FROM,
        protect_since: None,
        control: None,
        objects_per_day: 10_000,
        bytes_per_day: 1 << 40,
    }
}

fn job(n: usize) -> String {
    format!("cp/{n:032x}/")
}

/// A job with one checkpoint whose `_metadata` names so many files, all of them there, and holds so many bytes of state.
fn put_job(
    bucket: &ModelBucket,
    n: usize,
    files: usize,
    inlined: usize,
    when: Timestamp,
) -> (usize, Vec<String>) {
    let directory = format!("{}shared/", job(n));
    let paths: Vec<String> = (0..files)
        .map(|f| large::file(&format!("s3://{BUCKET}/{directory}"), f))
        .collect();
    let keys: Vec<String> = (0..files).map(|f| large::file(&directory, f)).collect();
    for key in &keys {
        bucket.put_at(key, Object::new(Content::Zeroes(1)), when);
    }
    let bytes = large::metadata(5, inlined, &paths);
    let size = bytes.len();
    bucket.put_at(
        &format!("{}chk-5/_metadata", job(n)),
        Object::new(bytes.as_slice()),
        when,
    );
    (size, keys)
}

fn deleted(model: &Model, bucket: &ModelBucket, by: &str, key: &str) -> Message {
    let marker = bucket.delete(key).expect("a versioned bucket");
    let event = json!({"Records": [{
        "eventVersion": "2.1", "eventSource": "aws:s3", "eventName": "ObjectRemoved:DeleteMarkerCreated",
        "eventTime": model.now().to_string(), "userIdentity": {"principalId": format!("AWS:{by}:x")},
        "s3": {"bucket": {"name": BUCKET}, "object": {"key": key, "versionId": marker.as_str()}},
    }]});
    Message {
        id: key.to_owned(),
        records: parse_body(event.to_string().as_bytes()).expect("an event"),
    }
}

/// Handles the messages once they are quiet, and gives the most memory that it took in bytes.
async fn handle(model: &Model, mandate: Mandate, messages: &[Message]) -> (BatchReport, usize) {
    model.advance(10 * MINUTE);
    let journal = model.journal(&model.bucket("ops").expect("made"), "stayput/");
    let m = || model.clone();
    let mut guard = Guard::acting(m(), Some(journal), m(), m(), mandate);
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    let report = guard.handle(messages).await;
    (report, MEMORY.peak_usage() - before)
}

fn world() -> (Model, ModelBucket) {
    let model = Model::new(Timestamp::parse("2026-11-28T10:00:00Z").expect("a time"));
    let bucket = model.create_bucket(BUCKET, Versioning::Enabled);
    model.create_bucket("ops", Versioning::Never);
    (model, bucket)
}

#[tokio::test]
async fn a_metadata_takes_no_more_memory_than_its_limit_is_derived_from() {
    // Of many handles: the catalogue, and what is looked at of each object, grow with it.
    let (model, bucket) = world();
    let (size, keys) = put_job(&bucket, 1, 40_000, 0, model.now());
    let limit = MetadataLimit::of_settings(2 * size as u64);
    let message = deleted(&model, &bucket, "AROASOMEBODY", &keys[17]);
    let (report, used) = handle(&model, mandate(limit), &[message]).await;
    assert_eq!(report.summary.restored, 1, "{:?}", report.summary);
    let per_byte = used as f64 / size as f64;
    println!("{size} bytes with 40000 handles: {used} bytes of memory, {per_byte:.2} for each");
    assert!(per_byte <= MEMORY_PER_BYTE as f64, "{per_byte:.2} for each byte");

    // Of much inlined state: the bytes are there once, and the model's own copy of what it hands out.
    let (model, bucket) = world();
    let (size, keys) = put_job(&bucket, 1, 10, 16 * MIB, model.now());
    let limit = MetadataLimit::of_settings(2 * size as u64);
    let message = deleted(&model, &bucket, "AROASOMEBODY", &keys[3]);
    let (report, used) = handle(&model, mandate(limit), &[message]).await;
    assert_eq!(report.summary.restored, 1, "{:?}", report.summary);
    let per_byte = used as f64 / size as f64;
    println!("{size} bytes of inlined state: {used} bytes of memory, {per_byte:.2} for each");
    assert!(per_byte <= 2.1, "{per_byte:.2} for each byte");

    // Many large ones in one call: one after the other, not all at once. Twenty in one directory, as a job that retains so many has.
    let (model, bucket) = world();
    let mut size = 0;
    let directory = format!("s3://{BUCKET}/{}shared/", job(1));
    for id in 1..=20 {
        let bytes = large::metadata(id, 4 * MIB, &[large::file(&directory, 1)]);
        size = bytes.len();
        bucket.put(
            &format!("{}chk-{id}/_metadata", job(1)),
            Object::new(bytes.as_slice()),
        );
    }
    let key = large::file(&format!("{}shared/", job(1)), 1);
    bucket.put(&key, b"x");
    let limit = MetadataLimit::of_settings(size as u64);
    let message = deleted(&model, &bucket, "AROASOMEBODY", &key);
    let (report, used) = handle(&model, mandate(limit), &[message]).await;
    assert_eq!(report.summary.restored, 1, "{:?}", report.summary);
    println!("20 of {size} bytes each: {used} bytes of memory");
    assert!(used <= 5 * size / 2, "{used} bytes for 20 files of {size}");

    // One that is too large says so, with what helps, and its neighbours come back.
    let (model, bucket) = world();
    let (_, large_keys) = put_job(&bucket, 1, 5, 4 * MIB, model.now());
    let (_, keys) = put_job(&bucket, 2, 5, 0, model.now());
    let messages = [
        deleted(&model, &bucket, "AROAFLINK", &large_keys[0]),
        deleted(&model, &bucket, "AROASOMEBODY", &keys[0]),
    ];
    let limit = MetadataLimit::of_settings(2 << 30).within_memory(8);
    let (report, used) = handle(&model, mandate(limit), &messages).await;
    assert!(used < MIB, "{used} bytes");
    assert_eq!(
        (report.summary.restored, report.summary.reported),
        (1, 1),
        "{:?}",
        report.summary
    );
    let finding = report
        .findings
        .iter()
        .find(|f| f.code == FindingCode::CannotJudge)
        .expect("a finding");
    let text = finding.to_string();
    assert!(text.contains("a function with 8 MB of memory reads"), "{text}");
    assert!(
        text.contains("Give the function 33 MB of memory or more."),
        "{text}"
    );
}
