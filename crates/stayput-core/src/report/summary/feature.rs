//! What a snapshot tells about the configuration of its job.

use flink_checkpoint::{Complete, SavepointFormat, SnapshotType};
use serde::Serialize;

use super::state::Seen;

/// Something that can be recognised in a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Feature {
    /// Incremental keyed state: RocksDB or ForSt (tags 5 and 11).
    IncrementalKeyedState,
    /// Files of a ForSt database that lies in the checkpoint directory.
    Forst,
    /// Keyed state in one stream for each subtask (tags 3 and 12).
    FullKeyedState,
    /// Raw keyed state.
    RawKeyedState,
    /// Changelog state backend (tags 8 and 14).
    Changelog,
    /// Changes of the changelog in `_metadata` itself (tag 9).
    ChangelogInMemory,
    /// File merging (tags 15 to 17).
    FileMerging,
    /// Unaligned checkpoint with channel state.
    Unaligned,
    /// Channel state of several channels in one handle.
    MergedChannelState,
    /// Subtasks that had finished.
    FinishedTasks,
    /// A savepoint in canonical format.
    CanonicalSavepoint,
    /// A savepoint in native format.
    NativeSavepoint,
}

impl Feature {
    /// What it means for the job and its files, in one sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::IncrementalKeyedState => {
                "files of RocksDB or ForSt, as incremental checkpoints and native savepoints have them; those in shared/ can be as old as the job"
            }
            Self::Forst => "ForSt with its database in the checkpoint directory: shared/op_*/db/ is live",
            Self::FullKeyedState => "keyed state in whole: heap, or RocksDB without incremental checkpoints",
            Self::RawKeyedState => "raw keyed state, such as timers on the heap beside RocksDB",
            Self::Changelog => "changelog state backend: a materialized base and a log",
            Self::ChangelogInMemory => {
                "the changelog lies in _metadata itself (changelog storage \"memory\")"
            }
            Self::FileMerging => "file merging: one object holds state of many subtasks, in parts",
            Self::Unaligned => "unaligned: records in flight are part of it",
            Self::MergedChannelState => "channel state of several channels is merged",
            Self::FinishedTasks => "some subtasks had finished",
            Self::CanonicalSavepoint => "canonical savepoint: any state backend can read it",
            Self::NativeSavepoint => "native savepoint: only the same state backend can read it",
        }
    }
}

pub(super) fn all(seen: &Seen, complete: &Complete) -> Vec<Feature> {
    let format = match complete
        .properties
        .as_ref()
        .map(|properties| &properties.snapshot_type)
    {
        Some(SnapshotType::Savepoint { format, .. }) => Some(*format),
        Some(SnapshotType::Checkpoint { .. }) | None => None,
    };
    let all = [
        (seen.incremental, Feature::IncrementalKeyedState),
        (seen.forst, Feature::Forst),
        (seen.full, Feature::FullKeyedState),
        (seen.raw_keyed, Feature::RawKeyedState),
        (seen.changelog, Feature::Changelog),
        (seen.changelog_in_memory, Feature::ChangelogInMemory),
        (seen.merging, Feature::FileMerging),
        (seen.unaligned, Feature::Unaligned),
        (seen.merged_channels, Feature::MergedChannelState),
        (seen.finished, Feature::FinishedTasks),
        (
            format == Some(SavepointFormat::Canonical) || seen.key_groups_savepoint,
            Feature::CanonicalSavepoint,
        ),
        (format == Some(SavepointFormat::Native), Feature::NativeSavepoint),
    ];
    all.into_iter()
        .filter_map(|(is, feature)| is.then_some(feature))
        .collect()
}
