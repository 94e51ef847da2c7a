//! Waiting until a deletion is over, and `_metadata` after everything that it names.

use s3_model::Fault;
use stayput_core::class::Class;
use stayput_core::report::finding::FindingCode;
use stayput_core::verdict::{LaterReason, Outcome};
use stayput_guard::batch::{Answer, Done};
use stayput_guard::port::PortErrorKind;

use crate::lab::{
    COPIED, DAY, Lab, MINUTE, NAMED_BY_HEAD, SETTLE, Who, done_about, metadata_key, outcome_on, verdict_on,
    word,
};

#[tokio::test]
async fn metadata_comes_back_after_everything_that_it_names() {
    let lab = Lab::new();
    let mut messages = lab.delete_all(Who::Alice, lab.all_keys());
    messages.reverse();
    lab.model.advance(SETTLE);
    lab.guard().handle(&messages).await;
    let copied = lab.copied();
    assert_eq!(copied.len(), NAMED_BY_HEAD + 1);
    assert_eq!(copied.last(), Some(&metadata_key(8)));
    assert!(
        !lab.is_visible(&metadata_key(7)),
        "a spare that Alice deleted stays away"
    );
}

#[tokio::test]
async fn metadata_waits_for_a_file_whose_copy_failed() {
    let lab = Lab::new();
    let messages = lab.delete_all(Who::Alice, lab.all_keys());
    lab.model.advance(SETTLE);
    let late = lab.own_of_head()[0].clone();
    lab.model.plan(
        Fault::answers(PortErrorKind::Denied)
            .on("CopyObject")
            .key(late.clone())
            .always(),
    );
    let mut guard = lab.guard();
    let report = guard.handle(&messages).await;
    assert!(matches!(done_about(&report, &late), Done::Failed(_)));
    assert!(
        matches!(
            outcome_on(&report, &metadata_key(8)),
            Outcome::Later {
                why: LaterReason::WaitsForItsFiles,
                ..
            }
        ),
        "{}",
        word(outcome_on(&report, &metadata_key(8)))
    );
    assert_eq!(lab.copied().len(), NAMED_BY_HEAD - 1);
    assert!(!lab.is_visible(&metadata_key(8)));
    let again: Vec<_> = report
        .answers
        .iter()
        .filter(|(_, a)| *a != Answer::Done)
        .collect();
    assert_eq!(again.len(), 2, "the failed file and `_metadata`: {again:?}");

    // Only their two messages come again, to a process that knows nothing else.
    lab.model.forget_faults();
    lab.model.advance(SETTLE);
    let two: Vec<_> = messages
        .iter()
        .filter(|m| again.iter().any(|(id, _)| *id == m.id))
        .cloned()
        .collect();
    let report = lab.guard().handle(&two).await;
    assert_eq!(*done_about(&report, &late), COPIED);
    assert_eq!(*done_about(&report, &metadata_key(8)), COPIED);
    assert_eq!(lab.copied().last(), Some(&metadata_key(8)));
}

#[tokio::test]
async fn metadata_that_waits_for_a_file_which_somebody_wrote_over_is_told_and_waits_no_more() {
    let lab = Lab::new();
    let told = lab.delete(Who::Alice, &metadata_key(8));
    let spoilt = lab.own_of_head()[0].clone();
    lab.bucket.put(&spoilt, b"half of it");
    lab.model.advance(SETTLE);
    let report = lab.guard().handle(std::slice::from_ref(&told)).await;
    for key in [&metadata_key(8), &spoilt] {
        assert_eq!(
            *outcome_on(&report, key),
            Outcome::Report(FindingCode::Overwritten),
            "{key}"
        );
    }
    let about: Vec<_> = report
        .findings
        .iter()
        .filter(|f| f.code == FindingCode::Overwritten)
        .collect();
    assert_eq!(about.len(), 1, "{about:?}");
    assert!(
        about[0].examples.iter().any(|e| e.ends_with(&spoilt)),
        "{:?}",
        about[0].examples
    );
    assert_eq!(report.answers[0].1, Answer::Done, "no wait makes it right");
    assert_eq!(lab.copied(), Vec::<String>::new());
}

