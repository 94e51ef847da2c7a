//! Bytes, and what each of them means: so that one field can be replaced by another value.

use std::ops::Range;

use flink_checkpoint::Field;

/// What a piece of a file is, as far as it can be replaced by another of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One byte.
    U8,
    /// Four bytes, big-endian.
    I32,
    /// Eight bytes, big-endian.
    I64,
    /// Text of Java's `writeUTF`: two bytes of length before it.
    Utf,
    /// Bytes.
    Raw,
}

/// A piece of a file, as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it means; `None`: it goes on with what the token before means.
    pub field: Option<Field>,
    /// Its kind.
    pub kind: Kind,
    /// Where it lies, in bytes from the beginning of the file.
    pub at: Range<usize>,
}

/// Bytes, and of which pieces they are made.
#[derive(Default)]
pub struct Writer(pub Vec<u8>, pub Vec<Token>, Option<Field>);

impl Writer {
    /// The beginning of a file.
    pub fn header(version: i32, checkpoint_id: i64) -> Writer {
        let mut w = Writer::default();
        w.is(Field::Magic).raw(&[0x49, 0x60, 0x67, 0x2D]);
        w.is(Field::FormatVersion).i32(version);
        w.is(Field::CheckpointId).i64(checkpoint_id);
        w
    }

    /// Says what the next token means.
    pub fn is(&mut self, field: Field) -> &mut Self {
        self.2 = Some(field);
        self
    }

    fn token(&mut self, kind: Kind, bytes: &[&[u8]]) -> &mut Self {
        let start = self.0.len();
        bytes.iter().for_each(|part| self.0.extend_from_slice(part));
        let at = start..self.0.len();
        let field = self.2.take();
        self.1.push(Token { field, kind, at });
        self
    }

    /// Writes bytes.
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.token(Kind::Raw, &[bytes])
    }

    /// Writes a byte.
    pub fn u8(&mut self, value: u8) -> &mut Self {
        self.token(Kind::U8, &[&[value]])
    }

    /// Writes an `int`.
    pub fn i32(&mut self, value: i32) -> &mut Self {
        self.token(Kind::I32, &[&value.to_be_bytes()])
    }

    /// Writes a `long`.
    pub fn i64(&mut self, value: i64) -> &mut Self {
        self.token(Kind::I64, &[&value.to_be_bytes()])
    }

    /// Writes text.
    ///
    /// # Panics
    /// It has more than 65,535 bytes.
    pub fn utf(&mut self, text: &str) -> &mut Self {
        self.utf_bytes(text.as_bytes())
    }

    /// Writes bytes as if they were text.
    ///
    /// # Panics
    /// There are more than 65,535 of them.
    pub fn utf_bytes(&mut self, text: &[u8]) -> &mut Self {
        let length = u16::try_from(text.len()).expect("Java writes no longer text");
        self.token(Kind::Utf, &[&length.to_be_bytes(), text])
    }
}
