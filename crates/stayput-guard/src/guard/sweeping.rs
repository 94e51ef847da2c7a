//! The sweep: everything that snapshots need is looked at, so that what lost messages hid is found.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::StreamExt;
use futures_util::stream;
use s3_documents::bucket::Versioning;
use stayput_core::catalogue::{Catalogue, SnapshotId};
use stayput_core::forecast::{Forecast, Forecaster, Listed};
use stayput_core::ha::is_in_result_store;
use stayput_core::loss::{MetadataState, MissingObject};
use stayput_core::report::finding::FindingCode;
use stayput_core::snapshot::{HiddenBy, JobDirectory};
use stayput_core::verdict::{NeededBy, Told};
use stayput_core::version::KeyHistory;

use super::judging::{Bench, Judged};
use super::{
    BatchReport, Breadth, Cause, Class, Clock, Eyes, Guard, Hand, Journal, Moment, Named, Notice,
    ObjectLocation, Outcome, PortError, Reading, RootKind, Survey, Timestamp, survey_again,
};
use crate::inspect::{
    Inspected, LookedAt, Seen, SeenObjects, VisibleObject, held_against, put_together, references_of,
    see_objects,
};
use crate::port::VersionsOf;
use crate::restore::abandon_unneeded;
use crate::sweep::{SweepReport, SweepSummary};

mod archived;
pub(super) mod new_checkpoints;
mod progress;
mod roots;

/// So many requests are under way at once.
const CONCURRENT: usize = 16;
/// The objects of so many jobs are looked at together; each lists several directories at once.
const JOBS_AT_ONCE: usize = 4;

impl<R, J, C, H> Guard<R, J, C, H>
where
    R: Reading + Sync,
    J: Journal + Sync,
    C: Clock,
    H: Hand + Sync,
{
    /// Looks at everything that snapshots need, and judges what is missing by the same table as deletions that messages tell of.
    ///
    /// Only markers count that are younger than `protect_since` and older than the settle delay. A spare checkpoint that lifecycle
    /// rules alone broke is made whole. Nothing here fails as a whole: what couldn't be read is in [`SweepReport::unread`].
    pub async fn sweep(&mut self) -> SweepReport {
        let now = self.clock.now();
        let buckets = self.watched();
        let prepared = self.prepare(&buckets, now).await;
        let (eyes, survey, hand) = self.at_work(&prepared, now);
        let failed = prepared.failed.clone();
        survey_again(&eyes, survey, Named::default(), Breadth::Everything, failed).await;
        read_sinks(&eyes, survey).await;

        let mut look = Look {
            unknown: prepared.unknown.clone(),
            asks_for_tiers: true,
            ..Look::default()
        };
        let forecast = look.at_snapshots(&eyes, survey, &prepared.versioning).await;
        look.at_ha_stores(&eyes).await;
        let about_settings = roots::findings(&eyes, &mut look.unread, &mut look.unknown).await;

        let notices: Vec<Notice> = look.notices.into_values().collect();
        let mut bench = Bench::new(eyes, survey, hand, &prepared).after_a_look(look.mendable, look.inspected);
        let mut judged = bench.judge_all(&notices).await;
        judged.extend(bench.judge_archived(look.archived).await);
        judged.extend(look.reports.into_values());
        let mut unread = std::mem::take(&mut look.unread);
        unread.extend(bench.survey.failed.iter().cloned());
        unread.sort();
        unread.dedup();
        let mut report = BatchReport::default();
        bench.close(&notices, judged, &[], &mut report).await;
        report.ended(self.clock.now());
        let (eyes, _, hand) = self.at_work(&prepared, now);
        unread.extend(abandon_unneeded(&eyes, hand).await);
        for finding in forecast.findings().into_iter().chain(about_settings) {
            if self.memory.is_news(&finding, now).await.unwrap_or(true) {
                report.findings.push(finding);
            }
        }
        look.summary.told_before = drop_what_was_told(&mut report);
        let dormant_after = self.mandate.policy.dormant_after;
        SweepReport {
            judged: report,
            progress: progress::of_jobs(&self.survey.catalogue, dormant_after, now),
            forecast,
            seen: look.summary,
            unread,
            unknown: look.unknown,
        }
    }
}

