//! A snapshot as one JSON document, in the form in which Flink's own classes were asked for it: handles with
//! Flink's class names, sizes as Flink sums them up, and every file with who needs it.
//!
//! The test corpus holds such documents printed by real Flink releases (`oracle.json`); the document made here must
//! equal them. It is also the most complete answer to "what is in this `_metadata`?".

use std::collections::{BTreeMap, BTreeSet};

use flink_checkpoint::{
    ChannelState, CheckpointProperties, DistributionMode, Extent, JavaStr, KeyGroups, Keyed, KeyedHead,
    Offsets, Operator, OperatorState, PostCheckpointAction, Scope, Snapshot, SnapshotType, Stream,
    StreamHead, Subtask, Target,
};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

mod flink_path;

use flink_path::{exclusive_directory, join};

/// The document of a snapshot.
///
/// `pointer` says where the snapshot lies: its directory, or its `_metadata` file. Relative handles are resolved
/// against that directory. It is a Flink path: scheme, not percent-encoded.
///
/// Text that has no UTF-8 form (Java strings can hold lone surrogates) is shown escaped.
pub fn document(snapshot: Snapshot<'_>, pointer: &str) -> Value {
    let page = Page {
        directory: exclusive_directory(pointer),
    };
    let complete = snapshot.complete();
    let operators: Vec<Value> = snapshot
        .operators()
        .map(|operator| page.operator(operator))
        .collect();
    let files = page.files(snapshot);
    let counts = complete.counts;
    let subtasks: usize = snapshot
        .operators()
        .map(|operator| operator.subtasks().count())
        .sum();
    let totals = json!({
        "operators": operators.len(),
        "subtasks": subtasks,
        "stream_handles": counts.files + counts.segments + counts.empty_segments + counts.inline,
        "inline_handles": counts.inline,
        "inline_bytes": counts.inline_bytes + counts.inline_changelog_bytes,
        "segment_handles": counts.segments + counts.empty_segments,
        "files": files.values().filter(|file| file.kind != "directory").count(),
        "directories": files.values().filter(|file| file.kind == "directory").count(),
        "referenced_bytes": files.values().map(|file| file.declared_size).fold(0, i64::saturating_add),
    });
    json!({
        "magic": "4960672d",
        "format_version": complete.format_version,
        "metadata_bytes": complete.bytes,
        "metadata_sha256": sha256(snapshot.bytes()),
        "checkpoint_id": complete.checkpoint_id,
        "properties": complete.properties.as_ref().map(properties),
        "master_states": snapshot.master_states().map(|state| json!({
            "name": text(state.name),
            "version": state.version,
            "bytes": state.payload.len(),
            "sha256": sha256(state.payload),
        })).collect::<Vec<_>>(),
        "operators": operators,
        "files": files.into_iter().map(|(uri, file)| json!({
            "uri": uri,
            "declared_size": file.declared_size,
            "kind": file.kind,
            "refs": file.refs,
            "handle_types": file.handle_types,
            "roles": file.roles,
        })).collect::<Vec<_>>(),
        "totals": totals,
    })
}

/// What all handles of one file say together.
#[derive(Default)]
struct File {
    declared_size: i64,
    kind: &'static str,
    refs: u64,
    handle_types: BTreeSet<&'static str>,
    roles: BTreeSet<String>,
}

struct Page {
    /// The exclusive directory, as Flink prints it.
    directory: String,
}

impl Page {
    fn files(&self, snapshot: Snapshot<'_>) -> BTreeMap<String, File> {
        let mut files: BTreeMap<String, File> = BTreeMap::new();
        snapshot.references(|reference| {
            let path = text(reference.target.path());
            let (uri, class) = match reference.target {
                Target::Exclusive(_) => (join(&self.directory, &path), "RelativeFileStateHandle"),
                Target::Directory(_) => (path, "DirectoryStreamStateHandle"),
                Target::Absolute(_) if matches!(reference.extent, Extent::AtLeast(_)) => {
                    (path, "SegmentFileStateHandle")
                }
                Target::Absolute(_) => (path, "FileStateHandle"),
            };
            let size = match reference.extent {
                Extent::Exact(size) | Extent::AtLeast(size) | Extent::Changelog(size) => signed(size),
                Extent::Unknown if class == "DirectoryStreamStateHandle" => 0,
                Extent::Unknown => -1,
            };
            let kind = match class {
                "DirectoryStreamStateHandle" => "directory",
                "SegmentFileStateHandle" => "segment",
                _ => "file",
            };
            let file = files.entry(uri).or_insert_with(|| File {
                declared_size: size,
                ..File::default()
            });
            file.declared_size = file.declared_size.max(size);
            file.kind = kind;
            file.refs += 1;
            file.handle_types.insert(class);
            file.roles.insert(reference.role.to_string());
        });
        files
    }

