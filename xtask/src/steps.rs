//! Steps with a name, their seconds, and the table of them at the end.

use std::time::{Duration, Instant};

use crate::print;
use crate::tally::Tally;

/// How a step ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    Well,
    Failed,
    Skipped,
}

struct Step {
    name: String,
    took: Duration,
    ended: Ended,
}

/// The steps of one task. A failed one doesn't keep the others from running.
#[derive(Default)]
pub(crate) struct Steps {
    done: Vec<Step>,
    tally: Tally,
}

impl Steps {
    /// Runs a step. `None`: it failed, and why has been said.
    pub(crate) fn step<T>(&mut self, name: &str, work: impl FnOnce() -> Result<T, String>) -> Option<T> {
        print::line(&print::strong(&format!("== {name}")));
        let began = Instant::now();
        let result = work();
        let (ended, value) = match result {
            Ok(value) => (Ended::Well, Some(value)),
            Err(message) => {
                print::line(&print::bad(&format!("{name} failed: {message}")));
                (Ended::Failed, None)
            }
        };
        self.done.push(Step {
            name: name.to_owned(),
            took: began.elapsed(),
            ended,
        });
        value
    }

    /// Runs a check that is no test: one that fails counts as one failure in the last line.
    pub(crate) fn check(&mut self, name: &str, work: impl FnOnce() -> Result<(), String>) {
        if self.step(name, work).is_none() {
            self.tally.failed += 1;
        }
    }

    /// Runs a step that counts tests. A step that fails without a failed test counts as one failure.
    pub(crate) fn tests(&mut self, name: &str, work: impl FnOnce() -> Result<Tally, String>) {
        let Some(tally) = self.step(name, work) else {
            self.tally.failed += 1;
            return;
        };
        self.tally += tally;
        if tally.failed > 0
            && let Some(step) = self.done.last_mut()
        {
            step.ended = Ended::Failed;
        }
    }

    /// Installs or starts a part that tests use. Missing, it is a skip, or a failure where it is required.
    pub(crate) fn part<T>(
        &mut self,
        name: &str,
        required: bool,
        work: impl FnOnce() -> Result<T, String>,
    ) -> Option<T> {
        let value = self.step(name, work);
        if value.is_none() {
            if required {
                self.tally.failed += 1;
            } else {
                print::line(&format!("skipped: {name}; what needs it isn't run"));
                self.tally.skipped += 1;
                if let Some(step) = self.done.last_mut() {
                    step.ended = Ended::Skipped;
                }
            }
        }
        value
    }

    /// Whether all went well.
    pub(crate) fn well(&self) -> bool {
        self.tally.failed == 0 && self.done.iter().all(|step| step.ended != Ended::Failed)
    }

    /// The seconds of each step.
    pub(crate) fn print_table(&self) {
        let width = self
            .done
            .iter()
            .map(|step| step.name.chars().count())
            .max()
            .unwrap_or(0)
            .max(5);
        print::line("");
        print::line(&print::strong(&format!("{:<width$}  {:>7}", "step", "seconds")));
        let mut sum = Duration::ZERO;
        for step in &self.done {
            sum += step.took;
            let how = match step.ended {
                Ended::Well => String::new(),
                Ended::Failed => format!("  {}", print::bad("failed")),
                Ended::Skipped => "  skipped".to_owned(),
            };
            print::line(&format!(
                "{:<width$}  {:>7.1}{how}",
                step.name,
                step.took.as_secs_f64()
            ));
        }
        print::line(&format!("{:<width$}  {:>7.1}", "all", sum.as_secs_f64()));
    }

    /// The last line, alone.
    pub(crate) fn print_tally(&self) {
        print::line(&self.tally.to_string());
    }
}