/// Takes out verdicts that only say what people were told before. Returns how many.
fn drop_what_was_told(report: &mut BatchReport) -> u64 {
    let news: BTreeSet<(FindingCode, String)> = report
        .findings
        .iter()
        .map(|f| (f.code, f.about.clone()))
        .collect();
    let before = report.verdicts.len();
    report.verdicts.retain(|acted| match &acted.verdict.outcome {
        Outcome::Report(code) | Outcome::Lost(code) => {
            let about = acted
                .verdict
                .decided_by
                .as_ref()
                .unwrap_or(&acted.verdict.location);
            news.contains(&(*code, about.to_string()))
        }
        Outcome::Leave(_) | Outcome::Restore(_) | Outcome::Later { .. } => true,
    });
    (before - report.verdicts.len()) as u64
}

/// What a sweep has seen so far.
#[derive(Default)]
struct Look {
    /// What is to be judged, by object.
    notices: BTreeMap<ObjectLocation, Notice>,
    /// What is told without any deletion.
    reports: BTreeMap<ObjectLocation, Judged>,
    /// What lies in an archive or may, and who needs it most.
    archived: BTreeMap<ObjectLocation, NeededBy>,
    /// Whether what Intelligent-Tiering may have archived counts, which costs a request an object.
    asks_for_tiers: bool,
    mendable: BTreeSet<ObjectLocation>,
    /// What was seen of those that aren't whole and that somebody needs, so that nobody looks at them twice.
    inspected: BTreeMap<ObjectLocation, Inspected>,
    /// What was hidden within the settle delay, and when that ends.
    young: BTreeMap<ObjectLocation, Timestamp>,
    summary: SweepSummary,
    unread: Vec<String>,
    unknown: Vec<String>,
}

/// Whether a sweep acts on a marker.
enum Marker {
    Acts,
    Young,
    BeforeProtection,
}

fn marker_of<R, J>(eyes: &Eyes<'_, R, J>, history: &KeyHistory) -> Marker {
    let Some(hidden) = history.hidden() else {
        // Never there, or purged with its marker: that has no time.
        return Marker::Acts;
    };
    at_time(eyes, hidden.above_data.last_modified)
}

fn at_time<R, J>(eyes: &Eyes<'_, R, J>, marker: Timestamp) -> Marker {
    if !eyes.mandate.counts(marker) {
        Marker::BeforeProtection
    } else if eyes.now.since(marker) < eyes.mandate.policy.settle {
        Marker::Young
    } else {
        Marker::Acts
    }
}

