//! Counting what `cargo test` prints.

use std::fmt;
use std::ops::AddAssign;

/// Numbers of tests.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} passed, {} failed, {} skipped",
            self.passed, self.failed, self.skipped
        )
    }
}

/// What a line of a test binary means for the count.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Said {
    /// `test result: …`: the end of a binary, ignored tests counted as skipped.
    Result(Tally),
    /// A test that says `skipped: …` and returns: libtest counts it as passed, we don't.
    Skipped,
    /// A part of a test that says `not run: …`; the test itself has passed.
    NotRun,
    /// Something else.
    Other,
}

/// Reads a line of a test binary's output.
pub(crate) fn read(line: &str) -> Said {
    if line.starts_with("skipped: ") {
        return Said::Skipped;
    }
    if line.starts_with("not run: ") {
        return Said::NotRun;
    }
    let Some(rest) = line.strip_prefix("test result: ") else {
        return Said::Other;
    };
    let Some((_, counts)) = rest.split_once(". ") else {
        return Said::Other;
    };
    let mut tally = Tally::default();
    for part in counts.split(';') {
        let Some((number, what)) = part.trim().split_once(' ') else {
            continue;
        };
        let Ok(number) = number.parse() else {
            continue;
        };
        match what {
            "passed" => tally.passed = number,
            "failed" => tally.failed = number,
            "ignored" => tally.skipped = number,
            _ => {}
        }
    }
    Said::Result(tally)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_tests_count_as_skipped() {
        let line = "test result: FAILED. 12 passed; 1 failed; 2 ignored; 0 measured; 4 filtered out; finished in 0.31s";
        assert_eq!(
            read(line),
            Said::Result(Tally {
                passed: 12,
                failed: 1,
                skipped: 2
            })
        );
    }

    #[test]
    fn a_test_that_says_it_was_skipped_is_told_from_one_that_left_a_part_out() {
        assert_eq!(read("skipped: no MiniStack"), Said::Skipped);
        assert_eq!(
            read("not run: STAYPUT_CORPUS names no large corpus"),
            Said::NotRun
        );
        assert_eq!(read("test a::b ... ok"), Said::Other);
    }
}
