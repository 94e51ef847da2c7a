//! New checkpoints: once the message about a `_metadata` is there, what it names and no checkpoint before it did is looked at as by a sweep.
//!
//! Who hid such a file was told before any snapshot named it, so that its own message was answered with “nobody names it”.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream;
use stayput_core::catalogue::SnapshotId;
use stayput_core::loss::MetadataState;
use stayput_core::reference_index::SnapshotNo;
use stayput_core::snapshot::{JobDirectory, Snapshot};
use stayput_core::verdict::{LaterReason, NeededBy};

use super::{
    BatchReport, Class, Eyes, JOBS_AT_ONCE, Journal, Judged, Look, Moment, Notice, ObjectLocation, Outcome,
    PortError, Reading, Survey, Timestamp, put_together, references_of, see_objects,
};
use crate::batch::{Answer, Done};
use crate::inspect::see_some;

/// Everything that a job's newest checkpoints name is looked at so often, as new ones come.
const IN_FULL_AFTER: Duration = Duration::from_secs(3600);

/// Jobs that completed checkpoints, and the messages that tell of it, by their place in the call.
pub(in crate::guard) type Completed = BTreeMap<JobDirectory, BTreeSet<usize>>;

/// What was seen at the newest checkpoints of some jobs.
pub(in crate::guard) struct NewCheckpoints(Vec<OfJob>);

/// What was seen at the newest checkpoints of one job.
struct OfJob {
    job: JobDirectory,
    messages: BTreeSet<usize>,
    /// References of the checkpoints that were looked at.
    snapshots: Vec<SnapshotNo>,
    /// When all of them were looked at.
    in_full_at: Timestamp,
    look: Look,
    /// Why that couldn't be done.
    unread: Option<String>,
}

impl NewCheckpoints {
    /// Looks at what is new in these jobs' newest checkpoints, which the survey has read; at everything if that was never done or an hour ago.
    pub(in crate::guard) async fn look<R: Reading + Sync, J: Journal + Sync>(
        eyes: &Eyes<'_, R, J>,
        survey: &Survey,
        completed: Completed,
    ) -> Self {
        let looks = stream::iter(completed)
            .map(|(job, messages)| look_at_job(eyes, survey, job, messages))
            .buffered(JOBS_AT_ONCE);
        Self(looks.collect().await)
    }

    /// Puts what is missing among the notices of the call. What waits brings the message about the checkpoint again.
    pub(in crate::guard) fn join(&self, notices: &mut Vec<Notice>) {
        let mut places: BTreeMap<ObjectLocation, usize> = (notices
            .iter()
            .enumerate()
            .map(|(n, notice)| (notice.location.clone(), n)))
        .collect();
        for of_job in &self.0 {
            for (location, notice) in &of_job.look.notices {
                let place = *places.entry(location.clone()).or_insert_with(|| {
                    notices.push(notice.clone());
                    notices.len() - 1
                });
                notices[place].messages.extend(&of_job.messages);
            }
        }
    }

    /// What lies in an archive, of objects that nobody was told of in this call.
    pub(in crate::guard) fn archived(&mut self, judged: &[Judged]) -> BTreeMap<ObjectLocation, NeededBy> {
        let answered: BTreeSet<&ObjectLocation> = judged.iter().map(|j| &j.verdict.location).collect();
        let mut archived = BTreeMap::new();
        for of_job in &mut self.0 {
            archived.append(&mut of_job.look.archived);
        }
        archived.retain(|location, _| !answered.contains(location));
        archived
    }

    /// What is told without any deletion, likewise.
    pub(in crate::guard) fn reports(&mut self, judged: &[Judged]) -> Vec<Judged> {
        let answered: BTreeSet<&ObjectLocation> = judged.iter().map(|j| &j.verdict.location).collect();
        let mut reports: BTreeMap<ObjectLocation, Judged> = BTreeMap::new();
        for of_job in &mut self.0 {
            reports.append(&mut of_job.look.reports);
        }
        reports.retain(|location, _| !answered.contains(location));
        reports.into_values().collect()
    }

