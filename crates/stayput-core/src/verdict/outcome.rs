//! What comes out of a verdict, and the reasons in a few words.

use crate::cause::Cause;
use crate::class::Class;
use crate::location::ObjectLocation;
use crate::report::finding::FindingCode;
use crate::restoring::Permit;
use crate::timestamp::Timestamp;
use crate::verdict::Proof;

/// What is to be done about one object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Nothing, and nothing is said.
    Leave(LeaveReason),
    /// Copy the version that the permit names.
    Restore(Permit),
    /// Look again.
    Later {
        /// Not earlier than this.
        not_before: Timestamp,
        /// Why.
        why: LaterReason,
    },
    /// Nothing but a finding.
    Report(FindingCode),
    /// It can't be put back.
    Lost(FindingCode),
}

/// Why nothing is done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LeaveReason {
    /// A key that ends in `/` means nothing.
    DirectoryMarker,
    /// Deletions here are intended.
    Released,
    /// The key is visible.
    Visible,
    /// Deleted by a Stayput.
    Ours,
    /// Nobody names it.
    NotReferenced(Proof),
    /// Only spare checkpoints name it.
    Spare,
    /// Who names it was taken over by another job, which deletes as if it were its own.
    Claimed,
    /// A version was purged; that isn't a deletion of the key.
    Purge,
    /// Flink, or nobody known, deleted a running snapshot itself: the job ended or went on elsewhere.
    DiscardedByFlink,
    /// Flink deleted private files of a forgotten snapshot.
    Dormant,
    /// A directory reference, which doesn't count against Flink.
    NamedByDirectoryOnly,
    /// A tail of a sink: Flink deletes it once a newer checkpoint is complete.
    SinkTail,
    /// A new run writes in the directory.
    NewRunInDirectory,
    /// The same run went on, so its older `_metadata` isn't wanted.
    SameRunWentOn,
    /// No version of the snapshot's `_metadata` is left: nobody can be restored from it.
    MetadataGone,
    /// Flink deletes HA objects at every checkpoint.
    HaByFlink,
    /// Result stores are never restored: that would keep a finished job from being what it is.
    ResultStore,
}

impl LeaveReason {
    /// A few words for summaries.
    pub fn word(&self) -> &'static str {
        match self {
            Self::DirectoryMarker => "directory marker",
            Self::Released => "released",
            Self::Visible => "visible",
            Self::Ours => "ours",
            Self::NotReferenced(_) => "not referenced",
            Self::Spare => "spare",
            Self::Claimed => "claimed",
            Self::Purge => "purge",
            Self::DiscardedByFlink => "discarded by Flink",
            Self::Dormant => "dormant",
            Self::NamedByDirectoryOnly => "named by directory only",
            Self::SinkTail => "tail of a sink",
            Self::NewRunInDirectory => "new run in directory",
            Self::SameRunWentOn => "same run went on",
            Self::MetadataGone => "its _metadata is gone for good",
            Self::HaByFlink => "HA object deleted by Flink",
            Self::ResultStore => "result store",
        }
    }
}

/// Why the verdict waits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LaterReason {
    /// Something was deleted within the settle delay.
    Quiet,
    /// Flink may be discarding the checkpoint at this moment.
    MayBeADiscard,
    /// A newer checkpoint of the same run is under way; if it is complete soon, this `_metadata` isn't wanted any more.
    NewerUnderWay,
    /// Something couldn't be read just now.
    Transient(String),
    /// The version must be thawed first: with leave to ask for that, unless somebody has asked already.
    Thaw(Option<Box<Permit>>),
    /// Stayput is paused.
    Paused,
    /// The day's budget is spent.
    BudgetSpent,
    /// The key was restored within the last 24 hours.
    OncePerDay,
    /// `_metadata` comes back only when a listing shows everything that it names.
    WaitsForItsFiles,
    /// It is copied in parts, some of which are there.
    CopyUnderWay,
    /// It never was here, and the `_metadata` that names it was replicated from another bucket not long ago: it may be on the way.
    OnItsWay,
}

impl LaterReason {
    /// A few words for people.
    pub fn word(&self) -> &str {
        match self {
            Self::Quiet => "not quiet yet",
            Self::MayBeADiscard => "may be a discard under way",
            Self::NewerUnderWay => "a newer checkpoint is under way",
            Self::Transient(_) => "couldn't be read just now",
            Self::Thaw(Some(_)) => "must be thawed first",
            Self::Thaw(None) => "is being thawed",
            Self::Paused => "paused",
            Self::BudgetSpent => "budget spent",
            Self::OncePerDay => "restored within 24 hours",
            Self::WaitsForItsFiles => "_metadata waits for its files",
            Self::CopyUnderWay => "the copy goes on",
            Self::OnItsWay => "may be on its way from the bucket that is replicated",
        }
    }
}

/// What a verdict rests on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Basis {
    /// Snapshots that name the object.
    Referenced,
    /// It is an HA store's.
    HaObject,
    /// Nobody names it, or that wasn't asked.
    NotReferenced,
    /// Nobody can say.
    Unknown,
}

/// What befell an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Incident {
    /// It was deleted.
    Deletion,
    /// It was moved to an archive, where it is visible and no job can read it.
    Archival,
    /// Neither: what is visible isn't what is needed.
    Mismatch,
}

/// The answer for one object that was deleted or can't be used where it lies, with its reasons.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Which object.
    pub location: ObjectLocation,
    /// What befell it.
    pub incident: Incident,
    /// What to do.
    pub outcome: Outcome,
    /// What to tell people beside the outcome: a code and the snapshot it is about.
    pub findings: Vec<(FindingCode, ObjectLocation)>,
    /// What it rests on.
    pub basis: Basis,
    /// Who needs it most: the class of the strongest referrer.
    pub class: Option<Class>,
    /// The cause.
    pub cause: Cause,
    /// The snapshot whose need decided.
    pub decided_by: Option<ObjectLocation>,
}

impl Verdict {
    /// A verdict that needed no look: the object is left.
    pub fn left(
        location: ObjectLocation,
        reason: LeaveReason,
        basis: Basis,
        class: Option<Class>,
        cause: Cause,
    ) -> Self {
        Self {
            location,
            incident: Incident::Deletion,
            outcome: Outcome::Leave(reason),
            findings: Vec::new(),
            basis,
            class,
            cause,
            decided_by: None,
        }
    }
}
