//! The tree of a snapshot: operators, subtasks, handles with every field, borrowed from the bytes.
//!
//! Values are read when asked for, by the same grammar that built the index. That can't fail for the bytes that
//! [`Index::view`] accepted, so that nothing here gives an error.

use crate::complete::Complete;
use crate::cursor::Cursor;
use crate::error::Read;
use crate::grammar::records::{self, Prefix};
use crate::grammar::{Around, Place, StreamAt};
use crate::handle::{
    Change, Channel, ChannelHead, KeyedHead, KeyedTail, MasterState, MergedChannels, NamedState,
    OperatorHead, OperatorNo, OperatorStateHead, StreamHead, SubtaskHead,
};
use crate::index::{Index, Kind, Node};
use crate::java::JavaStr;
use crate::properties::CheckpointProperties;
use crate::read::directories;
use crate::reference::{Reference, reference};
use crate::span::Span;

/// A whole snapshot.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot<'a> {
    pub(crate) index: &'a Index,
    pub(crate) bytes: &'a [u8],
}

/// A node of a snapshot.
#[derive(Clone, Copy, Debug)]
struct In<'a> {
    snapshot: Snapshot<'a>,
    node: Node,
}

impl<'a> In<'a> {
    fn cursor(self) -> Cursor<'a, ()> {
        Cursor::at(self.snapshot.bytes, self.node.start)
    }

    fn tail(self) -> Cursor<'a, ()> {
        Cursor::at(self.snapshot.bytes, self.node.tail)
    }

    fn children(self) -> Children<'a> {
        Children {
            snapshot: self.snapshot,
            at: self.node.children,
            end: self.node.next,
        }
    }

    /// The records in it at one place.
    fn at(self, place: Place) -> impl Iterator<Item = In<'a>> {
        self.children().filter(move |child| child.node.place == place)
    }

    fn stream(self, place: Place) -> Option<Stream<'a>> {
        self.at(place).next().and_then(Stream::of)
    }

    fn span(self, end: usize) -> Span {
        Span {
            start: self.node.start,
            end,
        }
    }
}

#[derive(Clone, Copy)]
struct Children<'a> {
    snapshot: Snapshot<'a>,
    at: u32,
    end: u32,
}

impl<'a> Iterator for Children<'a> {
    type Item = In<'a>;

    fn next(&mut self) -> Option<In<'a>> {
        if self.at >= self.end {
            return None;
        }
        let node = self.snapshot.index.slots.node(self.at)?;
        self.at = node.next;
        Some(In {
            snapshot: self.snapshot,
            node,
        })
    }
}

/// Reads `n` records one after the other.
fn records_of<'a, R: 'a>(
    bytes: &'a [u8],
    at: usize,
    n: usize,
    read: fn(&mut Cursor<'a, ()>) -> Read<R>,
) -> impl Iterator<Item = R> + 'a {
    let mut cursor = Cursor::at(bytes, at);
    (0..n).map_while(move |_| read(&mut cursor).ok())
}

impl<'a> Snapshot<'a> {
    /// Format version, checkpoint id, counts and properties.
    pub fn complete(self) -> &'a Complete {
        self.index.complete()
    }

    /// Id of the checkpoint.
    pub fn checkpoint_id(self) -> u64 {
        self.complete().checkpoint_id
    }

    /// Properties; `None` before format 4 (Flink 1.16).
    pub fn properties(self) -> Option<&'a CheckpointProperties> {
        self.complete().properties.as_ref()
    }

    /// The bytes of the file.
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// States of master hooks.
    pub fn master_states(self) -> impl Iterator<Item = MasterState<'a>> {
        let body = self.index.body;
        records_of(
            self.bytes,
            body.master_states_at,
            body.master_states,
            records::master_state,
        )
    }

    /// Operators in the order of the file.
    pub fn operators(self) -> impl Iterator<Item = Operator<'a>> {
        let children = Children {
            snapshot: self,
            at: 0,
            end: self.index.slots.len(),
        };
        (0..)
            .map(OperatorNo)
            .zip(children)
            .filter_map(|(no, node)| Operator::of(no, node))
    }

    /// Tells `f` every reference, in the order of the file: the same ones as [`crate::references`].
    pub fn references(self, mut f: impl FnMut(&Reference<'a>)) {
        for operator in self.operators() {
            for subtask in operator.subtasks() {
                subtask.tell(operator.no, &mut f);
            }
        }
    }
}

