//! Operators: how much state each has, and how evenly it lies over subtasks and key groups.

use std::collections::BTreeMap;

use flink_checkpoint::{Keyed, KeyedHead};
use serde::Serialize;

use super::Document;
use crate::handles::{NONE, Names};
use crate::report::summary::Held;

/// So many subtasks, and so many ranges of key groups, are listed of one operator; more are counted.
const LISTED: usize = 1_024;
/// Flink's largest maximum parallelism (`KeyGroupRangeAssignment.UPPER_BOUND_MAX_PARALLELISM`).
const MOST_KEY_GROUPS: usize = 1 << 15;

/// One operator.
#[derive(Clone, Debug, Serialize)]
pub struct OperatorView {
    /// Position in the file, from 0.
    pub number: u32,
    /// Id, 32 hex digits.
    pub id: String,
    /// Uid; `None` if the job sets none or before format 5 (Flink 2.0).
    pub uid: Option<String>,
    /// Name; `None` before format 5 (Flink 2.0).
    pub name: Option<String>,
    /// Parallelism.
    pub parallelism: i32,
    /// Maximum parallelism: the number of key groups.
    pub max_parallelism: i32,
    /// Whether all its subtasks had finished.
    pub finished: bool,
    /// Stored subtasks that had finished.
    pub finished_subtasks: u64,
    /// Bytes of its coordinator's state, which lie in `_metadata`; `None` if it has none.
    pub coordinator_bytes: Option<u64>,
    /// State by kind, as the summary has it.
    pub state_by_kind: BTreeMap<&'static str, Held>,
    /// Bytes of all its state, inlined ones too. An object counts once for each kind of state.
    pub bytes: u64,
    /// Handles that name an object or a directory.
    pub handles: u64,
    /// Subtasks with state, in order; at most 1,024.
    pub per_subtask: Vec<SubtaskView>,
    /// Subtasks that were left out there.
    pub subtasks_left_out: u64,
    /// How evenly the bytes lie over the subtasks; `None` without any.
    pub skew: Option<Skew>,
    /// Key-group ranges that handles name, with their bytes.
    pub per_key_group: Ranges,
}

/// State of one subtask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SubtaskView {
    /// Its index.
    pub subtask: u32,
    /// Bytes of its state, inlined ones too.
    pub bytes: u64,
    /// Handles that name an object or a directory.
    pub handles: u64,
}

/// How evenly bytes lie over subtasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Skew {
    /// The subtask with the least, and its bytes.
    pub least: (u32, u64),
    /// The bytes of the one in the middle.
    pub median: u64,
    /// The subtask with the most, and its bytes.
    pub most: (u32, u64),
}

/// Ranges of key groups, side by side: from, to (inclusive) and bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Ranges {
    /// First key groups.
    pub from: Vec<u32>,
    /// Last key groups.
    pub to: Vec<u32>,
    /// Bytes of handles with exactly this range.
    pub bytes: Vec<u64>,
    /// Ranges that were left out.
    pub left_out: u64,
}

/// The bytes of each key group of one operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyGroupBytes {
    /// Position of the operator in the file.
    pub operator: u32,
    /// Maximum parallelism: the number of key groups.
    pub max_parallelism: i32,
    /// By key group.
    pub bytes: Vec<u64>,
    /// How many of all these bytes are known by key group, from the positions in the file.
    pub exact: u64,
    /// How many were spread evenly over the range of their handle, since files of RocksDB don't say more.
    pub spread: u64,
}

