//! What can be wrong with a file, in words for a person.

use std::fmt;

use crate::complete::Partial;
use crate::field::Field;
use crate::handle::{OperatorId, OperatorNo};
use crate::java::JavaError;
use crate::looks_like::LooksLike;

/// A file that could not be read to its end. No statement about what it does *not* name can be made from it.
#[derive(Debug, thiserror::Error)]
#[error("{error}{}", partial.summary())]
pub struct Damaged {
    /// What is wrong, and where.
    #[source]
    pub error: Box<ParseError>,
    /// What could be read before.
    pub partial: Box<Partial>,
}

impl Damaged {
    pub(crate) fn new(error: ParseError, partial: Partial) -> Self {
        Damaged {
            error: Box::new(error),
            partial: Box::new(partial),
        }
    }
}

/// What is wrong at which byte of a `_metadata` file. Reading the same bytes again gives the same error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("byte {at}: {kind}, while reading {reading}{}", Where(context.as_ref()))]
pub struct ParseError {
    /// What is wrong.
    pub kind: ErrorKind,
    /// Offset of the first byte of the field that could not be read.
    pub at: usize,
    /// The field that could not be read.
    pub reading: Field,
    /// The operator and subtask it belongs to, if any.
    pub context: Option<Context>,
}

/// The operator and subtask that a field belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Context {
    /// Position of the operator in the file, from 0.
    pub operator: OperatorNo,
    /// Its id; `None` if that could not be read yet.
    pub operator_id: Option<OperatorId>,
    /// The subtask's index, if inside one.
    pub subtask: Option<u32>,
}

struct Where<'a>(Option<&'a Context>);

impl fmt::Display for Where<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(context) = self.0 else { return Ok(()) };
        write!(f, " of operator {}", context.operator)?;
        if let Some(id) = context.operator_id {
            write!(f, " ({id})")?;
        }
        if let Some(subtask) = context.subtask {
            write!(f, ", subtask {subtask}")?;
        }
        Ok(())
    }
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file doesn't begin with the magic number `49 60 67 2D`.
    #[error("this is no `_metadata` file of Flink 1.1 or newer: {0}")]
    NotMetadata(LooksLike),
    /// Format 1, or a version below that no release wrote.
    #[error(
        "format {version} is too old to be read (format 1 was written by Flink 1.1 and 1.2, and no Flink since 1.20 reads it; \
         formats 2 to 7 are read here). Restore with Flink 1.3 to 1.8 and take a new savepoint"
    )]
    TooOld {
        /// The version in the file.
        version: i32,
    },
    /// A format that is newer than this reader.
    #[error(
        "format {version} is newer than this reader, which knows 2 to 7 (Flink 1.3 to 2.3, 7 is unreleased). \
         A newer release of this program may read it"
    )]
    TooNew {
        /// The version in the file.
        version: i32,
    },
    /// The file ends too early: it was truncated, or a length before is wrong.
    #[error("the file ends too early: {needed} bytes are needed, {left} are left (truncated or damaged)")]
    EndOfFile {
        /// Bytes that the field needs.
        needed: u64,
        /// Bytes that are left.
        left: u64,
    },
    /// A count or length is negative.
    #[error("{value} can't be a count or length (damaged)")]
    Negative {
        /// The value in the file.
        value: i64,
    },
    /// A count says more elements than can lie in the rest of the file.
    #[error(
        "{count} elements of at least {least} bytes each can't lie in the {left} bytes that are left (damaged)"
    )]
    CountTooLarge {
        /// The count in the file.
        count: i64,
        /// Least size of an element in bytes.
        least: u64,
        /// Bytes that are left.
        left: u64,
    },
    /// A tag that means nothing at this place.
    #[error("tag {tag} means nothing here (damaged, or newer than Flink 2.3)")]
    UnknownTag {
        /// The tag in the file.
        tag: u8,
    },
    /// A value outside the range that Flink writes.
    #[error("{value} is outside the range that Flink writes (damaged)")]
    OutOfRange {
        /// The value in the file.
        value: i64,
    },
    /// State handles lie deeper in each other than the limit.
    #[error("state handles lie more than {max} deep in each other (Flink nests 3 deep)")]
    TooDeep {
        /// The limit, see [`crate::Limits::max_nesting`].
        max: u8,
    },
    /// A master state doesn't begin with its own magic number.
    #[error("a master state begins with {found:08x} instead of c96b1696 (damaged)")]
    MasterStateMagic {
        /// The four bytes in the file.
        found: u32,
    },
    /// The inner lengths of a master state don't add up to the outer one.
    #[error("a master state of {expected} bytes has {found} bytes of content (damaged)")]
    MasterStateLength {
        /// The length in the file.
        expected: usize,
        /// The bytes that its parts have.
        found: usize,
    },
    /// Format 2 with state of a release before 1.3.
    #[error("{count} state handles of a release before Flink 1.3; no Flink since reads them")]
    LegacyState {
        /// Their number.
        count: i32,
    },
    /// An operator says that it finished and yet has coordinator state; Flink refuses it.
    #[error("a finished operator has coordinator state; Flink refuses such a file (damaged)")]
    FinishedWithCoordinator,
    /// A relative path that leaves the directory of `_metadata`.
    #[error(
        "the path would leave the directory of `_metadata`; Flink writes bare file names (damaged or forged)"
    )]
    UnsafeRelativePath,
    /// Bytes follow where the file should end.
    #[error("{count} bytes follow after the end of the last record (damaged, or newer than Flink 2.3)")]
    TrailingBytes {
        /// Their number.
        count: usize,
    },
    /// The Java object stream behind the operators can't be read.
    #[error("the Java object stream can't be read: {0}")]
    Java(JavaError),
    /// The Java object stream holds something else than the properties.
    #[error("the Java object stream holds no CheckpointProperties: {0}")]
    NotProperties(&'static str),
    /// Byte positions of this file don't fit the index.
    #[error("files of 4 GiB and more can't be indexed ({bytes} bytes); their references can still be read")]
    TooLargeForIndex {
        /// Size of the file in bytes.
        bytes: u64,
    },
}

