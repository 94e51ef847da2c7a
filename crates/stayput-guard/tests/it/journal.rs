//! What one process has learnt, the next one knows: each story is told with the journal and, to show that it is the journal that
//! knows, with an empty one.

use s3_model::{Fault, Model, ModelJournal, Object};
use stayput_core::cause::Cause;
use stayput_core::report::finding::FindingCode;
use stayput_core::verdict::{LeaveReason, Outcome};
use stayput_guard::batch::{Answer, BatchReport, Message};
use stayput_guard::guard::Guard;
use stayput_guard::memory::{Memory, OrphansManifest};
use stayput_guard::port::PortErrorKind;

use crate::lab::{
    BUCKET, COPIED, DAY, HOUR, JOB_ID, Lab, MINUTE, SETTLE, Who, done_about, metadata_key, of_job,
    outcome_on, outcomes, real_metadata, told, verdict_on, word,
};

const CLAIMER: &str = "00000000000000000000000000000002";

/// What a new process without memory would say; it only observes, so that the story can go on.
async fn without_memory(lab: &Lab, messages: &[Message]) -> BatchReport {
    let client: Model = lab.model.another_client();
    let none: Option<ModelJournal> = None;
    let mut guard = Guard::observing(client.clone(), none, client, lab.mandate.clone());
    guard.handle(messages).await
}

/// The same deletion as EventBridge tells it: without a name.
fn anonymous(lab: &Lab, key: &str) -> Message {
    let history = lab.bucket.history(key);
    let marker = history.hidden().expect("hidden").newest;
    told(Who::Nobody, key, Some(&marker.id), marker.last_modified)
}

#[tokio::test]
async fn a_snapshot_that_was_claimed_once_stays_claimed() {
    let lab = Lab::new();
    // A job that started from chk-8 in CLAIM mode: its first checkpoint names the old job's shared files and has files of its own.
    for own in lab.own_of_head() {
        let object = lab.bucket.current(&own).and_then(|v| v.object).expect("data");
        lab.bucket.put(&own.replace(JOB_ID, CLAIMER), object);
    }
    let claimers = metadata_key(8).replace(JOB_ID, CLAIMER);
    lab.model.advance(MINUTE);
    lab.bucket.put(&claimers, Object::new(real_metadata(8)));

    let own = lab.own_of_head();
    let first = [lab.delete(Who::Flink, &own[0])];
    lab.model.advance(SETTLE);
    let report = lab.guard().handle(&first).await;
    assert_eq!(
        *outcome_on(&report, &own[0]),
        Outcome::Leave(LeaveReason::Claimed)
    );

    // The claimer goes on until nothing of the old job is named any more, and its first checkpoint is gone for good.
    let version = lab.newest_data(&claimers);
    assert!(lab.bucket.delete_version(&claimers, &version));
    lab.model.advance(2 * HOUR);
    let second = [lab.delete(Who::Flink, &own[1])];
    lab.model.advance(2 * HOUR);
    let report = lab.guard().handle(&second).await;
    assert_eq!(
        *outcome_on(&report, &own[1]),
        Outcome::Leave(LeaveReason::Claimed)
    );
    let forgetful = without_memory(&lab, &second).await;
    assert_ne!(
        *outcome_on(&forgetful, &own[1]),
        Outcome::Leave(LeaveReason::Claimed)
    );
}

#[tokio::test]
async fn who_hid_a_metadata_is_known_to_a_process_that_never_heard_of_it() {
    let lab = Lab::new();
    let shared = lab.shared_of_head();
    // Alice removes `_metadata` of the head; the process that hears of it says "later" and dies.
    let hidden = [lab.delete(Who::Alice, &metadata_key(8))];
    lab.model.advance(MINUTE);
    let report = lab.guard().handle(&hidden).await;
    assert!(matches!(
        outcome_on(&report, &metadata_key(8)),
        Outcome::Later { .. }
    ));
    // Then a file goes. Whoever hears only of that must know that chk-8 is still the head.
    let file = [lab.delete(Who::Alice, &shared[0])];
    lab.model.advance(SETTLE);
    let forgetful = without_memory(&lab, &file).await;
    assert!(
        matches!(outcome_on(&forgetful, &shared[0]), Outcome::Leave(_)),
        "{:?}",
        outcomes(&forgetful)
    );
    let report = lab.guard().handle(&file).await;
    assert_eq!(*done_about(&report, &shared[0]), COPIED);
    // And with it `_metadata` itself, of which no message tells.
    assert_eq!(*done_about(&report, &metadata_key(8)), COPIED);
}

