//! Un-hiding: where a root asks for it, what a stranger hid is visible again without its markers. No data version is ever removed.

use s3_documents::bucket::Versioning;
use s3_documents::lifecycle;
use s3_model::{Content, Fault};
use stayput_core::report::finding::FindingCode;
use stayput_core::root::{RootKind, Roots, Strategy};
use stayput_core::verdict::{LaterReason, Outcome};
use stayput_core::version::{VersionId, VersionKind};
use stayput_guard::batch::{Answer, Done, Message};
use stayput_guard::port::PortErrorKind;

use crate::lab::{
    COPIED, HOUR, Lab, ROOT, SETTLE, Who, at, done_about, metadata_key, root, told, verdict_on,
};

/// The job under a root that un-hides, and one of the shared files that it needs.
struct Hidden {
    lab: Lab,
    key: String,
    version: VersionId,
}

fn lab() -> Lab {
    let mut lab = Lab::new();
    let mut unhides = root(ROOT, RootKind::Checkpoints);
    unhides.strategy = Strategy::Unhide;
    lab.mandate.roots = Roots::new(vec![unhides]);
    lab
}

fn set_rules(lab: &Lab, rule: &str) {
    let json = format!(
        r#"{{"Rules": [{{"ID": "tidy", "Status": "Enabled", "Filter": {{"Prefix": "{ROOT}"}}, {rule}}}]}}"#
    );
    lab.bucket
        .set_lifecycle(lifecycle::parse(json.as_bytes()).expect("rules"));
}

impl Hidden {
    fn new() -> Self {
        let lab = lab();
        let month_ago = at("2026-10-29T00:00:00Z");
        let is_old = |k: &String| lab.bucket.current(k).expect("visible").last_modified < month_ago;
        let key = lab
            .shared_of_head()
            .into_iter()
            .find(is_old)
            .expect("an old file");
        let version = lab.newest_data(&key);
        Self { lab, key, version }
    }

    fn by(who: Who) -> (Self, [Message; 1]) {
        let hidden = Self::new();
        let messages = [hidden.lab.delete(who, &hidden.key)];
        hidden.lab.model.advance(SETTLE);
        (hidden, messages)
    }

    async fn done(&self, messages: &[Message]) -> Done {
        let report = self.lab.guard().handle(messages).await;
        done_about(&report, &self.key).clone()
    }

    fn calls(&self, operation: &str) -> usize {
        let calls = self.lab.model.calls();
        calls.iter().filter(|c| c.operation == operation).count()
    }

    /// The very version is visible, and nothing lies above or below it.
    fn is_as_it_was(&self) {
        let history = self.lab.bucket.history(&self.key);
        let ids: Vec<_> = history.entries().iter().map(|row| &row.id).collect();
        assert_eq!(ids, [&self.version]);
        assert!(self.lab.is_visible(&self.key));
        assert_eq!(self.calls("CopyObject"), 0);
    }

    /// Every DeleteObject named a marker.
    fn removed_no_data(&self) {
        let calls = self.lab.model.calls();
        for call in calls.iter().filter(|c| c.operation == "DeleteObject") {
            let id = call.version.as_ref().expect("a version id");
            assert_ne!(*id, self.version);
            assert!(!id.is_null());
        }
    }
}

#[tokio::test]
async fn a_strangers_marker_goes_and_the_version_is_visible_as_it_was() {
    let (hidden, messages) = Hidden::by(Who::Alice);
    let marker = hidden.lab.bucket.history(&hidden.key).entries()[0].id.clone();
    let report = hidden.lab.guard().handle(&messages).await;
    assert_eq!(*done_about(&report, &hidden.key), Done::Unhidden { markers: 1 });
    let summary = &report.summary;
    assert_eq!((summary.restored, summary.unhidden, summary.repaired), (1, 1, 0));
    assert_eq!(report.answers[0].1, Answer::Done);
    let sentence = verdict_on(&report, &hidden.key).document().sentence;
    assert!(sentence.contains("visible as before"), "{sentence}");
    hidden.is_as_it_was();
    hidden.removed_no_data();
    let spent = hidden.lab.guard().memory().spent(hidden.lab.model.now()).await;
    let spent = spent.expect("the journal");
    assert_eq!((spent.objects, spent.bytes), (1, 0), "nothing was copied");

    // S3 tells of our removal as of any version that goes: that is no deletion.
    hidden.lab.model.take_calls();
    let body = crate::lab::notification(
        "ObjectRemoved:Delete",
        "AWS:AROASTAYPUT:guard",
        &hidden.key,
        Some(&marker),
        hidden.lab.model.now(),
    );
    let ours = [crate::lab::message("ours".to_owned(), &body)];
    let report = hidden.lab.guard().handle(&ours).await;
    assert_eq!(
        (report.verdicts.len(), report.answers[0].1.clone()),
        (0, Answer::Done)
    );
    assert!(hidden.lab.model.calls().is_empty(), "nothing is looked at for it");
    // Told again of the deletion itself, it is there.
    assert_eq!(hidden.done(&messages).await, Done::Nothing);
}

