//! The guard: deletions in, verdicts out, and the copies that they ask for.

use std::collections::{BTreeMap, BTreeSet};

use s3_documents::bucket::Versioning;
use s3_documents::lifecycle::LifecycleConfiguration;
use s3_documents::notification::{Deletion as DeletionKind, Record};
use stayput_core::catalogue::Naming;
use stayput_core::cause::{Cause, WhyUnknown};
use stayput_core::class::{Class, Moment};
use stayput_core::ha::is_completed_checkpoint;
use stayput_core::layout::{METADATA_FILE, Place, job_ids};
use stayput_core::location::ObjectLocation;
use stayput_core::report::finding::Finding;
use stayput_core::root::{Protect, RootKind};
use stayput_core::snapshot::{JobDirectory, identity_of};
use stayput_core::timestamp::Timestamp;
use stayput_core::verdict::{LeaveReason, Outcome, Told, Verdict, leave_without_a_look};
use stayput_core::version::VersionId;

use crate::batch::{Acted, BatchReport, Done, Message};
use crate::causes::{self, ToldCauses, outranks};
use crate::mandate::Mandate;
use crate::memory::{Memory, Switches};
use crate::port::{Clock, Journal, PortError, PortErrorKind, Reading, Restoring};
pub use crate::restore::{Acting, Hand, Made, Observing};
use crate::survey::{Breadth, Eyes, Named, Survey};
use sweeping::new_checkpoints::{Completed, NewCheckpoints};

mod answer;
mod evidence;
mod judging;
mod restraint;
mod sweeping;
mod telling;
mod undo;

/// Watches deletions. Keep one for as long as the process lives: its catalogue makes the next call cheap.
pub struct Guard<R, J, C, H = Observing> {
    reading: R,
    memory: Memory<J>,
    clock: C,
    hand: H,
    mandate: Mandate,
    survey: Survey,
    told: ToldCauses,
    buckets: BTreeMap<String, Bucket>,
}

/// What is known of a bucket, for as long as a listing is used.
#[derive(Clone, Debug)]
struct Bucket {
    versioning: Versioning,
    rules: LifecycleConfiguration,
    /// Why nobody can know the rules.
    rules_unknown: Option<String>,
    seen_at: Timestamp,
}

/// What every call reads before it looks.
struct Prepared {
    switches: Switches,
    /// Why nobody knows what persons switched.
    switches_unread: Option<String>,
    /// What couldn't be read just now.
    failed: Vec<String>,
    /// What nobody can read: rules, which then explain no deletion and forecast nothing.
    unknown: Vec<String>,
    rules: BTreeMap<String, LifecycleConfiguration>,
    /// Buckets whose rules nobody may read.
    rules_unknown: BTreeSet<String>,
    versioning: BTreeMap<String, Versioning>,
}

/// `_metadata` that were written, and the messages that tell of it, by their place in the call.
type Written = BTreeMap<ObjectLocation, BTreeSet<usize>>;

/// One deleted object and everything that the messages of a call say of it.
#[derive(Clone, Debug)]
struct Notice {
    location: ObjectLocation,
    told: Told,
    /// Who the messages say deleted it; of several the one that asks most for a look.
    cause: Cause,
    /// Likewise, of the messages that name no marker: all that is known of a marker which no message names.
    cause_without_marker: Cause,
    /// Why the messages leave it open who did it, where one does; `None`: no message tells of this deletion.
    why_unknown: Option<WhyUnknown>,
    /// When the messages say it was deleted, if they do.
    at: Option<Timestamp>,
    /// The messages, by their place in the call.
    messages: BTreeSet<usize>,
    /// S3 says that a version of it was thawed.
    thawed: bool,
}

impl Notice {
    /// Nothing is told yet.
    fn about(location: ObjectLocation) -> Self {
        Self {
            location,
            told: Told::default(),
            cause: Cause::Unknown,
            cause_without_marker: Cause::Unknown,
            why_unknown: None,
            at: None,
            messages: BTreeSet::new(),
            thawed: false,
        }
    }

