//! What must hold, by the actors' own truth: what each would restore from, and what its owner wants. It knows verdicts only as words.

mod archives;
mod copies;
mod excuses;
mod ledger;
mod needs;
mod proof;
mod reader;
mod replica;
mod requests;
mod settings;
mod sink_reader;
mod strangers;
mod tails;
mod unhiding;

pub use ledger::Ledger;
use ledger::Spent;
pub use needs::{Kind, Need, needs};
pub use replica::{Replica, needs_of_replica};
use settings::Settings;

use crate::actors::{Checkpoint, Place};
use crate::clock::{BEGINNING, HOUR, MINUTE, Millis, SECOND};
use crate::function::{Called, Said};
use crate::scenario::{Change, World};
use crate::store::{Hiding, Store};

/// Something that must hold and doesn't.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// What must hold, in a few words that stay the same.
    pub invariant: &'static str,
    /// When it was seen.
    pub at: Millis,
    /// What was seen.
    pub what: String,
}

/// Who messages say hid a key, as far as the settings tell people apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ToldAs {
    Rule,
    Foreign,
    Flink,
    Nobody,
}

/// What an actor would restore from is whole 70 minutes after a loss that had a fitting version, unless a finding says why not.
pub const WHOLE_IN_TIME: &str =
    "what an actor would restore from is whole in time, or a finding says why not";
/// Nothing is restored that nobody but Flink deleted.
pub const LEFT_ALONE: &str = "what Flink alone deleted is never restored";
/// What an owner deleted as a whole, and doesn't run, stays deleted.
pub const STAYS_DELETED: &str = "a whole deletion on purpose of what doesn't run stays deleted";
/// Where its own role isn't known, a job that ends looks like a stranger's whole deletion of what runs.
pub const ONCE: &str = "a checkpoint that was deleted as a whole comes back once in its directory";
/// A job never fails because of a restore.
pub const NO_JOB_FAILS: &str = "a job never fails because of a restore";
/// Only copies under a root and documents under control are written, and by an observing guard no copies.
pub const ONLY_COPIES: &str = "nothing is written but copies under a root and documents under control";
/// Every restore names a snapshot that names the object.
pub const PROVEN: &str = "every restore has a proof that a second reader can check";
/// What is restored has the bytes that were lost.
pub const RIGHT_BYTES: &str = "what is restored is what was lost";
/// `_metadata` comes last.
pub const METADATA_LAST: &str = "_metadata comes back only when everything that it names is there";
/// Budgets hold.
pub const BUDGET: &str = "budgets hold";
/// Requests stay bounded.
pub const REQUESTS: &str = "requests for an event stay bounded";
/// Nothing is lost by our hand.
pub const KEPT: &str = "no data version is ever deleted by us";
/// What can be data by the time it is removed isn't removed.
pub const MARKERS: &str =
    "only markers with an id of their own are removed, and only where the settings ask for it";
/// What is un-hidden is as old as before.
pub const LASTS: &str = "no rule takes what was un-hidden within two days";

/// What is in an archive is as good as lost until it is thawed and copied.
pub const READABLE: &str =
    "what an actor would restore from can be read by the sweep after a thaw, or a finding says why not";
/// Who wrote or deleted meanwhile keeps what they did.
pub const REPAIRED: &str = "what lies in an archive is copied onto itself and onto nothing else";

/// Orders don't matter.
pub const ANY_ORDER: &str = "the same history gives the same verdicts in any order of events";

/// A wrong "not needed" loses state.
pub const UNREFERENCED: &str = "what is called unreferenced is named by nothing that stands";

/// A finding that the next minutes refute costs a night.
pub const MAY_COME: &str = "nobody is told that what may be on its way was never there";

/// A pause holds.
pub const PAUSED: &str = "while a person has paused it, nothing is restored";
/// Versions are what makes copies harmless.
pub const VERSIONED: &str = "nothing is copied in a bucket that keeps no versions";
/// What happened before the installation is history.
pub const HISTORY: &str = "the sweep leaves what was hidden before the day of installation";

/// After a loss at most so long.
const IN_TIME: Millis = 70 * MINUTE;
/// In a world where calls fail or die, each costs a visibility timeout.
const WITH_FAULTS: Millis = 60 * MINUTE;
/// What a function knows of a bucket is at most so old.
const SEEN_WITHIN: Millis = 5 * MINUTE;
/// A message that was lost is made up for by so many sweeps.
const SWEEPS: usize = 2;

/// Judges needs and restores.
pub struct Oracle<'w> {
    world: &'w World,
    /// Whether the function restores, as it is deployed now.
    acting: bool,
    /// What the settings said of roles, roots and un-hiding, and since when.
    settings: Vec<Settings>,
    /// What was heard and said.
    pub ledger: Ledger,
}

