//! One step of a scenario.

use super::replication::flinks;
use super::{How, Later, MOST, Run};
use crate::actors::people::{self, Savepoint};
use crate::actors::{Checkpoint, Job};
use crate::clock::{DAY, Millis};
use crate::dice::Dice;
use crate::scenario::{Act, Change, Claim, Layout, Somebody, Step};
use crate::store::Hand;
use crate::trace::Lane;

impl Run<'_> {
    pub(super) fn step(&mut self, step: &Step) {
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
                if let Some(snapshot) =
                    taken.and_then(|j| j.savepoint(flinks(&mut self.origin, &mut self.store), &mut dice))
                {
                    self.note(Lane::Job(job % jobs), || {
                        format!("savepoint {}", snapshot.directory())
                    });
                    self.learn(&snapshot);
                    self.savepoints.push(Savepoint {
                        snapshot,
                        wanted: true,
                    });
                }
            }
            Act::Dispose { savepoint } => self.dispose(savepoint, &mut dice),
            Act::Restore { job, claim } => self.restore(job % jobs, claim, None, &mut dice),
            Act::Redeploy { job } => {
                let number = self.jobs.len();
                // Nobody deploys the same job beside itself.
                let runs_there = |d: &str| self.jobs.iter().any(|j| j.runs() && j.directory == d);
                let is_free = self
                    .jobs
                    .get(job % jobs)
                    .is_some_and(|j| !runs_there(&j.directory));
                let Some(old) = self.jobs.get_mut(job % jobs).filter(|j| is_free && !j.runs()) else {
                    return;
                };
                if number >= MOST {
                    return;
                }
                let mut new = Job::redeployed(number, old, &mut dice);
                new.began = now;
                // Of all runs in that directory the owner goes on with the new one.
                for old in self.jobs.iter_mut().filter(|j| j.directory == new.directory) {
                    old.wanted = false;
                    old.fallback = true;
                }
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
                let reads = flinks(&mut self.origin, &mut self.store);
                if jobs >= MOST || !s.wanted || !s.snapshot.is_whole(reads, true) {
                    return;
                }
                // Who claims it deletes it some day.
                let claims = spec.release.claim(claim) == Claim::Claim;
                s.wanted = !claims || spec.layout == Layout::Changelog;
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
                for function in [&mut self.function].into_iter().chain(&mut self.second) {
                    function.pause(on);
                }
                if !on {
                    self.oracle.ledger.resumed_at = now;
                }
                self.note(Lane::People, || format!("pauses restoring: {on}"));
            }
            Act::Sweep => self.sweep(),
            Act::Rescale { job, claim, subtasks } => {
                self.restore(job % jobs, claim, Some(subtasks), &mut dice);
            }
            Act::Deny { what, on } => {
                self.note(Lane::People, || {
                    format!("takes permission for {what:?} from the function: {on}")
                });
                for function in [&mut self.function].into_iter().chain(&mut self.second) {
                    function.deny(what, on);
                }
                if self.function.may_all() {
                    self.oracle.ledger.resumed_at = now;
                }
                self.happened("permissions taken or given back");
            }
            Act::Versioning { on } => {
                self.note(Lane::People, || format!("sets versioning: {on}"));
                self.store.keep_versions(on);
                self.oracle.ledger.keeps_versions(on, now);
                self.happened("times that versioning was suspended or enabled");
            }
            Act::Deploy { change } => {
                self.note(Lane::People, || format!("deploys the function again: {change:?}"));
                for function in [&mut self.function].into_iter().chain(&mut self.second) {
                    function.deploy(change);
                }
                self.oracle.deployed(change, now);
                self.happened(match change {
                    Change::Checkpoints(false) => "deployments without a root for checkpoints",
                    Change::AnothersRole => "deployments that name another's role",
                    _ => "deployments with other settings",
                });
            }
            Act::Wait => {}
        }
        self.send();
    }

    /// Of a job that ended long ago, so that nobody could take it for one that runs.
    pub(super) fn delete_on_purpose(&mut self, job: usize, dice: &mut Dice) {
        let now = self.now();
        let Some(j) = self.jobs.get(job) else { return };
        let (spec, directory) = (j.spec, j.directory.clone());
        let is_shared = spec.zero_id;
        // Every run that was ever deployed there: its owner doesn't delete under one that goes on, or that somebody would come back to.
        let there = || self.jobs.iter().filter(|j| j.directory == directory);
        let mut completed: Vec<Millis> = there().flat_map(Job::checkpoints).map(|c| c.completed).collect();
        // What its job had deleted, and came back since that was taken for a stranger or since somebody else had deleted it before, looks as if it were in use.
        let ledger = &self.oracle.ledger;
        let came_back = |c: &&Checkpoint| {
            ledger.discarded_and_back.contains(&c.metadata) || self.store.is_visible(&c.metadata)
        };
        let of_directory = ledger.all().filter(|c| c.job_directory() == directory);
        completed.extend(of_directory.filter(came_back).map(|c| c.completed));
        completed.sort_unstable();
        let newest = completed.last().copied().unwrap_or(0);
        // With checkpoints weeks apart nobody can tell for months whether it runs.
        let interval = match completed.as_slice() {
            [.., before, newest] => newest - before,
            _ => 0,
        };
        let age = now - newest;
        let ended = there().all(|j| j.ended.is_some_and(|e| now - e.at > 2 * DAY));
        let long_ago = ended && age > 30 * DAY && age > 10 * interval;
        // Nor does anybody who sees pointers in its HA store: what that names runs as soon as a JobManager does.
        let is_held = there().any(|j| j.spec.readable_pointers && !self.store.visible(&j.store()).is_empty());
        if !long_ago || is_shared || is_held {
            return;
        }
        // Of entropy the owner knows, and deletes what lies elsewhere too.
        let all: Vec<String> = there()
            .flat_map(Job::checkpoints)
            .flat_map(|c| c.files.iter().map(|f| &f.key).chain([&c.metadata]))
            .filter(|k| k.contains(&directory))
            .cloned()
            .collect();
        // Of what others hid before, this deletion leaves no mark.
        for key in &all {
            if !self.store.is_visible(key) {
                self.store.note_meant_to_go(key);
            }
        }
        for j in self.jobs.iter_mut().filter(|j| j.directory == directory) {
            j.wanted = false;
            j.fallback = false;
        }
        let mut keys = self.store.visible(&directory);
        if spec.entropy {
            keys.extend(
                all.into_iter()
                    .filter(|k| self.store.is_visible(k) && !k.ends_with("/_metadata")),
            );
        }
        self.oracle.ledger.deleted_on_purpose(&directory, now, keys.len());
        self.note(Lane::People, || {
            format!("deletes {directory} on purpose: {} keys", keys.len())
        });
        self.disturbed |= !keys.is_empty();
        self.people_delete(keys, Hand::Person, dice);
    }

    pub(super) fn people_delete(&mut self, keys: Vec<String>, by: Hand, dice: &mut Dice) {
        let mut at = self.now();
        for key in keys {
            self.later(at, Later::PersonDeletes { key, by });
            at += dice.between(0, 300);
        }
    }
}
