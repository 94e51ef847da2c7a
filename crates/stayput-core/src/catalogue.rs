//! All snapshots under all roots that were found, and who refers to what.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::cause::Cause;
use crate::class::{Class, FAILED_STORE_WITHIN, Group, Moment, class_of_savepoint, forms_a_group};
use crate::extent::Extent;
use crate::layout::{self, METADATA_FILE, Place};
use crate::location::ObjectLocation;
use crate::metadata::is_below;
use crate::reference_index::{IndexFull, ObjectNo, ReferenceIndex, SnapshotNo};
use crate::snapshot::{Contents, HiddenBy, JobDirectory, Snapshot, SnapshotKind, Unreadable};
use crate::timestamp::Timestamp;

/// A snapshot's place in the catalogue; stays valid until the snapshot is removed or read again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SnapshotId(u32);

/// What is known of one job directory besides its snapshots.
#[derive(Clone, Debug, Default)]
pub struct JobRecord {
    /// Its snapshots.
    pub snapshots: Vec<SnapshotId>,
    /// Ids of `chk-M/` directories without `_metadata` at the last listing.
    pub unfinished: Vec<u64>,
    /// When it was last listed; `None`: never to its end.
    pub listed_at: Option<Timestamp>,
}

/// All snapshots that were found.
#[derive(Default)]
pub struct Catalogue {
    snapshots: BTreeMap<SnapshotId, Snapshot>,
    by_metadata: BTreeMap<ObjectLocation, SnapshotId>,
    jobs: BTreeMap<JobDirectory, JobRecord>,
    /// Snapshots that name whole directories: every key is held against these, so they are kept apart.
    naming_directories: BTreeSet<SnapshotId>,
    /// Snapshots that can't be read, likewise.
    unreadable: BTreeSet<SnapshotId>,
    /// Tails of sinks, which no handle names, of those whose sinks were read.
    tails: BTreeMap<SnapshotId, SnapshotNo>,
    /// The references of those that were read.
    pub index: ReferenceIndex,
    next: u32,
}

/// How a snapshot names a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Naming {
    /// The key is its `_metadata`.
    ItsMetadata,
    /// A handle names the object.
    Exact {
        /// In the snapshot's own directory.
        exclusive: bool,
    },
    /// The state of a sink names it: the bytes after the last full part of a file in progress.
    Tail,
    /// A handle names a directory above it (tag 17): file merging.
    Directory,
    /// Nobody names the key, but a relative handle names an object of this file name in a place where none ever was (FLINK-39964).
    ByName {
        /// The object that the handle means.
        means: ObjectNo,
    },
    /// ForSt's live database of a job whose head is older than the file: no `_metadata` names it yet.
    LiveDatabase,
}

impl Naming {
    /// Directory references, live databases and tails of sinks count only where neither Flink nor nobody known deleted the key:
    /// TaskManagers delete such files while the directory is still named, and a sink deletes the tail of the checkpoint before.
    pub fn counts_against_flink(self) -> bool {
        matches!(self, Self::ItsMetadata | Self::Exact { .. } | Self::ByName { .. })
    }
}

/// A snapshot that names a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Referral {
    /// Which one.
    pub snapshot: SnapshotId,
    /// How.
    pub naming: Naming,
}

impl Catalogue {
    /// An empty catalogue.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a snapshot, in place of the one with the same `_metadata` key, if any.
    pub fn insert(&mut self, snapshot: Snapshot) -> SnapshotId {
        self.remove(&snapshot.metadata);
        let id = SnapshotId(self.next);
        self.next = self.next.wrapping_add(1);
        match &snapshot.contents {
            Contents::Read(facts) if facts.directories.is_empty() => {}
            Contents::Read(_) => {
                self.naming_directories.insert(id);
            }
            Contents::Unreadable { .. } => {
                self.unreadable.insert(id);
            }
        }
        self.by_metadata.insert(snapshot.metadata.clone(), id);
        self.jobs
            .entry(snapshot.job.clone())
            .or_default()
            .snapshots
            .push(id);
        self.snapshots.insert(id, snapshot);
        id
    }

    /// Enters exact references of a snapshot that was read to its end; the number goes into its [`Facts`](crate::snapshot::Facts).
    pub fn enter_references<'r>(
        &mut self,
        references: impl IntoIterator<Item = (&'r ObjectLocation, Extent)>,
    ) -> Result<SnapshotNo, IndexFull> {
        self.index.add(references)
    }

