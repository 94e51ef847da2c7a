//! A Flink job: what it writes, what it deletes, and which checkpoint it would restore from.

mod checkpointing;
mod savepoint;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::checkpoint::{Checkpoint, File, Place};
use super::cleanup::Why;
use super::layout::ZERO_ID;
use super::names::{hex, uuid};
use super::sink::{self, Sink, SinkStates};
use crate::clock::Millis;
use crate::dice::Dice;
use crate::scenario::{Claim, JobSpec, Layout};
use crate::store::Store;
pub(crate) use savepoint::dispose;

/// How a job ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ended {
    /// When.
    pub at: Millis,
    /// Whether its checkpoints were to be deleted.
    pub discarded: bool,
}

/// What the shared registry knows of a file.
#[derive(Clone, Copy, Debug)]
struct Registered {
    last_used: u64,
    deletable: bool,
}

/// A checkpoint under way.
#[derive(Clone, Debug)]
struct Upload {
    id: u64,
    files: Vec<File>,
    sink_states: SinkStates,
    sinks: Vec<Sink>,
}

/// What came of completing a checkpoint.
pub enum Completed {
    /// It is complete; these go later.
    Well(Vec<(Millis, String)>),
    /// Something is visible at its `_metadata`; Flink fails the checkpoint and deletes its directory.
    TargetExists {
        /// Its key, if the guard put that there.
        restored: Option<String>,
        /// What goes later.
        deletions: Vec<(Millis, String)>,
    },
    /// There was none under way.
    Nothing,
}

/// A job.
pub struct Job {
    /// Its number.
    pub number: usize,
    /// The key prefix of its directory.
    pub directory: String,
    /// How it was configured.
    pub spec: JobSpec,
    /// Changes with each JobManager; what an older one had planned isn't done.
    pub incarnation: u32,
    /// When it first wrote anything into its directory.
    pub first_write: Option<Millis>,
    /// How it ended; `None`: it runs.
    pub ended: Option<Ended>,
    /// When it was started.
    pub began: Millis,
    /// Whether the owner would start it again from its newest checkpoint.
    pub wanted: bool,
    /// Whether the owner would fall back on it, though the job goes on elsewhere.
    pub fallback: bool,
    /// The `_metadata` of the checkpoint that another job was restored from and owns now: that job deletes it, and nobody falls back on it.
    pub given_away: Option<String>,
    /// Whether it waits for files of its newest checkpoint, since a TaskManager died.
    pub stuck: bool,
    /// Whether a JobManager died before it had deleted everything of the last checkpoint.
    pub cut_short: bool,
    claim: Option<Claim>,
    first_id: u64,
    next_id: u64,
    /// What its state is made of now.
    live: Vec<File>,
    backends: Vec<String>,
    retained: VecDeque<Checkpoint>,
    registry: BTreeMap<String, Registered>,
    upload: Option<Upload>,
    sinks: Vec<Sink>,
}

/// Whose files a subtask has after a restore with another parallelism: those of every old subtask whose key groups it has some of.
fn rescaled<'f>(files: impl Iterator<Item = &'f File>, before: usize, after: usize) -> Vec<File> {
    let mut live = Vec::new();
    for file in files {
        for subtask in 0..after {
            // Shares of all key groups, as fractions with the same denominator.
            let (from, to) = (file.subtask * after, (file.subtask + 1) * after);
            if subtask * before < to && (subtask + 1) * before > from {
                live.push(File {
                    subtask,
                    ..file.clone()
                });
            }
        }
    }
    live
}

impl Job {
    /// A job without any state.
    pub fn new(number: usize, spec: JobSpec, dice: &mut Dice) -> Self {
        let directory = format!(
            "cp/{}/",
            if spec.zero_id {
                ZERO_ID.to_owned()
            } else {
                hex(dice, 32)
            }
        );
        // Jobs that share a directory have been running for different times, or they would be at each other's throats.
        let first_id = if spec.zero_id {
            1 + 1000 * u64::try_from(number).unwrap_or(0)
        } else {
            1
        };
        Self {
            number,
            directory,
            spec,
            incarnation: 0,
            began: 0,
            first_write: None,
            ended: None,
            wanted: true,
            fallback: false,
            given_away: None,
            stuck: false,
            cut_short: false,
            claim: None,
            next_id: first_id,
            first_id,
            live: Vec::new(),
            backends: (0..spec.subtasks.max(1)).map(|_| uuid(dice)).collect(),
            retained: VecDeque::new(),
            registry: BTreeMap::new(),
            upload: None,
            sinks: sink::new(spec),
        }
    }

    /// A job that begins with what another one left.
    pub fn restored(number: usize, spec: JobSpec, from: &Checkpoint, claim: Claim, dice: &mut Dice) -> Self {
        let mut job = Self::new(number, spec, dice);
        let claim = spec.release.claim(claim);
        job.claim = Some(claim);
        job.next_id = from.id + 1;
        job.sinks = sink::restored(&from.sinks, spec);
        // Who rescales makes new backends of several old ones.
        if !from.backends.is_empty() && from.subtasks() == spec.subtasks.max(1) {
            job.backends.clone_from(&from.backends);
        }
        // With file merging and ForSt a job begins with copies.
        let in_place = matches!(spec.layout, Layout::Plain | Layout::Changelog);
        if claim != Claim::NoClaim && in_place {
            job.live = job.live_of(from);
        }
        for key in from.keys(Place::Shared) {
            let registered = Registered {
                last_used: from.id,
                deletable: claim == Claim::Claim,
            };
            job.registry.insert(key.clone(), registered);
        }
        // Since 1.16 one of a changelog stays for good, as long as its files are in use.
        let owned = claim == Claim::Claim && spec.layout != Layout::Changelog;
        job.retained.push_back(Checkpoint {
            owned,
            ..from.without_pointer()
        });
        job
    }

