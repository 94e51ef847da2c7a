//! How much a call may cost.

use std::collections::{BTreeMap, BTreeSet};

use super::{Oracle, REQUESTS, Scene, Violation};
use crate::function::Called;

/// The switches, what the bucket is set to, its roots, and the journal's own listings aren't counted: they are in another bucket, or come once a call.
const OF_A_CALL: u64 = 24;
/// Of a directory the listings of `chk-`, of what is hidden there at each power of ten, of `shared/`, and whether a newer one stands, before and after a copy.
const OF_A_DIRECTORY: u64 = 10;
/// A `_metadata` is read, looked for among the hidden ones, and read again for what the log says of it.
const OF_A_SNAPSHOT: u64 = 4;
/// A large one is asked for in vain, then for its head and its sidecar, and if there is none it is read and its sidecar is written.
const OF_A_SIDECAR: u64 = 4;
/// Of what is hidden the versions are listed for each snapshot that is asked about, the version that could come back is looked at, copied, looked at again.
const OF_A_HIDDEN_KEY: u64 = 6;

/// Fewer files than this in one directory, as where a random part is put before each path, are looked at one by one instead of by a listing.
const LISTED_FROM: u64 = 4;

impl Oracle<'_> {
    /// So many requests to the bucket a call may take: each job directory, each snapshot and each object that is gone costs some, and a message no
    /// more than one. DESIGN counts on that: nothing grows with what was deleted long ago and named by nobody, or with one times the other.
    fn may_take(&self, scene: &Scene<'_>, called: &Called) -> u64 {
        let (mut keys, mut directories) = (BTreeSet::new(), BTreeSet::new());
        for snapshot in self.ledger.all() {
            directories.insert(snapshot.job_directory());
            keys.extend(snapshot.files.iter().map(|f| f.key.as_str()));
            keys.insert(&snapshot.metadata);
        }
        let mut by_directory: BTreeMap<&str, u64> = BTreeMap::new();
        for key in &keys {
            let directory = key.rsplit_once('/').map_or("", |(directory, _)| directory);
            *by_directory.entry(directory).or_default() += 1;
        }
        // A sweep looks at everything; a call that brings a `_metadata` back at what comes with it.
        let brings_a_snapshot = || called.brought_back().any(|(key, _)| key.ends_with("/_metadata"));
        let one_by_one = if called.sweep || brings_a_snapshot() {
            by_directory.into_values().filter(|n| *n < LISTED_FROM).sum()
        } else {
            0
        };
        // What somebody wrote over is looked at like what is hidden.
        let store = scene.store;
        let is_out_of_order = |key: &&str| {
            !store.is_visible(key) || store.unreadable_since(key).is_some() || store.was_spoilt(key)
        };
        let hidden = keys.into_iter().filter(is_out_of_order).count()
            + called.brought_back().count()
            + called.repaired.len();
        let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        let directories = directories.len().max(scene.directories);
        let of_a_sidecar = if self.world.sidecars { OF_A_SIDECAR } else { 0 };
        OF_A_CALL
            + OF_A_DIRECTORY * count(directories)
            + (OF_A_SNAPSHOT + of_a_sidecar) * count(self.ledger.snapshots())
            + OF_A_HIDDEN_KEY * count(hidden)
            + one_by_one
            + count(called.messages)
    }

    /// Whether a call cost more than it may.
    pub(super) fn look_at_requests(&mut self, scene: &Scene<'_>, called: &Called) -> Option<Violation> {
        let surely = OF_A_CALL + OF_A_DIRECTORY + OF_A_SNAPSHOT;
        if called.requests <= surely {
            return None;
        }
        let most = self.may_take(scene, called);
        self.ledger.dearest = self.ledger.dearest.max(1000 * called.requests / most);
        (called.requests > most).then(|| {
            let what = format!(
                "{} requests, of {most}, for {} messages and {} verdicts; a sweep: {}",
                called.requests,
                called.messages,
                called.said.len(),
                called.sweep
            );
            self.violation(scene, REQUESTS, what)
        })
    }
}
