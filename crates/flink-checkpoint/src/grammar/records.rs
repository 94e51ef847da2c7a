//! The fixed parts of each record: which fields, in which order, with which bounds.

use crate::cursor::{Cursor, Trace};
use crate::error::{ErrorKind, Halt, Read};
use crate::field::Field;
use crate::handle::{
    Change, ChangelogInline, Channel, ChannelHead, DistributionMode, KeyGroups, KeyedHead, KeyedTail,
    MasterState, MergedChannels, MergedDirectories, NamedState, Offsets, OperatorHead, OperatorId,
    OperatorStateHead, Scope, StreamHead, SubtaskHead,
};
use crate::java::JavaStr;
use crate::span::Span;

use super::{Layout, Place};

const MASTER_STATE_MAGIC: u32 = 0xc96b_1696;

type In<'c, 'a, T> = &'c mut Cursor<'a, T>;

/// Least size of a master state in bytes: its magic number and length.
pub(crate) const LEAST_MASTER_STATE: usize = 8;

pub(crate) fn master_state<'a, T: Trace>(c: In<'_, 'a, T>) -> Read<MasterState<'a>> {
    let at = c.pos();
    let magic = c.i32(Field::MasterStateMagic)?.cast_unsigned();
    if magic != MASTER_STATE_MAGIC {
        return Err(Halt::fault(
            ErrorKind::MasterStateMagic { found: magic },
            at,
            Field::MasterStateMagic,
        ));
    }
    let at = c.pos();
    let expected = c.length(Field::MasterStateLength)?;
    let start = c.pos();
    let version = c.i32(Field::MasterStateVersion)?;
    let name = c.utf(Field::MasterStateName)?;
    let n = c.length(Field::MasterStatePayloadLength)?;
    let payload = c.take(n, Field::MasterStatePayload)?;
    let found = c.pos() - start;
    if found != expected {
        return Err(Halt::fault(
            ErrorKind::MasterStateLength { expected, found },
            at,
            Field::MasterStateLength,
        ));
    }
    Ok(MasterState {
        version,
        name,
        payload,
    })
}

/// Least size of an operator in bytes: one that finished, without name.
pub(crate) fn least_operator(version: u8) -> usize {
    match version {
        ..=2 => 32,
        3 | 4 => 29,
        _ => 33,
    }
}

pub(crate) fn operator<'a, T: Trace>(c: In<'_, 'a, T>, layout: Layout) -> Read<OperatorHead<'a>> {
    let known = |text: JavaStr<'a>| (!text.is_empty()).then_some(text);
    let (name, uid) = if layout.version >= 5 {
        (
            known(c.utf(Field::OperatorName)?),
            known(c.utf(Field::OperatorUid)?),
        )
    } else {
        (None, None)
    };
    let id = OperatorId(c.id(Field::OperatorId)?);
    let parallelism = c.i32(Field::Parallelism)?;
    let max_parallelism = c.i32(Field::MaxParallelism)?;
    if layout.version == 2 {
        c.i32(Field::ChainLength)?;
    }
    Ok(OperatorHead {
        name,
        uid,
        id,
        parallelism,
        max_parallelism,
    })
}

/// The number of stored subtasks; `None`: the operator had finished.
pub(crate) fn subtask_count<T: Trace>(c: In<'_, '_, T>, layout: Layout) -> Read<Option<usize>> {
    let at = c.pos();
    let count = c.i32(Field::SubtaskCount)?;
    if count < 0 && layout.version >= 3 {
        return Ok(None);
    }
    c.fits(count, 4, at, Field::SubtaskCount).map(Some)
}

pub(crate) fn subtask<T: Trace>(c: In<'_, '_, T>, layout: Layout) -> Read<SubtaskHead> {
    let at = c.pos();
    let stored = c.i32(Field::SubtaskIndex)?;
    let finished = stored < 0;
    if finished && layout.version < 3 {
        return Err(Halt::fault(
            ErrorKind::Negative { value: stored.into() },
            at,
            Field::SubtaskIndex,
        ));
    }
    // -stored - 1 is the complement, also of the least number.
    let index = if finished { !stored } else { stored }.unsigned_abs();
    Ok(SubtaskHead { index, finished })
}

