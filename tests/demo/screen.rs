//! How the demo speaks: colours on a terminal, plain text elsewhere.

use std::io::{IsTerminal, Write};

/// Where the story is told.
pub(crate) struct Screen {
    painted: bool,
    chapters: u32,
}

impl Screen {
    pub(crate) fn new() -> Self {
        let painted = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Self { painted, chapters: 0 }
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if self.painted {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    pub(crate) fn strong(&self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(crate) fn quiet(&self, text: &str) -> String {
        self.paint("2", text)
    }

    pub(crate) fn good(&self, text: &str) -> String {
        self.paint("1;32", text)
    }

    pub(crate) fn bad(&self, text: &str) -> String {
        self.paint("1;31", text)
    }

    /// A line.
    pub(crate) fn say(&self, text: &str) {
        let mut out = std::io::stdout().lock();
        // Whoever doesn't listen any more doesn't need it.
        let _ = writeln!(out, "{text}");
        let _ = out.flush();
    }

    /// A line below a chapter's title.
    pub(crate) fn tell(&self, text: &str) {
        if text.is_empty() {
            self.say("");
        } else {
            self.say(&format!("   {text}"));
        }
    }

    /// The next chapter.
    pub(crate) fn chapter(&mut self, title: &str) {
        self.chapters += 1;
        self.say("");
        self.say(&self.strong(&format!("{}  {title}", self.chapters)));
        self.say("");
    }
}
