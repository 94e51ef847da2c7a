//! What one record of the file holds, borrowed from its bytes. These values are what the grammar reads; the
//! tree and the references are both made of them.

use std::fmt;

use crate::java::JavaStr;
use crate::span::Span;

/// Position of an operator in the file, from 0. Operators of one file are told apart by it; across files by
/// [`OperatorId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OperatorNo(pub u32);

impl fmt::Display for OperatorNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Id of an operator: 16 bytes in the order of the file. `Display` gives Flink's text form, 32 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OperatorId(pub [u8; 16]);

impl fmt::Display for OperatorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for OperatorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A range of key groups. `count` 0 is the empty range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct KeyGroups {
    /// First key group, not negative.
    pub start: u32,
    /// Number of key groups.
    pub count: u32,
}

/// 64-bit positions inside an object, still encoded.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Offsets<'a>(pub(crate) &'a [u8]);

impl<'a> Offsets<'a> {
    /// The positions in the order of the file, in bytes.
    pub fn iter(self) -> impl ExactSizeIterator<Item = i64> + 'a {
        self.0
            .as_chunks::<8>()
            .0
            .iter()
            .map(|&bytes| i64::from_be_bytes(bytes))
    }

    /// Their number.
    pub fn len(self) -> usize {
        self.0.len() / 8
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Offsets<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Named bytes that a master hook of the job wrote; they name no object that Flink knows of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MasterState<'a> {
    /// Version of the hook's serializer.
    pub version: i32,
    /// Name of the hook.
    pub name: JavaStr<'a>,
    /// What the hook wrote.
    pub payload: &'a [u8],
}

/// The beginning of an operator's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperatorHead<'a> {
    /// Name; `None` if unknown or before format 5 (Flink 2.0).
    pub name: Option<JavaStr<'a>>,
    /// Uid; `None` if the job doesn't set it or before format 5 (Flink 2.0).
    pub uid: Option<JavaStr<'a>>,
    /// Id.
    pub id: OperatorId,
    /// Parallelism; positive in files that Flink wrote.
    pub parallelism: i32,
    /// Maximum parallelism; 1 to 32,768 in files that Flink wrote.
    pub max_parallelism: i32,
}

/// The beginning of a subtask's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubtaskHead {
    /// Index of the subtask, from 0.
    pub index: u32,
    /// Whether it had finished (Flink 1.14 and newer); then it has no state.
    pub finished: bool,
}

/// State bytes somewhere: inlined, or an object, or a part of one. In Flink: `StreamStateHandle`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamHead<'a> {
    /// Tag 1: bytes inside `_metadata`. The name looks like a path, but there is no such object.
    Inline {
        /// Name.
        name: JavaStr<'a>,
        /// The state.
        bytes: &'a [u8],
    },
    /// Tag 2: an object, by absolute path.
    File {
        /// Path with scheme, not percent-encoded.
        path: JavaStr<'a>,
        /// Size in bytes; `None` if unknown.
        size: Option<u64>,
    },
    /// Tag 6 (Flink 1.11): an object in the directory of `_metadata`.
    Relative {
        /// Path below that directory; a UUID in files that Flink wrote.
        path: JavaStr<'a>,
        /// Size in bytes; `None` if unknown.
        size: Option<u64>,
    },
    /// Tag 15 (Flink 1.20): a part of an object that other handles share.
    Segment {
        /// Path of the object.
        path: JavaStr<'a>,
        /// First byte of the part.
        start: u64,
        /// Length of the part in bytes.
        size: u64,
        /// Who shares the object.
        scope: Scope,
        /// Id of the part.
        logical_file_id: JavaStr<'a>,
    },
    /// Tag 16 (Flink 1.20): no bytes.
    EmptySegment,
    /// Tag 3: key groups inside another stream (Flink 1.13). The stream follows as a delegate.
    KeyGroups {
        /// The key groups.
        groups: KeyGroups,
        /// Position of each key group in the delegate.
        offsets: Offsets<'a>,
    },
}

/// Scope of a merged file. In Flink: `CheckpointedStateScope`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One checkpoint.
    Exclusive,
    /// Several checkpoints.
    Shared,
}

/// How the elements of a list state are spread at a restore. In Flink: `OperatorStateHandle.Mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DistributionMode {
    /// Each element to one subtask.
    SplitDistribute,
    /// All elements to all subtasks.
    Union,
    /// The same to all subtasks.
    Broadcast,
}

/// One named state of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedState<'a> {
    /// Name.
    pub name: JavaStr<'a>,
    /// Distribution mode.
    pub mode: DistributionMode,
    /// Position of each element in the delegate, in bytes.
    pub offsets: Offsets<'a>,
}

/// Tags 4 and 17: list and broadcast state of an operator. The bytes follow as a delegate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperatorStateHead<'a> {
    pub(crate) states: &'a [u8],
    /// Number of named states.
    pub state_count: usize,
    /// Tag 17 only: its directories.
    pub merged: Option<MergedDirectories<'a>>,
}

impl<'a> OperatorStateHead<'a> {
    /// The named states, in the order of the file.
    pub fn states(&self) -> impl Iterator<Item = NamedState<'a>> {
        crate::snapshot::records_of(
            self.states,
            0,
            self.state_count,
            crate::grammar::records::named_state,
        )
    }
}