fn key_groups<T: Trace>(c: In<'_, '_, T>, least: usize) -> Read<KeyGroups> {
    let at = c.pos();
    let start = c.i32(Field::KeyGroupStart)?;
    let start = u32::try_from(start).map_err(|_| {
        Halt::fault(
            ErrorKind::OutOfRange { value: start.into() },
            at,
            Field::KeyGroupStart,
        )
    })?;
    let at = c.pos();
    let count = c.i32(Field::KeyGroupCount)?;
    c.fits(count, least, at, Field::KeyGroupCount)?;
    Ok(KeyGroups {
        start,
        count: count.unsigned_abs(),
    })
}

fn offsets<'a, T: Trace>(c: In<'_, 'a, T>, n: usize) -> Read<Offsets<'a>> {
    // `n` was checked against the bytes that are left.
    Ok(Offsets(c.take(n * 8, Field::Offsets)?))
}

fn counted_offsets<'a, T: Trace>(c: In<'_, 'a, T>) -> Read<Offsets<'a>> {
    let n = c.count(Field::OffsetCount, 8)?;
    offsets(c, n)
}

fn key_groups_with_offsets<'a, T: Trace>(c: In<'_, 'a, T>) -> Read<(KeyGroups, Offsets<'a>)> {
    let groups = key_groups(c, 8)?;
    Ok((groups, offsets(c, groups.count as usize)?))
}

fn unknown_tag(tag: u8, at: usize, field: Field) -> Halt {
    Halt::fault(ErrorKind::UnknownTag { tag }, at, field)
}

fn stream_size<T: Trace>(c: In<'_, '_, T>) -> Read<Option<u64>> {
    let at = c.pos();
    match c.i64(Field::StateSize)? {
        -1 => Ok(None),
        size => u64::try_from(size)
            .map(Some)
            .map_err(|_| Halt::fault(ErrorKind::OutOfRange { value: size }, at, Field::StateSize)),
    }
}

fn not_negative<T: Trace>(c: In<'_, '_, T>, field: Field) -> Read<u64> {
    let at = c.pos();
    let value = c.i64(field)?;
    u64::try_from(value).map_err(|_| Halt::fault(ErrorKind::OutOfRange { value }, at, field))
}

/// What precedes a stream handle in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prefix<'a> {
    Nothing,
    LocalPath(JavaStr<'a>),
    Offset(i64),
}

pub(crate) fn prefix<'a, T: Trace>(c: In<'_, 'a, T>, place: Place) -> Read<Prefix<'a>> {
    Ok(match place {
        Place::Shared | Place::Private => Prefix::LocalPath(c.utf(Field::LocalPath)?),
        Place::ChangelogFile => Prefix::Offset(c.i64(Field::ChangelogOffset)?),
        _ => Prefix::Nothing,
    })
}

