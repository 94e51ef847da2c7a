//! Events come twice, late and in any order: the bucket ends the same, and so do the verdicts.

use std::collections::BTreeMap;

use s3_model::Model;
use stayput_core::cause::Cause;
use stayput_guard::batch::{Done, Message};

use crate::lab::{Dice, Lab, MINUTE, NAMED_BY_HEAD, SETTLE, Who, metadata_key, outcomes, verdict_on, word};

/// A rule at midnight, Alice afterwards, and Flink's own clean-up: everything that is there to be mixed up.
fn a_bad_night(lab: &Lab) -> Vec<Message> {
    let shared = lab.shared_of_head();
    let mut messages = lab.delete_all(Who::Rule, &shared[..8]);
    messages.extend(lab.delete_all(Who::Rule, [lab.named_by_spare_only(), lab.named_by_nobody()]));
    messages.extend(lab.delete_all(Who::Alice, &shared[8..14]));
    messages.extend(lab.delete_all(Who::Nobody, &shared[14..16]));
    lab.model.advance(MINUTE);
    let mut subsumed: Vec<String> = lab
        .named_by(7)
        .into_iter()
        .filter(|k| k.contains("/chk-7/"))
        .collect();
    subsumed.push(metadata_key(7));
    messages.extend(lab.delete_all(Who::Flink, subsumed));
    messages
}

/// What is visible, and how many data versions each key has.
fn end_of(lab: &Lab) -> BTreeMap<String, (bool, usize)> {
    let keys = lab.all_keys();
    keys.into_iter()
        .map(|k| (k.clone(), (lab.is_visible(&k), lab.data_versions(&k))))
        .collect()
}

/// The verdict that each key ended with: what was restored once stays said so when a duplicate finds it visible.
type Said = BTreeMap<String, String>;

async fn hear(lab: &Lab, batches: &[Vec<Message>]) -> Said {
    let mut guard = lab.guard();
    let mut said = Said::new();
    for batch in batches {
        let report = guard.handle(batch).await;
        for acted in &report.verdicts {
            let key = acted.verdict.location.key().to_owned();
            let restored = said.get(&key).is_some_and(|w| w.starts_with("restore"));
            if !restored {
                assert!(!matches!(acted.done, Done::Failed(_)), "{key}: {:?}", acted.done);
                said.insert(key, word(&acted.verdict.outcome));
            }
        }
    }
    said
}

async fn in_order() -> (BTreeMap<String, (bool, usize)>, Said) {
    let lab = Lab::new();
    let messages = a_bad_night(&lab);
    lab.model.advance(SETTLE + MINUTE);
    let said = hear(&lab, &[messages]).await;
    let restored = said.values().filter(|w| w.starts_with("restore")).count();
    assert_eq!(restored, 16, "{said:?}");
    assert!(lab.named_by(8).iter().all(|k| lab.is_visible(k)));
    (end_of(&lab), said)
}

#[tokio::test]
async fn duplicated_and_reordered_events_give_the_same_bucket_and_the_same_verdicts() {
    let expected = in_order().await;
    for seed in 0..20 {
        let lab = Lab::new();
        let mut messages = a_bad_night(&lab);
        lab.model.advance(SETTLE + MINUTE);
        let again = messages.clone();
        messages.extend(again);
        let mut dice = Dice::new(seed);
        dice.shuffle(&mut messages);
        let said = hear(&lab, &[messages]).await;
        assert_eq!((end_of(&lab), said), expected, "seed {seed}");
    }
}

#[tokio::test]
async fn events_split_over_several_batches_give_the_same_bucket_and_the_same_verdicts() {
    let expected = in_order().await;
    for seed in 100..120 {
        let lab = Lab::new();
        let mut messages = a_bad_night(&lab);
        lab.model.advance(SETTLE + MINUTE);
        let mut dice = Dice::new(seed);
        let some: Vec<Message> = messages.iter().filter(|_| dice.below(3) == 0).cloned().collect();
        messages.extend(some);
        dice.shuffle(&mut messages);
        let mut batches = vec![Vec::new(); 2 + dice.below(5)];
        for message in messages {
            let batch = dice.below(batches.len());
            batches[batch].push(message);
        }
        let said = hear(&lab, &batches).await;
        assert_eq!((end_of(&lab), said), expected, "seed {seed}");
    }
}

