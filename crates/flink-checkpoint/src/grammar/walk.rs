//! Which record follows which.

use crate::complete::Counts;
use crate::cursor::{Cursor, Trace};
use crate::error::{Context, ErrorKind, Fault, Halt, ParseError, Read};
use crate::field::Field;
use crate::handle::{KeyedHead, OperatorId, OperatorNo, StreamHead};
use crate::limits::Limits;

use super::{Around, Layout, Place, Sink, StreamAt, records};

/// Where the parts of the body lie.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Body {
    pub(crate) master_states: usize,
    /// Offset of the first master state.
    pub(crate) master_states_at: usize,
    /// Offset behind the last operator.
    pub(crate) end: usize,
}

/// One pass over the body of a file.
pub(crate) struct Walk<'s, 'a, S, T> {
    pub(crate) cursor: Cursor<'a, T>,
    pub(crate) sink: &'s mut S,
    pub(crate) layout: Layout,
    /// The layout is the newest one for want of a sign; the first record that depends on it decides.
    undecided: bool,
    limits: &'s Limits,
    /// Offset of the body.
    body_at: usize,
    nesting: u8,
    operator: Option<(OperatorNo, Option<OperatorId>)>,
    subtask: Option<u32>,
    pub(crate) counts: Counts,
    pub(crate) checkpoint_id: Option<u64>,
}

