//! Java's modified UTF-8, borrowed.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

/// A string as `DataOutput.writeUTF` writes it, without its length: *modified UTF-8*.
///
/// U+0000 is `C0 80`, characters above U+FFFF are two surrogates of three bytes each, everything else is as
/// in UTF-8. Java strings may hold lone surrogates; such a string has no UTF-8 form and is kept as bytes.
///
/// Two values are equal when their bytes are, which for strings written by Java is the same as equal text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct JavaStr<'a>(&'a [u8]);

impl<'a> JavaStr<'a> {
    /// Takes bytes as they lie in the file. Any bytes are accepted, see [`JavaStr::as_str`].
    pub fn from_bytes(bytes: &'a [u8]) -> Self {
        JavaStr(bytes)
    }

    /// The bytes as they lie in the file.
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// Length in bytes of the encoded form.
    pub fn len(self) -> usize {
        self.0.len()
    }

    /// Whether there are no characters.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Whether there is a text: whether [`JavaStr::as_str`] gives one.
    pub fn is_text(self) -> bool {
        self.0.is_ascii() || self.as_str().is_some()
    }

    /// The text; borrowed unless the encoding differs from UTF-8. `None` if the bytes aren't modified UTF-8
    /// or hold a lone surrogate: then no UTF-8 text (and no S3 key) is the same string.
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        // A four-byte sequence is UTF-8 but no modified UTF-8; Java refuses it. Nearly all text is ASCII.
        if let Ok(text) = std::str::from_utf8(self.0)
            && (self.0.is_ascii() || !self.0.iter().any(|&byte| byte >= 0xF0))
        {
            return Some(Cow::Borrowed(text));
        }
        if Units(self.0).any(|unit| unit.is_err()) {
            return None;
        }
        // At most as long as the bytes at hand: no encoding here is shorter than UTF-8.
        let mut text = String::with_capacity(self.0.len());
        for unit in char::decode_utf16(Units(self.0).flatten()) {
            text.push(unit.ok()?);
        }
        Some(Cow::Owned(text))
    }
}

/// UTF-16 units of modified UTF-8; after an error the iteration goes on behind the byte that made no sense.
#[derive(Clone)]
struct Units<'a>(&'a [u8]);

impl Iterator for Units<'_> {
    type Item = Result<u16, u8>;

    fn next(&mut self) -> Option<Self::Item> {
        let (unit, used) = match *self.0 {
            [] => return None,
            [a, ..] if a < 0x80 => (Ok(u16::from(a)), 1),
            [a, b, ..] if a & 0xE0 == 0xC0 && b & 0xC0 == 0x80 => {
                (Ok(u16::from(a & 0x1F) << 6 | u16::from(b & 0x3F)), 2)
            }
            [a, b, c, ..] if a & 0xF0 == 0xE0 && b & 0xC0 == 0x80 && c & 0xC0 == 0x80 => (
                Ok(u16::from(a & 0x0F) << 12 | u16::from(b & 0x3F) << 6 | u16::from(c & 0x3F)),
                3,
            ),
            [a, ..] => (Err(a), 1),
        };
        self.0 = &self.0[used..];
        Some(unit)
    }
}

/// Shows the text; control characters, lone surrogates and bytes that are no text are escaped, so that the
/// output is always one line.
impl fmt::Display for JavaStr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = self.as_str()
            && !text.chars().any(char::is_control)
        {
            return f.pad(&text);
        }
        let mut units = Units(self.0).peekable();
        while let Some(unit) = units.next() {
            match unit {
                Err(byte) => write!(f, "\\x{byte:02x}")?,
                Ok(high @ 0xD800..=0xDBFF) => match units.peek() {
                    Some(&Ok(low @ 0xDC00..=0xDFFF)) => {
                        units.next();
                        for c in char::decode_utf16([high, low]).flatten() {
                            f.write_char(c)?;
                        }
                    }
                    _ => write!(f, "\\u{{{high:x}}}")?,
                },
                Ok(low @ 0xDC00..=0xDFFF) => write!(f, "\\u{{{low:x}}}")?,
                Ok(unit) => match char::from_u32(u32::from(unit)) {
                    Some(c) if !c.is_control() => f.write_char(c)?,
                    _ => write!(f, "\\u{{{unit:x}}}")?,
                },
            }
        }
        Ok(())
    }
}

impl fmt::Debug for JavaStr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

impl PartialEq<str> for JavaStr<'_> {
    fn eq(&self, other: &str) -> bool {
        self.0 == other.as_bytes() || self.as_str().is_some_and(|text| text == other)
    }
}

impl PartialEq<&str> for JavaStr<'_> {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_borrowed() {
        let text = JavaStr::from_bytes("s3://b/ü ä/€".as_bytes());
        assert!(matches!(text.as_str(), Some(Cow::Borrowed("s3://b/ü ä/€"))));
        assert_eq!(text.to_string(), "s3://b/ü ä/€");
    }

    #[test]
    fn nul_and_supplementary_characters_have_their_java_form() {
        let nul = JavaStr::from_bytes(b"a\xC0\x80b");
        assert_eq!(nul.as_str().as_deref(), Some("a\0b"));
        assert_eq!(nul.to_string(), "a\\u{0}b");
        // U+1F980 is D83E DD80 in UTF-16.
        let crab = JavaStr::from_bytes(b"\xED\xA0\xBE\xED\xB6\x80");
        assert_eq!(crab.as_str().as_deref(), Some("\u{1F980}"));
        assert_eq!(crab, "\u{1F980}");
        // As plain UTF-8 it has four bytes, which Java refuses.
        assert_eq!(JavaStr::from_bytes("\u{1F980}".as_bytes()).as_str(), None);
    }

    #[test]
    fn a_lone_surrogate_stays_opaque_and_is_shown_escaped() {
        let lone = JavaStr::from_bytes(b"x\xED\xA0\xBEy");
        assert_eq!(lone.as_str(), None);
        assert_eq!(lone.to_string(), "x\\u{d83e}y");
        assert_eq!(lone.as_bytes(), b"x\xED\xA0\xBEy");
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_escaped() {
        for bytes in [&b"a\xFFb"[..], b"a\xC3", b"\x80", b"a\xE2\x82"] {
            let odd = JavaStr::from_bytes(bytes);
            assert_eq!(odd.as_str(), None, "{bytes:x?}");
            assert!(odd.to_string().contains("\\x"), "{odd}");
        }
    }
}