#[tokio::test]
async fn the_cause_of_a_key_that_was_left_at_later_is_known_to_the_next_process() {
    let lab = Lab::new();
    let key = lab.shared_of_head()[0].clone();
    let messages = [lab.delete(Who::Alice, &key)];
    lab.model.advance(MINUTE);
    let report = lab.guard().handle(&messages).await;
    assert!(matches!(outcome_on(&report, &key), Outcome::Later { .. }));
    lab.model.advance(SETTLE);
    let again = [anonymous(&lab, &key)];
    let forgetful = without_memory(&lab, &again).await;
    assert_eq!(verdict_on(&forgetful, &key).verdict.cause, Cause::Unknown);
    assert!(
        forgetful
            .findings
            .iter()
            .any(|f| f.code == FindingCode::DeletedNeeded)
    );
    let report = lab.guard().handle(&again).await;
    assert!(matches!(&verdict_on(&report, &key).verdict.cause, Cause::Foreign(who) if who.contains("alice")));
    assert_eq!(*done_about(&report, &key), COPIED);
    assert!(
        report
            .findings
            .iter()
            .all(|f| f.code != FindingCode::DeletedNeeded),
        "Alice is to blame, and known"
    );
}

#[tokio::test]
async fn a_discard_that_was_left_to_flink_isnt_undone_when_nobody_known_goes_on_with_it() {
    let lab = Lab::new();
    let own = lab.own_of_head();
    let messages = [lab.delete(Who::Flink, &own[0])];
    lab.model.advance(12 * SETTLE);
    let report = lab.guard().handle(&messages).await;
    assert_eq!(
        *outcome_on(&report, &own[0]),
        Outcome::Report(FindingCode::DiscardCutShort)
    );

    let more = [lab.delete(Who::Nobody, &own[1])];
    lab.model.advance(12 * SETTLE);
    let forgetful = without_memory(&lab, &more).await;
    assert!(
        matches!(outcome_on(&forgetful, &own[1]), Outcome::Restore(_)),
        "{:?}",
        outcomes(&forgetful)
    );
    let report = lab.guard().handle(&more).await;
    assert_eq!(
        *outcome_on(&report, &own[1]),
        Outcome::Report(FindingCode::DiscardCutShort)
    );
    assert_eq!(lab.copied(), Vec::<String>::new());
}

#[tokio::test]
async fn a_directory_that_the_same_person_deletes_whole_again_is_put_back_once() {
    let lab = Lab::new();
    let messages = lab.delete_all(Who::Alice, lab.all_keys());
    lab.model.advance(SETTLE);
    let report = lab.guard().handle(&messages).await;
    assert_eq!(*done_about(&report, &metadata_key(8)), COPIED);
    let copies = lab.copied().len();

    lab.model.advance(3 * HOUR);
    let visible: Vec<String> = lab.all_keys().into_iter().filter(|k| lab.is_visible(k)).collect();
    let messages = lab.delete_all(Who::Alice, visible);
    lab.model.advance(SETTLE);
    let forgetful = without_memory(&lab, &messages).await;
    assert!(matches!(
        outcome_on(&forgetful, &metadata_key(8)),
        Outcome::Restore(_)
    ));
    let report = lab.guard().handle(&messages).await;
    assert_eq!(
        *outcome_on(&report, &metadata_key(8)),
        Outcome::Report(FindingCode::DeletedAsAWhole)
    );
    assert_eq!(lab.copied().len(), copies, "the second time it is meant");
}