#[tokio::test]
async fn a_persons_deletion_is_judged_when_it_is_over() {
    let lab = Lab::new();
    let key = lab.shared_of_head()[0].clone();
    let messages = [lab.delete(Who::Alice, &key)];
    let marker = lab.model.now();
    let mut guard = lab.guard();
    lab.model.advance(MINUTE);
    let report = guard.handle(&messages).await;
    let Outcome::Later { not_before, why } = outcome_on(&report, &key) else {
        panic!("{}", word(outcome_on(&report, &key)))
    };
    assert_eq!((*not_before, why), (marker.plus(SETTLE), &LaterReason::Quiet));
    assert_eq!(
        report.answers[0].1,
        Answer::Again {
            not_before: *not_before,
            why: LaterReason::Quiet
        }
    );
    lab.model.set_now(marker.plus(SETTLE));
    let report = guard.handle(&messages).await;
    assert_eq!(*done_about(&report, &key), COPIED);
}

#[tokio::test]
async fn a_rules_deletion_needs_no_waiting() {
    let lab = Lab::new();
    let shared = lab.shared_of_head();
    // Alice is at work in the same job at the same time.
    let alice = lab.delete(Who::Alice, &shared[1]);
    let report = lab
        .guard()
        .handle(&[lab.delete(Who::Rule, &shared[0]), alice])
        .await;
    assert_eq!(*done_about(&report, &shared[0]), COPIED);
    assert!(matches!(
        outcome_on(&report, &shared[1]),
        Outcome::Later {
            why: LaterReason::Quiet,
            ..
        }
    ));
}

/// Alice deletes a file every four minutes. Gives the minute at which the first file came back.
async fn back_after_minutes(lab: &Lab) -> Option<u32> {
    let shared = lab.shared_of_head();
    let mut guard = lab.guard();
    let mut waiting = Vec::new();
    for minute in 0..60 {
        if minute % 4 == 0 {
            waiting.push(lab.delete(Who::Alice, &shared[minute as usize / 4]));
        }
        let report = guard.handle(&waiting).await;
        if *done_about(&report, &shared[0]) == COPIED {
            return Some(minute);
        }
        assert!(matches!(
            outcome_on(&report, &shared[0]),
            Outcome::Later {
                why: LaterReason::Quiet,
                ..
            }
        ));
        lab.model.advance(MINUTE);
    }
    None
}

#[tokio::test]
async fn a_running_job_waits_three_settle_delays_and_no_longer() {
    assert_eq!(back_after_minutes(&Lab::new()).await, Some(15));
}

#[tokio::test]
async fn a_resting_job_waits_until_it_is_quiet() {
    let lab = Lab::new();
    lab.model.advance(2 * DAY);
    assert_eq!(
        back_after_minutes(&lab).await,
        None,
        "it was never quiet in an hour"
    );
    let key = lab.shared_of_head()[20].clone();
    let messages = [lab.delete(Who::Alice, &key)];
    lab.model.advance(SETTLE);
    let report = lab.guard().handle(&messages).await;
    assert_eq!(verdict_on(&report, &key).verdict.class, Some(Class::Resting));
    assert_eq!(*done_about(&report, &key), COPIED);
}

#[tokio::test]
async fn after_one_verdict_a_running_jobs_next_loss_waits_anew() {
    let lab = Lab::new();
    let shared = lab.shared_of_head();
    let first = lab.delete(Who::Alice, &shared[0]);
    lab.model.advance(SETTLE);
    let mut guard = lab.guard();
    assert_eq!(*done_about(&guard.handle(&[first]).await, &shared[0]), COPIED);
    lab.model.advance(4 * SETTLE);
    let second = [lab.delete(Who::Alice, &shared[1])];
    lab.model.advance(MINUTE);
    let report = guard.handle(&second).await;
    assert!(matches!(
        outcome_on(&report, &shared[1]),
        Outcome::Later {
            why: LaterReason::Quiet,
            ..
        }
    ));
}
