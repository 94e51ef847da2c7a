//! Keyed state handles.

use super::super::{Layout, Place};
use super::{In, key_groups, key_groups_with_offsets, unknown_tag};
use crate::cursor::Trace;
use crate::error::Read;
use crate::field::Field;
use crate::handle::{Change, ChangelogInline, KeyedHead, KeyedTail};

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
