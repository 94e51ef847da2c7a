//! What can be wrong with an object stream.

/// How many superclasses are followed: reading an object takes time in proportion to them.
pub(super) const MAX_SUPERCLASSES: u32 = 64;

/// What is wrong with an object stream, and where in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}, {at} bytes into the stream")]
pub struct JavaError {
    /// What is wrong.
    pub kind: JavaErrorKind,
    /// Offset from the beginning of the stream.
    pub at: usize,
}

/// What is wrong with an object stream.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JavaErrorKind {
    /// The stream ends within a value.
    #[error("it ends too early")]
    EndOfStream,
    /// It doesn't begin with `AC ED 00 05`.
    #[error("it doesn't begin with ac ed 00 05")]
    NoHeader,
    /// A tag that means nothing at this place.
    #[error("tag {0:#04x} means nothing here")]
    UnknownTag(u8),
    /// A reference to something that hasn't been read.
    #[error("reference {0:#x} leads nowhere")]
    BadReference(i32),
    /// A count or length is negative or larger than what is left.
    #[error("{0} can't be a count or length here")]
    BadLength(i64),
    /// A field or array type that Java doesn't have.
    #[error("type {0:#04x} doesn't exist")]
    UnknownType(u8),
    /// The stream tells of an exception while it was written.
    #[error("the writer broke off with an exception")]
    Aborted,
    /// An object whose class writes data that can't be skipped.
    #[error("an Externalizable object of protocol version 1 can't be skipped")]
    Externalizable,
    /// A reference to something that exists, but of a kind that can't stand here.
    #[error("a reference leads to something that can't stand here")]
    WrongReference,
    /// A class that inherits from itself, or from more classes than any in Java.
    #[error("a class has more than {MAX_SUPERCLASSES} superclasses")]
    TooManySuperclasses,
    /// More values than the limit allows.
    #[error("it holds more than {0} values")]
    TooManyValues(usize),
}