impl Look {
    /// Every snapshot, job directory by job directory, so that no more than a few jobs' objects are held at a time; and what the
    /// buckets' rules will do to what was seen.
    async fn at_snapshots<R: Reading + Sync, J: Journal + Sync>(
        &mut self,
        eyes: &Eyes<'_, R, J>,
        survey: &mut Survey,
        versioning: &BTreeMap<String, Versioning>,
    ) -> Forecast {
        let mut jobs: BTreeMap<JobDirectory, Vec<ObjectLocation>> = BTreeMap::new();
        for (id, s) in survey.catalogue.iter() {
            if s.facts().is_none() {
                self.summary.unreadable += 1;
                // What it names nobody knows; that it was hidden everybody sees.
                if let Some(hidden) = &s.hidden {
                    self.notice_metadata(eyes, &s.metadata, hidden);
                }
                self.at_unreadable(eyes, &survey.catalogue, id, s);
                continue;
            }
            jobs.entry(s.job.clone()).or_default().push(s.metadata.clone());
        }
        // First whether what was read is still what is there, which can change the catalogue; then everything is held against it.
        let all: Vec<ObjectLocation> = jobs.values().flatten().cloned().collect();
        let histories: BTreeMap<ObjectLocation, Result<KeyHistory, PortError>> = stream::iter(all)
            .map(|metadata| async move {
                let history = eyes.history(&metadata).await;
                (metadata, history)
            })
            .buffer_unordered(CONCURRENT)
            .collect()
            .await;
        let mut looked_at: BTreeMap<JobDirectory, Vec<LookedAt>> = BTreeMap::new();
        for (job, snapshots) in jobs {
            let of_job = looked_at.entry(job).or_default();
            for metadata in snapshots {
                let seen = match histories.get(&metadata) {
                    Some(Ok(history)) => held_against(eyes, survey, &metadata, history).await,
                    Some(Err(e)) => Err(e.clone()),
                    None => Ok(None),
                };
                match seen {
                    Ok(seen) => of_job.extend(seen),
                    Err(e) => self.unread.push(e.to_string()),
                }
            }
        }
        let survey = &*survey;
        let catalogue = &survey.catalogue;
        let needed = catalogue.iter().filter(|(id, s)| {
            let class = catalogue.class(*id, Moment::Of(eyes.now), eyes.mandate.policy.dormant_after);
            s.hidden.is_none() && class >= Class::Resting
        });
        let mut forecaster = Forecaster::new(catalogue, needed.map(|(id, _)| id), eyes.now);
        for (bucket, rules) in eyes.rules {
            let versioning = versioning.get(bucket).copied().unwrap_or(Versioning::Suspended);
            forecaster.bucket(bucket, rules, versioning);
        }
        let mut jobs = stream::iter(looked_at)
            .map(|(job, snapshots)| async move {
                let objects = snapshots.iter().flat_map(|s| {
                    references_of(catalogue, s.id)
                        .into_iter()
                        .chain(catalogue.tails_of(s.id))
                });
                let seen = see_objects(eyes, catalogue, &objects.collect()).await;
                (job, snapshots, seen)
            })
            .buffered(JOBS_AT_ONCE);
        while let Some((job, snapshots, seen)) = jobs.next().await {
            let taken = match seen {
                Ok(seen) => self.at_job(eyes, survey, snapshots, &seen, &mut forecaster).await,
                Err(e) => Err(e),
            };
            if let Err(e) = taken {
                self.unread.push(format!("{job}: {e}"));
            }
        }
        forecaster.finish()
    }

    async fn at_job<R: Reading + Sync, J: Journal + Sync>(
        &mut self,
        eyes: &Eyes<'_, R, J>,
        survey: &Survey,
        snapshots: Vec<LookedAt>,
        seen: &SeenObjects,
        forecaster: &mut Forecaster<'_>,
    ) -> Result<(), PortError> {
        let catalogue = &survey.catalogue;
        for (location, seen) in seen.iter() {
            self.summary.objects += 1;
            match seen {
                Seen::Visible(visible) => forecaster.listed(location, &listed(visible)),
                Seen::Missing(_) => forecaster.hidden(location),
            }
        }
        for LookedAt {
            id,
            state,
            visible,
            spoilt,
        } in snapshots
        {
            if let (Some(visible), Some(snapshot)) = (visible, survey.catalogue.get(id)) {
                forecaster.listed(&snapshot.metadata, &listed(&visible));
                for (object, upload) in survey.sinks.uploads(&snapshot.metadata) {
                    forecaster.upload(&snapshot.metadata, &object, upload, None);
                }
                if visible.may_be_archived(eyes.now) {
                    self.may_be_archived(
                        snapshot.metadata.clone(),
                        archived::needed_by(eyes, catalogue, id, snapshot),
                    );
                }
            }
            // Of a hidden one too: what comes back with it would be no use without them.
            self.at_tails(eyes, catalogue, id, seen).await?;
            let mut inspected = put_together(eyes, survey, id, state, seen, &BTreeSet::new()).await?;
            if let (true, Some(snapshot)) = (spoilt, survey.catalogue.get(id)) {
                inspected.overwritten.insert(snapshot.metadata.clone());
            }
            if self.take(eyes, survey, id, &inspected, seen)
                && let Some(snapshot) = survey.catalogue.get(id)
            {
                self.inspected.insert(snapshot.metadata.clone(), inspected);
            }
        }
        Ok(())
    }