    /// What its state is made of after a restore.
    fn live_of(&self, from: &Checkpoint) -> Vec<File> {
        let shared = from.files.iter().filter(|f| f.place == Place::Shared);
        rescaled(shared, from.subtasks(), self.spec.subtasks.max(1))
    }

    /// The same job id again, without a restore: ids begin again in the same directory.
    pub fn redeployed(number: usize, before: &Self, dice: &mut Dice) -> Self {
        Self {
            directory: before.directory.clone(),
            first_id: before.first_id,
            next_id: before.first_id,
            ..Self::new(number, before.spec, dice)
        }
    }

    /// Whether it runs.
    pub fn runs(&self) -> bool {
        self.ended.is_none()
    }

    /// The checkpoint that it would restore from; `None`: nobody would.
    pub fn would_restore(&self) -> Option<&Checkpoint> {
        if self.runs() || self.wanted {
            self.retained.back()
        } else {
            None
        }
    }

    /// Whether it works with a file that no checkpoint names yet.
    pub fn works_with(&self, key: &str) -> bool {
        let under_way = self.upload.iter().flat_map(|u| &u.files);
        self.runs() && under_way.chain(&self.live).any(|f| f.key == key)
    }

    /// Every checkpoint that its owner could still restore it from, the oldest first.
    pub fn could_restore(&self) -> impl Iterator<Item = &Checkpoint> {
        let any = self.runs() || self.wanted || self.fallback;
        let is_given_away = |c: &Checkpoint| self.given_away.as_ref() == Some(&c.metadata);
        self.retained.iter().filter(move |c| any && !is_given_away(c))
    }

    /// The checkpoints that its HA store has pointers to: a JobManager that begins there restores from them, whatever the owner had in mind.
    pub fn held_by_its_store<'j>(&'j self, store: &'j Store) -> impl Iterator<Item = &'j Checkpoint> {
        let reads = self.spec.readable_pointers;
        let is_held = move |c: &&Checkpoint| c.keys(Place::Pointer).any(|key| store.is_visible(key));
        let held = self.retained.iter().filter(move |_| reads).filter(is_held);
        held.filter(|c| self.given_away.as_ref() != Some(&c.metadata))
    }

    /// Its checkpoints, whether anybody wants them or not.
    pub fn checkpoints(&self) -> impl Iterator<Item = &Checkpoint> {
        self.retained.iter()
    }

    /// The job ends; `discards`: what it retained is deleted.
    pub fn end(&mut self, now: Millis, discards: bool, dice: &mut Dice) -> Vec<(Millis, String)> {
        if !self.runs() {
            return Vec::new();
        }
        self.upload = None;
        self.ended = Some(Ended {
            at: now,
            discarded: discards,
        });
        if !discards {
            // What the HA store has goes in any case.
            return self.forget_pointers();
        }
        self.wanted = false;
        let mut deletions = Vec::new();
        while let Some(gone) = self.retained.pop_front() {
            deletions.extend(self.discard(&gone, Why::Ended, dice));
        }
        deletions
    }

    fn forget_pointers(&mut self) -> Vec<(Millis, String)> {
        let mut gone = Vec::new();
        for checkpoint in &mut self.retained {
            gone.extend(checkpoint.keys(Place::Pointer).map(|key| (5, key.clone())));
            *checkpoint = checkpoint.without_pointer();
        }
        gone
    }

    /// The JobManager dies. With HA another one takes over; without, the owner comes back to the newest checkpoint some day. What the dead one
    /// hadn't deleted yet stays.
    pub fn kill(&mut self, now: Millis, ha: bool) {
        self.incarnation += 1;
        self.upload = None;
        if let Some(ended) = self.ended {
            self.cut_short |= ended.discarded;
            return;
        }
        if !ha {
            self.ended = Some(Ended {
                at: now,
                discarded: false,
            });
            return;
        }
        // What the recovered checkpoints share is only owned by who claimed it.
        if self.claim != Some(Claim::Claim) {
            let named: BTreeSet<&String> = self.retained.iter().flat_map(|c| c.keys(Place::Shared)).collect();
            for (key, registered) in &mut self.registry {
                registered.deletable &= !named.contains(key);
            }
        }
        self.live = self.retained.back().map_or_else(Vec::new, |c| self.live_of(c));
        self.sinks = self.sinks_of_newest();
    }

    /// The sinks as they go on from the newest checkpoint.
    fn sinks_of_newest(&self) -> Vec<Sink> {
        let newest = self.retained.back();
        newest.map_or_else(|| sink::new(self.spec), |c| sink::restored(&c.sinks, self.spec))
    }
}
