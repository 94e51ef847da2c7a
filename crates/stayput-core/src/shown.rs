//! Text that others chose, shown so that it can't control the terminal or pretend to be something else.
//!
//! Paths, uids and names come out of files that anybody may have written.

use std::fmt;

/// Shows text on one line: control characters, line ends, and characters that reorder or hide text are written as `\u{…}`.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a>(pub &'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some(at) = rest.find(is_unsafe) {
            f.write_str(&rest[..at])?;
            let mut chars = rest[at..].chars();
            if let Some(c) = chars.next() {
                write!(f, "\\u{{{:x}}}", u32::from(c))?;
            }
            rest = chars.as_str();
        }
        f.write_str(rest)
    }
}

/// The same for JSON text, where such characters can only stand within strings: the document keeps its meaning.
#[derive(Clone, Copy, Debug)]
pub struct ShownJson<'a>(pub &'a str);

impl fmt::Display for ShownJson<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unsafe_in_string = |c: char| c != '\n' && is_unsafe(c);
        let mut rest = self.0;
        while let Some(at) = rest.find(unsafe_in_string) {
            f.write_str(&rest[..at])?;
            let mut chars = rest[at..].chars();
            let mut units = [0; 2];
            for unit in chars
                .next()
                .map(|c| c.encode_utf16(&mut units))
                .iter()
                .flat_map(|units| units.iter())
            {
                write!(f, "\\u{unit:04x}")?;
            }
            rest = chars.as_str();
        }
        f.write_str(rest)
    }
}

/// As [`Shown`], in quotation marks, and shortened: for a piece of somebody's document within a sentence. A name of 65,535 bytes would
/// hide the sentence.
#[derive(Clone, Copy, Debug)]
pub struct Quoted<'a>(pub &'a str);

/// So many bytes of a text are quoted.
const LONGEST: usize = 300;

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0;
        if text.len() <= LONGEST {
            return write!(f, "\"{}\"", Shown(text));
        }
        let kept = &text[..text.floor_char_boundary(LONGEST)];
        write!(f, "\"{}…\" ({} bytes)", Shown(kept), text.len())
    }
}

/// Whether a character could control a terminal, end a line, or reorder or hide text: control characters, separators of lines and
/// paragraphs, direction marks and overrides, and what has no width.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{061C}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}'
            | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}' | '\u{AD}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_can_neither_clear_the_screen_nor_read_backwards() {
        let hostile = "a\u{1b}[2J\u{202e}b\nc\u{9b}31m";
        assert_eq!(
            Shown(hostile).to_string(),
            "a\\u{1b}[2J\\u{202e}b\\u{a}c\\u{9b}31m"
        );
        assert_eq!(Shown("s3://b/ü ä/€").to_string(), "s3://b/ü ä/€");
    }

    #[test]
    fn a_long_name_leaves_room_for_the_sentence() {
        let long = "ä\u{202e}".repeat(13_107);
        let quoted = Quoted(&long).to_string();
        assert!(
            quoted.len() < 1_500 && quoted.ends_with("…\" (65535 bytes)"),
            "{quoted}"
        );
        assert!(!quoted.chars().any(is_unsafe));
        assert_eq!(Quoted("a\"b").to_string(), "\"a\"b\"");
    }

    #[test]
    fn escaped_json_says_the_same() {
        let value = serde_json::json!({ "name": "a\u{1b}\u{202e}\u{E0041}b\u{7f}" });
        let text = serde_json::to_string_pretty(&value).unwrap();
        let shown = ShownJson(&text).to_string();
        assert!(!shown.chars().any(|c| c != '\n' && is_unsafe(c)), "{shown:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }
}
