//! How far each job has come: the age of its newest checkpoint, and whether it counts as running.

use std::time::Duration;

use stayput_core::catalogue::{Catalogue, SnapshotId};
use stayput_core::class::{Class, Moment, RUNNING_FOR_AT_LEAST, forms_a_group};
use stayput_core::snapshot::{JobDirectory, Kept, Snapshot};
use stayput_core::timestamp::Timestamp;

use crate::sweep::Progress;

/// Sweeps may be so far apart.
const LOOKING_BACK: Duration = Duration::from_secs(24 * 3600);
/// Whether a younger checkpoint was taken over by another job isn't asked, which means looking through all of them.
const YOUNG: Duration = Duration::from_secs(3600);

pub(super) fn of_jobs(catalogue: &Catalogue, dormant_after: Duration, now: Timestamp) -> Vec<Progress> {
    let jobs = catalogue.jobs().filter_map(|(job, record)| {
        let visible = record.snapshots.iter().filter_map(|id| {
            let snapshot = catalogue.get(*id)?;
            (snapshot.hidden.is_none() && forms_a_group(snapshot)).then_some((*id, snapshot))
        });
        let newest = visible.max_by_key(|(_, s)| (s.written, s.directory_id()))?;
        Some(of_job(catalogue, job, newest, dormant_after, now))
    });
    jobs.collect()
}

fn of_job(
    catalogue: &Catalogue,
    job: &JobDirectory,
    (id, newest): (SnapshotId, &Snapshot),
    dormant_after: Duration,
    now: Timestamp,
) -> Progress {
    let runs = match newest.kept {
        Some(Kept::Pinned) => now.since(newest.written) < RUNNING_FOR_AT_LEAST + LOOKING_BACK,
        Some(Kept::NamedByHa) | None => {
            let then = newest.written.max(now.minus(LOOKING_BACK));
            catalogue.class(id, Moment::Of(then), dormant_after) == Class::Running
        }
    };
    let went_on_elsewhere = || now.since(newest.written) >= YOUNG && catalogue.claimed_by(id).is_some();
    Progress {
        job: job.clone(),
        newest: newest.written,
        runs: runs && !went_on_elsewhere(),
    }
}
