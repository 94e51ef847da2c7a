//! A job runs, somebody deletes what it will need at its next failure, and a machine is gone.

use std::time::Instant;

use crate::lab::{Known, Lab, Pace, RETENTION, stranger};
use crate::rest::{Claim, PATIENCE};
use crate::snapshot::{key, needed};

/// A cluster whose jobs restart by themselves, as most do.
fn start(version: &'static str, name: &str) -> Option<Lab> {
    let settings = [
        (RETENTION, "RETAIN_ON_CANCELLATION"),
        ("restart-strategy.type", "fixed-delay"),
        ("restart-strategy.fixed-delay.attempts", "100"),
        ("restart-strategy.fixed-delay.delay", "1s"),
    ];
    Lab::start(version, name, Known::Principals, &settings)
}

/// The TaskManager's machine is gone, another comes; waits until the job has what it had.
fn fail_over(lab: &Lab, job: &str) {
    let rest = &lab.cluster.rest;
    let restored = rest.checkpoints(job).restored;
    let attempt = rest.running_attempt(job).expect("all tasks run");
    lab.cluster.kill_taskmanager();
    lab.cluster.start_taskmanager();
    // The attempts before it may have remembered everything too.
    rest.wait_until(job, "a restart", || {
        rest.running_attempt(job).is_some_and(|now| now > attempt)
    });
    rest.wait_until_all_is_remembered(job);
    assert!(rest.checkpoints(job).restored > restored);
    assert_eq!(rest.state(job), "RUNNING");
}

/// The file is lost while the job runs, and S3's event is late: the restarts fail, until Stayput hears of it.
fn a_running_job_comes_up_again(version: &'static str) {
    let Some(lab) = start(version, "failover") else {
        return;
    };
    let rest = &lab.cluster.rest;
    let job = lab.run(Pace::WhenTold, None);
    rest.wait_until_all_is_counted(&job);
    let (id, directory) = rest.checkpoint(&job);
    let files = needed(&lab.deployment, &directory);
    let lost = files
        .iter()
        .find(|k| k.contains("/shared/"))
        .expect("a shared file");
    let bytes = lab.deployment.get(lost).expect("the file is there");
    let file = lost.rsplit('/').next().unwrap_or_default();

    let held = lab.deployment.relay.hold();
    lab.deployment.delete_by(stranger(), lost);
    let newest = rest.checkpoints(&job).newest;
    assert_eq!(newest, Some((id, directory)), "the job took another checkpoint");
    lab.cluster.kill_taskmanager();
    lab.cluster.start_taskmanager();
    rest.wait_until(&job, "the failure for want of the file", || {
        let why = rest.failures(&job);
        why.contains("java.io.FileNotFoundException") && why.contains(file)
    });

    drop(held);
    let told = Instant::now();
    assert!(lab.deployment.wait_for(lost, PATIENCE) == bytes);
    println!("back {:.1} s after the event", told.elapsed().as_secs_f32());
    rest.wait_until_all_is_remembered(&job);
    println!(
        "the job runs {:.1} s after the event",
        told.elapsed().as_secs_f32()
    );
    rest.checkpoint(&job);
    lab.deployment.wait_until_idle(PATIENCE);
    assert_eq!(lab.copies(), 1, "one file was lost");
    rest.cancel(&job);
}

/// The file lies in the directory of a job that doesn't run any more.
fn a_job_that_claimed_survives(version: &'static str) {
    let Some(lab) = start(version, "claim") else {
        return;
    };
    let rest = &lab.cluster.rest;
    let first = lab.run(Pace::WhenTold, None);
    rest.wait_until_all_is_counted(&first);
    let (_, claimed) = rest.checkpoint(&first);
    rest.cancel(&first);
    let second = lab.run(Pace::WhenTold, Some((&claimed, Claim::Claim)));
    rest.wait_until_all_is_remembered(&second);
    // Only one: after four RocksDB rewrites the old files.
    let (_, directory) = rest.checkpoint(&second);
    lab.deployment.wait_until_idle(PATIENCE);
    assert_eq!(lab.copies(), 0, "nothing was lost so far");
    let old = key(&lab.deployment, claimed.rsplit_once('/').expect("a directory").0);
    let files = needed(&lab.deployment, &directory);
    let lost = files.iter().find(|k| k.starts_with(&old));
    let lost = lost.unwrap_or_else(|| panic!("{directory} names nothing below {old}: {files:?}"));
    let bytes = lab.deployment.get(lost).expect("the file is there");

    lab.deployment.delete_by(stranger(), lost);
    let deleted = Instant::now();
    assert!(lab.deployment.wait_for(lost, PATIENCE) == bytes);
    println!("back {:.1} s after the deletion", deleted.elapsed().as_secs_f32());

    fail_over(&lab, &second);
    rest.checkpoint(&second);
    assert_eq!(lab.copies(), 1, "one file was lost");
    rest.cancel(&second);
}

#[test]
fn a_running_job_of_flink_1_18_comes_up_again_once_its_file_is_back() {
    a_running_job_comes_up_again("1.18.1");
}

#[test]
fn a_running_job_of_flink_2_3_comes_up_again_once_its_file_is_back() {
    a_running_job_comes_up_again("2.3.0");
}

#[test]
fn a_job_of_flink_1_18_that_claimed_a_checkpoint_survives_the_loss_of_an_old_file() {
    a_job_that_claimed_survives("1.18.1");
}

#[test]
fn a_job_of_flink_2_3_that_claimed_a_checkpoint_survives_the_loss_of_an_old_file() {
    a_job_that_claimed_survives("2.3.0");
}