/// State of one operator.
#[derive(Clone, Copy, Debug)]
pub struct Operator<'a> {
    /// Position in the file.
    pub no: OperatorNo,
    /// Id, name, uid, parallelism.
    pub head: OperatorHead<'a>,
    /// Whether all its subtasks had finished (Flink 1.14 and newer); then it has no state.
    pub fully_finished: bool,
    /// Where it lies.
    pub span: Span,
    node: In<'a>,
}

impl<'a> Operator<'a> {
    fn of(no: OperatorNo, node: In<'a>) -> Option<Self> {
        let layout = node.snapshot.index.layout;
        let head = records::operator(&mut node.cursor(), layout).ok()?;
        let fully_finished = records::subtask_count(&mut node.tail(), layout).ok()?.is_none();
        // Operators follow one another without a gap.
        let end = match node.snapshot.index.slots.node(node.node.next) {
            Some(next) => next.start,
            None => node.snapshot.index.body.end,
        };
        Some(Operator {
            no,
            head,
            fully_finished,
            span: node.span(end),
            node,
        })
    }

    /// State of its coordinator, always inlined.
    pub fn coordinator(self) -> Option<Stream<'a>> {
        self.node
            .children()
            .find(|child| child.node.kind == Kind::Stream)
            .and_then(Stream::of)
    }

    /// Subtasks in the order of the file, which is that of a hash map.
    pub fn subtasks(self) -> impl Iterator<Item = Subtask<'a>> {
        self.node.children().filter_map(Subtask::of)
    }
}

/// State of one subtask.
#[derive(Clone, Copy, Debug)]
pub struct Subtask<'a> {
    /// Index, and whether it had finished.
    pub head: SubtaskHead,
    /// Format 7: the checkpoint whose files it uses, if not those of this one.
    pub reference_checkpoint: Option<i64>,
    /// Where it lies.
    pub span: Span,
    node: In<'a>,
}

impl<'a> Subtask<'a> {
    fn of(node: In<'a>) -> Option<Self> {
        let finished = match node.node.kind {
            Kind::Subtask => false,
            Kind::FinishedSubtask => true,
            _ => return None,
        };
        let mut cursor = node.cursor();
        let head = records::subtask(&mut cursor, node.snapshot.index.layout).ok()?;
        if finished {
            return Some(Subtask {
                head,
                reference_checkpoint: None,
                span: node.span(cursor.pos()),
                node,
            });
        }
        let mut tail = node.tail();
        let reference_checkpoint = records::subtask_tail(&mut tail, node.snapshot.index.layout).ok()?;
        Some(Subtask {
            head,
            reference_checkpoint,
            span: node.span(tail.pos()),
            node,
        })
    }

    /// List and broadcast state.
    pub fn managed_operator(self) -> Option<OperatorState<'a>> {
        self.node
            .at(Place::ManagedOperator)
            .next()
            .and_then(OperatorState::of)
    }

    /// Raw operator state.
    pub fn raw_operator(self) -> Option<OperatorState<'a>> {
        self.node
            .at(Place::RawOperator)
            .next()
            .and_then(OperatorState::of)
    }

    /// Keyed state.
    pub fn managed_keyed(self) -> Option<Keyed<'a>> {
        self.node.at(Place::ManagedKeyed).next().and_then(Keyed::of)
    }

    /// Raw keyed state.
    pub fn raw_keyed(self) -> Option<Keyed<'a>> {
        self.node.at(Place::RawKeyed).next().and_then(Keyed::of)
    }

    /// Bytes in flight before its inputs.
    pub fn input_channels(self) -> impl Iterator<Item = ChannelState<'a>> {
        self.node.at(Place::InputChannel).filter_map(ChannelState::of)
    }

    /// Bytes in flight behind its outputs.
    pub fn result_subpartitions(self) -> impl Iterator<Item = ChannelState<'a>> {
        self.node.at(Place::OutputChannel).filter_map(ChannelState::of)
    }

    fn tell(self, operator: OperatorNo, f: &mut impl FnMut(&Reference<'a>)) {
        let mut tell = Tell {
            operator,
            subtask: Some(self.head.index),
            f,
        };
        for (state, place) in [
            (self.managed_operator(), Place::ManagedOperator),
            (self.raw_operator(), Place::RawOperator),
        ] {
            if let Some(state) = state {
                let around = Around::of(place);
                directories(&state.head, &around, operator, tell.subtask)
                    .iter()
                    .flatten()
                    .for_each(|reference| (tell.f)(reference));
                tell.stream(state.delegate(), around);
            }
        }
        for (state, place) in [
            (self.managed_keyed(), Place::ManagedKeyed),
            (self.raw_keyed(), Place::RawKeyed),
        ] {
            if let Some(state) = state {
                tell.keyed(state, Around::of(place));
            }
        }
        for channel in self.input_channels() {
            tell.stream(channel.delegate(), Around::of(Place::InputChannel));
        }
        for channel in self.result_subpartitions() {
            tell.stream(channel.delegate(), Around::of(Place::OutputChannel));
        }
    }
}

