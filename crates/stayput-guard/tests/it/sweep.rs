//! The sweep: what no message told of is found, judged by the same table, and told once.

use s3_documents::lifecycle;
use s3_model::{Content, Fault, Object};
use stayput_core::location::ObjectLocation;
use stayput_core::report::finding::FindingCode;
use stayput_core::root::{Root, RootKind, Roots};
use stayput_core::verdict::Outcome;
use stayput_guard::port::PortErrorKind;
use stayput_guard::sweep::SweepReport;

use crate::lab::{
    ActingGuard, BUCKET, DAY, HOUR, JOB, JOB_ID, Lab, MINUTE, NAMED_BY_HEAD, ROOT, SETTLE, Who, at,
    metadata_key, outcome_on, outcomes, word,
};

/// The rule of a person who wants to save money: what is older than 30 days under the checkpoints goes.
const THIRTY_DAYS: &str = r#"{"Rules": [{"ID": "save-money", "Status": "Enabled",
    "Filter": {"Prefix": "2.3.0/events-retained2/"}, "Expiration": {"Days": 30}}]}"#;

fn set_rules(lab: &Lab, json: &str) {
    lab.bucket
        .set_lifecycle(lifecycle::parse(json.as_bytes()).expect("rules"));
}

/// The files in `shared/` that chk-8 names and that are older than 30 days.
fn old_files(lab: &Lab) -> Vec<String> {
    let month_ago = at("2026-10-29T00:00:00Z");
    let mut old = lab.shared_of_head();
    old.retain(|k| lab.bucket.current(k).expect("visible").last_modified < month_ago);
    assert!(old.len() >= 3, "{old:?}");
    old
}

async fn sweep_and_tell(guard: &mut ActingGuard) -> SweepReport {
    let report = guard.sweep().await;
    guard
        .findings_sent(&report.judged.findings)
        .await
        .expect("a journal");
    report
}

fn codes(report: &SweepReport) -> Vec<FindingCode> {
    report.judged.findings.iter().map(|f| f.code).collect()
}

fn acts_on_nothing(report: &SweepReport) {
    assert_eq!(outcomes(&report.judged), Vec::new());
    assert_eq!(report.unread, Vec::<String>::new());
}

#[tokio::test]
async fn what_a_rule_took_comes_back_though_every_message_was_lost() {
    let lab = Lab::new();
    set_rules(&lab, THIRTY_DAYS);
    let old = old_files(&lab);
    lab.delete_all(Who::Rule, &old);
    lab.model.advance(HOUR);
    let report = lab.guard().sweep().await;
    assert_eq!(lab.copied().len(), old.len());
    assert!(old.iter().all(|k| lab.is_visible(k)));
    assert_eq!(report.judged.summary.restored, old.len() as u64);
    assert_eq!(report.seen.incomplete["running"], 1);
    // And once more: nothing is left to do.
    let report = lab.guard().sweep().await;
    acts_on_nothing(&report);
    assert_eq!(lab.copied().len(), old.len());
    assert_eq!(report.seen.whole["running"], 1);
}

/// No message told of it and no journal remembers: there are only versions, and above the newest checkpoint by time lies an older one by id.
#[tokio::test]
async fn where_a_rule_took_everything_the_newest_of_a_run_whose_ids_began_again_comes_back() {
    let lab = Lab::new();
    set_rules(
        &lab,
        r#"{"Rules": [{"ID": "wipe", "Status": "Enabled", "Filter": {"Prefix": ""}, "Expiration": {"Date": "2026-11-29T00:00:00Z"}}]}"#,
    );
    lab.model.advance(HOUR);
    lab.complete(2);
    lab.model.advance(24 * HOUR);
    lab.delete_all(Who::Rule, lab.all_keys());
    lab.model.advance(HOUR);
    lab.guard().sweep().await;
    let copied = lab.copied();
    assert!(copied.contains(&metadata_key(2)), "{copied:?}");
    let own = lab.own_of_head()[0].replace("/chk-8/", "/chk-2/");
    assert!(copied.contains(&own), "{copied:?}");
}

