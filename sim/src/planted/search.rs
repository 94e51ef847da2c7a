//! Looking for planted faults: histories, until one shows it.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{ALL, Planted, want};
use crate::crowd;
use crate::generate::{Histories, scenario};
use crate::kept::Kept;
use crate::oracle::Violation;
use crate::run::play;
use crate::scenario::Scenario;
use crate::shrink::shrink;

/// What came of looking for a fault.
#[derive(Clone, Debug)]
pub struct Found {
    /// Which fault, by its place in the table.
    pub place: usize,
    /// In which histories it was looked for.
    pub which: Histories,
    /// After so many histories, and what didn't hold; `None`: in none of them.
    pub after: Option<(u64, String)>,
}

/// Looks for these faults, by their places in the table, with `most` histories each, on so many threads; says of each as soon as it is known.
pub fn look_for_all(
    places: &[usize],
    which: Histories,
    most: u64,
    threads: usize,
    say: impl Fn(&Found) + Sync,
) -> Vec<Found> {
    let next = AtomicUsize::new(0);
    let all = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, places.len().max(1)) {
            scope.spawn(|| {
                while let Some(place) = places.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = look_for(*place, which, most);
                    let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
                    say(&found);
                    all.push(found);
                }
            });
        }
    });
    let mut all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    all.sort_by_key(|found| found.place);
    all
}

fn look_for(place: usize, which: Histories, most: u64) -> Found {
    want(place + 1);
    let after = crowd::first_violation(1, most, which, |seed| {
        !violations(place, false, &scenario(seed, which.in_search(seed))).is_empty()
    });
    want(0);
    Found { place, which, after }
}

/// What a history violates with the fault or without it. The fault is wanted afterwards.
fn violations(place: usize, with: bool, scenario: &Scenario) -> Vec<Violation> {
    want(if with { place + 1 } else { 0 });
    let violations = play(scenario, false).violations;
    want(place + 1);
    violations
}

impl Found {
    /// The fault.
    pub fn fault(&self) -> &'static Planted {
        &ALL[self.place]
    }

    /// The smallest history that shows it, to be kept. Without the fault it holds: in it the fault alone is what goes wrong. `None`: no single history
    /// shows it.
    pub fn smallest(&self) -> Option<Kept> {
        let (histories, _) = self.after.as_ref()?;
        let of_seed = scenario(*histories, self.which.in_search(*histories));
        let violated = violations(self.place, true, &of_seed).first()?.invariant;
        let small = shrink(&of_seed, |candidate| {
            let with = violations(self.place, true, candidate);
            with.iter().any(|v| v.invariant == violated)
                && violations(self.place, false, candidate).is_empty()
        });
        want(0);
        Some(Kept {
            story: self.fault().danger.to_owned(),
            violated: violated.to_owned(),
            scenario: small,
        })
    }

    /// The name of the file for that history.
    pub fn file_name(&self) -> String {
        let name = self
            .fault()
            .name
            .to_lowercase()
            .replace('\'', "")
            .replace([' ', '_'], "-");
        name.trim_matches('-').to_owned()
    }
}
