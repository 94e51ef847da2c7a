//! Classes of snapshots: how much somebody needs one, at a moment in the past.

use std::time::Duration;

use serde::Serialize;

use crate::cause::Cause;
use crate::snapshot::{Contents, HiddenBy, Kept, Snapshot, SnapshotKind, Unreadable};
use crate::timestamp::Timestamp;

/// How much a snapshot is needed, the weakest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// Any checkpoint but a head. Flink deletes under these itself, so missing files are normal.
    Spare,
    /// A head or savepoint older than `dormant_after`: probably forgotten.
    Dormant,
    /// A head or savepoint that somebody probably comes back to.
    Resting,
    /// A young head, or anything that is pinned or named by an HA store: somebody needs it now.
    Running,
}

impl Class {
    /// One word for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Spare => "spare",
            Self::Dormant => "dormant",
            Self::Resting => "resting",
            Self::Running => "running",
        }
    }
}

/// A head younger than this is running, however short its interval.
pub const RUNNING_FOR_AT_LEAST: Duration = Duration::from_secs(24 * 3600);
/// A head is running for so many of its intervals.
pub const RUNNING_FOR_INTERVALS: u32 = 10;
/// A head older than this isn't running, however long its interval: what lies months after the checkpoint before it was made by a job that had stood still, and
/// which checkpoint is known to lie before it can depend on what of a deletion was seen.
pub const RUNNING_FOR_AT_MOST: Duration = Duration::from_secs(10 * 24 * 3600);
/// A checkpoint that Flink hides so soon after writing it is one that couldn't be stored (`cleanCheckpointOnFailedStoring`).
pub const FAILED_STORE_WITHIN: Duration = Duration::from_secs(60);

/// When a class is asked for.
#[derive(Clone, Copy, Debug)]
pub enum Moment {
    /// At the deletion of some other object: what was hidden before counts as hidden.
    Of(Timestamp),
    /// Just before the snapshot's own deletion began: it counts as visible itself.
    BeforeItsOwn(Timestamp),
}

impl Moment {
    fn at(self) -> Timestamp {
        match self {
            Self::Of(at) | Self::BeforeItsOwn(at) => at,
        }
    }
}

/// The heads of one group at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heads {
    /// The newest by id, by its place in the group; `None` if Flink deleted that one itself: the job ended or went on elsewhere.
    pub by_id: Option<usize>,
    /// The newest visible by time, where that is another one and newer than the newest by id: ids were restarted.
    pub by_time: Option<usize>,
}

/// A group: the checkpoints of one job directory with the same set of operators, and what classes depend on besides.
pub struct Group<'c> {
    /// The checkpoints, in any order. Savepoints form no group.
    pub members: Vec<&'c Snapshot>,
    /// Per member, whether a snapshot of another directory claimed it.
    pub claimed: Vec<bool>,
    /// Ids of directories `chk-M/` that hold objects but no `_metadata`: checkpoints under way, or aborted.
    pub unfinished: &'c [u64],
    /// Checkpoints of the same directory that can't be read, so nobody knows which group they belong to.
    pub unreadable: Vec<&'c Snapshot>,
}