impl Document {
    /// All operators, in the order of the file.
    pub fn operators(&self) -> Vec<OperatorView> {
        let count = self.summary.operators.len();
        let mut subtasks: Vec<BTreeMap<u32, (u64, u64)>> = vec![BTreeMap::new(); count];
        let mut ranges: Vec<BTreeMap<(u32, u32), u64>> = vec![BTreeMap::new(); count];
        let mut handles = vec![0u64; count];
        for row in self.handles.all() {
            let operator = row.operator as usize;
            let (Some(subtasks), Some(ranges), Some(handles)) = (
                subtasks.get_mut(operator),
                ranges.get_mut(operator),
                handles.get_mut(operator),
            ) else {
                continue;
            };
            *handles += 1;
            let bytes = if row.counts() {
                row.state_bytes(&self.bytes).unwrap_or(0)
            } else {
                0
            };
            if row.subtask != NONE {
                let subtask = subtasks.entry(row.subtask).or_default();
                subtask.0 = subtask.0.saturating_add(bytes);
                subtask.1 += 1;
            }
            if let Some(groups) = row.key_groups().filter(|groups| groups.count > 0)
                && row.names() != Names::Directory
            {
                let last = groups.start.saturating_add(groups.count - 1);
                let range = ranges.entry((groups.start, last)).or_default();
                *range = range.saturating_add(bytes);
            }
        }
        for inline in self.handles.inlined() {
            if let Some(subtasks) = subtasks.get_mut(inline.operator as usize)
                && inline.subtask != NONE
            {
                let subtask = subtasks.entry(inline.subtask).or_default();
                subtask.0 = subtask.0.saturating_add(inline.bytes);
            }
        }
        let parts = subtasks.into_iter().zip(ranges).zip(handles);
        let operators = self.summary.operators.iter().zip(parts);
        (0..)
            .zip(operators)
            .map(|(number, (operator, ((subtasks, ranges), handles)))| {
                let bytes = operator.state.values().fold(0u64, |sum, held| {
                    sum.saturating_add(held.bytes).saturating_add(held.inlined_bytes)
                });
                OperatorView {
                    number,
                    id: operator.id.clone(),
                    uid: operator.uid.clone(),
                    name: operator.name.clone(),
                    parallelism: operator.parallelism,
                    max_parallelism: operator.max_parallelism,
                    finished: operator.fully_finished,
                    finished_subtasks: operator.finished_subtasks,
                    coordinator_bytes: operator.state.get("coordinator").map(|held| held.inlined_bytes),
                    state_by_kind: operator.state.clone(),
                    bytes,
                    handles,
                    skew: skew(&subtasks),
                    subtasks_left_out: subtasks.len().saturating_sub(LISTED) as u64,
                    per_subtask: subtasks
                        .into_iter()
                        .take(LISTED)
                        .map(|(subtask, (bytes, handles))| SubtaskView {
                            subtask,
                            bytes,
                            handles,
                        })
                        .collect(),
                    per_key_group: listed(ranges),
                }
            })
            .collect()
    }

    /// The bytes of each key group of an operator. `None`: there is no such operator.
    pub fn key_groups(&self, operator: u32) -> Option<KeyGroupBytes> {
        let head = self.summary.operators.get(operator as usize)?;
        let count = usize::try_from(head.max_parallelism)
            .unwrap_or(0)
            .min(MOST_KEY_GROUPS);
        let mut groups = KeyGroupBytes {
            operator,
            max_parallelism: head.max_parallelism,
            bytes: vec![0; count],
            exact: 0,
            spread: 0,
        };
        // Handles whose positions say more than their range. The file was the index's before.
        let snapshot = self.index.view(&self.bytes).ok()?;
        let mut known = std::collections::HashSet::new();
        let subtasks = snapshot
            .operators()
            .find(|o| o.no.0 == operator)
            .into_iter()
            .flat_map(flink_checkpoint::Operator::subtasks);
        for subtask in subtasks {
            let mut left: Vec<Keyed<'_>> = subtask
                .managed_keyed()
                .into_iter()
                .chain(subtask.raw_keyed())
                .collect();
            while let Some(handle) = left.pop() {
                if let KeyedHead::KeyGroups {
                    groups: range,
                    offsets,
                    ..
                } = handle.head
                    && let Some(delegate) = handle.delegate()
                    && let Some(size) = stream_size(delegate)
                {
                    known.insert(delegate.span.start);
                    groups.by_offsets(range.start, offsets, size);
                }
                if matches!(handle.head, KeyedHead::Changelog { .. }) {
                    left.extend(handle.materialized());
                    left.extend(handle.non_materialized());
                }
            }
        }
        let rows = self.handles.all().iter();
        for row in rows.filter(|row| row.operator == operator && row.counts()) {
            if let Some(range) = row.key_groups()
                && let Some(bytes) = row.state_bytes(&self.bytes)
                && !known.contains(&row.span().start)
            {
                groups.evenly(range.start, range.count, bytes);
            }
        }
        Some(groups)
    }
}

