//! Text that others chose, shown so that it can't control the terminal or pretend to be something else.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};

pub use stayput_core::shown::{Shown, ShownJson};

/// Says something on the standard error. If nobody can be told there (a closed or full file), the work goes on: the exit status tells.
pub fn complain(text: Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// The standard error as an output beside an answer. As with [`complain`], the work goes on if nobody can be told there.
#[derive(Clone, Copy, Debug)]
pub struct Complaining;

impl Write for Complaining {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = io::stderr().write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let _ = io::stderr().flush();
        Ok(())
    }
}

/// An output whose reader may have seen enough, such as `head`: what comes after is dropped, and the command still ends with its own status.
#[derive(Debug)]
pub struct WhileRead<W> {
    out: W,
    closed: bool,
}

impl<W: Write> WhileRead<W> {
    /// Writes to `out` while somebody reads.
    pub fn new(out: W) -> Self {
        Self { out, closed: false }
    }

    fn unless_closed<T>(&mut self, done: io::Result<T>, else_: T) -> io::Result<T> {
        match done {
            Err(e) if e.kind() == ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(else_)
            }
            other => other,
        }
    }
}

impl<W: Write> Write for WhileRead<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.closed {
            return Ok(bytes.len());
        }
        let written = self.out.write(bytes);
        self.unless_closed(written, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.closed {
            return Ok(());
        }
        let flushed = self.out.flush();
        self.unless_closed(flushed, ())
    }
}
