//! How the command ends: what a script learns without reading the output.

use std::process::ExitCode;

use stayput_aws::connection::ConnectionError;
use stayput_guard::port::{PortError, PortErrorKind};

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
    /// 2: the command was called with arguments, settings or an environment (region, credentials) that make no sense; nothing was done.
    Usage,
}

impl Exit {
    /// For `--help`.
    pub const HELP: &str = "Exit status: 0 fine, 1 findings, 2 usage, or no region or no credentials (nothing was done), 3 can't tell (a file is damaged or unreadable, or a \
                            call failed).";

    /// A call failed without which there is no answer: a retry can help, or the environment makes no sense.
    pub fn of_failed_call(error: &PortError) -> Self {
        match error.kind {
            PortErrorKind::NotSetUp => Self::Usage,
            _ => Self::CantTell,
        }
    }

    /// There is no connection.
    pub fn of_no_connection(error: &ConnectionError) -> Self {
        match error {
            ConnectionError::PathStyle(_) | ConnectionError::NoRegion => Self::Usage,
            ConnectionError::Identity(error) => Self::of_failed_call(error),
        }
    }

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
