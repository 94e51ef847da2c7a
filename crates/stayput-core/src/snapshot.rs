//! A snapshot as decisions see it: where it lies, when it was written, whether it is hidden, what it is made of.

use crate::cause::Cause;
use crate::layout::Place;
use crate::location::ObjectLocation;
use crate::metadata_limit::MetadataLimit;
use crate::reference_index::SnapshotNo;
use crate::timestamp::Timestamp;
use crate::version::VersionId;

/// A directory that holds checkpoints (`chk-N/`, `shared/`, `taskowned/`), or the directory of one savepoint.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct JobDirectory {
    /// The bucket.
    pub bucket: String,
    /// The key prefix, entropy taken out; ends in `/` unless it is the whole bucket.
    pub prefix: String,
}

impl std::fmt::Display for JobDirectory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "s3://{}/{}", self.bucket, self.prefix)
    }
}

/// Checkpoint or savepoint, told by the directory's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SnapshotKind {
    /// In a directory `chk-<id>`.
    Checkpoint {
        /// The id in the directory's name.
        id: u64,
    },
    /// In any other directory: made or copied by a person, and never spare.
    Savepoint,
}

impl SnapshotKind {
    /// The checkpoint id in the directory's name; `None` for savepoints.
    pub fn id(self) -> Option<u64> {
        match self {
            Self::Checkpoint { id } => Some(id),
            Self::Savepoint => None,
        }
    }
}

/// One `_metadata` and what it says.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Where `_metadata` lies.
    pub metadata: ObjectLocation,
    /// The version that was read; `None` where the bucket has no versions.
    pub version: Option<VersionId>,
    /// Its ETag: with key and size the identity of what was read.
    pub etag: String,
    /// Its length in bytes.
    pub size: u64,
    /// Checkpoint or savepoint.
    pub kind: SnapshotKind,
    /// The directory whose history it belongs to.
    pub job: JobDirectory,
    /// When its bytes were first written: of a copy made by Stayput, when its source was.
    pub written: Timestamp,
    /// The marker that hides it, if it isn't visible.
    pub hidden: Option<HiddenBy>,
    /// What was read.
    pub contents: Contents,
    /// Somebody needs it now, whatever its age: pinned by a person, or named by an HA store.
    pub kept: Option<Kept>,
}

/// Why a snapshot counts as running whatever its age.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kept {
    /// `stayput pin`.
    Pinned,
    /// An HA store names it.
    NamedByHa,
}

/// Who hid a `_metadata`, and when.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HiddenBy {
    /// Last-Modified of the marker directly above the data version.
    pub at: Timestamp,
    /// That marker's id.
    pub marker: VersionId,
    /// Who put it there.
    pub cause: Cause,
}

/// What reading a `_metadata` gave.
#[derive(Clone, Debug)]
pub enum Contents {
    /// It was read to its end.
    Read(Facts),
    /// It can't be read, now or later; deletions near it can't be judged.
    Unreadable {
        /// Why.
        why: Unreadable,
        /// Objects that the part before the damage names. Never proof of anything.
        names_at_least: Vec<ObjectLocation>,
    },
}

/// Why a `_metadata` can't be read, permanently.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unreadable {
    /// Written by a Flink newer than this Stayput.
    #[error("its format version {0} is newer than this Stayput knows (up to 7)")]
    NewerFormat(i32),
    /// Damaged, or not a `_metadata` at all.
    #[error("{0}")]
    Damaged(String),
    /// Access denied.
    #[error("access to it is denied")]
    Denied,
    /// Larger than the limit.
    #[error("it is {size} bytes long, more than {limit}")]
    TooLarge {
        /// Its length in bytes.
        size: u64,
        /// The limit, and what sets it.
        limit: MetadataLimit,
    },
    /// In an archive class or under a key that nobody can use.
    #[error("its bytes are archived or their key can't be used: {0}")]
    OutOfReach(String),
}

impl Unreadable {
    /// What a person can do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::NewerFormat(_) => "Update Stayput.".to_owned(),
            Self::Damaged(_) => {
                "Look for an older version of it that can be read; if no job needs it, delete it.".to_owned()
            }
            Self::Denied => "Give Stayput's role s3:GetObject and s3:GetObjectVersion on it.".to_owned(),
            Self::TooLarge { size, limit } => limit.remedy(*size),
            Self::OutOfReach(_) => "Thaw it, or give Stayput's role the use of its key.".to_owned(),
        }
    }
}

/// What a `_metadata` that was read to its end says, without its references, which the index holds.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Its number in the reference index.
    pub references: SnapshotNo,
    /// `checkpointId` in the file.
    pub checkpoint_id: u64,
    /// Operator ids, sorted, each once.
    pub operators: Box<[[u8; 16]]>,
    /// Keyed backend ids (tags 5 and 11), sorted, each once.
    pub backends: Box<[Box<str>]>,
    /// Directories that it names as a whole (tag 17), as key prefixes that end in `/`.
    pub directories: Box<[ObjectLocation]>,
}

impl Snapshot {
    /// The facts, if it was read.
    pub fn facts(&self) -> Option<&Facts> {
        match &self.contents {
            Contents::Read(facts) => Some(facts),
            Contents::Unreadable { .. } => None,
        }
    }

    /// The checkpoint id in the directory's name; `None` for savepoints.
    pub fn directory_id(&self) -> Option<u64> {
        self.kind.id()
    }

    /// The exclusive directory, as a key prefix that ends in `/`.
    pub fn directory(&self) -> &str {
        self.metadata.directory()
    }

    /// Whether a key (entropy taken out) lies in the exclusive directory itself or below it.
    pub fn owns(&self, bucket: &str, plain_key: &str) -> bool {
        bucket == self.metadata.bucket() && plain_key.starts_with(self.directory())
    }
}

/// Kind and job directory of the snapshot whose `_metadata` lies at this key.
pub fn identity_of(metadata: &ObjectLocation) -> (SnapshotKind, JobDirectory) {
    let job = |prefix: &str| JobDirectory {
        bucket: metadata.bucket().to_owned(),
        prefix: prefix.to_owned(),
    };
    match Place::of(metadata.key()) {
        Place::Checkpoint {
            job: prefix,
            directory,
            id,
        } if directory == metadata.directory() => (SnapshotKind::Checkpoint { id }, job(prefix)),
        _ => (SnapshotKind::Savepoint, job(metadata.directory())),
    }
}