    /// The tails that the sinks of a snapshot name, as far as they were entered.
    pub fn tails_of(&self, id: SnapshotId) -> impl Iterator<Item = ObjectNo> {
        self.tails
            .get(&id)
            .into_iter()
            .flat_map(|tails| self.index.objects_of(*tails))
    }

    /// Enters the tails that the sinks of a snapshot name, in place of those that were entered before.
    ///
    /// # Errors
    /// The index is full.
    pub fn enter_tails<'r>(
        &mut self,
        snapshot: SnapshotId,
        tails: impl IntoIterator<Item = (&'r ObjectLocation, Extent)>,
    ) -> Result<(), IndexFull> {
        let number = self.index.add(tails)?;
        if let Some(before) = self.tails.insert(snapshot, number) {
            self.index.remove(before);
        }
        Ok(())
    }

    /// Forgets the snapshot with this `_metadata` key.
    pub fn remove(&mut self, metadata: &ObjectLocation) {
        let Some(id) = self.by_metadata.remove(metadata) else {
            return;
        };
        self.naming_directories.remove(&id);
        self.unreadable.remove(&id);
        if let Some(tails) = self.tails.remove(&id) {
            self.index.remove(tails);
        }
        if let Some(old) = self.snapshots.remove(&id) {
            if let Contents::Read(facts) = &old.contents {
                self.index.remove(facts.references);
            }
            if let Some(job) = self.jobs.get_mut(&old.job) {
                job.snapshots.retain(|s| *s != id);
            }
        }
    }

    /// The snapshot with this number.
    pub fn get(&self, id: SnapshotId) -> Option<&Snapshot> {
        self.snapshots.get(&id)
    }

    /// The snapshot with this number, to note that it was hidden, pinned or seen again.
    pub fn get_mut(&mut self, id: SnapshotId) -> Option<&mut Snapshot> {
        self.snapshots.get_mut(&id)
    }

    /// The snapshot whose `_metadata` lies here.
    pub fn at(&self, metadata: &ObjectLocation) -> Option<SnapshotId> {
        self.by_metadata.get(metadata).copied()
    }

    /// All snapshots.
    pub fn iter(&self) -> impl Iterator<Item = (SnapshotId, &Snapshot)> {
        self.snapshots.iter().map(|(id, s)| (*id, s))
    }

    /// All job directories.
    pub fn jobs(&self) -> impl Iterator<Item = (&JobDirectory, &JobRecord)> {
        self.jobs.iter()
    }

    /// What is known of a job directory.
    pub fn job(&self, job: &JobDirectory) -> Option<&JobRecord> {
        self.jobs.get(job)
    }

    /// The record of a job directory, made if it is new.
    pub fn job_mut(&mut self, job: &JobDirectory) -> &mut JobRecord {
        self.jobs.entry(job.clone()).or_default()
    }

    /// The oldest listing that a statement over all jobs rests on; `None` if one was never listed to its end, or there are none.
    pub fn oldest_listing(&self) -> Option<Timestamp> {
        self.jobs.values().map(|j| j.listed_at).min().flatten()
    }

    /// Everybody who names a key. `plain_key` is the key with entropy taken out.
    pub fn namings(&self, location: &ObjectLocation, plain_key: &str) -> Vec<Referral> {
        let mut found = Vec::new();
        if plain_key.ends_with(METADATA_FILE)
            && let Some(snapshot) = self.at(location)
        {
            found.push(Referral {
                snapshot,
                naming: Naming::ItsMetadata,
            });
        }
        if let Some(object) = self.index.find(location) {
            for (snapshot, s) in self.iter() {
                if s.facts().is_some_and(|f| self.index.names(f.references, object)) {
                    let exclusive = s.owns(location.bucket(), plain_key);
                    found.push(Referral {
                        snapshot,
                        naming: Naming::Exact { exclusive },
                    });
                }
            }
            for (snapshot, tails) in &self.tails {
                let known = found.iter().any(|n| n.snapshot == *snapshot);
                if !known && self.index.names(*tails, object) {
                    found.push(Referral {
                        snapshot: *snapshot,
                        naming: Naming::Tail,
                    });
                }
            }
        }
        for snapshot in &self.naming_directories {
            let known = found.iter().any(|n| n.snapshot == *snapshot);
            let named = self
                .get(*snapshot)
                .and_then(Snapshot::facts)
                .is_some_and(|facts| facts.directories.iter().any(|d| is_below(location, plain_key, d)));
            if named && !known {
                found.push(Referral {
                    snapshot: *snapshot,
                    naming: Naming::Directory,
                });
            }
        }
        if layout::is_forst_database(plain_key) {
            self.by_live_database(location, plain_key, &mut found);
        }
        if found.is_empty() {
            self.by_name(location, &mut found);
        }
        found
    }

