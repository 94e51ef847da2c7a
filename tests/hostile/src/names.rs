//! Names that somebody chose to do harm: markup, commands, terminal sequences, ends of lines, text that reads backwards.

use crate::make::properties;
use crate::tokens::Writer;

/// Names as text. S3 takes most of them as keys, and Flink all of them as paths, names of operators and uids.
pub const NAMES: [&str; 44] = [
    "",
    " ",
    "a b",
    "ü/€/😀",
    "$(touch pwned)",
    "`touch pwned`",
    "'; touch pwned; '",
    "\"; touch pwned; \"",
    "\\",
    "\\'",
    "&& touch pwned",
    "| touch pwned",
    "> pwned",
    "!!",
    "*",
    "~",
    "$HOME",
    "%n%s%p",
    "-f",
    "--endpoint-url=http://127.0.0.1:1",
    "file:///etc/passwd",
    "fileb:///etc/passwd",
    "http://169.254.169.254/latest/meta-data",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "&lt;b&gt;",
    "{{7*7}}",
    "=1+1",
    "+1",
    "@SUM(A1)",
    "a\nb",
    "a\r\nb",
    "a\tb",
    "a\u{0}b",
    "\u{1b}[2J\u{1b}[1;1H",
    "\u{1b}]0;title\u{7}",
    "\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\",
    "\u{9b}31m",
    "\u{7f}\u{8}\u{8}",
    "\u{202e}gpj.exe",
    "\u{2066}a\u{2069}\u{200f}",
    "a\u{2028}b\u{2029}c\u{85}d",
    "\u{feff}\u{200b}\u{ad}\u{e0041}",
    "{\"level\":\"ERROR\"}\n{\"level\":\"ERROR\"}",
];

/// Bytes that are no text in Java's modified UTF-8, or text that has no UTF-8 form.
pub const BYTES: [&[u8]; 9] = [
    b"\xff",
    b"\x00",
    b"\xc0\x80",
    b"\xc1\x81",
    b"\xed\xa0\x80",
    b"\xed\xa0\xbd\xed\xb8\x80",
    b"\xf0\x9f\x98\x80",
    b"a\xe2\x80",
    b"\xe0\x80\xaf..\xe0\x80\xaf",
];

/// A `_metadata` of format 5 in which everything that has a name is called like this, as bytes of Java's modified UTF-8. It has four
/// handles that name objects: two files below `directory`, a part of one, and a file beside `_metadata`.
///
/// # Panics
/// The name is so long that a path with it has more than 65,535 bytes.
pub fn metadata(directory: &str, name: &[u8]) -> Vec<u8> {
    let path = |after: &str| [directory.as_bytes(), name, after.as_bytes()].concat();
    let mut w = Writer::header(5, 8);
    // A master state.
    w.i32(1).i32(0xc96b_1696_u32.cast_signed());
    let length = 4 + 2 + name.len() + 4 + 2;
    w.i32(i32::try_from(length).expect("a short name"))
        .i32(1)
        .utf_bytes(name)
        .i32(2)
        .raw(b"xy");
    // One operator with one subtask.
    w.i32(1)
        .utf_bytes(name)
        .utf_bytes(name)
        .raw(&[7; 16])
        .i32(1)
        .i32(128)
        .u8(0)
        .i32(1)
        .i32(0);
    // Managed operator state: a named state, its bytes inlined. No raw one.
    w.i32(1)
        .u8(4)
        .i32(1)
        .utf_bytes(name)
        .u8(0)
        .i32(0)
        .u8(1)
        .utf_bytes(name)
        .i32(2)
        .raw(b"zz")
        .i32(0);
    // Managed keyed state.
    w.u8(11).i64(8).utf_bytes(name).i32(0).i32(128).i64(-1);
    w.u8(2).i64(3).utf_bytes(&path("-meta"));
    w.i32(2).utf_bytes(name).u8(2).i64(3).utf_bytes(&path("-a"));
    w.utf_bytes(name)
        .u8(15)
        .i64(0)
        .i64(3)
        .i32(1)
        .utf_bytes(&path("-b"))
        .utf_bytes(name);
    w.i32(1)
        .utf_bytes(name)
        .u8(6)
        .utf_bytes(&[b"d/", name].concat())
        .i64(3);
    w.utf_bytes(name);
    // No raw keyed state, no channels.
    w.u8(0).i32(0).i32(0);
    w.raw(&properties().0);
    w.0
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use flink_checkpoint::{Limits, references};

    use super::*;

    #[test]
    fn a_file_is_valid_whatever_its_names_are() {
        let names = NAMES.iter().map(|name| name.as_bytes()).chain(BYTES);
        for name in names {
            let bytes = metadata("s3://b/d/", name);
            let mut named = 0;
            let read = references(&bytes, &Limits::default(), &mut |_| {
                named += 1;
                ControlFlow::Continue(())
            });
            assert!(read.is_ok(), "{name:?}: {read:?}");
            assert_eq!(named, 4, "{name:?}");
        }
    }
}
