//! Playing a scenario: steps, what follows from them, messages, sweeps, and the oracle in between.

mod jobs;
mod messages;
mod reordered;
mod replication;
mod steps;

use std::collections::{BTreeMap, BTreeSet};

use s3_model::Model;
use stayput_core::timestamp::Timestamp;

use self::reordered::Reordering;
use self::replication::Origin;
use crate::actors::Job;
use crate::actors::people::Savepoint;
use crate::actors::rules::{self, Due};
use crate::clock::{BEGINNING, DAY, HOUR, MINUTE, Millis, midnight};
use crate::dice::Dice;
use crate::function::Function;
use crate::oracle::{Need, Oracle, Scene, Violation, needs, needs_of_replica};
use crate::scenario::Scenario;
use crate::store::{Event, Hand, Store};
use crate::trace::{Lane, Trace};

/// At most so many jobs and savepoints are started in one history.
const MOST: usize = 6;
/// The daily sweep, after midnight.
const SWEEP_AT: Millis = 5 * HOUR;

/// What came of a history.
#[derive(Debug, Default)]
pub struct Played {
    /// What didn't hold.
    pub violations: Vec<Violation>,
    /// Steps that were done.
    pub steps: usize,
    /// Calls of the function.
    pub calls: u64,
    /// Events that were told.
    pub events: u64,
    /// Copies.
    pub copies: u64,
    /// Copies that nobody needs, and the last word about each.
    pub unneeded: Vec<String>,
    /// Copies of what a dying JobManager had begun to discard.
    pub cut_short: u64,
    /// What the dearest call took, in thousandths of the requests that it might have taken.
    pub dearest: u64,
    /// How often things happened that the simulation is for, in words.
    pub happened: BTreeMap<&'static str, u64>,
    /// What happened, if it was asked for.
    pub trace: Trace,
}

/// What follows from a step.
#[derive(Clone, Debug)]
enum Later {
    FlinkDeletes {
        job: usize,
        incarnation: u32,
        key: String,
    },
    Completes {
        job: usize,
        incarnation: u32,
        how: How,
        dice: u64,
    },
    PersonDeletes {
        key: String,
        by: Hand,
    },
    RuleActs(Due),
    /// A version or marker comes from the origin, by its key and id.
    Replicates(String, String),
    /// S3 says that a version is thawed, by its key and id.
    Thawed(String, String),
    Poll,
    Sweep,
    Midnight,
    Check,
}

/// How a checkpoint under way ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum How {
    Well,
    Aborted,
    NotStored,
}

struct Run<'s> {
    scenario: &'s Scenario,
    store: Store,
    /// The bucket that jobs write to, where the other is its replica.
    origin: Option<Origin>,
    function: Function,
    /// Another Stayput at the same bucket.
    second: Option<Function>,
    oracle: Oracle<'s>,
    jobs: Vec<Job>,
    savepoints: Vec<Savepoint>,
    agenda: BTreeMap<(Millis, u64), Later>,
    number: u64,
    /// Whether anybody but Flink deleted anything.
    disturbed: bool,
    cut_short: Vec<String>,
    /// Choices about messages, calls and races.
    dice: Dice,
    sent: Vec<Event>,
    played: Played,
    reordering: Reordering,
    violated: BTreeSet<&'static str>,
    /// What was last said of the bucket.
    bucket: String,
}

