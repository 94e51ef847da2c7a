//! A Flink job: what it writes, what it deletes, and which checkpoint it would restore from.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::cleanup::{self, Discarded, Why};
use super::metadata::{Handle, Keyed, Metadata, Path, Subtask};
use crate::clock::{Millis, SECOND};
use crate::dice::Dice;
use crate::scenario::{Claim, JobSpec, Release};
use crate::store::{BUCKET, Hand, Store};

/// Where a file of a checkpoint lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// In the checkpoint's own directory.
    Private,
    /// In `shared/` of some job.
    Shared,
}

/// A file that a checkpoint is made of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct File {
    /// Its key.
    pub key: String,
    /// Its length in bytes, which no other file has.
    pub size: u64,
    /// Where it lies.
    pub place: Place,
    subtask: usize,
}

/// A complete checkpoint or savepoint, as its job remembers it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checkpoint {
    /// Its id.
    pub id: u64,
    /// The key of its `_metadata`.
    pub metadata: String,
    /// The ETag of its `_metadata`.
    pub etag: String,
    metadata_size: u64,
    /// Everything else that it is made of.
    pub files: Vec<File>,
    /// When it was complete.
    pub completed: Millis,
    /// Whether who holds it deletes it when it is subsumed.
    pub owned: bool,
    backends: Vec<String>,
}

impl Checkpoint {
    /// The key prefix of its own directory.
    pub fn directory(&self) -> &str {
        self.metadata.trim_end_matches("_metadata")
    }

    /// Whether every file is visible and is what was written; `_metadata` too, if asked.
    pub fn is_whole(&self, store: &Store, with_metadata: bool) -> bool {
        let file = |f: &File| store.shown(&f.key).is_some_and(|s| s.size == f.size);
        let metadata = || store.shown(&self.metadata).is_some_and(|s| s.etag == self.etag);
        self.files.iter().all(file) && (!with_metadata || metadata())
    }

    /// Whether it names this key, or is it.
    pub fn needs(&self, key: &str) -> bool {
        self.metadata == key || self.files.iter().any(|f| f.key == key)
    }

    /// The length of a key that it needs, in bytes.
    pub fn length_of(&self, key: &str) -> Option<u64> {
        if self.metadata == key {
            return Some(self.metadata_size);
        }
        self.files.iter().find(|f| f.key == key).map(|f| f.size)
    }

    /// The key prefix of its job's directory; of a savepoint its own.
    pub fn job_directory(&self) -> &str {
        let own = self.directory().trim_end_matches('/');
        match own.rfind("/chk-") {
            Some(end) => &own[..=end],
            None => self.directory(),
        }
    }

    /// Whether it goes on with another's files or backends.
    pub fn is_made_from(&self, other: &Self) -> bool {
        self.backends.iter().any(|b| other.backends.contains(b))
            || self.files.iter().any(|f| other.needs(&f.key))
    }

    fn keys(&self, place: Place) -> impl Iterator<Item = &String> {
        let of_place = move |f: &&File| f.place == place;
        self.files.iter().filter(of_place).map(|f| &f.key)
    }
}

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
    /// Whether it waits for files of its newest checkpoint, since a TaskManager died.
    pub stuck: bool,
    /// Whether a JobManager died before it had deleted everything of the last checkpoint.
    pub cut_short: bool,
    claim: Option<Claim>,
    next_id: u64,
    /// What its state is made of now.
    live: Vec<File>,
    backends: Vec<String>,
    retained: VecDeque<Checkpoint>,
    registry: BTreeMap<String, Registered>,
    upload: Option<Upload>,
}

fn hex(dice: &mut Dice, digits: usize) -> String {
    let mut text = String::new();
    while text.len() < digits {
        text.push_str(&format!("{:016x}", dice.any()));
    }
    text.truncate(digits);
    text
}

fn uuid(dice: &mut Dice) -> String {
    let digits = hex(dice, 32);
    let parts = [
        &digits[..8],
        &digits[8..12],
        &digits[12..16],
        &digits[16..20],
        &digits[20..],
    ];
    parts.join("-")
}