#[tokio::test]
async fn a_whole_job_that_a_rule_hid_is_found_though_no_listing_of_objects_shows_it() {
    let lab = Lab::new();
    set_rules(
        &lab,
        r#"{"Rules": [{"ID": "wipe", "Status": "Enabled", "Filter": {"Prefix": ""}, "Expiration": {"Date": "2026-11-28T00:00:00Z"}}]}"#,
    );
    lab.delete_all(Who::Rule, lab.all_keys());
    assert!(lab.bucket.visible_keys().is_empty());
    lab.model.advance(HOUR);
    lab.guard().sweep().await;
    let copied = lab.copied();
    assert!(copied.len() > NAMED_BY_HEAD, "{}", copied.len());
    assert!(lab.is_visible(&metadata_key(8)));
    assert!(lab.named_by(8).iter().all(|k| lab.is_visible(k)));
    let (state, metadata): (Vec<&String>, Vec<&String>) =
        copied.iter().partition(|k| !k.ends_with("_metadata"));
    assert!(!metadata.is_empty());
    assert!(
        copied[..state.len()].iter().all(|k| !k.ends_with("_metadata")),
        "`_metadata` comes last"
    );
}

#[tokio::test]
async fn what_flink_deleted_as_a_whole_stays_away_sweep_after_sweep() {
    let lab = Lab::new();
    lab.delete_all(Who::Flink, lab.all_keys());
    for _ in 0..3 {
        lab.model.advance(HOUR);
        let report = lab.guard().sweep().await;
        assert!(
            report
                .judged
                .verdicts
                .iter()
                .all(|a| matches!(a.verdict.outcome, Outcome::Leave(_))),
            "{:?}",
            outcomes(&report.judged)
        );
    }
    assert!(lab.copied().is_empty());
}

#[tokio::test]
async fn a_deletion_of_this_minute_is_left_to_its_message_and_taken_by_the_next_sweep() {
    let lab = Lab::new();
    let gone = &lab.shared_of_head()[..2];
    lab.delete_all(Who::Alice, gone);
    lab.model.advance(2 * MINUTE);
    let report = lab.guard().sweep().await;
    acts_on_nothing(&report);
    assert_eq!(report.seen.young, 2);
    lab.model.advance(HOUR);
    let report = lab.guard().sweep().await;
    assert_eq!(lab.copied().len(), 2);
    // Nobody told who it was.
    assert_eq!(codes(&report), [FindingCode::DeletedNeeded]);
}

#[tokio::test]
async fn what_was_hidden_before_the_installation_is_counted_and_left() {
    let mut lab = Lab::new();
    let gone = lab.shared_of_head();
    lab.delete_all(Who::Alice, &gone[..3]);
    lab.model.advance(DAY);
    lab.mandate.protect_since = Some(lab.model.now());
    lab.delete_all(Who::Alice, &gone[3..4]);
    lab.model.advance(HOUR);
    let report = lab.guard().sweep().await;
    assert_eq!(lab.copied(), gone[3..4]);
    assert_eq!(report.seen.before_protection["unknown"], 3);
}

#[tokio::test]
async fn a_spare_that_rules_alone_broke_is_made_whole_and_one_that_flink_touched_is_not() {
    for by_flink_too in [false, true] {
        let lab = Lab::new();
        let spare_only = lab.named_by_spare_only();
        // However young it is: the rule wipes all.
        set_rules(
            &lab,
            r#"{"Rules": [{"ID": "wipe", "Status": "Enabled", "Filter": {"Prefix": ""}, "Expiration": {"Date": "2026-11-28T00:00:00Z"}}]}"#,
        );
        lab.delete(Who::Rule, &spare_only);
        if by_flink_too {
            let own: Vec<String> = lab
                .named_by(7)
                .into_iter()
                .filter(|k| k.contains("/chk-7/"))
                .collect();
            lab.delete(Who::Flink, &own[0]);
        }
        lab.model.advance(HOUR);
        let report = lab.guard().sweep().await;
        assert_eq!(lab.is_visible(&spare_only), !by_flink_too);
        if by_flink_too {
            acts_on_nothing(&report);
            assert_eq!(report.seen.missed_by_spares["lifecycle"], 1);
        }
    }
}

