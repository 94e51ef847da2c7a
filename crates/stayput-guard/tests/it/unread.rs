//! A newer checkpoint that can't be read, whether it stands or Flink hid it: what Flink or nobody known deletes beside it is told as what nobody
//! can judge, and never put back; what a stranger deletes comes back.

use std::collections::BTreeSet;

use s3_model::Fault;
use stayput_core::report::finding::FindingCode;
use stayput_core::verdict::{LeaveReason, Outcome};
use stayput_guard::batch::Answer;
use stayput_guard::memory::Memory;
use stayput_guard::port::PortErrorKind;

use crate::lab::{
    DAY, HOUR, JOB, Lab, SETTLE, Who, metadata_key, outcome_on, outcomes, real_metadata, with_id,
};

/// chk-9 is newer than chk-8 and may not be read.
fn with_a_denied_newest() -> Lab {
    let lab = Lab::new();
    lab.complete(9);
    let key = metadata_key(9);
    let version = lab.newest_data(&key);
    assert!(
        lab.bucket
            .edit(&key, &version, |o| o.refusal = Some(PortErrorKind::Denied))
    );
    lab.model.advance(2 * HOUR);
    lab
}

const CANNOT_JUDGE: Outcome = Outcome::Report(FindingCode::CannotJudge);

#[tokio::test]
async fn what_an_older_checkpoint_names_cant_be_judged_beside_a_newer_one_that_cant_be_read() {
    for who in [Who::Flink, Who::Nobody] {
        for hidden in [false, true] {
            let lab = with_a_denied_newest();
            let mut messages = Vec::new();
            if hidden {
                messages.push(lab.delete(who, &metadata_key(9)));
                lab.model.advance(HOUR);
            }
            let shared = lab.shared_of_head()[0].clone();
            messages.push(lab.delete(who, &shared));
            lab.model.advance(2 * HOUR);
            // A look much later knows as well as one at once how old the unread one is.
            let report = lab.guard().handle(&messages).await;
            for acted in &report.verdicts {
                assert_eq!(
                    acted.verdict.outcome, CANNOT_JUDGE,
                    "{who:?} {hidden} {}",
                    acted.verdict.location
                );
            }
            assert_eq!(report.verdicts.len(), messages.len());
            assert_eq!(lab.copied(), Vec::<String>::new());
        }
    }
}

#[tokio::test]
async fn a_stranger_finds_no_gap_in_what_cant_be_read() {
    let lab = with_a_denied_newest();
    let shared = lab.shared_of_head()[0].clone();
    let messages = [
        lab.delete(Who::Flink, &metadata_key(9)),
        lab.delete(Who::Alice, &shared),
    ];
    lab.model.advance(2 * HOUR);
    let report = lab.guard().handle(&messages).await;
    assert_eq!(*outcome_on(&report, &metadata_key(9)), CANNOT_JUDGE);
    assert_eq!(lab.copied(), [shared]);
}

#[tokio::test]
async fn what_nobody_can_read_doesnt_come_back_in_the_way_of_a_new_run() {
    for new_run in [false, true] {
        let lab = Lab::new();
        let of_a_newer_flink = {
            let mut bytes = with_id(real_metadata(8), 9);
            // Magic number, then the format.
            bytes[4..8].copy_from_slice(&99_i32.to_be_bytes());
            bytes
        };
        lab.bucket.put(&metadata_key(9), of_a_newer_flink);
        lab.model.advance(2 * HOUR);
        let messages = [lab.delete(Who::Alice, &metadata_key(9))];
        lab.model.advance(HOUR);
        if new_run {
            // Its ids began again, and it will come to 9.
            lab.complete(2);
        }
        lab.model.advance(2 * HOUR);
        let report = lab.guard().handle(&messages).await;
        let left = *outcome_on(&report, &metadata_key(9)) == Outcome::Leave(LeaveReason::NewRunInDirectory);
        assert_eq!(left, new_run, "{:?}", outcome_on(&report, &metadata_key(9)));
        assert_eq!(lab.copied().is_empty(), new_run, "{:?}", outcomes(&report));
    }
}