    /// No message of this call tells of this deletion.
    fn without_a_message(location: ObjectLocation, cause: Cause, at: Timestamp) -> Self {
        Self {
            told: Told {
                deleted: true,
                purged: false,
            },
            cause: cause.clone(),
            cause_without_marker: cause,
            at: Some(at),
            ..Self::about(location)
        }
    }
}

impl<R, J, C> Guard<R, J, C, Observing>
where
    R: Reading + Sync,
    J: Journal + Sync,
    C: Clock,
{
    /// A guard that says what it would do and changes nothing outside the control prefix.
    pub fn observing(reading: R, journal: Option<J>, clock: C, mandate: Mandate) -> Self {
        Self::with_hand(reading, journal, clock, Observing, mandate)
    }
}

impl<R, J, C, M> Guard<R, J, C, Acting<M>>
where
    R: Reading + Sync,
    J: Journal + Sync,
    C: Clock,
    M: Restoring + Sync,
{
    /// A guard that restores.
    pub fn acting(reading: R, journal: Option<J>, clock: C, port: M, mandate: Mandate) -> Self {
        Self::with_hand(reading, journal, clock, Acting::with(port), mandate)
    }
}

impl<R, J, C, H> Guard<R, J, C, H>
where
    R: Reading + Sync,
    J: Journal + Sync,
    C: Clock,
    H: Hand + Sync,
{
    fn with_hand(reading: R, journal: Option<J>, clock: C, hand: H, mandate: Mandate) -> Self {
        Self {
            reading,
            memory: Memory::new(journal),
            clock,
            hand,
            mandate,
            survey: Survey::default(),
            told: ToldCauses::default(),
            buckets: BTreeMap::new(),
        }
    }

    /// Names this process among others under the same control prefix, so that their budgets add up.
    #[must_use]
    pub fn of_instance(mut self, name: &str) -> Self {
        self.memory = self.memory.of_instance(name);
        self
    }

    /// What this guard remembers between calls.
    pub fn memory(&self) -> &Memory<J> {
        &self.memory
    }

    /// Judges every deletion that the messages tell of, and what new checkpoints name and isn't there, and restores what is needed.
    ///
    /// Acting twice on the same messages is the same as acting once, in whatever order they come. Nothing here fails as a
    /// whole: what couldn't be read makes the verdicts that need it wait.
    pub async fn handle(&mut self, messages: &[Message]) -> BatchReport {
        let now = self.clock.now();
        let mut report = BatchReport::default();
        report.summary.messages = messages.len() as u64;
        let (mut notices, written) = self.take_in(messages, now);
        let completed = self.completed_in(&written);
        if notices.is_empty() && completed.is_empty() {
            report.answers = messages
                .iter()
                .map(|m| (m.id.clone(), crate::batch::Answer::Done))
                .collect();
            return report;
        }
        let of_notices = notices.iter().map(|n| n.location.bucket());
        let buckets = of_notices
            .chain(completed.keys().map(|job| job.bucket.as_str()))
            .map(str::to_owned)
            .collect();
        let prepared = self.prepare(&buckets, now).await;
        let mut failed = prepared.failed.clone();
        let (eyes, survey, hand) = self.at_work(&prepared, now);
        let written = written.into_keys().collect();
        let named = name_what_is_told(&eyes, &notices, written, &mut failed).await;
        survey_again(&eyes, survey, named, Breadth::Named, failed).await;
        let mut new_checkpoints = NewCheckpoints::look(&eyes, survey, completed).await;
        new_checkpoints.join(&mut notices);

        let mut bench = judging::Bench::new(eyes, survey, hand, &prepared);
        let mut judged = bench.judge_all(&notices).await;
        bench.judge_thawed(&notices, &mut judged).await;
        let archived = new_checkpoints.archived(&judged);
        judged.extend(bench.judge_archived(archived).await);
        let reports = new_checkpoints.reports(&judged);
        judged.extend(reports);
        bench.close(&notices, judged, messages, &mut report).await;
        new_checkpoints.close(&mut self.survey, now, &mut report);
        report.ended(self.clock.now());
        report
    }

    /// Remembers that these findings reached people. Call it once they did: what was never told is told again.
    ///
    /// # Errors
    /// The journal can't be written; the findings will come again.
    pub async fn findings_sent(&self, findings: &[Finding]) -> Result<(), PortError> {
        for finding in findings {
            self.memory.remember_sent(finding, self.clock.now()).await?;
        }
        Ok(())
    }

    /// Sorts the records by object. Keys that end in `/` mean nothing and are dropped before anything else.
    fn take_in(&mut self, messages: &[Message], now: Timestamp) -> (Vec<Notice>, Written) {
        let mut notices: BTreeMap<ObjectLocation, Notice> = BTreeMap::new();
        let mut written = Written::new();
        for (number, message) in messages.iter().enumerate() {
            for record in &message.records {
                match record {
                    Record::Deleted(deleted) => {
                        let location = ObjectLocation::new(&*deleted.bucket, &*deleted.key);
                        if location.is_directory_marker() {
                            continue;
                        }
                        let cause = ToldCauses::cause_in(deleted, &self.mandate.principals);
                        let purge = deleted.is_purge();
                        // No Stayput removes versions: that was a marker.
                        if purge && cause == Cause::Ours {
                            continue;
                        }
                        if let (false, Some(marker)) = (purge, &deleted.version_id) {
                            self.told
                                .tell(&location, &VersionId::new(&**marker), cause.clone());
                        }
                        let notice =
                            (notices.entry(location.clone())).or_insert_with(|| Notice::about(location));
                        notice.messages.insert(number);
                        notice.told.purged |= purge;
                        notice.told.deleted |= !purge || deleted.what == DeletionKind::Unspecified;
                        if !purge {
                            if let Some(why) = causes::why_unknown(deleted, &cause) {
                                let known = notice.why_unknown.take();
                                notice.why_unknown = Some(known.map_or(why.clone(), |known| known.min(why)));
                            }
                            // Not the latest message: they come in any order. Which marker counts is seen at the look.
                            if deleted.version_id.is_none() && outranks(&cause, &notice.cause_without_marker)
                            {
                                notice.cause_without_marker = cause.clone();
                            }
                            if outranks(&cause, &notice.cause) {
                                notice.cause = cause;
                            }
                            let at = deleted
                                .event_time
                                .map(Timestamp::from_millis)
                                .filter(|t| *t <= now);
                            notice.at = notice.at.max(at);
                        }
                    }
                    Record::Created(created) => {
                        let location = ObjectLocation::new(&*created.bucket, &*created.key);
                        if location.file_name() == METADATA_FILE {
                            written.entry(location).or_default().insert(number);
                        }
                    }
                    Record::Other(event) if event.is_thaw_completed() => {
                        if let (Some(bucket), Some(key)) = (&event.bucket, &event.key) {
                            let location = ObjectLocation::new(&**bucket, &**key);
                            // As a sweep would look at it: who hid it is known from the rules and the journal.
                            let notice =
                                (notices.entry(location.clone())).or_insert_with(|| Notice::about(location));
                            notice.messages.insert(number);
                            notice.told.deleted = true;
                            notice.thawed = true;
                        }
                    }
                    Record::Other(_) | Record::TestEvent => {}
                }
            }
        }
        (notices.into_values().collect(), written)
    }

    /// The jobs whose checkpoints were completed.
    fn completed_in(&self, written: &Written) -> Completed {
        let mut completed = Completed::new();
        for (location, messages) in written {
            let Some((root, plain)) = self.mandate.roots.find(location) else {
                continue;
            };
            if let (RootKind::Checkpoints, Place::Checkpoint { job, .. }) = (root.kind, Place::of(&plain)) {
                let job = JobDirectory {
                    bucket: location.bucket().to_owned(),
                    prefix: job.to_owned(),
                };
                completed.entry(job).or_default().extend(messages);
            }
        }
        completed
    }

    /// The buckets that hold roots.
    fn watched(&self) -> BTreeSet<String> {
        self.mandate.roots.iter().map(|r| r.bucket().to_owned()).collect()
    }

    /// What every call reads before it looks: what persons switched, and versioning and rules of the buckets at hand.
    async fn prepare(&mut self, buckets: &BTreeSet<String>, now: Timestamp) -> Prepared {
        let switches = self.memory.switches().await;
        let mut failed: Vec<String> = switches
            .as_ref()
            .err()
            .map(PortError::to_string)
            .into_iter()
            .collect();
        // Not knowing whether somebody paused or released is no leave to restore.
        let switches_unread = switches.as_ref().err().map(PortError::to_string);
        self.know_buckets(buckets, now, &mut failed).await;
        Prepared {
            switches: switches.unwrap_or_default(),
            switches_unread,
            failed,
            unknown: (self.buckets.values())
                .filter_map(|b| b.rules_unknown.clone())
                .collect(),
            rules_unknown: (self.buckets.iter())
                .filter(|(_, b)| b.rules_unknown.is_some())
                .map(|(name, _)| name.clone())
                .collect(),
            rules: (self.buckets.iter())
                .map(|(name, b)| (name.clone(), b.rules.clone()))
                .collect(),
            versioning: (self.buckets.iter())
                .map(|(name, b)| (name.clone(), b.versioning))
                .collect(),
        }
    }

    /// What a call looks with, what it learns into, and what it acts with.
    fn at_work<'g>(
        &'g mut self,
        prepared: &'g Prepared,
        now: Timestamp,
    ) -> (Eyes<'g, R, J>, &'g mut Survey, &'g H) {
        let eyes = Eyes {
            reading: &self.reading,
            memory: &self.memory,
            mandate: &self.mandate,
            told: &self.told,
            switches: &prepared.switches,
            rules: &prepared.rules,
            rules_unknown: &prepared.rules_unknown,
            now,
        };
        (eyes, &mut self.survey, &self.hand)
    }

    /// Versioning and rules of those of the buckets that hold roots.
    async fn know_buckets(&mut self, buckets: &BTreeSet<String>, now: Timestamp, failed: &mut Vec<String>) {
        let watched = self.watched();
        for name in buckets.intersection(&watched) {
            let fresh = self
                .buckets
                .get(name)
                .is_some_and(|b| now.since(b.seen_at) < self.mandate.catalogue_max_age);
            if fresh {
                continue;
            }
            let versioning = match self.reading.versioning(name).await {
                Ok(versioning) => versioning,
                Err(e) => {
                    // What was so before says nothing: somebody may have suspended it since.
                    self.buckets.remove(name);
                    // A bucket that doesn't exist holds nothing; the sweep says so.
                    if e.kind != PortErrorKind::NotFound {
                        failed.push(e.to_string());
                    }
                    continue;
                }
            };
            // A bucket whose rules may not be read is as one without: causes are then known from messages alone.
            let (rules, rules_unknown) = match self.reading.lifecycle(name).await {
                Ok(rules) => (rules, None),
                Err(e) if e.is_transient() => {
                    failed.push(e.to_string());
                    if let Some(known) = self.buckets.get_mut(name) {
                        known.versioning = versioning;
                    }
                    continue;
                }
                Err(e) => (LifecycleConfiguration::default(), Some(e.to_string())),
            };
            self.buckets.insert(
                name.to_owned(),
                Bucket {
                    versioning,
                    rules,
                    rules_unknown,
                    seen_at: now,
                },
            );
        }
    }
}