impl Group<'_> {
    /// The heads at a moment. `subject` is the member whose own deletion is judged, for [`Moment::BeforeItsOwn`].
    pub fn heads(&self, moment: Moment, subject: usize) -> Heads {
        let at = moment.at();
        let regarded_visible = |n: usize| matches!(moment, Moment::BeforeItsOwn(_)) && n == subject;
        let hidden = |n: usize| match &self.members[n].hidden {
            Some(hidden) if (hidden.at < at || self.couldnt_be_stored(n, hidden)) && !regarded_visible(n) => {
                Some(hidden)
            }
            _ => None,
        };
        let mut ever: Vec<usize> = (0..self.members.len())
            .filter(|n| self.members[*n].written <= at)
            .collect();
        ever.sort_by_key(|n| std::cmp::Reverse((self.members[*n].directory_id(), self.members[*n].written)));

        let mut newest_by_id = None;
        let mut by_id = None;
        for (rank, n) in ever.iter().copied().enumerate() {
            let Some(by) = hidden(n) else {
                newest_by_id = Some(n);
                by_id = Some(n);
                break;
            };
            if !by.cause.is_flink_or_unknown() {
                newest_by_id = Some(n);
                by_id = Some(n);
                break;
            }
            let an_older_one_stands = ever[rank + 1..].iter().any(|o| hidden(*o).is_none());
            // By Flink or by nobody known: that it was Flink only its message tells, which a later call doesn't have.
            let failed_store = by.at.since(self.members[n].written) <= FAILED_STORE_WITHIN
                && an_older_one_stands
                && !self.claimed[n];
            let went_on = self
                .unfinished
                .iter()
                .any(|m| Some(*m) > self.members[n].directory_id());
            if !failed_store && !went_on {
                newest_by_id = Some(n);
                break;
            }
        }
        // A newer one that can't be read is the head, as far as anybody knows; if Flink hid it, there is none: whether it was discarded,
        // claimed or couldn't be stored is told by what nobody can read.
        if let Some(n) = by_id {
            let head = self.members[n];
            let overtaken = self.unreadable.iter().any(|u| {
                (u.written <= at || may_be_older(u))
                    && u.written >= head.written
                    && u.directory_id() > head.directory_id()
            });
            if overtaken {
                by_id = None;
            }
        }
        let by_time = ever
            .iter()
            .copied()
            .filter(|n| hidden(*n).is_none())
            .max_by_key(|n| (self.members[*n].written, self.members[*n].directory_id()))
            .filter(|n| {
                newest_by_id.is_some_and(|id| id != *n && self.members[*n].written > self.members[id].written)
            });
        Heads { by_id, by_time }
    }

    /// Whether Flink took a member back at once, and none was complete after it that would have subsumed it: it never was what the job would have come back from,
    /// not even for the seconds for which it stood. Of what nobody known hid a message on its way may still say that it was a stranger.
    fn couldnt_be_stored(&self, member: usize, hidden: &HiddenBy) -> bool {
        let own = self.members[member];
        let subsumes = |m: &&Snapshot| {
            m.directory_id() > own.directory_id() && m.written >= own.written && m.written <= hidden.at
        };
        hidden.cause == Cause::Flink
            && hidden.at.since(own.written) <= FAILED_STORE_WITHIN
            && !self.claimed[member]
            && !self.members.iter().any(subsumes)
    }

    /// The class of a member at a moment.
    pub fn class(&self, subject: usize, moment: Moment, dormant_after: Duration) -> Class {
        let snapshot = self.members[subject];
        if kept(snapshot) {
            return Class::Running;
        }
        let heads = self.heads(moment, subject);
        if heads.by_id != Some(subject) && heads.by_time != Some(subject) {
            return Class::Spare;
        }
        let age = moment.at().since(snapshot.written);
        if age < self.running_for(subject, moment) {
            Class::Running
        } else {
            by_age(age, dormant_after)
        }
    }

    /// How long a head counts as running: ten of its intervals, but no less than 24 hours and no more than ten days.
    fn running_for(&self, head: usize, moment: Moment) -> Duration {
        let snapshot = self.members[head];
        let before = self
            .members
            .iter()
            .filter(|m| m.directory_id() < snapshot.directory_id() && m.written < snapshot.written)
            .filter(|m| m.hidden.as_ref().is_none_or(|h| h.at >= moment.at()))
            .max_by_key(|m| m.directory_id());
        let interval = before.map_or(RUNNING_FOR_AT_LEAST, |b| snapshot.written.since(b.written));
        let of_intervals = interval.saturating_mul(RUNNING_FOR_INTERVALS);
        of_intervals.clamp(RUNNING_FOR_AT_LEAST, RUNNING_FOR_AT_MOST)
    }
}

/// The class of a savepoint: never spare, and running only if somebody keeps it.
pub fn class_of_savepoint(savepoint: &Snapshot, moment: Moment, dormant_after: Duration) -> Class {
    if kept(savepoint) {
        Class::Running
    } else {
        by_age(moment.at().since(savepoint.written), dormant_after)
    }
}

/// Whether it may be a copy of something older than `written` says: a copy names its source's age in its own metadata, which nobody may read here.
fn may_be_older(snapshot: &Snapshot) -> bool {
    let why = match &snapshot.contents {
        Contents::Unreadable { why, .. } => why,
        Contents::Read(_) => return false,
    };
    *why == Unreadable::Denied
}

fn kept(snapshot: &Snapshot) -> bool {
    matches!(snapshot.kept, Some(Kept::Pinned | Kept::NamedByHa))
}

fn by_age(age: Duration, dormant_after: Duration) -> Class {
    if age <= dormant_after {
        Class::Resting
    } else {
        Class::Dormant
    }
}

/// Whether a snapshot can be a member of a group.
pub fn forms_a_group(snapshot: &Snapshot) -> bool {
    matches!(snapshot.kind, SnapshotKind::Checkpoint { .. }) && matches!(snapshot.contents, Contents::Read(_))
}