/// Plays it; with a trace if it is asked for. Of each invariant the first violation is kept.
pub fn play(scenario: &Scenario, traced: bool) -> Played {
    let model = Model::new(Timestamp::from_millis(BEGINNING));
    let mut run = Run {
        scenario,
        store: Store::new(&model, &scenario.world.rules),
        origin: (scenario.world.replication).map(|how| Origin::new(&model, how)),
        function: Function::new(&model, &scenario.world, "ops"),
        second: (scenario.world.second_guard).then(|| Function::new(&model, &scenario.world, "ops-2")),
        oracle: Oracle::new(&scenario.world),
        jobs: Vec::new(),
        savepoints: Vec::new(),
        agenda: BTreeMap::new(),
        number: 0,
        disturbed: false,
        cut_short: Vec::new(),
        dice: Dice::for_purpose(scenario.seed, 1),
        sent: Vec::new(),
        played: Played {
            trace: Trace::new(traced),
            ..Played::default()
        },
        reordering: Reordering::of(scenario.seed),
        violated: BTreeSet::new(),
        bucket: String::new(),
    };
    for spec in &scenario.world.jobs {
        let mut dice = Dice::for_purpose(scenario.seed, 100 + run.jobs.len() as u64);
        let mut job = Job::new(run.jobs.len(), *spec, &mut dice);
        job.began = BEGINNING;
        run.count_job(*spec);
        run.jobs.push(job);
    }
    run.later(midnight(BEGINNING) + DAY + SWEEP_AT, Later::Sweep);
    if !scenario.world.rules.is_empty() {
        run.later(midnight(BEGINNING) + DAY, Later::Midnight);
    }
    let mut at = BEGINNING;
    for step in &scenario.steps {
        at += step.after.max(0);
        run.until(at);
        run.reorder_sometimes();
        run.step(step);
        run.played.steps += 1;
    }
    run.end();
    let ledger = &mut run.oracle.ledger;
    run.played.copies = ledger.copies;
    run.played.dearest = ledger.dearest;
    *run.played
        .happened
        .entry("copies of merged or live files of which only the directory is known to be in use")
        .or_default() += ledger.by_directory;
    *run.played
        .happened
        .entry("copies beside a _metadata that nobody could read")
        .or_default() += ledger.beside_unreadable;
    *run.played
        .happened
        .entry("copies of what somebody hid at the midnight at which a rule would have")
        .or_default() += ledger.as_a_rule;
    *run.played
        .happened
        .entry("copies of what a job deleted itself while the settings named another's role")
        .or_default() += ledger.as_a_stranger;
    *run.played
        .happened
        .entry("copies in a replica of what the origin has no more")
        .or_default() += ledger.as_replicated;
    *run.played
        .happened
        .entry("proofs of restores that a second reader checked")
        .or_default() += ledger.proofs;
    *run.played
        .happened
        .entry("proofs of tails that the state of a sink names")
        .or_default() += ledger.tails;
    run.played.cut_short = ledger.cut_short;
    run.played.unneeded = std::mem::take(&mut ledger.unneeded);
    run.played
}