/// Tells the references of one subtask from the tree.
struct Tell<'f, F> {
    operator: OperatorNo,
    subtask: Option<u32>,
    f: &'f mut F,
}

impl<'a, F: FnMut(&Reference<'a>)> Tell<'_, F> {
    fn keyed(&mut self, state: Keyed<'a>, around: Around) {
        let around = around.keyed(&state.head);
        self.stream(state.delegate(), around);
        self.stream(state.meta(), around.child(Place::Meta));
        for (place, files) in [
            (Place::Shared, state.streams(Place::Shared)),
            (Place::Private, state.streams(Place::Private)),
        ] {
            for file in files {
                self.stream(Some(file), around.child(place));
            }
        }
        for handle in state.materialized() {
            self.keyed(handle, around.child(Place::Materialized));
        }
        for handle in state.non_materialized() {
            self.keyed(handle, around.child(Place::NonMaterialized));
        }
        for file in state.changelog_files() {
            self.stream(Some(file), around.child(Place::ChangelogFile));
        }
    }

    fn stream(&mut self, stream: Option<Stream<'a>>, around: Around) {
        let Some(stream) = stream else { return };
        if let StreamHead::KeyGroups { groups, .. } = stream.head {
            return self.stream(stream.delegate(), around.stream_key_groups(groups));
        }
        let at = StreamAt {
            entry: stream.span.start,
            tag: stream.span.start,
            end: stream.span.end,
        };
        if let Some(reference) = reference(&stream.head, &around, at, self.operator, self.subtask) {
            (self.f)(&reference);
        }
    }
}

/// List and broadcast state of a subtask (tags 4 and 17).
#[derive(Clone, Copy, Debug)]
pub struct OperatorState<'a> {
    /// Number of named states; directories of tag 17.
    pub head: OperatorStateHead<'a>,
    /// Where it lies.
    pub span: Span,
    node: In<'a>,
}

impl<'a> OperatorState<'a> {
    fn of(node: In<'a>) -> Option<Self> {
        let head = records::operator_state(&mut node.cursor()).ok()??;
        Some(OperatorState {
            head,
            span: node.span(node.node.tail),
            node,
        })
    }

    /// The named states.
    pub fn states(self) -> impl Iterator<Item = NamedState<'a>> {
        records_of(self.head.states, 0, self.head.state_count, records::named_state)
    }

    /// The bytes.
    pub fn delegate(self) -> Option<Stream<'a>> {
        self.node.stream(Place::Delegate)
    }
}

/// Keyed state of a subtask. What it has in it depends on the kind: all other methods give nothing.
#[derive(Clone, Copy, Debug)]
pub struct Keyed<'a> {
    /// Kind and first fields.
    pub head: KeyedHead<'a>,
    /// Fields behind the inner handles.
    pub tail: KeyedTail<'a>,
    /// Where it lies.
    pub span: Span,
    node: In<'a>,
}

impl<'a> Keyed<'a> {
    fn of(node: In<'a>) -> Option<Self> {
        let layout = node.snapshot.index.layout;
        let mut cursor = node.cursor();
        let head = records::keyed(&mut cursor, node.node.place, layout).ok()??;
        if node.node.kind == Kind::Keyed {
            cursor = node.tail();
        }
        let tail = records::keyed_tail(&mut cursor, &head, layout).ok()?;
        Some(Keyed {
            head,
            tail,
            span: node.span(cursor.pos()),
            node,
        })
    }

