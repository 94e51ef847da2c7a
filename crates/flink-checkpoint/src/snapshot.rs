//! The tree of a snapshot: operators, subtasks, handles with every field, borrowed from the bytes.
//!
//! Values are read when asked for, by the same grammar that built the index. That can't fail for the bytes that
//! [`Index::view`] accepted, so that nothing here gives an error.

use crate::complete::Complete;
use crate::cursor::Cursor;
use crate::error::Read;
use crate::grammar::Place;
use crate::grammar::records;
use crate::handle::{MasterState, OperatorHead, OperatorNo, SubtaskHead};
use crate::index::{Index, Kind, Node};
use crate::properties::CheckpointProperties;
use crate::span::Span;

mod references;
mod state;

pub use state::{ChannelState, Keyed, OperatorState, Stream};

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
pub(crate) fn records_of<'a, R: 'a>(
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
}
