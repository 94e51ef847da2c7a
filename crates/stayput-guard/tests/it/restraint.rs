//! When Stayput holds back: rules that take the same key again, budgets, a pause, releases.

use std::time::Duration;

use s3_documents::lifecycle;
use stayput_core::class::Class;
use stayput_core::report::finding::FindingCode;
use stayput_core::root::{Protect, Root, RootKind, Roots};
use stayput_core::verdict::{LaterReason, Outcome};
use stayput_guard::batch::{Answer, BatchReport};
use stayput_guard::memory::{Memory, Switch};

use crate::lab::{
    BUCKET, COPIED, DAY, HOUR, JOB_ID, Lab, ROOT, SETTLE, Who, at, done_about, metadata_key, outcome_on,
    told, verdict_on, word,
};

/// What the server does with what a copy says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Server {
    Keeps,
    Drops,
}

const SERVERS: [Server; 2] = [Server::Keeps, Server::Drops];

const RESTING: &str = "00000000000000000000000000000001";

fn rule_expires_after_30_days(lab: &Lab) {
    let rules = format!(
        r#"{{"Rules": [{{"ID": "expire-old", "Filter": {{"Prefix": "{ROOT}"}}, "Status": "Enabled",
            "Expiration": {{"Days": 30}}, "NoncurrentVersionExpiration": {{"NoncurrentDays": 30}}}}]}}"#
    );
    lab.bucket
        .set_lifecycle(lifecycle::parse(rules.as_bytes()).expect("rules"));
}

fn protect_all(lab: &mut Lab) {
    let mut root = Root::new(&format!("s3://{BUCKET}/{ROOT}"), RootKind::Checkpoints, None).expect("a root");
    root.protect = Protect::All;
    lab.mandate.roots = Roots::new(vec![root]);
}

fn is_later(report: &BatchReport, key: &str, reason: &LaterReason) -> bool {
    matches!(outcome_on(report, key), Outcome::Later { why, .. } if why == reason)
}

fn lab_on(server: Server) -> Lab {
    let lab = Lab::new();
    lab.model.set_ignores_directives(server == Server::Drops);
    lab
}

fn count_in_metadata(lab: &Lab, key: &str) -> Option<String> {
    lab.user_metadata(key, "stayput-count")
}

#[tokio::test]
async fn a_rule_that_takes_a_key_again_within_24_hours_waits_and_then_an_alarm_names_it() {
    for server in SERVERS {
        a_rule_takes_a_key_again(server).await;
    }
}

async fn a_rule_takes_a_key_again(server: Server) {
    let lab = lab_on(server);
    let kept = |n: &str| (server == Server::Keeps).then(|| n.to_owned());
    rule_expires_after_30_days(&lab);
    let key = lab.shared_of_head()[1].clone();
    let mut guard = lab.guard();

    let report = guard.handle(&[lab.delete(Who::Rule, &key)]).await;
    assert_eq!(*done_about(&report, &key), COPIED);
    assert_eq!(count_in_metadata(&lab, &key), kept("1"));
    assert!(
        report
            .findings
            .iter()
            .all(|f| f.code != FindingCode::RepeatOffence)
    );
    let copied_at = lab.model.now();
    let first_written = lab.user_metadata(&key, "stayput-source-last-modified");

    lab.model.advance(12 * HOUR);
    let again = [lab.delete(Who::Rule, &key)];
    let report = guard.handle(&again).await;
    let Outcome::Later { not_before, why } = outcome_on(&report, &key) else {
        panic!("{}", word(outcome_on(&report, &key)))
    };
    assert_eq!(
        (*not_before, why),
        (copied_at.plus(DAY), &LaterReason::OncePerDay)
    );
    assert_eq!(
        report.answers[0].1,
        Answer::Done,
        "the sweep goes on with it; the queue needn't"
    );
    assert_eq!(lab.copied().len(), 1);

    lab.model.advance(12 * HOUR);
    let report = guard.handle(&again).await;
    assert_eq!(*done_about(&report, &key), COPIED);
    assert_eq!(count_in_metadata(&lab, &key), kept("2"));
    assert_eq!(first_written.is_some(), server == Server::Keeps);
    assert_eq!(
        lab.user_metadata(&key, "stayput-source-last-modified"),
        first_written,
        "a copy of a copy has the age of the first source"
    );
    assert!(
        report
            .findings
            .iter()
            .any(|f| f.code == FindingCode::RepeatOffence),
        "{:?}",
        report.findings
    );
    assert_eq!(lab.copied().len(), 2);
}