    /// Tails of sinks count where neither Flink nor nobody known deleted them.
    async fn at_tails<R: Reading + Sync, J: Journal + Sync>(
        &mut self,
        eyes: &Eyes<'_, R, J>,
        catalogue: &Catalogue,
        id: SnapshotId,
        seen: &SeenObjects,
    ) -> Result<(), PortError> {
        for tail in catalogue.tails_of(id) {
            let Some((location, Seen::Missing(history))) = seen.get(tail) else {
                continue;
            };
            let Some(hidden) = history
                .hidden()
                .filter(|_| matches!(marker_of(eyes, history), Marker::Acts))
            else {
                continue;
            };
            let cause = eyes.cause_of(location, history, true).await?;
            if !cause.is_flink_or_unknown() {
                self.notice(location, &cause, Some(hidden.above_data.last_modified));
            }
        }
        Ok(())
    }

    /// Notes what is to be judged and told of a snapshot. Whether it lacks something that is to be judged.
    fn take<R, J>(
        &mut self,
        eyes: &Eyes<'_, R, J>,
        survey: &Survey,
        id: SnapshotId,
        inspected: &Inspected,
        seen: &SeenObjects,
    ) -> bool {
        let catalogue = &survey.catalogue;
        let Some(snapshot) = catalogue.get(id) else {
            return false;
        };
        let (loss, metadata) = (&inspected.loss, &snapshot.metadata);
        let moment = loss.moment(eyes.now, snapshot.written, eyes.now);
        let class = catalogue.class(id, moment, eyes.mandate.policy.dormant_after);
        let stands = loss.metadata == MetadataState::Stands;
        let healthy = stands && loss.missing.is_empty() && inspected.overwritten.is_empty();
        let count = if healthy {
            &mut self.summary.whole
        } else {
            &mut self.summary.incomplete
        };
        *count.entry(class.word()).or_default() += 1;
        if class == Class::Spare {
            let acts = |m: &MissingObject| matches!(marker_of(eyes, &m.history), Marker::Acts);
            if loss.is_mendable(catalogue) && loss.missing.iter().all(acts) {
                self.mendable.insert(metadata.clone());
            } else {
                for m in &loss.missing {
                    *(self.summary.missed_by_spares.entry(m.cause.word())).or_default() += 1;
                }
                return false;
            }
        }
        if let Some(hidden) = &snapshot.hidden {
            self.notice_metadata(eyes, metadata, hidden);
        }
        for m in &loss.missing {
            let hidden_at = m.history.hidden().map(|h| h.above_data.last_modified);
            match marker_of(eyes, &m.history) {
                Marker::Acts => self.notice(&m.location, &m.cause, hidden_at),
                Marker::Young => {
                    self.summary.young += 1;
                    let settled = hidden_at.map(|at| at.plus(eyes.mandate.policy.settle));
                    self.young.extend(settled.map(|at| (m.location.clone(), at)));
                }
                Marker::BeforeProtection => {
                    *(self.summary.before_protection.entry(m.cause.word())).or_default() += 1;
                }
            }
        }
        let lacks = !stands || !loss.missing.is_empty();
        if class == Class::Spare || !stands {
            return lacks;
        }
        for object in &inspected.overwritten {
            self.report(FindingCode::Overwritten, object, metadata, class);
        }
        self.at_archived(eyes, catalogue, (id, metadata, class), inspected, seen);
        lacks
    }

    fn notice_metadata<R, J>(&mut self, eyes: &Eyes<'_, R, J>, metadata: &ObjectLocation, hidden: &HiddenBy) {
        match at_time(eyes, hidden.at) {
            Marker::Acts => self.notice(metadata, &hidden.cause, Some(hidden.at)),
            Marker::Young => self.summary.young += 1,
            Marker::BeforeProtection => {
                *(self.summary.before_protection.entry(hidden.cause.word())).or_default() += 1;
            }
        }
    }