    fn by_live_database(&self, location: &ObjectLocation, plain_key: &str, found: &mut Vec<Referral>) {
        let Some(prefix) = Place::of(plain_key).job() else {
            return;
        };
        let job = JobDirectory {
            bucket: location.bucket().to_owned(),
            prefix: prefix.to_owned(),
        };
        for snapshot in self.jobs.get(&job).into_iter().flat_map(|j| &j.snapshots) {
            let known = found.iter().any(|n| n.snapshot == *snapshot);
            if !known && self.get(*snapshot).is_some_and(forms_a_group) {
                found.push(Referral {
                    snapshot: *snapshot,
                    naming: Naming::LiveDatabase,
                });
            }
        }
    }

    fn by_name(&self, location: &ObjectLocation, found: &mut Vec<Referral>) {
        for means in self.index.find_by_name(location.file_name()) {
            let there = self.index.location(means);
            for (snapshot, s) in self.iter() {
                let named = s.facts().is_some_and(|f| self.index.names(f.references, means));
                if named && s.directory() == there.directory() && s.metadata.bucket() == there.bucket() {
                    found.push(Referral {
                        snapshot,
                        naming: Naming::ByName { means },
                    });
                }
            }
        }
    }

    /// Snapshots that can't be read and that could name this key: in whose directory it lies, or whose partial reading
    /// names it, or whose job directory it lies in, or under whose job's id, as the log of a changelog does elsewhere; unless a readable newer head
    /// stands beside them.
    pub fn unreadable_near(&self, location: &ObjectLocation, plain_key: &str) -> Vec<SnapshotId> {
        let job = Place::of(plain_key).job();
        self.unreadable
            .iter()
            .copied()
            .filter(|id| {
                let Some(s) = self.get(*id) else { return false };
                let Contents::Unreadable { names_at_least, .. } = &s.contents else {
                    return false;
                };
                // A `_metadata` is named by no other.
                let may_name = || {
                    s.owns(location.bucket(), plain_key)
                        || names_at_least.contains(location)
                        || (s.job.bucket == location.bucket() && job == Some(s.job.prefix.as_str()))
                        || lies_under_its_id(plain_key, &s.job)
                };
                let near = s.metadata == *location || location.file_name() != METADATA_FILE && may_name();
                near && !self.readable_newer_head_beside(s)
            })
            .collect()
    }

    /// Snapshots that Flink could read and nobody here can, and that somebody may come back to: which tails their sinks need nobody knows, and the key of a tail
    /// tells no job.
    pub fn unreadable_heads(
        &self,
        now: Timestamp,
        dormant_after: Duration,
    ) -> impl Iterator<Item = SnapshotId> {
        self.unreadable.iter().copied().filter(move |id| {
            let contents = self.get(*id).map(|s| &s.contents);
            let is_damaged = matches!(
                contents,
                Some(Contents::Unreadable {
                    why: Unreadable::Damaged(_),
                    ..
                })
            );
            !is_damaged && self.class(*id, Moment::Of(now), dormant_after) >= Class::Resting
        })
    }

    /// Whether the job has gone on from a snapshot that can't be read. In a directory of several jobs nobody knows whose it is.
    fn readable_newer_head_beside(&self, unreadable: &Snapshot) -> bool {
        // What a rule or a stranger hid is what the job comes back from all the same, once it is back.
        let is_wanted = |s: &Snapshot| {
            let hidden = s.hidden.as_ref();
            hidden.is_none_or(|h| !h.cause.is_flink_or_unknown())
        };
        !may_be_anothers(unreadable)
            && self
                .newer_beside(unreadable)
                .any(|s| forms_a_group(s) && is_wanted(s))
    }

    /// Whether the head is another one that nobody here may read either: nothing says that it is damaged, so nobody is restored from this one.
    fn denied_newer_head_beside(&self, unreadable: &Snapshot) -> bool {
        let is_denied = |s: &Snapshot| {
            matches!(
                s.contents,
                Contents::Unreadable {
                    why: Unreadable::Denied,
                    ..
                }
            )
        };
        let was_stored = |s: &Snapshot| {
            let hidden = s.hidden.as_ref();
            hidden.is_none_or(|h| h.at.since(s.written) > FAILED_STORE_WITHIN)
        };
        self.newer_beside(unreadable)
            .any(|s| is_denied(s) && was_stored(s))
    }

