//! A thousand random mixes of what rules, people and Flink delete.

use std::collections::BTreeSet;
use std::time::Duration;

use s3_documents::bucket::Versioning;
use stayput_core::verdict::Outcome;
use stayput_core::version::VersionId;
use stayput_guard::batch::Done;

use crate::lab::{DAY, Dice, Lab, MINUTE, SETTLE, Who, metadata_key, outcomes};

const MIXES: u64 = 1_000;

pub(crate) fn random_world(dice: &mut Dice) -> (Lab, Vec<stayput_guard::batch::Message>) {
    let lab = Lab::new();
    // Running, resting or forgotten.
    lab.model
        .advance([Duration::ZERO, Duration::ZERO, 3 * DAY, 100 * DAY][dice.below(4)]);
    if dice.below(20) == 0 {
        lab.bucket.set_versioning(Versioning::Suspended);
    }
    lab.bucket.put(&lab.named_by_nobody(), b"left over");
    let keys = lab.all_keys();
    let mut messages = Vec::new();
    if lab.bucket.versioning() == Versioning::Enabled && dice.below(4) == 0 {
        messages.push(lab.complete(9));
    }
    for _ in 0..=dice.below(3) {
        let who = [Who::Rule, Who::Flink, Who::Alice, Who::Nobody][dice.below(4)];
        let chosen: Vec<String> = match dice.below(6) {
            0 => keys.clone(),
            1 => keys.iter().filter(|k| k.contains("/chk-8/")).cloned().collect(),
            2 => keys.iter().filter(|k| k.contains("/chk-7/")).cloned().collect(),
            3 => vec![metadata_key(8)],
            _ => {
                let n = 1 + dice.below(12);
                (0..n).map(|_| keys[dice.below(keys.len())].clone()).collect()
            }
        };
        messages.extend(lab.delete_all(who, chosen));
        lab.model.advance(Duration::from_secs(dice.below(900) as u64));
    }
    dice.shuffle(&mut messages);
    let wait = [Duration::ZERO, MINUTE, SETTLE, 3 * SETTLE, 13 * SETTLE][dice.below(5)];
    lab.model.advance(wait);
    (lab, messages)
}

fn data_of(lab: &Lab) -> BTreeSet<(String, VersionId)> {
    let versions = |k: String| -> Vec<_> {
        let history = lab.bucket.history(&k);
        history
            .data_versions()
            .map(|v| (k.clone(), v.id.clone()))
            .collect()
    };
    lab.bucket.keys().into_iter().flat_map(versions).collect()
}

#[tokio::test]
async fn in_a_thousand_random_mixes_twice_is_once_observing_agrees_and_nothing_is_lost() {
    let (mut restored, mut left, mut later, mut reported) = (0, 0, 0, 0);
    for seed in 0..MIXES {
        let mut dice = Dice::new(seed);
        let (lab, messages) = random_world(&mut dice);
        let mut named: BTreeSet<String> = lab.named_by(8);
        named.extend(lab.named_by(7));
        named.extend(lab.own_of_head().iter().map(|k| k.replace("/chk-8/", "/chk-9/")));
        named.extend([7, 8, 9].map(metadata_key));
        let before = data_of(&lab);

        let (client, mut observer) = lab.observer();
        let seen = observer.handle(&messages).await;
        assert!(
            client.calls().iter().all(|c| c.operation != "CopyObject"),
            "seed {seed}"
        );

        let mut guard = lab.guard();
        let report = guard.handle(&messages).await;
        assert_eq!(outcomes(&seen), outcomes(&report), "seed {seed}");
        for acted in &report.verdicts {
            let restores = matches!(acted.verdict.outcome, Outcome::Restore(_));
            assert_eq!(
                restores,
                matches!(acted.done, Done::Copied { .. }),
                "seed {seed}: {:?}",
                acted.done
            );
        }
        let copied = lab.copied();
        if copied.contains(&metadata_key(8)) {
            assert!(
                lab.named_by(8).iter().all(|k| lab.is_visible(k)),
                "seed {seed}: _metadata shows too much"
            );
        }
        let distinct: BTreeSet<&String> = copied.iter().collect();
        assert_eq!(
            distinct.len(),
            copied.len(),
            "seed {seed}: a key was copied twice"
        );
        assert!(
            copied.iter().all(|k| named.contains(k)),
            "seed {seed}: copied what nobody names"
        );
        let once = data_of(&lab);
        assert!(once.is_superset(&before), "seed {seed}: a data version is gone");
        assert_eq!(once.len(), before.len() + copied.len(), "seed {seed}");

        // The same messages again, to the same process and to a new one.
        guard.handle(&messages).await;
        assert_eq!(data_of(&lab), once, "seed {seed}: acting twice");
        lab.guard().handle(&messages).await;
        assert_eq!(data_of(&lab), once, "seed {seed}: acting twice in a new process");

        restored += report.summary.restored;
        left += report.summary.left.values().sum::<u64>();
        later += report.summary.later;
        reported += report.summary.reported;
    }
    println!("{MIXES} mixes: {restored} restored, {left} left, {later} later, {reported} reported");
    assert!(restored > 1_000 && left > 1_000 && later > 100 && reported > 100);
}
