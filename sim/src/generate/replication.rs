//! Histories in a replica: jobs write elsewhere, and what others do, they do here.

use crate::clock::{MINUTE, SECOND};
use crate::dice::Dice;
use crate::scenario::{Act, Replication, Scenario, Target};

/// Makes the bucket of a scenario a replica.
pub(super) fn add(scenario: &mut Scenario) {
    let mut dice = Dice::for_purpose(scenario.seed, 50);
    let world = &mut scenario.world;
    world.replication = Some(Replication {
        delay: dice
            .weighed(&[(30, 10 * SECOND), (40, 2 * MINUTE), (30, 15 * MINUTE)])
            .unwrap_or(MINUTE),
        late: dice.weighed(&[(60, 0), (40, 20)]).unwrap_or(0),
        markers: dice.per_mille(700),
        told: dice.per_mille(800),
    });
    // What an HA store or a sink has is of no use elsewhere, and in one directory of several jobs nobody knows which checkpoint is whose.
    for job in &mut world.jobs {
        job.ha = false;
        job.sink = None;
        job.zero_id = false;
    }
    world.throttled = 0;
    for step in &mut scenario.steps {
        match &mut step.act {
            // S3 replicates nothing into a bucket that keeps no versions; a run that writes where another one wrote is left out so far.
            Act::Versioning { .. } | Act::Redeploy { .. } | Act::DeleteOnPurpose { .. } => {
                step.act = Act::Wait;
            }
            Act::Touch { what } | Act::Truncate { what } => {
                step.act = Act::Delete {
                    what: *what,
                    by: crate::scenario::Somebody::Person,
                };
            }
            Act::Delete { what, .. }
                if matches!(
                    what,
                    Target::Pointer { .. }
                        | Target::Tail { .. }
                        | Target::TailOfSavepoint { .. }
                        | Target::Output
                        | Target::Listed { .. }
                ) =>
            {
                *what = Target::SharedOfNewest { job: dice.place(4) };
            }
            _ => {}
        }
    }
}
