//! What the normal event costs: Flink's own clean-up, thousands of deletions a minute.

use std::collections::BTreeMap;
use std::time::Instant;

use s3_documents::bucket::Versioning;
use s3_model::{Call, Content, Model, Object};
use stayput_core::metadata::references;
use stayput_core::timestamp::Timestamp;
use stayput_guard::batch::{Answer, Message};

use crate::lab::{
    ActingGuard, BUCKET, Lab, MINUTE, ROOT, Who, at, created, mandate, of_job, real_metadata, told, with_id,
};

const JOBS: usize = 500;
const RETAINED: [u64; 3] = [100, 101, 102];
const NAMED_JOBS: usize = 5;
const DELETIONS: usize = 10_000;
const PER_JOB: u64 = 6;
const IN_ALL: u64 = 30;
/// So many of the shared files that chk-8 names are replaced by others at each checkpoint of these jobs.
const NEW_AT_EACH: usize = 6;

fn job_id(job: usize) -> String {
    format!("{job:032x}")
}

fn metadata_of(job: usize, id: u64) -> String {
    format!("{ROOT}{}/chk-{id}/_metadata", job_id(job))
}

/// The bytes of chk-`id` of a job: real ones with its id, its directory, some shared files of its own, and private files whose names no
/// other checkpoint has, as Flink's are random.
struct Writer {
    template: Vec<u8>,
    fresh: Vec<String>,
}

impl Writer {
    fn new() -> Self {
        let lab = Lab::new();
        let (shared, own) = (lab.shared_of_head(), lab.own_of_head());
        let name = |k: &String| k.rsplit('/').next().expect("a file name").to_owned();
        Self {
            template: real_metadata(8),
            fresh: shared.iter().take(NEW_AT_EACH).chain(&own).map(name).collect(),
        }
    }

    fn bytes(&self, job: usize, id: u64) -> Vec<u8> {
        let mut bytes = with_id(of_job(self.template.clone(), &job_id(job)), id);
        for (n, old) in self.fresh.iter().enumerate() {
            let new = format!("{id:08x}-{job:04x}-4000-8000-{n:012}");
            let place = bytes
                .windows(old.len())
                .position(|w| w == old.as_bytes())
                .expect("it is named");
            bytes[place..place + new.len()].copy_from_slice(new.as_bytes());
        }
        bytes
    }

    /// Flink completes a checkpoint: `_metadata` and everything that it names is there.
    fn complete(&self, model: &Model, job: usize, id: u64, when: Timestamp) -> Message {
        let bucket = model.bucket(BUCKET).expect("made");
        let bytes = self.bytes(job, id);
        let key = metadata_of(job, id);
        for key in names(&bytes, &key) {
            if !bucket.is_visible(&key) {
                bucket.put_at(&key, Object::new(Content::Zeroes(1)), when);
            }
        }
        let version = bucket.put_at(&key, bytes, when);
        created(&key, &version, when)
    }
}

fn names(bytes: &[u8], metadata: &str) -> Vec<String> {
    let location = stayput_core::location::ObjectLocation::new(BUCKET, metadata);
    let mut keys = Vec::new();
    references(bytes, &location, &mut |object, _| {
        keys.push(object.key().to_owned());
    });
    assert!(!keys.is_empty(), "a real snapshot");
    keys
}

/// 500 jobs with three retained checkpoints each.
fn five_hundred_jobs(writer: &Writer) -> Model {
    let model = Model::new(at("2026-11-28T10:00:00Z"));
    model.create_bucket(BUCKET, Versioning::Enabled);
    model.create_bucket("ops", Versioning::Never);
    for job in 0..JOBS {
        for (n, id) in (0..).zip(RETAINED) {
            let when = model.now().minus(30 * MINUTE).plus(n * 10 * MINUTE);
            writer.complete(&model, job, id, when);
        }
    }
    model
}

fn guard(model: &Model) -> ActingGuard {
    let journal = model.journal(&model.bucket("ops").expect("made"), "stayput/");
    let m = || model.clone();
    stayput_guard::guard::Guard::acting(m(), Some(journal), m(), m(), mandate())
}

