//! Operator state handles: list and broadcast state.

use crate::cursor::Trace;
use crate::error::{ErrorKind, Halt, Read};
use crate::field::Field;
use crate::handle::{DistributionMode, MergedDirectories, NamedState, OperatorStateHead};
use crate::span::Span;

use super::{In, counted_offsets, unknown_tag};

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
