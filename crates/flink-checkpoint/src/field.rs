//! The names of what lies in a file: used by errors ("while reading …") and by field spans.

use std::fmt;

macro_rules! fields {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// One field of a file. `Display` gives the words for a person.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Field {
            $($(#[$doc])* $name,)*
        }

        impl fmt::Display for Field {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self { $(Field::$name => $text,)* })
            }
        }
    };
}

fields! {
    /// The first four bytes of `_metadata`.
    Magic = "the magic number",
    /// Format version of `_metadata`.
    FormatVersion = "the format version",
    /// Id of the checkpoint or savepoint.
    CheckpointId = "the checkpoint id",
    /// Number of master states.
    MasterStateCount = "the number of master states",
    /// Magic number of a master state.
    MasterStateMagic = "the magic number of a master state",
    /// Length of a master state.
    MasterStateLength = "the length of a master state",
    /// Serializer version of a master state.
    MasterStateVersion = "the version of a master state",
    /// Name of a master state.
    MasterStateName = "the name of a master state",
    /// Payload length of a master state.
    MasterStatePayloadLength = "the payload length of a master state",
    /// Payload of a master state.
    MasterStatePayload = "the payload of a master state",
    /// Number of operators.
    OperatorCount = "the number of operators",
    /// Name of an operator (format 5 and newer).
    OperatorName = "the operator name",
    /// Uid of an operator (format 5 and newer).
    OperatorUid = "the operator uid",
    /// Id of an operator.
    OperatorId = "the operator id",
    /// Parallelism of an operator.
    Parallelism = "the parallelism",
    /// Maximum parallelism of an operator.
    MaxParallelism = "the maximum parallelism",
    /// A field of format 2 that is always 1.
    ChainLength = "the chain length",
    /// Tag of the coordinator state.
    CoordinatorTag = "the tag of the coordinator state",
    /// Number of stored subtasks; negative for a finished operator.
    SubtaskCount = "the number of subtasks",
    /// Index of a subtask; negative for a finished one.
    SubtaskIndex = "the subtask index",
    /// A field of format 2 that is always -1.
    LegacyDuration = "the unused first field of a subtask state",
    /// Number of handles that releases before 1.3 wrote.
    LegacyStateCount = "the number of legacy state handles",
    /// Whether there is managed operator state.
    HasManagedOperatorState = "the mark of managed operator state",
    /// Whether there is raw operator state.
    HasRawOperatorState = "the mark of raw operator state",
    /// Tag of an operator state handle.
    OperatorStateTag = "the tag of an operator state handle",
    /// Tag of a keyed state handle.
    KeyedTag = "the tag of a keyed state handle",
    /// Tag of a stream state handle.
    StreamTag = "the tag of a stream state handle",
    /// Tag of a channel state handle (format 6 and newer).
    ChannelTag = "the tag of a channel state handle",
    /// Number of input channel handles.
    InputChannelCount = "the number of input channel handles",
    /// Number of result subpartition handles.
    OutputChannelCount = "the number of result subpartition handles",
    /// Whether a checkpoint id follows (format 7).
    ReferenceCheckpointMark = "the mark of a reference checkpoint",
    /// The checkpoint whose files this subtask uses (format 7).
    ReferenceCheckpointId = "the reference checkpoint id",
    /// First key group of a handle.
    KeyGroupStart = "the first key group",
    /// Number of key groups of a handle.
    KeyGroupCount = "the number of key groups",
    /// Positions inside an object, 8 bytes each.
    Offsets = "offsets",
    /// Number of offsets.
    OffsetCount = "the number of offsets",
    /// Id under which a backend took its snapshot.
    BackendCheckpointId = "the checkpoint id of a keyed state handle",
    /// Id of the keyed backend.
    BackendId = "the backend id",
    /// Bytes that the checkpoint added.
    CheckpointedSize = "the checkpointed size",
    /// Number of shared files.
    SharedCount = "the number of shared files",
    /// Number of private files.
    PrivateCount = "the number of private files",
    /// Name of a file as the backend knows it.
    LocalPath = "a local file name",
    /// Id of a state handle.
    StateHandleId = "the state handle id",
    /// Number of materialized handles.
    MaterializedCount = "the number of materialized handles",
    /// Number of changelog handles.
    NonMaterializedCount = "the number of changelog handles",
    /// Id of the materialization.
    MaterializationId = "the materialization id",
    /// First sequence number of a changelog.
    SequenceFrom = "the first sequence number",
    /// Last sequence number of a changelog.
    SequenceTo = "the last sequence number",
    /// Number of changes.
    ChangeCount = "the number of changes",
    /// Key group of a change.
    ChangeKeyGroup = "the key group of a change",
    /// Length of a change.
    ChangeLength = "the length of a change",
    /// Bytes of a change.
    Change = "a change",
    /// Number of changelog files.
    ChangelogFileCount = "the number of changelog files",
    /// Position in a changelog file.
    ChangelogOffset = "the offset in a changelog file",
    /// Size of a changelog handle.
    ChangelogSize = "the size of a changelog handle",
    /// Incremental size of a changelog handle.
    IncrementalSize = "the incremental size",
    /// Name of the changelog storage.
    StorageIdentifier = "the storage identifier",
    /// Number of named states.
    StateCount = "the number of operator states",
    /// Name of an operator state.
    StateName = "the name of an operator state",
    /// How list elements are spread over subtasks.
    DistributionMode = "the distribution mode",
    /// Directory of files that belong to the TaskManager.
    TaskOwnedDirectory = "the task-owned directory",
    /// Directory of shared files.
    SharedDirectory = "the shared directory",
    /// Whether a merged operator state is empty.
    IsEmpty = "the mark of an empty operator state",
    /// Name of an inlined state.
    InlineName = "the name of inlined state",
    /// Length of an inlined state.
    InlineLength = "the length of inlined state",
    /// Inlined bytes.
    InlineBytes = "inlined state",
    /// Size of a state object.
    StateSize = "the state size",
    /// Absolute path of an object.
    Path = "a path",
    /// Path below the directory of `_metadata`.
    RelativePath = "a relative path",
    /// First byte of a segment.
    SegmentStart = "the start of a segment",
    /// Scope of a segment.
    SegmentScope = "the scope of a segment",
    /// Id of a logical file.
    LogicalFileId = "the logical file id",
    /// Subtask of a channel handle.
    ChannelSubtask = "the subtask index of a channel handle",
    /// Input gate or result partition.
    GateOrPartition = "the gate or partition index",
    /// Input channel or subpartition.
    ChannelOrSubpartition = "the channel or subpartition index",
    /// Size of channel state.
    ChannelStateSize = "the size of channel state",
    /// Length of the offsets of a merged channel handle.
    MergedOffsetsLength = "the length of merged channel offsets",
    /// Number of channels in a merged channel handle.
    MergedChannelCount = "the number of merged channels",
    /// The Java object stream at the end.
    Properties = "the checkpoint properties",
    /// The end of the file.
    End = "the end of the file",
}