impl Job {
    /// A job without any state.
    pub fn new(number: usize, spec: JobSpec, dice: &mut Dice) -> Self {
        Self {
            number,
            directory: format!("cp/{}/", hex(dice, 32)),
            spec,
            incarnation: 0,
            began: 0,
            first_write: None,
            ended: None,
            wanted: true,
            fallback: false,
            stuck: false,
            cut_short: false,
            claim: None,
            next_id: 1,
            live: Vec::new(),
            backends: (0..spec.subtasks.max(1)).map(|_| uuid(dice)).collect(),
            retained: VecDeque::new(),
            registry: BTreeMap::new(),
            upload: None,
        }
    }

    /// A job that begins with what another one left.
    pub fn restored(number: usize, spec: JobSpec, from: &Checkpoint, claim: Claim, dice: &mut Dice) -> Self {
        let mut job = Self::new(number, spec, dice);
        // Up to 1.14 nobody owns what was restored.
        let claim = if spec.release == Release::UpTo114 {
            Claim::Legacy
        } else {
            claim
        };
        job.claim = Some(claim);
        job.next_id = from.id + 1;
        if !from.backends.is_empty() {
            job.backends.clone_from(&from.backends);
        }
        if claim != Claim::NoClaim {
            job.live = from
                .files
                .iter()
                .filter(|f| f.place == Place::Shared)
                .cloned()
                .collect();
        }
        for key in from.keys(Place::Shared) {
            let registered = Registered {
                last_used: from.id,
                deletable: claim == Claim::Claim,
            };
            job.registry.insert(key.clone(), registered);
        }
        let owned = claim == Claim::Claim;
        job.retained.push_back(Checkpoint {
            owned,
            ..from.clone()
        });
        job
    }

