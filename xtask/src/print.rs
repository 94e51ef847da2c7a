//! What xtask says, plain when nobody reads it on a terminal.

use std::io::{IsTerminal, Write};

fn painted() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

fn paint(code: &str, text: &str) -> String {
    if painted() {
        format!("\x1b[{code}m{text}\x1b[0m")
    } else {
        text.to_owned()
    }
}

/// Text that stands out.
pub(crate) fn strong(text: &str) -> String {
    paint("1", text)
}

/// Text of what failed.
pub(crate) fn bad(text: &str) -> String {
    paint("31", text)
}

/// A line, at once: a pipe would hold it back otherwise.
pub(crate) fn line(text: &str) {
    let mut out = std::io::stdout().lock();
    // Whoever doesn't listen any more doesn't need it.
    let _ = writeln!(out, "{text}");
    let _ = out.flush();
}