#[tokio::test]
async fn a_directory_that_never_was_whole_again_is_put_back_the_second_time_too() {
    let mut lab = Lab::new();
    let metadata = [lab.delete(Who::Alice, &metadata_key(8))];
    let own = lab.delete_all(Who::Alice, lab.own_of_head());
    lab.guard().handle(&metadata).await;
    lab.model.advance(SETTLE);
    // For `_metadata` itself the budget doesn't do.
    let budget = std::mem::replace(&mut lab.mandate.objects_per_day, own.len() as u64);
    let report = lab.guard().handle(&own).await;
    assert_eq!(*done_about(&report, &lab.own_of_head()[0]), COPIED);
    lab.mandate.objects_per_day = budget;
    // Before the last message comes again, the job has gone on: chk-8 stays away.
    lab.complete(9);
    lab.guard().handle(&metadata).await;
    assert!(!lab.is_visible(&metadata_key(8)));

    lab.model.advance(3 * HOUR);
    let of_nine: Vec<String> = lab
        .own_of_head()
        .iter()
        .map(|k| k.replace("/chk-8/", "/chk-9/"))
        .collect();
    let mut messages = lab.delete_all(Who::Alice, &of_nine);
    messages.push(lab.delete(Who::Alice, &metadata_key(9)));
    lab.model.advance(SETTLE);
    let report = lab.guard().handle(&messages).await;
    assert_eq!(
        *done_about(&report, &metadata_key(9)),
        COPIED,
        "{}",
        word(outcome_on(&report, &metadata_key(9)))
    );
}

#[tokio::test]
async fn a_finding_is_sent_once_and_again_after_a_day_or_when_it_grows() {
    let lab = Lab::new();
    lab.bucket
        .set_versioning(s3_documents::bucket::Versioning::Suspended);
    let shared = lab.shared_of_head();
    let mut messages = vec![lab.delete(Who::Rule, &shared[0])];
    let sent = |report: &BatchReport| {
        let of_code =
            |f: &&stayput_core::report::finding::Finding| f.code == FindingCode::VersioningSuspended;
        report.findings.iter().filter(of_code).count()
    };
    let guard = lab.guard();
    let say = async |guard: &mut crate::lab::ActingGuard, messages: &[Message]| {
        let report = guard.handle(messages).await;
        guard.findings_sent(&report.findings).await.expect("written");
        sent(&report)
    };
    let mut guard = guard;
    assert_eq!(say(&mut guard, &messages).await, 1);
    assert_eq!(say(&mut guard, &messages).await, 0, "the same process");
    assert_eq!(say(&mut lab.guard(), &messages).await, 0, "another process");
    lab.model.advance(HOUR);
    messages.push(lab.delete(Who::Rule, &shared[1]));
    assert_eq!(say(&mut guard, &messages).await, 1, "it grew");
    lab.model.advance(DAY - MINUTE);
    assert_eq!(say(&mut guard, &messages).await, 0, "not a day yet");
    lab.model.advance(MINUTE);
    assert_eq!(say(&mut lab.guard(), &messages).await, 1, "a day later");
}

#[tokio::test]
async fn a_finding_that_reached_nobody_comes_again() {
    let lab = Lab::new();
    lab.bucket
        .set_versioning(s3_documents::bucket::Versioning::Suspended);
    let messages = [lab.delete(Who::Rule, &lab.shared_of_head()[0])];
    let first = lab.guard().handle(&messages).await;
    let second = lab.guard().handle(&messages).await;
    assert!(!first.findings.is_empty());
    assert_eq!(first.findings.len(), second.findings.len());
}

#[tokio::test]
async fn what_a_later_call_must_know_and_couldnt_be_written_brings_the_messages_again() {
    let lab = Lab::new();
    let key = lab.shared_of_head()[0].clone();
    let messages = [
        lab.delete(Who::Alice, &metadata_key(8)),
        lab.delete(Who::Alice, &key),
    ];
    lab.model.advance(MINUTE);
    lab.model
        .plan(Fault::answers(PortErrorKind::Throttled).on("PutObject").always());
    let report = lab.guard().handle(&messages).await;
    assert!(
        report
            .answers
            .iter()
            .all(|(_, a)| matches!(a, Answer::Again { .. })),
        "{:?}",
        report.answers
    );
}