#[tokio::test]
async fn all_markers_on_top_go_and_none_below_the_version() {
    let hidden = Hidden::new();
    let below = hidden.lab.bucket.delete(&hidden.key).expect("a marker");
    let object = hidden.lab.bucket.version(&hidden.key, &hidden.version);
    let object = object.and_then(|v| v.object).expect("data");
    let again = hidden.lab.bucket.put(&hidden.key, object);
    let messages: Vec<Message> = (0..3)
        .map(|_| hidden.lab.delete(Who::Alice, &hidden.key))
        .collect();
    hidden.lab.model.advance(SETTLE);
    assert_eq!(hidden.done(&messages).await, Done::Unhidden { markers: 3 });
    let history = hidden.lab.bucket.history(&hidden.key);
    let ids: Vec<_> = history.entries().iter().map(|row| row.id.clone()).collect();
    assert_eq!(ids, [again, below, hidden.version.clone()]);
    hidden.removed_no_data();
}

#[tokio::test]
async fn a_whole_running_snapshot_comes_back_its_metadata_last() {
    let hidden = Hidden::new();
    let mut keys = hidden.lab.own_of_head();
    keys.push(metadata_key(8));
    let messages = hidden.lab.delete_all(Who::Alice, &keys);
    hidden.lab.model.advance(SETTLE);
    let report = hidden.lab.guard().handle(&messages).await;
    for key in &keys {
        assert_eq!(*done_about(&report, key), Done::Unhidden { markers: 1 }, "{key}");
        assert_eq!(hidden.lab.data_versions(key), 1);
    }
    let calls = hidden.lab.model.calls();
    let removed: Vec<_> = calls.iter().filter(|c| c.operation == "DeleteObject").collect();
    assert_eq!(removed.last().map(|c| c.key.clone()), Some(metadata_key(8)));
}

#[tokio::test]
async fn what_a_rule_took_is_copied_so_that_it_is_young_again() {
    let (hidden, messages) = Hidden::by(Who::Rule);
    assert_eq!(hidden.done(&messages).await, COPIED);
    assert_eq!(hidden.calls("DeleteObject"), 0);
}