/// Brings the survey up to date: with what is named, and what the journal says is hidden. `failed`: what couldn't be read before.
async fn survey_again<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    survey: &mut Survey,
    mut named: Named,
    breadth: Breadth,
    mut failed: Vec<String>,
) {
    match eyes.memory.hidden().await {
        Ok(hidden) => named.hidden = hidden,
        Err(e) => failed.push(e.to_string()),
    }
    survey.refresh(eyes, &named, breadth).await;
    survey.failed.extend(failed);
}

/// The time of an event and that of its marker differ by less than this.
const AROUND_MIDNIGHT: std::time::Duration = std::time::Duration::from_secs(60);

/// What the deletions name, for the survey; whoever hid a `_metadata` is remembered first.
async fn name_what_is_told<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    notices: &[Notice],
    written: BTreeSet<ObjectLocation>,
    failed: &mut Vec<String>,
) -> Named {
    let mut named = Named::default();
    let mut name = |location: &ObjectLocation, by_others: bool| {
        let Some((root, plain)) = eyes.mandate.roots.find(location) else {
            return;
        };
        if root.kind == RootKind::Dstl {
            // `<root>/<job id>/dstl/<file>`: which job's checkpoints may name it its path alone says.
            for id in job_ids(&plain) {
                *named.logs_of.entry(id.to_owned()).or_default() |= by_others;
            }
        }
        if !matches!(root.kind, RootKind::Checkpoints | RootKind::Savepoints) {
            return;
        }
        let job = |prefix: &str| JobDirectory {
            bucket: location.bucket().to_owned(),
            prefix: prefix.to_owned(),
        };
        let place = Place::of(&plain);
        if let (
            Place::Checkpoint { job: prefix, .. }
            | Place::Shared { job: prefix }
            | Place::TaskOwned { job: prefix },
            true,
        ) = (&place, by_others)
        {
            named.taken_by_others.insert(job(prefix));
        }
        match place {
            Place::Checkpoint { job: prefix, id, .. } => {
                named.jobs.entry(job(prefix)).or_default().insert(id);
            }
            Place::Shared { job: prefix } | Place::TaskOwned { job: prefix } => {
                named.jobs.entry(job(prefix)).or_default();
            }
            Place::Savepoint { directory } => {
                named
                    .savepoints
                    .insert(ObjectLocation::new(location.bucket(), directory));
            }
            Place::Elsewhere => {}
        }
    };
    for notice in notices {
        name(
            &notice.location,
            notice.told.deleted && !notice.cause.is_flink_or_unknown(),
        );
    }
    let of_ha = |n: &&Notice| {
        let root = eyes.mandate.roots.find(&n.location);
        root.is_some_and(|(r, _)| r.kind == RootKind::Ha) && is_completed_checkpoint(n.location.key())
    };
    named.ha_deleted = notices
        .iter()
        .filter(|n| n.told.deleted)
        .filter(of_ha)
        .map(|n| (n.location.clone(), n.cause.clone()))
        .collect();
    for metadata in &written {
        name(metadata, false);
    }
    for notice in notices
        .iter()
        .filter(|n| n.told.deleted && n.location.file_name() == METADATA_FILE)
    {
        named
            .deleted
            .insert(notice.location.clone(), notice.cause.clone());
        // A message comes some time after; only what was hidden at midnight can pass for a rule's.
        let by_flink_at_midnight = notice.cause == Cause::Flink
            && notice
                .at
                .is_some_and(|at| at.since(at.midnight()) <= AROUND_MIDNIGHT);
        if notice.cause.is_flink_or_unknown() && !by_flink_at_midnight {
            continue;
        }
        // Who hid it must be known to later calls, which see only the marker.
        let (kind, job) = identity_of(&notice.location);
        let remembered = async {
            let history = eyes.history(&notice.location).await?;
            if let Some(hidden) = history.hidden()
                && (!by_flink_at_midnight || eyes.passes_for_a_rules(&notice.location, &history))
            {
                let cause = eyes.cause_of(&notice.location, &history, false).await?;
                eyes.memory
                    .remember_hidden(&job, kind.id(), &notice.location, &hidden.above_data.id, &cause)
                    .await?;
            }
            Ok::<_, PortError>(())
        };
        if let Err(e) = remembered.await {
            failed.push(e.to_string());
        }
    }
    named.written = written;
    named
}