#[tokio::test]
async fn switches_that_cant_be_read_just_now_stop_every_copy() {
    let lab = Lab::new();
    let key = lab.shared_of_head()[0].clone();
    let messages = [lab.delete(Who::Rule, &key)];
    lab.model.plan(
        Fault::answers(PortErrorKind::Transient)
            .on("ListObjectsV2")
            .key("stayput/switch/")
            .always(),
    );
    let mut guard = lab.guard();
    let report = guard.handle(&messages).await;
    assert!(
        matches!(outcome_on(&report, &key), Outcome::Later { .. }),
        "{}",
        word(outcome_on(&report, &key))
    );
    assert!(matches!(report.answers[0].1, Answer::Again { .. }));
    assert_eq!(lab.copied(), Vec::<String>::new());
    lab.model.forget_faults();
    let report = guard.handle(&messages).await;
    assert_eq!(*done_about(&report, &key), COPIED);
}

#[tokio::test]
async fn what_orphans_hid_and_a_snapshot_names_comes_back_once_the_manifest_can_be_read() {
    let lab = Lab::new();
    let key = lab.shared_of_head()[0].clone();
    let other = lab.shared_of_head()[1].clone();
    let mut guard = lab.guard();
    let manifest = OrphansManifest {
        bucket: BUCKET.to_owned(),
        keys: vec![key.clone()],
    };
    guard.memory().remember_orphans("a-run", &manifest).await.unwrap();
    let messages = [lab.delete(Who::Stayput, &key), lab.delete(Who::Stayput, &other)];
    lab.model.advance(SETTLE + MINUTE);
    for operation in ["ListObjectsV2", "GetObject"] {
        lab.model.plan(
            Fault::answers(PortErrorKind::Transient)
                .on(operation)
                .key("stayput/orphans/")
                .always(),
        );
        let report = guard.handle(&messages).await;
        for key in [&key, &other] {
            let outcome = outcome_on(&report, key);
            assert!(
                matches!(outcome, Outcome::Later { .. }),
                "{operation}: {}",
                word(outcome)
            );
        }
        lab.model.forget_faults();
    }
    let report = guard.handle(&messages).await;
    assert_eq!(*done_about(&report, &key), COPIED);
    assert_eq!(*outcome_on(&report, &other), Outcome::Leave(LeaveReason::Ours));
}

#[tokio::test]
async fn a_claim_by_another_job_names_the_shared_files_that_must_come_back() {
    let lab = Lab::new();
    // The old job's own checkpoints are gone; only the claimer's names the old job's shared files.
    let claimers = metadata_key(8).replace(JOB_ID, CLAIMER);
    for own in lab.own_of_head() {
        let object = lab.bucket.current(&own).and_then(|v| v.object).expect("data");
        lab.bucket.put(&own.replace(JOB_ID, CLAIMER), object);
    }
    lab.bucket.put(&claimers, Object::new(real_metadata(8)));
    lab.delete_all(Who::Flink, [metadata_key(7), metadata_key(8)]);
    assert_ne!(of_job(real_metadata(8), CLAIMER), real_metadata(8));
    lab.model.advance(HOUR);
    let key = lab.shared_of_head()[0].clone();
    let messages = [lab.delete(Who::Alice, &key)];
    lab.model.advance(SETTLE);
    let report = lab.guard().handle(&messages).await;
    assert_eq!(*done_about(&report, &key), COPIED);
    let by = verdict_on(&report, &key)
        .verdict
        .decided_by
        .clone()
        .expect("a snapshot");
    assert_eq!(by.key(), claimers);
}

/// Whether a deletion was whole hangs on who took what went days before; only the journal remembers that.
#[tokio::test]
async fn what_a_person_had_taken_days_before_makes_the_rest_a_part_for_a_process_that_never_heard_of_it() {
    let lab = Lab::new();
    let observer = || {
        let client = lab.model.another_client();
        let journal = client.journal(&lab.control, "observer/");
        Guard::observing(client.clone(), Some(journal), client, lab.mandate.clone())
    };
    lab.model.advance(2 * DAY);
    let first = lab.delete_all(Who::Alice, lab.own_of_head());
    lab.model.advance(MINUTE);
    let report = observer().handle(&first).await;
    assert!(
        report
            .answers
            .iter()
            .all(|(_, a)| matches!(a, Answer::Again { .. }))
    );

    lab.model.advance(4 * DAY);
    let second = [lab.delete(Who::Alice, &metadata_key(8))];
    lab.model.advance(2 * SETTLE);
    let forgetful = without_memory(&lab, &second).await;
    assert_eq!(
        *outcome_on(&forgetful, &metadata_key(8)),
        Outcome::Report(FindingCode::DeletedAsAWhole)
    );
    let report = observer().handle(&second).await;
    assert_ne!(
        *outcome_on(&report, &metadata_key(8)),
        Outcome::Report(FindingCode::DeletedAsAWhole),
        "two hands at two times are no whole deletion"
    );
}