/// A minute of five busy jobs: each completes chk-103, and Flink removes chk-100 and 2,000 files less a few that no snapshot names. Deletions alone
/// are told.
fn a_busy_minute(writer: &Writer, model: &Model) -> Vec<Message> {
    let bucket = model.bucket(BUCKET).expect("made");
    let mut messages = Vec::new();
    let mut deletions = 0;
    for job in 0..NAMED_JOBS {
        let job = job * 97;
        writer.complete(model, job, 103, model.now());
        let subsumed = metadata_of(job, RETAINED[0]);
        let stays = names(&writer.bytes(job, RETAINED[1]), &metadata_of(job, RETAINED[1]));
        let mut gone = names(&writer.bytes(job, RETAINED[0]), &subsumed);
        gone.retain(|k| !stays.contains(k));
        assert_eq!(gone.len(), 4 + NEW_AT_EACH, "private and shared files of its own");
        gone.push(subsumed);
        for n in 0.. {
            if gone.len() == DELETIONS / NAMED_JOBS {
                break;
            }
            let key = format!("{ROOT}{}/shared/ffffffff-0000-4000-8000-{n:012}", job_id(job));
            bucket.put(&key, Object::new(Content::Zeroes(1)));
            gone.push(key);
        }
        deletions += gone.len();
        for key in gone {
            let marker = bucket.delete(&key);
            messages.push(told(Who::Flink, &key, marker.as_ref(), model.now()));
        }
    }
    assert_eq!(deletions, DELETIONS);
    messages
}

fn by_operation(calls: &[Call]) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::new();
    for call in calls {
        *counts.entry(call.operation).or_default() += u64::from(call.pages);
    }
    counts
}

/// A deletion in some other job, so that a new process gets to know all of them.
fn something_elsewhere(model: &Model) -> Message {
    let bucket = model.bucket(BUCKET).expect("made");
    let key = format!(
        "{ROOT}{}/shared/eeeeeeee-0000-4000-8000-000000000000",
        job_id(JOBS - 1)
    );
    bucket.put(&key, b"left over");
    let marker = bucket.delete(&key);
    told(Who::Flink, &key, marker.as_ref(), model.now())
}

#[tokio::test]
async fn ten_thousand_deletions_of_five_jobs_among_five_hundred_cost_thirty_requests() {
    let writer = Writer::new();
    let model = five_hundred_jobs(&writer);
    let mut guard = guard(&model);
    let cold = guard.handle(&[something_elsewhere(&model)]).await;
    assert_eq!((cold.summary.jobs, cold.summary.snapshots), (500, 1_500));
    println!("cold: {:?}", by_operation(&model.take_calls()));

    model.advance(MINUTE);
    let messages = a_busy_minute(&writer, &model);
    let report = guard.handle(&messages).await;
    let calls = model.take_calls();
    println!("warm: {:?} {:?}", by_operation(&calls), report.summary.left);

    assert_eq!(report.summary.judged, DELETIONS as u64);
    assert_eq!(
        report.summary.left.values().sum::<u64>(),
        DELETIONS as u64,
        "{:?}",
        report.summary
    );
    assert_eq!(
        report.summary.left_by_job.len(),
        NAMED_JOBS,
        "one line for each job that tidied up"
    );
    assert!(report.answers.iter().all(|(_, a)| *a == Answer::Done));
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    let requests =
        |of: &dyn Fn(&&Call) -> bool| calls.iter().filter(of).map(|c| u64::from(c.pages)).sum::<u64>();
    for job in 0..NAMED_JOBS {
        let directory = format!("{ROOT}{}/", job_id(job * 97));
        let of_job = requests(&|c| c.key.starts_with(&directory));
        assert!(
            (1..=PER_JOB).contains(&of_job),
            "{of_job} requests for {directory}"
        );
    }
    let all = requests(&|_| true);
    assert!(all <= IN_ALL, "{all} requests: {calls:?}");
    let per_key: Vec<_> = calls.iter().filter(|c| c.key.contains("/shared/")).collect();
    assert_eq!(per_key, Vec::<&Call>::new());
}

#[tokio::test]
async fn the_same_minute_again_costs_no_more() {
    let writer = Writer::new();
    let model = five_hundred_jobs(&writer);
    let mut guard = guard(&model);
    guard.handle(&[something_elsewhere(&model)]).await;
    let messages = a_busy_minute(&writer, &model);
    guard.handle(&messages).await;
    model.take_calls();
    // Duplicates: everything was delivered twice.
    let report = guard.handle(&messages).await;
    assert_eq!(report.summary.left.values().sum::<u64>(), DELETIONS as u64);
    assert!(
        model.all_requests() <= IN_ALL,
        "{:?}",
        by_operation(&model.take_calls())
    );
}

