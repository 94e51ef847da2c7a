//! What a finding says of objects that came back, and of who deleted them.

use s3_model::Fault;
use stayput_core::cause::Principals;
use stayput_core::report::finding::{Finding, FindingCode};
use stayput_core::report::recovery::Way;
use stayput_core::root::{RootKind, Roots, Strategy};
use stayput_guard::batch::BatchReport;
use stayput_guard::port::PortErrorKind;

use crate::lab::{HOUR, Lab, MINUTE, ROOT, SETTLE, Who, root};

/// The finding about what nobody known deleted.
fn about_nobody(report: &BatchReport) -> &Finding {
    let found = report
        .findings
        .iter()
        .find(|f| f.code == FindingCode::DeletedNeeded);
    found.unwrap_or_else(|| panic!("{:?}", report.findings))
}

#[tokio::test]
async fn what_was_put_back_is_said_to_be_back_and_nothing_is_left_to_undo() {
    let lab = Lab::new();
    let shared = lab.shared_of_head();
    let version = lab.newest_data(&shared[0]);
    let messages = lab.delete_all(Who::Nobody, &shared[..2]);
    lab.model.advance(SETTLE + MINUTE);
    let report = lab.guard().handle(&messages).await;
    assert!(lab.is_visible(&shared[0]) && lab.is_visible(&shared[1]));
    let finding = about_nobody(&report);
    let [recovered] = finding.recovered.as_slice() else {
        panic!("{finding:?}")
    };
    assert_eq!((recovered.how, recovered.objects), (Way::Copied, 2));
    assert_eq!(recovered.version.as_deref(), Some(version.as_str()));
    assert_eq!(Some(recovered.at), report.acted_at);
    assert_eq!(
        (&finding.undo, finding.deadline),
        (&None, None),
        "nothing is missing"
    );
    assert!(finding.retry_helps);
    let text = finding.to_string();
    assert!(
        text.contains("All of them are back: 2 copied back by") && text.contains(version.as_str()),
        "{text}"
    );
    assert!(!text.contains("delete-object"), "{text}");
}

#[tokio::test]
async fn what_was_un_hidden_is_said_to_show_again() {
    let mut lab = Lab::new();
    let mut unhides = root(ROOT, RootKind::Checkpoints);
    unhides.strategy = Strategy::Unhide;
    lab.mandate.roots = Roots::new(vec![unhides]);
    let key = lab.shared_of_head()[0].clone();
    let messages = [lab.delete(Who::Nobody, &key)];
    lab.model.advance(SETTLE + MINUTE);
    let report = lab.guard().handle(&messages).await;
    let finding = about_nobody(&report);
    assert_eq!(finding.recovered[0].how, Way::Unhidden, "{finding}");
    assert!(
        finding.to_string().contains(" It is back: visible again by "),
        "{finding}"
    );
    assert_eq!(finding.undo, None);
}

#[tokio::test]
async fn who_observes_says_what_would_have_been_done_and_gives_the_command() {
    let lab = Lab::new();
    let key = lab.shared_of_head()[0].clone();
    let messages = [lab.delete(Who::Nobody, &key)];
    lab.model.advance(SETTLE + MINUTE);
    let (_, mut observer) = lab.observer();
    let report = observer.handle(&messages).await;
    let finding = about_nobody(&report);
    assert_eq!(finding.recovered[0].how, Way::WouldComeBack);
    assert_eq!(finding.back(), 0);
    let undo = finding.undo.as_deref().expect("the command for a person");
    assert!(undo.contains(&key), "{undo}");
    assert!(
        !finding.retry_helps,
        "nobody puts it back, so the job fails again"
    );
    let text = finding.to_string();
    assert!(
        text.contains("Nothing was put back, since Stayput only observes; in mode restore: would be put back (from version"),
        "{text}"
    );
    assert!(!lab.is_visible(&key));
}

