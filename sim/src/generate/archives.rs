//! What a share of the longer histories have besides: a rule that moves to an archive what is needed, and at the end some quiet days, so that what was thawed can be
//! put right. Dice of their own decide.

use crate::clock::{DAY, HOUR, Millis};
use crate::dice::Dice;
use crate::scenario::{Act, Archive, Moves, Rule, Scenario, Step};

/// So many in a thousand histories of some days have one.
const SHARE: u32 = 250;
/// Shorter ones see no rule at work twice.
const SHORTEST: Millis = 2 * DAY;
/// So many steps a history has at most.
const MOST_STEPS: usize = 200;

/// Adds to a scenario what its seed says.
pub(super) fn add(scenario: &mut Scenario) {
    let mut dice = Dice::for_purpose(scenario.seed, 43);
    let span: Millis = scenario.steps.iter().map(|s| s.after.max(0)).sum();
    if span < SHORTEST || !dice.per_mille(SHARE) {
        return;
    }
    let days: &[u32] = if span < 30 * DAY { &[1, 2, 3] } else { &[3, 7, 30] };
    let to = dice
        .weighed(&[(60, Archive::Glacier), (40, Archive::Deep)])
        .unwrap_or(Archive::Glacier);
    let moves = Moves {
        to,
        days: if dice.per_mille(750) {
            dice.pick(days).copied()
        } else {
            None
        },
        noncurrent_days: if dice.per_mille(400) {
            dice.pick(&[1, 2]).copied()
        } else {
            None
        },
    };
    let rules = &mut scenario.world.rules;
    match rules.first_mut() {
        Some(rule) => {
            rule.moves = Some(moves);
            // Many rules only move.
            if dice.per_mille(400) {
                rule.days = None;
            }
        }
        None => rules.push(Rule {
            prefix: dice
                .weighed(&[(60, "cp/"), (20, ""), (20, "sp/")])
                .unwrap_or("cp/")
                .to_owned(),
            days: None,
            noncurrent_days: None,
            moves: Some(moves),
        }),
    }
    for _ in 0..3 {
        if scenario.steps.len() < MOST_STEPS {
            scenario.steps.push(Step {
                after: dice.between(20 * HOUR, 30 * HOUR),
                dice: dice.any(),
                act: Act::Wait,
            });
        }
    }
}
