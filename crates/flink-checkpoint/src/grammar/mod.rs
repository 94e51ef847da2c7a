//! The grammar of `_metadata`, written once.
//!
//! `records` reads the fixed parts of each record; `walk` knows which record follows which. Both are generic
//! over a [`Trace`](crate::cursor::Trace), which sees every field, and the walk over a [`Sink`], which sees
//! every record. References, index and field spans are three sinks of this one grammar, so they can't disagree.

pub(crate) mod records;
mod walk;

use crate::error::{Halt, Read};
use crate::handle::{
    ChannelHead, KeyGroups, KeyedHead, OperatorHead, OperatorStateHead, StreamHead, SubtaskHead,
};
use crate::reference::{Part, Role, StateKind};

pub(crate) use walk::{Body, Walk};

/// Which of the layouts is read that share tags and format version (section "layouts that changed": 1.11 has no
/// subtask index in channel handles, 1.14 no sizes and ids in changelog handles).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Layout {
    /// Format version, 2 to 7.
    pub(crate) version: u8,
    /// Flink 1.12 and newer: channel handles begin with a subtask index.
    pub(crate) channel_subtask: bool,
    /// Flink 1.15 and newer: tags 8, 9 and 10 have sizes and ids.
    pub(crate) changelog_ids: bool,
}

impl Layout {
    /// The layout of the newest release that wrote this version.
    pub(crate) fn newest(version: u8) -> Layout {
        Layout {
            version,
            channel_subtask: true,
            changelog_ids: true,
        }
    }

    /// Every layout that a file of this version can have, the newest first. 1.11 had no changelog handles, so
    /// the last is never needed for a file that Flink wrote.
    pub(crate) fn candidates(version: u8) -> impl Iterator<Item = Layout> {
        let all = [(true, true), (true, false), (false, true), (false, false)];
        let n = if version == 3 { 4 } else { 1 };
        all.into_iter()
            .take(n)
            .map(move |(channel_subtask, changelog_ids)| Layout {
                version,
                channel_subtask,
                changelog_ids,
            })
    }
}

/// Where a handle stands in its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Place {
    Coordinator,
    ManagedOperator,
    RawOperator,
    ManagedKeyed,
    RawKeyed,
    InputChannel,
    OutputChannel,
    Delegate,
    Meta,
    Shared,
    Private,
    Materialized,
    NonMaterialized,
    ChangelogFile,
}

impl Place {
    pub(crate) const ALL: [Place; 14] = [
        Place::Coordinator,
        Place::ManagedOperator,
        Place::RawOperator,
        Place::ManagedKeyed,
        Place::RawKeyed,
        Place::InputChannel,
        Place::OutputChannel,
        Place::Delegate,
        Place::Meta,
        Place::Shared,
        Place::Private,
        Place::Materialized,
        Place::NonMaterialized,
        Place::ChangelogFile,
    ];
}

/// What a stream handle inherits from the handles around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Around {
    pub(crate) role: Role,
    pub(crate) key_groups: Option<KeyGroups>,
    /// Inside tags 10 and 13, whose objects have a byte more than their size says.
    pub(crate) changelog_file: bool,
}

impl Around {
    pub(crate) fn of(place: Place) -> Around {
        let state = match place {
            Place::Coordinator => StateKind::Coordinator,
            Place::RawOperator => StateKind::RawOperator,
            Place::ManagedKeyed => StateKind::ManagedKeyed,
            Place::RawKeyed => StateKind::RawKeyed,
            Place::InputChannel => StateKind::InputChannel,
            Place::OutputChannel => StateKind::ResultSubpartition,
            _ => StateKind::ManagedOperator,
        };
        Around {
            role: Role {
                state,
                materialized: false,
                part: Part::Whole,
            },
            key_groups: None,
            changelog_file: false,
        }
    }

    pub(crate) fn keyed(self, head: &KeyedHead<'_>) -> Around {
        let changelog_file = self.changelog_file || matches!(head, KeyedHead::ChangelogFiles { .. });
        Around {
            key_groups: Some(head.key_groups()),
            changelog_file,
            ..self
        }
    }

    pub(crate) fn stream_key_groups(self, groups: KeyGroups) -> Around {
        Around {
            key_groups: Some(groups),
            ..self
        }
    }

