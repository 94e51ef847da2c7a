//! What half of the histories have besides: jobs that lay out their state otherwise, and hands that change the settings. The other half is what the seed
//! was before there were any.

use crate::dice::Dice;
use crate::scenario::{Act, Change, Claim, Denied, Layout, Release, Scenario, Target};

/// Adds to a scenario what its seed says.
pub(super) fn add(scenario: &mut Scenario) {
    let mut dice = Dice::for_purpose(scenario.seed, 3);
    if dice.per_mille(500) {
        return;
    }
    let entropy = dice.per_mille(120);
    let zero_id = dice.per_mille(150);
    for (number, job) in scenario.world.jobs.iter_mut().enumerate() {
        job.entropy = entropy;
        job.zero_id = zero_id && dice.per_mille(700);
        if zero_id {
            // Two runs of the same job in one directory at the same time are nothing that works.
            job.operators = u8::try_from(10 + number).unwrap_or(10);
        }
        job.layout = match job.release {
            Release::UpTo114 => Layout::Plain,
            Release::Of116 => dice
                .weighed(&[(70, Layout::Plain), (30, Layout::Changelog)])
                .unwrap_or_default(),
            Release::From119 | Release::From119Sequential => dice
                .weighed(&[
                    (40, Layout::Plain),
                    (20, Layout::Changelog),
                    (25, Layout::Merged),
                    (15, Layout::ForSt),
                ])
                .unwrap_or_default(),
        };
    }
    // A budget is one Stayput's own.
    scenario.world.second_guard = scenario.world.objects_per_day >= 10_000 && dice.per_mille(100);
    for job in &mut scenario.world.jobs {
        job.ha = dice.per_mille(200);
    }
    let often = dice.weighed(&[(40, 0), (40, 60), (20, 150)]).unwrap_or(0);
    for step in &mut scenario.steps {
        match &mut step.act {
            Act::Restore { job, claim } if dice.per_mille(350) => {
                step.act = Act::Rescale {
                    job: *job,
                    claim: *claim,
                    subtasks: 1 + dice.place(4),
                };
            }
            Act::Checkpoint { .. } if dice.per_mille(often) => step.act = of_settings(&mut dice),
            Act::Delete { what, .. }
                if matches!(what, Target::Any | Target::Listed { .. }) && dice.per_mille(300) =>
            {
                *what = Target::Pointer { job: dice.place(4) };
            }
            Act::Redeploy { .. } | Act::RestoreSavepoint { .. } if zero_id => step.act = Act::Wait,
            _ => {}
        }
    }
    // Old jobs are seldom restored in the short time that a history has.
    if dice.per_mille(300)
        && let Some(step) = scenario.steps.last_mut()
    {
        step.act = Act::Rescale {
            job: dice.place(4),
            claim: Claim::Claim,
            subtasks: 1 + dice.place(4),
        };
    }
}

fn of_settings(dice: &mut Dice) -> Act {
    // What is taken is given back soon.
    let on = dice.per_mille(400);
    match dice.below(10) {
        0..4 => Act::Deny {
            what: dice
                .weighed(&[
                    (1, Denied::Getting),
                    (1, Denied::Listing),
                    (1, Denied::ListingVersions),
                    (1, Denied::Copying),
                ])
                .unwrap_or(Denied::Getting),
            on,
        },
        4..6 => Act::Versioning { on: !on },
        6..8 => Act::Deploy {
            change: Change::Acting(dice.per_mille(700)),
        },
        8 => Act::Deploy {
            change: Change::Settle(dice.weighed(&[(1, 1), (1, 3), (1, 5)]).unwrap_or(5)),
        },
        _ => Act::Deploy { change: Change::Code },
    }
}
