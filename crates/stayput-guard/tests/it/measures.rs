//! What calls and sweeps say in numbers: who deleted, how much came back and how soon, how far each job has come.

use std::time::Duration;

use s3_model::{Content, Object};
use stayput_guard::batch::Done;
use stayput_guard::sweep::Progress;

use crate::lab::{HOUR, JOB_ID, Lab, Who, metadata_key, real_metadata, verdict_on, with_id};

#[tokio::test]
async fn a_call_says_who_deleted_and_how_much_came_back_how_soon() {
    let lab = Lab::new();
    let shared = lab.shared_of_head();
    let size = |key: &String| {
        let data = lab
            .bucket
            .version(key, &lab.newest_data(key))
            .and_then(|v| v.object);
        data.expect("data").content.len()
    };
    let (by_alice, by_flink) = (&shared[0], lab.named_by_spare_only());
    let bytes = size(by_alice);
    let messages = [
        lab.delete(Who::Alice, by_alice),
        lab.delete(Who::Flink, &by_flink),
    ];
    let deleted = lab.model.now();
    lab.model.advance(HOUR);
    let report = lab.guard().handle(&messages).await;
    let summary = &report.summary;
    assert_eq!(summary.by_cause, [("Flink", 1), ("foreign", 1)].into());
    assert_eq!(
        (summary.restored, summary.restored_bytes, summary.over_budget),
        (1, bytes, 0)
    );
    let back = verdict_on(&report, by_alice);
    assert!(matches!(back.done, Done::Copied { .. }));
    assert_eq!(back.deleted_at, Some(deleted));
    assert_eq!(report.acted_at, Some(lab.model.now()));
    assert_eq!(report.acted_at.unwrap().since(deleted), HOUR);
}

#[tokio::test]
async fn what_waits_for_the_budget_is_counted_and_what_is_only_told_was_deleted_by_nobody() {
    let mut lab = Lab::new();
    lab.mandate.objects_per_day = 1;
    let shared = lab.shared_of_head();
    lab.delete_all(Who::Alice, &shared[..3]);
    // Somebody wrote over a needed object: nobody deleted it.
    lab.bucket.put(&shared[3], Object::new(Content::Zeroes(1)));
    lab.model.advance(HOUR);
    let summary = lab.guard().sweep().await.judged.summary;
    assert_eq!((summary.restored, summary.later, summary.over_budget), (1, 2, 2));
    assert_eq!(summary.judged, 4);
    assert_eq!(
        summary.by_cause.values().sum::<u64>(),
        3,
        "{:?}",
        summary.by_cause
    );
}

async fn progress(lab: &Lab) -> Vec<(String, Duration, bool)> {
    let now = lab.model.now();
    let of = |p: Progress| (p.job.prefix, now.since(p.newest), p.runs);
    lab.guard().sweep().await.progress.into_iter().map(of).collect()
}

#[tokio::test]
async fn a_job_that_stopped_between_two_sweeps_is_seen_by_the_next_and_then_counts_as_stopped() {
    let lab = Lab::new();
    let newest = lab
        .bucket
        .current(&metadata_key(8))
        .expect("visible")
        .last_modified;
    let since = |lab: &Lab| lab.model.now().since(newest);
    let runs_for = 24 * HOUR + 24 * HOUR;
    assert!(since(&lab) < HOUR);
    let mut seen = Vec::new();
    for _ in 0..4 {
        let jobs = progress(&lab).await;
        let [(prefix, age, runs)] = jobs.as_slice() else {
            panic!("{jobs:?}")
        };
        assert!(prefix.ends_with(&format!("{JOB_ID}/")), "{prefix}");
        assert_eq!(*age, since(&lab));
        assert_eq!(*runs, *age < runs_for, "{age:?}");
        seen.push(*runs);
        lab.model.advance(20 * HOUR);
    }
    assert_eq!(seen, [true, true, true, false]);
    // A new checkpoint, and it runs again.
    lab.complete(9);
    let jobs = progress(&lab).await;
    assert_eq!((jobs[0].1, jobs[0].2), (Duration::ZERO, true));
}

#[tokio::test]
async fn nobody_waits_for_a_checkpoint_in_a_directory_whose_job_went_on_elsewhere() {
    let lab = Lab::new();
    lab.model.advance(2 * HOUR);
    assert!(progress(&lab).await[0].2);
    // It was restored in CLAIM mode: a checkpoint of another directory names the old one's files.
    let elsewhere = metadata_key(9).replace(JOB_ID, "ffffffffffffffffffffffffffffffff");
    lab.bucket.put(&elsewhere, with_id(real_metadata(8), 9));
    let jobs = progress(&lab).await;
    let runs: Vec<(bool, bool)> = jobs
        .iter()
        .map(|(job, _, runs)| (job.contains(JOB_ID), *runs))
        .collect();
    assert_eq!(runs, [(true, false), (false, true)]);
}