    fn operator(&self, operator: Operator<'_>) -> Value {
        let coordinator = operator.coordinator();
        let mut subtasks: Vec<Subtask<'_>> = operator.subtasks().collect();
        subtasks.sort_by_key(|subtask| subtask.head.index);
        json!({
            "operator_id": operator.head.id.to_string(),
            "uid": operator.head.uid.map(text),
            "name": operator.head.name.map(text),
            "parallelism": operator.head.parallelism,
            "max_parallelism": operator.head.max_parallelism,
            "fully_finished": operator.fully_finished,
            "coordinator_state_bytes": coordinator.map(stream_size),
            "coordinator_state": coordinator.map(|stream| self.stream(stream)),
            "subtasks": subtasks.into_iter().map(|subtask| self.subtask(subtask)).collect::<Vec<_>>(),
        })
    }

    fn subtask(&self, subtask: Subtask<'_>) -> Value {
        let operator = |state: Option<OperatorState<'_>>| {
            list(state.into_iter().map(|state| self.operator_state(state)))
        };
        let keyed = |state: Option<Keyed<'_>>| list(state.into_iter().map(|state| self.keyed(state)));
        let class = if subtask.head.finished {
            "FinishedOperatorSubtaskState"
        } else {
            "OperatorSubtaskState"
        };
        json!({
            "index": subtask.head.index,
            "finished": subtask.head.finished,
            "class": class,
            "managed_operator": operator(subtask.managed_operator()),
            "raw_operator": operator(subtask.raw_operator()),
            "managed_keyed": keyed(subtask.managed_keyed()),
            "raw_keyed": keyed(subtask.raw_keyed()),
            "input_channel": list(subtask.input_channels().map(|state| self.channel(state, true))),
            // Flink 2.3 has such state in memory, and no format to write it.
            "upstream_output_buffer": [],
            "result_subpartition": list(subtask.result_subpartitions().map(|state| self.channel(state, false))),
        })
    }

    fn operator_state(&self, state: OperatorState<'_>) -> Value {
        let mut states: Vec<_> = state.states().map(|state| (text(state.name), state)).collect();
        states.sort_by(|(a, _), (b, _)| a.cmp(b));
        let states = list(states.into_iter().map(|(name, state)| {
            let mode = match state.mode {
                DistributionMode::SplitDistribute => "SPLIT_DISTRIBUTE",
                DistributionMode::Union => "UNION",
                DistributionMode::Broadcast => "BROADCAST",
            };
            json!({ "name": name, "distribution_mode": mode, "offsets": offsets(state.offsets) })
        }));
        let class = match state.head.merged {
            None => "OperatorStreamStateHandle",
            Some(merged) if merged.is_empty => "EmptyFileMergingOperatorStreamStateHandle",
            Some(_) => "FileMergingOperatorStreamStateHandle",
        };
        let mut handle = json!({
            "class": class,
            "state_size": state.delegate().map_or(0, stream_size),
            "states": states,
            "delegate": self.optional(state.delegate()),
        });
        if let Some(merged) = state.head.merged {
            handle["task_owned_dir"] = directory(merged.task_owned);
            handle["shared_dir"] = directory(merged.shared);
        }
        handle
    }

    fn keyed(&self, state: Keyed<'_>) -> Value {
        let id = state.tail.state_handle_id.map(text);
        let groups = key_groups(state.head.key_groups());
        match state.head {
            KeyedHead::KeyGroups {
                savepoint,
                offsets: positions,
                ..
            } => json!({
                "class": if savepoint { "KeyGroupsSavepointStateHandle" } else { "KeyGroupsStateHandle" },
                "state_size": keyed_size(state),
                "key_group_range": groups,
                "offsets": offsets(positions),
                "state_handle_id": id,
                "delegate": self.optional(state.delegate()),
            }),
            KeyedHead::Incremental {
                checkpoint_id,
                backend_id,
                checkpointed_size,
                ..
            } => json!({
                "class": "IncrementalRemoteKeyedStateHandle",
                "backend_id": text(backend_id),
                "key_group_range": groups,
                "checkpoint_id": checkpoint_id,
                "checkpointed_size": checkpointed_size,
                "state_size": keyed_size(state),
                "state_handle_id": id,
                "meta": self.optional(state.meta()),
                "shared": self.named(state.shared()),
                "private": self.named(state.private()),
            }),
            KeyedHead::Changelog {
                checkpointed_size, ..
            } => json!({
                "class": "ChangelogStateBackendHandleImpl",
                "key_group_range": groups,
                "materialization_id": state.tail.materialization_id,
                "checkpoint_id": state.tail.checkpoint_id,
                "checkpointed_size": checkpointed_size,
                "state_size": keyed_size(state),
                "state_handle_id": id,
                "materialized": list(state.materialized().map(|handle| self.keyed(handle))),
                "non_materialized": list(state.non_materialized().map(|handle| self.keyed(handle))),
            }),
            KeyedHead::ChangelogInline(log) => json!({
                "class": "InMemoryChangelogStateHandle",
                "key_group_range": groups,
                "from": log.from,
                "to": log.to,
                "state_size": keyed_size(state),
                "state_handle_id": log.state_handle_id.map(text),
                "changes": list(state.changes().map(
                    |change| json!({ "key_group": change.key_group, "bytes": change.bytes.len() }),
                )),
            }),
            KeyedHead::ChangelogFiles { .. } => json!({
                "class": "ChangelogStateHandleStreamImpl",
                "key_group_range": groups,
                "size": state.tail.size,
                "incremental_size": state.tail.incremental_size,
                "storage_identifier": state.tail.storage_identifier.map_or("filesystem".into(), text),
                "state_handle_id": id,
                "handles_and_offsets": list(state.changelog_files().map(
                    |file| json!({ "offset": file.offset, "handle": self.stream(file) }),
                )),
            }),
        }
    }

    fn channel(&self, state: ChannelState<'_>, input: bool) -> Value {
        let info = |gate_or_partition: i32, channel_or_subpartition: i32| {
            if input {
                json!({ "gate_idx": gate_or_partition, "input_channel_idx": channel_or_subpartition })
            } else {
                json!({ "partition_idx": gate_or_partition, "sub_partition_idx": channel_or_subpartition })
            }
        };
        let mut handle = Map::new();
        let class = match (state.head.channel, input) {
            (Some(_), true) => "InputChannelStateHandle",
            (Some(_), false) => "ResultSubpartitionStateHandle",
            (None, true) => "MergedInputChannelStateHandle",
            (None, false) => "MergedResultSubpartitionStateHandle",
        };
        handle.insert("class".into(), class.into());
        handle.insert("subtask_index".into(), state.head.subtask_index.into());
        handle.insert("size".into(), state.head.size.into());
        handle.insert("delegate".into(), self.optional(state.delegate()));
        if let Some(channel) = state.head.channel {
            handle.insert(
                "info".into(),
                info(channel.gate_or_partition, channel.channel_or_subpartition),
            );
            handle.insert("offsets".into(), offsets(channel.offsets));
        }
        if let Some(merged) = state.merged {
            handle.insert(
                "serialized_channel_offsets_bytes".into(),
                merged.encoded().len().into(),
            );
            let channels = state.channels().map(|channel| {
                json!({
                    "info": info(channel.gate_or_partition, channel.channel_or_subpartition),
                    "size": channel.size,
                    "offsets": offsets(channel.offsets),
                })
            });
            handle.insert("channels".into(), list(channels));
        }
        handle.into()
    }

    /// Streams with the names that the backend knows them by, sorted by these.
    fn named<'a>(&self, streams: impl Iterator<Item = Stream<'a>>) -> Value {
        let mut named: Vec<_> = streams
            .map(|stream| (stream.local_path.map(text).unwrap_or_default(), stream))
            .collect();
        named.sort_by(|(a, _), (b, _)| a.cmp(b));
        list(
            named
                .into_iter()
                .map(|(path, stream)| json!({ "local_path": path, "handle": self.stream(stream) })),
        )
    }

    fn optional(&self, stream: Option<Stream<'_>>) -> Value {
        stream.map_or(Value::Null, |stream| self.stream(stream))
    }

    fn stream(&self, stream: Stream<'_>) -> Value {
        match stream.head {
            StreamHead::Inline { name, bytes } => json!({
                "class": "ByteStreamStateHandle",
                "handle_name": text(name),
                "inline_bytes": bytes.len(),
                "sha256": sha256(bytes),
            }),
            StreamHead::File { path, .. } => json!({
                "class": "FileStateHandle",
                "path": text(path),
                "state_size": stream_size(stream),
            }),
            StreamHead::Relative { path, .. } => json!({
                "class": "RelativeFileStateHandle",
                "relative_path": text(path),
                "path": join(&self.directory, &text(path)),
                "state_size": stream_size(stream),
            }),
            StreamHead::Segment {
                path,
                start,
                scope,
                logical_file_id,
                ..
            } => json!({
                "class": "SegmentFileStateHandle",
                "path": text(path),
                "start_pos": start,
                "state_size": stream_size(stream),
                "scope": match scope { Scope::Exclusive => "EXCLUSIVE", Scope::Shared => "SHARED" },
                "logical_file_id": text(logical_file_id),
            }),
            // What Flink's class says of itself; none of it is in the file.
            StreamHead::EmptySegment => json!({
                "class": "EmptySegmentFileStateHandle",
                "path": "empty",
                "start_pos": 0,
                "state_size": 0,
                "scope": "EXCLUSIVE",
                "logical_file_id": "DUMMY",
            }),
            StreamHead::KeyGroups {
                groups,
                offsets: positions,
            } => json!({
                "class": "KeyGroupsStateHandle",
                "state_size": stream_size(stream),
                "key_group_range": key_groups(groups),
                "offsets": offsets(positions),
                "state_handle_id": null,
                "delegate": self.optional(stream.delegate()),
            }),
        }
    }
}

