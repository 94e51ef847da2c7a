//! Directories of jobs that are gone: a bucket keeps thousands of them, and a listing of each every few minutes would cost more than all the rest.

use std::collections::BTreeMap;
use std::time::Duration;

use stayput_core::snapshot::JobDirectory;
use stayput_core::timestamp::Timestamp;

/// So long a directory without a checkpoint stays unlisted at most.
const AT_MOST: Duration = Duration::from_secs(86_400);

/// Job directories in which no checkpoint was found.
#[derive(Debug, Default)]
pub(super) struct Headless(BTreeMap<JobDirectory, Looks>);

#[derive(Clone, Copy, Debug)]
struct Looks {
    first: Timestamp,
    last: Timestamp,
}

impl Headless {
    /// Takes down what a listing of the directory showed.
    pub(super) fn saw(&mut self, job: &JobDirectory, holds_checkpoints: bool, now: Timestamp) {
        if holds_checkpoints {
            self.0.remove(job);
            return;
        }
        self.0
            .entry(job.clone())
            .and_modify(|looks| looks.last = now)
            .or_insert(Looks {
                first: now,
                last: now,
            });
    }

    /// Whether the next look at the directory isn't due yet. One without a checkpoint is looked at again after as long as it is known to have none,
    /// so that a job which is just beginning is found in twice the time that its first checkpoint takes, and daily in the end.
    pub(super) fn may_wait(&self, job: &JobDirectory, now: Timestamp) -> bool {
        self.0
            .get(job)
            .is_some_and(|looks| now.since(looks.last) < looks.last.since(looks.first).min(AT_MOST))
    }

    /// Those that were last looked at longer ago than that.
    pub(super) fn unseen_for(&self, span: Duration, now: Timestamp) -> impl Iterator<Item = &JobDirectory> {
        let unseen = move |looks: &Looks| now.since(looks.last) >= span;
        self.0
            .iter()
            .filter(move |(_, looks)| unseen(looks))
            .map(|(job, _)| job)
    }
}
