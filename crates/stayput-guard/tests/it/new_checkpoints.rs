//! A new checkpoint is looked at when the message about its `_metadata` comes: what only it names, and everything once an hour.

use std::collections::BTreeMap;
use std::time::Duration;

use s3_model::{Content, Fault, Object};
use stayput_core::report::finding::FindingCode;
use stayput_core::verdict::{LaterReason, Outcome, Verdict};
use stayput_guard::batch::{Answer, BatchReport, Message};
use stayput_guard::port::PortErrorKind;

use crate::lab::{
    ActingGuard, COPIED, HOUR, JOB, Lab, MINUTE, SETTLE, Who, created, done_about, message, metadata_key,
    notification, real_metadata, with_id, word,
};
use crate::lab::{outcome_on, outcomes};

/// A shared file that a job uploads for its next checkpoint.
const NEW: &str = "5eed0000-0000-4000-8000-000000000001";

/// Puts a file into `shared/` that fits in the place of the one that chk-8 names first.
fn upload(lab: &Lab, name: &str) -> String {
    let replaced = &lab.shared_of_head()[0];
    let object = lab
        .bucket
        .version(replaced, &lab.newest_data(replaced))
        .and_then(|v| v.object);
    let key = format!("{JOB}shared/{name}");
    let size = object.expect("data").content.len();
    lab.bucket.put(&key, Object::new(Content::Zeroes(size)));
    key
}

/// Flink completes a checkpoint that names this file in place of another one.
fn complete_with(lab: &Lab, id: u64, name: &str) -> Message {
    lab.complete(id);
    let replaced = lab.shared_of_head()[0].clone();
    let replaced = replaced.rsplit('/').next().expect("a name").as_bytes();
    let mut bytes = with_id(real_metadata(8), id);
    let place = bytes
        .windows(replaced.len())
        .position(|w| w == replaced)
        .expect("it is named");
    assert_eq!(replaced.len(), name.len());
    bytes[place..place + name.len()].copy_from_slice(name.as_bytes());
    let version = lab.bucket.put(&metadata_key(id), bytes);
    created(&metadata_key(id), &version, lab.model.now())
}

/// A process that has looked at everything once, and what its requests were.
async fn warm(lab: &Lab) -> (ActingGuard, BTreeMap<&'static str, u64>) {
    let mut guard = lab.guard();
    let report = guard.handle(&[lab.complete(9)]).await;
    assert_eq!(outcomes(&report), Vec::new());
    assert_eq!(report.answers[0].1, Answer::Done);
    (guard, requests(lab))
}

/// Requests to the bucket of the job since the last time, pages counted, by operation.
fn requests(lab: &Lab) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::new();
    for call in lab.model.take_calls() {
        *counts.entry(call.operation).or_default() += u64::from(call.pages);
    }
    counts
}

fn codes(report: &BatchReport) -> Vec<FindingCode> {
    report.findings.iter().map(|f| f.code).collect()
}

#[tokio::test]
async fn what_a_person_hid_just_before_a_checkpoint_named_it_comes_back() {
    let lab = Lab::new();
    let (mut guard, _) = warm(&lab).await;
    let key = upload(&lab, NEW);
    let report = guard.handle(&[lab.delete(Who::Alice, &key)]).await;
    assert_eq!(word(outcome_on(&report, &key)), "leave: not referenced");

    // The settle delay holds here too.
    lab.model.advance(MINUTE);
    let completed = [complete_with(&lab, 10, NEW)];
    let report = guard.handle(&completed).await;
    assert_eq!(outcomes(&report), Vec::new());
    let Answer::Again { not_before, .. } = &report.answers[0].1 else {
        panic!("{:?}", report.answers)
    };
    assert_eq!(*not_before, lab.model.now().minus(MINUTE).plus(SETTLE));
    assert!(!lab.is_visible(&key));

    lab.model.advance(SETTLE);
    let report = guard.handle(&completed).await;
    assert_eq!(*done_about(&report, &key), COPIED);
    assert_eq!(codes(&report), []);
    assert_eq!(report.answers[0].1, Answer::Done);
    assert!(lab.is_visible(&key));
    assert_eq!(lab.copied(), [key.as_str()]);

    let report = guard.handle(&completed).await;
    assert_eq!(outcomes(&report), Vec::new());
    assert_eq!(lab.copied().len(), 1);
}

#[tokio::test]
async fn a_process_that_knows_nothing_of_the_job_and_one_that_observes_say_the_same() {
    let lab = Lab::new();
    let key = upload(&lab, NEW);
    lab.delete(Who::Alice, &key);
    lab.model.advance(HOUR);
    let completed = [complete_with(&lab, 10, NEW)];
    let (_, mut observer) = lab.observer();
    let observed = observer.handle(&completed).await;
    assert!(!lab.is_visible(&key));
    let report = lab.guard().handle(&completed).await;
    assert_eq!(outcomes(&observed), outcomes(&report));
    // They found the same; what became of it differs.
    let found = |report: &BatchReport| -> Vec<_> {
        let all = report.findings.iter();
        all.map(|f| (f.code, f.about.clone(), f.examples.clone(), f.because.clone()))
            .collect()
    };
    assert_eq!(found(&observed), found(&report));
    assert!(!report.findings.is_empty());
    for (would, did) in observed.findings.iter().zip(&report.findings) {
        assert_eq!((would.back(), did.back()), (0, did.objects), "{would} {did}");
    }
    assert!(lab.is_visible(&key));
}