/// Flink took the only checkpoint back, so what Alice deleted of it is left. But the job goes on, and its next checkpoint names the file.
#[tokio::test]
async fn a_strangers_hand_on_what_flink_discarded_is_known_when_the_next_checkpoint_needs_it() {
    let lab = Lab::new();
    let shared = lab.shared_of_head()[0].clone();
    lab.model.advance(HOUR);
    let mut gone = lab.delete_all(Who::Flink, [metadata_key(7), metadata_key(8)]);
    gone.push(lab.delete(Who::Alice, &shared));
    lab.model.advance(MINUTE);
    let report = lab.guard().handle(&gone).await;
    assert_eq!(
        *outcome_on(&report, &shared),
        Outcome::Leave(LeaveReason::DiscardedByFlink)
    );
    lab.complete(9);
    lab.model.advance(MINUTE);
    let own = lab.own_of_head()[0].replace("/chk-8/", "/chk-9/");
    let flinks = [lab.delete(Who::Flink, &own)];
    lab.model.advance(2 * HOUR);
    let report = lab.guard().handle(&flinks).await;
    assert_eq!(
        *outcome_on(&report, &own),
        Outcome::Report(FindingCode::DiscardCutShort)
    );
    lab.guard().sweep().await;
    assert_eq!(lab.copied(), [shared], "beside what is left to Flink");
}

/// A run whose ids began again writes the same key: what was remembered of the old chk-8 says nothing of its own.
#[tokio::test]
async fn what_is_remembered_of_a_checkpoint_isnt_said_of_the_next_one_at_the_same_key() {
    let lab = Lab::new();
    let metadata = lab.bucket.at(&metadata_key(8));
    let memory = Memory::new(Some(lab.model.another_client().journal(&lab.control, "stayput/")));
    let before = lab.model.now();
    lab.model.advance(HOUR);
    memory
        .remember_claimed(&metadata, lab.model.now())
        .await
        .expect("written");
    memory
        .remember_left_to_flink(&metadata, lab.model.now())
        .await
        .expect("written");
    lab.model.advance(HOUR);
    let after = lab.model.now();
    for (written, remembered) in [(before, true), (after, false)] {
        assert_eq!(memory.was_claimed(&metadata, written).await, Ok(remembered));
        assert_eq!(memory.was_left_to_flink(&metadata, written).await, Ok(remembered));
    }
}

/// A job that ends in the very second in which a rule would have taken its files: the message says that it was Flink, and a later process sees only markers at
/// midnight.
#[tokio::test]
async fn what_flink_hid_at_midnight_doesnt_pass_for_a_rules_later() {
    for remembers in [true, false] {
        let lab = Lab::new();
        let rule = r#"{"Rules": [{"ID": "wipe", "Status": "Enabled", "Filter": {"Prefix": ""}, "Expiration": {"Date": "2026-11-28T00:00:00Z"}}]}"#;
        lab.bucket
            .set_lifecycle(s3_documents::lifecycle::parse(rule.as_bytes()).expect("rules"));
        lab.model.advance(24 * HOUR - 2 * MINUTE);
        assert_eq!(lab.model.now(), lab.model.now().midnight());
        let messages = lab.delete_all(Who::Flink, lab.all_keys());
        if remembers {
            for message in &messages {
                lab.guard().handle(std::slice::from_ref(message)).await;
            }
            lab.model.advance(SETTLE);
            lab.guard().handle(&messages).await;
        }
        lab.model.advance(5 * HOUR);
        lab.guard().sweep().await;
        assert_eq!(lab.copied().is_empty(), remembers, "{:?}", lab.copied());
    }
}