#[tokio::test]
async fn what_failed_to_come_back_keeps_its_command_and_people_are_told_when_it_is_back() {
    let lab = Lab::new();
    let shared = lab.shared_of_head();
    let messages = lab.delete_all(Who::Nobody, &shared[..2]);
    lab.model.advance(SETTLE + MINUTE);
    let of_first = Fault::answers(PortErrorKind::Denied)
        .on("CopyObject")
        .key(&shared[0]);
    lab.model.plan(of_first);
    let mut guard = lab.guard();
    let report = guard.handle(&messages).await;
    let finding = about_nobody(&report);
    assert_eq!((finding.objects, finding.back()), (2, 1), "{finding}");
    let undo = finding.undo.as_deref().expect("one isn't back");
    assert!(undo.contains(&shared[0]) && !undo.contains(&shared[1]), "{undo}");
    let text = finding.to_string();
    assert!(text.contains("1 of them is back: 1 copied back by"), "{text}");
    assert!(
        text.contains("the deletion of the first one that isn't back"),
        "{text}"
    );
    guard.findings_sent(&report.findings).await.expect("a journal");

    lab.model.advance(MINUTE);
    let report = guard.handle(&messages[..1]).await;
    let finding = about_nobody(&report);
    assert_eq!((finding.objects, finding.back()), (1, 1), "{finding}");
    assert_eq!(finding.undo, None);
}

#[tokio::test]
async fn the_same_finding_is_news_once_its_object_is_back() {
    let lab = Lab::new();
    let key = lab.shared_of_head()[0].clone();
    let messages = [lab.delete(Who::Nobody, &key)];
    lab.model.advance(SETTLE + MINUTE);
    lab.model
        .plan(Fault::answers(PortErrorKind::Denied).on("CopyObject"));
    let mut guard = lab.guard();
    for back in [0, 1] {
        let report = guard.handle(&messages).await;
        let finding = about_nobody(&report);
        assert_eq!((finding.objects, finding.back()), (1, back), "{finding}");
        guard.findings_sent(&report.findings).await.expect("a journal");
        lab.model.advance(MINUTE);
    }
}

#[tokio::test]
async fn what_somebody_else_wrote_meanwhile_is_said_to_be_theirs() {
    let lab = Lab::new();
    let key = lab.shared_of_head()[0].clone();
    let messages = [lab.delete(Who::Nobody, &key)];
    lab.model.advance(SETTLE + MINUTE);
    let (bucket, of) = (lab.bucket.clone(), key.clone());
    lab.model.on_call(move |_, call| {
        if call.operation == "CopyObject" && !bucket.is_visible(&of) {
            bucket.put(&of, b"theirs".to_vec());
        }
    });
    let report = lab.guard().handle(&messages).await;
    let finding = about_nobody(&report);
    assert_eq!(finding.recovered[0].how, Way::WrittenByOthers);
    assert_eq!((&finding.recovered[0].version, &finding.undo), (&None, &None));
    assert!(
        finding.to_string().contains("written anew by somebody else"),
        "{finding}"
    );
}

#[tokio::test]
async fn advice_is_given_only_where_it_isnt_followed() {
    let straight = "straight to SQS";
    let listing = "list";
    // EventBridge names no role, whoever is listed.
    let lab = Lab::new();
    let key = lab.shared_of_head()[0].clone();
    let messages = [lab.delete(Who::Nobody, &key)];
    lab.model.advance(SETTLE + MINUTE);
    let report = lab.guard().handle(&messages).await;
    let finding = about_nobody(&report);
    let because = finding.because.as_deref().unwrap_or_default();
    assert!(because.contains("EventBridge"), "{because}");
    assert!(finding.next_step.contains(straight), "{}", finding.next_step);
    assert!(
        !finding.next_step.contains(listing),
        "Flink's role is listed: {}",
        finding.next_step
    );

    // S3 named the role, but nobody is listed.
    let mut lab = Lab::new();
    lab.mandate.principals = Principals::default();
    let messages = [lab.delete(Who::Alice, &key)];
    lab.model.advance(SETTLE + MINUTE);
    let report = lab.guard().handle(&messages).await;
    let finding = about_nobody(&report);
    let because = finding.because.as_deref().unwrap_or_default();
    assert!(because.contains("AWS:AROAPEOPLE:alice did it"), "{because}");
    assert!(!finding.next_step.contains(straight), "{}", finding.next_step);
    assert!(
        finding.next_step.contains("flink.principals"),
        "{}",
        finding.next_step
    );

    // No message told of it.
    let lab = Lab::new();
    drop(lab.delete(Who::Alice, &key));
    lab.model.advance(HOUR);
    let report = lab.guard().sweep().await.judged;
    let finding = about_nobody(&report);
    assert_eq!(finding.because.as_deref(), Some("no message told of it"));
    assert!(!finding.next_step.contains(straight), "{}", finding.next_step);
}