#[tokio::test]
async fn the_alarm_names_the_rule_whose_days_had_passed_at_midnight_or_not() {
    for at_midnight in [true, false] {
        let lab = Lab::new();
        rule_expires_after_30_days(&lab);
        let key = lab.shared_of_head()[1].clone();
        let mut guard = lab.guard();
        guard.handle(&[lab.delete(Who::Rule, &key)]).await;
        assert!(lab.is_visible(&key));
        // S3 waits for the midnight after the 30 days, other servers don't.
        lab.model.advance(30 * DAY + if at_midnight { DAY } else { HOUR });
        let message = if at_midnight {
            lab.delete(Who::Rule, &key)
        } else {
            let marker = lab.bucket.delete(&key);
            told(Who::Rule, &key, marker.as_ref(), lab.model.now())
        };
        let report = guard.handle(&[message]).await;
        assert_eq!(*done_about(&report, &key), COPIED);
        let alarm = report
            .findings
            .iter()
            .find(|f| f.code == FindingCode::RepeatOffence);
        let alarm = alarm.unwrap_or_else(|| panic!("{:?}", report.findings));
        assert_eq!(alarm.rules, ["expire-old"], "{at_midnight}");
        assert!(alarm.to_string().contains(" Rule: expire-old."), "{alarm}");
        assert_eq!(
            lab.user_metadata(&key, "stayput-rule").as_deref(),
            Some("expire-old")
        );
    }
}

#[tokio::test]
async fn a_copy_says_which_rule_took_the_object() {
    let lab = Lab::new();
    rule_expires_after_30_days(&lab);
    // This one is of August: the rule fits it.
    let key = format!("{}shared/1eb6bd52-c923-4b53-9b9b-bec263de6f2c", crate::lab::JOB);
    let report = lab.guard().handle(&[lab.delete(Who::Rule, &key)]).await;
    assert_eq!(*done_about(&report, &key), COPIED);
    assert_eq!(
        lab.user_metadata(&key, "stayput-rule").as_deref(),
        Some("expire-old")
    );
}

#[tokio::test]
async fn a_forgotten_snapshots_files_are_held_from_the_third_time_on() {
    for server in SERVERS {
        let mut lab = lab_on(server);
        protect_all(&mut lab);
        lab.model.advance(91 * DAY);
        let key = lab.shared_of_head()[0].clone();
        for n in ["1", "2"] {
            let report = lab.guard().handle(&[lab.delete(Who::Rule, &key)]).await;
            assert_eq!(verdict_on(&report, &key).verdict.class, Some(Class::Dormant));
            assert_eq!(*done_about(&report, &key), COPIED, "time {n} {server:?}");
            let kept = (server == Server::Keeps).then_some(n);
            assert_eq!(count_in_metadata(&lab, &key).as_deref(), kept);
            lab.model.advance(2 * DAY);
        }
        let report = lab.guard().handle(&[lab.delete(Who::Rule, &key)]).await;
        assert_eq!(
            *outcome_on(&report, &key),
            Outcome::Report(FindingCode::Held),
            "{server:?}"
        );
        assert_eq!(lab.copied().len(), 2);
        assert!(!lab.is_visible(&key));
    }
}