/// The directories of tag 17 (file merging, Flink 1.20).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergedDirectories<'a> {
    /// Directory of the TaskManager's private merged files, absolute.
    pub task_owned: JavaStr<'a>,
    /// Where that path lies.
    pub task_owned_span: Span,
    /// Directory of the subtask's shared merged files, absolute.
    pub shared: JavaStr<'a>,
    /// Where that path lies.
    pub shared_span: Span,
    /// Whether there is no operator state.
    pub is_empty: bool,
}

/// The beginning of a keyed state handle. Handles of other streams follow, then a [`KeyedTail`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyedHead<'a> {
    /// Tags 3, 7, 12: one stream that holds all key groups.
    KeyGroups {
        /// Tag 7: written by a canonical savepoint.
        savepoint: bool,
        /// Whether the state handle id is stored (tag 12, Flink 1.15).
        has_id: bool,
        /// The key groups.
        groups: KeyGroups,
        /// Position of each key group in the delegate.
        offsets: Offsets<'a>,
    },
    /// Tags 5, 11: the files of RocksDB or ForSt.
    Incremental {
        /// Whether size and state handle id are stored (tag 11, Flink 1.15).
        has_id: bool,
        /// Id under which the backend took the snapshot; can be older than the file's.
        checkpoint_id: i64,
        /// Id of the backend, a UUID in files of Flink 1.3 and newer.
        backend_id: JavaStr<'a>,
        /// The key groups.
        groups: KeyGroups,
        /// Bytes that this checkpoint added; `None` if not stored, -1 if unknown.
        checkpointed_size: Option<i64>,
    },
    /// Tags 8, 14: a materialized base and a log (changelog state backend, Flink 1.14).
    Changelog {
        /// Whether the checkpoint id is stored (tag 14, Flink 1.16).
        has_checkpoint_id: bool,
        /// The key groups.
        groups: KeyGroups,
        /// Bytes that this checkpoint added; `None` in files of Flink 1.14.
        checkpointed_size: Option<i64>,
    },
    /// Tag 9: a log inside `_metadata`.
    ChangelogInline(ChangelogInline<'a>),
    /// Tags 10, 13: a log in files.
    ChangelogFiles {
        /// Whether the storage identifier is stored (tag 13, Flink 1.16).
        has_storage: bool,
        /// The key groups.
        groups: KeyGroups,
    },
}

impl KeyedHead<'_> {
    /// The key groups of the handle.
    pub fn key_groups(&self) -> KeyGroups {
        match *self {
            KeyedHead::KeyGroups { groups, .. }
            | KeyedHead::Incremental { groups, .. }
            | KeyedHead::Changelog { groups, .. }
            | KeyedHead::ChangelogFiles { groups, .. } => groups,
            KeyedHead::ChangelogInline(ref log) => log.groups,
        }
    }
}

/// Tag 9: changes of the changelog storage "memory".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangelogInline<'a> {
    /// The key groups.
    pub groups: KeyGroups,
    /// First sequence number.
    pub from: i64,
    /// Sequence number behind the last.
    pub to: i64,
    /// Number of changes.
    pub change_count: usize,
    pub(crate) changes: &'a [u8],
    /// State handle id; `None` in files of Flink 1.14.
    pub state_handle_id: Option<JavaStr<'a>>,
}

/// One change of tag 9.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change<'a> {
    /// Key group; -1 for meta data.
    pub key_group: i32,
    /// The change.
    pub bytes: &'a [u8],
}

/// What follows after the inner handles of a keyed state handle. A field is `None` where the release didn't
/// store it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct KeyedTail<'a> {
    /// Id of the handle (Flink 1.15).
    pub state_handle_id: Option<JavaStr<'a>>,
    /// Changelog: id of the materialization (Flink 1.15).
    pub materialization_id: Option<i64>,
    /// Changelog: checkpoint id (Flink 1.16).
    pub checkpoint_id: Option<i64>,
    /// Changelog files: size in uncompressed bytes.
    pub size: Option<i64>,
    /// Changelog files: what this checkpoint added, uncompressed bytes (Flink 1.15).
    pub incremental_size: Option<i64>,
    /// Changelog files: name of the storage (Flink 1.16); before only `filesystem` could be meant.
    pub storage_identifier: Option<JavaStr<'a>>,
}

/// The beginning of a channel state handle (unaligned checkpoints, Flink 1.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelHead<'a> {
    /// Index of the subtask; `None` in files of Flink 1.11.
    pub subtask_index: Option<i32>,
    /// One channel's position; `None` in a merged handle (Flink 2.1), which has [`MergedChannels`] instead.
    pub channel: Option<Channel<'a>>,
    /// Size of the state in bytes (as Flink says it).
    pub size: i64,
}

/// One channel of a channel state handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel<'a> {
    /// Index of the input gate or result partition.
    pub gate_or_partition: i32,
    /// Index of the input channel or subpartition.
    pub channel_or_subpartition: i32,
    /// Size of its state in bytes; for a handle of one channel that of the handle.
    pub size: i64,
    /// Positions in the delegate.
    pub offsets: Offsets<'a>,
}

/// The channels of a merged channel state handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct MergedChannels<'a> {
    pub(crate) encoded: &'a [u8],
}

impl<'a> MergedChannels<'a> {
    /// Their encoded form.
    pub fn encoded(self) -> &'a [u8] {
        self.encoded
    }
}