impl ErrorKind {
    /// What a person can do. Reading the same bytes again never helps.
    pub fn advice(&self) -> &'static str {
        match self {
            ErrorKind::NotMetadata(_) => {
                "point at the `_metadata` file in the directory of a checkpoint (chk-N) or savepoint"
            }
            ErrorKind::TooOld { .. } | ErrorKind::LegacyState { .. } => {
                "restore it with a Flink release of its time and take a new savepoint with Flink 1.11 or newer"
            }
            ErrorKind::TooNew { .. } => "use a newer release of this program; the file itself may be fine",
            ErrorKind::TooLargeForIndex { .. } => {
                "read the references only, or use a machine-readable export"
            }
            ErrorKind::Java(_) | ErrorKind::NotProperties(_) => {
                "all state handles before it could be read; Flink refuses such a file all the same: look for another \
                 version of the object, or use another checkpoint"
            }
            _ => {
                "Flink can't read such a file either: compare size and ETag with the original, look for another \
                 version of the object, or use the newest other checkpoint"
            }
        }
    }
}

/// Why a reading ended before the end of the file.
pub(crate) enum Halt {
    /// Something is wrong.
    Fault(Box<Fault>),
    /// Whoever is told of the references wants no more.
    Stopped,
}

/// A [`ParseError`] without its context.
pub(crate) struct Fault {
    pub(crate) kind: ErrorKind,
    pub(crate) at: usize,
    pub(crate) reading: Field,
}

impl Halt {
    #[cold]
    pub(crate) fn fault(kind: ErrorKind, at: usize, reading: Field) -> Halt {
        Halt::Fault(Box::new(Fault { kind, at, reading }))
    }
}

pub(crate) type Read<T> = Result<T, Halt>;