    /// When a newer checkpoint of the same job was hidden that may be one which Flink couldn't store, at `since` or later: who hid it nobody known said yet, and
    /// until then it is the newest.
    pub fn newer_was_hidden_unheard(&self, id: SnapshotId, since: Timestamp) -> Option<Timestamp> {
        let snapshot = self.get(id).filter(|s| forms_a_group(s))?;
        let operators = |s: &Snapshot| s.facts().map(|f| f.operators.clone());
        self.newer_beside(snapshot)
            .filter(|s| operators(s) == operators(snapshot))
            .filter_map(|s| s.hidden.as_ref().map(|hidden| (s, hidden)))
            .filter(|(s, hidden)| {
                hidden.cause == Cause::Unknown && hidden.at.since(s.written) <= FAILED_STORE_WITHIN
            })
            .map(|(_, hidden)| hidden.at)
            .filter(|at| *at >= since)
            .max()
    }

    /// Checkpoints of the same directory with a higher id that were written later.
    fn newer_beside<'c>(&'c self, snapshot: &'c Snapshot) -> impl Iterator<Item = &'c Snapshot> {
        let beside = self
            .jobs
            .get(&snapshot.job)
            .into_iter()
            .flat_map(|j| &j.snapshots);
        beside
            .filter_map(|id| self.get(*id))
            .filter(|s| s.written >= snapshot.written && s.directory_id() > snapshot.directory_id())
    }

    /// The class of a snapshot at a moment. An unreadable checkpoint counts as a head by age, since nobody can know better, unless a
    /// newer one lies beside it that is readable and stands, or that may not be read either.
    pub fn class(&self, id: SnapshotId, moment: Moment, dormant_after: Duration) -> Class {
        let Some(snapshot) = self.get(id) else {
            return Class::Spare;
        };
        if snapshot.kind == SnapshotKind::Savepoint {
            return class_of_savepoint(snapshot, moment, dormant_after);
        }
        if !forms_a_group(snapshot) {
            let by_age = class_of_savepoint(snapshot, moment, dormant_after);
            let overtaken = by_age < Class::Running
                && (self.readable_newer_head_beside(snapshot) || self.denied_newer_head_beside(snapshot));
            return if overtaken { Class::Spare } else { by_age };
        }
        let (group, subject) = self.group(id, snapshot);
        group.class(subject, moment, dormant_after)
    }