#[tokio::test]
async fn an_object_of_the_wrong_length_is_told_and_never_touched() {
    let lab = Lab::new();
    let key = lab.shared_of_head()[0].clone();
    lab.bucket.put(&key, Object::new(Content::Zeroes(3)));
    lab.model.advance(HOUR);
    let mut guard = lab.guard();
    let report = sweep_and_tell(&mut guard).await;
    assert_eq!(
        *outcome_on(&report.judged, &key),
        Outcome::Report(FindingCode::Overwritten)
    );
    assert_eq!(codes(&report), [FindingCode::Overwritten]);
    assert_eq!(
        report.judged.findings[0].about,
        format!("s3://{BUCKET}/{}", metadata_key(8))
    );
    // Told once, and again after a day.
    lab.model.advance(HOUR);
    let report = sweep_and_tell(&mut guard).await;
    acts_on_nothing(&report);
    assert_eq!((report.seen.told_before, codes(&report)), (1, Vec::new()));
    lab.model.advance(DAY);
    let report = sweep_and_tell(&mut guard).await;
    assert_eq!(codes(&report), [FindingCode::Overwritten]);
    assert!(lab.copied().is_empty());
}

#[tokio::test]
async fn needed_objects_in_an_archive_class_are_told() {
    let lab = Lab::new();
    let keys = lab.shared_of_head();
    for (key, class) in keys
        .iter()
        .zip(["GLACIER", "DEEP_ARCHIVE", "GLACIER_IR", "STANDARD_IA"])
    {
        let version = lab.newest_data(key);
        assert!(
            lab.bucket
                .edit(key, &version, |o| o.storage_class = Some(class.to_owned()))
        );
    }
    let (_, mut observer) = lab.observer();
    let report = observer.sweep().await;
    for key in &keys[..2] {
        assert_eq!(
            word(outcome_on(&report.judged, key)),
            "later: must be thawed first"
        );
    }
    assert_eq!(report.judged.verdicts.len(), 2, "the others can be read at once");
    assert_eq!(report.judged.findings.len(), 1);
    assert_eq!(report.judged.findings[0].objects, 2);
}

#[tokio::test]
async fn a_head_of_which_half_is_gone_comes_back_unless_flink_was_seen_at_it() {
    let lab = Lab::new();
    let own = lab.own_of_head();
    let messages = lab.delete_all(Who::Flink, &own[..2]);
    lab.model.advance(13 * SETTLE);
    // Nobody told of it: as long as it could be a discard under way it is looked at again, then it is put back.
    let (_, mut unaware) = lab.observer();
    let report = unaware.sweep().await;
    assert_eq!(report.judged.summary.restored, 2);
    assert_eq!(codes(&report), [FindingCode::DeletedNeeded]);
    // Somebody told of it before: it was left to Flink, and stays so.
    let mut guard = lab.guard();
    let report = guard.handle(&messages).await;
    assert_eq!(report.findings[0].code, FindingCode::DiscardCutShort);
    guard.findings_sent(&report.findings).await.expect("a journal");
    lab.model.advance(HOUR);
    let report = sweep_and_tell(&mut lab.guard()).await;
    acts_on_nothing(&report);
    assert_eq!(report.seen.told_before, 2);
    assert!(lab.copied().is_empty());
}

#[tokio::test]
async fn what_the_budget_left_is_taken_by_the_sweeps_of_the_next_days() {
    let mut lab = Lab::new();
    lab.mandate.objects_per_day = 4;
    let gone = lab.shared_of_head()[..10].to_vec();
    let messages = lab.delete_all(Who::Alice, &gone);
    lab.model.advance(SETTLE);
    let report = lab.guard().handle(&messages).await;
    assert_eq!((lab.copied().len(), report.summary.later), (4, 6));
    for copied in [8, 10] {
        lab.model.advance(DAY);
        lab.guard().sweep().await;
        assert_eq!(lab.copied().len(), copied);
    }
    assert!(gone.iter().all(|k| lab.is_visible(k)));
}

