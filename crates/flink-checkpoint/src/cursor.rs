//! Reads primitive values, checks every length against the bytes at hand, and names each field.

use crate::error::{ErrorKind, Halt, Read};
use crate::field::Field;
use crate::java::JavaStr;
use crate::span::Span;

/// Is told of every field that was read. `()` ignores them and costs nothing.
pub(crate) trait Trace {
    fn field(&mut self, field: Field, span: Span);
}

impl Trace for () {
    #[inline(always)]
    fn field(&mut self, _: Field, _: Span) {}
}

pub(crate) struct Cursor<'a, T> {
    bytes: &'a [u8],
    at: usize,
    pub(crate) trace: T,
}

impl<'a> Cursor<'a, ()> {
    /// A silent cursor that starts at `at`; behind the end if that lies there.
    pub(crate) fn at(bytes: &'a [u8], at: usize) -> Self {
        Cursor::new(bytes, at, ())
    }
}

impl<'a, T: Trace> Cursor<'a, T> {
    pub(crate) fn new(bytes: &'a [u8], at: usize, trace: T) -> Self {
        Cursor {
            bytes,
            at: at.min(bytes.len()),
            trace,
        }
    }

    #[inline]
    pub(crate) fn pos(&self) -> usize {
        self.at
    }

    #[inline]
    pub(crate) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// A silent cursor over the same bytes.
    pub(crate) fn again(&self, at: usize) -> Cursor<'a, ()> {
        Cursor::at(self.bytes, at)
    }

    /// Everything that is left, without reading it.
    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// The bytes between two positions that were read before.
    pub(crate) fn between(&self, start: usize, end: usize) -> &'a [u8] {
        self.bytes.get(start..end).unwrap_or_default()
    }

    #[inline]
    pub(crate) fn take(&mut self, n: usize, field: Field) -> Read<&'a [u8]> {
        if self.left() < n {
            return Err(self.end_of_file(n, field));
        }
        let start = self.at;
        self.at += n;
        self.trace.field(field, Span { start, end: self.at });
        Ok(&self.bytes[start..self.at])
    }

    #[cold]
    fn end_of_file(&self, needed: usize, field: Field) -> Halt {
        let kind = ErrorKind::EndOfFile {
            needed: needed as u64,
            left: self.left() as u64,
        };
        Halt::fault(kind, self.at, field)
    }

    #[inline]
    fn array<const N: usize>(&mut self, field: Field) -> Read<[u8; N]> {
        match self.bytes[self.at..].first_chunk::<N>() {
            Some(&found) => {
                let start = self.at;
                self.at += N;
                self.trace.field(field, Span { start, end: self.at });
                Ok(found)
            }
            None => Err(self.end_of_file(N, field)),
        }
    }

    #[inline]
    pub(crate) fn u8(&mut self, field: Field) -> Read<u8> {
        Ok(self.array::<1>(field)?[0])
    }

    /// Java's `readBoolean`: every byte but 0 is true.
    #[inline]
    pub(crate) fn bool(&mut self, field: Field) -> Read<bool> {
        Ok(self.u8(field)? != 0)
    }

    #[inline]
    pub(crate) fn i32(&mut self, field: Field) -> Read<i32> {
        Ok(i32::from_be_bytes(self.array(field)?))
    }

    #[inline]
    pub(crate) fn i64(&mut self, field: Field) -> Read<i64> {
        Ok(i64::from_be_bytes(self.array(field)?))
    }

    #[inline]
    pub(crate) fn id(&mut self, field: Field) -> Read<[u8; 16]> {
        self.array(field)
    }

    /// A string of Java's `writeUTF`. The span of the field includes the length.
    #[inline]
    pub(crate) fn utf(&mut self, field: Field) -> Read<JavaStr<'a>> {
        let bytes = &self.bytes[self.at..];
        let Some(&length) = bytes.first_chunk::<2>() else {
            return Err(self.end_of_file(2, field));
        };
        let n = usize::from(u16::from_be_bytes(length));
        let Some(text) = bytes.get(2..2 + n) else {
            return Err(self.end_of_file(2 + n, field));
        };
        let start = self.at;
        self.at += 2 + n;
        self.trace.field(field, Span { start, end: self.at });
        Ok(JavaStr::from_bytes(text))
    }

    /// A length in bytes: not negative, and so many bytes are left.
    #[inline]
    pub(crate) fn length(&mut self, field: Field) -> Read<usize> {
        self.count(field, 1)
    }

    /// A number of elements that have at least `least` bytes each.
    #[inline]
    pub(crate) fn count(&mut self, field: Field, least: usize) -> Read<usize> {
        let at = self.at;
        let count = self.i32(field)?;
        self.fits(count, least, at, field)
    }

    /// Checks a count that was read at `at`.
    #[inline]
    pub(crate) fn fits(&self, count: i32, least: usize, at: usize, field: Field) -> Read<usize> {
        match usize::try_from(count) {
            Err(_) => Err(Halt::fault(
                ErrorKind::Negative { value: count.into() },
                at,
                field,
            )),
            Ok(n) if n.checked_mul(least).is_none_or(|bytes| bytes > self.left()) => {
                let (least, left) = (least as u64, self.left() as u64);
                Err(Halt::fault(
                    ErrorKind::CountTooLarge {
                        count: count.into(),
                        least,
                        left,
                    },
                    at,
                    field,
                ))
            }
            Ok(n) => Ok(n),
        }
    }
}
