//! What happens at the same time by chance: a script that works at midnight, when rules do too, a second hand on what is hidden already, a clean-up that
//! takes minutes while the guard looks, a JobManager that dies in the middle of a checkpoint. Dice of their own decide, so that all other histories stay what their seeds were.

use crate::clock::{BEGINNING, DAY, HOUR, MINUTE, Millis, SECOND, midnight};
use crate::dice::Dice;
use crate::scenario::{Act, Scenario, Somebody, Step, Target};

/// So many steps a history has at most.
const MOST_STEPS: usize = 200;

/// Adds to a scenario what its seed says.
pub(super) fn add(scenario: &mut Scenario) {
    let mut dice = Dice::for_purpose(scenario.seed, 41);
    if dice.per_mille(80) {
        add_second_hands(scenario, &mut dice);
    }
    if !scenario.world.rules.is_empty() && dice.per_mille(250) {
        move_to_midnight(scenario, &mut dice);
    }
    if dice.per_mille(80) {
        add_deaths_under_way(scenario, &mut dice);
    }
    if dice.per_mille(200) {
        scenario.world.throttled = 700;
    }
}

/// Soon after a careless hand, somebody deletes the same by a list: whether anything is visible there or not.
fn add_second_hands(scenario: &mut Scenario, dice: &mut Dice) {
    let mut steps = Vec::with_capacity(scenario.steps.len());
    let mut room = MOST_STEPS.saturating_sub(scenario.steps.len());
    let mut later: Option<Millis> = None;
    for mut step in scenario.steps.drain(..) {
        // What follows happens when it would have happened.
        if let Some(after) = later.take() {
            step.after = (step.after - after).max(0);
        }
        let job = match step.act {
            Act::Delete {
                what:
                    Target::PrivateOfNewest { job }
                    | Target::SharedOfNewest { job }
                    | Target::DirectoryOfNewest { job }
                    | Target::MetadataOfNewest { job },
                by: Somebody::Person,
            } if room > 0 => Some(job),
            _ => None,
        };
        steps.push(step);
        let Some(job) = job else { continue };
        let after = dice.between(5 * SECOND, 4 * MINUTE);
        let by = if dice.per_mille(700) {
            Somebody::WithFlinksRole
        } else {
            Somebody::Person
        };
        steps.push(Step {
            after,
            dice: dice.any(),
            act: Act::Delete {
                what: Target::HiddenOfNewest { job },
                by,
            },
        });
        room -= 1;
        later = Some(after);
    }
    scenario.steps = steps;
}

/// Soon after somebody deleted what a job would restore from, its JobManager dies in the middle of the next checkpoint: that is never complete, and its
/// files stay.
fn add_deaths_under_way(scenario: &mut Scenario, dice: &mut Dice) {
    let mut steps = Vec::with_capacity(scenario.steps.len());
    let mut room = MOST_STEPS.saturating_sub(scenario.steps.len());
    for step in scenario.steps.drain(..) {
        let job = match step.act {
            Act::Delete {
                what: Target::DirectoryOfNewest { job } | Target::MetadataOfNewest { job },
                by: Somebody::Person,
            } if room >= 3 => Some(job),
            _ => None,
        };
        steps.push(step);
        let Some(job) = job else { continue };
        for (after, act) in [
            (dice.between(10 * SECOND, 2 * MINUTE), Act::Checkpoint { job }),
            (
                dice.between(200, 5 * SECOND),
                Act::KillJobManager { job, ha: true },
            ),
            (dice.between(HOUR, 3 * HOUR), Act::Wait),
        ] {
            let dice = dice.any();
            steps.push(Step { after, dice, act });
        }
        room -= 3;
    }
    scenario.steps = steps;
}

/// What somebody does once a day, a script does at midnight UTC.
fn move_to_midnight(scenario: &mut Scenario, dice: &mut Dice) {
    let mut at = BEGINNING;
    for step in &mut scenario.steps {
        let by_a_script = matches!(
            step.act,
            Act::Cancel { .. } | Act::Finish { .. } | Act::DeleteOnPurpose { .. } | Act::Delete { .. }
        );
        if by_a_script && dice.per_mille(400) {
            let due = at + step.after.max(0);
            step.after = midnight(due) + DAY - at;
        }
        at += step.after.max(0);
    }
}
