//! What a rule moved to an archive is visible, and no job can read it: it is thawed, and copied onto itself.

use s3_documents::bucket::Versioning;
use s3_documents::lifecycle;
use s3_model::{Content, Fault, Object};
use stayput_core::report::finding::FindingCode;
use stayput_core::root::{Protect, RootKind, Roots};
use stayput_core::verdict::Outcome;
use stayput_core::version::VersionId;
use stayput_guard::batch::{Answer, Done, Message};
use stayput_guard::port::PortErrorKind;
use stayput_guard::sweep::SweepReport;

use crate::lab::{
    COPIED, DAY, HOUR, Lab, ROOT, Who, at, done_about, message, metadata_key, notification, outcome_on, root,
    verdict_on, word,
};

/// What is older than a day under the checkpoints goes to GLACIER, whatever its size.
const TO_GLACIER: &str = r#"{"Rules": [{"ID": "cheap-and-cold", "Status": "Enabled",
    "Filter": {"And": {"Prefix": "2.3.0/events-retained2/", "ObjectSizeGreaterThan": 1}},
    "Transitions": [{"Days": 1, "StorageClass": "GLACIER"}]}]}"#;

/// The job, one of whose shared files was moved to an archive.
struct Moved {
    lab: Lab,
    key: String,
    version: VersionId,
}

impl Moved {
    fn to(class: &str) -> Self {
        Self::in_lab(Lab::new(), class)
    }

    fn in_lab(lab: Lab, class: &str) -> Self {
        let key = old_file(&lab);
        let version = move_to(&lab, &key, class);
        Self { lab, key, version }
    }

    /// It can be read for a while: somebody has thawed it.
    fn thawed(self) -> Self {
        assert!(
            self.lab
                .bucket
                .edit(&self.key, &self.version, |o| o.thawed = true)
        );
        self
    }

    async fn sweep(&self) -> SweepReport {
        self.lab.guard().sweep().await
    }

    fn calls(&self, operation: &str) -> usize {
        let calls = self.lab.model.calls();
        calls.iter().filter(|c| c.operation == operation).count()
    }

    /// S3's message that the bytes are there.
    fn is_there(&self) -> Message {
        thawed(&self.lab, &self.key, &self.version)
    }

    fn is_repaired(&self) {
        is_repaired(&self.lab, &self.key, &self.version);
    }

    fn is_as_it_was(&self) {
        let current = self.lab.bucket.current(&self.key).expect("it is visible");
        assert_eq!(current.id, self.version);
        assert_eq!(self.lab.data_versions(&self.key), 1);
    }
}

/// A file in `shared/` that chk-8 names and that is older than a month.
fn old_file(lab: &Lab) -> String {
    let month_ago = at("2026-10-29T00:00:00Z");
    let is_old = |k: &String| lab.bucket.current(k).expect("visible").last_modified < month_ago;
    let old = lab.shared_of_head().into_iter().find(is_old);
    old.expect("an old file")
}

fn move_to(lab: &Lab, key: &str, class: &str) -> VersionId {
    let version = lab.newest_data(key);
    let moved = |o: &mut Object| {
        o.storage_class = Some(class.to_owned());
        o.metadata.insert("team".to_owned(), "payments".to_owned());
        o.tags.insert("cost-centre".to_owned(), "42".to_owned());
    };
    assert!(lab.bucket.edit(key, &version, moved));
    version
}

fn thawed(lab: &Lab, key: &str, version: &VersionId) -> Message {
    let body = notification(
        "ObjectRestore:Completed",
        "s3.amazonaws.com",
        key,
        Some(version),
        lab.model.now(),
    );
    message(format!("{key} thawed"), &body)
}

/// The copy lies in STANDARD on top of what was archived, which stays as it is, and carries what that carried.
fn is_repaired(lab: &Lab, key: &str, version: &VersionId) {
    let current = lab.bucket.current(key).expect("it is visible");
    let copy = current.object.expect("data");
    let source = lab.bucket.version(key, version).and_then(|v| v.object);
    let source = source.expect("no version is deleted");
    assert_ne!(current.id, *version);
    assert_eq!((copy.storage_class, copy.content), (None, source.content));
    let said = |name: &str| copy.metadata.get(name).map(String::as_str);
    assert_eq!(said("stayput-source-version"), Some(version.as_str()));
    assert_eq!(said("team"), Some("payments"));
    assert_eq!(copy.tags.get("cost-centre").map(String::as_str), Some("42"));
}