/// What the oracle looks at.
pub struct Scene<'s> {
    /// The bucket.
    pub store: &'s Store,
    /// What somebody would restore from.
    pub needs: Vec<Need<'s>>,
    /// Everything that somebody could still restore from.
    pub wanted: Vec<&'s crate::actors::Checkpoint>,
    /// In a replica, whatever looks as if somebody could want it.
    pub seems_wanted: Vec<&'s crate::actors::Checkpoint>,
    /// Whether restoring is paused now.
    pub paused: bool,
    /// Whether the function lacks a permission, or the bucket keeps no versions now.
    pub hindered: bool,
    /// Whether anybody but Flink deleted anything so far.
    pub disturbed: bool,
    /// All jobs.
    pub jobs: &'s [crate::actors::Job],
    /// How many job directories and savepoints there are, complete or not.
    pub directories: usize,
    /// Key prefixes of last checkpoints whose discard a dying JobManager cut short.
    pub cut_short: Vec<String>,
}

/// Whether a snapshot that somebody could restore from has files in this directory of merged files, or in this live database: nobody knows which of
/// them are in use.
fn is_in_a_named_directory(scene: &Scene<'_>, key: &str) -> bool {
    let mut seeming = scene.wanted.iter().chain(&scene.seems_wanted);
    seeming.any(|c| c.merges_beside(key) || c.lives_beside(key))
}

impl<'w> Oracle<'w> {
    /// Of a world.
    pub fn new(world: &'w World) -> Self {
        Self {
            world,
            acting: world.acting,
            settings: vec![Settings::of(world)],
            ledger: Ledger::default(),
        }
    }

    /// The function was deployed again. What was answered before, only the sweep asks again.
    pub fn deployed(&mut self, change: Change, now: Millis) {
        if let Change::Acting(acting) = change {
            self.acting = acting;
        }
        self.note_settings(change, now);
        self.ledger.resumed_at = now;
    }

    fn violation(&self, scene: &Scene<'_>, invariant: &'static str, what: String) -> Violation {
        Violation {
            invariant,
            at: scene.store.now(),
            what,
        }
    }

    /// Whether all that somebody would restore from is there, or people know why not.
    pub fn look_at_needs(&mut self, scene: &Scene<'_>) -> Vec<Violation> {
        let mut found = Vec::new();
        if scene.paused || scene.hindered {
            return found;
        }
        for need in &scene.needs {
            if !self.is_watched(&need.snapshot.metadata) {
                continue;
            }
            found.extend(self.look_at_archives(scene, need));
            let missing = need.missing(scene.store);
            let Some(last) = missing.iter().map(|(_, h)| h.at).max() else {
                continue;
            };
            let since = last.max(need.since).max(self.ledger.resumed_at);
            // What was hidden before the installation nobody must bring back.
            let protected = self.world.installed.map_or(0, |after| BEGINNING + after);
            if missing.iter().any(|(_, h)| h.at < protected) {
                continue;
            }
            if missing.iter().any(|(_, h)| self.ledger.kept_no_versions(h.at)) {
                continue;
            }
            let in_archive = missing
                .iter()
                .any(|(key, _)| scene.store.has_archived_version(key));
            for (key, hiding) in &missing {
                if !self.is_due(scene.store.now(), since, need.since, &missing, in_archive) {
                    continue;
                }
                let wrong = self.without_excuse(scene, need, key, hiding);
                if let Some(why) = wrong {
                    let age = (scene.store.now() - hiding.at) / MINUTE;
                    let what = format!(
                        "{key} of {} was hidden by {:?} {age} minutes ago and is needed by {}: {why}; the last word: {}",
                        need.snapshot.metadata,
                        hiding.by,
                        need.who,
                        self.ledger.last_word(key)
                    );
                    found.push(self.violation(scene, WHOLE_IN_TIME, what));
                    break;
                }
            }
        }
        found
    }

    /// Whether the guard has had its time: 70 minutes after the messages about all that is missing, or some sweeps.
    fn is_due(
        &self,
        now: Millis,
        since: Millis,
        needed: Millis,
        missing: &[(String, Hiding)],
        in_archive: bool,
    ) -> bool {
        if in_archive {
            return self.is_due_from_archive(since);
        }
        if self.ledger.sweeps_since(since + 66 * MINUTE) > SWEEPS {
            return true;
        }
        // While restoring was paused, messages were answered.
        if missing.iter().any(|(_, h)| h.at <= self.ledger.resumed_at) {
            return false;
        }
        let faults = self.world.faults;
        let more = if faults.failing + faults.crashing > 0 {
            WITH_FAULTS
        } else {
            0
        };
        let mut heard_all = since;
        for (_, hiding) in missing {
            let Some(heard) = self.ledger.heard_at(hiding.event) else {
                return false;
            };
            heard_all = heard_all.max(heard);
        }
        // What was answered before a snapshot was needed is asked again only by the sweep.
        let said_before = missing
            .iter()
            .any(|(_, h)| self.ledger.answered_at(h.event).is_some_and(|at| at < needed));
        !said_before && now >= heard_all + IN_TIME + more
    }

