//! What a snapshot has lost: its `_metadata`, its own files, shared ones; as a whole or in part.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::catalogue::{Catalogue, SnapshotId};
use crate::cause::Cause;
use crate::class::Moment;
use crate::extent::Extent;
use crate::location::ObjectLocation;
use crate::reference_index::ObjectNo;
use crate::timestamp::Timestamp;
use crate::version::{KeyHistory, VersionEntry};

/// A deletion is whole only if all markers lie so close to that of `_metadata`.
pub const WHOLE_WITHIN: Duration = Duration::from_secs(3600);

/// The `_metadata` of a snapshot, as it was just seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MetadataState {
    /// Visible.
    Stands,
    /// Hidden by the marker directly above its data version.
    Hidden {
        /// That marker's Last-Modified.
        at: Timestamp,
        /// Who put it there.
        cause: Cause,
    },
    /// Neither version nor marker, or no version that parses: it can't come back.
    Gone,
}

/// One object that a snapshot names exactly and that isn't visible.
#[derive(Clone, Debug)]
pub struct MissingObject {
    /// Which one.
    pub object: ObjectNo,
    /// Where.
    pub location: ObjectLocation,
    /// Whether it lies in the snapshot's own directory.
    pub exclusive: bool,
    /// Its versions and markers.
    pub history: KeyHistory,
    /// Who put the marker directly above its data version there.
    pub cause: Cause,
    /// Whether one of the messages at hand tells of its deletion: no verdict has answered it yet.
    pub told: bool,
}

/// What happened in the job directory after `_metadata` was hidden, or in its own after it was complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DirectoryUse {
    /// No new object under any other `chk-M/`.
    Quiet,
    /// New objects under a higher id: the same run lives.
    SameRun {
        /// That id.
        id: u64,
        /// Whether a checkpoint of a higher id is complete; otherwise it is under way, or was aborted.
        complete: bool,
    },
    /// New objects under a lower id, or beside the complete `_metadata`: a new run.
    NewRun {
        /// That id.
        id: u64,
    },
}

/// What a snapshot has lost, as decisions need it.
#[derive(Clone, Debug)]
pub struct Loss {
    /// Its `_metadata`.
    pub metadata: MetadataState,
    /// `_metadata` and everything in its own directory that it names went within an hour; where it names nothing there, everything in its job's
    /// directory that no other visible snapshot names; where there is nothing either, everything that no other visible snapshot names.
    pub whole: bool,
    /// Private files are gone by Flink's hand or nobody's known.
    pub exclusive_missing_by_flink: bool,
    /// Everything it names that isn't visible.
    pub missing: Vec<MissingObject>,
    /// The newest marker among the missing.
    pub newest_marker: Option<Timestamp>,
    /// The oldest marker among those that no verdict has answered.
    pub oldest_unanswered: Option<Timestamp>,
    /// What happened in its job directory since.
    pub directory_use: DirectoryUse,
    first_own_marker: Option<Timestamp>,
}

impl Loss {
    /// Puts together what was seen of a snapshot. `missing` must be everything it names exactly that isn't visible.
    pub fn of(
        catalogue: &Catalogue,
        id: SnapshotId,
        metadata: MetadataState,
        missing: Vec<MissingObject>,
        directory_use: DirectoryUse,
    ) -> Self {
        let hidden_at = match &metadata {
            MetadataState::Hidden { at, .. } => Some(*at),
            MetadataState::Stands | MetadataState::Gone => None,
        };
        // What a rule takes at midnight is no part of what a person deleted just before.
        let by_a_stranger = matches!(
            metadata,
            MetadataState::Hidden {
                cause: Cause::Foreign(_),
                ..
            }
        );
        let near = |m: &MissingObject| match (hidden_at, marker_time(&m.history)) {
            (_, Some(_)) if by_a_stranger && m.cause == Cause::Lifecycle => false,
            (Some(at), Some(marker)) => marker.since(at) <= WHOLE_WITHIN && at.since(marker) <= WHOLE_WITHIN,
            // Purged with its marker: gone, whenever that was.
            (_, None) => true,
            (None, Some(_)) => false,
        };
        let whole = hidden_at.is_some_and(|at| whole(catalogue, id, &missing, at, near));
        let first_own_marker = hidden_at.map(|at| {
            missing
                .iter()
                .filter(|m| near(m))
                .filter_map(|m| marker_time(&m.history))
                .chain([at])
                .min()
                .unwrap_or(at)
        });
        let newest = |m: &MissingObject| newest_marker(&m.history);
        Self {
            whole,
            exclusive_missing_by_flink: missing
                .iter()
                .any(|m| m.exclusive && m.cause.is_flink_or_unknown()),
            newest_marker: missing.iter().filter_map(newest).chain(hidden_at).max(),
            oldest_unanswered: oldest_unanswered(&missing),
            metadata,
            missing,
            directory_use,
            first_own_marker,
        }
    }