fn set_rules(lab: &Lab, json: &str) {
    lab.bucket
        .set_lifecycle(lifecycle::parse(json.as_bytes()).expect("rules"));
}

fn codes(report: &SweepReport) -> Vec<FindingCode> {
    report.judged.findings.iter().map(|f| f.code).collect()
}

#[tokio::test]
async fn what_was_moved_to_an_archive_is_thawed_and_copied_onto_itself_when_s3_says_that_it_is_there() {
    for (class, hours) in [("GLACIER", 5), ("DEEP_ARCHIVE", 12)] {
        let moved = Moved::to(class);
        let report = moved.sweep().await;
        let ready_by = moved.lab.model.now().plus(hours * HOUR);
        assert_eq!(
            *done_about(&report.judged, &moved.key),
            Done::ThawAsked { ready_by },
            "{class}"
        );
        assert_eq!(codes(&report), [FindingCode::ArchivedInPlace]);
        let finding = &report.judged.findings[0];
        let because = finding.because.as_deref().unwrap_or_default();
        assert!(because.contains(&ready_by.to_string()), "{because}");
        let sentence = verdict_on(&report.judged, &moved.key).document().sentence;
        assert!(sentence.contains("to an archive class"), "{sentence}");
        assert!(!sentence.contains("deleted"), "{sentence}");
        assert_eq!(
            report.judged.summary.by_cause.values().sum::<u64>(),
            0,
            "nobody deleted it"
        );

        // Looked at again, asked once.
        moved.lab.model.advance(HOUR);
        let report = moved.sweep().await;
        assert_eq!(
            word(outcome_on(&report.judged, &moved.key)),
            "later: is being thawed"
        );
        moved.is_as_it_was();

        moved.lab.model.advance(hours * HOUR);
        let report = moved.lab.guard().handle(&[moved.is_there()]).await;
        assert_eq!(*done_about(&report, &moved.key), COPIED, "{class}");
        let summary = &report.summary;
        assert_eq!((summary.restored, summary.repaired, summary.unhidden), (1, 1, 0));
        assert_eq!(report.answers[0].1, Answer::Done);
        let sentence = verdict_on(&report, &moved.key).document().sentence;
        assert!(sentence.contains("onto itself in STANDARD"), "{sentence}");
        moved.is_repaired();
        assert_eq!(moved.calls("RestoreObject"), 1, "{class}");

        let report = moved.lab.guard().handle(&[moved.is_there()]).await;
        assert_eq!(word(outcome_on(&report, &moved.key)), "leave: visible");
        let report = moved.sweep().await;
        assert_eq!((codes(&report), moved.calls("CopyObject")), (Vec::new(), 1));
    }
}

#[tokio::test]
async fn without_any_message_the_sweep_asks_and_a_later_one_copies() {
    let moved = Moved::to("DEEP_ARCHIVE");
    moved.sweep().await;
    moved.lab.model.advance(DAY);
    let report = moved.sweep().await;
    assert_eq!(*done_about(&report.judged, &moved.key), COPIED);
    moved.is_repaired();
}

#[tokio::test]
async fn observing_says_what_it_would_do() {
    let moved = Moved::to("GLACIER");
    let (client, mut observer) = moved.lab.observer();
    let report = observer.sweep().await;
    assert_eq!(
        word(outcome_on(&report.judged, &moved.key)),
        "later: must be thawed first"
    );
    assert_eq!(codes(&report), [FindingCode::ArchivedInPlace]);
    let moved = moved.thawed();
    let report = observer.sweep().await;
    assert_eq!(*done_about(&report.judged, &moved.key), Done::WouldCopy);
    assert_eq!(report.judged.summary.repaired, 1);
    let writes = ["CopyObject", "RestoreObject", "CreateMultipartUpload"];
    assert!(client.calls().iter().all(|c| !writes.contains(&c.operation)));
    moved.is_as_it_was();
}

#[tokio::test]
async fn who_writes_between_look_and_copy_keeps_what_they_wrote() {
    let moved = Moved::to("GLACIER").thawed();
    let (bucket, key, version) = (moved.lab.bucket.clone(), moved.key.clone(), moved.version.clone());
    moved.lab.model.on_call(move |_, call| {
        let untouched = bucket.current(&key).is_some_and(|v| v.id == version);
        if call.operation == "CopyObject" && untouched {
            bucket.put(&key, b"somebody else's");
        }
    });
    let report = moved.sweep().await;
    assert_eq!(*done_about(&report.judged, &moved.key), Done::WrittenByOthers);
    assert_eq!(report.judged.summary.repaired, 0);
    let current = moved.lab.bucket.current(&moved.key).and_then(|v| v.object);
    assert_eq!(
        current.expect("theirs").content,
        Content::from(b"somebody else's")
    );
    assert_eq!(moved.lab.data_versions(&moved.key), 2, "nothing of ours");
}