    /// The group of a checkpoint and its place in it.
    fn group<'c>(&'c self, id: SnapshotId, snapshot: &'c Snapshot) -> (Group<'c>, usize) {
        let record = self.jobs.get(&snapshot.job);
        let mut members = Vec::new();
        let mut claimed = Vec::new();
        let mut unreadable = Vec::new();
        let mut subject = 0;
        for other in record.map(|r| r.snapshots.as_slice()).unwrap_or_default() {
            let Some(s) = self.get(*other) else { continue };
            if *other == id {
                subject = members.len();
            }
            if forms_a_group(s) {
                if s.facts().map(|f| &f.operators) == snapshot.facts().map(|f| &f.operators) {
                    // Whether somebody claimed it matters only for those that Flink hid soon after writing.
                    let taken_over =
                        |hidden: &HiddenBy| self.claimed_until(*other, Some(hidden.at)).is_some();
                    claimed.push(s.hidden.as_ref().is_some_and(taken_over));
                    members.push(s);
                }
            } else if matches!(s.kind, SnapshotKind::Checkpoint { .. }) && !may_be_anothers(s) {
                unreadable.push(s);
            }
        }
        let unfinished = record.map(|r| r.unfinished.as_slice()).unwrap_or_default();
        (
            Group {
                members,
                claimed,
                unfinished,
                unreadable,
            },
            subject,
        )
    }

    /// The heads of the group of a checkpoint now: for people, and to say when ids and times disagree.
    pub fn heads_beside(&self, id: SnapshotId, now: Timestamp) -> (Option<SnapshotId>, Option<SnapshotId>) {
        let Some(snapshot) = self.get(id).filter(|s| forms_a_group(s)) else {
            return (None, None);
        };
        let (group, subject) = self.group(id, snapshot);
        let heads = group.heads(Moment::Of(now), subject);
        let of = |n: Option<usize>| n.and_then(|n| self.at(&group.members[n].metadata));
        (of(heads.by_id), of(heads.by_time))
    }

    /// The checkpoint of another job directory, written later, that took this snapshot over: it names a file that this one
    /// names in its own job directory, or carries one of its keyed backend ids.
    ///
    /// Only checkpoints claim: a savepoint never deletes anything. And the job that a savepoint was taken from carries
    /// its backend ids without having claimed it (the directory name holds the job id's first six digits).
    pub fn claimed_by(&self, id: SnapshotId) -> Option<SnapshotId> {
        self.claimed_until(id, None)
    }

    /// The same, by a checkpoint that was complete until then: a job deletes what it claimed only after a checkpoint of its own. What was hidden
    /// before was hidden by its own job, which couldn't store it.
    fn claimed_until(&self, id: SnapshotId, until: Option<Timestamp>) -> Option<SnapshotId> {
        let snapshot = self.get(id)?;
        let facts = snapshot.facts()?;
        self.iter()
            .filter(|(_, other)| {
                other.job != snapshot.job
                    && other.written > snapshot.written
                    && until.is_none_or(|until| other.written <= until)
                    && matches!(other.kind, SnapshotKind::Checkpoint { .. })
            })
            .find(|(_, other)| {
                let Some(theirs) = other.facts() else { return false };
                let same_backend = !taken_from(snapshot, &other.job)
                    && theirs
                        .backends
                        .iter()
                        .any(|b| facts.backends.binary_search(b).is_ok());
                same_backend
                    || self
                        .index
                        .shared_by(facts.references, theirs.references)
                        .into_iter()
                        .any(|object| {
                            let location = self.index.location(object);
                            location.bucket() == snapshot.job.bucket
                                && location.key().starts_with(&snapshot.job.prefix)
                        })
            })
            .map(|(id, _)| id)
    }

    /// A snapshot elsewhere that is newer, has the same operators and a higher id: the job may have moved there. A savepoint of its own is no such sign.
    pub fn moved_to(&self, id: SnapshotId) -> Option<SnapshotId> {
        let snapshot = self.get(id)?;
        let facts = snapshot.facts()?;
        self.iter()
            .find(|(_, other)| {
                other.job != snapshot.job
                    && other.hidden.is_none()
                    && !(other.kind == SnapshotKind::Savepoint && taken_from(other, &snapshot.job))
                    && other.written > snapshot.written
                    && other.facts().is_some_and(|f| {
                        f.operators == facts.operators && f.checkpoint_id > facts.checkpoint_id
                    })
            })
            .map(|(id, _)| id)
    }

    /// Whether another visible snapshot names the object exactly.
    pub fn named_by_another_visible(&self, id: SnapshotId, object: ObjectNo) -> bool {
        self.iter().any(|(other, s)| {
            other != id
                && s.hidden.is_none()
                && s.facts().is_some_and(|f| self.index.names(f.references, object))
        })
    }
}

/// Whether a checkpoint that can't be read may be another job's than those in its directory that can: what tells jobs there apart, their operators, isn't known. From
/// what is damaged nobody restores, whosever it is.
fn may_be_anothers(unreadable: &Snapshot) -> bool {
    let is_damaged = matches!(
        unreadable.contents,
        Contents::Unreadable {
            why: Unreadable::Damaged(_),
            ..
        }
    );
    !is_damaged && layout::may_hold_several_jobs(&unreadable.job.prefix)
}

/// Whether a savepoint's directory name says that it was taken from the job of this directory.
fn taken_from(savepoint: &Snapshot, job: &JobDirectory) -> bool {
    let last = |prefix: &str| {
        prefix
            .trim_end_matches('/')
            .rsplit('/')
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let job_id = last(&job.prefix);
    last(savepoint.directory())
        .strip_prefix("savepoint-")
        .and_then(|rest| rest.split('-').next().map(str::to_owned))
        .is_some_and(|start| !start.is_empty() && layout::is_job_id(&job_id) && job_id.starts_with(&start))
}

/// Whether a directory of the key is named by the job's id.
fn lies_under_its_id(plain_key: &str, job: &JobDirectory) -> bool {
    let id = job.prefix.trim_end_matches('/').rsplit('/').next();
    id.is_some_and(|id| layout::is_job_id(id) && plain_key.split('/').any(|part| part == id))
}