fn properties(properties: &CheckpointProperties) -> Value {
    let (class, synchronous, format, sharing) = match &properties.snapshot_type {
        SnapshotType::Checkpoint { sharing, .. } => ("CheckpointType", false, None, sharing.name()),
        // The class of savepoints says NO_SHARING by itself.
        SnapshotType::Savepoint { format, then, .. } => (
            "SavepointType",
            *then != PostCheckpointAction::None,
            Some(format.name()),
            "NO_SHARING",
        ),
    };
    json!({
        "type_class": class,
        "type": properties.snapshot_type.name(),
        "savepoint": properties.snapshot_type.is_savepoint(),
        "synchronous": synchronous,
        "savepoint_format": format,
        "sharing_files_strategy": sharing,
        "forced": properties.forced,
        "discard_subsumed": properties.discard_subsumed,
        "discard_finished": properties.discard_finished,
        "discard_cancelled": properties.discard_cancelled,
        "discard_failed": properties.discard_failed,
        "discard_suspended": properties.discard_suspended,
        "unclaimed": properties.unclaimed,
    })
}

/// Size in bytes as Flink's `getStateSize` says it; -1 if a file's size is unknown.
fn stream_size(stream: Stream<'_>) -> i64 {
    let known = |size: Option<u64>| size.map_or(-1, signed);
    match stream.head {
        StreamHead::Inline { bytes, .. } => signed(bytes.len() as u64),
        StreamHead::File { size, .. } | StreamHead::Relative { size, .. } => known(size),
        StreamHead::Segment { size, .. } => signed(size),
        StreamHead::EmptySegment => 0,
        StreamHead::KeyGroups { .. } => stream.delegate().map_or(0, stream_size),
    }
}

