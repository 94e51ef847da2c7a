//! The two encodings in which keys travel.
//!
//! S3 notifications carry a key as HTML form data: a space is `+`, everything else that needs it is a
//! percent escape of UTF-8, and `/` stays. URIs use percent escapes alone, and `+` is a plus. A key
//! must be decoded exactly once, by the rule of its source: `50%25` decoded twice becomes `50%` and then
//! an error.

use std::borrow::Cow;

/// Why an encoded key can't be read. `at` is a byte offset into the encoded text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EncodingError {
    /// A `%` without two hexadecimal digits after it.
    #[error("the percent sign at byte {at} isn't followed by two hexadecimal digits")]
    BrokenEscape {
        /// Offset of the `%`.
        at: usize,
    },
    /// The decoded bytes are no UTF-8; S3 keys are UTF-8.
    #[error("decoded it is no UTF-8 from byte {at} of the decoded key on, and keys of S3 are UTF-8")]
    NotUtf8 {
        /// Offset in the decoded bytes of the first one that doesn't fit.
        at: usize,
    },
}

/// Decodes form data, as in `s3.object.key` of a notification: `+` is a space, then percent escapes.
///
/// # Errors
/// A broken escape, or bytes that are no UTF-8.
pub fn decode_form(text: &str) -> Result<Cow<'_, str>, EncodingError> {
    decode(text, true)
}

/// Decodes percent escapes, as in a URI: `+` is a plus.
///
/// # Errors
/// A broken escape, or bytes that are no UTF-8.
pub fn decode_percent(text: &str) -> Result<Cow<'_, str>, EncodingError> {
    decode(text, false)
}

fn decode(text: &str, plus_is_space: bool) -> Result<Cow<'_, str>, EncodingError> {
    let bytes = text.as_bytes();
    let coded = |b: &u8| *b == b'%' || (plus_is_space && *b == b'+');
    let Some(first) = bytes.iter().position(coded) else {
        return Ok(Cow::Borrowed(text));
    };
    let mut out = Vec::with_capacity(bytes.len());
    out.extend_from_slice(&bytes[..first]);
    let mut at = first;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'%' => {
                let digit = |i: usize| bytes.get(i).and_then(|b| char::from(*b).to_digit(16));
                let (Some(high), Some(low)) = (digit(at + 1), digit(at + 2)) else {
                    return Err(EncodingError::BrokenEscape { at });
                };
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "two hexadecimal digits are at most 255"
                )]
                out.push((high * 16 + low) as u8);
                at += 3;
            }
            b'+' if plus_is_space => {
                out.push(b' ');
                at += 1;
            }
            other => {
                out.push(other);
                at += 1;
            }
        }
    }
    match String::from_utf8(out) {
        Ok(key) => Ok(Cow::Owned(key)),
        Err(e) => Err(EncodingError::NotUtf8 {
            at: e.utf8_error().valid_up_to(),
        }),
    }
}

/// Encodes a key as S3 does in notifications: letters, digits and `.-_*/` stay, a space is `+`, the rest
/// are percent escapes of UTF-8 in upper case. [`decode_form`] is its inverse.
#[must_use]
pub fn encode_form(key: &str) -> String {
    encode(key, b"-_.*/", true)
}

/// Encodes a key for the path of a URI: the unreserved characters of RFC 3986 and `/` stay, the rest are
/// percent escapes of UTF-8 in upper case. [`decode_percent`] is its inverse.
#[must_use]
pub fn encode_percent(key: &str) -> String {
    encode(key, b"-_.~/", false)
}

fn encode(key: &str, stays: &[u8], space_is_plus: bool) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = String::with_capacity(key.len());
    for byte in key.bytes() {
        match byte {
            b' ' if space_is_plus => out.push('+'),
            _ if byte.is_ascii_alphanumeric() || stays.contains(&byte) => out.push(char::from(byte)),
            _ => {
                out.push('%');
                out.push(char::from(HEX[usize::from(byte >> 4)]));
                out.push(char::from(HEX[usize::from(byte & 15)]));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_plus_is_a_space_only_in_form_data() {
        assert_eq!(decode_form("a+b%2Bc%25").as_deref(), Ok("a b+c%"));
        assert_eq!(decode_percent("a+b%2Bc%25").as_deref(), Ok("a+b+c%"));
        assert_eq!(encode_form("a b+c@d/é"), "a+b%2Bc%40d/%C3%A9");
        assert_eq!(encode_percent("a b+c@d/é"), "a%20b%2Bc%40d/%C3%A9");
    }

    #[test]
    fn broken_escapes_say_where() {
        assert_eq!(decode_form("ab%4"), Err(EncodingError::BrokenEscape { at: 2 }));
        assert_eq!(decode_form("%"), Err(EncodingError::BrokenEscape { at: 0 }));
        assert_eq!(decode_percent("a%+1"), Err(EncodingError::BrokenEscape { at: 1 }));
        assert_eq!(decode_percent("a%é1"), Err(EncodingError::BrokenEscape { at: 1 }));
        assert_eq!(decode_form("ab%FFc"), Err(EncodingError::NotUtf8 { at: 2 }));
    }

    proptest! {
        #[test]
        fn decoding_undoes_encoding(key in any::<String>()) {
            let (form, percent) = (encode_form(&key), encode_percent(&key));
            prop_assert_eq!(decode_form(&form).unwrap(), key.as_str());
            prop_assert_eq!(decode_percent(&percent).unwrap(), key.as_str());
        }

        #[test]
        fn any_text_decodes_or_is_refused(text in any::<String>()) {
            let _ = decode_form(&text);
            let _ = decode_percent(&text);
        }
    }
}
