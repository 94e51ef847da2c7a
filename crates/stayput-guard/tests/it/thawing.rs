//! A version that lies in an archive is asked for once, and copied when it is there.

use s3_model::{Fault, Tier};
use stayput_core::report::finding::FindingCode;
use stayput_core::verdict::{LaterReason, Outcome};
use stayput_core::version::VersionId;
use stayput_guard::batch::{Answer, BatchReport, Done, Message};
use stayput_guard::port::PortErrorKind;

use crate::lab::{
    COPIED, DAY, HOUR, Lab, Who, done_about, message, notification, outcome_on, verdict_on, word,
};

/// The job, one of whose shared files a rule moved to an archive and another one hid.
struct Archived {
    lab: Lab,
    key: String,
    version: VersionId,
}

impl Archived {
    fn in_class(class: &str) -> (Self, [Message; 1]) {
        let lab = Lab::new();
        let key = lab.shared_of_head()[0].clone();
        let version = lab.newest_data(&key);
        assert!(
            lab.bucket
                .edit(&key, &version, |o| o.storage_class = Some(class.to_owned()))
        );
        let messages = [lab.delete(Who::Rule, &key)];
        (Self { lab, key, version }, messages)
    }

    async fn handle(&self, messages: &[Message]) -> BatchReport {
        self.lab.guard().handle(messages).await
    }

    fn asked(&self) -> usize {
        let calls = self.lab.model.calls();
        calls.iter().filter(|c| c.operation == "RestoreObject").count()
    }

    /// S3's message that the bytes are there.
    fn is_there(&self) -> Message {
        let body = notification(
            "ObjectRestore:Completed",
            "s3.amazonaws.com",
            &self.key,
            Some(&self.version),
            self.lab.model.now(),
        );
        message("thawed".to_owned(), &body)
    }

    fn is_back(&self) {
        let copy = self.lab.bucket.current(&self.key).and_then(|v| v.object);
        let copy = copy.expect("it is visible");
        assert_eq!(copy.storage_class, None, "copies go to STANDARD");
        assert_eq!(
            copy.metadata.get("stayput-source-version").map(String::as_str),
            Some(self.version.as_str())
        );
        assert_eq!(self.lab.data_versions(&self.key), 2);
    }
}

#[tokio::test]
async fn an_archived_version_is_asked_for_once_and_copied_when_s3_says_that_it_is_there() {
    for (class, hours) in [("GLACIER", 5), ("DEEP_ARCHIVE", 12)] {
        let (archived, messages) = Archived::in_class(class);
        let report = archived.handle(&messages).await;
        let ready_by = archived.lab.model.now().plus(hours * HOUR);
        assert_eq!(
            *done_about(&report, &archived.key),
            Done::ThawAsked { ready_by },
            "{class}"
        );
        assert!(matches!(
            outcome_on(&report, &archived.key),
            Outcome::Later { not_before, why: LaterReason::Thaw(_) } if *not_before == ready_by
        ));
        // Nothing waits in the queue for half a day.
        assert_eq!(report.answers[0].1, Answer::Done);
        let [finding] = report.findings.as_slice() else {
            panic!("{:?}", report.findings)
        };
        assert_eq!(finding.code, FindingCode::Archived);
        let because = finding.because.as_deref().unwrap_or_default();
        assert!(because.contains(&ready_by.to_string()), "{because}");
        let sentence = verdict_on(&report, &archived.key).document().sentence;
        assert!(sentence.contains(&ready_by.to_string()), "{sentence}");

        // Told twice, asked once.
        archived.lab.model.advance(HOUR);
        let report = archived.handle(&messages).await;
        assert_eq!(word(outcome_on(&report, &archived.key)), "later: is being thawed");
        assert_eq!(archived.asked(), 1, "{class}");
        assert!(!archived.lab.is_visible(&archived.key));

        archived.lab.model.advance(hours * HOUR);
        let report = archived.handle(&[archived.is_there()]).await;
        assert_eq!(*done_about(&report, &archived.key), COPIED, "{class}");
        archived.is_back();
        assert_eq!(archived.asked(), 1);
        let report = archived.handle(&[archived.is_there()]).await;
        assert_eq!(word(outcome_on(&report, &archived.key)), "leave: visible");
    }
}