#[tokio::test]
async fn what_never_was_there_is_told_and_only_once() {
    let lab = Lab::new();
    let (mut guard, _) = warm(&lab).await;
    let completed = [complete_with(&lab, 10, NEW)];
    let report = guard.handle(&completed).await;
    assert!(
        codes(&report).contains(&FindingCode::NeverThere),
        "{:?}",
        codes(&report)
    );
    guard.findings_sent(&report.findings).await.expect("a journal");
    for id in 11..14 {
        lab.model.advance(MINUTE);
        let report = guard.handle(&[complete_with(&lab, id, NEW)]).await;
        assert_eq!(codes(&report), []);
        assert_eq!(report.answers[0].1, Answer::Done);
    }
}

/// S3 replicates `_metadata` before the files that it names as often as after them.
#[tokio::test]
async fn in_a_replica_a_file_that_may_be_on_its_way_is_waited_for_and_what_doesnt_come_is_told() {
    for comes in [true, false] {
        let lab = Lab::new();
        let (mut guard, _) = warm(&lab).await;
        let completed = complete_with(&lab, 10, NEW);
        let key = metadata_key(10);
        assert!(
            lab.bucket
                .edit(&key, &lab.newest_data(&key), |o| o.replica = true)
        );
        let written = lab.model.now();
        let report = guard.handle(std::slice::from_ref(&completed)).await;
        assert_eq!(codes(&report), []);
        let Answer::Again { not_before, why } = &report.answers[0].1 else {
            panic!("{:?}", report.answers)
        };
        assert_eq!(
            (*not_before, why),
            (written.plus(Duration::from_secs(3600)), &LaterReason::OnItsWay)
        );
        lab.model.advance(Duration::from_secs(3601));
        if comes {
            upload(&lab, NEW);
        }
        let report = guard.handle(&[completed]).await;
        let told = if comes {
            vec![]
        } else {
            vec![FindingCode::NeverThere]
        };
        assert_eq!(codes(&report), told, "the file comes: {comes}");
        assert_eq!(report.answers[0].1, Answer::Done);
    }
}

#[tokio::test]
async fn however_many_files_are_on_their_way_it_is_asked_once_whether_metadata_is_a_replica() {
    let lab = Lab::new();
    let completed = complete_with(&lab, 10, NEW);
    let (key, shared) = (metadata_key(10), lab.shared_of_head());
    assert!(shared.len() > 3, "{shared:?}");
    for file in &shared {
        assert!(lab.bucket.delete_version(file, &lab.newest_data(file)));
    }
    assert!(
        lab.bucket
            .edit(&key, &lab.newest_data(&key), |o| o.replica = true)
    );
    lab.model.take_calls();
    let report = lab.guard().handle(&[completed]).await;
    let waits =
        |v: &&Verdict| matches!(&v.outcome, Outcome::Later { why, .. } if *why == LaterReason::OnItsWay);
    let waiting = report
        .verdicts
        .iter()
        .map(|acted| &acted.verdict)
        .filter(waits)
        .count();
    assert!(waiting > 3, "{:?}", outcomes(&report));
    let calls = lab.model.calls();
    let asked = calls
        .iter()
        .filter(|c| c.operation == "HeadObject" && c.key == key);
    assert_eq!(asked.count(), 1);
}

#[tokio::test]
async fn a_checkpoint_costs_a_listing_its_metadata_and_a_head_for_each_new_file() {
    let lab = Lab::new();
    let (mut guard, at_first) = warm(&lab).await;
    println!("the first checkpoint that a process hears of: {at_first:?}");
    lab.model.advance(MINUTE);
    upload(&lab, NEW);
    let completed = [complete_with(&lab, 10, NEW)];
    let report = guard.handle(&completed).await;
    assert_eq!(outcomes(&report), Vec::new());
    let calls = lab.model.calls();
    let of_job: Vec<_> = calls.iter().filter(|c| c.key.starts_with(JOB)).collect();
    let count = |operation: &str| of_job.iter().filter(|c| c.operation == operation).count();
    let looked = (count("ListObjectsV2"), count("GetObject"), count("HeadObject"));
    println!(
        "one new file in shared/ and four private ones: {:?}",
        requests(&lab)
    );
    assert_eq!(looked, (1, 1, 5), "{of_job:?}");
    assert_eq!(of_job.len(), 7, "{of_job:?}");

    // The same message once more, and one of a file that is no checkpoint's.
    guard.handle(&completed).await;
    let again = lab.model.take_calls();
    let of_job: Vec<_> = again.iter().filter(|c| c.key.starts_with(JOB)).collect();
    assert_eq!(
        of_job.len(),
        2,
        "a listing and what the message says was written: {of_job:?}"
    );
}

