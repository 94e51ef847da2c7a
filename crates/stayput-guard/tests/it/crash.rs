//! The process dies at any call, and a new one hears the same events: the end is that of an undisturbed run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use s3_model::Fault;
use stayput_guard::batch::{BatchReport, Message};

use crate::lab::{Lab, MINUTE, NAMED_BY_HEAD, SETTLE, Who, metadata_key, outcomes};

/// What is visible, and how many data versions each key has.
type End = BTreeMap<String, (bool, usize)>;

fn end_of(lab: &Lab) -> End {
    let keys = lab.all_keys();
    keys.into_iter()
        .map(|k| (k.clone(), (lab.is_visible(&k), lab.data_versions(&k))))
        .collect()
}

/// Alice deletes the directory of a job that runs, as a whole: state files, then `_metadata`, and all of it must come back in that order.
fn alice_deletes_all(lab: &Lab) -> Vec<Message> {
    let messages = lab.delete_all(Who::Alice, lab.all_keys());
    lab.model.advance(SETTLE + MINUTE);
    messages
}

/// A rule takes old files of the same job at midnight, and Flink cleans chk-7 up.
fn a_rule_takes_some(lab: &Lab) -> Vec<Message> {
    let shared = lab.shared_of_head();
    let mut messages = lab.delete_all(Who::Rule, &shared[..6]);
    messages.extend(lab.delete_all(Who::Rule, [lab.named_by_spare_only(), lab.named_by_nobody()]));
    messages.extend(lab.delete_all(Who::Flink, [metadata_key(7)]));
    messages
}

/// Before every call and at the end: whenever `_metadata` of the head shows, all that it names shows.
fn watch(lab: &Lab) -> Arc<Mutex<Vec<String>>> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (bucket, named, faults) = (lab.bucket.clone(), lab.named_by(8), Arc::clone(&seen));
    lab.model.on_call(move |_, call| {
        if call.mutates() && bucket.is_visible(&metadata_key(8)) {
            let missing: Vec<&String> = named.iter().filter(|k| !bucket.is_visible(k)).collect();
            if !missing.is_empty() {
                let mut faults = faults.lock().expect("one thread");
                faults.push(format!("before {} of {}: {missing:?}", call.operation, call.key));
            }
        }
    });
    seen
}

struct Run {
    end: End,
    calls: usize,
    report: BatchReport,
}

/// One run, with a crash or without.
async fn run(tell: fn(&Lab) -> Vec<Message>, crash: Option<Fault>, whole: bool) -> Run {
    let lab = Lab::new();
    let before: BTreeSet<String> = lab.all_keys().into_iter().collect();
    let messages = tell(&lab);
    let seen = watch(&lab);
    let crashes = crash.is_some();
    if let Some(fault) = crash {
        lab.model.plan(fault);
    }
    let mut report = lab.guard().handle(&messages).await;
    if crashes {
        assert!(lab.model.has_crashed(), "the crash came");
        lab.model.revive();
        report = lab.guard().handle(&messages).await;
        assert!(!lab.model.has_crashed());
    }
    if whole {
        assert_eq!(*seen.lock().expect("one thread"), Vec::<String>::new());
    }
    let after: BTreeSet<String> = lab.all_keys().into_iter().collect();
    assert_eq!(after, before, "no key comes from nowhere");
    Run {
        end: end_of(&lab),
        calls: lab.model.calls().len(),
        report,
    }
}

async fn dies_at_every_call(tell: fn(&Lab) -> Vec<Message>, restored: usize, whole: bool) -> usize {
    let clean = run(tell, None, whole).await;
    let copies = clean.end.values().filter(|(_, versions)| *versions == 2).count();
    assert_eq!(copies, restored, "{:?}", outcomes(&clean.report));
    assert!(clean.calls > restored);
    for n in 1..=u32::try_from(clean.calls).expect("few") {
        for fault in [
            Fault::crash().from_nth(n),
            Fault::crash().from_nth(n).after_the_effect(),
        ] {
            let crashed = run(tell, Some(fault.clone()), whole).await;
            assert_eq!(crashed.end, clean.end, "{fault:?}");
            let failed: Vec<_> = crashed
                .report
                .answers
                .iter()
                .filter(|(_, a)| *a != stayput_guard::batch::Answer::Done)
                .collect();
            assert!(failed.is_empty(), "{fault:?}: {failed:?}");
        }
    }
    clean.calls
}

#[tokio::test]
async fn a_crash_at_any_call_while_a_whole_job_comes_back_ends_as_without_it() {
    let calls = dies_at_every_call(alice_deletes_all, NAMED_BY_HEAD + 1, true).await;
    println!("died at each of {calls} calls, before and after its effect");
    assert!(calls > 60);
}

#[tokio::test]
async fn a_crash_at_any_call_while_a_rules_victims_come_back_ends_as_without_it() {
    let calls = dies_at_every_call(a_rule_takes_some, 6, false).await;
    println!("died at each of {calls} calls, before and after its effect");
    assert!(calls > 15);
}