#[inline]
pub(crate) fn stream<'a, T: Trace>(c: In<'_, 'a, T>, place: Place) -> Read<Option<StreamHead<'a>>> {
    let field = if place == Place::Coordinator {
        Field::CoordinatorTag
    } else {
        Field::StreamTag
    };
    let at = c.pos();
    let tag = c.u8(field)?;
    Ok(Some(match tag {
        0 => return Ok(None),
        1 => {
            let name = c.utf(Field::InlineName)?;
            let n = c.length(Field::InlineLength)?;
            StreamHead::Inline {
                name,
                bytes: c.take(n, Field::InlineBytes)?,
            }
        }
        _ if place == Place::Coordinator => return Err(unknown_tag(tag, at, field)),
        2 => {
            let size = stream_size(c)?;
            StreamHead::File {
                path: c.utf(Field::Path)?,
                size,
            }
        }
        3 => {
            let (groups, offsets) = key_groups_with_offsets(c)?;
            StreamHead::KeyGroups { groups, offsets }
        }
        6 => {
            let at = c.pos();
            let path = c.utf(Field::RelativePath)?;
            if leaves_directory(path) {
                return Err(Halt::fault(
                    ErrorKind::UnsafeRelativePath,
                    at,
                    Field::RelativePath,
                ));
            }
            StreamHead::Relative {
                path,
                size: stream_size(c)?,
            }
        }
        15 => {
            let start = not_negative(c, Field::SegmentStart)?;
            let size = not_negative(c, Field::StateSize)?;
            let at = c.pos();
            let scope = match c.i32(Field::SegmentScope)? {
                0 => Scope::Exclusive,
                1 => Scope::Shared,
                value => {
                    let kind = ErrorKind::OutOfRange { value: value.into() };
                    return Err(Halt::fault(kind, at, Field::SegmentScope));
                }
            };
            let path = c.utf(Field::Path)?;
            let logical_file_id = c.utf(Field::LogicalFileId)?;
            StreamHead::Segment {
                path,
                start,
                size,
                scope,
                logical_file_id,
            }
        }
        16 => StreamHead::EmptySegment,
        tag => return Err(unknown_tag(tag, at, field)),
    }))
}

/// Empty, absolute, with a scheme, or with a `..` in it.
fn leaves_directory(path: JavaStr<'_>) -> bool {
    let bytes = path.as_bytes();
    let first = bytes.split(|&byte| byte == b'/').next().unwrap_or_default();
    bytes.is_empty()
        || bytes[0] == b'/'
        || first.contains(&b':')
        || bytes.split(|&byte| byte == b'/').any(|step| step == b"..")
}

pub(crate) fn keyed<'a, T: Trace>(
    c: In<'_, 'a, T>,
    place: Place,
    layout: Layout,
) -> Read<Option<KeyedHead<'a>>> {
    let at = c.pos();
    let tag = c.u8(Field::KeyedTag)?;
    Ok(Some(match tag {
        0 => return Ok(None),
        // The log of a changelog handle can be nothing else.
        tag if place == Place::NonMaterialized && !matches!(tag, 9 | 10 | 13) => {
            return Err(unknown_tag(tag, at, Field::KeyedTag));
        }
        3 | 7 | 12 => {
            let (groups, offsets) = key_groups_with_offsets(c)?;
            KeyedHead::KeyGroups {
                savepoint: tag == 7,
                has_id: tag == 12,
                groups,
                offsets,
            }
        }
        5 | 11 => {
            let checkpoint_id = c.i64(Field::BackendCheckpointId)?;
            let backend_id = c.utf(Field::BackendId)?;
            let groups = key_groups(c, 0)?;
            let has_id = tag == 11;
            let checkpointed_size = if has_id {
                Some(c.i64(Field::CheckpointedSize)?)
            } else {
                None
            };
            KeyedHead::Incremental {
                has_id,
                checkpoint_id,
                backend_id,
                groups,
                checkpointed_size,
            }
        }
        8 | 14 => {
            let groups = key_groups(c, 0)?;
            let has_checkpoint_id = tag == 14;
            let sizes = has_checkpoint_id || layout.changelog_ids;
            let checkpointed_size = if sizes {
                Some(c.i64(Field::CheckpointedSize)?)
            } else {
                None
            };
            KeyedHead::Changelog {
                has_checkpoint_id,
                groups,
                checkpointed_size,
            }
        }
        9 => KeyedHead::ChangelogInline(changelog_inline(c, layout)?),
        10 | 13 => KeyedHead::ChangelogFiles {
            has_storage: tag == 13,
            groups: key_groups(c, 0)?,
        },
        tag => return Err(unknown_tag(tag, at, Field::KeyedTag)),
    }))
}

