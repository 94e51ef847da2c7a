//! What a share of the histories have besides: a function that un-hides. Somebody suspends versioning for an hour, so that markers without an id lie about; files
//! get a second marker and are put over by others; the role may not remove markers for a while. Dice of their own decide.

use crate::clock::{HOUR, MINUTE, Millis};
use crate::dice::Dice;
use crate::scenario::{Act, Denied, Scenario, Somebody, Step, Target, Unhides};

/// So many in a thousand histories have one.
const SHARE: u32 = 120;
/// So many steps a history has at most.
const MOST_STEPS: usize = 200;

/// Adds to a scenario what its seed says.
pub(super) fn add(scenario: &mut Scenario, on_trial: bool) {
    let mut dice = Dice::for_purpose(scenario.seed, 42);
    if !dice.per_mille(SHARE) {
        return;
    }
    let world = &mut scenario.world;
    world.unhides = dice
        .weighed(&[(70, Unhides::Everywhere), (30, Unhides::Checkpoints)])
        .unwrap_or_default();
    // Who observes un-hides nothing.
    world.acting |= dice.per_mille(900);
    for rule in &mut world.rules {
        if dice.per_mille(400) {
            let days = dice.pick(&[1, 2, 3]).copied();
            // They also purge what still waits for a budget or a look, and there guard and judge don't agree often enough yet.
            rule.noncurrent_days = if on_trial { days } else { rule.noncurrent_days };
        }
    }
    let mut steps = Vec::with_capacity(scenario.steps.len());
    let mut room = MOST_STEPS.saturating_sub(scenario.steps.len());
    for step in scenario.steps.drain(..) {
        let around = match step.act {
            Act::Delete { what, .. } if room >= 2 && dice.per_mille(500) => around(what, &mut dice),
            _ => Around::default(),
        };
        let mut after = step.after;
        if let Some(act) = around.before {
            let dice = dice.any();
            steps.push(Step { after, dice, act });
            after = MINUTE;
            room -= 1;
        }
        steps.push(Step { after, ..step });
        if let Some((after, act)) = around.behind {
            let dice = dice.any();
            steps.push(Step { after, dice, act });
            room -= 1;
        }
    }
    scenario.steps = steps;
}

/// What happens around a deletion.
#[derive(Default)]
struct Around {
    before: Option<Act>,
    behind: Option<(Millis, Act)>,
}

fn around(what: Target, dice: &mut Dice) -> Around {
    let taken = |on| Act::Deny {
        what: Denied::Removing,
        on,
    };
    match dice.below(5) {
        0 => Around {
            before: Some(Act::Versioning { on: false }),
            behind: Some((2 * MINUTE, Act::Versioning { on: true })),
        },
        1 => Around {
            before: Some(Act::Truncate { what }),
            behind: None,
        },
        2 => Around {
            before: Some(taken(true)),
            behind: Some((HOUR, taken(false))),
        },
        3 => {
            let what = Target::HiddenOfNewest { job: dice.place(4) };
            let by = Somebody::WithFlinksRole;
            Around {
                before: None,
                behind: Some((2 * MINUTE, Act::Delete { what, by })),
            }
        }
        _ => Around::default(),
    }
}
