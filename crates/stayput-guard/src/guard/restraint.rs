//! Pause and budget: what may be done of what is wanted, and in which way.

use stayput_core::report::finding::FindingCode;
use stayput_core::restoring::{Permit, Unhiding};
use stayput_core::root::Strategy;
use stayput_core::verdict::{Basis, LaterReason};

use super::judging::{Bench, Judged};
use super::{Cause, Class, Done, Hand, Journal, METADATA_FILE, Outcome, Reading, Verdict};
use crate::memory::Spent;
use crate::restore::{Means, NotPutBack};

impl<R, J, H> Bench<'_, R, J, H>
where
    R: Reading + Sync,
    J: Journal + Sync,
    H: Hand + Sync,
{
    /// Pause and budget: what is wanted waits, the most needed comes first.
    pub(super) async fn restrain(&self, judged: &mut [Judged]) {
        if !judged
            .iter()
            .any(|j| asks_for_something(&j.verdict.outcome).is_some())
        {
            return;
        }
        let spent = if H::ACTS {
            self.eyes.memory.spent(self.eyes.now).await
        } else {
            Ok(Spent::default())
        };
        // Not knowing what persons switched, or what was spent today, is no leave to restore.
        let unread = self
            .switches_unread
            .clone()
            .or(spent.as_ref().err().map(ToString::to_string));
        let mut spent = spent.unwrap_or_default();
        let mandate = self.eyes.mandate;
        let mut unhidden: Vec<(usize, u64)> = Vec::new();
        for n in in_order(judged) {
            let unhides = self.can_be_unhidden(&judged[n]);
            let verdict = &mut judged[n].verdict;
            let Some(permit) = asks_for_something(&verdict.outcome) else {
                continue;
            };
            let not_before = self.eyes.now;
            if let Some(unread) = &unread {
                verdict.outcome = Outcome::Later {
                    not_before,
                    why: LaterReason::Transient(unread.clone()),
                };
                continue;
            }
            let size = permit.source().size;
            // Who un-hides copies nothing.
            let copied = if unhides { 0 } else { size };
            let with_this = Spent {
                objects: spent.objects.saturating_add(1),
                bytes: spent.bytes.saturating_add(copied),
            };
            let (code, why) = if self.eyes.switches.paused {
                (FindingCode::Paused, LaterReason::Paused)
            } else if with_this.objects > mandate.objects_per_day
                || (copied > 0 && with_this.bytes > mandate.bytes_per_day)
            {
                (FindingCode::BudgetSpent, LaterReason::BudgetSpent)
            } else {
                spent = with_this;
                if unhides {
                    unhidden.push((n, size));
                }
                continue;
            };
            tell_and_wait(verdict, code, Outcome::Later { not_before, why });
        }
        // What turns out not to be un-hidden after all is copied only as far as the bytes go that the copies leave.
        for (n, size) in unhidden {
            let with_this = spent.bytes.saturating_add(size);
            judged[n].room_for_a_copy = with_this <= mandate.bytes_per_day;
            if judged[n].room_for_a_copy {
                spent.bytes = with_this;
            }
        }
    }

    /// Whether its markers can simply go, as far as its versions tell that were just looked at.
    fn can_be_unhidden(&self, judged: &Judged) -> bool {
        let (Outcome::Restore(permit), Some(history)) = (&judged.verdict.outcome, &judged.history) else {
            return false;
        };
        let bucket = judged.verdict.location.bucket();
        H::ACTS
            && self.strategy(&judged.verdict) == Strategy::Unhide
            && Unhiding::of(permit, history, self.eyes.known_rules(bucket), self.eyes.now).is_ok()
    }

    /// What was copied counts against the day's budget.
    pub(super) async fn spend(&self, judged: &[Judged], done: &[Done]) -> Option<String> {
        let mut spent = Spent::default();
        for (j, done) in judged.iter().zip(done) {
            if let Done::Unhidden { .. } = done {
                spent.objects += 1;
            }
            // A thaw costs as a copy does, and counts for itself.
            if let (Some(permit), Done::Copied { .. } | Done::ThawAsked { .. }) =
                (asks_for_something(&j.verdict.outcome), done)
            {
                spent.objects += 1;
                spent.bytes = spent.bytes.saturating_add(permit.source().size);
            }
        }
        if spent == Spent::default() {
            return None;
        }
        self.eyes
            .memory
            .spend(self.eyes.now, spent)
            .await
            .err()
            .map(|e| e.to_string())
    }

    pub(super) fn means(&self, judged: &Judged) -> Means {
        match self.strategy(&judged.verdict) {
            Strategy::Copy => Means::Copy,
            Strategy::Unhide => Means::Unhide {
                or_copy: judged.room_for_a_copy,
            },
        }
    }

    /// What a rule took is copied in any case: as old as it was, it would be taken again the next night.
    fn strategy(&self, verdict: &Verdict) -> Strategy {
        let root = self.eyes.mandate.roots.find(&verdict.location);
        match verdict.cause {
            Cause::Lifecycle => Strategy::Copy,
            _ => root.map_or(Strategy::Copy, |(root, _)| root.strategy),
        }
    }
}

/// The places of the judged, the most needed first.
fn in_order(judged: &[Judged]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..judged.len()).collect();
    // Files before the `_metadata` that waits for them, or those would be what the budget is kept for, day after day, and nothing came.
    let waits_for_files = |verdict: &Verdict| verdict.location.file_name() == METADATA_FILE;
    order.sort_by_key(|n| {
        let verdict = &judged[*n].verdict;
        (urgency(verdict), waits_for_files(verdict))
    });
    order
}

fn tell_and_wait(verdict: &mut Verdict, code: FindingCode, later: Outcome) {
    let about = verdict.decided_by.as_ref().unwrap_or(&verdict.location);
    verdict.findings.push((code, about.clone()));
    verdict.outcome = later;
}

/// What came of a try to put it back. A key that can't be used makes a verdict of its own, and so does a budget.
pub(super) fn come_of(judged: &mut Judged, result: Result<Done, NotPutBack>) -> Done {
    match result {
        Ok(done) => return done,
        Err(NotPutBack::KeyUnusable(e)) => judged.tell_that_its_key_is_unusable(&e),
        Err(NotPutBack::NoRoomForACopy { at }) => {
            let why = LaterReason::BudgetSpent;
            let later = Outcome::Later { not_before: at, why };
            tell_and_wait(&mut judged.verdict, FindingCode::BudgetSpent, later);
        }
    }
    Done::Nothing
}

/// The permit of a verdict that acts: a copy, or a thaw.
pub(super) fn asks_for_something(outcome: &Outcome) -> Option<&Permit> {
    match outcome {
        Outcome::Restore(permit) => Some(permit),
        Outcome::Later {
            why: LaterReason::Thaw(permit),
            ..
        } => permit.as_deref(),
        _ => None,
    }
}

/// Who is served first: running, HA, resting, dormant, spare, then what nobody can say.
pub(super) fn urgency(verdict: &Verdict) -> u8 {
    match (verdict.basis, verdict.class) {
        (_, Some(Class::Running)) => 0,
        (Basis::HaObject, _) => 1,
        (_, Some(Class::Resting)) => 2,
        (_, Some(Class::Dormant)) => 3,
        (_, Some(Class::Spare)) => 4,
        (_, None) => 5,
    }
}