/// A directory is deleted whole, and what is told first is of shared files alone. That nothing is visible there is no proof: the hidden `_metadata` is looked
/// for, and brings back in the end whatever was left before its own message came.
#[tokio::test]
async fn what_is_told_before_its_metadata_is_never_called_unreferenced() {
    for who in [Who::Alice, Who::Rule] {
        let lab = Lab::new();
        let messages = lab.delete_all(who, lab.all_keys());
        lab.model.advance(SETTLE + MINUTE);
        let (shared, others): (Vec<Message>, Vec<Message>) = messages
            .into_iter()
            .partition(|m| format!("{m:?}").contains("/shared/"));
        assert!(shared.len() > 20);
        for batch in shared.chunks(10) {
            let report = lab.guard().handle(batch).await;
            let unreferenced = |(key, word): &(String, String)| {
                word == "leave: not referenced" && lab.named_by(8).contains(key)
            };
            assert!(!outcomes(&report).iter().any(unreferenced), "{who:?}");
        }
        lab.guard().handle(&others).await;
        let copied = lab.copied();
        assert_eq!(copied.len(), NAMED_BY_HEAD + 1, "{who:?}");
        assert_eq!(copied.last(), Some(&metadata_key(8)));
        assert!(lab.named_by(8).iter().all(|k| lab.is_visible(k)));
    }
}

#[tokio::test]
async fn an_event_that_comes_a_day_late_is_judged_by_what_was_true_then() {
    let lab = Lab::new();
    let messages = lab.delete_all(Who::Rule, lab.shared_of_head());
    // Meanwhile the job went on: chk-9 names the same shared files, and chk-7 was subsumed.
    lab.model.advance(SETTLE);
    let completed = lab.complete(9);
    let subsumed = lab.delete_all(Who::Flink, [metadata_key(7)]);
    lab.model.advance(crate::lab::DAY);
    let mut guard = lab.guard();
    let report = guard.handle(&messages).await;
    let restored = outcomes(&report)
        .iter()
        .filter(|(_, w)| w.starts_with("restore"))
        .count();
    assert_eq!(restored, NAMED_BY_HEAD - 4, "{:?}", outcomes(&report));
    guard.handle(&[completed]).await;
    guard.handle(&subsumed).await;
    assert_eq!(lab.copied().len(), NAMED_BY_HEAD - 4);
}

#[tokio::test]
async fn a_message_of_an_object_that_was_written_anew_since_changes_nothing() {
    let lab = Lab::new();
    let key = lab.shared_of_head()[0].clone();
    let size = lab
        .bucket
        .current(&key)
        .and_then(|v| v.object)
        .expect("there")
        .content
        .len();
    let deleted = lab.delete(Who::Alice, &key);
    lab.bucket
        .put(&key, s3_model::Object::new(s3_model::Content::Zeroes(size)));
    lab.model.advance(SETTLE);
    let report = lab.guard().handle(&[deleted]).await;
    assert_eq!(outcomes(&report), [(key, "leave: visible".to_owned())]);
    assert_eq!(mutating(&lab.model), 0);
}

#[tokio::test]
async fn of_two_deletions_of_one_key_the_marker_above_the_data_counts_in_whatever_order_they_are_told() {
    let firsts = [Who::Stayput, Who::Flink, Who::Nobody];
    for first in firsts {
        for reversed in [false, true] {
            let lab = Lab::new();
            let key = lab.shared_of_head()[0].clone();
            let object = lab.bucket.current(&key).and_then(|v| v.object).expect("there");
            let mut messages = vec![lab.delete(first, &key)];
            lab.model.advance(MINUTE);
            lab.bucket.put(&key, object);
            lab.model.advance(MINUTE);
            messages.push(lab.delete(Who::Alice, &key));
            lab.model.advance(SETTLE);
            if reversed {
                messages.reverse();
            }
            let report = lab.guard().handle(&messages).await;
            let said = outcomes(&report);
            assert!(
                said[0].1.starts_with("restore"),
                "{first:?}, reversed {reversed}: {said:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_second_marker_on_top_doesnt_change_who_deleted_the_object() {
    for reversed in [false, true] {
        let lab = Lab::new();
        let key = lab.shared_of_head()[0].clone();
        let mut messages = vec![lab.delete(Who::Stayput, &key), lab.delete(Who::Alice, &key)];
        lab.model.advance(SETTLE);
        if reversed {
            messages.reverse();
        }
        let report = lab.guard().handle(&messages).await;
        assert_eq!(
            outcomes(&report),
            [(key.clone(), "leave: ours".to_owned())],
            "reversed {reversed}"
        );
        // Whoever hears only of the upper marker doesn't know who put the lower one there.
        let upper: Vec<_> = messages
            .into_iter()
            .filter(|m| format!("{m:?}").contains("alice"))
            .collect();
        assert_eq!(upper.len(), 1);
        let (_, mut observer) = lab.observer();
        let report = observer.handle(&upper).await;
        assert_eq!(verdict_on(&report, &key).verdict.cause, Cause::Unknown);
    }
}

pub(crate) fn mutating(model: &Model) -> usize {
    model
        .calls()
        .iter()
        .filter(|c| c.operation == "CopyObject")
        .count()
}
