//! What a share of the histories have besides: deployments that change what the settings say of roots, of Flink's role, of un-hiding, and whether it restores at all.
//! In some of them a mistake is mended: checkpoints lay under no root, or the role that was named wasn't that of the jobs. Dice of their own decide.

use crate::clock::{HOUR, MINUTE};
use crate::dice::Dice;
use crate::scenario::{Act, Change, Scenario, Step, Unhides};

/// So many in a thousand histories have such.
const SHARE: u32 = 100;
/// So many steps a history has at most.
const MOST_STEPS: usize = 200;

/// Adds to a scenario what its seed says.
pub(super) fn add(scenario: &mut Scenario) {
    let mut dice = Dice::for_purpose(scenario.seed, 44);
    if !dice.per_mille(SHARE) {
        return;
    }
    // What the first deployment lacks a later one has, as where somebody learns: and the other way round.
    let (first, second) = match dice.below(4) {
        0 => (Change::Acting(false), Change::Acting(true)),
        1 => (
            Change::Unhides(Unhides::Everywhere),
            Change::Unhides(Unhides::Nowhere),
        ),
        2 => (Change::Principals(false), Change::Principals(true)),
        _ => (Change::Savepoints(false), Change::Savepoints(true)),
    };
    let (first, second) = if dice.per_mille(300) {
        (second, first)
    } else {
        (first, second)
    };
    deploy(scenario, first, second, &mut dice);
}

/// So many in a thousand histories have a mistake in the settings.
const MISTAKES: u32 = 120;

/// Adds a mistake in the settings, and how it is mended.
pub(super) fn add_mistakes(scenario: &mut Scenario) {
    let mut dice = Dice::for_purpose(scenario.seed, 47);
    if !dice.per_mille(MISTAKES) {
        return;
    }
    let (mistake, mended) = match dice.below(2) {
        0 => (Change::Checkpoints(false), Change::Checkpoints(true)),
        _ => (Change::AnothersRole, Change::Principals(true)),
    };
    // Nobody need ever see that a role is the wrong one.
    let mended = if mistake == Change::AnothersRole && dice.per_mille(250) {
        Change::Code
    } else {
        mended
    };
    deploy(scenario, mistake, mended, &mut dice);
}

/// Two deployments, often with all of the history between them.
fn deploy(scenario: &mut Scenario, first: Change, second: Change, dice: &mut Dice) {
    let steps = &mut scenario.steps;
    let early = if dice.per_mille(500) {
        0
    } else {
        dice.place(steps.len())
    };
    for (place, change) in [
        (early, first),
        (early + 1 + dice.place(steps.len() - early), second),
    ] {
        if steps.len() < MOST_STEPS {
            let step = Step {
                after: dice.between(MINUTE, HOUR / 4),
                dice: dice.any(),
                act: Act::Deploy { change },
            };
            steps.insert(place.min(steps.len()), step);
        }
    }
}
