//! What can be brought back, and what can't: suspended and unversioned buckets, versions of other sizes, nothing left.

use s3_documents::bucket::Versioning;
use s3_model::{Content, Fault, Object};
use stayput_core::report::finding::FindingCode;
use stayput_core::verdict::{LeaveReason, Outcome};
use stayput_guard::batch::{Answer, Done};
use stayput_guard::port::PortErrorKind;

use crate::lab::{
    COPIED, HOUR, JOB, Lab, SETTLE, Who, done_about, metadata_key, outcome_on, outcomes, told, word,
};

#[tokio::test]
async fn that_versioning_was_enabled_an_hour_ago_is_no_leave_to_copy() {
    let lab = Lab::new();
    let mut guard = lab.guard();
    let [before, after, ..] = &lab.shared_of_head()[..] else {
        panic!("two shared files");
    };
    guard.handle(&[lab.delete(Who::Rule, before)]).await;
    assert_eq!(lab.copied(), std::slice::from_ref(before));
    lab.model.advance(HOUR);
    lab.bucket.set_versioning(Versioning::Suspended);
    let message = [lab.delete(Who::Rule, after)];
    lab.model
        .plan(Fault::answers(PortErrorKind::Throttled).on("GetBucketVersioning"));
    let report = guard.handle(&message).await;
    assert_eq!(
        lab.copied(),
        std::slice::from_ref(before),
        "{:?}",
        outcomes(&report)
    );
    lab.model.advance(SETTLE);
    let report = guard.handle(&message).await;
    let told = Outcome::Report(FindingCode::VersioningSuspended);
    assert_eq!(*outcome_on(&report, after), told);
}

#[tokio::test]
async fn in_a_suspended_bucket_a_person_is_told_and_nothing_is_copied() {
    let lab = Lab::new();
    lab.bucket.set_versioning(Versioning::Suspended);
    let shared = lab.shared_of_head();
    let messages = lab.delete_all(Who::Rule, &shared);
    let report = lab.guard().handle(&messages).await;
    for key in &shared {
        assert_eq!(
            *outcome_on(&report, key),
            Outcome::Report(FindingCode::VersioningSuspended),
            "{key}"
        );
    }
    let findings: Vec<_> = report
        .findings
        .iter()
        .filter(|f| f.code == FindingCode::VersioningSuspended)
        .collect();
    assert_eq!(
        findings.len(),
        1,
        "one for the snapshot, whatever the number of keys"
    );
    assert_eq!(findings[0].objects, shared.len() as u64);
    let undo = findings[0].undo.as_deref().expect("the command for a person");
    assert!(
        undo.contains("delete-object") && undo.contains("--version-id null"),
        "{undo}"
    );
    let copies = lab
        .model
        .calls()
        .iter()
        .filter(|c| c.operation == "CopyObject")
        .count();
    assert_eq!(copies, 0);
    assert!(
        shared
            .iter()
            .all(|k| lab.data_versions(k) == 1 && !lab.is_visible(k))
    );
}

#[tokio::test]
async fn in_an_unversioned_bucket_a_needed_object_is_lost() {
    let lab = Lab::with_versioning(Versioning::Never);
    let key = lab.shared_of_head()[0].clone();
    let messages = [
        lab.delete(Who::Alice, &key),
        lab.delete(Who::Flink, &lab.named_by_spare_only()),
    ];
    assert!(lab.bucket.history(&key).is_empty());
    lab.model.advance(SETTLE);
    let report = lab.guard().handle(&messages).await;
    assert_eq!(
        *outcome_on(&report, &key),
        Outcome::Lost(FindingCode::UnversionedBucket)
    );
    assert_eq!(
        word(outcome_on(&report, &lab.named_by_spare_only())),
        "leave: spare"
    );
    assert_eq!(report.summary.lost, 1);
    assert_eq!(lab.copied(), Vec::<String>::new());
    assert!(
        report
            .findings
            .iter()
            .any(|f| f.code == FindingCode::UnversionedBucket)
    );
}

#[tokio::test]
async fn a_version_of_another_size_on_top_is_passed_over_for_the_fitting_one_below() {
    let lab = Lab::new();
    let key = lab.shared_of_head()[0].clone();
    let right = lab.newest_data(&key);
    lab.bucket.put(&key, b"not what the handle says");
    lab.bucket.put(&key, b"nor this");
    let messages = [lab.delete(Who::Rule, &key)];
    let report = lab.guard().handle(&messages).await;
    assert_eq!(*done_about(&report, &key), COPIED);
    let Outcome::Restore(permit) = outcome_on(&report, &key) else {
        panic!("{:?}", outcomes(&report))
    };
    assert_eq!(permit.source().version, right);
    let current = lab.bucket.current(&key).and_then(|v| v.object).expect("the copy");
    let original = lab
        .bucket
        .version(&key, &right)
        .and_then(|v| v.object)
        .expect("the original");
    assert_eq!(current.content, original.content);
    assert_eq!(current.etag, original.etag);
}

#[tokio::test]
async fn if_no_version_fits_the_object_is_lost_and_nothing_is_copied() {
    let lab = Lab::new();
    let key = lab.shared_of_head()[0].clone();
    let right = lab.newest_data(&key);
    lab.bucket.put(&key, b"not what the handle says");
    assert!(lab.bucket.delete_version(&key, &right));
    let messages = [lab.delete(Who::Rule, &key)];
    let report = lab.guard().handle(&messages).await;
    assert_eq!(
        *outcome_on(&report, &key),
        Outcome::Lost(FindingCode::NoVersionFits)
    );
    assert_eq!(*done_about(&report, &key), Done::Nothing);
    assert_eq!(lab.copied(), Vec::<String>::new());
    assert!(!lab.is_visible(&key));
}

