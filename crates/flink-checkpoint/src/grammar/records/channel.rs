//! Channel state handles: bytes in flight (unaligned checkpoints).

use super::super::{Layout, Place};
use super::{In, counted_offsets, unknown_tag};
use crate::cursor::Trace;
use crate::error::{ErrorKind, Halt, Read};
use crate::field::Field;
use crate::handle::{Channel, ChannelHead, MergedChannels};

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