    /// The messages at hand tell of these deletions: of what was seen before it was known which.
    pub fn answers(&mut self, told: &BTreeSet<ObjectLocation>) {
        for m in &mut self.missing {
            m.told = told.contains(&m.location);
        }
        self.oldest_unanswered = oldest_unanswered(&self.missing);
    }

    /// Nothing is missing.
    pub fn none() -> Self {
        Self {
            metadata: MetadataState::Stands,
            whole: false,
            exclusive_missing_by_flink: false,
            missing: Vec::new(),
            newest_marker: None,
            oldest_unanswered: None,
            directory_use: DirectoryUse::Quiet,
            first_own_marker: None,
        }
    }

    /// The moment whose class counts for a key with this marker: before its own deletion if the snapshot is hidden itself; else the key's marker,
    /// or the look, if the snapshot was `written` only after the key had been hidden. A job that goes on writes checkpoints that name the
    /// missing file all the same, and a lifecycle rule dates its marker hours back, to midnight.
    pub fn moment(&self, key_marker: Timestamp, written: Timestamp, now: Timestamp) -> Moment {
        match self.first_own_marker {
            // A file that was hidden before the snapshot was complete doesn't put its class back to a time before there was one.
            Some(first) => Moment::BeforeItsOwn(first.max(written)),
            None if written > key_marker => Moment::Of(now),
            None => Moment::Of(key_marker),
        }
    }

    /// The cause that counts for a key: that of `_metadata`, if Flink or nobody known hid it (then the snapshot isn't wanted),
    /// or if the deletion was whole; else the key's own.
    pub fn cause_for<'a>(&'a self, key_cause: &'a Cause) -> &'a Cause {
        match &self.metadata {
            MetadataState::Hidden { cause, .. } if self.whole || cause.is_flink_or_unknown() => cause,
            _ => key_cause,
        }
    }

    /// Whether lifecycle rules alone took what is missing, and every file can come back under a `_metadata` that stands.
    pub fn is_mendable(&self, catalogue: &Catalogue) -> bool {
        self.metadata == MetadataState::Stands
            && !self.missing.is_empty()
            && self.missing.iter().all(|m| m.cause == Cause::Lifecycle)
            && self.irrecoverable(catalogue).next().is_none()
    }

    /// Missing objects of which no version is left that fits the handles.
    pub fn irrecoverable<'a>(&'a self, catalogue: &'a Catalogue) -> impl Iterator<Item = &'a MissingObject> {
        self.missing
            .iter()
            .filter(move |m| fitting(&m.history, &catalogue.index.extents(m.object)).is_none())
    }
}

