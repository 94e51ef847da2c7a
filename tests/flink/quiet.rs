//! A job runs and is cancelled, and Stayput leaves what Flink deletes.

use std::time::Instant;

use crate::lab::{Known, Lab, Pace, RETENTION};
use crate::rest::PATIENCE;

const CHECKPOINTS: u64 = 50;

fn nothing_that_flink_deletes_comes_back(version: &'static str, known: Known) {
    let name = match known {
        Known::Principals => "quiet",
        Known::Nobody => "quiet-unknown",
    };
    let settings = [
        (RETENTION, "DELETE_ON_CANCELLATION"),
        ("restart-strategy.type", "none"),
    ];
    let Some(lab) = Lab::start(version, name, known, &settings) else {
        return;
    };
    let (rest, deployment) = (&lab.cluster.rest, &lab.deployment);
    let job = lab.run(Pace::Often, None);
    let began = Instant::now();
    rest.wait_for_checkpoints(&job, 1);
    // Those that Flink wanted before all tasks ran count as failed.
    let not_begun = rest.checkpoints(&job).failed;
    for _ in 0..CHECKPOINTS / 5 {
        rest.wait_for_checkpoints(&job, 5);
    }
    println!(
        "{CHECKPOINTS} checkpoints: {:.1} s",
        began.elapsed().as_secs_f32()
    );
    let done = rest.checkpoints(&job);
    assert!(done.completed >= CHECKPOINTS, "{done:?}");
    assert_eq!(
        (done.failed, rest.restarts(&job), rest.failures(&job)),
        (not_begun, 0, String::new())
    );
    assert_eq!(lab.brought_back(), Vec::<String>::new());

    rest.cancel(&job);
    deployment.wait_until_idle(PATIENCE);
    // A checkpoint that was under way leaves files that nobody names, and S3A its empty directory objects.
    let objects = deployment.cloud.list(&deployment.bucket, "flink/");
    let snapshots: Vec<_> = objects.iter().filter(|key| key.ends_with("/_metadata")).collect();
    assert_eq!(snapshots, Vec::<&String>::new(), "Flink deletes every checkpoint");
    assert_eq!(lab.brought_back(), Vec::<String>::new());

    let verdicts: Vec<_> = deployment
        .log()
        .into_iter()
        .map(|mut line| line["verdict"].take())
        .filter(|verdict| !verdict.is_null())
        .collect();
    // A `_metadata`, the source's and the counters' files: at least four deletions a checkpoint.
    let at_least = usize::try_from(CHECKPOINTS).unwrap_or_default() * 4;
    assert!(verdicts.len() >= at_least, "only {} verdicts", verdicts.len());
    assert_eq!(lab.copies(), 0, "the function copied: {:?}", lab.asked());
    println!(
        "{} verdicts; the function asked for {:?}",
        verdicts.len(),
        lab.asked()
    );
    // What it would remember of copies and of findings.
    let mut journal = deployment.cloud.list(&deployment.bucket, "stayput/");
    journal.retain(|key| {
        ["spent/", "put-back/", "finding/"]
            .iter()
            .any(|kind| key.contains(kind))
    });
    assert_eq!(journal, Vec::<String>::new());
    assert_eq!(deployment.cloud.depth(&deployment.dead_letters), (0, 0));
}

#[test]
fn fifty_checkpoints_of_flink_1_18_and_a_cancel_that_cleans_up() {
    nothing_that_flink_deletes_comes_back("1.18.1", Known::Principals);
}

#[test]
fn fifty_checkpoints_of_flink_2_3_and_a_cancel_that_cleans_up() {
    nothing_that_flink_deletes_comes_back("2.3.0", Known::Principals);
}

#[test]
fn fifty_checkpoints_of_flink_1_18_where_nobody_said_who_flink_is() {
    nothing_that_flink_deletes_comes_back("1.18.1", Known::Nobody);
}

#[test]
fn fifty_checkpoints_of_flink_2_3_where_nobody_said_who_flink_is() {
    nothing_that_flink_deletes_comes_back("2.3.0", Known::Nobody);
}