#[tokio::test]
async fn a_forgotten_snapshot_that_came_back_whole_is_still_forgotten() {
    for server in SERVERS {
        let mut lab = lab_on(server);
        protect_all(&mut lab);
        lab.model.advance(91 * DAY);
        let mut keys: Vec<String> = lab.named_by(8).into_iter().collect();
        keys.push(metadata_key(8));
        // The rule takes everything that is old, `_metadata` too, and what was copied is as new as its copy.
        for n in 1..=2 {
            let report = lab.guard().handle(&lab.delete_all(Who::Rule, &keys)).await;
            for key in &keys {
                let acted = verdict_on(&report, key);
                assert_eq!(acted.verdict.class, Some(Class::Dormant), "{key} {n} {server:?}");
                assert_eq!(acted.done, COPIED, "{key} {n} {server:?}");
            }
            lab.model.advance(2 * DAY);
        }
        let key = lab.shared_of_head()[0].clone();
        let report = lab.guard().handle(&[lab.delete(Who::Rule, &key)]).await;
        assert_eq!(
            *outcome_on(&report, &key),
            Outcome::Report(FindingCode::Held),
            "{server:?}"
        );
    }
}

#[tokio::test]
async fn an_upload_that_was_made_twice_is_no_file_that_came_back() {
    let lab = Lab::new();
    rule_expires_after_30_days(&lab);
    let key = lab.shared_of_head()[1].clone();
    // Flink's client got no answer to its upload and made it again: two versions with the same bytes.
    let first = lab.bucket.current(&key).and_then(|v| v.object).expect("visible");
    lab.bucket.put(&key, first);
    let report = lab.guard().handle(&[lab.delete(Who::Rule, &key)]).await;
    assert_eq!(*done_about(&report, &key), COPIED);
    assert_eq!(count_in_metadata(&lab, &key).as_deref(), Some("1"));
    assert!(
        report
            .findings
            .iter()
            .all(|f| f.code != FindingCode::RepeatOffence)
    );
}

#[tokio::test]
async fn a_forgotten_snapshots_files_are_only_told_of_unless_the_root_protects_all() {
    let lab = Lab::new();
    rule_expires_after_30_days(&lab);
    lab.model.advance(91 * DAY);
    let key = lab.shared_of_head()[0].clone();
    let report = lab.guard().handle(&[lab.delete(Who::Rule, &key)]).await;
    assert_eq!(
        *outcome_on(&report, &key),
        Outcome::Report(FindingCode::DormantExpired)
    );
    let finding = report
        .findings
        .iter()
        .find(|f| f.code == FindingCode::DormantExpired)
        .expect("a finding");
    assert!(
        finding.deadline.is_some_and(|d| d > lab.model.now()),
        "until when it can be undone"
    );
    assert_eq!(lab.copied(), Vec::<String>::new());
}

#[tokio::test]
async fn when_the_budget_ends_running_jobs_were_served_first() {
    let mut lab = Lab::new();
    // With one checkpoint the interval counts as a day, so that a head is running for ten.
    lab.add_job(RESTING, at("2026-11-01T10:00:00Z"));
    let running = lab.shared_of_head();
    let resting: Vec<String> = running.iter().map(|k| k.replace(JOB_ID, RESTING)).collect();
    // The resting job's keys come first, in the messages and by name.
    let mut messages = lab.delete_all(Who::Rule, &resting);
    messages.extend(lab.delete_all(Who::Rule, &running[..20]));
    lab.mandate.objects_per_day = 22;
    let mut guard = lab.guard();
    let report = guard.handle(&messages).await;

    let copied = lab.copied();
    assert_eq!(copied.len(), 22);
    assert!(
        running[..20].iter().all(|k| copied[..20].contains(k)),
        "running first: {copied:?}"
    );
    let waiting: Vec<&String> = resting
        .iter()
        .filter(|k| is_later(&report, k, &LaterReason::BudgetSpent))
        .collect();
    assert_eq!(waiting.len(), resting.len() - 2);
    let findings: Vec<_> = report
        .findings
        .iter()
        .filter(|f| f.code == FindingCode::BudgetSpent)
        .collect();
    assert_eq!(findings.len(), 1, "one for the snapshot that waits");
    assert_eq!(findings[0].objects, waiting.len() as u64);
    assert!(
        report.answers.iter().all(|(_, a)| *a == Answer::Done),
        "nothing lands in a dead-letter queue for it"
    );

    // The day's budget is spent, for another process too; the next day has one of its own.
    let report = lab.guard().handle(&messages).await;
    assert_eq!(report.summary.restored, 0);
    lab.model.advance(Duration::from_secs(24 * 3600));
    let report = guard.handle(&messages).await;
    assert_eq!(report.summary.restored, 22);
    assert_eq!(lab.copied().len(), 44);
}

