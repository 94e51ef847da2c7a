//! The same messages once more, to guards that only observe and know nothing yet: in the order of the events, in another order, some of them twice, and in
//! other batches. The verdicts must be the same.

use std::collections::BTreeMap;

use super::Run;
use crate::dice::Dice;
use crate::function::Said;
use crate::oracle::{ANY_ORDER, Violation};
use crate::store::Event;

/// In one history of so many this is asked.
const ONE_IN: u64 = 10;
/// At most so often in one history.
const MOST: u32 = 3;
/// The last so many events are told.
const EVENTS: usize = 300;

/// When it is asked in a history, if at all.
pub(super) struct Reordering {
    dice: Dice,
    left: u32,
}

impl Reordering {
    pub(super) fn of(seed: u64) -> Self {
        let mut dice = Dice::for_purpose(seed, 2);
        let left = if dice.below(ONE_IN) == 0 { MOST } else { 0 };
        Self { dice, left }
    }
}

type Verdicts = BTreeMap<String, String>;

fn verdicts(said: &[Said]) -> Verdicts {
    let word = |s: &Said| {
        format!(
            "{:?} ({}) as {}, class {:?}, for {:?}",
            s.did, s.why, s.cause, s.class, s.about
        )
    };
    said.iter().map(|s| (s.key.clone(), word(s))).collect()
}

impl Run<'_> {
    /// Before a step, sometimes.
    pub(super) fn reorder_sometimes(&mut self) {
        if self.reordering.left == 0 || self.sent.is_empty() || !self.reordering.dice.per_mille(120) {
            return;
        }
        self.reordering.left -= 1;
        let events: Vec<Event> = self.sent.iter().rev().take(EVENTS).rev().cloned().collect();
        let dice = &mut self.reordering.dice;
        let mut mixed = events.clone();
        mixed.extend(events.iter().filter(|_| dice.per_mille(200)).cloned());
        dice.shuffle(&mut mixed);
        let size = 1 + dice.place(mixed.len());

        let mut first = self.function.anew("anew-1");
        let in_order = verdicts(&first.hear(&events));
        let mut second = self.function.anew("anew-2");
        let in_any = verdicts(&second.hear(&mixed));
        let mut differing = different(&in_order, &in_any, "in another order");
        if self.scenario.world.journal {
            // What a batch alone can't know another one tells; once all was told, it is the same.
            let mut third = self.function.anew("anew-3");
            for batch in mixed.chunks(size) {
                third.hear(batch);
            }
            let again = verdicts(&first.once_more().hear(&events));
            let in_batches = verdicts(&third.once_more().hear(&mixed));
            differing =
                differing.or_else(|| different(&again, &in_batches, &format!("in batches of {size}")));
        }
        *self
            .played
            .happened
            .entry("histories told in another order")
            .or_default() += 1;
        let acts = in_order.values().filter(|w| !w.starts_with("Left")).count();
        *self
            .played
            .happened
            .entry("verdicts but to leave, told in another order")
            .or_default() += u64::try_from(acts).unwrap_or(u64::MAX);
        if let Some(what) = differing {
            let at = self.now();
            self.violations(vec![Violation {
                invariant: ANY_ORDER,
                at,
                what,
            }]);
        }
    }
}

fn different(one: &Verdicts, other: &Verdicts, how: &str) -> Option<String> {
    let keys = one.keys().chain(other.keys());
    let key = keys.into_iter().find(|k| one.get(*k) != other.get(*k))?;
    Some(format!(
        "{key}: {:?}, but {how} {:?}",
        one.get(key),
        other.get(key)
    ))
}
