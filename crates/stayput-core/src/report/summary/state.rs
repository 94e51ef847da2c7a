//! Operators and how much state each has.

use std::collections::{BTreeMap, HashSet};

use flink_checkpoint::{Keyed, KeyedHead, Snapshot, Stream, StreamHead, Subtask};
use serde::Serialize;

use super::text;
use crate::layout::is_forst_database;

/// State of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Held {
    /// Bytes in objects: of each object that is named as a whole its length, once; of merged objects the parts.
    pub bytes: u64,
    /// Objects that hold them, each once.
    pub objects: u64,
    /// Bytes in `_metadata` itself.
    pub inlined_bytes: u64,
    /// Objects whose length isn't recorded; their bytes are missing above.
    pub of_unknown_length: u64,
}

impl Held {
    fn add(&mut self, other: Held) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.objects += other.objects;
        self.inlined_bytes = self.inlined_bytes.saturating_add(other.inlined_bytes);
        self.of_unknown_length += other.of_unknown_length;
    }
}

/// One operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Operator {
    /// Id, 32 hex digits.
    pub id: String,
    /// Uid; `None` if the job doesn't set it or before format 5 (Flink 2.0).
    pub uid: Option<String>,
    /// Name; `None` before format 5 (Flink 2.0).
    pub name: Option<String>,
    /// Parallelism.
    pub parallelism: i32,
    /// Maximum parallelism: the number of key groups.
    pub max_parallelism: i32,
    /// Subtasks that are stored.
    pub subtasks: u64,
    /// Those of them that had finished.
    pub finished_subtasks: u64,
    /// Whether all had finished; then it has no state.
    pub fully_finished: bool,
    /// Its state, by kind: `coordinator`, `managed_operator`, `raw_operator`, `managed_keyed`, `raw_keyed`, `input_channel`,
    /// `result_subpartition`. An object that several operators share counts for each.
    pub state: BTreeMap<&'static str, Held>,
}

/// What was met on the way.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) incremental: bool,
    pub(super) forst: bool,
    pub(super) full: bool,
    pub(super) raw_keyed: bool,
    pub(super) changelog: bool,
    pub(super) changelog_in_memory: bool,
    pub(super) merging: bool,
    pub(super) unaligned: bool,
    pub(super) merged_channels: bool,
    pub(super) finished: bool,
    pub(super) key_groups_savepoint: bool,
    pub(super) keyed_with_id: bool,
    pub(super) keyed_without_id: bool,
}

pub(super) struct Walked {
    pub(super) operators: Vec<Operator>,
    pub(super) total: BTreeMap<&'static str, Held>,
    pub(super) seen: Seen,
}

pub(super) fn walk(snapshot: Snapshot<'_>) -> Walked {
    let mut walked = Walked {
        operators: Vec::new(),
        total: BTreeMap::new(),
        seen: Seen::default(),
    };
    let mut everywhere = Kinds::default();
    for operator in snapshot.operators() {
        let mut kinds = Kinds::default();
        let mut scale = |kind, stream| {
            kinds.stream(kind, stream, &mut walked.seen);
            everywhere.stream(kind, stream, &mut walked.seen);
        };
        if let Some(stream) = operator.coordinator() {
            scale("coordinator", stream);
        }
        let (mut subtasks, mut finished_subtasks) = (0, 0);
        let mut inline_changelogs = Vec::new();
        for subtask in operator.subtasks() {
            subtasks += 1;
            finished_subtasks += u64::from(subtask.head.finished);
            streams_of(subtask, &mut scale, &mut |kind, bytes| {
                inline_changelogs.push((kind, bytes));
            });
        }
        for (kind, bytes) in inline_changelogs {
            kinds.inlined(kind, bytes);
            everywhere.inlined(kind, bytes);
        }
        for subtask in operator.subtasks() {
            notice(subtask, &mut walked.seen);
        }
        walked.seen.finished |= operator.fully_finished || finished_subtasks > 0;
        walked.operators.push(Operator {
            id: operator.head.id.to_string(),
            uid: operator.head.uid.map(text),
            name: operator.head.name.map(text),
            parallelism: operator.head.parallelism,
            max_parallelism: operator.head.max_parallelism,
            subtasks,
            finished_subtasks,
            fully_finished: operator.fully_finished,
            state: kinds.held,
        });
    }
    walked.total = everywhere.held;
    walked
}