/// The owner of a job that is gone deletes what it left, and the guard may not read what that is.
#[tokio::test]
async fn what_its_owner_deletes_as_a_whole_stays_deleted_though_nobody_can_read_it() {
    let lab = with_a_denied_newest();
    let older = metadata_key(8);
    let version = lab.newest_data(&older);
    lab.bucket
        .edit(&older, &version, |o| o.refusal = Some(PortErrorKind::Denied));
    lab.model.advance(10 * DAY);
    let mut guard = lab.guard();
    // File by file, each in a message of its own, `_metadata` in the end.
    let mut keys = lab.all_keys();
    keys.sort_by_key(|k| k.ends_with("/_metadata"));
    for key in &keys {
        let message = lab.delete(Who::Alice, key);
        guard.handle(&[message]).await;
    }
    assert_eq!(lab.copied(), Vec::<String>::new());
    lab.model.advance(HOUR);
    let report = guard.sweep().await;
    assert_eq!(lab.copied(), Vec::<String>::new());
    let whole = report.judged.findings.iter();
    let whole = whole.filter(|f| f.code == FindingCode::DeletedAsAWhole).count();
    assert!(whole > 0, "{:?}", report.judged.findings);
}

/// A part of it comes back, once it shows that the rest stays.
#[tokio::test]
async fn one_file_that_a_stranger_deletes_beside_what_nobody_can_read_comes_back_after_the_settle_delay() {
    let lab = with_a_denied_newest();
    let own = lab.own_of_head()[0].replace("/chk-8/", "/chk-9/");
    let message = lab.delete(Who::Alice, &own);
    let mut guard = lab.guard();
    let report = guard.handle(std::slice::from_ref(&message)).await;
    assert!(matches!(outcome_on(&report, &own), Outcome::Later { .. }));
    lab.model.advance(SETTLE);
    guard.handle(&[message]).await;
    assert_eq!(lab.copied(), [own]);
}

/// Where all files are shared none lies beside `_metadata`: that the job's whole directory went says that its owner meant it.
#[tokio::test]
async fn a_whole_directory_stays_away_though_nobody_can_read_what_its_metadata_named() {
    for whole in [true, false] {
        let lab = Lab::new();
        for key in lab.own_of_head() {
            assert!(lab.bucket.delete_version(&key, &lab.newest_data(&key)));
        }
        let denied = Fault::answers(PortErrorKind::Denied).on("GetObject").always();
        lab.model.plan(denied);
        lab.model.advance(30 * DAY);
        let is_to_go = |key: &String| key.starts_with(JOB) && (whole || *key == metadata_key(8));
        let gone: Vec<String> = lab.bucket.visible_keys().into_iter().filter(is_to_go).collect();
        let messages = lab.delete_all(Who::Alice, gone);
        lab.model.advance(SETTLE);
        let report = lab.guard().handle(&messages).await;
        let came_back = lab.copied().contains(&metadata_key(8));
        assert_eq!(came_back, !whole, "{:?}", report.findings);
    }
}

/// Its message was lost, and its versions alone say that a rule took it.
#[tokio::test]
async fn a_sweep_brings_back_a_metadata_that_a_rule_hid_and_nobody_can_read() {
    let lab = Lab::new();
    lab.complete(9);
    let (key, mut of_a_newer_format) = (metadata_key(9), real_metadata(8));
    // Four bytes of magic number, then the version of the format.
    of_a_newer_format[7] = 99;
    lab.bucket.put(&key, of_a_newer_format.as_slice());
    let rule = r#"{"Rules": [{"ID": "wipe", "Status": "Enabled", "Filter": {"Prefix": ""}, "Expiration": {"Date": "2026-11-28T00:00:00Z"}}]}"#;
    lab.bucket
        .set_lifecycle(s3_documents::lifecycle::parse(rule.as_bytes()).expect("rules"));
    lab.model.advance(DAY);
    lab.delete(Who::Rule, &metadata_key(9));
    lab.model.advance(HOUR);
    let report = lab.guard().sweep().await;
    assert_eq!(lab.copied(), [metadata_key(9)], "{report:#?}");
}