    fn streams(self, place: Place) -> impl Iterator<Item = Stream<'a>> {
        self.node.at(place).filter_map(Stream::of)
    }

    /// Key groups: the bytes.
    pub fn delegate(self) -> Option<Stream<'a>> {
        self.node.stream(Place::Delegate)
    }

    /// Incremental: the snapshot's own meta data.
    pub fn meta(self) -> Option<Stream<'a>> {
        self.node.stream(Place::Meta)
    }

    /// Incremental: files that other checkpoints may share. A name may repeat.
    pub fn shared(self) -> impl Iterator<Item = Stream<'a>> {
        self.streams(Place::Shared)
    }

    /// Incremental: files of this checkpoint only. A name may repeat.
    pub fn private(self) -> impl Iterator<Item = Stream<'a>> {
        self.streams(Place::Private)
    }

    /// Changelog: the materialized base.
    pub fn materialized(self) -> impl Iterator<Item = Keyed<'a>> {
        self.node.at(Place::Materialized).filter_map(Keyed::of)
    }

    /// Changelog: the log, either inlined or in files.
    pub fn non_materialized(self) -> impl Iterator<Item = Keyed<'a>> {
        self.node.at(Place::NonMaterialized).filter_map(Keyed::of)
    }

    /// Changelog files: the files, each with an offset.
    pub fn changelog_files(self) -> impl Iterator<Item = Stream<'a>> {
        self.streams(Place::ChangelogFile)
    }

    /// Inlined changelog: the changes.
    pub fn changes(self) -> impl Iterator<Item = Change<'a>> {
        let (bytes, n) = match self.head {
            KeyedHead::ChangelogInline(log) => (log.changes, log.change_count),
            _ => (&[][..], 0),
        };
        records_of(bytes, 0, n, records::change)
    }
}

/// Bytes in flight of one channel, or of several if merged (Flink 2.1).
#[derive(Clone, Copy, Debug)]
pub struct ChannelState<'a> {
    /// Subtask, size, and the channel unless merged.
    pub head: ChannelHead<'a>,
    /// The channels of a merged handle.
    pub merged: Option<MergedChannels<'a>>,
    /// Where it lies.
    pub span: Span,
    node: In<'a>,
}

impl<'a> ChannelState<'a> {
    fn of(node: In<'a>) -> Option<Self> {
        let layout = node.snapshot.index.layout;
        let head = records::channel(&mut node.cursor(), node.node.place, layout).ok()?;
        let mut tail = node.tail();
        let merged = records::channel_tail(&mut tail, &head).ok()?;
        Some(ChannelState {
            head,
            merged,
            span: node.span(tail.pos()),
            node,
        })
    }

    /// The channels: one, or those of a merged handle.
    pub fn channels(self) -> impl Iterator<Item = Channel<'a>> {
        let encoded = self.merged.unwrap_or_default().encoded;
        let n = encoded.first_chunk::<4>().map_or(0, |&n| u32::from_be_bytes(n));
        let merged = records_of(encoded, 4, n as usize, records::merged_channel);
        self.head.channel.into_iter().chain(merged)
    }

    /// The bytes.
    pub fn delegate(self) -> Option<Stream<'a>> {
        self.node.stream(Place::Delegate)
    }
}

/// State bytes somewhere.
#[derive(Clone, Copy, Debug)]
pub struct Stream<'a> {
    /// What it is.
    pub head: StreamHead<'a>,
    /// Name of the file as the backend knows it; only in lists of shared and private files.
    pub local_path: Option<JavaStr<'a>>,
    /// Position in the file where the changes begin; only in changelog files. Uncompressed bytes.
    pub offset: Option<i64>,
    /// Where the handle lies: its tag and fields, without local path or offset.
    pub span: Span,
    node: In<'a>,
}

impl<'a> Stream<'a> {
    fn of(node: In<'a>) -> Option<Self> {
        let mut cursor = node.cursor();
        let (local_path, offset) = match records::prefix(&mut cursor, node.node.place).ok()? {
            Prefix::Nothing => (None, None),
            Prefix::LocalPath(path) => (Some(path), None),
            Prefix::Offset(offset) => (None, Some(offset)),
        };
        let start = cursor.pos();
        let head = records::stream(&mut cursor, node.node.place).ok()??;
        let end = if node.node.kind == Kind::StreamKeyGroups {
            node.node.tail
        } else {
            cursor.pos()
        };
        Some(Stream {
            head,
            local_path,
            offset,
            span: Span { start, end },
            node,
        })
    }

    /// Key groups inside another stream (tag 3): that stream.
    pub fn delegate(self) -> Option<Stream<'a>> {
        self.node.stream(Place::Delegate)
    }
}