#[tokio::test]
async fn without_any_message_the_sweep_asks_and_a_later_one_copies() {
    let (archived, _) = Archived::in_class("DEEP_ARCHIVE");
    archived.lab.model.advance(HOUR);
    archived.lab.guard().sweep().await;
    assert_eq!(archived.asked(), 1);
    archived.lab.model.advance(11 * HOUR);
    archived.lab.guard().sweep().await;
    assert_eq!(archived.asked(), 1, "it is under way");
    assert!(!archived.lab.is_visible(&archived.key));
    archived.lab.model.advance(DAY);
    archived.lab.guard().sweep().await;
    archived.is_back();
}

#[tokio::test]
async fn what_was_thawed_and_archived_again_is_asked_for_again() {
    let (archived, messages) = Archived::in_class("GLACIER");
    archived.handle(&messages).await;
    archived.lab.model.advance(9 * DAY);
    let report = archived.handle(&messages).await;
    assert!(matches!(
        done_about(&report, &archived.key),
        Done::ThawAsked { .. }
    ));
    assert_eq!(archived.asked(), 2);
    archived.lab.model.advance(6 * HOUR);
    archived.handle(&messages).await;
    archived.is_back();
}

#[tokio::test]
async fn what_a_person_asked_for_is_used() {
    let (archived, messages) = Archived::in_class("GLACIER");
    let (key, version) = (&archived.key, &archived.version);
    let asked = archived.lab.bucket.thaw(key, version, 3, Tier::Expedited);
    assert_eq!(asked, Ok(false));
    archived.handle(&messages).await;
    assert_eq!(archived.asked(), 0);
    archived.lab.model.advance(HOUR);
    let report = archived.handle(&messages).await;
    assert_eq!(*done_about(&report, key), COPIED);
    archived.is_back();
}

#[tokio::test]
async fn nothing_is_asked_for_while_stayput_is_paused_or_its_budget_is_spent_or_it_only_observes() {
    let (archived, messages) = Archived::in_class("GLACIER");
    let guard = archived.lab.guard();
    guard
        .memory()
        .pause(archived.lab.model.now())
        .await
        .expect("paused");
    let report = archived.handle(&messages).await;
    assert_eq!(word(outcome_on(&report, &archived.key)), "later: paused");
    assert_eq!(archived.asked(), 0);

    let (mut archived, messages) = Archived::in_class("GLACIER");
    archived.lab.mandate.bytes_per_day = 1;
    let report = archived.handle(&messages).await;
    assert_eq!(word(outcome_on(&report, &archived.key)), "later: budget spent");
    assert_eq!(archived.asked(), 0);

    let (archived, messages) = Archived::in_class("GLACIER");
    let (client, mut observer) = archived.lab.observer();
    let report = observer.handle(&messages).await;
    assert_eq!(
        word(outcome_on(&report, &archived.key)),
        "later: must be thawed first"
    );
    assert_eq!(*done_about(&report, &archived.key), Done::Nothing);
    assert!(client.calls().iter().all(|c| c.operation != "RestoreObject"));
}

#[tokio::test]
async fn what_may_not_be_asked_for_fails_aloud_and_the_message_comes_again() {
    let (archived, messages) = Archived::in_class("GLACIER");
    let fault = Fault::answers(PortErrorKind::Denied).on("RestoreObject").always();
    archived.lab.model.plan(fault);
    let report = archived.handle(&messages).await;
    let Done::Failed(why) = done_about(&report, &archived.key) else {
        panic!("{:?}", report.verdicts)
    };
    assert!(
        why.contains("RestoreObject") && why.contains(&archived.key),
        "{why}"
    );
    assert!(matches!(&report.answers[0].1, Answer::Again { .. }));
    archived.lab.model.forget_faults();
    archived.handle(&messages).await;
    archived.lab.model.advance(6 * HOUR);
    archived.handle(&messages).await;
    archived.is_back();
}

#[tokio::test]
async fn an_answer_that_was_lost_costs_no_second_request() {
    let (archived, messages) = Archived::in_class("GLACIER");
    let fault = Fault::answers(PortErrorKind::Transient)
        .on("RestoreObject")
        .after_the_effect();
    archived.lab.model.plan(fault);
    let report = archived.handle(&messages).await;
    assert!(matches!(done_about(&report, &archived.key), Done::Failed(_)));
    let report = archived.handle(&messages).await;
    assert_eq!(word(outcome_on(&report, &archived.key)), "later: is being thawed");
    assert_eq!(archived.asked(), 1);
}
