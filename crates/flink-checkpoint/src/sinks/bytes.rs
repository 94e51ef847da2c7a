//! Java's `DataInput` over the bytes at hand.

use super::{SinkError, SinkErrorKind};
use crate::java::JavaStr;

/// Reads from front to back. Offsets in errors count from the beginning of the whole element, also within nested values.
#[derive(Clone, Debug)]
pub(super) struct Bytes<'a> {
    rest: &'a [u8],
    at: usize,
    reading: &'static str,
}

type Read<T> = Result<T, SinkError>;

impl<'a> Bytes<'a> {
    pub(super) fn new(bytes: &'a [u8], reading: &'static str) -> Self {
        Self {
            rest: bytes,
            at: 0,
            reading,
        }
    }

    /// The same bytes, as part of another structure.
    pub(super) fn of(mut self, reading: &'static str) -> Self {
        self.reading = reading;
        self
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(super) fn error(&self, kind: SinkErrorKind) -> SinkError {
        SinkError {
            kind,
            at: self.at,
            reading: self.reading,
        }
    }

    pub(super) fn take(&mut self, n: usize) -> Read<&'a [u8]> {
        let (taken, rest) = self
            .rest
            .split_at_checked(n)
            .ok_or_else(|| self.error(SinkErrorKind::TooShort))?;
        self.rest = rest;
        self.at += n;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Read<[u8; N]> {
        let too_short = self.error(SinkErrorKind::TooShort);
        self.take(N)?.try_into().map_err(|_| too_short)
    }

    pub(super) fn i32(&mut self) -> Read<i32> {
        self.array().map(i32::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Read<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn i64(&mut self) -> Read<i64> {
        self.array().map(i64::from_be_bytes)
    }

    pub(super) fn i32_little(&mut self) -> Read<i32> {
        self.array().map(i32::from_le_bytes)
    }

    pub(super) fn i64_little(&mut self) -> Read<i64> {
        self.array().map(i64::from_le_bytes)
    }

    /// A length or count. It can't be larger than what is left: every counted thing has at least one byte.
    pub(super) fn length(&mut self, n: i32) -> Read<usize> {
        match usize::try_from(n) {
            Ok(length) if length <= self.rest.len() => Ok(length),
            Ok(_) => Err(self.error(SinkErrorKind::TooShort)),
            Err(_) => Err(self.error(SinkErrorKind::OutOfRange(n.into()))),
        }
    }

    pub(super) fn unsigned(&mut self, n: i64) -> Read<u64> {
        u64::try_from(n).map_err(|_| self.error(SinkErrorKind::OutOfRange(n)))
    }

    pub(super) fn bool(&mut self) -> Read<bool> {
        match self.array::<1>()? {
            [0] => Ok(false),
            [1] => Ok(true),
            [other] => Err(self.error(SinkErrorKind::OutOfRange(other.into()))),
        }
    }

    /// `DataOutput.writeUTF`.
    pub(super) fn utf(&mut self) -> Read<String> {
        let length = u16::from_be_bytes(self.array()?);
        let text = JavaStr::from_bytes(self.take(length.into())?);
        let text = text.as_str().ok_or_else(|| self.error(SinkErrorKind::Text))?;
        Ok(text.into_owned())
    }

    /// Bytes with their length before them, as a reader of their own.
    pub(super) fn nested(&mut self, reading: &'static str) -> Read<Bytes<'a>> {
        let n = self.i32()?;
        let n = self.length(n)?;
        let at = self.at;
        Ok(Bytes {
            rest: self.take(n)?,
            at,
            reading,
        })
    }

    /// `SimpleVersionedSerialization.writeVersionAndSerialize`: a version, and bytes with their length before them.
    pub(super) fn versioned(&mut self, reading: &'static str) -> Read<(i32, Bytes<'a>)> {
        let version = self.i32()?;
        Ok((version, self.nested(reading)?))
    }

    /// `SimpleVersionedSerialization.writeVersionAndSerializeList`: one version for all, a count, and each with its length before it.
    pub(super) fn versioned_list(&mut self, reading: &'static str) -> Read<(i32, Vec<Bytes<'a>>)> {
        let version = self.i32()?;
        let n = self.i32()?;
        let n = self.length(n)?;
        // No more than the bytes at hand can hold: each has four of length.
        let mut all = Vec::with_capacity(n.min(self.rest.len() / 4));
        for _ in 0..n {
            all.push(self.nested(reading)?);
        }
        Ok((version, all))
    }

    pub(super) fn magic(&mut self, expected: u32) -> Read<()> {
        let at = self.clone();
        match self.u32()? {
            magic if magic == expected => Ok(()),
            other => Err(at.error(SinkErrorKind::Magic(other))),
        }
    }

    pub(super) fn unknown_version<T>(&self, version: i32) -> Read<T> {
        Err(self.error(SinkErrorKind::Version(version)))
    }

    pub(super) fn end(&self) -> Read<()> {
        match self.rest.len() {
            0 => Ok(()),
            left => Err(self.error(SinkErrorKind::LeftOver(left))),
        }
    }
}
