//! What somebody would restore from, by each actor's own memory.

use crate::actors::people::Savepoint;
use crate::actors::{Checkpoint, Job, Place};
use crate::clock::Millis;
use crate::store::{Hand, Hiding, Store};

/// Who needs a snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A job that runs.
    Running,
    /// A job that ended, and whose owner comes back.
    Ended,
    /// A savepoint.
    Savepoint,
}

/// A snapshot that somebody would restore from.
pub struct Need<'s> {
    /// Which one.
    pub snapshot: &'s Checkpoint,
    /// Since when it is that one.
    pub since: Millis,
    /// Who.
    pub who: String,
    /// Who, as a kind.
    pub kind: Kind,
}

impl Need<'_> {
    /// What isn't visible of it, and who hid it.
    pub fn missing(&self, store: &Store) -> Vec<(String, Hiding)> {
        let files = self.snapshot.files.iter().map(|f| (&f.key, f.place));
        // A sink deletes tails of older snapshots itself: whoever goes back to one lacks them by design.
        let by_its_sink = |place, h: &Hiding| place == Place::Tail && matches!(h.by, Hand::Flink(_));
        files
            .chain([(&self.snapshot.metadata, Place::Private)])
            .filter(|(key, _)| !store.is_visible(key))
            .filter_map(|(key, place)| Some((key.clone(), place, store.hiding(key)?)))
            .filter(|(_, place, hiding)| !by_its_sink(*place, hiding))
            .map(|(key, _, hiding)| (key, hiding))
            .collect()
    }
}

/// What somebody would restore from now.
pub fn needs<'s>(jobs: &'s [Job], savepoints: &'s [Savepoint]) -> Vec<Need<'s>> {
    let of_jobs = jobs.iter().filter_map(|job| {
        let snapshot = job.would_restore()?;
        Some(Need {
            snapshot,
            since: snapshot.completed.max(job.began),
            who: format!("job {}", job.number),
            kind: if job.runs() { Kind::Running } else { Kind::Ended },
        })
    });
    let kept = savepoints.iter().enumerate().filter(|(_, s)| s.wanted);
    let of_savepoints = kept.map(|(n, s)| Need {
        snapshot: &s.snapshot,
        since: s.snapshot.completed,
        who: format!("savepoint {n}"),
        kind: Kind::Savepoint,
    });
    of_jobs.chain(of_savepoints).collect()
}
