//! What a share of the histories have besides: jobs with a file sink, and people and rules that take for rubbish what it needs.

use crate::dice::Dice;
use crate::scenario::{Act, Layout, Release, Rule, Scenario, SinkSpec, Target, Writer};

/// So many in a thousand histories have one.
const SHARE: u32 = 150;

/// Adds to a scenario what its seed says.
pub(super) fn add(scenario: &mut Scenario) {
    let mut dice = Dice::for_purpose(scenario.seed, 4);
    if !dice.per_mille(SHARE) {
        return;
    }
    for job in &mut scenario.world.jobs {
        let native =
            matches!(job.release, Release::From119 | Release::From119Sequential) && dice.per_mille(250);
        let sink = SinkSpec {
            writer: if native { Writer::Native } else { Writer::Hadoop },
            inlined: dice.per_mille(600),
        };
        // With file merging its state lies in a segment of a merged file, which this sink doesn't write.
        if job.layout != Layout::Merged && dice.per_mille(800) {
            job.sink = Some(sink);
        }
    }
    if let Some(rule) = scenario.world.rules.first()
        && dice.per_mille(500)
    {
        let tidying = Rule {
            prefix: "out/".to_owned(),
            ..rule.clone()
        };
        scenario.world.rules.push(tidying);
    }
    for step in &mut scenario.steps {
        let (job, savepoint) = (dice.place(4), dice.place(3));
        let (of_tails, which) = (dice.per_mille(400), dice.below(10));
        if let Act::Delete { what, .. } | Act::Touch { what } | Act::Truncate { what } = &mut step.act
            && of_tails
        {
            *what = match which {
                0..7 => Target::Tail { job },
                7..9 => Target::TailOfSavepoint { savepoint },
                _ => Target::Output,
            };
        }
    }
}
