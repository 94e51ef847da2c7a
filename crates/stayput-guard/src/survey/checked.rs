//! What was seen to be there of all that a job's checkpoints name, so that of a new one only the rest needs a look.

use std::collections::BTreeMap;

use stayput_core::location::ObjectLocation;
use stayput_core::reference_index::{ObjectNo, SnapshotNo};
use stayput_core::snapshot::JobDirectory;
use stayput_core::timestamp::Timestamp;

use super::Survey;

/// What was looked at of one job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Checked {
    /// What the index holds of it: everything that the job's newest checkpoints named at the last look, but for what has to be looked at again.
    pub(crate) references: SnapshotNo,
    /// When all of it was looked at.
    pub(crate) in_full_at: Timestamp,
}

/// Of each job, in this process.
pub(crate) type CheckedJobs = BTreeMap<JobDirectory, Checked>;

impl Survey {
    /// What was looked at of a job, if anything was.
    pub(crate) fn checked(&self, job: &JobDirectory) -> Option<Checked> {
        self.checked.get(job).copied()
    }

    /// What these snapshots of a job name was looked at, except some objects. `in_full_at`: when all of it was.
    pub(crate) fn remember_checked<'l>(
        &mut self,
        job: &JobDirectory,
        snapshots: &[SnapshotNo],
        except: impl IntoIterator<Item = &'l ObjectLocation>,
        in_full_at: Timestamp,
    ) {
        let index = &mut self.catalogue.index;
        let except: Vec<ObjectNo> = except.into_iter().filter_map(|l| index.find(l)).collect();
        let held = index.hold(snapshots, except);
        // A full index says so where snapshots are read. Without what was looked at, the next look is one at everything.
        let before = match held {
            Ok(references) => self.checked.insert(
                job.clone(),
                Checked {
                    references,
                    in_full_at,
                },
            ),
            Err(_) => self.checked.remove(job),
        };
        if let Some(before) = before {
            index.remove(before.references);
        }
    }

    /// Of jobs that have no snapshot any more nothing is kept.
    pub(crate) fn forget_checked_of_gone_jobs(&mut self) {
        let catalogue = &mut self.catalogue;
        self.checked.retain(|job, checked| {
            let stands = catalogue.job(job).is_some_and(|r| !r.snapshots.is_empty());
            if !stands {
                catalogue.index.remove(checked.references);
            }
            stands
        });
    }
}
