//! What a snapshot needs: objects and directories.

use std::fmt;

use crate::handle::{KeyGroups, OperatorNo, StreamHead};
use crate::java::JavaStr;
use crate::span::Span;

use crate::grammar::{Around, StreamAt};

/// One handle that names an object or a directory. The same object can be named by many handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference<'a> {
    /// What is named.
    pub target: Target<'a>,
    /// How long the object must be.
    pub extent: Extent,
    /// What it is for.
    pub role: Role,
    /// The operator that needs it.
    pub operator: OperatorNo,
    /// The subtask that needs it.
    pub subtask: Option<u32>,
    /// The key groups that are in it, for keyed state.
    pub key_groups: Option<KeyGroups>,
    /// Where the handle lies: tag and fields; for a directory its path.
    pub span: Span,
}

/// What a handle names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target<'a> {
    /// An object, by its path with scheme (tags 2 and 15). Not percent-encoded.
    Absolute(JavaStr<'a>),
    /// An object in the directory that holds this `_metadata`, wherever that is now (tag 6). Never empty or
    /// absolute, and without `..`.
    Exclusive(JavaStr<'a>),
    /// Everything below a directory (tag 17). With entropy injection its path still holds the marker.
    Directory(JavaStr<'a>),
}

impl<'a> Target<'a> {
    /// The path as it lies in the file.
    pub fn path(self) -> JavaStr<'a> {
        match self {
            Target::Absolute(path) | Target::Exclusive(path) | Target::Directory(path) => path,
        }
    }
}

/// How long an object must be, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// Exactly so long; another length means damage.
    Exact(u64),
    /// At least so long: a part of an object that other handles share (tag 15).
    AtLeast(u64),
    /// A changelog (DSTL) file with so many *uncompressed* bytes: one byte longer if its first byte is 0
    /// (plain), of any length if that is 1 (compressed).
    Changelog(u64),
    /// Not recorded, or a directory.
    Unknown,
}

impl Extent {
    /// Whether an object of `size` bytes can be what the handle means. For [`Extent::Changelog`] that depends
    /// on the object's first byte, `None` if that wasn't read: then every length but 0 fits.
    pub fn fits(self, size: u64, first_byte: Option<u8>) -> bool {
        match self {
            Extent::Exact(exact) => size == exact,
            Extent::AtLeast(least) => size >= least,
            Extent::Changelog(plain) => match first_byte {
                Some(0) => plain.checked_add(1) == Some(size),
                Some(1) | None => size > 0,
                Some(_) => false,
            },
            Extent::Unknown => true,
        }
    }
}

/// What an object is for. `Display` gives for example `managed_keyed.materialized.shared`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Role {
    /// The kind of state.
    pub state: StateKind,
    /// Whether it belongs to the materialized base of a changelog handle.
    pub materialized: bool,
    /// Which part of that state.
    pub part: Part,
}

/// Kind of state of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StateKind {
    /// State of an operator coordinator. Always inlined, so never in a reference.
    Coordinator,
    /// List and broadcast state.
    ManagedOperator,
    /// Raw operator state.
    RawOperator,
    /// Keyed state.
    ManagedKeyed,
    /// Raw keyed state; timers on the heap beside RocksDB too.
    RawKeyed,
    /// Bytes in flight before an input (unaligned checkpoints).
    InputChannel,
    /// Bytes in flight behind an output (unaligned checkpoints).
    ResultSubpartition,
}

/// Part of an operator's state. Parts are roles, not places: shared files can lie in an exclusive directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// The whole state, in one stream.
    Whole,
    /// Meta data of an incremental snapshot.
    Meta,
    /// A file that other checkpoints may share: an SST.
    Shared,
    /// A file of this checkpoint only: `MANIFEST`, `CURRENT`, `OPTIONS`.
    Private,
    /// A changelog (DSTL) file.
    Changelog,
    /// Directory of private merged files of a TaskManager.
    TaskOwnedDir,
    /// Directory of shared merged files of a subtask.
    SharedDir,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.state {
            StateKind::Coordinator => "coordinator",
            StateKind::ManagedOperator => "managed_operator",
            StateKind::RawOperator => "raw_operator",
            StateKind::ManagedKeyed => "managed_keyed",
            StateKind::RawKeyed => "raw_keyed",
            StateKind::InputChannel => "input_channel",
            StateKind::ResultSubpartition => "result_subpartition",
        })?;
        if self.materialized {
            f.write_str(".materialized")?;
        }
        f.write_str(match self.part {
            Part::Whole => "",
            Part::Meta => ".meta",
            Part::Shared => ".shared",
            Part::Private => ".private",
            Part::Changelog => ".changelog",
            Part::TaskOwnedDir => ".task_owned_dir",
            Part::SharedDir => ".shared_dir",
        })
    }
}

/// What a stream handle names, if anything.
pub(crate) fn of_stream<'a>(head: &StreamHead<'a>, around: &Around) -> Option<(Target<'a>, Extent)> {
    let extent = |size: Option<u64>| match size {
        None => Extent::Unknown,
        Some(size) if around.changelog_file => Extent::Changelog(size),
        Some(size) => Extent::Exact(size),
    };
    match *head {
        StreamHead::File { path, size } => Some((Target::Absolute(path), extent(size))),
        StreamHead::Relative { path, size } => Some((Target::Exclusive(path), extent(size))),
        StreamHead::Segment {
            path, start, size, ..
        } => {
            // Both come from non-negative i64, the sum fits.
            Some((Target::Absolute(path), Extent::AtLeast(start + size)))
        }
        StreamHead::Inline { .. } | StreamHead::EmptySegment | StreamHead::KeyGroups { .. } => None,
    }
}

pub(crate) fn reference<'a>(
    head: &StreamHead<'a>,
    around: &Around,
    at: StreamAt,
    operator: OperatorNo,
    subtask: Option<u32>,
) -> Option<Reference<'a>> {
    let (target, extent) = of_stream(head, around)?;
    let span = Span {
        start: at.tag,
        end: at.end,
    };
    Some(Reference {
        target,
        extent,
        role: around.role,
        operator,
        subtask,
        key_groups: around.key_groups,
        span,
    })
}