#[tokio::test]
async fn a_visible_object_of_another_size_is_told_of_and_never_touched() {
    let lab = Lab::new();
    let key = lab.shared_of_head()[0].clone();
    let messages = [lab.delete(Who::Alice, &key)];
    let theirs = lab.bucket.put(&key, b"not what the handle says");
    lab.model.advance(SETTLE);
    let report = lab.guard().handle(&messages).await;
    assert_eq!(
        *outcome_on(&report, &key),
        Outcome::Report(FindingCode::Overwritten)
    );
    assert_eq!(lab.bucket.current(&key).expect("theirs").id, theirs);
    assert_eq!(lab.copied(), Vec::<String>::new());
}

#[tokio::test]
async fn while_one_needed_object_is_lost_its_hidden_metadata_stays_hidden() {
    let lab = Lab::new();
    let lost = lab.own_of_head()[0].clone();
    let right = lab.newest_data(&lost);
    // Every file and `_metadata`, by Alice's hand; of one file no version is left.
    let mut messages = lab.delete_all(Who::Alice, lab.all_keys());
    messages.push(lab.purge(&lost, &right));
    lab.model.advance(SETTLE);
    let report = lab.guard().handle(&messages).await;
    assert_eq!(
        *outcome_on(&report, &metadata_key(8)),
        Outcome::Lost(FindingCode::ReferenceLost)
    );
    assert_eq!(
        *outcome_on(&report, &lost),
        Outcome::Lost(FindingCode::PurgedVersion)
    );
    assert!(!lab.is_visible(&metadata_key(8)));
    assert_eq!(
        lab.copied(),
        Vec::<String>::new(),
        "nobody else names the other files"
    );
}

#[tokio::test]
async fn directory_markers_mean_nothing() {
    let lab = Lab::new();
    let markers = [format!("{JOB}shared/"), format!("{JOB}chk-8/"), JOB.to_owned()];
    for marker in &markers {
        lab.bucket.put(marker, Object::new(Content::Zeroes(0)));
    }
    let messages = lab.delete_all(Who::Alice, &markers);
    lab.model.advance(SETTLE);
    let report = lab.guard().handle(&messages).await;
    assert_eq!(outcomes(&report), []);
    assert!(report.answers.iter().all(|(_, a)| *a == Answer::Done));
    assert_eq!(report.answers.len(), markers.len());
    assert_eq!(lab.model.all_requests(), 0, "not even a look");
}

#[tokio::test]
async fn keys_outside_every_root_that_nobody_names_are_counted_and_left() {
    let lab = Lab::new();
    lab.bucket.put("logs/today.txt", b"hello");
    let messages = [lab.delete(Who::Alice, "logs/today.txt")];
    let report = lab.guard().handle(&messages).await;
    assert_eq!(outcomes(&report), []);
    assert_eq!(report.summary.outside, 1);
    assert_eq!(report.answers[0].1, Answer::Done);
}

#[tokio::test]
async fn what_stayput_deleted_is_left() {
    let lab = Lab::new();
    let key = lab.shared_of_head()[0].clone();
    let messages = [lab.delete(Who::Stayput, &key)];
    lab.model.advance(SETTLE);
    let report = lab.guard().handle(&messages).await;
    assert_eq!(*outcome_on(&report, &key), Outcome::Leave(LeaveReason::Ours));
    assert_eq!(lab.copied(), Vec::<String>::new());
}

#[tokio::test]
async fn a_needed_object_that_was_never_there_is_no_deletion() {
    let lab = Lab::new();
    let key = lab.shared_of_head()[0].clone();
    let version = lab.newest_data(&key);
    assert!(lab.bucket.delete_version(&key, &version));
    assert!(lab.bucket.history(&key).is_empty());
    // A message tells of a marker; by now neither marker nor version is there, and no message tells of a purge.
    let messages = [told(Who::Alice, &key, Some(&version), lab.model.now())];
    lab.model.advance(SETTLE);
    let report = lab.guard().handle(&messages).await;
    assert_eq!(
        *outcome_on(&report, &key),
        Outcome::Report(FindingCode::NeverThere)
    );
}

/// Of a checkpoint that nobody may read nobody knows how long its files are: what Flink wrote is what was there first.
#[tokio::test]
async fn what_somebody_put_over_a_file_whose_length_nobody_can_read_doesnt_come_back() {
    for who in [Who::Rule, Who::Alice] {
        let lab = Lab::new();
        for id in [7, 8] {
            let key = metadata_key(id);
            let version = lab.newest_data(&key);
            assert!(
                lab.bucket
                    .edit(&key, &version, |o| o.refusal = Some(PortErrorKind::Denied))
            );
        }
        let key = lab.shared_of_head()[0].clone();
        let right = lab.newest_data(&key);
        lab.bucket.put(&key, b"half");
        lab.bucket.put(&key, b"and half of that");
        let messages = [lab.delete(who, &key)];
        lab.model.advance(SETTLE);
        let report = lab.guard().handle(&messages).await;
        assert_eq!(*done_about(&report, &key), COPIED, "{who:?}");
        let Outcome::Restore(permit) = outcome_on(&report, &key) else {
            panic!("{:?}", outcomes(&report))
        };
        assert_eq!(permit.source().version, right, "{who:?}");
    }
}
