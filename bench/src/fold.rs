//! Visits every field of a snapshot's tree and folds it into one number, as a reader would that uses all of them.

use flink_checkpoint::{
    ChannelState, JavaStr, KeyGroups, Keyed, KeyedHead, KeyedTail, Offsets, OperatorState, Snapshot, Stream,
    StreamHead, Subtask,
};

/// A checksum that depends on every value and on their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fold(u64);

/// A checksum of everything in the tree.
pub(crate) fn whole(snapshot: Snapshot<'_>) -> u64 {
    let mut fold = Fold(snapshot.checkpoint_id());
    for state in snapshot.master_states() {
        fold.number(i64::from(state.version).cast_unsigned());
        fold.text(state.name);
        fold.bytes(state.payload);
    }
    for operator in snapshot.operators() {
        let head = operator.head;
        fold.maybe(head.name);
        fold.maybe(head.uid);
        fold.bytes(&head.id.0);
        fold.signed(head.parallelism.into());
        fold.signed(head.max_parallelism.into());
        fold.number(operator.fully_finished.into());
        if let Some(stream) = operator.coordinator() {
            fold.stream(stream);
        }
        for subtask in operator.subtasks() {
            fold.subtask(subtask);
        }
    }
    fold.0
}

impl Fold {
    #[inline]
    fn number(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(23) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    #[inline]
    fn signed(&mut self, value: i64) {
        self.number(value.cast_unsigned());
    }

    /// Every byte, and how many they are.
    #[inline]
    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.number(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            self.number(u64::from_le_bytes(last));
        }
    }

    #[inline]
    fn text(&mut self, text: JavaStr<'_>) {
        self.bytes(text.as_bytes());
    }

    fn maybe(&mut self, text: Option<JavaStr<'_>>) {
        self.number(text.is_some().into());
        self.text(text.unwrap_or_default());
    }

    fn offsets(&mut self, offsets: Offsets<'_>) {
        self.number(offsets.len() as u64);
        for offset in offsets.iter() {
            self.signed(offset);
        }
    }

    fn groups(&mut self, groups: KeyGroups) {
        self.number(u64::from(groups.start) << 32 | u64::from(groups.count));
    }

    fn size(&mut self, size: Option<u64>) {
        self.number(size.unwrap_or(u64::MAX));
    }

    fn subtask(&mut self, subtask: Subtask<'_>) {
        self.number(u64::from(subtask.head.index) << 1 | u64::from(subtask.head.finished));
        self.signed(subtask.reference_checkpoint.unwrap_or(-1));
        for state in [subtask.managed_operator(), subtask.raw_operator()]
            .into_iter()
            .flatten()
        {
            self.operator_state(state);
        }
        for state in [subtask.managed_keyed(), subtask.raw_keyed()]
            .into_iter()
            .flatten()
        {
            self.keyed(state);
        }
        for channel in subtask.input_channels().chain(subtask.result_subpartitions()) {
            self.channel(channel);
        }
    }

    fn operator_state(&mut self, state: OperatorState<'_>) {
        for named in state.states() {
            self.text(named.name);
            self.number(named.mode as u64);
            self.offsets(named.offsets);
        }
        if let Some(merged) = state.head.merged {
            self.text(merged.task_owned);
            self.text(merged.shared);
            self.number(merged.is_empty.into());
        }
        self.streams(state.delegate());
    }

    fn keyed(&mut self, state: Keyed<'_>) {
        self.groups(state.head.key_groups());
        match state.head {
            KeyedHead::KeyGroups {
                savepoint,
                has_id,
                offsets,
                ..
            } => {
                self.number(u64::from(savepoint) << 1 | u64::from(has_id));
                self.offsets(offsets);
            }
            KeyedHead::Incremental {
                checkpoint_id,
                backend_id,
                checkpointed_size,
                ..
            } => {
                self.signed(checkpoint_id);
                self.text(backend_id);
                self.signed(checkpointed_size.unwrap_or(-2));
            }
            KeyedHead::Changelog {
                checkpointed_size, ..
            } => self.signed(checkpointed_size.unwrap_or(-2)),
            KeyedHead::ChangelogInline(log) => {
                self.signed(log.from);
                self.signed(log.to);
                self.maybe(log.state_handle_id);
            }
            KeyedHead::ChangelogFiles { .. } => {}
        }
        for change in state.changes() {
            self.signed(change.key_group.into());
            self.bytes(change.bytes);
        }
        self.streams(state.delegate().into_iter().chain(state.meta()));
        self.streams(state.shared());
        self.streams(state.private());
        for inner in state.materialized() {
            self.keyed(inner);
        }
        for inner in state.non_materialized() {
            self.keyed(inner);
        }
        self.streams(state.changelog_files());
        self.tail(state.tail);
    }

    fn tail(&mut self, tail: KeyedTail<'_>) {
        self.maybe(tail.state_handle_id);
        for number in [
            tail.materialization_id,
            tail.checkpoint_id,
            tail.size,
            tail.incremental_size,
        ] {
            self.signed(number.unwrap_or(-2));
        }
        self.maybe(tail.storage_identifier);
    }

    fn channel(&mut self, state: ChannelState<'_>) {
        self.signed(state.head.subtask_index.map_or(-1, i64::from));
        self.signed(state.head.size);
        for channel in state.channels() {
            self.signed(channel.gate_or_partition.into());
            self.signed(channel.channel_or_subpartition.into());
            self.signed(channel.size);
            self.offsets(channel.offsets);
        }
        self.streams(state.delegate());
    }

    fn streams<'a>(&mut self, streams: impl IntoIterator<Item = Stream<'a>>) {
        for stream in streams {
            self.stream(stream);
        }
    }

    #[inline]
    fn stream(&mut self, stream: Stream<'_>) {
        if let Some(path) = stream.local_path {
            self.text(path);
        }
        if let Some(offset) = stream.offset {
            self.signed(offset);
        }
        match stream.head {
            StreamHead::Inline { name, bytes } => {
                self.text(name);
                self.bytes(bytes);
            }
            StreamHead::File { path, size } | StreamHead::Relative { path, size } => {
                self.text(path);
                self.size(size);
            }
            StreamHead::Segment {
                path,
                start,
                size,
                scope,
                logical_file_id,
            } => {
                self.text(path);
                self.number(start);
                self.number(size);
                self.number(scope as u64);
                self.text(logical_file_id);
            }
            StreamHead::EmptySegment => self.number(0),
            StreamHead::KeyGroups { groups, offsets } => {
                self.groups(groups);
                self.offsets(offsets);
                if let Some(inner) = stream.delegate() {
                    self.stream(inner);
                }
            }
        }
    }
}
