//! What comes back: whether anybody needs it, whether it has the bytes that were lost, and whether it was the time for it.

use super::{
    HISTORY, LEFT_ALONE, METADATA_LAST, Oracle, PAUSED, RIGHT_BYTES, SEEN_WITHIN, STAYS_DELETED, Scene,
    VERSIONED, Violation, is_in_a_named_directory,
};
use crate::actors::{Checkpoint, LOG, Place, rules};
use crate::clock::{BEGINNING, HOUR, midnight};
use crate::function::{Called, Did};
use crate::store::{Hand, Hiding};

impl Oracle<'_> {
    /// Whether the HA store has a pointer to this `_metadata` that a job would have deleted, had somebody else not hidden it before: it came back, and what it
    /// names counts as the checkpoint of a job that runs.
    pub(super) fn is_left_in_a_store(&self, scene: &Scene<'_>, metadata: &str) -> bool {
        let its = self.ledger.all().filter(|c| c.metadata == metadata);
        let mut pointers = its.flat_map(|c| &c.files).filter(|f| f.place == Place::Pointer);
        pointers.any(|f| scene.store.is_visible(&f.key) && scene.store.was_meant_to_go(&f.key))
    }

    /// Whether anything may be copied at this time.
    pub(super) fn look_at_when(&self, scene: &Scene<'_>, called: &Called, key: &str) -> Vec<Violation> {
        let mut broken = Vec::new();
        // Until a function sees that versioning was suspended, what it copies hides nothing: nothing is visible there.
        if self.ledger.keeps_no_versions_since() + SEEN_WITHIN <= scene.store.now() {
            broken.push(VERSIONED);
        }
        if scene.paused && !called.disturbed {
            broken.push(PAUSED);
        }
        let of = |invariant| self.violation(scene, invariant, format!("{key} was restored"));
        broken.into_iter().map(of).collect()
    }

    pub(super) fn look_at_copy(
        &mut self,
        scene: &Scene<'_>,
        called: &Called,
        key: &str,
        version: &str,
    ) -> Vec<Violation> {
        let mut found = Vec::new();
        let mut wrong = |invariant, what: String| {
            found.push(Violation {
                invariant,
                at: scene.store.now(),
                what,
            });
        };
        self.ledger.copies += 1;
        let works_with = scene.jobs.iter().any(|j| j.works_with(key));
        let wanted = works_with || scene.wanted.iter().any(|c| c.needs(key));
        if !wanted {
            let said = called.said.iter().find(|s| s.key == key);
            let hiding = scene.store.came_back_after(key);
            let what = format!(
                "{key}: hidden by {:?}, seen as {:?}, class {:?}, for {:?}",
                hiding.map(|h| h.by),
                said.map(|s| s.cause),
                said.and_then(|s| s.class),
                said.and_then(|s| s.about.as_ref())
            );
            // A job ended, but of what somebody had hidden before it left no mark: nobody can know.
            let ended_unseen = scene.store.was_meant_to_go(key)
                || said.and_then(|s| s.about.as_ref()).is_some_and(|about| {
                    scene.store.was_meant_to_go(about) || self.is_left_in_a_store(scene, about)
                });
            // The guard says that it couldn't judge, and it couldn't: it may not read what this job holds, or somebody wrote over it.
            let unreadable = |c: &&Checkpoint| {
                let beside = key.contains(c.job_directory());
                beside && (scene.hindered || scene.store.was_spoilt(&c.metadata))
            };
            let beside_unreadable =
                said.is_some_and(|s| s.class.is_none()) && scene.wanted.iter().any(unreadable);
            // Flink's own hand at the second at which a rule would have done the same; and what went with a `_metadata` that passes for a rule's.
            let passes_for_a_rules = |key: &str| {
                let hiding = scene
                    .store
                    .came_back_after(key)
                    .or_else(|| scene.store.hiding(key));
                hiding.is_some_and(|h| rules::could_have_hidden(&self.world.rules, scene.store, key, h.at))
            };
            let about = said.and_then(|s| s.about.as_deref()).unwrap_or(key);
            let seen_as_a_rules = said.is_some_and(|s| s.cause == "lifecycle");
            let as_a_rule = (seen_as_a_rules && passes_for_a_rules(key)) || passes_for_a_rules(about);
            let of = said.and_then(|s| s.about.as_deref());
            let as_a_stranger = self.came_back_as_a_strangers(scene, hiding.as_ref(), of);
            // What a job has done with nobody can know here before that is replicated.
            let as_replicated = scene.seems_wanted.iter().any(|c| c.needs(key));
            if ended_unseen {
                self.ledger.ended_unseen += 1;
            } else if as_a_stranger {
                self.ledger.as_a_stranger += 1;
                self.ledger
                    .discarded_and_back
                    .extend(key.ends_with("/_metadata").then(|| key.to_owned()));
            } else if as_a_rule {
                self.ledger.as_a_rule += 1;
            } else if as_replicated {
                self.ledger.as_replicated += 1;
            } else if is_in_a_named_directory(scene, key) {
                self.ledger.by_directory += 1;
            } else if beside_unreadable {
                self.ledger.beside_unreadable += 1;
            } else {
                self.ledger.unneeded.push(what);
            }
            let of_cut_short = |key: &str| scene.cut_short.iter().any(|d| key.starts_with(d.as_str()));
            // Its files elsewhere went before the JobManager died, and its `_metadata` stands.
            let names_it = |c: &Checkpoint| {
                of_cut_short(&c.metadata) && scene.store.is_visible(&c.metadata) && c.needs(key)
            };
            let cut_short = of_cut_short(key) || self.ledger.all().any(names_it);
            if cut_short {
                self.ledger.cut_short += 1;
            } else if !scene.disturbed && !as_a_rule && !as_a_stranger && !as_replicated {
                wrong(LEFT_ALONE, format!("{key} was restored, which Flink deleted"));
            }
            // What is left of a snapshot whose `_metadata` went long before isn't deleted as a whole.
            let about = said.and_then(|s| s.about.as_ref());
            let hiding_of = |key: &String| {
                scene
                    .store
                    .hiding(key)
                    .or_else(|| scene.store.came_back_after(key))
            };
            let went_with_it = |h: &Hiding| {
                let metadata = about.and_then(hiding_of);
                metadata.is_none_or(|m| m.at + HOUR >= h.at)
            };
            // Nor is what a person had taken a part of before, which stays away: nobody can tell the owner's hand from that one's.
            let was_a_part_before = |h: &Hiding| {
                let its = self.ledger.all().filter(|c| Some(&c.metadata) == about);
                its.flat_map(|c| &c.files)
                    .filter_map(|f| hiding_of(&f.key))
                    .any(|before| before.by == Hand::Person && before.at + HOUR < h.at)
            };
            let by_owner =
                hiding.filter(|h| h.by == Hand::Person && went_with_it(h) && !was_a_part_before(h));
            // The last thing in a job's directory, which nobody may read: whether that was all or a part of it nobody can tell.
            let alone = |h: &Hiding| {
                let unread = said.is_some_and(|s| s.class.is_none()) && key.ends_with("/_metadata");
                unread && self.ledger.keys_of_purpose(key, h.at) == Some(1)
            };
            let by_owner = by_owner.filter(|h| !alone(h));
            if !as_a_rule && by_owner.is_some_and(|h| self.ledger.was_deleted_on_purpose(key, h.at)) {
                wrong(
                    STAYS_DELETED,
                    format!("{key} was restored, which its owner deleted"),
                );
            }
        }
        if let (false, Some(hiding)) = (wanted, scene.store.came_back_after(key)) {
            let said = called.said.iter().find(|s| s.key == key);
            found.extend(self.look_at_strangers(scene, said, key, &hiding));
        }
        found.extend(self.look_at_when(scene, called, key));
        let mut wrong = |invariant, what: String| {
            found.push(Violation {
                invariant,
                at: scene.store.now(),
                what,
            });
        };
        if let (true, Some(after), Some(hiding)) = (
            called.sweep,
            self.world.installed,
            scene.store.came_back_after(key),
        ) && hiding.at < midnight(BEGINNING + after)
        {
            wrong(HISTORY, format!("{key} was restored, hidden before that day"));
        }
        let shown = scene.store.shown(key);
        let manifests = self.ledger.naming(key);
        // Where somebody wrote over a `_metadata`, nobody can read any more what it named.
        let unspoilt = |metadata: &str, etag: &str| {
            scene
                .store
                .newest_bytes(metadata)
                .is_some_and(|newest| newest == etag)
        };
        let spoilt = |c: &&Checkpoint| c.needs(key) && scene.store.was_spoilt(&c.metadata);
        let nobody_can_read = scene.wanted.iter().any(spoilt);
        let lengths: Vec<u64> = manifests
            .iter()
            .filter(|c| unspoilt(&c.metadata, &c.etag))
            .filter_map(|c| c.length_of(key))
            .collect();
        // How long a log is no handle says, since it may be compressed: what somebody wrote over it is all that is left.
        let is_all_that_is_left = || {
            let has = |length: &u64| scene.store.has_version(key, *length);
            key.starts_with(LOG) && scene.store.was_spoilt(key) && !lengths.iter().any(has)
        };
        if let Some(shown) = &shown
            && !lengths.is_empty()
            && !nobody_can_read
            && !is_all_that_is_left()
            && !lengths.contains(&shown.size)
        {
            let what = format!(
                "{key} has {} bytes of version {version}, not {lengths:?}",
                shown.size
            );
            wrong(RIGHT_BYTES, what);
        }
        let said = called
            .said
            .iter()
            .find(|s| s.key == key && s.did == Did::Restored);
        // Of one that nobody may read nobody knows what it names.
        let readable = !scene.hindered && said.is_none_or(|said| said.class.is_some());
        if readable
            && key.ends_with("/_metadata")
            && called.meanwhile.is_empty()
            && let Some(shown) = &shown
            && let Some(snapshot) = manifests
                .iter()
                .find(|c| c.metadata == key && c.etag == shown.etag)
            && let Some(file) = snapshot
                .files
                .iter()
                .find(|f| !matches!(f.place, Place::Pointer | Place::Tail) && !scene.store.is_visible(&f.key))
        {
            wrong(
                METADATA_LAST,
                format!("{key} came back, but {} is missing", file.key),
            );
        }
        if let Some(said) = said {
            found.extend(self.look_at_proof(scene, called, said));
        }
        found
    }
}