impl<'s, 'a, S: Sink<'a>, T: Trace> Walk<'s, 'a, S, T> {
    pub(crate) fn new(cursor: Cursor<'a, T>, sink: &'s mut S, version: u8, limits: &'s Limits) -> Self {
        let undecided = Layout::candidates(version).nth(1).is_some();
        Walk {
            undecided,
            ..Walk::with_layout(cursor, sink, Layout::newest(version), limits)
        }
    }

    /// Reads with one layout, whatever comes.
    pub(crate) fn with_layout(
        cursor: Cursor<'a, T>,
        sink: &'s mut S,
        layout: Layout,
        limits: &'s Limits,
    ) -> Self {
        Walk {
            body_at: cursor.pos(),
            cursor,
            sink,
            layout,
            undecided: false,
            limits,
            nesting: 0,
            operator: None,
            subtask: None,
            counts: Counts::default(),
            checkpoint_id: None,
        }
    }

    /// Adds to a fault where the walk stands.
    pub(crate) fn explain(&self, fault: Fault) -> ParseError {
        let Fault { kind, at, reading } = fault;
        let context = self.operator.map(|(operator, operator_id)| Context {
            operator,
            operator_id,
            subtask: self.subtask,
        });
        ParseError {
            kind,
            at,
            reading,
            context,
        }
    }

    /// Everything between the header and the properties.
    pub(crate) fn body(&mut self) -> Read<Body> {
        let c = &mut self.cursor;
        let at = c.pos();
        let id = c.i64(Field::CheckpointId)?;
        let id = u64::try_from(id)
            .map_err(|_| Halt::fault(ErrorKind::OutOfRange { value: id }, at, Field::CheckpointId))?;
        self.checkpoint_id = Some(id);
        let master_states = c.count(Field::MasterStateCount, records::LEAST_MASTER_STATE)?;
        let master_states_at = c.pos();
        for _ in 0..master_states {
            records::master_state(c)?;
        }
        self.counts.master_states = master_states as u64;
        let operators = c.count(Field::OperatorCount, records::least_operator(self.layout.version))?;
        for no in 0..operators {
            // The count came from an i32.
            self.operator = Some((OperatorNo(u32::try_from(no).unwrap_or(u32::MAX)), None));
            self.operator()?;
        }
        self.operator = None;
        Ok(Body {
            master_states,
            master_states_at,
            end: self.cursor.pos(),
        })
    }

    /// Finds the layout: the first record that depends on it comes next. The body is read silently, newest layout
    /// first, and the first that fits to the exact end of the file is taken; if none does, the one that got
    /// farthest, whose error says most. What was read before is the same in all layouts.
    #[cold]
    fn decide(&mut self) {
        if !std::mem::take(&mut self.undecided) {
            return;
        }
        let attempts = usize::from(self.limits.layout_attempts.max(1));
        let mut farthest = 0;
        for layout in Layout::candidates(self.layout.version).take(attempts) {
            let cursor = self.cursor.again(self.body_at);
            let sink = &mut ();
            let mut walk = Walk::with_layout(cursor, sink, layout, self.limits);
            let got = match walk.body() {
                Ok(_) if walk.cursor.left() == 0 => {
                    self.layout = layout;
                    return;
                }
                Ok(_) | Err(Halt::Stopped) => walk.cursor.pos(),
                Err(Halt::Fault(fault)) => fault.at,
            };
            if got > farthest {
                (self.layout, farthest) = (layout, got);
            }
        }
    }

    fn operator(&mut self) -> Read<()> {
        let at = self.cursor.pos();
        let head = records::operator(&mut self.cursor, self.layout)?;
        if let Some((_, id)) = &mut self.operator {
            *id = Some(head.id);
        }
        self.sink.operator(at, &head);
        let mut coordinator = false;
        if self.layout.version >= 3 {
            let at = self.cursor.pos();
            self.stream(Place::Coordinator, Around::of(Place::Coordinator))?;
            coordinator = self.cursor.pos() > at + 1;
        }
        let tail = self.cursor.pos();
        let subtasks = records::subtask_count(&mut self.cursor, self.layout)?;
        if subtasks.is_none() && coordinator {
            return Err(Halt::fault(
                ErrorKind::FinishedWithCoordinator,
                tail,
                Field::SubtaskCount,
            ));
        }
        for _ in 0..subtasks.unwrap_or(0) {
            self.subtask()?;
            self.subtask = None;
        }
        self.counts.operators += 1;
        self.sink.end(tail);
        Ok(())
    }

    fn subtask(&mut self) -> Read<()> {
        let at = self.cursor.pos();
        let head = records::subtask(&mut self.cursor, self.layout)?;
        self.subtask = Some(head.index);
        self.sink.subtask(at, &head);
        self.counts.subtasks += 1;
        if head.finished {
            return Ok(());
        }
        if self.layout.version == 2 {
            self.cursor.i64(Field::LegacyDuration)?;
            let at = self.cursor.pos();
            match self.cursor.i32(Field::LegacyStateCount)? {
                0 => {}
                count => {
                    return Err(Halt::fault(
                        ErrorKind::LegacyState { count },
                        at,
                        Field::LegacyStateCount,
                    ));
                }
            }
        }
        if self.cursor.i32(Field::HasManagedOperatorState)? != 0 {
            self.operator_state(Place::ManagedOperator)?;
        }
        if self.cursor.i32(Field::HasRawOperatorState)? != 0 {
            self.operator_state(Place::RawOperator)?;
        }
        self.keyed(Place::ManagedKeyed, Around::of(Place::ManagedKeyed))?;
        self.keyed(Place::RawKeyed, Around::of(Place::RawKeyed))?;
        if self.layout.version >= 3 {
            self.channels(Place::InputChannel, Field::InputChannelCount)?;
            self.channels(Place::OutputChannel, Field::OutputChannelCount)?;
        }
        let tail = self.cursor.pos();
        records::subtask_tail(&mut self.cursor, self.layout)?;
        self.sink.end(tail);
        Ok(())
    }

    fn operator_state(&mut self, place: Place) -> Read<()> {
        let at = self.cursor.pos();
        let Some(head) = records::operator_state(&mut self.cursor)? else {
            return Ok(());
        };
        let around = Around::of(place);
        if head.merged.is_some() {
            self.counts.directories += 2;
        }
        self.sink.operator_state(at, place, &around, &head)?;
        let delegate_at = self.cursor.pos();
        if head.merged.is_some()
            && let Some(&tag) = self.cursor.rest().first()
            && !matches!(tag, 15 | 16)
        {
            return Err(Halt::fault(
                ErrorKind::UnknownTag { tag },
                delegate_at,
                Field::StreamTag,
            ));
        }
        self.stream(Place::Delegate, around)?;
        self.sink.end(self.cursor.pos());
        Ok(())
    }

    fn channels(&mut self, place: Place, field: Field) -> Read<()> {
        let n = self
            .cursor
            .count(field, records::least_channel(self.layout.version))?;
        if n > 0 {
            self.decide();
        }
        for _ in 0..n {
            let at = self.cursor.pos();
            let head = records::channel(&mut self.cursor, place, self.layout)?;
            self.sink.channel(at, place, &head);
            self.stream(Place::Delegate, Around::of(place))?;
            let tail = self.cursor.pos();
            records::channel_tail(&mut self.cursor, &head)?;
            self.sink.end(tail);
        }
        Ok(())
    }

    fn nest(&mut self, field: Field) -> Read<()> {
        self.nesting += 1;
        if self.nesting > self.limits.max_nesting {
            let kind = ErrorKind::TooDeep {
                max: self.limits.max_nesting,
            };
            return Err(Halt::fault(kind, self.cursor.pos(), field));
        }
        Ok(())
    }

    fn keyed(&mut self, place: Place, around: Around) -> Read<()> {
        let at = self.cursor.pos();
        if matches!(self.cursor.rest().first(), Some(8..=10)) {
            self.decide();
        }
        let Some(head) = records::keyed(&mut self.cursor, place, self.layout)? else {
            return Ok(());
        };
        self.nest(Field::KeyedTag)?;
        self.sink.keyed(at, place, &around, &head);
        let around = around.keyed(&head);
        match head {
            KeyedHead::KeyGroups { .. } => self.stream(Place::Delegate, around)?,
            KeyedHead::Incremental { .. } => {
                self.stream(Place::Meta, around.child(Place::Meta))?;
                self.streams(Place::Shared, around, Field::SharedCount, 3)?;
                self.streams(Place::Private, around, Field::PrivateCount, 3)?;
            }
            KeyedHead::Changelog { .. } => {
                for (place, field) in [
                    (Place::Materialized, Field::MaterializedCount),
                    (Place::NonMaterialized, Field::NonMaterializedCount),
                ] {
                    let n = self.cursor.count(field, 1)?;
                    for _ in 0..n {
                        self.keyed(place, around.child(place))?;
                    }
                }
            }
            KeyedHead::ChangelogInline(log) => {
                self.counts.inline_changelogs += 1;
                // Key group and length precede each change.
                self.counts.inline_changelog_bytes += (log.changes.len() - 8 * log.change_count) as u64;
                self.nesting -= 1;
                return Ok(());
            }
            KeyedHead::ChangelogFiles { .. } => {
                self.streams(Place::ChangelogFile, around, Field::ChangelogFileCount, 9)?;
            }
        }
        let tail = self.cursor.pos();
        records::keyed_tail(&mut self.cursor, &head, self.layout)?;
        self.sink.end(tail);
        self.nesting -= 1;
        Ok(())
    }

    fn streams(&mut self, place: Place, around: Around, field: Field, least: usize) -> Read<()> {
        let around = around.child(place);
        let n = self.cursor.count(field, least)?;
        for _ in 0..n {
            self.stream(place, around)?;
        }
        Ok(())
    }

    #[inline]
    fn stream(&mut self, place: Place, around: Around) -> Read<()> {
        let entry = self.cursor.pos();
        records::prefix(&mut self.cursor, place)?;
        let tag = self.cursor.pos();
        let Some(head) = records::stream(&mut self.cursor, place)? else {
            return Ok(());
        };
        match head {
            StreamHead::File { .. } | StreamHead::Relative { .. } => self.counts.files += 1,
            StreamHead::Segment { .. } => self.counts.segments += 1,
            StreamHead::Inline { bytes, .. } => {
                self.counts.inline += 1;
                self.counts.inline_bytes += bytes.len() as u64;
            }
            StreamHead::EmptySegment => self.counts.empty_segments += 1,
            StreamHead::KeyGroups { .. } => {}
        }
        self.sink.stream(
            StreamAt {
                entry,
                tag,
                end: self.cursor.pos(),
            },
            place,
            &around,
            &head,
        )?;
        if let StreamHead::KeyGroups { groups, .. } = head {
            self.nest(Field::StreamTag)?;
            self.stream(Place::Delegate, around.stream_key_groups(groups))?;
            self.nesting -= 1;
            self.sink.end(self.cursor.pos());
        }
        Ok(())
    }
}