#[tokio::test]
async fn a_pause_is_kept_and_what_waited_comes_back_after_it() {
    let lab = Lab::new();
    let gone = lab.shared_of_head()[..2].to_vec();
    lab.delete_all(Who::Alice, &gone);
    lab.model.advance(HOUR);
    lab.guard()
        .memory()
        .pause(lab.model.now())
        .await
        .expect("a journal");
    let report = lab.guard().sweep().await;
    assert_eq!((report.judged.summary.later, lab.copied().len()), (2, 0));
    assert!(
        lab.control.delete("stayput/switch/pause").is_none(),
        "the bucket has no versions"
    );
    lab.guard().sweep().await;
    assert_eq!(lab.copied().len(), 2);
}

#[tokio::test]
async fn what_could_not_be_read_is_said_and_the_next_sweep_does_it() {
    for operation in [
        "ListObjectsV2",
        "ListObjectVersions",
        "GetObject",
        "GetBucketLifecycleConfiguration",
    ] {
        let lab = Lab::new();
        set_rules(&lab, THIRTY_DAYS);
        let old = old_files(&lab);
        lab.delete_all(Who::Rule, &old);
        lab.model.advance(HOUR);
        lab.model
            .plan(Fault::answers(PortErrorKind::Throttled).on(operation).always());
        let mut guard = lab.guard();
        let report = guard.sweep().await;
        assert!(!report.unread.is_empty(), "{operation}");
        assert!(lab.copied().is_empty(), "{operation}");
        lab.model.forget_faults();
        let report = guard.sweep().await;
        assert_eq!(report.unread, Vec::<String>::new(), "{operation}");
        assert_eq!(lab.copied().len(), old.len(), "{operation}");
    }
}

#[tokio::test]
async fn a_crash_at_any_call_of_a_sweep_ends_as_without_it() {
    let begin = || {
        let lab = Lab::new();
        let mut gone = lab.shared_of_head();
        gone.extend(lab.own_of_head());
        gone.push(metadata_key(8));
        set_rules(
            &lab,
            r#"{"Rules": [{"ID": "wipe", "Status": "Enabled", "Filter": {"Prefix": ""}, "Expiration": {"Date": "2026-11-28T00:00:00Z"}}]}"#,
        );
        lab.delete_all(Who::Rule, &gone);
        lab.model.advance(HOUR);
        lab
    };
    let undisturbed = begin();
    undisturbed.guard().sweep().await;
    let (calls, copies) = (undisturbed.model.calls().len(), undisturbed.copied().len());
    assert!(copies > NAMED_BY_HEAD, "{copies}");
    for n in 1..=u32::try_from(calls).expect("few calls") {
        for crash in [
            Fault::crash().from_nth(n),
            Fault::crash().from_nth(n).after_the_effect(),
        ] {
            let lab = begin();
            lab.model.plan(crash.clone());
            lab.guard().sweep().await;
            assert!(lab.model.has_crashed(), "{crash:?} of {calls}");
            lab.model.revive();
            lab.guard().sweep().await;
            assert_eq!(
                lab.bucket.visible_keys(),
                undisturbed.bucket.visible_keys(),
                "{crash:?}"
            );
            let doubled = lab.all_keys().into_iter().find(|k| lab.data_versions(k) > 2);
            assert_eq!(doubled, None, "{crash:?}: copied twice");
        }
    }
}

#[tokio::test]
async fn an_observer_says_what_an_actor_does_and_changes_nothing() {
    let lab = Lab::new();
    set_rules(&lab, THIRTY_DAYS);
    lab.delete_all(Who::Rule, old_files(&lab));
    lab.delete_all(Who::Alice, &lab.own_of_head()[..1]);
    lab.model.advance(2 * HOUR);
    let before = lab.bucket.visible_keys();
    let (_, mut observer) = lab.observer();
    let observed = observer.sweep().await;
    assert_eq!(lab.bucket.visible_keys(), before);
    let acted = lab.guard().sweep().await;
    assert_eq!(outcomes(&observed.judged), outcomes(&acted.judged));
    assert!(!acted.judged.verdicts.is_empty());
}