    /// Whether everything that anybody wrote is still there, but for what rules removed.
    pub fn look_at_versions(&self, scene: &Scene<'_>) -> Option<Violation> {
        let (key, version) = scene.store.vanished().into_iter().next()?;
        Some(self.violation(scene, KEPT, format!("version {version} of {key} is gone")))
    }

    /// What a call did, against what everybody wants.
    pub fn look_at_call(&mut self, scene: &Scene<'_>, called: &Called) -> Vec<Violation> {
        let mut found = Vec::new();
        for forbidden in &called.forbidden {
            found.push(self.violation(scene, ONLY_COPIES, forbidden.clone()));
        }
        for (key, version) in called.brought_back() {
            found.extend(self.look_at_copy(scene, called, key, version));
        }
        for (key, version) in &called.repaired {
            found.extend(self.look_at_repair(scene, called, key, version));
        }
        found.extend(self.look_at_markers(scene, called));
        // A thaw costs as a copy does.
        let copied = || called.copied.iter().chain(&called.repaired).chain(&called.thaws);
        let spent = Spent {
            objects: u64::try_from(copied().count() + called.unhidden.len()).unwrap_or(u64::MAX),
            bytes: copied()
                .filter_map(|(key, version)| scene.store.size_of(key, version))
                .sum(),
        };
        found.extend(
            called
                .said
                .iter()
                .filter_map(|said| self.look_at_absence(scene, said)),
        );
        found.extend(self.look_at_what_may_come(scene, called));
        self.ledger.hear(scene.store.now(), called, spent);
        found.extend(self.look_at_requests(scene, called));
        if spent.objects > 0 {
            found.extend(self.look_at_budget(scene, "in one call", spent));
            // Without a journal nobody knows what other calls cost.
            if self.world.journal {
                let on_day = self.ledger.copied_on_day(scene.store.now());
                found.extend(self.look_at_budget(scene, "on one day", on_day));
            }
        }
        found
    }

    /// Whether an object that is called unreferenced is named by a `_metadata` that stands, the newest of its directory, and stood already at the oldest
    /// listing that may be used.
    fn look_at_absence(&self, scene: &Scene<'_>, said: &Said) -> Option<Violation> {
        if said.why != "not referenced" || scene.hindered {
            return None;
        }
        let stands = |c: &&Checkpoint| {
            let shown = scene.store.shown(&c.metadata);
            shown.is_some_and(|shown| shown.etag == c.etag)
        };
        // A sink deletes its tails itself, and Flink the pointers of its HA store.
        let names = |c: &&Checkpoint| {
            let its = c.files.iter().find(|f| f.key == said.key);
            its.is_some_and(|f| !matches!(f.place, Place::Tail | Place::Pointer))
        };
        // Of what can't be read, as it lies in an archive, nobody knows what it names elsewhere; beside it nothing is called unreferenced.
        // Nor of what lies under no root.
        let is_known = |c: &&Checkpoint| {
            let beside = said.key.contains(c.job_directory());
            self.is_watched(&c.metadata) && (beside || scene.store.unreadable_since(&c.metadata).is_none())
        };
        let is_newest = |c: &&Checkpoint| {
            let beside = |o: &&Checkpoint| o.job_directory() == c.job_directory() && stands(o);
            !self
                .ledger
                .all()
                .filter(beside)
                .any(|o| o.completed > c.completed)
        };
        let listed = scene.store.now() - SEEN_WITHIN;
        let stood = |c: &&Checkpoint| {
            let came_back = self.ledger.restored_after(&c.metadata, listed);
            self.ledger.is_here_since(c) < listed && !came_back && stands(c)
        };
        let mut naming = self.ledger.all().filter(|c| stood(c) && names(c) && is_known(c));
        let naming = naming.find(is_newest)?;
        let what = format!("{} [{}], which {} names", said.key, said.cause, naming.metadata);
        Some(self.violation(scene, UNREFERENCED, what))
    }

    /// Whether people were told in a replica that files were never there, of a checkpoint that was complete less than an hour ago.
    fn look_at_what_may_come(&self, scene: &Scene<'_>, called: &Called) -> Option<Violation> {
        self.world.replication?;
        // S3 dates to the second.
        let told = called.told.iter().find(|told| {
            let its = self.ledger.all().filter(|c| c.metadata == told.about);
            told.code == "never_there"
                && its.map(|c| c.completed).max() > Some(scene.store.now() - HOUR + SECOND)
        })?;
        Some(self.violation(scene, MAY_COME, told.about.clone()))
    }

    fn look_at_budget(&self, scene: &Scene<'_>, when: &str, spent: Spent) -> Option<Violation> {
        let (objects, bytes) = (self.world.objects_per_day, self.world.bytes_per_day);
        let too_much = spent.objects > objects || bytes.is_some_and(|most| spent.bytes > most);
        too_much.then(|| {
            let what = format!("{spent:?} {when}, of {objects} objects and {bytes:?} bytes");
            self.violation(scene, BUDGET, what)
        })
    }
}
