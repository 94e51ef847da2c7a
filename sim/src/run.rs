//! Playing a scenario: steps, what follows from them, messages, sweeps, and the oracle in between.

use std::collections::{BTreeMap, BTreeSet};

use s3_model::Model;
use stayput_core::timestamp::Timestamp;

use crate::actors::people::{self, Savepoint};
use crate::actors::rules::{self, Due};
use crate::actors::{Completed, Job, dispose};
use crate::clock::{BEGINNING, DAY, HOUR, MINUTE, Millis, SECOND, midnight};
use crate::dice::Dice;
use crate::function::{Called, Function};
use crate::oracle::{NO_JOB_FAILS, Oracle, Scene, Violation, needs};
use crate::scenario::{Act, Scenario, Somebody, Step};
use crate::store::{Event, Hand, Happened, Store};
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
    /// The most requests in one call, for one message or snapshot.
    pub requests: f64,
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
    function: Function,
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
        function: Function::new(&model, &scenario.world),
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
        violated: BTreeSet::new(),
        bucket: String::new(),
    };
    for spec in &scenario.world.jobs {
        let mut dice = Dice::for_purpose(scenario.seed, 100 + run.jobs.len() as u64);
        let mut job = Job::new(run.jobs.len(), *spec, &mut dice);
        job.began = BEGINNING;
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
        run.step(step);
        run.played.steps += 1;
    }
    run.end();
    let ledger = &mut run.oracle.ledger;
    run.played.copies = ledger.copies;
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
        for need in needs(&self.jobs, &self.savepoints) {
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
                    self.store.delete_as_flink(&key, job);
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
                self.note(Lane::Rules, || format!("expires {key}"));
                self.disturbed = true;
                self.store.expire(&key);
            }
            Later::RuleActs(Due::Purge(key, version)) => {
                self.note(Lane::Rules, || format!("removes version {version} of {key}"));
                self.store.purge(&key, &version, Hand::Rule);
            }
            Later::Poll => self.poll(),
            Later::Sweep => {
                self.sweep();
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

    /// Sends the events that nobody has sent yet.
    fn send(&mut self) {
        let delivery = self.scenario.world.delivery;
        for event in self.store.take_events() {
            if let Happened::Hidden(_) = event.what {
                self.later(event.at + 72 * MINUTE, Later::Check);
                self.sent.push(event.clone());
                self.played.events += 1;
            }
            let mut dice = Dice::for_purpose(self.scenario.seed, 1_000_000 + event.number);
            if dice.per_mille(delivery.lost) {
                continue;
            }
            let copies = 1 + usize::from(dice.per_mille(delivery.doubled));
            for _ in 0..copies {
                let delay = if dice.per_mille(delivery.late) {
                    dice.between(10 * MINUTE, 6 * HOUR)
                } else {
                    dice.between(200, delivery.delay.max(300))
                };
                let at = event.at + delay;
                if self.function.send(&event, at) {
                    self.poll_at(at);
                }
            }
        }
    }

    fn poll_at(&mut self, at: Millis) {
        // Messages of the same seconds are taken together.
        let at = (at / SECOND + 1) * SECOND;
        let again = self
            .agenda
            .range((at, 0)..(at + 1, 0))
            .any(|(_, what)| matches!(what, Later::Poll));
        if !again {
            self.later(at, Later::Poll);
        }
    }

    /// A deletion that is planned for the next seconds and happens while the function is at work instead.
    fn race(&mut self) -> Option<(String, Hand)> {
        if !self.dice.per_mille(self.scenario.world.faults.racing) {
            return None;
        }
        let soon = self.now() + 30 * SECOND;
        let place = self
            .agenda
            .range(..(soon, 0))
            .find_map(|(place, what)| match what {
                Later::FlinkDeletes {
                    job,
                    incarnation,
                    key,
                } if self.jobs.get(*job).is_some_and(|j| j.incarnation == *incarnation) => {
                    Some((*place, key.clone(), Hand::Flink(*job)))
                }
                Later::PersonDeletes { key, by } => Some((*place, key.clone(), *by)),
                _ => None,
            });
        let (place, key, by) = place?;
        self.agenda.remove(&place);
        Some((key, by))
    }

    fn poll(&mut self) {
        let race = self.race();
        let now = self.now();
        let mut key = race.as_ref().map(|(key, _)| key.clone());
        let mut raced = false;
        while let Some(called) = self.function.take_batch(now, &mut self.dice, key.take()) {
            raced |= !called.meanwhile.is_empty();
            self.called(&called, race.as_ref().map(|(_, by)| *by));
        }
        // The call was over sooner, or there was none: it happens all the same.
        if let Some((key, by)) = race.filter(|_| !raced) {
            self.store.delete(&key, by);
        }
        if let Some(next) = self.function.next_visible() {
            self.poll_at(next.max(now));
        }
    }

    fn sweep(&mut self) {
        let called = self.function.sweep(&mut self.dice);
        self.called(&called, None);
    }

    fn called(&mut self, called: &Called, race: Option<Hand>) {
        self.played.calls += 1;
        for (key, marker, visible) in &called.meanwhile {
            if let Some(by) = race {
                self.note(Lane::People, || {
                    format!("{by:?} deletes {key} while the function is at work")
                });
                self.store.note_hidden(key, marker, by, *visible);
            }
        }
        for (key, _) in &called.copied {
            if self.store.is_visible(key) {
                self.store.note_restored(key);
            }
        }
        self.played.trace.note_call(self.store.now(), called);
        let work = called.messages + self.jobs.len() + self.savepoints.len() + called.said.len();
        #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
        let requests = called.requests as f64 / (work + 1) as f64;
        self.played.requests = self.played.requests.max(requests);
        let scene = scene(
            &self.store,
            &self.jobs,
            &self.savepoints,
            &self.function,
            self.disturbed,
            &self.cut_short,
        );
        let found = self.oracle.look_at_call(&scene, called);
        self.violations(found);
    }

    fn check(&mut self) {
        let scene = scene(
            &self.store,
            &self.jobs,
            &self.savepoints,
            &self.function,
            self.disturbed,
            &self.cut_short,
        );
        let found = self.oracle.look_at_needs(&scene);
        self.violations(found);
    }

    fn plan(&mut self, job: usize, deletions: Vec<(Millis, String)>) {
        let (now, incarnation) = (self.now(), self.jobs[job].incarnation);
        for (after, key) in deletions {
            self.later(
                now + after,
                Later::FlinkDeletes {
                    job,
                    incarnation,
                    key,
                },
            );
        }
    }

    fn complete(&mut self, job: usize, incarnation: u32, how: How, dice: u64) {
        let mut dice = Dice::for_purpose(dice, 2);
        let Some(j) = self.jobs.get_mut(job).filter(|j| j.incarnation == incarnation) else {
            return;
        };
        let deletions = match how {
            How::Aborted => j.abort(&mut dice),
            How::NotStored => {
                let (complete, deletions) = j.fail_to_store(&mut self.store, &mut dice);
                if let Some(complete) = complete {
                    self.oracle.ledger.learn(&complete);
                }
                deletions
            }
            How::Well => match j.complete(&mut self.store, &mut dice) {
                Completed::Well(deletions) => {
                    if let Some(newest) = self.jobs[job].checkpoints().last() {
                        self.oracle.ledger.learn(newest);
                    }
                    deletions
                }
                Completed::TargetExists { restored, deletions } => {
                    // What stood there before the run wrote anything, it would have met without us too.
                    let first_write = self.jobs[job].first_write.unwrap_or(0);
                    let after = |key: &String| self.oracle.ledger.restored_after(key, first_write);
                    if let Some(key) = restored.filter(after) {
                        let what = format!("job {job} met {key}, which the guard had put there meanwhile");
                        let violation = Violation {
                            invariant: NO_JOB_FAILS,
                            at: self.now(),
                            what,
                        };
                        self.violations(vec![violation]);
                    }
                    deletions
                }
                Completed::Nothing => Vec::new(),
            },
        };
        self.note(Lane::Job(job), || match how {
            How::Well => format!("completes a checkpoint; {} deletions follow", deletions.len()),
            How::Aborted => format!("aborts a checkpoint; {} deletions follow", deletions.len()),
            How::NotStored => format!("can't store a checkpoint; {} deletions follow", deletions.len()),
        });
        self.plan(job, deletions);
    }

    fn step(&mut self, step: &Step) {
        let mut dice = Dice::for_purpose(step.dice, 0);
        let jobs = self.jobs.len().max(1);
        let now = self.now();
        match step.act {
            Act::Checkpoint { job } => self.begin(job % jobs, How::Well, step.dice),
            Act::Abort { job } => self.begin(job % jobs, How::Aborted, step.dice),
            Act::FailedStore { job } => self.begin(job % jobs, How::NotStored, step.dice),
            Act::Cancel { job } | Act::Fail { job } => {
                let discards = self
                    .jobs
                    .get(job % jobs)
                    .is_some_and(|j| !j.spec.retained_on_cancel);
                self.end_job(job % jobs, discards, &mut dice);
            }
            Act::Finish { job } => self.end_job(job % jobs, true, &mut dice),
            Act::KillJobManager { job, ha } => {
                let job = job % jobs;
                // What was to be deleted and isn't.
                let cut_short: Vec<String> = self
                    .agenda
                    .values()
                    .filter_map(|later| match later {
                        Later::FlinkDeletes { job: j, key, .. } if *j == job => {
                            let end = key.rfind('/').map_or(0, |at| at + 1);
                            Some(key[..end].to_owned())
                        }
                        _ => None,
                    })
                    .collect();
                if let Some(j) = self.jobs.get_mut(job) {
                    j.kill(now, ha);
                    self.cut_short.extend(cut_short);
                    self.note(Lane::Job(job), || format!("its JobManager dies; HA: {ha}"));
                }
            }
            Act::Failover { job } => {
                if let Some(j) = self.jobs.get_mut(job % jobs) {
                    j.stuck = j.runs();
                    self.note(Lane::Job(job % jobs), || "a TaskManager dies".to_owned());
                }
            }
            Act::Savepoint { job } => {
                let taken = self
                    .jobs
                    .get_mut(job % jobs)
                    .filter(|_| self.savepoints.len() < MOST);
                if let Some(snapshot) = taken.and_then(|j| j.savepoint(&mut self.store, &mut dice)) {
                    self.note(Lane::Job(job % jobs), || {
                        format!("savepoint {}", snapshot.directory())
                    });
                    self.oracle.ledger.learn(&snapshot);
                    self.savepoints.push(Savepoint {
                        snapshot,
                        wanted: true,
                    });
                }
            }
            Act::Dispose { savepoint } => self.dispose(savepoint, &mut dice),
            Act::Restore { job, claim } => {
                let Some(old) = self.jobs.get_mut(job % jobs) else {
                    return;
                };
                let from = old.would_restore().filter(|_| old.ended.is_some()).cloned();
                let spec = old.spec;
                let Some(from) = from.filter(|f| jobs < MOST && f.is_whole(&self.store, true)) else {
                    return;
                };
                old.wanted = false;
                // What nobody deleted stands, and its owner could fall back on it.
                old.fallback = true;
                self.start(spec, &from, claim, &mut dice);
            }
            Act::Redeploy { job } => {
                let number = self.jobs.len();
                let Some(old) = self.jobs.get_mut(job % jobs).filter(|j| !j.runs()) else {
                    return;
                };
                if number >= MOST {
                    return;
                }
                old.wanted = false;
                old.fallback = true;
                let mut new = Job::redeployed(number, old, &mut dice);
                new.began = now;
                self.note(Lane::Job(number), || {
                    format!("is deployed again in {}", new.directory)
                });
                self.jobs.push(new);
            }
            Act::RestoreSavepoint {
                savepoint,
                claim,
                of_job,
            } => {
                let Some(spec) = self.jobs.get(of_job % jobs).map(|j| j.spec) else {
                    return;
                };
                let n = savepoint % self.savepoints.len().max(1);
                let Some(s) = self.savepoints.get_mut(n) else {
                    return;
                };
                if jobs >= MOST || !s.wanted || !s.snapshot.is_whole(&self.store, true) {
                    return;
                }
                // Who claims it deletes it some day.
                s.wanted = claim != crate::scenario::Claim::Claim;
                let from = s.snapshot.clone();
                self.start(spec, &from, claim, &mut dice);
            }
            Act::DeleteOnPurpose { job } => self.delete_on_purpose(job % jobs, &mut dice),
            Act::Delete { what, by } => {
                let keys = people::aimed_at(what, &self.jobs, &self.savepoints, &self.store, &mut dice);
                let by = match by {
                    Somebody::Person => Hand::Person,
                    Somebody::WithFlinksRole => Hand::PersonWithFlinksRole,
                };
                self.note(Lane::People, || {
                    format!("{by:?} lays hands on {what:?}: {} keys", keys.len())
                });
                self.disturbed |= !keys.is_empty();
                self.people_delete(keys, by, &mut dice);
            }
            Act::Touch { what } | Act::Truncate { what } => {
                let half = matches!(step.act, Act::Truncate { .. });
                for key in people::aimed_at(what, &self.jobs, &self.savepoints, &self.store, &mut dice) {
                    self.note(Lane::People, || format!("writes over {key}; half of it: {half}"));
                    self.disturbed = true;
                    self.store.rewrite(&key, half, Hand::Person);
                }
            }
            Act::ColdStart => self.function.cold_start(&mut dice),
            Act::Pause { on } => {
                self.function.pause(on);
                if !on {
                    self.oracle.ledger.resumed_at = now;
                }
                self.note(Lane::People, || format!("pauses restoring: {on}"));
            }
            Act::Sweep => self.sweep(),
            Act::Wait => {}
        }
        self.send();
    }

    fn begin(&mut self, job: usize, how: How, dice: u64) {
        let mut throws = Dice::for_purpose(dice, 1);
        let Some(j) = self.jobs.get_mut(job) else { return };
        if !j.begin(&mut self.store, &mut throws) {
            return;
        }
        let incarnation = j.incarnation;
        self.note(Lane::Job(job), || "begins a checkpoint".to_owned());
        let at = self.now() + throws.between(200, 20 * SECOND);
        self.later(
            at,
            Later::Completes {
                job,
                incarnation,
                how,
                dice,
            },
        );
    }

    fn end_job(&mut self, job: usize, discards: bool, dice: &mut Dice) {
        let now = self.now();
        let Some(j) = self.jobs.get_mut(job).filter(|j| j.runs()) else {
            return;
        };
        let deletions = j.end(now, discards, dice);
        self.note(Lane::Job(job), || {
            format!("ends; its checkpoints are deleted: {discards}")
        });
        self.plan(job, deletions);
    }

    fn dispose(&mut self, savepoint: usize, dice: &mut Dice) {
        let n = savepoint % self.savepoints.len().max(1);
        let Some(s) = self.savepoints.get_mut(n).filter(|s| s.wanted) else {
            return;
        };
        s.wanted = false;
        let directory = s.snapshot.directory().to_owned();
        let Some(release) = self.jobs.first().map(|j| j.spec.release) else {
            return;
        };
        let deletions = dispose(&s.snapshot, release, dice);
        self.note(Lane::Job(0), || format!("disposes of {directory}"));
        self.plan(0, deletions);
    }

    fn start(
        &mut self,
        spec: crate::scenario::JobSpec,
        from: &crate::actors::Checkpoint,
        claim: crate::scenario::Claim,
        dice: &mut Dice,
    ) {
        let number = self.jobs.len();
        let mut job = Job::restored(number, spec, from, claim, dice);
        job.began = self.now();
        self.note(Lane::Job(number), || {
            format!("is restored from {} with {claim:?}", from.metadata)
        });
        self.jobs.push(job);
    }

    /// Of a job that ended long ago, so that nobody could take it for one that runs.
    fn delete_on_purpose(&mut self, job: usize, dice: &mut Dice) {
        let now = self.now();
        let Some(j) = self.jobs.get_mut(job) else { return };
        let completed: Vec<Millis> = j.checkpoints().map(|c| c.completed).collect();
        let newest = completed.last().copied().unwrap_or(0);
        // With checkpoints weeks apart nobody can tell for months whether it runs.
        let interval = match completed.as_slice() {
            [.., before, newest] => newest - before,
            _ => 0,
        };
        let age = now - newest;
        let long_ago = j.ended.is_some_and(|e| now - e.at > 2 * DAY) && age > 30 * DAY && age > 10 * interval;
        if !long_ago {
            return;
        }
        j.wanted = false;
        j.fallback = false;
        let directory = j.directory.clone();
        let keys = self.store.visible(&directory);
        self.oracle.ledger.deleted_on_purpose(&directory, now);
        self.note(Lane::People, || {
            format!("deletes {directory} on purpose: {} keys", keys.len())
        });
        self.disturbed |= !keys.is_empty();
        self.people_delete(keys, Hand::Person, dice);
    }

    fn people_delete(&mut self, keys: Vec<String>, by: Hand, dice: &mut Dice) {
        let mut at = self.now();
        for key in keys {
            self.later(at, Later::PersonDeletes { key, by });
            at += dice.between(0, 300);
        }
    }

    /// Nothing more is done; the function gets the time that it is allowed, and sweeps.
    fn end(&mut self) {
        let quiet = self.now() + 80 * MINUTE;
        self.until(quiet);
        self.check();
        if self.function.is_paused() {
            self.function.pause(false);
            self.oracle.ledger.resumed_at = self.now();
        }
        let after = self.now() + 10 * MINUTE;
        self.until(after + 66 * MINUTE);
        for _ in 0..4 {
            self.sweep();
            let next = self.now() + 10 * MINUTE;
            self.until(next);
        }
        self.check();
    }
}

fn scene<'s>(
    store: &'s Store,
    jobs: &'s [Job],
    savepoints: &'s [Savepoint],
    function: &Function,
    disturbed: bool,
    cut_short: &[String],
) -> Scene<'s> {
    let wanted = jobs.iter().flat_map(Job::could_restore);
    let kept = savepoints.iter().filter(|s| s.wanted).map(|s| &s.snapshot);
    Scene {
        store,
        needs: needs(jobs, savepoints),
        wanted: wanted.chain(kept).collect(),
        paused: function.is_paused(),
        disturbed,
        cut_short: cut_short.to_vec(),
    }
}