#[tokio::test]
async fn what_a_rule_would_take_within_two_days_is_copied() {
    for (rule, expected) in [
        // It is months old, so the rule hides it the next night.
        (r#""Expiration": {"Days": 30}"#, COPIED),
        // The version goes for good a day after it was hidden.
        (r#""NoncurrentVersionExpiration": {"NoncurrentDays": 1}"#, COPIED),
        (
            r#""NoncurrentVersionExpiration": {"NoncurrentDays": 30}"#,
            Done::Unhidden { markers: 1 },
        ),
        (r#""Expiration": {"Days": 3000}"#, Done::Unhidden { markers: 1 }),
    ] {
        let hidden = Hidden::new();
        set_rules(&hidden.lab, rule);
        hidden.lab.model.advance(HOUR);
        let messages = [hidden.lab.delete(Who::Alice, &hidden.key)];
        hidden.lab.model.advance(SETTLE);
        assert_eq!(hidden.done(&messages).await, expected, "{rule}");
        assert!(hidden.lab.is_visible(&hidden.key));
    }
}

#[tokio::test]
async fn a_version_that_goes_for_good_between_look_and_removal_is_told_and_nothing_else_goes() {
    let (hidden, messages) = Hidden::by(Who::Alice);
    let (bucket, key, version) = (
        hidden.lab.bucket.clone(),
        hidden.key.clone(),
        hidden.version.clone(),
    );
    hidden.lab.model.on_call(move |_, call| {
        if call.operation == "DeleteObject" {
            bucket.delete_version(&key, &version);
        }
    });
    let Done::Failed(why) = hidden.done(&messages).await else {
        panic!("it isn't there")
    };
    assert!(why.contains("for good"), "{why}");
    hidden.removed_no_data();
}

#[tokio::test]
async fn a_marker_named_null_is_never_removed_since_it_can_be_data_by_then() {
    let hidden = Hidden::new();
    hidden.lab.bucket.set_versioning(Versioning::Suspended);
    let marker = hidden.lab.bucket.delete(&hidden.key);
    assert!(marker.as_ref().is_some_and(VersionId::is_null));
    hidden.lab.bucket.set_versioning(Versioning::Enabled);
    let messages = [told(
        Who::Alice,
        &hidden.key,
        marker.as_ref(),
        hidden.lab.model.now(),
    )];
    hidden.lab.model.advance(SETTLE);
    // Somebody suspends versioning again and writes: their data is the version `null` now.
    let (bucket, key) = (hidden.lab.bucket.clone(), hidden.key.clone());
    hidden.lab.model.on_call(move |_, call| {
        if call.operation == "CopyObject" && !bucket.is_visible(&key) {
            bucket.set_versioning(Versioning::Suspended);
            bucket.put(&key, b"somebody else's");
            bucket.set_versioning(Versioning::Enabled);
        }
    });
    assert_eq!(hidden.done(&messages).await, Done::WrittenByOthers);
    assert_eq!(hidden.calls("DeleteObject"), 0);
    let current = hidden.lab.bucket.current(&hidden.key).expect("theirs");
    assert!(current.id.is_null());
    assert_eq!(
        current.object.expect("data").content,
        Content::from(b"somebody else's")
    );
}

#[tokio::test]
async fn where_another_version_lies_directly_below_the_one_that_fits_is_copied() {
    let hidden = Hidden::new();
    hidden.lab.bucket.put(&hidden.key, b"of another length");
    let messages = [hidden.lab.delete(Who::Alice, &hidden.key)];
    hidden.lab.model.advance(SETTLE);
    assert_eq!(hidden.done(&messages).await, COPIED);
    assert_eq!(hidden.calls("DeleteObject"), 0);
}

#[tokio::test]
async fn who_hides_it_again_meanwhile_is_told_of_and_the_message_comes_again() {
    let (hidden, messages) = Hidden::by(Who::Alice);
    let (bucket, key) = (hidden.lab.bucket.clone(), hidden.key.clone());
    hidden.lab.model.on_call(move |_, call| {
        if call.operation == "DeleteObject" {
            bucket.delete(&key);
        }
    });
    let report = hidden.lab.guard().handle(&messages).await;
    let Done::Failed(why) = done_about(&report, &hidden.key) else {
        panic!("{:?}", report.verdicts)
    };
    assert!(why.contains("again"), "{why}");
    assert!(matches!(report.answers[0].1, Answer::Again { .. }));
    let history = hidden.lab.bucket.history(&hidden.key);
    assert_eq!(history.entries()[0].kind, VersionKind::Marker);
    hidden.removed_no_data();
}

#[tokio::test]
async fn a_role_that_may_not_copies_and_so_does_one_that_may_not_read_the_rules() {
    for operation in ["DeleteObject", "GetBucketLifecycleConfiguration"] {
        let (hidden, messages) = Hidden::by(Who::Alice);
        let fault = Fault::answers(PortErrorKind::Denied).on(operation).always();
        hidden.lab.model.plan(fault);
        assert_eq!(hidden.done(&messages).await, COPIED, "{operation}");
        assert!(hidden.lab.is_visible(&hidden.key));
        assert_eq!(hidden.lab.data_versions(&hidden.key), 2);
    }
}

#[tokio::test]
async fn no_bytes_are_counted_where_nothing_is_copied() {
    let mut hidden = Hidden::new();
    hidden.lab.mandate.bytes_per_day = 1;
    let messages = [hidden.lab.delete(Who::Alice, &hidden.key)];
    hidden.lab.model.advance(SETTLE);
    assert!(matches!(hidden.done(&messages).await, Done::Unhidden { .. }));
    hidden.is_as_it_was();
}

#[tokio::test]
async fn what_must_be_copied_after_all_waits_for_the_next_days_bytes() {
    let mut hidden = Hidden::new();
    hidden.lab.mandate.bytes_per_day = 1;
    hidden
        .lab
        .model
        .plan(Fault::answers(PortErrorKind::Denied).on("DeleteObject").always());
    let messages = [hidden.lab.delete(Who::Alice, &hidden.key)];
    hidden.lab.model.advance(SETTLE);
    let report = hidden.lab.guard().handle(&messages).await;
    assert_eq!(*done_about(&report, &hidden.key), Done::Nothing);
    let verdict = &verdict_on(&report, &hidden.key).verdict;
    let waits = matches!(
        &verdict.outcome,
        Outcome::Later {
            why: LaterReason::BudgetSpent,
            ..
        }
    );
    assert!(waits, "{:?}", verdict.outcome);
    assert!(report.findings.iter().any(|f| f.code == FindingCode::BudgetSpent));
    assert_eq!(hidden.calls("CopyObject"), 0);
}

#[tokio::test]
async fn an_answer_that_was_lost_is_as_good_as_one_that_came() {
    let (hidden, messages) = Hidden::by(Who::Alice);
    let fault = Fault::answers(PortErrorKind::Transient)
        .on("DeleteObject")
        .after_the_effect();
    hidden.lab.model.plan(fault);
    assert!(matches!(hidden.done(&messages).await, Done::Failed(_)));
    assert_eq!(hidden.done(&messages).await, Done::Nothing);
    hidden.is_as_it_was();
}

#[tokio::test]
async fn observing_removes_nothing() {
    let (hidden, messages) = Hidden::by(Who::Alice);
    let (client, mut observer) = hidden.lab.observer();
    let report = observer.handle(&messages).await;
    assert_eq!(*done_about(&report, &hidden.key), Done::WouldCopy);
    assert!(client.calls().iter().all(|c| c.operation != "DeleteObject"));
    assert!(!hidden.lab.is_visible(&hidden.key));
}