impl Run<'_> {
    fn later(&mut self, at: Millis, what: Later) {
        self.number += 1;
        self.agenda.insert((at, self.number), what);
    }

    fn now(&self) -> Millis {
        self.store.now()
    }

    /// Counts something that the simulation is for.
    fn happened(&mut self, what: &'static str) {
        *self.played.happened.entry(what).or_default() += 1;
    }

    fn note(&mut self, lane: Lane, text: impl FnOnce() -> String) {
        let now = self.now();
        self.played.trace.note(now, lane, text);
    }

    /// What of the bucket matters to anybody, where that changed.
    fn note_bucket(&mut self) {
        if !self.played.trace.is_asked() {
            return;
        }
        let mut text = format!("{} objects", self.store.visible("").len());
        for need in needs_of(&self.origin, &self.store, &self.jobs, &self.savepoints) {
            let missing = need.missing(&self.store).len();
            if missing > 0 {
                text.push_str(&format!("; {} lacks {missing}", need.who));
            }
        }
        if text != self.bucket {
            self.bucket.clone_from(&text);
            self.note(Lane::Bucket, || text);
        }
    }

    fn violations(&mut self, found: Vec<Violation>) {
        for violation in found {
            if self.violated.insert(violation.invariant) {
                self.note(Lane::Oracle, || {
                    format!("VIOLATED: {}: {}", violation.invariant, violation.what)
                });
                self.played.violations.push(violation);
            }
        }
    }

    /// Lets everything happen that is due by then.
    fn until(&mut self, at: Millis) {
        while let Some(entry) = self.agenda.first_entry() {
            let due = entry.key().0;
            if due > at {
                break;
            }
            let what = entry.remove();
            self.store.set_now(due.max(self.now()));
            self.happen(what);
            self.send();
            self.note_bucket();
        }
        self.store.set_now(at.max(self.now()));
    }

    fn happen(&mut self, what: Later) {
        match what {
            Later::FlinkDeletes {
                job,
                incarnation,
                key,
            } => {
                if self.jobs.get(job).is_some_and(|j| j.incarnation == incarnation) {
                    self.note(Lane::Job(job), || format!("deletes {key}"));
                    replication::flinks(&mut self.origin, &mut self.store).delete_as_flink(&key, job);
                }
            }
            Later::Completes {
                job,
                incarnation,
                how,
                dice,
            } => self.complete(job, incarnation, how, dice),
            Later::PersonDeletes { key, by } => {
                self.note(Lane::People, || format!("{by:?} deletes {key}"));
                self.store.delete(&key, by);
            }
            Later::RuleActs(Due::Hide(key)) => {
                if !rules::is_still_due(&self.scenario.world.rules, &self.store, &key) {
                    return;
                }
                self.note(Lane::Rules, || format!("expires {key}"));
                self.disturbed = true;
                self.store.expire(&key);
            }
            // What was noncurrent at midnight can be visible again.
            Later::RuleActs(Due::Purge(key, version)) if self.store.is_current(&key, &version) => {}
            Later::RuleActs(Due::Purge(key, version)) => {
                self.note(Lane::Rules, || format!("removes version {version} of {key}"));
                self.store.purge(&key, &version, Hand::Rule);
            }
            Later::RuleActs(Due::Move(key, version, to)) => {
                if self.store.archive(&key, &version, to) {
                    self.note(Lane::Rules, || {
                        format!("moves version {version} of {key} to {to:?}")
                    });
                    self.disturbed = true;
                    self.happened("versions that a rule moved to an archive");
                }
            }
            Later::Replicates(key, version) => self.replicate(&key, &version),
            Later::Thawed(key, version) => self.store.tell_of_thaw(&key, &version),
            Later::Poll => self.poll(),
            Later::Sweep => {
                self.sweep();
                if self.scenario.world.rules.iter().any(|r| r.moves.is_some()) {
                    self.later(self.now() + 10 * MINUTE, Later::Check);
                }
                let next = midnight(self.now()) + DAY + SWEEP_AT;
                self.later(next, Later::Sweep);
            }
            Later::Midnight => {
                let mut dice = Dice::for_purpose(self.scenario.seed, self.now().unsigned_abs());
                // S3 comes round some time after midnight; its markers are dated midnight all the same.
                let begins = self.now() + dice.between(MINUTE, 4 * HOUR);
                for (n, due) in rules::due(&self.scenario.world.rules, &self.store)
                    .into_iter()
                    .enumerate()
                {
                    let n = Millis::try_from(n).unwrap_or(0);
                    self.later(begins + n * dice.between(10, 400), Later::RuleActs(due));
                }
                self.later(midnight(self.now()) + DAY, Later::Midnight);
            }
            Later::Check => self.check(),
        }
    }

    /// Nothing more is done; the function gets the time that it is allowed, and sweeps.
    fn end(&mut self) {
        let quiet = self.now() + 80 * MINUTE;
        self.until(quiet);
        self.check();
        let now = self.now();
        if self.function.is_paused() || !self.function.may_all() || !self.store.keeps_versions() {
            for function in [&mut self.function].into_iter().chain(&mut self.second) {
                function.pause(false);
                function.allow_all();
            }
            self.store.keep_versions(true);
            self.oracle.ledger.keeps_versions(true, now);
            self.oracle.ledger.resumed_at = now;
        }
        let after = self.now() + 10 * MINUTE;
        self.until(after + 66 * MINUTE);
        for _ in 0..4 {
            self.sweep();
            let next = self.now() + 10 * MINUTE;
            self.until(next);
        }
        self.check();
        let scene = scene(
            &self.store,
            &self.origin,
            &self.jobs,
            &self.savepoints,
            &self.function,
            self.disturbed,
            &self.cut_short,
        );
        let found = self.oracle.look_at_versions(&scene);
        self.violations(found.into_iter().collect());
    }
}

fn needs_of<'s>(
    origin: &'s Option<Origin>,
    store: &Store,
    jobs: &'s [Job],
    savepoints: &'s [Savepoint],
) -> Vec<Need<'s>> {
    match origin {
        Some(origin) => needs_of_replica(&origin.replica, jobs, savepoints, store),
        None => needs(jobs, savepoints),
    }
}

fn scene<'s>(
    store: &'s Store,
    origin: &'s Option<Origin>,
    jobs: &'s [Job],
    savepoints: &'s [Savepoint],
    function: &Function,
    disturbed: bool,
    cut_short: &[String],
) -> Scene<'s> {
    let wanted = jobs.iter().flat_map(Job::could_restore);
    let kept = savepoints.iter().filter(|s| s.wanted).map(|s| &s.snapshot);
    let held = jobs.iter().flat_map(|j| j.held_by_its_store(store));
    Scene {
        store,
        needs: needs_of(origin, store, jobs, savepoints),
        wanted: wanted.chain(kept).chain(held).collect(),
        seems_wanted: origin
            .as_ref()
            .map_or_else(Vec::new, |o| o.replica.seems_wanted(jobs, store)),
        jobs,
        directories: jobs.len() + savepoints.len(),
        paused: function.is_paused(),
        hindered: !function.may_all() || !store.keeps_versions(),
        disturbed,
        cut_short: cut_short.to_vec(),
    }
}