#[tokio::test]
async fn other_files_that_are_written_cost_nothing() {
    let lab = Lab::new();
    let mut guard = lab.guard();
    let keys = [
        format!("{JOB}shared/{NEW}"),
        format!("{JOB}chk-9/{NEW}"),
        format!("{JOB}chk-9/not_metadata"),
        "elsewhere/chk-9/_metadata".to_owned(),
        format!("{JOB}_metadata"),
        format!("{JOB}chk-9/_metadata/"),
    ];
    let messages: Vec<Message> = keys
        .iter()
        .map(|key| {
            let principal = "AWS:AROAFLINK:jobmanager";
            let body = notification("ObjectCreated:Put", principal, key, None, lab.model.now());
            message(key.clone(), &body)
        })
        .collect();
    let report = guard.handle(&messages).await;
    assert!(report.answers.iter().all(|(_, a)| *a == Answer::Done));
    assert_eq!(report.answers.len(), keys.len());
    assert_eq!(requests(&lab), BTreeMap::new());
}

#[tokio::test]
async fn once_an_hour_everything_that_the_newest_one_names_is_looked_at() {
    let lab = Lab::new();
    let (mut guard, at_first) = warm(&lab).await;
    // Its message is lost.
    let old = lab.shared_of_head()[3].clone();
    lab.delete(Who::Alice, &old);
    for id in 10..15 {
        lab.model.advance(10 * MINUTE);
        let report = guard.handle(&[lab.complete(id)]).await;
        assert_eq!(outcomes(&report), Vec::new(), "chk-{id}");
    }
    requests(&lab);
    lab.model.advance(10 * MINUTE);
    let report = guard.handle(&[lab.complete(15)]).await;
    assert_eq!(*done_about(&report, &old), COPIED);
    assert!(lab.is_visible(&old));
    let in_full = requests(&lab);
    println!("in full, with one file that comes back: {in_full:?}, at first {at_first:?}");

    // And not again before an hour is over.
    lab.delete(Who::Alice, &lab.shared_of_head()[4]);
    lab.model.advance(50 * MINUTE);
    let report = guard.handle(&[lab.complete(16)]).await;
    assert_eq!(outcomes(&report), Vec::new());
}

#[tokio::test]
async fn a_message_that_waited_until_flink_subsumed_its_checkpoint_means_the_newest() {
    let lab = Lab::new();
    let (mut guard, _) = warm(&lab).await;
    let key = upload(&lab, NEW);
    lab.delete(Who::Alice, &key);
    let late = [complete_with(&lab, 10, NEW)];
    lab.model.advance(HOUR / 2);
    complete_with(&lab, 11, NEW);
    let own = lab.bucket.visible_keys();
    for key in own.iter().filter(|k| k.starts_with(&format!("{JOB}chk-10/"))) {
        lab.delete(Who::Flink, key);
    }
    let report = guard.handle(&late).await;
    assert_eq!(*done_about(&report, &key), COPIED);
    assert_eq!(lab.copied(), [key.as_str()], "what Flink subsumed stays away");
}

#[tokio::test]
async fn what_could_not_be_looked_at_is_looked_at_again() {
    let lab = Lab::new();
    let (mut guard, _) = warm(&lab).await;
    let key = upload(&lab, NEW);
    lab.delete(Who::Alice, &key);
    lab.model.advance(HOUR / 2);
    let completed = [complete_with(&lab, 10, NEW)];
    for operation in ["HeadObject", "ListObjectVersions", "ListObjectsV2"] {
        lab.model
            .plan(Fault::answers(PortErrorKind::Throttled).on(operation).always());
        let report = guard.handle(&completed).await;
        assert!(
            matches!(report.answers[0].1, Answer::Again { .. }),
            "{operation}: {:?}",
            report.answers
        );
        assert!(lab.copied().is_empty(), "{operation}");
        lab.model.forget_faults();
    }
    let report = guard.handle(&completed).await;
    assert_eq!(*done_about(&report, &key), COPIED);
}

#[tokio::test]
async fn of_a_large_checkpoint_a_few_new_files_are_asked_for_one_by_one_and_many_by_a_listing() {
    let lab = Lab::new();
    let (mut guard, _) = warm(&lab).await;
    // All of `shared/` is new to a process that never looked at this job.
    let job = "00000000000000000000000000000777";
    lab.add_job(job, lab.model.now());
    let key = metadata_key(8).replace(crate::lab::JOB_ID, job);
    let version = lab.newest_data(&key);
    requests(&lab);
    guard.handle(&[created(&key, &version, lab.model.now())]).await;
    let calls = lab.model.calls();
    let of_job: Vec<_> = calls.iter().filter(|c| c.key.contains(job)).collect();
    let listings = of_job.iter().filter(|c| c.operation == "ListObjectsV2").count();
    let heads = of_job.iter().filter(|c| c.operation == "HeadObject").count();
    // `chk-`, `shared/`, and its own directory.
    assert_eq!((listings, heads), (3, 0), "{of_job:?}");
}