fn whole(
    catalogue: &Catalogue,
    id: SnapshotId,
    missing: &[MissingObject],
    hidden_at: Timestamp,
    near: impl Fn(&MissingObject) -> bool,
) -> bool {
    let Some(snapshot) = catalogue.get(id) else {
        return false;
    };
    let Some(facts) = snapshot.facts() else {
        return false;
    };
    // What Flink or nobody known had taken before can't go with the rest.
    let went_before = |m: &MissingObject| {
        m.cause.is_flink_or_unknown() && marker_time(&m.history).is_some_and(|marker| marker < hidden_at)
    };
    let gone = |object: ObjectNo| {
        missing
            .iter()
            .any(|m| m.object == object && (near(m) || went_before(m)))
    };
    // Own files are told by the directory; with entropy, by what the caller found (`exclusive`), or by path.
    let missing_own = missing.iter().filter(|m| m.exclusive).count();
    let standing_own = catalogue
        .index
        .objects_of(facts.references)
        .filter(|o| !missing.iter().any(|m| m.object == *o))
        .any(|o| is_own(snapshot.directory(), &catalogue.index.location(o)));
    if standing_own {
        return false;
    }
    if missing_own > 0 {
        return missing
            .iter()
            .filter(|m| m.exclusive)
            .all(|m| near(m) || went_before(m));
    }
    // It has no file of its own: those of its job's directory go with it; a changelog's log, which lies elsewhere, needn't.
    let others_dont_name = |o: &ObjectNo| !catalogue.named_by_another_visible(id, *o);
    let named: Vec<ObjectNo> = catalogue
        .index
        .objects_of(facts.references)
        .filter(others_dont_name)
        .collect();
    let of_the_job = |o: &ObjectNo| lies_in_job(&snapshot.job.prefix, &catalogue.index.location(*o));
    let in_job: Vec<ObjectNo> = named.iter().copied().filter(of_the_job).collect();
    let counted = if in_job.is_empty() { named } else { in_job };
    counted.into_iter().all(gone)
}

/// Whether an object lies below a job's directory, the random part of entropy injection ignored.
fn lies_in_job(prefix: &str, object: &ObjectLocation) -> bool {
    let directory = object.directory();
    if prefix.is_empty() || directory.starts_with(prefix) {
        return true;
    }
    // `<random>/cp/<job>/taskowned/` against `cp/<job>/`; the log of a changelog lies below another directory of the job's name.
    let mut levels = prefix.trim_end_matches('/').rsplit('/');
    match (levels.next(), levels.next()) {
        (Some(job), Some(parent)) => directory.contains(&format!("/{parent}/{job}/")),
        _ => false,
    }
}

/// Own files by path, the random part of entropy injection ignored: the path ends as the directory does.
fn is_own(directory: &str, object: &ObjectLocation) -> bool {
    let below = object.directory();
    if below.starts_with(directory) {
        return true;
    }
    // `<random>/cp/<job>/chk-3/` against `cp/<job>/chk-3/`: compare the job and checkpoint levels.
    let tail = |d: &str| {
        let mut parts = d.trim_end_matches('/').rsplit('/');
        (parts.next().map(str::to_owned), parts.next().map(str::to_owned))
    };
    tail(below) == tail(directory)
}

fn newest_marker(history: &KeyHistory) -> Option<Timestamp> {
    history.hidden().map(|h| h.newest.last_modified)
}

fn oldest_unanswered(missing: &[MissingObject]) -> Option<Timestamp> {
    let told = missing.iter().filter(|m| m.told);
    told.filter_map(|m| newest_marker(&m.history)).min()
}

/// The time of the marker directly above the data version.
fn marker_time(history: &KeyHistory) -> Option<Timestamp> {
    history.hidden().map(|h| h.above_data.last_modified)
}

/// The newest data version that fits every handle that names the object. A changelog file that is one byte longer than
/// its handles say is surely right; one of another length can only be a compressed one, and is taken if there is no plain one.
///
/// Where handles leave the length open (merged files, what only a directory names, what nobody can read), it is that of the version that was
/// written first: Flink writes a state file once, so what has another length was written over it by somebody else.
pub fn fitting<'h>(history: &'h KeyHistory, extents: &[Extent]) -> Option<&'h VersionEntry> {
    let fits = |plain: bool| {
        move |v: &&VersionEntry| {
            let size = v.size().unwrap_or_default();
            extents.iter().all(|e| {
                if plain {
                    e.is_plain_length(size)
                } else {
                    e.allows(size)
                }
            })
        }
    };
    let first_written = |plain: bool| history.data_versions().filter(fits(plain)).last();
    let original = first_written(true).or_else(|| first_written(false))?;
    history.data_versions().find(|v| v.size() == original.size())
}
