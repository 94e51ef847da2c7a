//! An owned index of the records of a file: their places and how they nest, no values. The values are read
//! again from the bytes when somebody asks.

use crate::complete::{Complete, Partial};
use crate::cursor::Trace;
use crate::error::{Damaged, ErrorKind, ParseError, Read};
use crate::field::Field;
use crate::grammar::{Around, Body, Both, Layout, Place, Sink, StreamAt};
use crate::handle::{ChannelHead, KeyedHead, OperatorHead, OperatorStateHead, StreamHead, SubtaskHead};
use crate::limits::Limits;
use crate::read::{Visit, Visitor, Whole, whole};
use crate::snapshot::Snapshot;
use crate::span::Span;

/// Where each record of a `_metadata` file lies. Owned; belongs to the bytes that it was built from and needs
/// less memory than they do for files that Flink writes.
#[derive(Debug)]
pub struct Index {
    pub(crate) slots: Slots,
    pub(crate) layout: Layout,
    pub(crate) body: Body,
    complete: Complete,
    fingerprint: u64,
}

/// The bytes given to [`Index::view`] aren't those that the index was built from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the index was built from another file ({built_from} bytes, this one has {given}); build it again from these bytes"
)]
pub struct WrongBytes {
    /// Size in bytes of the file that the index was built from.
    pub built_from: usize,
    /// Size in bytes of what was given.
    pub given: usize,
}

impl Index {
    /// Reads a whole file.
    ///
    /// # Errors
    /// [`Damaged`]: the file could not be read to its end, or has 4 GiB or more
    /// ([`ErrorKind::TooLargeForIndex`]).
    pub fn build(bytes: &[u8], limits: &Limits) -> Result<Index, Damaged> {
        Self::build_beside(bytes, limits, &mut ())
    }

    /// As [`Index::build`], and tells `visitor` in the same pass what [`visit`](crate::visit) tells. If the file can't be read to its end, what
    /// it was told is a part only. A visitor that ends the reading is told no more; the index is whole all the same.
    ///
    /// # Errors
    /// As [`Index::build`].
    pub fn build_and_visit<'a>(
        bytes: &'a [u8],
        limits: &Limits,
        visitor: &mut impl Visitor<'a>,
    ) -> Result<Index, Damaged> {
        Self::build_beside(bytes, limits, &mut Visit::new(visitor))
    }

    fn build_beside<'a>(
        bytes: &'a [u8],
        limits: &Limits,
        beside: &mut impl Sink<'a>,
    ) -> Result<Index, Damaged> {
        if u32::try_from(bytes.len()).is_err() {
            let kind = ErrorKind::TooLargeForIndex {
                bytes: bytes.len() as u64,
            };
            let error = ParseError {
                kind,
                at: 0,
                reading: Field::End,
                context: None,
            };
            return Err(Damaged::new(error, Partial::default()));
        }
        let mut builder = Builder {
            slots: Slots::default(),
            open: Vec::new(),
        };
        let Whole {
            complete,
            layout,
            body,
        } = whole(bytes, limits, (), &mut Both::new(&mut builder, beside))?;
        // Neither stops the pass, so that there is a body.
        let body = body.unwrap_or_default();
        Ok(Index {
            slots: builder.slots,
            layout,
            body,
            complete,
            fingerprint: fingerprint(bytes),
        })
    }

    /// The tree of records, borrowed from the index and from the bytes that it was built from.
    ///
    /// # Errors
    /// [`WrongBytes`]: these are other bytes. That is told by their length and a hash of all of them.
    pub fn view<'a>(&'a self, bytes: &'a [u8]) -> Result<Snapshot<'a>, WrongBytes> {
        if bytes.len() != self.complete.bytes || fingerprint(bytes) != self.fingerprint {
            return Err(WrongBytes {
                built_from: self.complete.bytes,
                given: bytes.len(),
            });
        }
        Ok(Snapshot { index: self, bytes })
    }

    /// Format version, checkpoint id, counts and properties.
    pub fn complete(&self) -> &Complete {
        &self.complete
    }

    /// Memory that the index occupies, in bytes.
    pub fn memory(&self) -> usize {
        size_of::<Self>() + self.slots.chunks.len() * (CHUNK * size_of::<Slot>() + size_of::<Box<[Slot]>>())
    }
}

/// Tells `f` every field of a file with its place, in the order of the file: for a hex view. Keeps
/// nothing.
///
/// # Errors
/// [`Damaged`]: the file could not be read to its end; `f` was told of the fields before.
pub fn fields(bytes: &[u8], limits: &Limits, f: &mut impl FnMut(Field, Span)) -> Result<Complete, Damaged> {
    struct Tell<'f, F>(&'f mut F);
    impl<F: FnMut(Field, Span)> Trace for Tell<'_, F> {
        fn field(&mut self, field: Field, span: Span) {
            (self.0)(field, span);
        }
    }
    Ok(whole(bytes, limits, Tell(f), &mut ())?.complete)
}

/// What a slot describes. Records with others in them occupy two slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Operator,
    Subtask,
    FinishedSubtask,
    OperatorState,
    Keyed,
    InlineChangelog,
    Channel,
    Stream,
    StreamKeyGroups,
}

const KINDS: [Kind; 9] = [
    Kind::Operator,
    Kind::Subtask,
    Kind::FinishedSubtask,
    Kind::OperatorState,
    Kind::Keyed,
    Kind::InlineChangelog,
    Kind::Channel,
    Kind::Stream,
    Kind::StreamKeyGroups,
];

