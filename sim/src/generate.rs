//! A seed becomes a scenario.

mod archives;
mod budgets;
mod coincidences;
mod extras;
mod replication;
mod settings;
mod sinks;
mod unhiding;

use crate::clock::{DAY, HOUR, MINUTE, Millis, SECOND};
use crate::dice::Dice;
use crate::scenario::{
    Act, Claim, Delivery, Faults, JobSpec, Layout, Release, Rule, Scenario, Somebody, Step, Target, Telling,
    Unhides, World,
};

/// What kind of history a seed becomes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pace {
    /// Checkpoints every few minutes, for hours.
    Busy,
    /// Days, with nights in which rules run.
    Days,
    /// Weeks and months between steps.
    Months,
}

/// How long a history is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Length {
    /// At most 200 steps: hours, days, sometimes months.
    Short,
    /// A year and more.
    Years,
}

/// So many in a thousand histories have sidecars.
const SIDECARS: u32 = 200;

/// And in so many of those on trial the function is told of its own copies.
const OWN_COPIES: u32 = 500;

/// And in so many of those the pointers of HA stores hold what Flink writes.
const READABLE_POINTERS: u32 = 700;

/// Which histories.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Histories {
    /// How long each is.
    pub length: Length,
    /// Whether archives, settings that change, noncurrent rules of a day or three, readable pointers of HA stores and the function's own copies as news are in some of them too: there
    /// the guard and its judge don't agree yet often enough, so that nobody's gate rests on them.
    pub on_trial: bool,
    /// Whether the bucket is a replica of the one that jobs write to.
    pub replicated: bool,
}

impl Histories {
    /// Short ones, which a gate rests on.
    pub const SHORT: Self = Self::of(Length::Short);
    /// Short ones, with what is on trial.
    pub const ON_TRIAL: Self = Self {
        on_trial: true,
        ..Self::SHORT
    };
    /// Short ones in a replica.
    pub const REPLICATED: Self = Self {
        replicated: true,
        ..Self::SHORT
    };

    /// Of this seed, where faults are looked for: one in ten is in a replica, if not all are.
    #[must_use]
    pub fn in_search(self, seed: u64) -> Self {
        Self {
            replicated: self.replicated || seed.is_multiple_of(10),
            ..self
        }
    }

    /// Those of this length, without what is on trial.
    pub const fn of(length: Length) -> Self {
        Self {
            length,
            on_trial: false,
            replicated: false,
        }
    }
}

/// The history of a seed.
pub fn scenario(seed: u64, which: Histories) -> Scenario {
    let length = which.length;
    let mut dice = Dice::of(seed);
    let pace = match length {
        Length::Short => dice
            .weighed(&[(65, Pace::Busy), (30, Pace::Days), (5, Pace::Months)])
            .unwrap_or(Pace::Busy),
        Length::Years => Pace::Months,
    };
    let world = world(&mut dice, pace);
    let count = match length {
        Length::Short => 8 + dice.place(40),
        Length::Years => 60 + dice.place(140),
    };
    let careless = dice.weighed(&[(25, 0_u32), (50, 60), (25, 200)]).unwrap_or(60);
    let steps = (0..count).map(|_| step(&mut dice, pace, careless)).collect();
    let mut scenario = Scenario { seed, world, steps };
    extras::add(&mut scenario);
    sinks::add(&mut scenario);
    budgets::add(&mut scenario);
    coincidences::add(&mut scenario);
    unhiding::add(&mut scenario, which.on_trial);
    scenario.world.sidecars = Dice::for_purpose(seed, 45).per_mille(SIDECARS);
    if which.on_trial {
        let readable_pointers = Dice::for_purpose(seed, 48).per_mille(READABLE_POINTERS);
        for job in &mut scenario.world.jobs {
            job.readable_pointers = readable_pointers;
        }
        scenario.world.own_copies_told = Dice::for_purpose(seed, 46).per_mille(OWN_COPIES);
        archives::add(&mut scenario);
        settings::add(&mut scenario);
        settings::add_mistakes(&mut scenario);
    }
    if which.replicated {
        replication::add(&mut scenario);
    }
    scenario
}

fn world(dice: &mut Dice, pace: Pace) -> World {
    let troubled = dice.per_mille(350);
    let unreliable = dice.per_mille(300);
    let jobs = 1 + dice.place(3);
    World {
        telling: dice
            .weighed(&[
                (60, Telling::Role),
                (20, Telling::NoPrincipals),
                (20, Telling::EventBridge),
            ])
            .unwrap_or(Telling::Role),
        acting: !dice.per_mille(60),
        journal: !dice.per_mille(100),
        instances: 1 + dice.place(3),
        created_told: dice.per_mille(500),
        delivery: Delivery {
            delay: dice
                .weighed(&[(50, 2 * SECOND), (40, 20 * SECOND), (10, MINUTE)])
                .unwrap_or(SECOND),
            late: if unreliable { 50 } else { 0 },
            doubled: dice.weighed(&[(50, 0), (40, 50), (10, 500)]).unwrap_or(0),
            lost: if unreliable { 50 } else { 0 },
            batch: dice.weighed(&[(20, 1), (40, 10), (40, 1000)]).unwrap_or(10),
            visibility: dice
                .weighed(&[(70, 5 * MINUTE), (30, 6 * MINUTE)])
                .unwrap_or(5 * MINUTE),
            receives: 18,
        },
        faults: if troubled {
            Faults {
                failing: dice.weighed(&[(1, 0), (1, 100), (1, 400)]).unwrap_or(0),
                crashing: dice.weighed(&[(1, 0), (1, 100), (1, 300)]).unwrap_or(0),
                racing: dice.weighed(&[(1, 0), (1, 200)]).unwrap_or(0),
            }
        } else {
            Faults::NONE
        },
        rules: rules(dice, pace),
        installed: if dice.per_mille(100) {
            Some(dice.between(HOUR, 2 * DAY))
        } else {
            None
        },
        objects_per_day: dice.weighed(&[(95, 10_000), (5, 4)]).unwrap_or(10_000),
        bytes_per_day: None,
        second_guard: false,
        throttled: 0,
        replication: None,
        unhides: Unhides::Nowhere,
        sidecars: false,
        own_copies_told: false,
        jobs: (0..jobs).map(|n| job(dice, n)).collect(),
    }
}