    /// Remembers what was looked at, and answers: what was hidden a moment ago, and what couldn't be read, is looked at once more.
    pub(in crate::guard) fn close(self, survey: &mut Survey, now: Timestamp, report: &mut BatchReport) {
        let open: BTreeSet<&ObjectLocation> = report
            .verdicts
            .iter()
            .filter(|a| {
                let unfinished = matches!(a.done, Done::Failed(_) | Done::Unfinished { .. });
                unfinished || matches!(a.verdict.outcome, Outcome::Later { .. })
            })
            .map(|a| &a.verdict.location)
            .collect();
        let mut again: Vec<(usize, Timestamp, LaterReason)> = Vec::new();
        for of_job in self.0 {
            let look = &of_job.look;
            let wait = match &of_job.unread {
                Some(why) => Some((now, LaterReason::Transient(why.clone()))),
                None => {
                    let except = look.young.keys().chain(open.iter().copied());
                    survey.remember_checked(&of_job.job, &of_job.snapshots, except, of_job.in_full_at);
                    let settled = look.young.values().min();
                    settled.map(|at| (*at, LaterReason::Quiet))
                }
            };
            if let Some((at, why)) = wait {
                again.extend(of_job.messages.iter().map(|n| (*n, at, why.clone())));
            }
        }
        survey.forget_checked_of_gone_jobs();
        for (number, at, why) in again {
            let Some((_, answer)) = report.answers.get_mut(number) else {
                continue;
            };
            match answer {
                Answer::Again { not_before, .. } if *not_before <= at => {}
                _ => *answer = Answer::Again { not_before: at, why },
            }
        }
    }
}

async fn look_at_job<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    survey: &Survey,
    job: JobDirectory,
    messages: BTreeSet<usize>,
) -> OfJob {
    let checkpoints = newest_of(eyes, survey, &job);
    let before = survey.checked(&job);
    let in_full = before.is_none_or(|checked| eyes.now.since(checked.in_full_at) >= IN_FULL_AFTER);
    let mut of_job = OfJob {
        snapshots: checkpoints.iter().map(|(_, references)| *references).collect(),
        in_full_at: before
            .filter(|_| !in_full)
            .map_or(eyes.now, |checked| checked.in_full_at),
        look: Look::default(),
        unread: None,
        messages,
        job,
    };
    if survey.is_failing(&of_job.job) {
        of_job.unread = Some(format!("{} couldn't be read just now", of_job.job));
        return of_job;
    }
    let some = before.filter(|_| !in_full).map(|checked| checked.references);
    let ids: Vec<SnapshotId> = checkpoints.iter().map(|(id, _)| *id).collect();
    if let Err(e) = look_at(eyes, survey, &ids, some, &mut of_job).await {
        of_job.unread = Some(format!("{}: {e}", of_job.job));
    }
    of_job
}

/// Looks at what these checkpoints of a job name: all of it, or what isn't among `but`.
async fn look_at<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    survey: &Survey,
    checkpoints: &[SnapshotId],
    but: Option<SnapshotNo>,
    of_job: &mut OfJob,
) -> Result<(), PortError> {
    let catalogue = &survey.catalogue;
    let seen = match but {
        Some(but) => {
            let new = catalogue.index.named_besides(&of_job.snapshots, but);
            see_some(eyes, catalogue, &of_job.snapshots, new).await?
        }
        None => {
            let all = checkpoints.iter().flat_map(|id| references_of(catalogue, *id));
            see_objects(eyes, catalogue, &all.collect()).await?
        }
    };
    for id in checkpoints {
        let stands = MetadataState::Stands;
        let inspected = put_together(eyes, survey, *id, stands, &seen, &BTreeSet::new()).await?;
        of_job.look.take(eyes, survey, *id, &inspected, &seen);
    }
    Ok(())
}

/// The checkpoints of a job that stand and that somebody would restore from, with what they name. Spares are left to the sweep.
fn newest_of<R, J>(
    eyes: &Eyes<'_, R, J>,
    survey: &Survey,
    job: &JobDirectory,
) -> Vec<(SnapshotId, SnapshotNo)> {
    let catalogue = &survey.catalogue;
    let dormant_after = eyes.mandate.policy.dormant_after;
    let counts = |id: SnapshotId, snapshot: &Snapshot| {
        snapshot.hidden.is_none()
            && snapshot.directory_id().is_some()
            && catalogue.class(id, Moment::Of(eyes.now), dormant_after) > Class::Spare
    };
    let ids = catalogue
        .job(job)
        .map(|r| r.snapshots.as_slice())
        .unwrap_or_default();
    ids.iter()
        .filter_map(|id| {
            let snapshot = catalogue.get(*id).filter(|s| counts(*id, s))?;
            Some((*id, snapshot.facts()?.references))
        })
        .collect()
}