    pub(crate) fn child(self, place: Place) -> Around {
        let mut role = self.role;
        match place {
            Place::Meta => role.part = Part::Meta,
            Place::Shared => role.part = Part::Shared,
            Place::Private => role.part = Part::Private,
            Place::Materialized => role.materialized = true,
            Place::NonMaterialized => role.part = Part::Changelog,
            _ => {}
        }
        Around { role, ..self }
    }
}

/// Where a stream handle lies: its entry may begin with a local path or an offset, then come tag and fields.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamAt {
    pub(crate) entry: usize,
    pub(crate) tag: usize,
    pub(crate) end: usize,
}

/// Is told of every record, in the order of the file. What has other records in it is closed by `end`, which
/// says where its own fields go on behind them.
pub(crate) trait Sink<'a> {
    fn operator(&mut self, _at: usize, _head: &OperatorHead<'a>) {}
    fn subtask(&mut self, _at: usize, _head: &SubtaskHead) {}
    fn operator_state(
        &mut self,
        _at: usize,
        _place: Place,
        _around: &Around,
        _head: &OperatorStateHead<'a>,
    ) -> Read<()> {
        Ok(())
    }
    fn keyed(&mut self, _at: usize, _place: Place, _around: &Around, _head: &KeyedHead<'a>) {}
    fn channel(&mut self, _at: usize, _place: Place, _head: &ChannelHead<'a>) {}
    fn stream(&mut self, _at: StreamAt, _place: Place, _around: &Around, _head: &StreamHead<'a>) -> Read<()> {
        Ok(())
    }
    fn end(&mut self, _tail: usize) {}
}

/// Reads without telling anybody: decides layouts.
impl Sink<'_> for () {}

/// Two that are told of the same records in one pass, the first before the second. If the second has heard enough, it is told no more and the
/// pass goes on.
pub(crate) struct Both<'s, A, B> {
    first: &'s mut A,
    /// `None`: it has heard enough.
    second: Option<&'s mut B>,
}

impl<'s, A, B> Both<'s, A, B> {
    pub(crate) fn new(first: &'s mut A, second: &'s mut B) -> Self {
        let second = Some(second);
        Both { first, second }
    }

    fn heard(&mut self, told: Option<Read<()>>) -> Read<()> {
        match told {
            Some(Err(Halt::Stopped)) => self.second = None,
            Some(Err(fault)) => return Err(fault),
            Some(Ok(())) | None => {}
        }
        Ok(())
    }
}

impl<'a, A: Sink<'a>, B: Sink<'a>> Sink<'a> for Both<'_, A, B> {
    fn operator(&mut self, at: usize, head: &OperatorHead<'a>) {
        self.first.operator(at, head);
        if let Some(second) = &mut self.second {
            second.operator(at, head);
        }
    }

    fn subtask(&mut self, at: usize, head: &SubtaskHead) {
        self.first.subtask(at, head);
        if let Some(second) = &mut self.second {
            second.subtask(at, head);
        }
    }

    fn operator_state(
        &mut self,
        at: usize,
        place: Place,
        around: &Around,
        head: &OperatorStateHead<'a>,
    ) -> Read<()> {
        self.first.operator_state(at, place, around, head)?;
        let second = self.second.as_mut();
        let told = second.map(|second| second.operator_state(at, place, around, head));
        self.heard(told)
    }

    fn keyed(&mut self, at: usize, place: Place, around: &Around, head: &KeyedHead<'a>) {
        self.first.keyed(at, place, around, head);
        if let Some(second) = &mut self.second {
            second.keyed(at, place, around, head);
        }
    }

    fn channel(&mut self, at: usize, place: Place, head: &ChannelHead<'a>) {
        self.first.channel(at, place, head);
        if let Some(second) = &mut self.second {
            second.channel(at, place, head);
        }
    }

    #[inline]
    fn stream(&mut self, at: StreamAt, place: Place, around: &Around, head: &StreamHead<'a>) -> Read<()> {
        self.first.stream(at, place, around, head)?;
        let second = self.second.as_mut();
        let told = second.map(|second| second.stream(at, place, around, head));
        self.heard(told)
    }

    fn end(&mut self, tail: usize) {
        self.first.end(tail);
        if let Some(second) = &mut self.second {
            second.end(tail);
        }
    }
}
