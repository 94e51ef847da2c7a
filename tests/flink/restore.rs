//! A job was cancelled, a checkpoint or savepoint of it is left, and somebody deletes what that needs.

use std::time::Instant;

use stayput_tests::relay::By;

use crate::lab::{Known, Lab, Pace, RETENTION, stranger};
use crate::rest::{Claim, PATIENCE};
use crate::snapshot::{key, needed};

/// A file of the newest checkpoint that an older one has uploaded: what goes first when somebody tidies up.
fn shared_by_both(lab: &Lab, newest: u64, directory: &str) -> String {
    let older = directory.replace(&format!("chk-{newest}"), &format!("chk-{}", newest - 1));
    let (now, before) = (
        needed(&lab.deployment, directory),
        needed(&lab.deployment, &older),
    );
    assert!(now.len() > 4, "{directory} names only {now:?}");
    let shared = now.intersection(&before).find(|key| key.contains("/shared/"));
    shared
        .unwrap_or_else(|| panic!("{directory} and {older} share nothing: {now:?}, {before:?}"))
        .clone()
}

/// Deletes a file, sees Flink fail without it, lets Stayput hear of it, and sees Flink go on. Returns the job that goes on.
pub(crate) fn lost_found_and_restored(lab: &Lab, by: By, lost: &str, snapshot: &str, claim: Claim) -> String {
    let (rest, deployment) = (&lab.cluster.rest, &lab.deployment);
    let bytes = deployment
        .get(lost)
        .unwrap_or_else(|| panic!("{lost} isn't there"));
    let copies = lab.copies();
    let asked_before = lab.asked();

    // S3's events may take minutes. Meanwhile somebody starts the job.
    let held = deployment.relay.hold();
    deployment.delete_by(by.clone(), lost);
    let began = Instant::now();
    let job = lab.run(Pace::Often, Some((snapshot, claim)));
    rest.wait_for_state(&job, "FAILED");
    let why = rest.failures(&job);
    let file = lost.rsplit('/').next().unwrap_or_default();
    assert!(
        why.contains("java.io.FileNotFoundException") && why.contains(file),
        "it failed for another reason:\n{why}"
    );
    println!(
        "{by:?}: the restore failed after {:.1} s",
        began.elapsed().as_secs_f32()
    );

    drop(held);
    let told = Instant::now();
    let back = deployment.wait_for(lost, PATIENCE);
    println!(
        "{by:?}: back {:.1} s after the event",
        told.elapsed().as_secs_f32()
    );
    assert!(back == bytes, "{lost} has other bytes now");
    deployment.wait_until_idle(PATIENCE);
    assert_eq!(lab.copies() - copies, 1, "one file was lost");
    let mut asked = lab.asked();
    for (operation, before) in asked_before {
        *asked.entry(operation).or_default() -= before;
    }
    asked.retain(|_, count| *count > 0);
    println!("{by:?}: the function asked for {asked:?}");

    let began = Instant::now();
    let job = lab.run(Pace::Often, Some((snapshot, claim)));
    rest.wait_until_all_is_remembered(&job);
    println!("{by:?}: restored after {:.1} s", began.elapsed().as_secs_f32());
    // Those that Flink wanted before all tasks ran count as failed.
    let failed = rest.checkpoints(&job).failed;
    rest.wait_for_checkpoints(&job, 3);
    assert_eq!(rest.checkpoints(&job).failed, failed);
    job
}

fn what_the_retained_checkpoint_needs_comes_back(version: &'static str, known: Known) {
    let name = match known {
        Known::Principals => "restore",
        Known::Nobody => "restore-unknown",
    };
    let settings = [
        (RETENTION, "RETAIN_ON_CANCELLATION"),
        ("restart-strategy.type", "none"),
    ];
    let Some(lab) = Lab::start(version, name, known, &settings) else {
        return;
    };
    let (rest, deployment) = (&lab.cluster.rest, &lab.deployment);
    let first = lab.run(Pace::Often, None);
    let began = Instant::now();
    rest.wait_for_checkpoints(&first, 6);
    rest.cancel(&first);
    println!(
        "six checkpoints and a cancel: {:.1} s",
        began.elapsed().as_secs_f32()
    );
    let (id, directory) = rest.checkpoints(&first).newest.expect("a newest checkpoint");
    deployment.wait_until_idle(PATIENCE);
    assert_eq!(lab.copies(), 0, "nothing was lost so far");

    let lost = shared_by_both(&lab, id, &directory);
    let second = lost_found_and_restored(&lab, stranger(), &lost, &directory, Claim::NoClaim);
    rest.cancel(&second);
    deployment.wait_until_idle(PATIENCE);
    assert_eq!(lab.brought_back(), [lost]);

    // The second job only read it, so it is still as it was: now a rule takes another file.
    let private = needed(deployment, &directory)
        .into_iter()
        .find(|k| k.starts_with(&format!("{}/", key(deployment, &directory))))
        .expect("a private file");
    let third = lost_found_and_restored(&lab, By::Lifecycle, &private, &directory, Claim::Claim);
    rest.cancel(&third);
}

fn what_savepoints_need_comes_back(version: &'static str) {
    let settings = [("restart-strategy.type", "none")];
    let Some(lab) = Lab::start(version, "savepoints", Known::Principals, &settings) else {
        return;
    };
    let (rest, deployment) = (&lab.cluster.rest, &lab.deployment);
    let job = lab.run(Pace::Often, None);
    rest.wait_for_checkpoints(&job, 3);
    let directory = format!("s3://{}/savepoints", deployment.bucket);
    let savepoints = ["NATIVE", "CANONICAL"].map(|format| rest.savepoint(&job, &directory, format));
    rest.cancel(&job);
    for savepoint in savepoints {
        // Every file lies in its directory; the largest is the state.
        let files = needed(deployment, &savepoint);
        let size = |file: &&String| deployment.get(file).map_or(0, |bytes| bytes.len());
        let largest = files.iter().max_by_key(size).expect("a file");
        let job = lost_found_and_restored(&lab, stranger(), largest, &savepoint, Claim::NoClaim);
        rest.cancel(&job);
    }
}

#[test]
fn flink_1_18_goes_on_from_a_retained_checkpoint_that_lost_files() {
    what_the_retained_checkpoint_needs_comes_back("1.18.1", Known::Principals);
}

#[test]
fn flink_2_3_goes_on_from_a_retained_checkpoint_that_lost_files() {
    what_the_retained_checkpoint_needs_comes_back("2.3.0", Known::Principals);
}

#[test]
fn flink_2_3_goes_on_from_it_where_nobody_said_who_flink_is() {
    what_the_retained_checkpoint_needs_comes_back("2.3.0", Known::Nobody);
}

#[test]
fn flink_1_18_starts_from_savepoints_that_lost_a_file() {
    what_savepoints_need_comes_back("1.18.1");
}

#[test]
fn flink_2_3_starts_from_savepoints_that_lost_a_file() {
    what_savepoints_need_comes_back("2.3.0");
}
