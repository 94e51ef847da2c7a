//! The bytes of a sidecar as numbers, texts and references: nothing is believed before it was read.

use super::{DIRECTORY_AGAIN, END, KIND_AT, NEW_DIRECTORY, OTHER_NAME, PACKED_KIND_AT, Refused, UUID};
use crate::extent::Extent;
use crate::reference_index::Name;

/// A place in the bytes.
pub(super) struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Reader<'b> {
    pub(super) fn of(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(super) fn at(bytes: &'b [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    pub(super) fn damaged(&self) -> Refused {
        Refused::Damaged { at: self.at }
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'b [u8], Refused> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let taken = rest.get(..length).ok_or_else(|| self.damaged())?;
        self.at += length;
        Ok(taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8, Refused> {
        self.take(1).map(|byte| byte[0])
    }

    pub(super) fn id(&mut self) -> Result<[u8; 16], Refused> {
        let bytes = self.take(16)?;
        bytes.try_into().map_err(|_| self.damaged())
    }

    /// LEB128 without a sign.
    pub(super) fn number(&mut self) -> Result<u64, Refused> {
        let mut number = 0u64;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7F);
            if bits << shift >> shift != bits {
                return Err(self.damaged());
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(self.damaged())
    }

    pub(super) fn text(&mut self) -> Result<&'b str, Refused> {
        let length = self.number()?;
        let length = usize::try_from(length).map_err(|_| self.damaged())?;
        let text = self.take(length)?;
        std::str::from_utf8(text).map_err(|_| self.damaged())
    }

    /// A name that is no UUID.
    fn other_name(&mut self) -> Result<Name<'b>, Refused> {
        let text = self.text()?;
        match Name::of(text) {
            name @ Name::Other(_) if !text.contains('/') => Ok(name),
            _ => Err(self.damaged()),
        }
    }

    /// Bucket and key prefix.
    fn directory(&mut self) -> Result<(&'b str, &'b str), Refused> {
        let (bucket, directory) = (self.text()?, self.text()?);
        if directory.is_empty() || directory.ends_with('/') {
            Ok((bucket, directory))
        } else {
            Err(self.damaged())
        }
    }

    /// So many as a number says, one after the other: no place is made for more than there are.
    pub(super) fn many<T>(
        &mut self,
        mut one: impl FnMut(&mut Self) -> Result<T, Refused>,
    ) -> Result<Vec<T>, Refused> {
        let count = self.number()?;
        let mut all = Vec::new();
        for _ in 0..count {
            all.push(one(self)?);
        }
        Ok(all)
    }

    /// Tells bucket, key prefix, name and extent of every reference up to the end of them; how many there were.
    pub(super) fn references(
        &mut self,
        named: &mut impl FnMut(&'b str, &'b str, Name<'b>, Extent),
    ) -> Result<u64, Refused> {
        let mut directories: Vec<(&str, &str)> = Vec::new();
        let mut current = None;
        let mut count = 0;
        loop {
            let first = self.byte()?;
            let name = match first & 3 {
                UUID => Name::Uuid(self.id()?),
                OTHER_NAME => self.other_name()?,
                _ => match first {
                    END => return Ok(count),
                    NEW_DIRECTORY => {
                        let directory = self.directory()?;
                        directories.push(directory);
                        current = Some(directory);
                        continue;
                    }
                    DIRECTORY_AGAIN => {
                        let number = usize::try_from(self.number()?).ok();
                        let directory = number.and_then(|n| directories.get(n)).copied();
                        current = Some(directory.ok_or_else(|| self.damaged())?);
                        continue;
                    }
                    _ => return Err(self.damaged()),
                },
            };
            let (kind, size) = (u64::from(first >> KIND_AT), self.number()?);
            if kind > 3 || size >> PACKED_KIND_AT != 0 {
                return Err(self.damaged());
            }
            let (bucket, directory) = current.ok_or_else(|| self.damaged())?;
            named(
                bucket,
                directory,
                name,
                Extent::unpacked(kind << PACKED_KIND_AT | size),
            );
            count += 1;
        }
    }
}