#[tokio::test]
async fn of_an_ha_store_what_a_rule_hid_comes_back_and_what_flink_deletes_at_each_checkpoint_stays_away() {
    let mut lab = Lab::new();
    let ha = Root::new(&format!("s3://{BUCKET}/ha/"), RootKind::Ha, None).expect("a root");
    let checkpoints =
        Root::new(&format!("s3://{BUCKET}/{ROOT}"), RootKind::Checkpoints, None).expect("a root");
    lab.mandate.roots = Roots::new(vec![ha, checkpoints]);
    let (expired, subsumed) = ("ha/lab/completedCheckpoint0a", "ha/lab/completedCheckpoint0b");
    set_rules(
        &lab,
        r#"{"Rules": [{"ID": "ha", "Status": "Enabled", "Filter": {"Prefix": "ha/"}, "Expiration": {"Days": 7}}]}"#,
    );
    for key in [expired, subsumed] {
        lab.bucket
            .put_at(key, Object::new(Content::Zeroes(900)), at("2026-11-01T10:00:00Z"));
    }
    lab.delete(Who::Rule, expired);
    lab.model.advance(HOUR);
    lab.delete(Who::Flink, subsumed);
    lab.model.advance(HOUR);
    lab.guard().sweep().await;
    assert_eq!(lab.copied(), [expired]);
}

#[tokio::test]
async fn settings_that_the_bucket_contradicts_are_told() {
    let mut lab = Lab::new();
    let root = |uri: &str| Root::new(uri, RootKind::Checkpoints, None).expect("a root");
    lab.mandate.roots = Roots::new(vec![
        root(&format!("s3://{BUCKET}/{ROOT}{JOB_ID}/")),
        root(&format!("s3://{BUCKET}/chekpoints/")),
        root("s3://no-such-bucket/checkpoints/"),
    ]);
    lab.mandate.control = Some(ObjectLocation::new("ops", "stayput/"));
    lab.control.set_lifecycle(
        lifecycle::parse(br#"{"Rules": [{"ID": "tidy", "Status": "Enabled", "Filter": {"Prefix": ""}, "Expiration": {"Days": 400}}]}"#)
            .expect("rules"),
    );
    let gone = lab.shared_of_head()[0].clone();
    lab.delete(Who::Alice, &gone);
    lab.model.advance(HOUR);
    let report = lab.guard().sweep().await;
    let mut told: Vec<(&str, &str)> = report
        .judged
        .findings
        .iter()
        .map(|f| (f.code.text(), f.about.as_str()))
        .collect();
    told.retain(|(code, _)| *code != "deleted_needed");
    told.sort_unstable();
    let job = format!("s3://{BUCKET}/{JOB}");
    assert_eq!(
        told,
        [
            ("control_expires", "s3://ops/stayput/"),
            ("root_empty", "s3://flink-lab/chekpoints/"),
            ("root_empty", "s3://no-such-bucket/checkpoints/"),
            ("root_is_job_directory", job.as_str()),
        ]
    );
    let control = report
        .judged
        .findings
        .iter()
        .find(|f| f.code == FindingCode::ControlExpires);
    assert!(control.is_some_and(|f| f.next_step.contains("tidy")));
    // A bucket that isn't there holds back nothing elsewhere.
    assert_eq!(report.unread, Vec::<String>::new());
    assert_eq!(lab.copied(), [gone]);
}

#[tokio::test]
async fn the_rule_that_will_break_a_running_job_is_told_with_its_day_before_it_does() {
    let lab = Lab::new();
    // Everything is visible; the oldest file is of August, so the rule of 30 days takes it at the next midnight.
    set_rules(&lab, THIRTY_DAYS);
    let mut guard = lab.guard();
    let report = sweep_and_tell(&mut guard).await;
    let told: Vec<_> = report
        .judged
        .findings
        .iter()
        .filter(|f| f.code == FindingCode::RuleWillHideNeeded)
        .collect();
    let [finding] = told[..] else {
        panic!("{:?}", report.judged.findings)
    };
    assert_eq!(finding.about, format!("s3://{BUCKET}/{JOB}"));
    let broken = &report.forecast.buckets[0].snapshots;
    assert_eq!(
        (broken.len(), broken[0].metadata.key()),
        (1, metadata_key(8).as_str())
    );
    assert!(finding.objects >= old_files(&lab).len() as u64, "{finding}");
    assert!(
        finding.meaning.contains("save-money")
            && finding.next_step.contains("put-bucket-lifecycle-configuration")
    );
    assert!(lab.copied().is_empty());
    // Nothing is missing yet, and who was told this hour isn't told again.
    assert_eq!(report.seen.incomplete.len(), 0);
    let report = sweep_and_tell(&mut guard).await;
    assert_eq!(codes(&report), Vec::new());
    // A rule that takes only what nobody sees any more harms nothing.
    set_rules(
        &lab,
        r#"{"Rules": [{"ID": "old-versions", "Status": "Enabled", "Filter": {"Prefix": ""},
        "NoncurrentVersionExpiration": {"NoncurrentDays": 30}}]}"#,
    );
    lab.model.advance(DAY);
    let report = lab.guard().sweep().await;
    assert_eq!(codes(&report), Vec::new());
}

