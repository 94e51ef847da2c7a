//! Carrying out what was judged, remembering what later calls must know, and answering the messages.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::StreamExt;
use futures_util::stream;
use stayput_core::class::FAILED_STORE_WITHIN;
use stayput_core::layout::Place;
use stayput_core::loss::MetadataState;
use stayput_core::report::finding::FindingCode;
use stayput_core::restoring::Permit;
use stayput_core::snapshot::identity_of;
use stayput_core::verdict::LaterReason;
use stayput_core::version::KeyHistory;

use super::judging::{Bench, Judged, may_be_named_yet};
use super::restraint::{asks_for_something, come_of, urgency};
use super::{
    Acted, BatchReport, Cause, Done, Hand, Journal, LeaveReason, METADATA_FILE, Message, Notice,
    ObjectLocation, Outcome, Reading, Timestamp, Verdict,
};
use crate::batch::{Answer, Summary};
use crate::inspect::inspect;
use crate::port::{PortError, PortErrorKind};
use crate::restore::{Means, NotPutBack, put_back};

/// So many copies are under way at once.
const CONCURRENT: usize = 8;

/// What a `_metadata` that is to come back names.
enum ItsFiles {
    /// All of it is there.
    AllThere,
    /// Something will come, or can't.
    SomeMissing,
    /// These are visible, but of another length than the handles say; they are never touched.
    Overwritten(BTreeSet<ObjectLocation>),
}