/// As [`stream_size`]: the sum over what the handle has in it.
fn keyed_size(state: Keyed<'_>) -> i64 {
    let sum = |sizes: &mut dyn Iterator<Item = i64>| sizes.fold(0, i64::saturating_add);
    match state.head {
        KeyedHead::KeyGroups { .. } => state.delegate().map_or(0, stream_size),
        KeyedHead::Incremental { .. } => sum(&mut state
            .meta()
            .into_iter()
            .chain(state.shared())
            .chain(state.private())
            .map(stream_size)),
        KeyedHead::Changelog { .. } => sum(&mut state
            .materialized()
            .chain(state.non_materialized())
            .map(keyed_size)),
        KeyedHead::ChangelogInline(_) => {
            sum(&mut state.changes().map(|change| signed(change.bytes.len() as u64)))
        }
        KeyedHead::ChangelogFiles { .. } => state.tail.size.unwrap_or(0),
    }
}

fn signed(size: u64) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

fn key_groups(groups: KeyGroups) -> Value {
    let end = i64::from(groups.start) + i64::from(groups.count) - 1;
    json!({ "start": groups.start, "end": end, "count": groups.count })
}

fn offsets(offsets: Offsets<'_>) -> Value {
    offsets.iter().collect::<Vec<i64>>().into()
}

fn directory(path: JavaStr<'_>) -> Value {
    json!({ "class": "DirectoryStreamStateHandle", "path": text(path) })
}

fn list(values: impl Iterator<Item = Value>) -> Value {
    values.collect::<Vec<_>>().into()
}

fn text(text: JavaStr<'_>) -> String {
    text.as_str().map_or_else(|| text.to_string(), Into::into)
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