/// Every stream of a subtask, by kind of state, and the inlined changelogs.
fn streams_of<'a>(
    subtask: Subtask<'a>,
    stream: &mut impl FnMut(&'static str, Stream<'a>),
    inline_changelog: &mut impl FnMut(&'static str, u64),
) {
    let operator_states = [
        ("managed_operator", subtask.managed_operator()),
        ("raw_operator", subtask.raw_operator()),
    ];
    for (kind, state) in operator_states {
        if let Some(delegate) = state.and_then(flink_checkpoint::OperatorState::delegate) {
            stream(kind, delegate);
        }
    }
    let keyed_states = [
        ("managed_keyed", subtask.managed_keyed()),
        ("raw_keyed", subtask.raw_keyed()),
    ];
    for (kind, state) in keyed_states {
        // Handles lie in each other no deeper than the limit of the reader.
        let mut left: Vec<Keyed<'a>> = state.into_iter().collect();
        while let Some(handle) = left.pop() {
            handle
                .delegate()
                .into_iter()
                .chain(handle.meta())
                .chain(handle.shared())
                .chain(handle.private())
                .chain(handle.changelog_files())
                .for_each(|file| stream(kind, file));
            let changes: u64 = handle.changes().map(|change| change.bytes.len() as u64).sum();
            if matches!(handle.head, KeyedHead::ChangelogInline(_)) {
                inline_changelog(kind, changes);
            }
            left.extend(handle.materialized());
            left.extend(handle.non_materialized());
        }
    }
    for channel in subtask.input_channels() {
        if let Some(delegate) = channel.delegate() {
            stream("input_channel", delegate);
        }
    }
    for channel in subtask.result_subpartitions() {
        if let Some(delegate) = channel.delegate() {
            stream("result_subpartition", delegate);
        }
    }
}

/// Notices the forms of state that a subtask has.
fn notice(subtask: Subtask<'_>, seen: &mut Seen) {
    for channel in subtask.input_channels().chain(subtask.result_subpartitions()) {
        seen.unaligned = true;
        seen.merged_channels |= channel.merged.is_some();
    }
    let merged = |state: Option<flink_checkpoint::OperatorState<'_>>| {
        state.is_some_and(|state| state.head.merged.is_some())
    };
    seen.merging |= merged(subtask.managed_operator()) || merged(subtask.raw_operator());
    seen.raw_keyed |= subtask.raw_keyed().is_some();
    let mut left: Vec<Keyed<'_>> = subtask.managed_keyed().into_iter().collect();
    while let Some(handle) = left.pop() {
        match handle.head {
            KeyedHead::KeyGroups { savepoint: true, .. } => seen.key_groups_savepoint = true,
            KeyedHead::KeyGroups { has_id, .. } => {
                seen.full = true;
                seen.keyed_with_id |= has_id;
                seen.keyed_without_id |= !has_id;
            }
            KeyedHead::Incremental { has_id, .. } => {
                seen.incremental = true;
                seen.keyed_with_id |= has_id;
                seen.keyed_without_id |= !has_id;
            }
            KeyedHead::Changelog { .. } | KeyedHead::ChangelogFiles { .. } => seen.changelog = true,
            KeyedHead::ChangelogInline(_) => {
                seen.changelog = true;
                seen.changelog_in_memory = true;
            }
        }
        left.extend(handle.materialized());
        left.extend(handle.non_materialized());
    }
}

/// Amounts by kind of state, objects counted once each.
#[derive(Default)]
struct Kinds<'a> {
    held: BTreeMap<&'static str, Held>,
    objects: HashSet<(&'static str, &'a [u8])>,
}

impl<'a> Kinds<'a> {
    fn inlined(&mut self, kind: &'static str, bytes: u64) {
        self.held.entry(kind).or_default().add(Held {
            inlined_bytes: bytes,
            ..Held::default()
        });
    }

    fn stream(&mut self, kind: &'static str, stream: Stream<'a>, seen: &mut Seen) {
        match stream.head {
            StreamHead::Inline { bytes, .. } => self.inlined(kind, bytes.len() as u64),
            StreamHead::File { path, size } | StreamHead::Relative { path, size } => {
                seen.forst |= path.as_str().is_some_and(|path| is_forst_database(&path));
                if self.objects.insert((kind, path.as_bytes())) {
                    self.held.entry(kind).or_default().add(Held {
                        bytes: size.unwrap_or(0),
                        objects: 1,
                        inlined_bytes: 0,
                        of_unknown_length: u64::from(size.is_none()),
                    });
                }
            }
            StreamHead::Segment { path, size, .. } => {
                seen.merging = true;
                let first = self.objects.insert((kind, path.as_bytes()));
                self.held.entry(kind).or_default().add(Held {
                    bytes: size,
                    objects: u64::from(first),
                    ..Held::default()
                });
            }
            StreamHead::EmptySegment => seen.merging = true,
            StreamHead::KeyGroups { .. } => {
                if let Some(delegate) = stream.delegate() {
                    self.stream(kind, delegate, seen);
                }
            }
        }
    }
}
