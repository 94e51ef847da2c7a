//! What a warm instance knows may have changed since: a `_metadata` that was written again, a directory that wasn't there yet. Asked where an answer hangs
//! on it.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use stayput_core::layout::METADATA_FILE;
use stayput_core::location::ObjectLocation;
use stayput_core::snapshot::{JobDirectory, Snapshot};
use stayput_core::timestamp::Timestamp;
use stayput_core::version::{KeyHistory, VersionKind};

use super::{Breadth, CONCURRENT, Eyes, Named, Survey};
use crate::port::{Journal, PortError, Reading};

/// What a checkpoint subsumes Flink deletes within so long, or nearly all of it.
const SUBSUMED_WITHIN: Duration = Duration::from_secs(60);

impl Survey {
    fn visible_checkpoints(&self, job: &JobDirectory) -> impl Iterator<Item = &Snapshot> {
        let record = self.catalogue.job(job);
        let ids = record.map(|r| r.snapshots.as_slice()).unwrap_or_default();
        let snapshots = ids.iter().filter_map(|id| self.catalogue.get(*id));
        snapshots.filter(|s| s.hidden.is_none() && s.directory_id().is_some())
    }

    /// Whether it is as long ago as listings are made anew that this was asked of a `_metadata`.
    fn was_asked_long_ago(&self, metadata: &ObjectLocation, now: Timestamp, max_age: Duration) -> bool {
        let asked = self.asked_about.get(metadata);
        asked.is_none_or(|at| now.since(*at) >= max_age)
    }

    /// Whether Flink deleted something then, and of all that stands in the directory nothing was complete just before that: a checkpoint that failed, a
    /// clean-up that is slow, or a run whose checkpoints lie at the keys of older ones that this process knows.
    pub(crate) fn knows_no_checkpoint_before(&self, job: &JobDirectory, deleted: Timestamp) -> bool {
        let newest = self.visible_checkpoints(job).map(|s| s.written).max();
        newest.is_some_and(|newest| deleted.since(newest) > SUBSUMED_WITHIN)
    }

    /// Of the checkpoints of a directory that pass for visible: what isn't what was read is read again, since a run whose ids began again writes the same
    /// keys; and what somebody copied onto itself gets the age of its bytes, or an old checkpoint would pass for the newest. The newest by id and by
    /// time are asked about each time, the others as often as listings are made anew.
    pub(crate) async fn read_what_was_written_again<R: Reading + Sync, J: Journal + Sync>(
        &mut self,
        eyes: &Eyes<'_, R, J>,
        job: &JobDirectory,
    ) {
        let visible = || self.visible_checkpoints(job);
        let by_id = visible().max_by_key(|s| s.directory_id()).map(|s| &s.metadata);
        let by_time = visible().max_by_key(|s| s.written).map(|s| &s.metadata);
        let max_age = eyes.mandate.catalogue_max_age;
        let wanted = visible().map(|s| &s.metadata).filter(|m| {
            Some(*m) == by_id || Some(*m) == by_time || self.was_asked_long_ago(m, eyes.now, max_age)
        });
        let wanted = wanted.cloned().collect();
        self.read_again(eyes, job, wanted).await;
    }

    /// The same, none of them more often than listings are made anew.
    pub(crate) async fn read_what_was_written_long_ago<R: Reading + Sync, J: Journal + Sync>(
        &mut self,
        eyes: &Eyes<'_, R, J>,
        job: &JobDirectory,
    ) {
        let max_age = eyes.mandate.catalogue_max_age;
        let visible = self.visible_checkpoints(job).map(|s| &s.metadata);
        let wanted = visible.filter(|m| self.was_asked_long_ago(m, eyes.now, max_age));
        let wanted = wanted.cloned().collect();
        self.read_again(eyes, job, wanted).await;
    }

    async fn read_again<R: Reading + Sync, J: Journal + Sync>(
        &mut self,
        eyes: &Eyes<'_, R, J>,
        job: &JobDirectory,
        wanted: Vec<ObjectLocation>,
    ) {
        let asked: Vec<(ObjectLocation, Result<KeyHistory, PortError>)> = stream::iter(wanted)
            .map(|metadata| async move {
                let history = eyes.history(&metadata).await;
                (metadata, history)
            })
            .buffer_unordered(CONCURRENT)
            .collect()
            .await;
        for (metadata, history) in asked {
            match history {
                Ok(history) => {
                    let read = self.snapshot_at(&metadata).map(|s| s.etag.clone());
                    let visible = history.current().and_then(|v| match &v.kind {
                        VersionKind::Data { etag, .. } => Some(etag.clone()),
                        VersionKind::Marker => None,
                    });
                    if visible.is_some() && visible == read {
                        self.know_age(&metadata, &history);
                    } else {
                        self.look_up(eyes, &metadata).await;
                    }
                    // What couldn't be read just now is asked about again at the next call.
                    if !self.is_failing(job) {
                        self.asked_about.insert(metadata, eyes.now);
                    }
                }
                Err(e) if e.is_transient() => self.fail(job.clone(), e.to_string()),
                // What may not be read the catalogue says.
                Err(_) => {}
            }
        }
    }

    /// Looks for job directories and savepoints that came since the roots were last looked through, and reads what they hold. `false`: there are none,
    /// and that could be seen.
    pub(crate) async fn look_for_new_directories<R: Reading + Sync, J: Journal + Sync>(
        &mut self,
        eyes: &Eyes<'_, R, J>,
    ) -> bool {
        if self.surveyed_at == Some(eyes.now) {
            return false;
        }
        let (mut jobs, mut savepoints) = (BTreeSet::new(), BTreeSet::new());
        let complete = self
            .discover(eyes, Breadth::Named, &mut jobs, &mut savepoints)
            .await;
        jobs.retain(|job| {
            let has_just_begun =
                || self.snapshots_of(job).is_empty() && !self.headless.may_wait(job, eyes.now);
            self.catalogue.job(job).is_none() || has_just_begun()
        });
        savepoints.retain(|directory| self.snapshot_at(&directory.sibling(METADATA_FILE)).is_none());
        let found = !jobs.is_empty() || !savepoints.is_empty() || !complete;
        let named = Named::default();
        self.take_jobs(eyes, &named, Breadth::Named, jobs).await;
        for directory in savepoints {
            self.take_savepoint(eyes, &named, &directory.sibling(METADATA_FILE))
                .await;
        }
        found
    }
}
