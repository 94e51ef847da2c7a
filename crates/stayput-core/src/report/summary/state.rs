//! Operators and how much state each has.

use std::collections::BTreeMap;

use flink_checkpoint::{Extent, Keyed, KeyedHead, Snapshot, StateKind, Subtask};
use serde::Serialize;

use super::text;
use crate::handles::{Handles, Names};
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

pub(super) fn walk(snapshot: Snapshot<'_>, handles: &Handles) -> Walked {
    let counts = snapshot.complete().counts;
    let mut seen = Seen {
        merging: counts.segments + counts.empty_segments > 0,
        forst: handles
            .places()
            .iter()
            .any(|lies| is_forst_database(&format!("{}/x", lies.directory))),
        ..Seen::default()
    };
    let mut kinds: Vec<ByKind> = Vec::new();
    let mut operators = Vec::new();
    for operator in snapshot.operators() {
        let (mut subtasks, mut finished_subtasks) = (0, 0);
        for subtask in operator.subtasks() {
            subtasks += 1;
            finished_subtasks += u64::from(subtask.head.finished);
            notice(subtask, &mut seen);
        }
        seen.finished |= operator.fully_finished || finished_subtasks > 0;
        kinds.push(ByKind::default());
        operators.push(Operator {
            id: operator.head.id.to_string(),
            uid: operator.head.uid.map(text),
            name: operator.head.name.map(text),
            parallelism: operator.head.parallelism,
            max_parallelism: operator.head.max_parallelism,
            subtasks,
            finished_subtasks,
            fully_finished: operator.fully_finished,
            state: BTreeMap::new(),
        });
    }
    let total = named(held(snapshot.bytes(), handles, &mut kinds));
    for (operator, state) in operators.iter_mut().zip(kinds) {
        operator.state = named(state);
    }
    Walked {
        operators,
        total,
        seen,
    }
}

/// What one operator holds, by kind of state; `None` where it has no handle of that kind.
type ByKind = [Option<Held>; KINDS.len()];

const KINDS: [StateKind; 7] = [
    StateKind::Coordinator,
    StateKind::ManagedOperator,
    StateKind::RawOperator,
    StateKind::ManagedKeyed,
    StateKind::RawKeyed,
    StateKind::InputChannel,
    StateKind::ResultSubpartition,
];

fn add(to: Option<&mut ByKind>, state: StateKind, held: Held) {
    if let Some(kind) = to.and_then(|kinds| kinds.get_mut(state as usize)) {
        kind.get_or_insert_default().add(held);
    }
}

fn named(kinds: ByKind) -> BTreeMap<&'static str, Held> {
    let held = KINDS.into_iter().zip(kinds);
    held.filter_map(|(kind, held)| Some((kind_name(kind), held?)))
        .collect()
}

/// Adds up the state of each operator by kind, and that of all together, where an object counts once for each kind.
fn held(bytes: &[u8], handles: &Handles, by_operator: &mut [ByKind]) -> ByKind {
    let mut total = ByKind::default();
    // By object, the kinds that have counted it.
    let mut counted = vec![0u8; handles.objects()];
    for row in handles.all().iter().filter(|row| row.names() != Names::Directory) {
        let state = row.role().state;
        let whole = !matches!(row.extent(), Extent::AtLeast(_));
        let unknown = u64::from(row.size().is_none());
        let length = row.state_bytes(bytes).unwrap_or(0);
        let held = |first: bool| Held {
            bytes: if first || !whole { length } else { 0 },
            objects: u64::from(first),
            inlined_bytes: 0,
            of_unknown_length: if first { unknown } else { 0 },
        };
        add(
            by_operator.get_mut(row.operator as usize),
            state,
            held(row.first()),
        );
        let kind = 1 << state as u8;
        if let Some(object) = counted.get_mut(row.object as usize) {
            let first = *object & kind == 0;
            *object |= kind;
            add(Some(&mut total), state, held(first));
        }
    }
    for inline in handles.inlined() {
        let held = Held {
            inlined_bytes: inline.bytes,
            ..Held::default()
        };
        let state = inline.role().state;
        add(by_operator.get_mut(inline.operator as usize), state, held);
        add(Some(&mut total), state, held);
    }
    total
}

/// The name of a kind of state, as the document has it.
pub(crate) fn kind_name(state: StateKind) -> &'static str {
    match state {
        StateKind::Coordinator => "coordinator",
        StateKind::ManagedOperator => "managed_operator",
        StateKind::RawOperator => "raw_operator",
        StateKind::ManagedKeyed => "managed_keyed",
        StateKind::RawKeyed => "raw_keyed",
        StateKind::InputChannel => "input_channel",
        StateKind::ResultSubpartition => "result_subpartition",
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
        // No other handle has keyed state in it, and looking for some would go through all its files.
        if matches!(handle.head, KeyedHead::Changelog { .. }) {
            left.extend(handle.materialized());
            left.extend(handle.non_materialized());
        }
    }
}