    /// The same job id again, without a restore: ids begin again in the same directory.
    pub fn redeployed(number: usize, before: &Self, dice: &mut Dice) -> Self {
        Self {
            directory: before.directory.clone(),
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

    /// Every checkpoint that its owner could still restore it from, the oldest first.
    pub fn could_restore(&self) -> impl Iterator<Item = &Checkpoint> {
        let any = self.runs() || self.wanted || self.fallback;
        self.retained.iter().filter(move |_| any)
    }

    /// Its checkpoints, whether anybody wants them or not.
    pub fn checkpoints(&self) -> impl Iterator<Item = &Checkpoint> {
        self.retained.iter()
    }

    fn private_file(&self, id: u64, subtask: usize, store: &mut Store, dice: &mut Dice) -> File {
        File {
            key: format!("{}chk-{id}/{}", self.directory, uuid(dice)),
            size: store.fresh_size(),
            place: Place::Private,
            subtask,
        }
    }

    /// Begins a checkpoint: its files are written now. Whether it could.
    pub fn begin(&mut self, store: &mut Store, dice: &mut Dice) -> bool {
        if !self.runs() || self.upload.is_some() {
            return false;
        }
        if self.stuck {
            self.stuck = !self
                .retained
                .back()
                .is_none_or(|newest| newest.is_whole(store, false));
            if self.stuck {
                return false;
            }
        }
        let id = self.next_id;
        self.next_id += 1;
        self.first_write.get_or_insert(store.now());
        let by = Hand::Flink(self.number);
        let mut files = Vec::new();
        for subtask in 0..self.spec.subtasks.max(1) {
            let privates = if self.spec.incremental {
                1 + dice.place(2)
            } else {
                1
            };
            for _ in 0..privates {
                files.push(self.private_file(id, subtask, store, dice));
            }
            if self.spec.incremental {
                // Compaction replaces some files by new ones.
                let mut kept = 0;
                self.live.retain(|f| {
                    let stays = f.subtask != subtask || !dice.per_mille(300);
                    kept += usize::from(stays && f.subtask == subtask);
                    stays
                });
                let fresh = if kept == 0 { 1 } else { dice.place(3) };
                for _ in 0..fresh {
                    self.live.push(File {
                        key: format!("{}shared/{}", self.directory, uuid(dice)),
                        size: store.fresh_size(),
                        place: Place::Shared,
                        subtask,
                    });
                }
            }
        }
        for file in files.iter().chain(&self.live) {
            if file.place == Place::Private || !self.registry.contains_key(&file.key) {
                store.put(&file.key, file.size, by);
            }
            if file.place == Place::Shared {
                let new = Registered {
                    last_used: id,
                    deletable: true,
                };
                self.registry.entry(file.key.clone()).or_insert(new).last_used = id;
            }
        }
        files.extend(self.live.iter().cloned());
        self.upload = Some(Upload { id, files });
        true
    }

    fn bytes_of(&self, id: u64, files: &[File]) -> Vec<u8> {
        let own = format!("{}chk-{id}/", self.directory);
        let handle = |f: &'_ File| -> Handle<'static> {
            Handle {
                path: Path::Absolute(format!("s3://{BUCKET}/{}", f.key)),
                size: f.size,
            }
        };
        let subtasks = (0..self.spec.subtasks.max(1)).map(|subtask| {
            let of = |place| {
                files
                    .iter()
                    .filter(move |f| f.subtask == subtask && f.place == place)
            };
            let mut private: Vec<Handle<'_>> = of(Place::Private)
                .map(|f| match f.key.strip_prefix(&own) {
                    Some(name) => Handle {
                        path: Path::Beside(name),
                        size: f.size,
                    },
                    None => handle(f),
                })
                .collect();
            let first = private.remove(0);
            let keyed = if self.spec.incremental {
                Keyed::Incremental {
                    backend: self.backends.get(subtask).map_or("none", String::as_str),
                    meta: first,
                    shared: of(Place::Shared).map(handle).collect(),
                    private,
                }
            } else {
                Keyed::Whole(first)
            };
            Subtask {
                operator_state: None,
                keyed,
            }
        });
        Metadata {
            format: match self.spec.release {
                Release::UpTo114 => 3,
                Release::Of116 => 4,
                Release::From119 | Release::From119Sequential => 5,
            },
            checkpoint_id: i64::try_from(id).unwrap_or(i64::MAX),
            operator: [self.spec.operators; 16],
            retained_on_cancel: self.spec.retained_on_cancel,
            subtasks: subtasks.collect(),
        }
        .bytes()
    }

    /// Completes the checkpoint under way: `_metadata` is written now, older ones are subsumed.
    pub fn complete(&mut self, store: &mut Store, dice: &mut Dice) -> Completed {
        let Some(upload) = self.upload.take().filter(|_| self.runs()) else {
            return Completed::Nothing;
        };
        let metadata = format!("{}chk-{}/_metadata", self.directory, upload.id);
        let by = Hand::Flink(self.number);
        if let Some(there) = store.shown(&metadata) {
            let directory = metadata.trim_end_matches("_metadata");
            let all = store.visible(directory);
            return Completed::TargetExists {
                restored: there.restored.then(|| metadata.clone()),
                deletions: all.into_iter().map(|key| (20, key)).collect(),
            };
        }
        let bytes = self.bytes_of(upload.id, &upload.files);
        let metadata_size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let etag = store.put_bytes(&metadata, bytes, by);
        self.retained.push_back(Checkpoint {
            id: upload.id,
            metadata,
            etag,
            metadata_size,
            files: upload.files,
            completed: store.now(),
            owned: true,
            backends: self.backends.clone(),
        });
        let mut deletions = Vec::new();
        while self.retained.len() > self.spec.retained.max(1) {
            if let Some(subsumed) = self.retained.pop_front() {
                deletions.extend(self.discard(&subsumed, Why::Subsumed, dice));
            }
        }
        Completed::Well(deletions)
    }

    /// The checkpoint under way is complete, but can't be kept: its own files go again at once.
    pub fn fail_to_store(
        &mut self,
        store: &mut Store,
        dice: &mut Dice,
    ) -> (Option<Checkpoint>, Vec<(Millis, String)>) {
        let before = self.retained.clone();
        let Completed::Well(_) = self.complete(store, dice) else {
            return (None, Vec::new());
        };
        let Some(newest) = self.retained.back().cloned() else {
            return (None, Vec::new());
        };
        self.retained = before;
        let what = Discarded {
            metadata: Some(newest.metadata.clone()),
            private: newest.keys(Place::Private).cloned().collect(),
            shared: Vec::new(),
        };
        let mut order = cleanup::order(self.spec.release, Why::Subsumed, what, dice);
        for (at, _) in &mut order {
            *at = (*at).min(SECOND);
        }
        (Some(newest), order)
    }

    /// The checkpoint under way is aborted: its private files go, shared ones stay registered.
    pub fn abort(&mut self, dice: &mut Dice) -> Vec<(Millis, String)> {
        let Some(upload) = self.upload.take() else {
            return Vec::new();
        };
        let private = upload.files.iter().filter(|f| f.place == Place::Private);
        private.map(|f| (dice.between(10, 500), f.key.clone())).collect()
    }

    /// What goes with a checkpoint that is held no more. Shared files go that no retained checkpoint uses.
    fn discard(&mut self, gone: &Checkpoint, why: Why, dice: &mut Dice) -> Vec<(Millis, String)> {
        let mut shared = Vec::new();
        let lowest = self.retained.front().map(|c| c.id);
        let unused: Vec<String> = self
            .registry
            .iter()
            .filter(|(_, r)| lowest.is_none_or(|lowest| r.last_used < lowest))
            .map(|(key, _)| key.clone())
            .collect();
        for key in unused {
            if self.registry.remove(&key).is_some_and(|r| r.deletable) {
                shared.push(key);
            }
        }
        let what = Discarded {
            metadata: gone.owned.then(|| gone.metadata.clone()),
            private: if gone.owned {
                gone.keys(Place::Private).cloned().collect()
            } else {
                Vec::new()
            },
            shared,
        };
        cleanup::order(self.spec.release, why, what, dice)
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
            return Vec::new();
        }
        self.wanted = false;
        let mut deletions = Vec::new();
        while let Some(gone) = self.retained.pop_front() {
            deletions.extend(self.discard(&gone, Why::Ended, dice));
        }
        deletions
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
        self.live = self.retained.back().map_or_else(Vec::new, |c| {
            c.files
                .iter()
                .filter(|f| f.place == Place::Shared)
                .cloned()
                .collect()
        });
    }

    /// A canonical savepoint: all of the state in a directory of its own.
    pub fn savepoint(&mut self, store: &mut Store, dice: &mut Dice) -> Option<Checkpoint> {
        if !self.runs() || self.stuck {
            return None;
        }
        let id = self.next_id;
        self.next_id += 1;
        let job = self.directory.trim_start_matches("cp/");
        let directory = format!("sp/savepoint-{}-{}/", &job[..6], hex(dice, 12));
        let by = Hand::Flink(self.number);
        let files: Vec<File> = (0..self.spec.subtasks.max(1))
            .map(|subtask| File {
                key: format!("{directory}{}", uuid(dice)),
                size: store.fresh_size(),
                place: Place::Private,
                subtask,
            })
            .collect();
        for file in &files {
            store.put(&file.key, file.size, by);
        }
        let subtasks = files.iter().map(|f| Subtask {
            operator_state: None,
            keyed: Keyed::Whole(Handle {
                path: Path::Beside(&f.key[directory.len()..]),
                size: f.size,
            }),
        });
        let bytes = Metadata {
            format: 4,
            checkpoint_id: i64::try_from(id).unwrap_or(i64::MAX),
            operator: [self.spec.operators; 16],
            retained_on_cancel: self.spec.retained_on_cancel,
            subtasks: subtasks.collect(),
        }
        .bytes();
        let metadata = format!("{directory}_metadata");
        let metadata_size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let etag = store.put_bytes(&metadata, bytes, by);
        Some(Checkpoint {
            id,
            metadata,
            etag,
            metadata_size,
            files,
            completed: store.now(),
            owned: true,
            backends: Vec::new(),
        })
    }
}

/// What `flink savepoint -d` deletes, and when.
pub(crate) fn dispose(savepoint: &Checkpoint, release: Release, dice: &mut Dice) -> Vec<(Millis, String)> {
    let what = Discarded {
        metadata: Some(savepoint.metadata.clone()),
        private: savepoint.keys(Place::Private).cloned().collect(),
        shared: Vec::new(),
    };
    cleanup::order(release, Why::Ended, what, dice)
}