#[tokio::test]
async fn rules_that_may_not_be_read_are_unknown_and_no_forecast() {
    let lab = Lab::new();
    let denied = Fault::answers(PortErrorKind::Denied).on("GetBucketLifecycleConfiguration");
    lab.model.plan(denied.always());
    let report = lab.guard().sweep().await;
    assert_eq!(report.unread, Vec::<String>::new());
    assert!(
        report
            .unknown
            .iter()
            .any(|u| u.contains("GetBucketLifecycleConfiguration")),
        "{:?}",
        report.unknown
    );
}

#[tokio::test]
async fn a_healthy_job_costs_a_sweep_few_requests_whatever_it_names() {
    let lab = Lab::new();
    let report = lab.guard().sweep().await;
    acts_on_nothing(&report);
    assert_eq!(report.seen.whole.values().sum::<u64>(), 2);
    let calls = lab.model.calls();
    let of = |operation: &str| {
        let of_job = calls.iter().filter(|c| c.bucket == BUCKET);
        of_job.filter(|c| c.operation == operation).count()
    };
    // Two `_metadata`, each read once.
    assert_eq!(of("GetObject"), 2);
    // The checkpoints of the job, its shared/ once for both, and each chk-N/.
    assert_eq!(of("ListObjectsV2"), 4, "{calls:?}");
    // The root twice, hidden checkpoints above chk-8 and above chk-10, and whether each `_metadata` is still the same.
    assert_eq!(of("ListObjectVersions"), 6, "{calls:?}");
    assert!(calls.iter().all(|c| !c.mutates()));
}

#[tokio::test]
async fn what_a_rule_hid_once_and_flink_subsumed_later_is_no_finding() {
    let lab = Lab::new();
    let told = lab.delete(Who::Rule, &metadata_key(8));
    lab.guard().handle(&[told]).await;
    assert_eq!(lab.copied(), [metadata_key(8)]);
    for id in [9, 10] {
        lab.model.advance(HOUR);
        lab.complete(id);
        let before = id - 1;
        for own in lab.own_of_head() {
            lab.delete(Who::Flink, &own.replace("/chk-8/", &format!("/chk-{before}/")));
        }
        lab.delete(Who::Flink, &metadata_key(before));
    }
    lab.model.advance(HOUR);
    let report = sweep_and_tell(&mut lab.guard()).await;
    let whole = [FindingCode::DeletedAsAWhole, FindingCode::MetadataHidden];
    assert!(
        codes(&report).iter().all(|code| !whole.contains(code)),
        "{:?}",
        report.judged.findings
    );
    acts_on_nothing(&report);
}
