//! Many histories at once, and what came of them together.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::generate::{Histories, scenario};
use crate::oracle::Violation;
use crate::run::play;

/// At most one restored object in so many is needed by nobody.
pub const NEEDED: u64 = 1000;
/// So many copies must have been made before that says anything.
const ENOUGH_COPIES: u64 = 5000;

/// What came of many histories.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Histories.
    pub histories: u64,
    /// Steps.
    pub steps: usize,
    /// Deletions that were told.
    pub deletions: u64,
    /// Calls of the function.
    pub calls: u64,
    /// Copies.
    pub copies: u64,
    /// Copies of what a dying JobManager had begun to discard.
    pub cut_short: u64,
    /// Copies that nobody needs, with their seeds.
    pub unneeded: Vec<(u64, String)>,
    /// What didn't hold, with its seeds.
    pub violations: Vec<(u64, Violation)>,
    /// What the dearest call took, in thousandths of the requests that it might have taken.
    pub dearest: u64,
    /// How often things happened that the simulation is for.
    pub happened: BTreeMap<&'static str, u64>,
    /// How long it took.
    pub took: Duration,
}

impl Tally {
    /// Whether everything held.
    pub fn is_good(&self) -> bool {
        let unneeded = u64::try_from(self.unneeded.len()).unwrap_or(u64::MAX);
        let needed = self.copies < ENOUGH_COPIES || unneeded.saturating_mul(NEEDED) <= self.copies;
        self.violates_at_most(0) && needed
    }

    /// Whether there were no more violations than that.
    pub fn violates_at_most(&self, violations: usize) -> bool {
        self.violations.len() <= violations && self.histories > 0
    }

    fn add(&mut self, part: Self) {
        self.histories += part.histories;
        self.steps += part.steps;
        self.deletions += part.deletions;
        self.calls += part.calls;
        self.copies += part.copies;
        self.cut_short += part.cut_short;
        self.unneeded.extend(part.unneeded);
        self.violations.extend(part.violations);
        self.dearest = self.dearest.max(part.dearest);
        for (what, times) in part.happened {
            *self.happened.entry(what).or_default() += times;
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
        let rate = self.histories as f64 / self.took.as_secs_f64().max(0.001);
        write!(
            f,
            "{} histories, {} steps, {} deletions, {} calls, {} copies ({} needed by nobody, {} of discards cut short), {} violations; a call took at most {} % of the requests that it may; {:.1} s, {rate:.0} histories a second",
            self.histories,
            self.steps,
            self.deletions,
            self.calls,
            self.copies,
            self.unneeded.len(),
            self.cut_short,
            self.violations.len(),
            self.dearest / 10,
            self.took.as_secs_f64()
        )
    }
}

/// Plays one history and sums it up.
pub fn play_seed(seed: u64, which: Histories) -> Tally {
    let played = play(&scenario(seed, which), false);
    Tally {
        histories: 1,
        steps: played.steps,
        deletions: played.events,
        calls: played.calls,
        copies: played.copies,
        cut_short: played.cut_short,
        unneeded: played.unneeded.into_iter().map(|what| (seed, what)).collect(),
        violations: played.violations.into_iter().map(|v| (seed, v)).collect(),
        dearest: played.dearest,
        happened: played.happened,
        took: Duration::ZERO,
    }
}

/// Plays so many histories on so many threads. The same seeds give the same tally, but for the time.
pub fn play_many(from: u64, count: u64, which: Histories, threads: usize) -> Tally {
    play_for(from, count, which, threads, Duration::MAX)
}

/// The same, but no new history is begun once so much time has passed.
pub fn play_for(from: u64, count: u64, which: Histories, threads: usize, most: Duration) -> Tally {
    let began = Instant::now();
    let next = AtomicU64::new(0);
    let mut sum = std::thread::scope(|scope| {
        let work = || {
            let mut tally = Tally::default();
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                if n >= count || began.elapsed() > most {
                    return tally;
                }
                tally.add(play_seed(from.wrapping_add(n), which));
            }
        };
        let others: Vec<_> = (1..threads.max(1)).map(|_| scope.spawn(work)).collect();
        let mut sum = work();
        for other in others {
            match other.join() {
                Ok(part) => sum.add(part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        sum
    });
    sum.unneeded.sort();
    sum.violations
        .sort_by(|(a, v), (b, w)| (a, v.at, v.invariant).cmp(&(b, w.at, w.invariant)));
    sum.took = began.elapsed();
    sum
}

/// How many histories it takes until one violates something, and what; `None`: none of so many does. `doubted`: whether this seed violates something
/// anyway, so that it shows nothing.
pub fn first_violation(
    from: u64,
    most: u64,
    which: Histories,
    mut doubted: impl FnMut(u64) -> bool,
) -> Option<(u64, String)> {
    let (mut copies, mut unneeded) = (0, 0_u64);
    for n in 0..most {
        let seed = from.wrapping_add(n);
        let played = play_seed(seed, which.in_search(seed));
        if let Some((_, violation)) = played.violations.first().filter(|(seed, _)| !doubted(*seed)) {
            return Some((n + 1, violation.invariant.to_owned()));
        }
        copies += played.copies;
        unneeded += u64::try_from(played.unneeded.len()).unwrap_or(u64::MAX);
        // Well above what a guard without a fault does.
        if copies >= ENOUGH_COPIES && unneeded.saturating_mul(NEEDED) > 5 * copies {
            return Some((n + 1, "what is restored is needed".to_owned()));
        }
    }
    None
}