#[tokio::test]
async fn who_deletes_between_look_and_copy_is_judged_for_that() {
    let moved = Moved::to("GLACIER").thawed();
    let (bucket, key) = (moved.lab.bucket.clone(), moved.key.clone());
    moved.lab.model.on_call(move |_, call| {
        if call.operation == "CopyObject" && bucket.is_visible(&key) {
            bucket.delete(&key);
        }
    });
    let report = moved.sweep().await;
    assert!(matches!(done_about(&report.judged, &moved.key), Done::Failed(_)));
    assert!(!moved.lab.is_visible(&moved.key));
    assert_eq!(moved.lab.data_versions(&moved.key), 1);
    moved.lab.model.forget_hooks();
    // Whoever it was: the running job needs it.
    moved.lab.model.advance(HOUR);
    moved.sweep().await;
    assert!(moved.lab.is_visible(&moved.key));
}

#[tokio::test]
async fn an_answer_that_was_lost_makes_no_second_copy() {
    let moved = Moved::to("GLACIER").thawed();
    let fault = Fault::answers(PortErrorKind::Transient)
        .on("CopyObject")
        .after_the_effect();
    moved.lab.model.plan(fault);
    let report = moved.sweep().await;
    assert_eq!(*done_about(&report.judged, &moved.key), Done::AlreadyCopied);
    moved.is_repaired();
    assert_eq!(moved.lab.data_versions(&moved.key), 2);
}

#[tokio::test]
async fn a_copy_goes_to_the_class_of_the_root() {
    let mut lab = Lab::new();
    let mut of_lab = root(ROOT, RootKind::Checkpoints);
    of_lab.storage_class = Some("STANDARD_IA".to_owned());
    lab.mandate.roots = Roots::new(vec![of_lab]);
    let moved = Moved::in_lab(lab, "GLACIER").thawed();
    moved.sweep().await;
    let current = moved.lab.bucket.current(&moved.key).and_then(|v| v.object);
    assert_eq!(
        current.expect("data").storage_class.as_deref(),
        Some("STANDARD_IA")
    );
}

#[tokio::test]
async fn a_rule_that_moves_it_again_waits_a_day_and_is_named_each_time() {
    let moved = Moved::to("GLACIER").thawed();
    set_rules(&moved.lab, TO_GLACIER);
    let report = moved.sweep().await;
    assert_eq!(*done_about(&report.judged, &moved.key), COPIED);
    for code in [FindingCode::ArchivedInPlace, FindingCode::RuleTakesCopies] {
        let finding = report.judged.findings.iter().find(|f| f.code == code);
        assert_eq!(finding.expect("told").rules, ["cheap-and-cold"], "{code:?}");
    }
    assert_eq!(
        verdict_on(&report.judged, &moved.key).document().cause,
        "lifecycle"
    );

    // The rule dates by the copy's age, so it comes soon; within a day nothing is copied a second time.
    let again = move_to(&moved.lab, &moved.key, "GLACIER");
    assert!(moved.lab.bucket.edit(&moved.key, &again, |o| o.thawed = true));
    moved.lab.model.advance(12 * HOUR);
    let report = moved.sweep().await;
    assert_eq!(
        word(outcome_on(&report.judged, &moved.key)),
        "later: restored within 24 hours"
    );
    moved.lab.model.advance(36 * HOUR);
    let report = moved.sweep().await;
    assert_eq!(*done_about(&report.judged, &moved.key), COPIED);
    let repeat = report
        .judged
        .findings
        .iter()
        .find(|f| f.code == FindingCode::RepeatOffence);
    assert_eq!(repeat.expect("told").rules, ["cheap-and-cold"]);
    is_repaired(&moved.lab, &moved.key, &again);
    assert_eq!(
        moved.lab.user_metadata(&moved.key, "stayput-count").as_deref(),
        Some("2")
    );
}

