//! Where the settings name another's role, whatever the jobs delete is a stranger's deed for the guard. docs/how-it-decides.md says what a stranger's deletions
//! lead to, and so what may come back then of what a job deleted itself: what the newest checkpoint of a directory names, or a savepoint, and a checkpoint as
//! a whole once; the pointers of an HA store, and what they name. What Flink deletes of older ones stays away, whoever it is taken for.

use super::{ONCE, Oracle, Scene, Violation};
use crate::actors::{Checkpoint, Place};
use crate::function::Said;
use crate::store::{Hand, Hiding};

impl Oracle<'_> {
    /// Whether it was a job that hid a key, and the guard can have taken it for a stranger.
    fn passes_for_a_strangers(&self, hiding: &Hiding) -> bool {
        matches!(hiding.by, Hand::Flink(_)) && self.may_be_told_as_foreign(hiding)
    }

    /// Whether a pointer of the HA store came back that a job had deleted, likewise: what a stranger takes there comes back at once, and what it names counts as
    /// the checkpoint of a job that runs.
    fn is_named_by_a_pointer_that_came_back(&self, scene: &Scene<'_>, metadata: &str) -> bool {
        let mut its = self.ledger.all().filter(|c| c.metadata == metadata);
        its.any(|c| {
            let mut pointers = c.files.iter().filter(|f| f.place == Place::Pointer);
            pointers.any(|f| {
                let hiding = scene.store.came_back_after(&f.key);
                hiding.is_some_and(|h| self.passes_for_a_strangers(&h))
            })
        })
    }

    /// Whether a key came back that nobody needs, since a job is a stranger: it hid the key, or the `_metadata` for which that came back, or a pointer to that.
    pub(super) fn came_back_as_a_strangers(
        &self,
        scene: &Scene<'_>,
        hiding: Option<&Hiding>,
        about: Option<&str>,
    ) -> bool {
        let passes = |h: &Hiding| self.passes_for_a_strangers(h);
        let of_metadata = |metadata: &str| {
            let hiding = scene.store.hiding(metadata);
            let hiding = hiding.or_else(|| scene.store.came_back_after(metadata));
            // What came back as a stranger's once stays what it is, whoever takes it next.
            self.ledger.discarded_and_back.contains(metadata)
                || hiding.is_some_and(|h| passes(&h))
                || self.is_named_by_a_pointer_that_came_back(scene, metadata)
        };
        hiding.is_some_and(passes) || about.is_some_and(of_metadata)
    }

    /// What is wrong with a copy of what a job hid as a stranger.
    pub(super) fn look_at_strangers(
        &mut self,
        scene: &Scene<'_>,
        said: Option<&Said>,
        key: &str,
        hiding: &Hiding,
    ) -> Option<Violation> {
        let about = said.and_then(|s| s.about.as_deref())?;
        if !self.passes_for_a_strangers(hiding) || self.is_named_by_a_pointer_that_came_back(scene, about) {
            return None;
        }
        let its: Vec<&Checkpoint> = self.ledger.all().filter(|c| c.metadata == about).collect();
        // In a directory of several jobs each has a newest one.
        let is_shared = scene.jobs.iter().any(|j| j.spec.zero_id);
        let overtaken = |c: &Checkpoint| {
            let beside = |o: &&Checkpoint| o.job_directory() == c.job_directory();
            let newer = |o: &Checkpoint| o.completed > c.completed && o.completed < hiding.at;
            self.ledger.all().filter(beside).any(newer)
        };
        if !is_shared && !its.is_empty() && its.iter().all(|c| overtaken(c)) {
            let what = format!("{key} was restored for {about}, which was overtaken when its job deleted it");
            return Some(self.violation(scene, super::LEFT_ALONE, what));
        }
        let directory = its.first()?.job_directory().to_owned();
        let remembers = self.world.journal && self.world.faults == crate::scenario::Faults::NONE;
        let again = key == about && !self.ledger.jobs_brought_back.insert(directory);
        (again && remembers && !is_shared).then(|| {
            let what = format!("{key} was restored, as the one before it there that its job deleted");
            self.violation(scene, ONCE, what)
        })
    }
}
