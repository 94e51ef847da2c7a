//! What an operator would fail over to, where the bucket is a replica: the newest checkpoint of which all has come, and nothing has gone again as it went in the
//! origin. What others take of it here is a loss.

use super::{Kind, Need};
use crate::actors::people::Savepoint;
use crate::actors::{Checkpoint, Job};
use crate::clock::Millis;
use crate::store::{Hand, Store};

/// Every snapshot whose `_metadata` has come, in that order.
#[derive(Default)]
pub struct Replica {
    arrived: Vec<Checkpoint>,
}

fn keys(checkpoint: &Checkpoint) -> impl Iterator<Item = (&String, Option<u64>)> {
    let files = checkpoint.files.iter().map(|f| &f.key);
    let all = files.chain([&checkpoint.metadata]);
    all.map(|key| (key, checkpoint.length_of(key)))
}

/// Whether all that it is made of has come, whatever became of it then.
fn is_all_here(checkpoint: &Checkpoint, store: &Store) -> bool {
    keys(checkpoint).all(|(key, length)| length.is_some_and(|length| store.has_version(key, length)))
}

/// When replication last hid anything of it that is still hidden.
fn went_as_in_the_origin(checkpoint: &Checkpoint, store: &Store) -> Option<Millis> {
    let hidings = keys(checkpoint).filter_map(|(key, _)| store.hiding(key));
    let by_replication = hidings.filter(|h| h.by == Hand::Replication);
    by_replication.map(|h| h.at).max()
}

impl Replica {
    /// The `_metadata` of a snapshot has come.
    pub fn learn(&mut self, snapshot: Checkpoint) {
        self.arrived.push(snapshot);
    }

    /// Those of a job's directory, the newest first.
    fn of_directory(&self, directory: &str) -> Vec<&Checkpoint> {
        let its = self.arrived.iter().filter(|c| c.job_directory() == directory);
        let mut its: Vec<&Checkpoint> = its.collect();
        its.sort_by_key(|c| (std::cmp::Reverse(c.completed), std::cmp::Reverse(c.id)));
        its
    }

    /// Whatever looks here as if somebody could want it: what stands, and of each directory the newest, down to the first that is all here. That its
    /// job discarded it in the origin nobody can know here before that is replicated, if it ever is.
    pub fn seems_wanted(&self, jobs: &[Job], store: &Store) -> Vec<&Checkpoint> {
        let stands = |c: &&Checkpoint| store.is_visible(&c.metadata);
        let mut newest: Vec<&Checkpoint> = self.arrived.iter().filter(stands).collect();
        for job in jobs {
            for checkpoint in self.of_directory(&job.directory) {
                newest.push(checkpoint);
                if is_all_here(checkpoint, store) {
                    break;
                }
            }
        }
        newest
    }

    /// The checkpoint that an operator would fail over to, and since when it is that.
    fn would_restore(&self, job: &Job, store: &Store) -> Option<(&Checkpoint, Millis)> {
        if !job.runs() && !job.wanted {
            return None;
        }
        let mut since = 0;
        for checkpoint in self.of_directory(&job.directory) {
            if !is_all_here(checkpoint, store) {
                continue;
            }
            match went_as_in_the_origin(checkpoint, store) {
                Some(at) => since = since.max(at),
                None => {
                    let came = keys(checkpoint).filter_map(|(key, _)| store.arrived_at(key));
                    let came = came.max().unwrap_or(checkpoint.completed);
                    return Some((checkpoint, since.max(came)));
                }
            }
        }
        None
    }
}

/// What somebody would fail over to now.
pub fn needs_of_replica<'s>(
    replica: &'s Replica,
    jobs: &[Job],
    savepoints: &[Savepoint],
    store: &Store,
) -> Vec<Need<'s>> {
    let of_jobs = jobs.iter().filter_map(|job| {
        let (snapshot, since) = replica.would_restore(job, store)?;
        Some(Need {
            snapshot,
            since,
            who: format!("who fails over job {}", job.number),
            kind: if job.runs() { Kind::Running } else { Kind::Ended },
        })
    });
    let kept = replica.arrived.iter().filter_map(|snapshot| {
        let is_kept = |s: &&Savepoint| s.wanted && s.snapshot.metadata == snapshot.metadata;
        savepoints.iter().find(is_kept)?;
        let went = went_as_in_the_origin(snapshot, store).is_some();
        if went || !is_all_here(snapshot, store) {
            return None;
        }
        let came = keys(snapshot).filter_map(|(key, _)| store.arrived_at(key));
        Some(Need {
            snapshot,
            since: came.max().unwrap_or(snapshot.completed),
            who: format!("who would start {}", snapshot.directory()),
            kind: Kind::Savepoint,
        })
    });
    of_jobs.chain(kept).collect()
}