fn changelog_inline<'a, T: Trace>(c: In<'_, 'a, T>, layout: Layout) -> Read<ChangelogInline<'a>> {
    let groups = key_groups(c, 0)?;
    let from = c.i64(Field::SequenceFrom)?;
    let to = c.i64(Field::SequenceTo)?;
    let change_count = c.count(Field::ChangeCount, 8)?;
    let start = c.pos();
    for _ in 0..change_count {
        change(c)?;
    }
    let changes = c.between(start, c.pos());
    let state_handle_id = if layout.changelog_ids {
        Some(c.utf(Field::StateHandleId)?)
    } else {
        None
    };
    Ok(ChangelogInline {
        groups,
        from,
        to,
        change_count,
        changes,
        state_handle_id,
    })
}

pub(crate) fn change<'a, T: Trace>(c: In<'_, 'a, T>) -> Read<Change<'a>> {
    let key_group = c.i32(Field::ChangeKeyGroup)?;
    let n = c.length(Field::ChangeLength)?;
    Ok(Change {
        key_group,
        bytes: c.take(n, Field::Change)?,
    })
}

pub(crate) fn keyed_tail<'a, T: Trace>(
    c: In<'_, 'a, T>,
    head: &KeyedHead<'a>,
    layout: Layout,
) -> Read<KeyedTail<'a>> {
    let mut tail = KeyedTail::default();
    match *head {
        KeyedHead::KeyGroups { has_id, .. } | KeyedHead::Incremental { has_id, .. } => {
            if has_id {
                tail.state_handle_id = Some(c.utf(Field::StateHandleId)?);
            }
        }
        KeyedHead::Changelog {
            has_checkpoint_id, ..
        } => {
            if has_checkpoint_id || layout.changelog_ids {
                tail.materialization_id = Some(c.i64(Field::MaterializationId)?);
                if has_checkpoint_id {
                    tail.checkpoint_id = Some(c.i64(Field::BackendCheckpointId)?);
                }
                tail.state_handle_id = Some(c.utf(Field::StateHandleId)?);
            }
        }
        KeyedHead::ChangelogInline(_) => {}
        KeyedHead::ChangelogFiles { has_storage, .. } => {
            tail.size = Some(c.i64(Field::ChangelogSize)?);
            if has_storage || layout.changelog_ids {
                tail.incremental_size = Some(c.i64(Field::IncrementalSize)?);
                tail.state_handle_id = Some(c.utf(Field::StateHandleId)?);
            }
            if has_storage {
                tail.storage_identifier = Some(c.utf(Field::StorageIdentifier)?);
            }
        }
    }
    Ok(tail)
}

pub(crate) fn operator_state<'a, T: Trace>(c: In<'_, 'a, T>) -> Read<Option<OperatorStateHead<'a>>> {
    let at = c.pos();
    let tag = c.u8(Field::OperatorStateTag)?;
    match tag {
        0 => return Ok(None),
        4 | 17 => {}
        tag => return Err(unknown_tag(tag, at, Field::OperatorStateTag)),
    }
    let state_count = c.count(Field::StateCount, 7)?;
    let start = c.pos();
    for _ in 0..state_count {
        named_state(c)?;
    }
    let states = c.between(start, c.pos());
    let merged = if tag == 17 {
        let at = c.pos();
        let task_owned = c.utf(Field::TaskOwnedDirectory)?;
        let middle = c.pos();
        let shared = c.utf(Field::SharedDirectory)?;
        let end = c.pos();
        let is_empty = c.bool(Field::IsEmpty)?;
        let task_owned_span = Span {
            start: at,
            end: middle,
        };
        let shared_span = Span { start: middle, end };
        Some(MergedDirectories {
            task_owned,
            task_owned_span,
            shared,
            shared_span,
            is_empty,
        })
    } else {
        None
    };
    Ok(Some(OperatorStateHead {
        states,
        state_count,
        merged,
    }))
}

