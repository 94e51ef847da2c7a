//! State handles of a subtask, with every field.

use crate::grammar::Place;
use crate::grammar::records::{self, Prefix};
use crate::handle::{
    Change, Channel, ChannelHead, KeyedHead, KeyedTail, MergedChannels, NamedState, OperatorStateHead,
    StreamHead,
};
use crate::index::Kind;
use crate::java::JavaStr;
use crate::span::Span;

use super::{In, records_of};

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
    pub(super) fn of(node: In<'a>) -> Option<Self> {
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
    pub(super) fn of(node: In<'a>) -> Option<Self> {
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

    pub(super) fn streams(self, place: Place) -> impl Iterator<Item = Stream<'a>> {
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
    pub(super) fn of(node: In<'a>) -> Option<Self> {
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
    pub(super) fn of(node: In<'a>) -> Option<Self> {
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