#[tokio::test]
async fn what_only_spares_name_stays_and_what_is_forgotten_is_told_unless_the_root_protects_all() {
    let lab = Lab::new();
    let spare = lab.named_by_spare_only();
    let version = move_to(&lab, &spare, "GLACIER");
    let report = lab.guard().sweep().await;
    assert_eq!((codes(&report), report.judged.verdicts.len()), (Vec::new(), 0));
    assert_eq!(lab.newest_data(&spare), version);

    let moved = Moved::to("GLACIER").thawed();
    moved.lab.model.advance(100 * DAY);
    assert!(
        moved
            .lab
            .bucket
            .edit(&moved.key, &moved.version, |o| o.thawed = true)
    );
    let report = moved.sweep().await;
    assert_eq!(
        *outcome_on(&report.judged, &moved.key),
        Outcome::Report(FindingCode::ArchivedInPlace)
    );
    moved.is_as_it_was();
    let Moved {
        mut lab,
        key,
        version,
    } = moved;
    let mut all = root(ROOT, RootKind::Checkpoints);
    all.protect = Protect::All;
    lab.mandate.roots = Roots::new(vec![all]);
    lab.guard().sweep().await;
    is_repaired(&lab, &key, &version);
}

#[tokio::test]
async fn nothing_is_written_where_versions_are_not_kept_or_the_root_only_reports_or_it_is_paused() {
    for versioning in [Versioning::Never, Versioning::Suspended] {
        let moved = Moved::in_lab(Lab::with_versioning(versioning), "GLACIER").thawed();
        let report = moved.sweep().await;
        assert_eq!(
            *outcome_on(&report.judged, &moved.key),
            Outcome::Report(FindingCode::ArchivedInPlace),
            "{versioning:?}"
        );
        moved.is_as_it_was();
    }
    let mut lab = Lab::new();
    let mut reports = root(ROOT, RootKind::Checkpoints);
    reports.protect = Protect::Report;
    lab.mandate.roots = Roots::new(vec![reports]);
    let moved = Moved::in_lab(lab, "GLACIER").thawed();
    let report = moved.sweep().await;
    assert_eq!(
        *outcome_on(&report.judged, &moved.key),
        Outcome::Report(FindingCode::ReportOnly)
    );
    moved.is_as_it_was();

    let moved = Moved::to("GLACIER").thawed();
    let guard = moved.lab.guard();
    guard.memory().pause(moved.lab.model.now()).await.expect("paused");
    let report = moved.sweep().await;
    assert_eq!(word(outcome_on(&report.judged, &moved.key)), "later: paused");
    moved.is_as_it_was();

    let mut moved = Moved::to("GLACIER").thawed();
    moved.lab.mandate.bytes_per_day = 1;
    let report = moved.sweep().await;
    assert_eq!(
        word(outcome_on(&report.judged, &moved.key)),
        "later: budget spent"
    );
    moved.is_as_it_was();
}

#[tokio::test]
async fn a_metadata_in_an_archive_is_brought_back_first_and_then_what_it_names() {
    let lab = Lab::new();
    let metadata = metadata_key(8);
    let of_metadata = move_to(&lab, &metadata, "GLACIER");
    let key = old_file(&lab);
    let of_file = move_to(&lab, &key, "GLACIER");
    // No process has read it.
    let report = lab.guard().sweep().await;
    assert!(matches!(
        done_about(&report.judged, &metadata),
        Done::ThawAsked { .. }
    ));
    lab.model.advance(6 * HOUR);
    let report = lab.guard().handle(&[thawed(&lab, &metadata, &of_metadata)]).await;
    assert_eq!(*done_about(&report, &metadata), COPIED);
    is_repaired(&lab, &metadata, &of_metadata);
    lab.model.advance(HOUR);
    lab.guard().sweep().await;
    lab.model.advance(6 * HOUR);
    lab.guard().handle(&[thawed(&lab, &key, &of_file)]).await;
    is_repaired(&lab, &key, &of_file);
}

#[tokio::test]
async fn what_a_person_hid_meanwhile_is_no_repair() {
    let moved = Moved::to("GLACIER");
    moved.sweep().await;
    let messages = [moved.lab.delete(Who::Alice, &moved.key), moved.is_there()];
    moved.lab.model.advance(6 * HOUR);
    let report = moved.lab.guard().handle(&messages).await;
    assert_eq!(*done_about(&report, &moved.key), COPIED);
    let history = moved.lab.bucket.history(&moved.key);
    assert_eq!(history.entries().len(), 3, "version, marker, copy");
}
