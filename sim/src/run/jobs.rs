//! What jobs do, and what follows from it.

use super::replication::flinks;
use super::{How, Later, MOST, Run};
use crate::actors::{Checkpoint, Completed, Job, dispose};
use crate::clock::{MINUTE, Millis, SECOND};
use crate::dice::Dice;
use crate::oracle::{NO_JOB_FAILS, Violation};
use crate::scenario::{Claim, JobSpec, Layout, Writer};
use crate::trace::Lane;

impl Run<'_> {
    pub(super) fn plan(&mut self, job: usize, deletions: Vec<(Millis, String)>) {
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

    /// S3 throttles the clean-up of what the job was restored from and owned, and Flink's pool tries again some minutes later: longer than a settle delay,
    /// shorter than the guard looks at what may be a discard.
    fn throttled_sometimes(&self, job: usize, mut deletions: Vec<(Millis, String)>) -> Vec<(Millis, String)> {
        let mut dice = Dice::for_purpose(self.scenario.seed, 2_000_000 + self.number);
        let newest = self.jobs.get(job).and_then(|j| j.checkpoints().last());
        let Some(newest) = newest.filter(|_| dice.per_mille(self.scenario.world.throttled)) else {
            return deletions;
        };
        deletions.sort();
        let of_another = |key: &str| key.ends_with("/_metadata") && !key.starts_with(newest.job_directory());
        let Some(metadata) = deletions.iter().position(|(_, key)| of_another(key)) else {
            return deletions;
        };
        let directory = deletions[metadata].1.trim_end_matches("_metadata");
        let first = deletions.iter().position(|(_, key)| key.starts_with(directory));
        let first = first.unwrap_or(metadata);
        let from = if directory.contains("/savepoint-") {
            // Some of its files, and not `_metadata`.
            first + usize::from(first < metadata) + dice.place(metadata - first)
        } else {
            // Shared files alone. That it was claimed must be seen: who was rescaled began with other backends.
            let of_jobs = self.jobs.iter().flat_map(Job::checkpoints);
            let mut claimed = of_jobs.filter(|c| c.directory() == directory);
            if !claimed.any(|c| newest.is_made_from(c)) {
                return deletions;
            }
            first
        };
        let wait = dice.between(6 * MINUTE, 11 * MINUTE);
        if from > 0 {
            for (at, _) in deletions.iter_mut().skip(from) {
                *at += wait;
            }
        }
        deletions
    }

    pub(super) fn complete(&mut self, job: usize, incarnation: u32, how: How, dice: u64) {
        let mut dice = Dice::for_purpose(dice, 2);
        let Some(j) = self.jobs.get_mut(job).filter(|j| j.incarnation == incarnation) else {
            return;
        };
        let deletions = match how {
            How::Aborted => j.abort(&mut dice),
            How::NotStored => {
                let (complete, deletions) =
                    j.fail_to_store(flinks(&mut self.origin, &mut self.store), &mut dice);
                if let Some(complete) = complete {
                    self.learn(&complete);
                }
                deletions
            }
            How::Well => match j.complete(flinks(&mut self.origin, &mut self.store), &mut dice) {
                Completed::Well(deletions) => {
                    if let Some(newest) = self.jobs[job].checkpoints().last().cloned() {
                        self.learn(&newest);
                    }
                    deletions
                }
                Completed::TargetExists { restored, deletions } => {
                    // What stood there before the run wrote anything, it would have met without us too.
                    let first_write = self.jobs[job].first_write.unwrap_or(0);
                    let after = |key: &String| self.oracle.ledger.restored_after(key, first_write);
                    // Nor does anybody see a run whose checkpoints so far are all hidden: what stood when it began comes back as if nobody had hidden it.
                    let unseen = |at: Millis| {
                        let hidden = |c: &Checkpoint| {
                            let hiding = self.store.hiding(&c.metadata);
                            let hiding = hiding.or_else(|| self.store.came_back_after(&c.metadata));
                            c.completed > at || hiding.is_some_and(|h| h.at <= at)
                        };
                        self.jobs[job].checkpoints().all(hidden)
                    };
                    let stood = |key: &String| {
                        let hiding = self.store.came_back_after(key);
                        let restored = self.oracle.ledger.restored_before(key, self.now());
                        hiding.is_some_and(|h| h.at > self.jobs[job].began) && restored.is_some_and(unseen)
                    };
                    if let Some(key) = restored.filter(after).filter(|key| !stood(key)) {
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
        let deletions = match how {
            How::Well => self.throttled_sometimes(job, deletions),
            How::Aborted | How::NotStored => deletions,
        };
        self.plan(job, deletions);
    }

    pub(super) fn begin(&mut self, job: usize, how: How, dice: u64) {
        let mut throws = Dice::for_purpose(dice, 1);
        let Some(j) = self.jobs.get_mut(job) else { return };
        if !j.begin(flinks(&mut self.origin, &mut self.store), &mut throws) {
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

    pub(super) fn end_job(&mut self, job: usize, discards: bool, dice: &mut Dice) {
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

    pub(super) fn dispose(&mut self, savepoint: usize, dice: &mut Dice) {
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

    pub(super) fn start(&mut self, spec: JobSpec, from: &Checkpoint, claim: Claim, dice: &mut Dice) {
        let number = self.jobs.len();
        let mut job = Job::restored(number, spec, from, claim, dice);
        job.began = self.now();
        self.count_job(spec);
        self.note(Lane::Job(number), || {
            format!("is restored from {} with {claim:?}", from.metadata)
        });
        self.jobs.push(job);
    }

    /// An ended job is started again as a new one; `subtasks`: with another parallelism.
    pub(super) fn restore(&mut self, job: usize, claim: Claim, subtasks: Option<usize>, dice: &mut Dice) {
        let started = self.jobs.len();
        let Some(old) = self.jobs.get_mut(job) else {
            return;
        };
        let from = old.would_restore().filter(|_| old.ended.is_some()).cloned();
        let mut spec = old.spec;
        let reads = flinks(&mut self.origin, &mut self.store);
        let Some(from) = from.filter(|f| started < MOST && f.is_whole(reads, true)) else {
            return;
        };
        old.wanted = false;
        // What nobody deleted stands, and its owner could fall back on it.
        old.fallback = true;
        // With a changelog nobody deletes it as long as its files are in use.
        let owns = old.spec.release.claim(claim) == Claim::Claim && old.spec.layout != Layout::Changelog;
        old.given_away = owns.then(|| from.metadata.clone());
        if let Some(subtasks) = subtasks.filter(|s| *s != spec.subtasks) {
            spec.subtasks = subtasks;
            self.happened("jobs restored with another parallelism");
        }
        self.start(spec, &from, claim, dice);
    }

    /// Counts what kind of job runs.
    pub(super) fn count_job(&mut self, spec: JobSpec) {
        match spec.layout {
            Layout::Plain => {}
            Layout::Merged => self.happened("jobs with file merging"),
            Layout::Changelog => self.happened("jobs with a changelog"),
            Layout::ForSt => self.happened("jobs with ForSt"),
        }
        for (is, what) in [
            (spec.zero_id, "jobs in a directory of several"),
            (spec.entropy, "jobs with entropy"),
            (spec.ha, "jobs with an HA store"),
            (spec.sink.is_some(), "jobs with a file sink"),
            (
                spec.sink.is_some_and(|s| s.writer == Writer::Native),
                "jobs with a native sink",
            ),
        ] {
            if is {
                self.happened(what);
            }
        }
    }
}
