//! What exactly-once file sinks keep in operator state: open multipart uploads, files that wait for their commit, and *tails*, the small objects
//! with the bytes after the last full part. No state handle names them.
//!
//! [`SinkState::of`] tells by the name of a state whether it can be one of these, [`elements`] takes its elements out of the
//! bytes of an operator state, [`read`] decodes one. Sinks of other kinds use the same names, so what isn't recognised by its magic numbers is
//! [`Element::AnotherSink`]; what is recognised and can't be read further is an error, never a guess.
//!
//! Layouts: `FileWriterBucketStateSerializer`, `BucketStateSerializer`, `CommittableCollectorSerializer`, `FileSinkCommittableSerializer`,
//! `OutputStreamBasedPartFileWriter`, `CompactorRequestSerializer`, `S3RecoverableSerializer` (Flink 1.7 to 2.3), `NativeS3RecoverableSerializer`
//! (2.3).

mod blob;
mod bytes;
mod recoverable;
mod wrappers;

use std::fmt;

use crate::java::JavaStr;

pub use blob::{Elements, elements};
pub use recoverable::{Part, Tail, Upload, Writer, read_upload};
pub use wrappers::read;

/// A state of a sink, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SinkState {
    /// `writer_raw_states`: files in progress of a sink of Flink 1.12 and later.
    Writer,
    /// `streaming_committer_raw_states`: what waits for its commit.
    Committer,
    /// `bucket-states`: files of a `StreamingFileSink` and of the `filesystem` connector of SQL.
    Buckets,
    /// `remaining_compact_commit_raw_state`: what the coordinator of compaction has received.
    CompactionCoordinator,
    /// `remaining_requests_raw_state`: what is being compacted.
    Compactor,
}

impl SinkState {
    /// Every state.
    pub const ALL: [Self; 5] = [
        Self::Writer,
        Self::Committer,
        Self::Buckets,
        Self::CompactionCoordinator,
        Self::Compactor,
    ];

    /// The state of this name.
    pub fn of(name: JavaStr<'_>) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|state| state.name().as_bytes() == name.as_bytes())
    }

    /// Its name in `_metadata`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Writer => "writer_raw_states",
            Self::Committer => "streaming_committer_raw_states",
            Self::Buckets => "bucket-states",
            Self::CompactionCoordinator => "remaining_compact_commit_raw_state",
            Self::Compactor => "remaining_requests_raw_state",
        }
    }
}

/// What one element of a state holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Element {
    /// Files of a file sink; none, if no file is open.
    Files(Vec<SinkFile>),
    /// A sink of another kind, which has nothing of this.
    AnotherSink,
}

/// A file that a sink has begun and not yet finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SinkFile {
    /// How far it is.
    pub stage: Stage,
    /// The file that it will be: a URI, percent-encoded (Flink 1.15 and later).
    pub target: Option<String>,
    /// The directory that it will be in, as a Flink path, not percent-encoded; known of files in progress.
    pub directory: Option<String>,
    /// The checkpoint that put it on the list, where the state says so.
    pub checkpoint_id: Option<i64>,
    /// What the file system keeps of it.
    pub recoverable: Recoverable,
}

/// How far a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// Open: a restored job goes on writing it.
    InProgress,
    /// Written: a restored job commits it.
    Pending,
    /// Its tail, or the file itself, is deleted by the next commit: nothing of it is needed.
    CleanUp,
    /// It has been committed, or failed for good: nothing of it is needed.
    Settled,
}

impl Stage {
    /// Whether a restore of the checkpoint needs what the file system keeps of the file.
    pub fn is_needed(self) -> bool {
        matches!(self, Self::InProgress | Self::Pending)
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InProgress => "in progress",
            Self::Pending => "waits for its commit",
            Self::CleanUp => "to be cleaned up",
            Self::Settled => "settled",
        })
    }
}

/// What a file system keeps to go on with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recoverable {
    /// A multipart upload on S3.
    Upload(Upload),
    /// The file system is another one, or one that isn't known here.
    Elsewhere,
}

/// Why a state that is that of a file sink can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}, {at} bytes into the element, in {reading}")]
pub struct SinkError {
    /// What is wrong.
    pub kind: SinkErrorKind,
    /// Offset in bytes from the beginning of the element.
    pub at: usize,
    /// The structure that was read.
    pub reading: &'static str,
}

/// What is wrong with the state of a file sink.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SinkErrorKind {
    /// It ends within a field.
    #[error("it ends too early")]
    TooShort,
    /// Bytes follow that no release writes.
    #[error("{0} bytes are left over")]
    LeftOver(usize),
    /// A serializer version that isn't known here.
    #[error("version {0} isn't known")]
    Version(i32),
    /// A magic number that doesn't belong here.
    #[error("magic number {0:#010x} doesn't belong here")]
    Magic(u32),
    /// A value that no release writes.
    #[error("{0} is out of range")]
    OutOfRange(i64),
    /// The compressed bytes are damaged.
    #[error("the compressed bytes are damaged")]
    Compression,
    /// A text that is none.
    #[error("a text isn't UTF-8")]
    Text,
}
