//! The text of UUIDs, by which Flink names files, and their 16 bytes.

const HEX: &[u8; 16] = b"0123456789abcdef";
/// Where the hex digits of a UUID's text stand, each byte's first.
const DIGITS: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

/// The value of each character as a hex digit in lower case; `NO_DIGIT` of all others.
const VALUES: [u8; 256] = {
    let mut values = [NO_DIGIT; 256];
    let mut digit = 0u8;
    while digit < 16 {
        values[HEX[digit as usize] as usize] = digit;
        digit += 1;
    }
    values
};
const NO_DIGIT: u8 = 0xFF;

/// The 16 bytes of a UUID in its canonical text form (lower case), so that text and bytes are inverses; `None` for any other name.
pub(crate) fn bytes_of(name: &str) -> Option<[u8; 16]> {
    let text: &[u8; 36] = name.as_bytes().try_into().ok()?;
    if [text[8], text[13], text[18], text[23]] != *b"----" {
        return None;
    }
    let mut bytes = [0; 16];
    let mut seen = 0;
    for (byte, at) in bytes.iter_mut().zip(DIGITS) {
        let (high, low) = (VALUES[usize::from(text[at])], VALUES[usize::from(text[at + 1])]);
        seen |= high | low;
        *byte = (high << 4) | low;
    }
    (seen < 16).then_some(bytes)
}

/// The inverse of [`bytes_of`], at the end of a text.
pub(super) fn push(text: &mut String, bytes: [u8; 16]) {
    for (at, byte) in bytes.into_iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push(HEX[usize::from(byte >> 4)].into());
        text.push(HEX[usize::from(byte & 15)].into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_bytes_are_inverses_and_no_other_text_has_bytes() {
        let text = "048639c5-3829-4f26-872e-f96c0c7bc7fc";
        let bytes = bytes_of(text).unwrap();
        let mut again = String::new();
        push(&mut again, bytes);
        assert_eq!((again.as_str(), bytes[0], bytes[15]), (text, 0x04, 0xFC));
        for place in 0..text.len() {
            for other in ["g", "F", "/", ":", "-", "0"] {
                let changed = format!("{}{other}{}", &text[..place], &text[place + 1..]);
                let mut back = String::new();
                if let Some(bytes) = bytes_of(&changed) {
                    push(&mut back, bytes);
                }
                let stands = if text.as_bytes()[place] == b'-' { "-" } else { "0" };
                assert_eq!(back == changed, other == stands, "{changed}");
            }
        }
        for other in [
            "",
            "048639c5",
            &text[1..],
            "048639c538294f26872ef96c0c7bc7fc",
            "é48639c5-3829-4f26-872e-f96c0c7bc7f",
        ] {
            assert_eq!(bytes_of(other), None, "{other}");
        }
    }
}
