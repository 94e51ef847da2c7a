//! Where something lies in a file.

use std::fmt;
use std::ops::Range;

/// A range of bytes of the file that was read: `start` is the first byte, `end` the one behind the last.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Span {
    /// Offset of the first byte, from 0.
    pub start: usize,
    /// Offset behind the last byte.
    pub end: usize,
}

impl Span {
    /// Length in bytes.
    pub fn len(self) -> usize {
        self.end.saturating_sub(self.start)
    }

    /// Whether there is no byte in it.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The bytes; `None` if the file is shorter than the span says, so is another file.
    pub fn of(self, bytes: &[u8]) -> Option<&[u8]> {
        bytes.get(Range::from(self))
    }
}

impl From<Span> for Range<usize> {
    fn from(span: Span) -> Self {
        span.start..span.end
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}
