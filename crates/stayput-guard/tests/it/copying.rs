//! What can happen between the look and the copy, and to the answer of the copy.

use s3_model::{Content, ErrorCode, Fault, Model, Object, Retention, RetentionMode};
use stayput_core::report::finding::FindingCode;
use stayput_core::verdict::{LaterReason, Outcome};
use stayput_guard::batch::{Answer, Done};
use stayput_guard::port::PortErrorKind;

use crate::lab::{COPIED, DAY, Lab, SETTLE, Who, done_about, outcome_on, word};

fn size_of(lab: &Lab, key: &str) -> u64 {
    let version = lab.bucket.version(key, &lab.newest_data(key));
    version.and_then(|v| v.object).expect("data").content.len()
}

/// Before a copy reaches the server, somebody else puts these bytes there.
fn writer_before_the_copy(lab: &Lab, key: &str, bytes: Vec<u8>) {
    let (bucket, of) = (lab.bucket.clone(), key.to_owned());
    lab.model.on_call(move |_, call| {
        if call.operation == "CopyObject" && call.key == of && !bucket.is_visible(&of) {
            bucket.put(&of, bytes.clone());
        }
    });
}

#[tokio::test]
async fn somebody_writes_the_key_between_look_and_copy_and_theirs_stays() {
    let lab = Lab::new();
    let shared = lab.shared_of_head();
    let key = &shared[0];
    let messages = lab.delete_all(Who::Rule, &shared[..3]);
    writer_before_the_copy(&lab, key, b"somebody else's".to_vec());
    let report = lab.guard().handle(&messages).await;
    assert_eq!(*done_about(&report, key), Done::WrittenByOthers);
    let current = lab.bucket.current(key).and_then(|v| v.object).expect("theirs");
    assert_eq!(current.content, Content::from(b"somebody else's"));
    assert_eq!(lab.copied(), shared[1..3], "the others come back all the same");
    assert!(report.answers.iter().all(|(_, a)| *a == Answer::Done));
}

#[tokio::test]
async fn somebody_else_brings_the_same_bytes_back_between_look_and_copy() {
    let lab = Lab::new();
    let key = lab.shared_of_head()[0].clone();
    let original = lab.bucket.current(&key).and_then(|v| v.object).expect("data");
    let messages = [lab.delete(Who::Rule, &key)];
    let (bucket, of) = (lab.bucket.clone(), key.clone());
    lab.model.on_call(move |_, call| {
        if call.operation == "CopyObject" && !bucket.is_visible(&of) {
            bucket.put(&of, original.clone());
        }
    });
    let report = lab.guard().handle(&messages).await;
    assert_eq!(*done_about(&report, &key), Done::AlreadyCopied);
    assert_eq!(lab.data_versions(&key), 2, "the original and theirs");
}

#[tokio::test]
async fn two_guards_meet_at_the_same_key_and_one_copy_is_made() {
    let lab = Lab::new();
    let key = lab.shared_of_head()[0].clone();
    let messages = vec![lab.delete(Who::Rule, &key)];
    // The second guard does its whole work in the moment before the first one's copy.
    let (world, mandate, again) = (lab.model.clone(), lab.mandate.clone(), messages.clone());
    lab.model.on_call(move |_, call| {
        if call.operation == "CopyObject" {
            let other: Model = world.another_client();
            let m = || other.clone();
            let no_journal: Option<s3_model::ModelJournal> = None;
            let mut second = stayput_guard::guard::Guard::acting(m(), no_journal, m(), m(), mandate.clone());
            let report = ready(second.handle(&again));
            assert!(report.summary.restored <= 1);
        }
    });
    let report = lab.guard().handle(&messages).await;
    assert_eq!(*done_about(&report, &key), Done::AlreadyCopied);
    assert_eq!(lab.data_versions(&key), 2, "the original and one copy");
}

/// The model's futures are ready at once.
fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match future.as_mut().poll(&mut context) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => panic!("the model never waits"),
    }
}

#[tokio::test]
async fn the_answer_of_the_copy_is_lost_and_the_copy_is_found_to_be_made() {
    let lab = Lab::new();
    let key = lab.shared_of_head()[0].clone();
    let messages = [lab.delete(Who::Rule, &key)];
    lab.model.plan(
        Fault::answers(PortErrorKind::Transient)
            .on("CopyObject")
            .after_the_effect(),
    );
    let report = lab.guard().handle(&messages).await;
    assert_eq!(*done_about(&report, &key), Done::AlreadyCopied);
    assert_eq!(report.summary.restored, 1);
    assert_eq!(report.summary.failed, 0);
    assert_eq!(lab.data_versions(&key), 2, "exactly one copy");
    assert_eq!(lab.model.requests("CopyObject"), 1);
}