#[tokio::test]
async fn a_directory_copied_with_its_names_costs_one_look_for_a_hidden_checkpoint_and_none_for_a_key() {
    let lab = Lab::new();
    let bucket = lab.model.bucket(BUCKET).expect("made");
    let copies: Vec<String> = lab
        .own_of_head()
        .iter()
        .filter(|key| !key.ends_with("/_metadata"))
        .map(|key| {
            let name = key.rsplit('/').next().expect("a file name");
            let copy = format!("{ROOT}{}/shared/{name}", job_id(999));
            bucket.put(&copy, Object::new(Content::Zeroes(1)));
            copy
        })
        .collect();
    assert!(copies.len() >= 4);
    let mut guard = lab.guard();
    guard
        .handle(&[lab.delete(Who::Flink, &lab.named_by_nobody())])
        .await;
    lab.model.take_calls();
    let report = guard.handle(&lab.delete_all(Who::Alice, &copies)).await;
    assert_eq!(report.summary.left["not referenced"], copies.len() as u64);
    let calls = by_operation(&lab.model.take_calls());
    assert_eq!(calls.get("ListObjectVersions"), Some(&1), "{calls:?}");
}

/// What a job left that is gone: no checkpoint, a file of one that never was completed, and shared files.
fn leave_behind(model: &Model, job: usize) {
    let bucket = model.bucket(BUCKET).expect("made");
    for name in [
        "chk-3/11111111-0000-4000-8000-000000000001",
        "shared/22222222-0000-4000-8000-000000000001",
    ] {
        bucket.put(
            &format!("{ROOT}{}/{name}", job_id(job)),
            Object::new(Content::Zeroes(1)),
        );
    }
}

#[tokio::test]
async fn the_longer_a_directory_is_known_to_hold_no_checkpoint_the_seldomer_it_is_listed() {
    const GONE: usize = 40;
    let lab = Lab::new();
    for job in 0..GONE {
        leave_behind(&lab.model, job);
    }
    let mut guard = lab.guard();
    let mut requests = 0;
    for _ in 0..288 {
        guard
            .handle(&[lab.delete(Who::Flink, &lab.named_by_nobody())])
            .await;
        let calls = lab.model.take_calls();
        let of_gone = |c: &&Call| (0..GONE).any(|job| c.key.contains(&job_id(job)));
        requests += calls
            .iter()
            .filter(of_gone)
            .map(|c| u64::from(c.pages))
            .sum::<u64>();
        lab.model.advance(5 * MINUTE);
    }
    // In a day: the first listing, five minutes later the next, then after 5, 10, 20 ... minutes; with each a look for the file of chk-3.
    let each = requests / GONE as u64;
    assert!((10..=24).contains(&each), "{each} requests a day for each");
}

#[tokio::test]
async fn a_job_that_begins_where_no_checkpoint_was_is_found_at_once_if_it_is_named_and_else_in_as_long_again()
{
    let writer = Writer::new();
    for named in [true, false] {
        let lab = Lab::new();
        leave_behind(&lab.model, 5);
        let mut guard = lab.guard();
        let mut known = 0;
        for _ in 0..12 {
            let report = guard
                .handle(&[lab.delete(Who::Flink, &lab.named_by_nobody())])
                .await;
            known = report.summary.snapshots;
            lab.model.advance(5 * MINUTE);
        }
        assert!(known > 0);
        let told = writer.complete(&lab.model, 5, 1, lab.model.now());
        let mut minutes = 0;
        loop {
            let mut messages = vec![lab.delete(Who::Flink, &lab.named_by_nobody())];
            if named {
                messages.push(told.clone());
            }
            let report = guard.handle(&messages).await;
            if report.summary.snapshots == known + 1 {
                break;
            }
            assert_eq!(report.summary.snapshots, known);
            lab.model.advance(5 * MINUTE);
            minutes += 5;
            assert!(
                minutes <= 60,
                "found in as long again as it was known to be empty"
            );
        }
        assert_eq!(minutes == 0, named, "{minutes} minutes");
    }
}

/// `cargo test -p stayput-guard --release --test it how_long -- --ignored --nocapture`
#[tokio::test]
#[ignore = "a measurement, to be run with --release and by itself"]
async fn how_long_the_calls_take() {
    let writer = Writer::new();
    let model = five_hundred_jobs(&writer);
    let mut guard = guard(&model);
    let began = Instant::now();
    guard.handle(&[something_elsewhere(&model)]).await;
    println!("cold, 500 jobs with 1,500 snapshots: {:?}", began.elapsed());
    model.advance(MINUTE);
    let messages = a_busy_minute(&writer, &model);
    let began = Instant::now();
    let report = guard.handle(&messages).await;
    println!("warm, {} deletions: {:?}", report.summary.judged, began.elapsed());
    assert_eq!(report.summary.judged, DELETIONS as u64);
}
