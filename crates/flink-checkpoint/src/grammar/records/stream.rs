//! Stream state handles: state bytes somewhere.

use super::super::Place;
use super::{In, key_groups_with_offsets, unknown_tag};
use crate::cursor::Trace;
use crate::error::{ErrorKind, Halt, Read};
use crate::field::Field;
use crate::handle::{Scope, StreamHead};
use crate::java::JavaStr;

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