#[tokio::test]
async fn the_sdk_tries_again_after_a_lost_answer_and_gets_412_for_its_own_copy() {
    let lab = Lab::new();
    let key = lab.shared_of_head()[0].clone();
    let messages = [lab.delete(Who::Rule, &key)];
    // What the caller sees of "copied, answer lost, tried again by the SDK": the object is there, and the answer is 412.
    lab.model.plan(
        Fault::answers(PortErrorKind::Precondition)
            .on("CopyObject")
            .after_the_effect(),
    );
    let report = lab.guard().handle(&messages).await;
    assert_eq!(*done_about(&report, &key), Done::AlreadyCopied);
    assert_eq!(lab.data_versions(&key), 2);
    assert_eq!(lab.model.requests("CopyObject"), 1);
}

#[tokio::test]
async fn a_conflicting_write_is_looked_at_and_tried_again() {
    let lab = Lab::new();
    let key = lab.shared_of_head()[0].clone();
    let messages = [lab.delete(Who::Rule, &key)];
    lab.model
        .plan(Fault::answers(PortErrorKind::Conflict).on("CopyObject"));
    let report = lab.guard().handle(&messages).await;
    assert_eq!(*done_about(&report, &key), COPIED);
    assert_eq!(lab.data_versions(&key), 2);
}

#[tokio::test]
async fn a_throttled_copy_brings_the_message_again_and_then_it_is_made() {
    let lab = Lab::new();
    let shared = lab.shared_of_head();
    let messages = lab.delete_all(Who::Rule, &shared[..2]);
    lab.model.plan(
        Fault::answers(PortErrorKind::Throttled)
            .on("CopyObject")
            .key(shared[0].clone()),
    );
    let mut guard = lab.guard();
    let report = guard.handle(&messages).await;
    assert!(matches!(done_about(&report, &shared[0]), Done::Failed(_)));
    assert_eq!(report.summary.failed, 1);
    assert_eq!(report.summary.restored, 1);
    assert!(
        matches!(
            &report.answers[0].1,
            Answer::Again {
                why: LaterReason::Transient(_),
                ..
            }
        ),
        "{:?}",
        report.answers
    );
    assert_eq!(
        report.answers[1].1,
        Answer::Done,
        "only the message of the failed copy comes again"
    );
    assert_eq!(
        lab.data_versions(&shared[0]),
        1,
        "a throttled server isn't asked again at once"
    );
    lab.model.advance(SETTLE);
    let report = guard.handle(&messages[..1]).await;
    assert_eq!(*done_about(&report, &shared[0]), COPIED);
    assert_eq!(report.answers[0].1, Answer::Done);
}

#[tokio::test]
async fn a_denied_copy_brings_the_message_again_and_is_counted() {
    let lab = Lab::new();
    let key = lab.shared_of_head()[0].clone();
    let messages = [lab.delete(Who::Rule, &key)];
    lab.model
        .plan(Fault::answers(PortErrorKind::Denied).on("CopyObject").always());
    let report = lab.guard().handle(&messages).await;
    let Done::Failed(why) = done_about(&report, &key) else {
        panic!("{:?}", report.verdicts)
    };
    assert!(
        why.contains("CopyObject") && why.contains(&key) && why.contains("denied"),
        "{why}"
    );
    assert_eq!(report.summary.failed, 1);
    assert_eq!(report.summary.restored, 0);
    assert!(matches!(&report.answers[0].1, Answer::Again { .. }));
    assert_eq!(
        lab.model.requests("CopyObject"),
        0,
        "a planned refusal takes no request"
    );
    let copies = lab
        .model
        .calls()
        .iter()
        .filter(|c| c.operation == "CopyObject")
        .count();
    assert_eq!(copies, 1, "what is denied isn't tried again at once");
}

#[tokio::test]
async fn what_cannot_be_listed_just_now_makes_the_verdict_wait_and_nothing_is_copied() {
    let operations = [
        "ListObjectsV2",
        "ListObjectVersions",
        "GetObject",
        "GetBucketVersioning",
        "GetBucketLifecycleConfiguration",
    ];
    for operation in operations {
        let lab = Lab::new();
        let key = lab.shared_of_head()[0].clone();
        let messages = [lab.delete(Who::Rule, &key)];
        lab.model.plan(
            Fault::answers(PortErrorKind::Throttled)
                .on(operation)
                .key("")
                .always(),
        );
        let mut guard = lab.guard();
        let report = guard.handle(&messages).await;
        let outcome = outcome_on(&report, &key);
        assert!(
            matches!(
                outcome,
                Outcome::Later {
                    why: LaterReason::Transient(_),
                    ..
                }
            ),
            "{operation}: {}",
            word(outcome)
        );
        assert!(matches!(report.answers[0].1, Answer::Again { .. }), "{operation}");
        assert_eq!(lab.copied(), Vec::<String>::new(), "{operation}");
        // It passes, and the same process puts it right.
        lab.model.forget_faults();
        let report = guard.handle(&messages).await;
        assert_eq!(*done_about(&report, &key), COPIED, "{operation}");
    }
}

