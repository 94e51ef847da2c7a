//! How the command ends: what a script learns without reading the output.

use std::process::ExitCode;

/// What the exit status says. Of several answers the one that must not be overlooked wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Exit {
    /// 0: everything was answered, and nothing needs attention.
    #[default]
    Fine,
    /// 1: everything was answered, and something needs attention.
    Findings,
    /// 3: something could not be answered: a file that can't be read, or a call that failed.
    CantTell,
    /// 2: the command was called with arguments or settings that make no sense; nothing was done.
    Usage,
}

impl Exit {
    /// For `--help`.
    pub const HELP: &str = "Exit status: 0 fine, 1 findings, 2 usage (nothing was done), 3 can't tell (a file is damaged or unreadable, or a \
                            call failed).";

    /// This answer and another one together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.max(other)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(match exit {
            Exit::Fine => 0,
            Exit::Findings => 1,
            Exit::Usage => 2,
            Exit::CantTell => 3,
        })
    }
}
