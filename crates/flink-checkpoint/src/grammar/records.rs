//! The fixed parts of each record: which fields, in which order, with which bounds.

use crate::cursor::{Cursor, Trace};
use crate::error::{ErrorKind, Halt, Read};
use crate::field::Field;
use crate::handle::{KeyGroups, MasterState, Offsets, OperatorHead, OperatorId, SubtaskHead};
use crate::java::JavaStr;

use super::Layout;

mod channel;
mod keyed;
mod operator_state;
mod stream;

pub(crate) use channel::{channel, channel_tail, least_channel, merged_channel};
pub(crate) use keyed::{change, keyed, keyed_tail};
pub(crate) use operator_state::{named_state, operator_state};
pub(crate) use stream::{Prefix, prefix, stream};

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

/// Format 7: the checkpoint that a subtask's handles lie in, if not this one. Only format 7 has it.
pub(crate) fn subtask_tail<T: Trace>(c: In<'_, '_, T>, layout: Layout) -> Read<Option<i64>> {
    if layout.version < 7 || c.u8(Field::ReferenceCheckpointMark)? != 1 {
        return Ok(None);
    }
    c.i64(Field::ReferenceCheckpointId).map(Some)
}