#[tokio::test]
async fn a_server_that_ignores_the_condition_is_told_of() {
    let lab = Lab::new();
    let key = lab.shared_of_head()[0].clone();
    let messages = [lab.delete(Who::Rule, &key)];
    lab.model.set_ignores_conditions(true);
    let report = lab.guard().handle(&messages).await;
    assert_eq!(
        *done_about(&report, &key),
        Done::Copied {
            condition_honoured: false
        }
    );
}

#[tokio::test]
async fn a_copy_keeps_metadata_and_tags_and_says_where_it_comes_from() {
    let lab = Lab::new();
    let key = lab.shared_of_head()[0].clone();
    let size = size_of(&lab, &key);
    let original = Object::new(Content::Zeroes(size))
        .with_metadata("team", "payments")
        .with_tag("cost-centre", "42")
        .in_class("STANDARD_IA");
    let written = crate::lab::at("2026-08-31T02:59:13Z");
    let version = lab.bucket.put_at(&key, original, written);
    let messages = [lab.delete(Who::Rule, &key)];
    let report = lab.guard().handle(&messages).await;
    assert_eq!(*done_about(&report, &key), COPIED);
    let copy = lab.bucket.current(&key).and_then(|v| v.object).expect("the copy");
    let of = |name: &str| copy.metadata.get(name).map(String::as_str);
    assert_eq!(of("team"), Some("payments"));
    assert_eq!(of("stayput-count"), Some("1"));
    assert_eq!(of("stayput-source-version"), Some(version.as_str()));
    let first = of("stayput-source-last-modified").map(crate::lab::at);
    assert_eq!(first, Some(written));
    assert_eq!(copy.tags.get("cost-centre").map(String::as_str), Some("42"));
    assert_eq!(copy.storage_class, None, "copies go to STANDARD");
}

#[tokio::test]
async fn a_key_that_nobody_can_use_is_told_with_the_servers_words_and_asked_once() {
    // SSE-C refuses the head already; a KMS key that is disabled may refuse the copy alone.
    for refuses_head in [true, false] {
        let lab = Lab::new();
        let key = lab.shared_of_head()[0].clone();
        let messages = [lab.delete(Who::Rule, &key)];
        if refuses_head {
            let version = lab.newest_data(&key);
            let refuse = |o: &mut Object| o.refusal = Some(PortErrorKind::Unreadable);
            assert!(lab.bucket.edit(&key, &version, refuse));
        } else {
            let disabled = Fault::code(ErrorCode::KmsDisabled).on("CopyObject").always();
            lab.model.plan(disabled);
        }
        let report = lab.guard().handle(&messages).await;
        assert_eq!(
            *outcome_on(&report, &key),
            Outcome::Report(FindingCode::VersionKeyUnusable)
        );
        assert_eq!(report.answers[0].1, Answer::Done, "no wait helps");
        let finding = report
            .findings
            .iter()
            .find(|f| f.code == FindingCode::VersionKeyUnusable);
        let finding = finding.expect("it is told");
        let because = finding.because.as_deref().unwrap_or_default();
        assert!(because.contains(&key), "{because}");
        assert!(
            refuses_head || because.contains("KMS.DisabledException"),
            "{because}"
        );
        let undo = finding.undo.as_deref().unwrap_or_default();
        assert!(undo.contains("delete-object"), "{undo}");
        let copies = lab.model.calls();
        let copies = copies.iter().filter(|c| c.operation == "CopyObject").count();
        assert_eq!(copies, usize::from(!refuses_head));
        assert_eq!((report.summary.reported, report.summary.failed), (1, 0));
    }
}

#[tokio::test]
async fn beside_a_retention_and_a_legal_hold_copies_are_made_and_get_the_default_retention() {
    let lab = Lab::new();
    let month = 30 * DAY;
    lab.bucket
        .enable_object_lock(Some((RetentionMode::Compliance, month)));
    let key = lab.shared_of_head()[0].clone();
    let version = lab.newest_data(&key);
    let until = lab.model.now().plus(month);
    assert!(lab.bucket.edit(&key, &version, |o| {
        o.legal_hold = true;
        o.retention = Some(Retention {
            mode: RetentionMode::Compliance,
            until,
        });
    }));
    let messages = [lab.delete(Who::Rule, &key)];
    let report = lab.guard().handle(&messages).await;
    assert_eq!(*done_about(&report, &key), COPIED);
    let copy = lab.bucket.current(&key).and_then(|v| v.object).expect("the copy");
    assert_eq!(
        copy.retention.map(|r| (r.mode, r.until)),
        Some((RetentionMode::Compliance, until))
    );
    assert!(
        !copy.legal_hold,
        "a hold is a person's, and stays on the version it was put on"
    );
    assert!(
        lab.bucket
            .version(&key, &version)
            .and_then(|v| v.object)
            .is_some_and(|o| o.legal_hold)
    );
}
