//! Making a failing history small: steps are dropped, the world is made simpler, as long as the same invariant is still violated.

use crate::scenario::{Delivery, Faults, Scenario, Telling, Unhides};

/// At most so many histories are played for one.
const MOST_PLAYS: usize = 600;

/// Makes a scenario smaller that fails. What is left fails too.
pub fn shrink(scenario: &Scenario, mut fails: impl FnMut(&Scenario) -> bool) -> Scenario {
    let mut best = scenario.clone();
    let mut plays = 0;
    let mut fails = |candidate: &Scenario| {
        plays += 1;
        plays <= MOST_PLAYS && fails(candidate)
    };
    loop {
        let before = size(&best);
        drop_steps(&mut best, &mut fails);
        for simpler in simpler_worlds(&best) {
            if size(&simpler) < size(&best) && fails(&simpler) {
                best = simpler;
            }
        }
        shorten_waits(&mut best, &mut fails);
        if size(&best) >= before {
            return best;
        }
    }
}

/// How much there is to understand.
fn size(scenario: &Scenario) -> u64 {
    let world = &scenario.world;
    let Delivery {
        late,
        doubled,
        lost,
        batch,
        ..
    } = world.delivery;
    let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    let odd = [
        late > 0,
        doubled > 0,
        lost > 0,
        batch != 1000,
        world.faults != Faults::NONE,
        world.telling != Telling::Role,
        !world.acting,
        !world.journal,
        world.created_told,
        world.throttled > 0,
        world.unhides != Unhides::Nowhere,
        world.sidecars,
        world.objects_per_day < 10_000,
        world.bytes_per_day.is_some(),
        world.rules.iter().any(|r| r.noncurrent_days.is_some()),
        world.rules.iter().any(|r| r.moves.is_some()),
    ];
    let jobs: u64 = world
        .jobs
        .iter()
        .map(|j| {
            20 + count(j.retained)
                + 3 * count(j.subtasks)
                + u64::from(j.incremental)
                + u64::from(j.sink.is_some())
        })
        .sum();
    let waits: u64 = scenario
        .steps
        .iter()
        .map(|s| u64::from(64 - s.after.unsigned_abs().leading_zeros()))
        .sum();
    1000 * count(scenario.steps.len())
        + 100 * count(odd.iter().filter(|o| **o).count())
        + 200 * count(world.rules.len())
        + 50 * count(world.instances)
        + 10 * jobs
        + waits
}

fn drop_steps(best: &mut Scenario, fails: &mut impl FnMut(&Scenario) -> bool) {
    let mut length = best.steps.len().div_ceil(2);
    while length > 0 {
        let mut from = 0;
        while from < best.steps.len() {
            let mut candidate = best.clone();
            let to = (from + length).min(candidate.steps.len());
            // The time of what is dropped goes to the next step, so that nights and looks stay where they were.
            let waited: i64 = candidate.steps.drain(from..to).map(|s| s.after).sum();
            if let Some(next) = candidate.steps.get_mut(from) {
                next.after += waited;
            }
            if fails(&candidate) {
                *best = candidate;
            } else {
                from += length;
            }
        }
        length /= 2;
    }
}

fn shorten_waits(best: &mut Scenario, fails: &mut impl FnMut(&Scenario) -> bool) {
    for n in 0..best.steps.len() {
        for shorter in [1000, 60_000, 600_000, 3_600_000, 86_400_000] {
            if best.steps[n].after > 2 * shorter {
                let mut candidate = best.clone();
                candidate.steps[n].after = shorter;
                if fails(&candidate) {
                    *best = candidate;
                    break;
                }
            }
        }
    }
}

fn simpler_worlds(of: &Scenario) -> Vec<Scenario> {
    let mut worlds = Vec::new();
    let mut with = |change: &dyn Fn(&mut Scenario)| {
        let mut simpler = of.clone();
        change(&mut simpler);
        worlds.push(simpler);
    };
    with(&|s| s.world.faults = Faults::NONE);
    with(&|s| s.world.delivery.late = 0);
    with(&|s| s.world.delivery.lost = 0);
    with(&|s| s.world.delivery.doubled = 0);
    with(&|s| s.world.delivery.batch = 1000);
    with(&|s| s.world.telling = Telling::Role);
    with(&|s| s.world.acting = true);
    with(&|s| s.world.journal = true);
    with(&|s| s.world.created_told = false);
    with(&|s| s.world.objects_per_day = 10_000);
    with(&|s| s.world.bytes_per_day = None);
    with(&|s| s.world.instances = 1);
    with(&|s| s.world.throttled = 0);
    with(&|s| s.world.unhides = Unhides::Nowhere);
    with(&|s| s.world.sidecars = false);
    with(&|s| s.world.rules.clear());
    with(&|s| s.world.rules.iter_mut().for_each(|r| r.noncurrent_days = None));
    with(&|s| s.world.rules.iter_mut().for_each(|r| r.moves = None));
    with(&|s| s.world.jobs.truncate(1));
    for n in 0..of.world.jobs.len() {
        with(&|s| s.world.jobs[n].retained = 1);
        with(&|s| s.world.jobs[n].subtasks = 1);
        with(&|s| s.world.jobs[n].incremental = false);
        with(&|s| s.world.jobs[n].sink = None);
        if of.world.jobs.len() > 1 {
            with(&|s| {
                s.world.jobs.remove(n);
            });
        }
    }
    worlds
}