impl Kind {
    fn has_children(self) -> bool {
        !matches!(self, Kind::FinishedSubtask | Kind::InlineChangelog | Kind::Stream)
    }
}

/// First slot: offset of the record, and kind and place. Second slot, of records with others in them: where their
/// own fields go on behind those, and the slot behind the last of those.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slot(u32, u32);

/// One record as the index knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) place: Place,
    /// Offset of the record.
    pub(crate) start: usize,
    /// Where its own fields go on behind the records in it; its start if it can have none.
    pub(crate) tail: usize,
    /// Slot of the first record in it.
    pub(crate) children: u32,
    /// Slot behind it and all in it.
    pub(crate) next: u32,
}

/// Slots in one piece of memory. Pieces are never copied, so that growing needs no more than what is kept.
const CHUNK: usize = 1024;

#[derive(Debug, Default)]
pub(crate) struct Slots {
    chunks: Vec<Box<[Slot]>>,
    len: u32,
}

impl Slots {
    fn push(&mut self, slot: Slot) -> u32 {
        // Records have at least 3 bytes for each slot, so that a file below 4 GiB can't have 2^32 slots.
        let at = self.len;
        let (chunk, within) = (at as usize / CHUNK, at as usize % CHUNK);
        if chunk == self.chunks.len() {
            self.chunks.push(vec![Slot::default(); CHUNK].into_boxed_slice());
        }
        self.chunks[chunk][within] = slot;
        self.len += 1;
        at
    }

    fn get(&self, at: u32) -> Option<Slot> {
        if at >= self.len {
            return None;
        }
        self.chunks
            .get(at as usize / CHUNK)?
            .get(at as usize % CHUNK)
            .copied()
    }

    fn set(&mut self, at: u32, slot: Slot) {
        if let Some(to) = self.chunks.get_mut(at as usize / CHUNK) {
            to[at as usize % CHUNK] = slot;
        }
    }

    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    pub(crate) fn node(&self, at: u32) -> Option<Node> {
        let Slot(start, what) = self.get(at)?;
        let kind = *KINDS.get((what & 0xFF) as usize)?;
        let place = *Place::ALL.get((what >> 8) as usize)?;
        let start = start as usize;
        Some(if kind.has_children() {
            let Slot(tail, next) = self.get(at + 1)?;
            Node {
                kind,
                place,
                start,
                tail: tail as usize,
                children: at + 2,
                next,
            }
        } else {
            Node {
                kind,
                place,
                start,
                tail: start,
                children: at + 1,
                next: at + 1,
            }
        })
    }
}

struct Builder {
    slots: Slots,
    /// Slots of the records that aren't closed.
    open: Vec<u32>,
}

impl Builder {
    #[inline]
    fn add(&mut self, at: usize, kind: Kind, place: Place) {
        let what = kind as u32 | (place as u32) << 8;
        let slot = self.slots.push(Slot(narrow(at), what));
        if kind.has_children() {
            self.slots.push(Slot::default());
            self.open.push(slot);
        }
    }
}

/// Offsets are below 4 GiB: checked when the index is built.
fn narrow(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

impl<'a> Sink<'a> for Builder {
    fn operator(&mut self, at: usize, _: &OperatorHead<'a>) {
        self.add(at, Kind::Operator, Place::Coordinator);
    }

    fn subtask(&mut self, at: usize, head: &SubtaskHead) {
        let kind = if head.finished {
            Kind::FinishedSubtask
        } else {
            Kind::Subtask
        };
        self.add(at, kind, Place::Coordinator);
    }

    fn operator_state(&mut self, at: usize, place: Place, _: &Around, _: &OperatorStateHead<'a>) -> Read<()> {
        self.add(at, Kind::OperatorState, place);
        Ok(())
    }

    fn keyed(&mut self, at: usize, place: Place, _: &Around, head: &KeyedHead<'a>) {
        let inline = matches!(head, KeyedHead::ChangelogInline(_));
        self.add(
            at,
            if inline {
                Kind::InlineChangelog
            } else {
                Kind::Keyed
            },
            place,
        );
    }

    fn channel(&mut self, at: usize, place: Place, _: &ChannelHead<'a>) {
        self.add(at, Kind::Channel, place);
    }

    #[inline]
    fn stream(&mut self, at: StreamAt, place: Place, _: &Around, head: &StreamHead<'a>) -> Read<()> {
        let nested = matches!(head, StreamHead::KeyGroups { .. });
        self.add(
            at.entry,
            if nested {
                Kind::StreamKeyGroups
            } else {
                Kind::Stream
            },
            place,
        );
        Ok(())
    }

    fn end(&mut self, tail: usize) {
        if let Some(slot) = self.open.pop() {
            let next = self.slots.len();
            self.slots.set(slot + 1, Slot(narrow(tail), next));
        }
    }
}

/// A hash of all bytes, fast enough to be computed at every view. No protection against forgery: the index and
/// the bytes are in the same hands.
fn fingerprint(bytes: &[u8]) -> u64 {
    const K: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64, word: u64| (hash.rotate_left(23) ^ word).wrapping_mul(K);
    let mut lanes = [1u64, 2, 3, 4];
    let (blocks, rest) = bytes.as_chunks::<32>();
    for block in blocks {
        for (lane, word) in lanes.iter_mut().zip(block.as_chunks::<8>().0) {
            *lane = mix(*lane, u64::from_le_bytes(*word));
        }
    }
    let hash = lanes.into_iter().fold(bytes.len() as u64, mix);
    rest.iter().fold(hash, |hash, &byte| mix(hash, byte.into()))
}