#[tokio::test]
async fn beside_a_readable_newer_one_it_is_a_spare() {
    let lab = with_a_denied_newest();
    let key = metadata_key(10);
    lab.bucket.put(&key, with_id(real_metadata(8), 10).as_slice());
    let mut guard = lab.guard();
    // The process has seen it stand.
    guard
        .handle(&[lab.delete(Who::Flink, &lab.named_by_nobody())])
        .await;
    let gone = lab.delete(Who::Flink, &metadata_key(9));
    lab.model.advance(HOUR);
    let report = guard.handle(&[gone]).await;
    assert!(
        matches!(
            outcome_on(&report, &metadata_key(9)),
            Outcome::Leave(LeaveReason::Spare | LeaveReason::NotReferenced(_))
        ),
        "{:?}",
        outcome_on(&report, &metadata_key(9))
    );
}

#[tokio::test]
async fn what_lies_outside_the_roots_waits_too_while_nobody_knows_who_names_it() {
    for kind in [
        PortErrorKind::Throttled,
        PortErrorKind::Transient,
        PortErrorKind::Denied,
    ] {
        let lab = Lab::new();
        let key = "elsewhere/of-an-older-job/shared/file";
        lab.bucket.put(key, b"state".as_slice());
        let message = lab.delete(Who::Alice, key);
        lab.model.advance(HOUR);
        lab.model.plan(Fault::answers(kind).on("ListObjectsV2").always());
        let mut guard = lab.guard();
        let report = guard.handle(std::slice::from_ref(&message)).await;
        assert!(
            matches!(report.answers[0].1, Answer::Again { .. }),
            "{kind:?}: {:?}",
            report.answers
        );
        assert_eq!(report.summary.outside, 0);
        lab.model.forget_faults();
        let report = guard.handle(&[message]).await;
        assert_eq!(report.answers[0].1, Answer::Done);
        assert_eq!(report.summary.outside, 1);
    }
}

/// A permission that is given back counts at once, also for a process that was refused before.
#[tokio::test]
async fn what_may_be_read_again_is_read_again_by_the_process_that_was_refused() {
    for refusal in [PortErrorKind::Denied, PortErrorKind::Unreadable] {
        let lab = with_a_denied_newest();
        let key = metadata_key(9);
        let version = lab.newest_data(&key);
        lab.bucket.edit(&key, &version, |o| o.refusal = Some(refusal));
        let shared = lab.shared_of_head()[0].clone();
        let gone = [lab.delete(Who::Flink, &shared)];
        lab.model.advance(HOUR);
        let mut guard = lab.guard();
        let report = guard.handle(&gone).await;
        assert_eq!(*outcome_on(&report, &shared), CANNOT_JUDGE, "{refusal:?}");

        lab.bucket.edit(&key, &version, |o| o.refusal = None);
        let report = guard.handle(&gone).await;
        assert!(
            matches!(outcome_on(&report, &shared), Outcome::Restore(_)),
            "{refusal:?}: {:?}",
            outcome_on(&report, &shared)
        );
        assert_eq!(lab.copied(), [shared]);
    }
}

/// The same of one that was hidden while nobody might read it: the next sweep knows what it needs.
#[tokio::test]
async fn what_was_hidden_while_it_could_not_be_read_comes_back_once_it_can() {
    let lab = with_a_denied_newest();
    let key = metadata_key(9);
    let version = lab.newest_data(&key);
    let own: Vec<String> = lab
        .own_of_head()
        .iter()
        .map(|k| k.replace("/chk-8/", "/chk-9/"))
        .collect();
    let named: Vec<String> = own.into_iter().chain([key.clone()]).collect();
    lab.model.advance(DAY);
    let memory = Memory::new(Some(lab.model.another_client().journal(&lab.control, "stayput/")));
    memory.pause(lab.model.now()).await.expect("written");
    let mut guard = lab.guard();
    guard.handle(&lab.delete_all(Who::Rule, named.clone())).await;
    assert_eq!(lab.copied(), Vec::<String>::new());

    lab.bucket.edit(&key, &version, |o| o.refusal = None);
    lab.control.delete("stayput/switch/pause");
    lab.model.advance(HOUR);
    guard.sweep().await;
    let copied: BTreeSet<String> = lab.copied().into_iter().collect();
    assert_eq!(copied, named.into_iter().collect());
}