impl<R, J, H> Bench<'_, R, J, H>
where
    R: Reading + Sync,
    J: Journal + Sync,
    H: Hand + Sync,
{
    /// Acts, remembers, tells, answers.
    pub(super) async fn close(
        mut self,
        notices: &[Notice],
        mut judged: Vec<Judged>,
        messages: &[Message],
        report: &mut BatchReport,
    ) {
        self.restrain(&mut judged).await;
        let trouble = match self.remember_what_is_put_back(&judged).await {
            Ok(()) => None,
            Err(e) => {
                self.postpone(&mut judged, &e.to_string());
                Some(e.to_string())
            }
        };
        let done = self.act(&mut judged).await;
        let trouble = self.spend(&judged, &done).await.or(trouble);
        let trouble = self.remember(&judged).await.or(trouble);
        report.findings = self.findings(&judged, &done).await;
        report.summary = self.summary(&judged, &done, messages.len());
        let mut again: BTreeMap<usize, (Timestamp, LaterReason)> = BTreeMap::new();
        let by_location: BTreeMap<&ObjectLocation, &Notice> =
            notices.iter().map(|n| (&n.location, n)).collect();
        for (j, done) in judged.iter().zip(&done) {
            let wait = match (&j.verdict.outcome, done) {
                (_, Done::Failed(why)) => Some((self.eyes.now, LaterReason::Transient(why.clone()))),
                (_, Done::Unfinished { .. }) => Some((self.eyes.now, LaterReason::CopyUnderWay)),
                (Outcome::Later { not_before, why }, _) if comes_again(why) => {
                    Some((*not_before, why.clone()))
                }
                _ => None,
            };
            let Some((at, why)) = wait else { continue };
            for message in by_location
                .get(&j.verdict.location)
                .into_iter()
                .flat_map(|n| &n.messages)
            {
                let entry = again.entry(*message).or_insert((at, why.clone()));
                if at < entry.0 {
                    *entry = (at, why.clone());
                }
            }
        }
        if let Some(trouble) = trouble {
            // What a later call must know couldn't be written down: let the queue bring the messages again.
            for number in 0..messages.len() {
                again
                    .entry(number)
                    .or_insert((self.eyes.now, LaterReason::Transient(trouble.clone())));
            }
        }
        report.answers = messages
            .iter()
            .enumerate()
            .map(|(number, m)| {
                let answer = match again.get(&number) {
                    Some((not_before, why)) => Answer::Again {
                        not_before: *not_before,
                        why: why.clone(),
                    },
                    None => Answer::Done,
                };
                (m.id.clone(), answer)
            })
            .collect();
        let mut named_by = self.named_by(&judged).await;
        let mut verdicts: Vec<Acted> = judged
            .into_iter()
            .zip(done)
            .map(|(j, done)| Acted {
                named_by: named_by.remove(&j.verdict.location),
                verdict: j.verdict,
                done,
                deadline: j.deadline,
                deleted_at: j
                    .history
                    .as_ref()
                    .and_then(KeyHistory::hidden)
                    .map(|h| h.above_data.last_modified),
            })
            .collect();
        verdicts.sort_by(|a, b| a.verdict.location.cmp(&b.verdict.location));
        report.verdicts = verdicts;
        report.warnings.extend(self.survey.unkept.warning());
    }

    /// Copies state files first, then each `_metadata` once everything it names is there.
    async fn act(&mut self, judged: &mut Vec<Judged>) -> Vec<Done> {
        let mut done = vec![Done::Nothing; judged.len()];
        let mut files: Vec<(usize, Permit, Means)> = Vec::new();
        let mut metadata: Vec<usize> = Vec::new();
        for (n, j) in judged.iter().enumerate() {
            if let Outcome::Restore(permit) = &j.verdict.outcome {
                // One that is visible waits for nothing: its copy shows no job anything new.
                if j.verdict.location.file_name() == METADATA_FILE && !permit.is_repair() {
                    metadata.push(n);
                } else {
                    files.push((n, permit.clone(), self.means(j)));
                }
            }
        }
        files.sort_by_key(|(n, ..)| urgency(&judged[*n].verdict));
        metadata.sort_by_key(|n| urgency(&judged[*n].verdict));
        self.ask_for_thaws(judged, &mut done).await;
        let (eyes, hand) = (&self.eyes, self.hand);
        let (large, files): (Vec<_>, Vec<_>) = files
            .into_iter()
            .partition(|(_, permit, _)| permit.source().size > hand.single());
        let mut copied: Vec<(usize, Result<Done, NotPutBack>)> = stream::iter(files)
            .map(|(n, permit, means)| async move { (n, put_back(eyes, hand, &permit, means).await) })
            .buffer_unordered(CONCURRENT)
            .collect()
            .await;
        // Their parts are copied at once; and where time runs short, one is whole rather than two halves.
        for (n, permit, means) in large {
            copied.push((n, put_back(eyes, hand, &permit, means).await));
        }
        for (n, result) in copied {
            done[n] = come_of(&mut judged[n], result);
        }
        let mut spoilt = Vec::new();
        for n in metadata {
            let location = judged[n].verdict.location.clone();
            let settle = self.eyes.mandate.policy.settle;
            let later = match self.what_it_names(&location, judged, &done).await {
                Ok(ItsFiles::AllThere) => {
                    if let Outcome::Restore(permit) = &judged[n].verdict.outcome {
                        let means = self.means(&judged[n]);
                        let result = put_back(&self.eyes, self.hand, permit, means).await;
                        done[n] = come_of(&mut judged[n], result);
                    }
                    continue;
                }
                Ok(ItsFiles::Overwritten(objects)) => {
                    // No wait makes that right: a person must know.
                    let verdict = &mut judged[n].verdict;
                    verdict.outcome = Outcome::Report(FindingCode::Overwritten);
                    verdict
                        .findings
                        .push((FindingCode::Overwritten, location.clone()));
                    spoilt.extend(objects.into_iter().map(|o| (o, location.clone(), verdict.class)));
                    continue;
                }
                Ok(ItsFiles::SomeMissing) => {
                    self.tell_after_the_last_look(&mut judged[n].verdict);
                    LaterReason::WaitsForItsFiles
                }
                Err(e) => LaterReason::Transient(e.to_string()),
            };
            judged[n].verdict.outcome = Outcome::Later {
                not_before: self.eyes.now.plus(settle),
                why: later,
            };
        }
        for (object, metadata, class) in spoilt {
            if judged.iter().all(|j| j.verdict.location != object) {
                let code = FindingCode::Overwritten;
                judged.push(Judged::told_without_deletion(code, object, metadata, class));
                done.push(Done::Nothing);
            }
        }
        done
    }

    /// Asks for what lies in an archive. It comes back at a later look, by the sweep or when S3 tells that it is there.
    async fn ask_for_thaws(&self, judged: &mut [Judged], done: &mut [Done]) {
        for (j, done) in judged.iter_mut().zip(done) {
            let Outcome::Later {
                why: LaterReason::Thaw(Some(permit)),
                ..
            } = &j.verdict.outcome
            else {
                continue;
            };
            match self.hand.thaw(permit).await {
                Ok(None) => {}
                Ok(Some(takes)) => {
                    let ready_by = self.eyes.now.plus(takes);
                    if let Outcome::Later { not_before, .. } = &mut j.verdict.outcome {
                        *not_before = ready_by;
                    }
                    *done = Done::ThawAsked { ready_by };
                }
                Err(e) if e.kind == PortErrorKind::Unreadable => j.tell_that_its_key_is_unusable(&e),
                Err(e) => *done = Done::Failed(e.to_string()),
            }
        }
    }

    /// What it names should be there by then: a person must know that it isn't.
    fn tell_after_the_last_look(&self, verdict: &mut Verdict) {
        let location = verdict.location.clone();
        let hidden_at = self.inspected.get(&location).and_then(|i| match i.loss.metadata {
            MetadataState::Hidden { at, .. } => Some(at),
            MetadataState::Stands | MetadataState::Gone => None,
        });
        let last_look = self.eyes.mandate.policy.looks().into_iter().max();
        if let (Some(at), Some(after)) = (hidden_at, last_look)
            && self.eyes.now >= at.plus(after)
        {
            verdict.findings.push((FindingCode::MetadataHidden, location));
        }
    }

    /// Whether a listing shows every exact reference of a snapshot; for an observing guard, whether it would.
    async fn what_it_names(
        &mut self,
        metadata: &ObjectLocation,
        judged: &[Judged],
        done: &[Done],
    ) -> Result<ItsFiles, PortError> {
        let would: BTreeSet<&ObjectLocation> = judged
            .iter()
            .zip(done)
            .filter(|(_, d)| **d == Done::WouldCopy)
            .map(|(j, _)| &j.verdict.location)
            .collect();
        let Some((_, seen)) = inspect(&self.eyes, self.survey, metadata, &BTreeSet::new()).await? else {
            return Ok(ItsFiles::SomeMissing);
        };
        Ok(if !seen.overwritten.is_empty() {
            ItsFiles::Overwritten(seen.overwritten)
        } else if seen.loss.missing.iter().all(|m| would.contains(&m.location)) {
            ItsFiles::AllThere
        } else {
            ItsFiles::SomeMissing
        })
    }

    /// Before the first copy: which directories are put back after which principal deleted them as a whole.
    async fn remember_what_is_put_back(&self, judged: &[Judged]) -> Result<(), PortError> {
        let mut put_back = BTreeSet::new();
        for j in judged
            .iter()
            .filter(|j| H::ACTS && matches!(j.verdict.outcome, Outcome::Restore(_)))
        {
            let (Cause::Foreign(principal), Some(about)) = (&j.verdict.cause, &j.verdict.decided_by) else {
                continue;
            };
            let Some(loss) = self.inspected.get(about).map(|i| &i.loss).filter(|l| l.whole) else {
                continue;
            };
            if let MetadataState::Hidden { at, .. } = &loss.metadata {
                put_back.insert((about, principal, *at));
            }
        }
        for (about, principal, at) in put_back {
            self.eyes.memory.remember_put_back(about, principal, at).await?;
        }
        Ok(())
    }

    /// Nothing is restored in this call after all.
    fn postpone(&self, judged: &mut [Judged], why: &str) {
        for j in judged
            .iter_mut()
            .filter(|j| asks_for_something(&j.verdict.outcome).is_some())
        {
            let not_before = self.eyes.now;
            j.verdict.outcome = Outcome::Later {
                not_before,
                why: LaterReason::Transient(why.to_owned()),
            };
        }
    }

    /// Writes down what later calls and the sweep must know; returns what couldn't be written.
    async fn remember(&self, judged: &[Judged]) -> Option<String> {
        let mut trouble = None;
        for j in judged {
            if let Err(e) = self.remember_one(j).await {
                trouble.get_or_insert(e.to_string());
            }
        }
        trouble
    }

    async fn remember_one(&self, judged: &Judged) -> Result<(), PortError> {
        let verdict = &judged.verdict;
        let memory = self.eyes.memory;
        self.remember_that_it_couldnt_be_stored(judged).await?;
        // A stranger's hand on what went with a checkpoint that Flink took back: the next checkpoint names it all the same, and its message is answered.
        let needed_again = || judged.is_by_a_stranger() && self.lies_in_no_checkpoint(&verdict.location);
        let remembers = match &verdict.outcome {
            Outcome::Later { .. } | Outcome::Report(_) => true,
            Outcome::Leave(LeaveReason::DiscardedByFlink) => needed_again(),
            Outcome::Leave(LeaveReason::NotReferenced(_)) => {
                may_be_named_yet(&verdict.location, &judged.key_cause)
            }
            // The message about `_metadata` may come later, and to another process.
            Outcome::Leave(LeaveReason::SinkTail) => judged.is_by_a_stranger(),
            Outcome::Restore(_) | Outcome::Leave(_) | Outcome::Lost(_) => false,
        };
        let known = !matches!(judged.key_cause, Cause::Unknown | Cause::Lifecycle);
        let passes_for_a_rules = || {
            let history = judged.history.as_ref();
            known && history.is_some_and(|h| self.eyes.passes_for_a_rules(&verdict.location, h))
        };
        if !remembers && !passes_for_a_rules() {
            return Ok(());
        }
        // What is known of this key's own marker says more than who hid the `_metadata` that it went with.
        let cause = match &judged.key_cause {
            Cause::Unknown => &verdict.cause,
            known => known,
        };
        let marker = judged
            .history
            .as_ref()
            .and_then(KeyHistory::hidden)
            .map(|h| &h.above_data.id);
        if let Some(marker) = marker.filter(|_| *cause != Cause::Unknown) {
            memory.remember_cause(&verdict.location, marker, cause).await?;
        }
        if let (Outcome::Report(FindingCode::DiscardCutShort), Some(about)) =
            (&verdict.outcome, &verdict.decided_by)
        {
            memory.remember_left_to_flink(about, self.eyes.now).await?;
        }
        Ok(())
    }

    /// Who hid a `_metadata` so soon after it was written says to later calls whether the checkpoint before it is the newest.
    async fn remember_that_it_couldnt_be_stored(&self, judged: &Judged) -> Result<(), PortError> {
        let location = &judged.verdict.location;
        let history = judged.history.as_ref();
        let is_discard = judged.verdict.outcome == Outcome::Leave(LeaveReason::DiscardedByFlink);
        let by_flink =
            is_discard && judged.key_cause == Cause::Flink && location.file_name() == METADATA_FILE;
        let Some(hidden) = history.and_then(KeyHistory::hidden).filter(|_| by_flink) else {
            return Ok(());
        };
        let written = history
            .and_then(|h| h.data_versions().next())
            .map(|data| data.last_modified);
        let marker = hidden.above_data;
        if written.is_none_or(|written| marker.last_modified.since(written) > FAILED_STORE_WITHIN) {
            return Ok(());
        }
        let (kind, job) = identity_of(location);
        self.eyes
            .memory
            .remember_hidden(&job, kind.id(), location, &marker.id, &Cause::Flink)
            .await
    }

    /// The job directory of an object by its path, as a URL; of what lies elsewhere, its own directory.
    fn job_of(&self, location: &ObjectLocation) -> String {
        let plain = self.plain_key(location);
        let directory = Place::of(&plain)
            .job()
            .unwrap_or_else(|| location.directory())
            .to_owned();
        format!("s3://{}/{directory}", location.bucket())
    }

    fn summary(&self, judged: &[Judged], done: &[Done], messages: usize) -> Summary {
        let mut summary = Summary {
            messages: messages as u64,
            judged: judged.len() as u64,
            outside: self.outside,
            jobs: self
                .survey
                .catalogue
                .jobs()
                .filter(|(_, j)| !j.snapshots.is_empty())
                .count() as u64,
            snapshots: self.survey.catalogue.iter().count() as u64,
            paused: self.eyes.switches.paused,
            ..Summary::default()
        };
        for (j, done) in judged.iter().zip(done) {
            if j.was_deleted() {
                *summary.by_cause.entry(j.verdict.cause.word()).or_default() += 1;
            }
            if let Done::Failed(_) = done {
                summary.failed += 1;
                continue;
            }
            if let Done::Unfinished { .. } = done {
                summary.later += 1;
                continue;
            }
            match &j.verdict.outcome {
                Outcome::Leave(reason) => {
                    *summary.left.entry(reason.word()).or_default() += 1;
                    let job = summary
                        .left_by_job
                        .entry(self.job_of(&j.verdict.location))
                        .or_default();
                    *job.entry(reason.word()).or_default() += 1;
                }
                Outcome::Restore(permit) => {
                    summary.restored += 1;
                    summary.restored_bytes = summary.restored_bytes.saturating_add(permit.source().size);
                    summary.unhidden += u64::from(matches!(done, Done::Unhidden { .. }));
                    // What somebody wrote meanwhile was repaired by nobody.
                    summary.repaired += u64::from(permit.is_repair() && *done != Done::WrittenByOthers);
                }
                Outcome::Later { why, .. } => {
                    summary.later += 1;
                    summary.over_budget += u64::from(*why == LaterReason::BudgetSpent);
                }
                Outcome::Report(_) => summary.reported += 1,
                Outcome::Lost(_) => summary.lost += 1,
            }
        }
        summary
    }
}

/// Waits that the queue carries; the others are the sweep's: nothing is dropped, and nothing lands in a dead-letter queue for them.
fn comes_again(why: &LaterReason) -> bool {
    match why {
        LaterReason::Quiet
        | LaterReason::MayBeADiscard
        | LaterReason::NewerUnderWay
        | LaterReason::Transient(_)
        | LaterReason::WaitsForItsFiles
        | LaterReason::CopyUnderWay
        | LaterReason::OnItsWay => true,
        LaterReason::Thaw(_) | LaterReason::Paused | LaterReason::BudgetSpent | LaterReason::OncePerDay => {
            false
        }
    }
}