    /// As if a message had told of it: who did it is known from the rules, and at the verdict from the journal.
    fn notice(&mut self, location: &ObjectLocation, cause: &Cause, at: Option<Timestamp>) {
        self.notices.entry(location.clone()).or_insert_with(|| Notice {
            location: location.clone(),
            told: Told {
                deleted: true,
                purged: false,
            },
            cause: cause.clone(),
            cause_without_marker: Cause::Unknown,
            why_unknown: None,
            at,
            messages: BTreeSet::new(),
            thawed: false,
        });
    }

    /// A finding about an object that nobody deleted; the strongest snapshot that names it is told.
    fn report(
        &mut self,
        code: FindingCode,
        location: &ObjectLocation,
        metadata: &ObjectLocation,
        class: Class,
    ) {
        let known = self.reports.get(location).and_then(|j| j.verdict.class);
        if known >= Some(class) {
            return;
        }
        let judged = Judged::told_without_deletion(code, location.clone(), metadata.clone(), Some(class));
        self.reports.insert(location.clone(), judged);
    }

    /// Objects of HA stores that a rule hid, or somebody of whom the journal knows; Flink deletes one at every checkpoint.
    async fn at_ha_stores<R: Reading + Sync, J: Journal + Sync>(&mut self, eyes: &Eyes<'_, R, J>) {
        let remembered = match eyes.memory.causes().await {
            Ok(remembered) => remembered,
            Err(e) => return self.unread.push(e.to_string()),
        };
        for root in eyes.mandate.roots.iter().filter(|r| r.kind == RootKind::Ha) {
            let prefix = root.metadata_prefix();
            let of = VersionsOf {
                bucket: root.bucket(),
                prefix: &prefix,
                by_directory: false,
                after_key: None,
                pages: None,
            };
            let rows = match eyes.reading.versions(of).await {
                Ok(listing) => listing.entries,
                Err(e) => {
                    self.unread.push(e.to_string());
                    continue;
                }
            };
            for of_key in rows.chunk_by(|a, b| a.key == b.key) {
                let history = KeyHistory::new(of_key.to_vec());
                let location = ObjectLocation::new(root.bucket(), &*of_key[0].key);
                if history
                    .current()
                    .and_then(VisibleObject::of)
                    .is_some_and(|v| v.may_be_archived(eyes.now))
                    && !location.is_directory_marker()
                    && !is_in_result_store(location.key())
                {
                    self.may_be_archived(location.clone(), NeededBy::HaStore);
                }
                let Some(hidden) = history.hidden().filter(|_| !location.is_directory_marker()) else {
                    continue;
                };
                if !matches!(marker_of(eyes, &history), Marker::Acts) {
                    continue;
                }
                let ask_journal = remembered.know(&location, &hidden.above_data.id);
                match eyes.cause_of(&location, &history, ask_journal).await {
                    Ok(cause) if cause.is_flink_or_unknown() => {}
                    Ok(cause) => self.notice(&location, &cause, Some(hidden.above_data.last_modified)),
                    Err(e) => self.unread.push(e.to_string()),
                }
            }
        }
    }
}

/// What the sinks of snapshots name that somebody needs: in events it is read only when a tail was deleted.
async fn read_sinks<R: Reading + Sync, J: Journal + Sync>(eyes: &Eyes<'_, R, J>, survey: &mut Survey) {
    for metadata in survey.with_unread_sinks() {
        let catalogue = &survey.catalogue;
        let needed = catalogue.at(&metadata).is_some_and(|id| {
            catalogue.class(id, Moment::Of(eyes.now), eyes.mandate.policy.dormant_after) > Class::Spare
        });
        if needed {
            survey.read_sinks(eyes, &metadata).await;
        }
    }
}

fn listed(visible: &VisibleObject) -> Listed<'_> {
    Listed {
        size: visible.size,
        written: visible.written,
        storage_class: visible.storage_class.as_deref(),
        tags: None,
        null_version: None,
    }
}