fn rules(dice: &mut Dice, pace: Pace) -> Vec<Rule> {
    let often = match pace {
        Pace::Busy => 0,
        Pace::Days | Pace::Months => 500,
    };
    if !dice.per_mille(often) {
        return Vec::new();
    }
    let days: &[u32] = if pace == Pace::Days {
        &[1, 2, 3]
    } else {
        &[7, 30, 60]
    };
    vec![Rule {
        prefix: dice
            .weighed(&[(60, "cp/"), (20, ""), (20, "sp/")])
            .unwrap_or("cp/")
            .to_owned(),
        days: dice.pick(days).copied(),
        noncurrent_days: if dice.per_mille(300) { Some(30) } else { None },
        moves: None,
    }]
}

fn job(dice: &mut Dice, number: usize) -> JobSpec {
    JobSpec {
        release: dice
            .weighed(&[
                (15, Release::UpTo114),
                (25, Release::Of116),
                (50, Release::From119),
                (10, Release::From119Sequential),
            ])
            .unwrap_or(Release::From119),
        retained: 1 + dice.place(3),
        retained_on_cancel: dice.per_mille(600),
        incremental: dice.per_mille(750),
        subtasks: 1 + dice.place(2),
        operators: if dice.per_mille(300) {
            7
        } else {
            u8::try_from(number).unwrap_or(0)
        },
        layout: Layout::Plain,
        zero_id: false,
        ha: false,
        readable_pointers: false,
        entropy: false,
        sink: None,
    }
}

fn pause(dice: &mut Dice, pace: Pace) -> Millis {
    let minutes = |dice: &mut Dice| dice.between(MINUTE, 15 * MINUTE);
    match pace {
        Pace::Busy => match dice.below(20) {
            0..10 => dice.between(SECOND, 2 * MINUTE),
            10..18 => minutes(dice),
            _ => dice.between(15 * MINUTE, 2 * HOUR),
        },
        Pace::Days => match dice.below(20) {
            0..8 => minutes(dice),
            8..16 => dice.between(HOUR, 8 * HOUR),
            _ => dice.between(8 * HOUR, 2 * DAY),
        },
        Pace::Months => match dice.below(20) {
            0..10 => minutes(dice),
            10..15 => dice.between(6 * HOUR, 3 * DAY),
            _ => dice.between(3 * DAY, 60 * DAY),
        },
    }
}

fn step(dice: &mut Dice, pace: Pace, careless: u32) -> Step {
    let after = pause(dice, pace);
    let act = if dice.per_mille(careless) {
        carelessness(dice)
    } else {
        daily_work(dice)
    };
    Step {
        after,
        dice: dice.any(),
        act,
    }
}

fn daily_work(dice: &mut Dice) -> Act {
    let job = dice.place(4);
    let claim = dice
        .weighed(&[(50, Claim::Claim), (35, Claim::NoClaim), (15, Claim::Legacy)])
        .unwrap_or(Claim::Claim);
    match dice.below(100) {
        0..58 => Act::Checkpoint { job },
        58..62 => Act::Abort { job },
        62..64 => Act::FailedStore { job },
        64..68 => Act::Cancel { job },
        68..69 => Act::Fail { job },
        69..70 => Act::Finish { job },
        70..74 => Act::KillJobManager {
            job,
            ha: dice.per_mille(600),
        },
        74..78 => Act::Failover { job },
        78..82 => Act::Savepoint { job },
        82..84 => Act::Dispose { savepoint: job },
        84..91 => Act::Restore { job, claim },
        91..93 => Act::RestoreSavepoint {
            savepoint: job,
            claim,
            of_job: dice.place(4),
        },
        93..95 => Act::DeleteOnPurpose { job },
        95..96 => Act::Redeploy { job },
        96..97 => Act::ColdStart,
        97..98 => Act::Pause {
            on: dice.per_mille(400),
        },
        98..99 => Act::Sweep,
        _ => Act::Wait,
    }
}

fn carelessness(dice: &mut Dice) -> Act {
    let job = dice.place(4);
    let savepoint = dice.place(3);
    let what = match dice.below(20) {
        0..6 => Target::SharedOfNewest { job },
        6..9 => Target::PrivateOfNewest { job },
        9..11 => Target::MetadataOfNewest { job },
        11..13 => Target::DirectoryOfNewest { job },
        13..15 => Target::Shared { job },
        15..16 => Target::Job { job },
        16..17 => Target::OfSavepoint { savepoint },
        17..18 => Target::Savepoint { savepoint },
        18..19 => Target::Listed { job },
        _ => Target::Any,
    };
    match dice.below(20) {
        0 => Act::Touch { what },
        1 => Act::Truncate { what },
        2 => Act::Delete {
            what,
            by: Somebody::WithFlinksRole,
        },
        _ => Act::Delete {
            what,
            by: Somebody::Person,
        },
    }
}