#[tokio::test]
async fn the_last_of_the_budget_goes_to_files_and_not_to_the_metadata_that_waits_for_them() {
    let mut lab = Lab::new();
    let metadata = metadata_key(8);
    let files = lab.shared_of_head()[..2].to_vec();
    assert!(
        files.iter().all(|key| *key > metadata),
        "it would be first by name"
    );
    let mut messages = lab.delete_all(Who::Rule, &files);
    messages.push(lab.delete(Who::Rule, &metadata));
    lab.mandate.objects_per_day = 1;
    lab.guard().handle(&messages).await;
    assert_eq!(lab.copied(), files[..1]);
    for copied in [2, 3] {
        lab.model.advance(DAY);
        lab.guard().sweep().await;
        assert_eq!(lab.copied().len(), copied);
    }
    assert_eq!(lab.copied().last(), Some(&metadata));
}

#[tokio::test]
async fn a_budget_of_bytes_counts_bytes() {
    let mut lab = Lab::new();
    let shared = lab.shared_of_head();
    let messages = lab.delete_all(Who::Rule, &shared);
    lab.mandate.bytes_per_day = 40_000;
    let report = lab.guard().handle(&messages).await;
    let copied = lab.copied();
    let size = |k: &String| {
        lab.bucket
            .current(k)
            .and_then(|v| v.object)
            .expect("copied")
            .content
            .len()
    };
    let bytes: u64 = copied.iter().map(size).sum();
    assert!(!copied.is_empty() && copied.len() < shared.len());
    assert!(bytes <= 40_000, "{bytes}");
    assert!(report.summary.later > 0);
}

#[tokio::test]
async fn while_paused_nothing_is_restored_and_people_are_told() {
    let lab = Lab::new();
    let memory = Memory::new(Some(lab.model.another_client().journal(&lab.control, "stayput/")));
    memory.pause(lab.model.now()).await.expect("written");
    let key = lab.shared_of_head()[0].clone();
    let messages = [lab.delete(Who::Rule, &key)];
    let mut guard = lab.guard();
    let report = guard.handle(&messages).await;
    assert!(
        is_later(&report, &key, &LaterReason::Paused),
        "{}",
        word(outcome_on(&report, &key))
    );
    assert_eq!(report.answers[0].1, Answer::Done);
    assert!(report.findings.iter().any(|f| f.code == FindingCode::Paused));
    assert_eq!(lab.copied(), Vec::<String>::new());
    // The pause ends while the process lives.
    lab.control.delete("stayput/switch/pause");
    let report = guard.handle(&messages).await;
    assert_eq!(*done_about(&report, &key), COPIED);
}

#[tokio::test]
async fn what_a_person_released_is_left_and_costs_no_look() {
    let lab = Lab::new();
    let memory = Memory::new(Some(lab.model.another_client().journal(&lab.control, "stayput/")));
    let uri = format!("s3://{BUCKET}/{}", crate::lab::JOB);
    memory.switch_on(Switch::Release, &uri).await.expect("written");
    let messages = lab.delete_all(Who::Alice, lab.all_keys());
    lab.model.advance(SETTLE);
    let report = lab.guard().handle(&messages).await;
    assert_eq!(
        report.summary.left.get("released").copied(),
        Some(messages.len() as u64)
    );
    assert_eq!(lab.copied(), Vec::<String>::new());
}