/// Somebody puts half of a `_metadata` over it: what it named is read from below, and people are told.
#[tokio::test]
async fn what_somebody_wrote_over_a_metadata_doesnt_hide_what_it_named() {
    let lab = Lab::new();
    let key = metadata_key(8);
    let whole = real_metadata(8);
    lab.model.advance(HOUR);
    lab.bucket.put(&key, &whole[..whole.len() / 2]);
    lab.model.advance(HOUR);
    let shared = lab.shared_of_head()[0].clone();
    let mut guard = lab.guard();
    let report = guard
        .handle(&lab.delete_all(Who::Rule, vec![shared.clone()]))
        .await;
    assert!(
        matches!(outcome_on(&report, &shared), Outcome::Restore(_)),
        "{:?}",
        outcome_on(&report, &shared)
    );
    assert_eq!(lab.copied(), [shared]);

    lab.model.advance(HOUR);
    let swept = lab.guard().sweep().await;
    let mut told = swept
        .judged
        .findings
        .iter()
        .filter(|f| f.code == FindingCode::Overwritten);
    let finding = told.next().expect("people are told");
    assert!(finding.about.ends_with(&key), "{}", finding.about);
    assert!(told.next().is_none());
}

/// Beside the gap an older checkpoint passes for the newest of its time, also when nothing fails any more.
#[tokio::test]
async fn beside_one_that_couldnt_be_read_an_older_one_doesnt_pass_for_the_newest_also_later() {
    let lab = Lab::new();
    let rule = br#"{"Rules": [{"ID": "daily", "Status": "Enabled", "Filter": {"Prefix": ""}, "Expiration": {"Days": 1}}]}"#;
    lab.bucket
        .set_lifecycle(s3_documents::lifecycle::parse(rule).expect("rules"));
    let memory = Memory::new(Some(lab.model.another_client().journal(&lab.control, "stayput/")));
    memory.pause(lab.model.now()).await.expect("written");
    let mut guard = lab.guard();
    for (hidden, newer) in [(8, Some(9)), (9, Some(10)), (10, None)] {
        lab.model.advance(HOUR);
        if let Some(id) = newer {
            lab.complete(id);
        }
        lab.model.advance(DAY);
        let mut keys = lab.own_of_head();
        keys.push(metadata_key(8));
        let of_it = keys
            .iter()
            .map(|k| k.replace("/chk-8/", &format!("/chk-{hidden}/")));
        let gone = lab.delete_all(Who::Rule, of_it);
        guard.handle(&gone).await;
    }
    lab.control.delete("stayput/switch/pause");
    lab.model.advance(HOUR);

    let mut guard = lab.guard();
    let fault = Fault::answers(PortErrorKind::Throttled).on("ListObjectVersions");
    lab.model.plan(fault.key(metadata_key(9)).always());
    guard.sweep().await;
    assert_eq!(lab.copied(), Vec::<String>::new());
    lab.model.forget_faults();
    // The journal keeps nothing for ever.
    for key in lab.control.visible_keys() {
        if key.contains("/hidden/") {
            lab.control.delete(&key);
        }
    }
    guard.sweep().await;
    let copied = lab.copied();
    assert!(copied.contains(&metadata_key(10)), "{copied:?}");
    let of_older = |k: &&String| k.contains("/chk-8/") || k.contains("/chk-9/");
    assert_eq!(copied.iter().filter(of_older).count(), 0, "{copied:?}");
}