pub(crate) fn named_state<'a, T: Trace>(c: In<'_, 'a, T>) -> Read<NamedState<'a>> {
    let name = c.utf(Field::StateName)?;
    let at = c.pos();
    let mode = match c.u8(Field::DistributionMode)? {
        0 => DistributionMode::SplitDistribute,
        1 => DistributionMode::Union,
        2 => DistributionMode::Broadcast,
        value => {
            let kind = ErrorKind::OutOfRange { value: value.into() };
            return Err(Halt::fault(kind, at, Field::DistributionMode));
        }
    };
    Ok(NamedState {
        name,
        mode,
        offsets: counted_offsets(c)?,
    })
}

/// Least size of a channel handle in bytes, whatever the layout.
pub(crate) fn least_channel(version: u8) -> usize {
    match version {
        ..=3 => 21,
        4 | 5 => 25,
        _ => 18,
    }
}

pub(crate) fn channel<'a, T: Trace>(c: In<'_, 'a, T>, place: Place, layout: Layout) -> Read<ChannelHead<'a>> {
    let merged = if layout.version >= 6 {
        let at = c.pos();
        match (c.u8(Field::ChannelTag)?, place) {
            (1, Place::InputChannel) | (2, Place::OutputChannel) => false,
            (3, Place::InputChannel) | (4, Place::OutputChannel) => true,
            (tag, _) => return Err(unknown_tag(tag, at, Field::ChannelTag)),
        }
    } else {
        false
    };
    let subtask_index = if layout.channel_subtask {
        Some(c.i32(Field::ChannelSubtask)?)
    } else {
        None
    };
    if merged {
        return Ok(ChannelHead {
            subtask_index,
            channel: None,
            size: c.i64(Field::ChannelStateSize)?,
        });
    }
    let gate_or_partition = c.i32(Field::GateOrPartition)?;
    let channel_or_subpartition = c.i32(Field::ChannelOrSubpartition)?;
    let offsets = counted_offsets(c)?;
    let size = c.i64(Field::ChannelStateSize)?;
    let channel = Some(Channel {
        gate_or_partition,
        channel_or_subpartition,
        size,
        offsets,
    });
    Ok(ChannelHead {
        subtask_index,
        channel,
        size,
    })
}

/// What follows behind the delegate of a channel handle; nothing unless merged.
pub(crate) fn channel_tail<'a, T: Trace>(
    c: In<'_, 'a, T>,
    head: &ChannelHead<'a>,
) -> Read<Option<MergedChannels<'a>>> {
    if head.channel.is_some() {
        return Ok(None);
    }
    let at = c.pos();
    let n = c.length(Field::MergedOffsetsLength)?;
    let start = c.pos();
    let count = c.count(Field::MergedChannelCount, 20)?;
    for _ in 0..count {
        merged_channel(c)?;
    }
    if c.pos() - start != n {
        let kind = ErrorKind::OutOfRange {
            value: i64::try_from(n).unwrap_or(i64::MAX),
        };
        return Err(Halt::fault(kind, at, Field::MergedOffsetsLength));
    }
    Ok(Some(MergedChannels {
        encoded: c.between(start, c.pos()),
    }))
}

pub(crate) fn merged_channel<'a, T: Trace>(c: In<'_, 'a, T>) -> Read<Channel<'a>> {
    let gate_or_partition = c.i32(Field::GateOrPartition)?;
    let channel_or_subpartition = c.i32(Field::ChannelOrSubpartition)?;
    let size = c.i64(Field::ChannelStateSize)?;
    let offsets = counted_offsets(c)?;
    Ok(Channel {
        gate_or_partition,
        channel_or_subpartition,
        size,
        offsets,
    })
}

/// Format 7: the checkpoint that a subtask's handles lie in, if not this one. Only format 7 has it.
pub(crate) fn subtask_tail<T: Trace>(c: In<'_, '_, T>, layout: Layout) -> Read<Option<i64>> {
    if layout.version < 7 || c.u8(Field::ReferenceCheckpointMark)? != 1 {
        return Ok(None);
    }
    c.i64(Field::ReferenceCheckpointId).map(Some)
}
