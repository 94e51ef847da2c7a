//! What lies in an archive: an actor can't read it, so what it would restore from isn't whole until it is put right. Nobody is told of a move: a sweep sees it and
//! asks for the bytes, S3 takes its time, and by the sweep after that time at the latest there is a copy that can be read.

use super::{Need, Oracle, READABLE, REPAIRED, Scene, Violation};
use crate::actors::Place;
use crate::clock::{DAY, HOUR, MINUTE, Millis};
use crate::function::{Called, Did};
use crate::scenario::Archive;

/// A sweep asks for the bytes, one copies.
const TO_REPAIR: usize = 2;
/// And of what was hidden besides, `_metadata` waits for the files and comes with the sweep after them.
const TO_BRING_BACK: usize = 3;

impl Oracle<'_> {
    /// The longest that S3 says a thaw takes, of those that rules make necessary here.
    fn thaw_takes(&self) -> Millis {
        let mut moves = self.world.rules.iter().filter_map(|r| r.moves);
        let deep = moves.any(|m| m.to == Archive::Deep);
        if deep { 12 * HOUR } else { 5 * HOUR }
    }

    /// Whether the guard has had its time for something hidden whose bytes are in an archive.
    pub(super) fn is_due_from_archive(&self, since: Millis) -> bool {
        self.ledger.sweeps_apart(since + 66 * MINUTE, self.thaw_takes()) >= TO_BRING_BACK
    }

    /// What somebody would restore from, is visible, and can't be read though the guard has had its time.
    pub(super) fn look_at_archives(&self, scene: &Scene<'_>, need: &Need<'_>) -> Option<Violation> {
        let snapshot = need.snapshot;
        let keys = || snapshot.files.iter().map(|f| &f.key).chain([&snapshot.metadata]);
        let unreadable: Vec<(&String, Millis)> = keys()
            .filter_map(|key| Some((key, scene.store.unreadable_since(key)?)))
            .collect();
        if unreadable.is_empty() || !need.missing(scene.store).is_empty() {
            return None;
        }
        // What a `_metadata` names that can't be read, nobody knows; and of a hidden one nothing is put right before it is back.
        let of_metadata = unreadable.iter().find(|(key, _)| **key == snapshot.metadata);
        let before = keys().filter_map(|key| self.ledger.restored_before(key, scene.store.now()));
        let before = before.chain(self.ledger.repaired_at(&snapshot.metadata)).max();
        let judged = of_metadata.map_or(unreadable.as_slice(), std::slice::from_ref);
        // Which tails a sink needs can stand in a file that can't be read either.
        let is_tail = |key: &str| {
            snapshot
                .files
                .iter()
                .any(|f| f.key == key && f.place == Place::Tail)
        };
        let only_tails = judged.iter().all(|(key, _)| is_tail(key));
        let files_before = keys().filter_map(|key| self.ledger.repaired_at(key)).max();
        let (key, since) = judged.iter().find(|(key, since)| {
            if is_tail(key) && !only_tails {
                return false;
            }
            let files_before = files_before.filter(|_| is_tail(key)).map_or(0, |at| at + 1);
            let since = (*since)
                .max(files_before)
                .max(need.since)
                .max(self.ledger.resumed_at)
                // The sweep that did that doesn't count.
                .max(before.map_or(0, |at| at + 1));
            self.ledger.sweeps_apart(since, self.thaw_takes()) >= TO_REPAIR
                && !self.may_lie_in_archive(scene, need, key, since)
        })?;
        let days = (scene.store.now() - since) / DAY;
        let what = format!(
            "{key} of {} was moved to an archive {days} days ago and is needed by {}; the last word: {}",
            snapshot.metadata,
            need.who,
            self.ledger.last_word(key)
        );
        Some(self.violation(scene, READABLE, what))
    }

    /// Why it may stay there: it passes for something that nobody needs, or people know.
    fn may_lie_in_archive(&self, scene: &Scene<'_>, need: &Need<'_>, key: &str, since: Millis) -> bool {
        if self.passes_for_a_spare(scene, need) {
            return true;
        }
        let spoilt = |key: &str| scene.store.was_spoilt(key);
        if spoilt(key) || spoilt(&need.snapshot.metadata) {
            return true;
        }
        let forgotten = scene.store.now() - need.snapshot.completed > super::excuses::FORGOTTEN;
        let told = |code| {
            self.ledger
                .was_told_about(code, &need.snapshot.metadata, since - 2 * DAY)
        };
        if (forgotten || !self.acting) && told("archived_in_place") {
            return true;
        }
        let lately = scene.store.now() - self.sweeps_last();
        let length = need.snapshot.length_of(key).unwrap_or_default();
        let is_too_long = self.world.bytes_per_day.is_some_and(|bytes| length > bytes);
        self.ledger.was_told("budget_spent", lately) && (is_too_long || self.may_be_spent(lately))
    }

    /// What is wrong with a copy of what was visible in an archive.
    pub(super) fn look_at_repair(
        &mut self,
        scene: &Scene<'_>,
        called: &Called,
        key: &str,
        source: &str,
    ) -> Vec<Violation> {
        let mut found = Vec::new();
        self.ledger.copies += 1;
        let works_with = scene.jobs.iter().any(|j| j.works_with(key));
        let said = called.said.iter().find(|s| s.key == key);
        let about = said.and_then(|s| s.about.as_deref()).unwrap_or(key);
        if !works_with && !scene.wanted.iter().any(|c| c.needs(key)) {
            if self.is_left_in_a_store(scene, about) {
                self.ledger.ended_unseen += 1;
            } else {
                self.ledger
                    .unneeded
                    .push(format!("{key}, which lay in an archive"));
            }
        }
        // What lies above the version that was copied is the copy: whatever else anybody did there meanwhile stays as it is.
        let versions = scene.store.versions(key);
        let place = versions.iter().position(|(id, ..)| id == source);
        let above = place.and_then(|n| versions.get(n.checked_sub(1)?));
        if above.is_none_or(|(_, _, data)| !data) {
            let what = format!("{key} was copied from {source}, and above that lies {above:?}");
            found.push(self.violation(scene, REPAIRED, what));
        }
        found.extend(self.look_at_when(scene, called, key));
        let mut said = called.said.iter();
        if let Some(said) = said.find(|s| s.key == key && s.did == Did::Restored) {
            found.extend(self.look_at_proof(scene, called, said));
        }
        found
    }
}