impl KeyGroupBytes {
    fn add(&mut self, group: u32, bytes: u64) {
        if let Some(sum) = self.bytes.get_mut(group as usize) {
            *sum = sum.saturating_add(bytes);
        }
    }

    /// Each group reaches from its position to the next higher one. A group without data has the position of another, or a negative one.
    fn by_offsets(&mut self, start: u32, offsets: flink_checkpoint::Offsets<'_>, size: u64) {
        let at: Vec<u64> = offsets
            .iter()
            .take(MOST_KEY_GROUPS)
            .map(|offset| u64::try_from(offset).unwrap_or(size).min(size))
            .collect();
        let mut sorted = at.clone();
        sorted.sort_unstable();
        sorted.dedup();
        let mut taken = vec![false; sorted.len()];
        for (group, offset) in (start..).zip(at) {
            let Ok(place) = sorted.binary_search(&offset) else {
                continue;
            };
            if taken
                .get_mut(place)
                .is_none_or(|taken| std::mem::replace(taken, true))
            {
                continue;
            }
            let end = sorted.get(place + 1).copied().unwrap_or(size);
            self.add(group, end - offset);
            self.exact = self.exact.saturating_add(end - offset);
        }
    }

    fn evenly(&mut self, start: u32, count: u32, bytes: u64) {
        if count == 0 || start as usize >= self.bytes.len() {
            return;
        }
        self.spread = self.spread.saturating_add(bytes);
        let each = bytes / u64::from(count);
        let rest = bytes % u64::from(count);
        let within = u32::try_from(self.bytes.len() - start as usize).unwrap_or(u32::MAX);
        for n in 0..count.min(within) {
            self.add(start + n, each + u64::from(u64::from(n) < rest));
        }
    }
}

fn stream_size(stream: flink_checkpoint::Stream<'_>) -> Option<u64> {
    use flink_checkpoint::StreamHead;
    match stream.head {
        StreamHead::Inline { bytes, .. } => Some(bytes.len() as u64),
        StreamHead::File { size, .. } | StreamHead::Relative { size, .. } => size,
        StreamHead::Segment { size, .. } => Some(size),
        StreamHead::EmptySegment | StreamHead::KeyGroups { .. } => None,
    }
}

fn skew(subtasks: &BTreeMap<u32, (u64, u64)>) -> Option<Skew> {
    let mut bytes: Vec<(u64, u32)> = subtasks
        .iter()
        .map(|(subtask, (bytes, _))| (*bytes, *subtask))
        .collect();
    bytes.sort_unstable();
    let (least, most) = (*bytes.first()?, *bytes.last()?);
    Some(Skew {
        least: (least.1, least.0),
        median: bytes.get(bytes.len() / 2)?.0,
        most: (most.1, most.0),
    })
}

fn listed(ranges: BTreeMap<(u32, u32), u64>) -> Ranges {
    let mut listed = Ranges {
        left_out: ranges.len().saturating_sub(LISTED) as u64,
        ..Ranges::default()
    };
    for ((from, to), bytes) in ranges.into_iter().take(LISTED) {
        listed.from.push(from);
        listed.to.push(to);
        listed.bytes.push(bytes);
    }
    listed
}
