//! Judging the objects of one call: first what needs no look, then the rest, each snapshot looked at once.

use std::collections::{BTreeMap, BTreeSet};

use s3_documents::bucket::Versioning;
use s3_documents::lifecycle::LifecycleConfiguration;
use stayput_core::catalogue::{Referral, SnapshotId};
use stayput_core::cause::WhyUnknown;
use stayput_core::ha::is_in_result_store;
use stayput_core::layout::{Place, job_ids};
use stayput_core::loss::Loss;
use stayput_core::report::finding::FindingCode;
use stayput_core::sinks::can_be_tail;
use stayput_core::snapshot::{Contents, JobDirectory, Kept};
use stayput_core::verdict::{Basis, Incident, Proof};
use stayput_core::version::KeyHistory;

use super::{
    Cause, Class, Eyes, Hand, Journal, LeaveReason, Moment, Naming, Notice, ObjectLocation, Outcome,
    PortError, Prepared, Reading, RootKind, Survey, Timestamp, Verdict, leave_without_a_look,
};
use crate::inspect::Inspected;
use replicated::Replicated;

mod archived;
mod looking;
mod replicated;
mod returning;

/// The cause of a key that `orphans` hid though a snapshot names it.
const BY_ORPHANS: &str = "stayput orphans";

/// One call's worth of judging.
pub(super) struct Bench<'g, R, J, H> {
    pub(super) eyes: Eyes<'g, R, J>,
    pub(super) survey: &'g mut Survey,
    pub(super) hand: &'g H,
    versioning: BTreeMap<String, Versioning>,
    pub(super) told: BTreeSet<ObjectLocation>,
    pub(super) inspected: BTreeMap<ObjectLocation, Inspected>,
    pub(super) claimed: BTreeMap<ObjectLocation, bool>,
    /// Directories that were listed to see whether the objects that relative handles mean are there: bucket and prefix, and the keys.
    pub(super) listed: BTreeMap<(String, String), BTreeSet<String>>,
    pub(super) outside: u64,
    /// Why nobody knows what persons switched; then nothing is restored.
    pub(super) switches_unread: Option<String>,
    pub(super) untouched: Loss,
    /// Spares that a sweep found broken by rules alone; none at events, which leave spares be.
    pub(super) mendable: BTreeSet<ObjectLocation>,
    replicated: Replicated,
}

/// A verdict with what carrying it out and telling people needs.
pub(super) struct Judged {
    pub(super) verdict: Verdict,
    /// Versions and markers, where they were looked at.
    pub(super) history: Option<KeyHistory>,
    /// When the rules purge the version that could come back.
    pub(super) deadline: Option<Timestamp>,
    /// What a server said that the finding should tell.
    pub(super) because: Option<String>,
    /// Who deleted the key itself, where its versions were looked at. The verdict's cause is that of the `_metadata` where it went with that.
    pub(super) key_cause: Cause,
    /// Whether it may be copied if its markers can't go after all, as far as the day's budget of bytes goes.
    pub(super) room_for_a_copy: bool,
    /// Why nobody is known, where nobody is.
    pub(super) why_unknown: WhyUnknown,
}

impl From<Verdict> for Judged {
    /// Without a look.
    fn from(verdict: Verdict) -> Self {
        Self {
            verdict,
            history: None,
            deadline: None,
            because: None,
            key_cause: Cause::Unknown,
            room_for_a_copy: true,
            why_unknown: WhyUnknown::NoMessage,
        }
    }
}

impl Judged {
    /// Whether anybody deleted it.
    pub(super) fn was_deleted(&self) -> bool {
        self.verdict.incident == Incident::Deletion
    }

    pub(super) fn is_by_a_stranger(&self) -> bool {
        matches!(self.key_cause, Cause::Foreign(_))
    }

    /// It can't be copied, since a key can't be used: nobody but a person can do anything about that.
    pub(super) fn tell_that_its_key_is_unusable(&mut self, error: &PortError) {
        let code = FindingCode::VersionKeyUnusable;
        let verdict = &mut self.verdict;
        let about = verdict.decided_by.as_ref().unwrap_or(&verdict.location);
        verdict.findings.push((code, about.clone()));
        verdict.outcome = Outcome::Report(code);
        self.because = Some(error.to_string());
    }

    /// A finding about an object that nobody deleted.
    pub(super) fn told_without_deletion(
        code: FindingCode,
        object: ObjectLocation,
        metadata: ObjectLocation,
        class: Option<Class>,
    ) -> Self {
        Self::from(Verdict {
            location: object,
            incident: Incident::Mismatch,
            outcome: Outcome::Report(code),
            findings: Vec::new(),
            basis: Basis::Referenced,
            class,
            cause: Cause::Unknown,
            decided_by: Some(metadata),
        })
    }
}

enum Triage {
    Outside,
    Left(Box<Verdict>),
    Look,
}

impl<'g, R, J, H> Bench<'g, R, J, H>
where
    R: Reading + Sync,
    J: Journal + Sync,
    H: Hand + Sync,
{
    pub(super) fn new(
        eyes: Eyes<'g, R, J>,
        survey: &'g mut Survey,
        hand: &'g H,
        prepared: &Prepared,
    ) -> Self {
        Self {
            eyes,
            survey,
            hand,
            versioning: prepared.versioning.clone(),
            told: BTreeSet::new(),
            inspected: BTreeMap::new(),
            claimed: BTreeMap::new(),
            listed: BTreeMap::new(),
            outside: 0,
            switches_unread: prepared.switches_unread.clone(),
            untouched: Loss::none(),
            mendable: BTreeSet::new(),
            replicated: Replicated::default(),
        }
    }

    /// For a sweep, which makes these spares whole and has seen what snapshots lack.
    pub(super) fn after_a_look(
        mut self,
        spares: BTreeSet<ObjectLocation>,
        inspected: BTreeMap<ObjectLocation, Inspected>,
    ) -> Self {
        self.mendable = spares;
        self.inspected = inspected;
        self
    }

    /// One verdict per object under a root, or that a snapshot names.
    pub(super) async fn judge_all(&mut self, notices: &[Notice]) -> Vec<Judged> {
        self.told = notices
            .iter()
            .filter(|n| n.told.deleted)
            .map(|n| n.location.clone())
            .collect();
        for inspected in self.inspected.values_mut() {
            inspected.loss.answers(&self.told);
        }
        self.read_what_was_written_again(notices).await;
        self.look_at_ha_if_it_matters(notices).await;
        self.read_sinks_if_it_matters(notices).await;
        let mut judged = Vec::with_capacity(notices.len());
        let mut to_look = Vec::new();
        let proof = self.proof();
        for notice in notices {
            match self.triage(notice, &proof).await {
                Triage::Outside => self.outside += 1,
                Triage::Left(verdict) => judged.push(Judged::from(*verdict)),
                Triage::Look => to_look.push(notice),
            }
        }
        self.look_for_hidden_heads(&to_look).await;
        for notice in to_look {
            judged.push(self.judge_one(notice).await);
        }
        for notice in self.metadata_of_returning_files(&judged) {
            judged.push(self.judge_one(&notice).await);
        }
        let lacking = self.what_returning_metadata_lack(&judged);
        let tails = self.tails_of_returning_metadata(&judged).await;
        for notice in lacking.into_iter().chain(tails) {
            judged.push(self.judge_one(&notice).await);
        }
        self.tell_what_is_gone_for_good(&mut judged);
        self.ask_new_directories(notices, &mut judged).await;
        judged
    }

    /// What a job that went on elsewhere still needs, its new directory alone may say, and that can be younger than the last look at the roots. Asked
    /// once a call, and only where somebody but Flink deleted what lies in no checkpoint's own directory, and the answer would be to leave it.
    async fn ask_new_directories(&mut self, notices: &[Notice], judged: &mut [Judged]) {
        let by_location: BTreeMap<&ObjectLocation, &Notice> =
            notices.iter().map(|n| (&n.location, n)).collect();
        let in_question: Vec<usize> = (0..judged.len())
            .filter(|n| self.may_be_needed_elsewhere(&judged[*n]))
            .collect();
        if in_question.is_empty() {
            return;
        }
        let found = self.survey.look_for_new_directories(&self.eyes).await;
        let of_tails = |n: &usize| can_be_tail(judged[*n].verdict.location.key());
        let any_tail = in_question.iter().any(of_tails);
        if any_tail {
            self.survey.look_everywhere_for_sinks(&self.eyes).await;
        }
        if !found && !any_tail {
            return;
        }
        self.read_sinks_if_it_matters(notices).await;
        for n in in_question {
            if let Some(notice) = by_location.get(&judged[n].verdict.location) {
                judged[n] = self.judge_one(notice).await;
            }
        }
    }

    fn may_be_needed_elsewhere(&self, judged: &Judged) -> bool {
        let verdict = &judged.verdict;
        let left = match (&verdict.outcome, &verdict.cause) {
            (Outcome::Leave(LeaveReason::NotReferenced(_)), Cause::Foreign(_)) => true,
            // A rule takes the checkpoint too, perhaps before: nobody knew of that one when the tail was asked about.
            (Outcome::Leave(LeaveReason::NotReferenced(_)), Cause::Lifecycle) => {
                return can_be_tail(verdict.location.key());
            }
            // It went with a `_metadata` of which nobody knows who hid it: the job ended or went on elsewhere.
            (Outcome::Leave(LeaveReason::DiscardedByFlink), Cause::Unknown) => true,
            (Outcome::Leave(LeaveReason::DiscardedByFlink), _) => judged.is_by_a_stranger(),
            _ => false,
        };
        left && (self.lies_in_no_checkpoint(&verdict.location) || can_be_tail(verdict.location.key()))
    }

    /// Whether checkpoints of several jobs may name it: it lies in a job's `shared/` or `taskowned/`, or is a log of a changelog.
    pub(super) fn lies_in_no_checkpoint(&self, location: &ObjectLocation) -> bool {
        let of_changelog = || {
            let root = self.eyes.mandate.roots.find(location);
            root.is_some_and(|(root, _)| root.kind == RootKind::Dstl)
        };
        let plain = self.plain_key(location);
        matches!(Place::of(&plain), Place::Shared { .. } | Place::TaskOwned { .. }) || of_changelog()
    }

    /// A directory that is used again has the same keys: what a warm instance read before may not be what stands there now. Asked where
    /// somebody but Flink deleted something, or Flink did where no checkpoint that this process knows was complete just before.
    async fn read_what_was_written_again(&mut self, notices: &[Notice]) {
        let mut deletions: BTreeMap<JobDirectory, Option<Timestamp>> = BTreeMap::new();
        for notice in notices {
            let at = match notice.cause {
                Cause::Ours => continue,
                Cause::Flink => notice.at,
                Cause::Lifecycle | Cause::Foreign(_) | Cause::Unknown => None,
            };
            if !notice.told.deleted {
                continue;
            }
            for job in self.jobs_of(&notice.location) {
                deletions
                    .entry(job)
                    .and_modify(|last| *last = last.zip(at).map(|(last, at)| last.max(at)))
                    .or_insert(at);
            }
        }
        for (job, by_flink_at) in deletions {
            match by_flink_at {
                None => self.survey.read_what_was_written_again(&self.eyes, &job).await,
                Some(at) if self.survey.knows_no_checkpoint_before(&job, at) => {
                    self.survey.read_what_was_written_long_ago(&self.eyes, &job).await;
                }
                Some(_) => {}
            }
        }
    }

    /// Whose object it is, by its path: of a log of a changelog the directories of the job that it names.
    fn jobs_of(&self, location: &ObjectLocation) -> Vec<JobDirectory> {
        let root = self.eyes.mandate.roots.find(location);
        if let Some((_, plain)) = root.filter(|(root, _)| root.kind == RootKind::Dstl) {
            return job_ids(&plain)
                .flat_map(|id| self.survey.known_directories_of_job(id))
                .collect();
        }
        let plain = self.plain_key(location);
        let job = |prefix: &str| JobDirectory {
            bucket: location.bucket().to_owned(),
            prefix: prefix.to_owned(),
        };
        Place::of(&plain).job().map(job).into_iter().collect()
    }

    /// What an HA store named at its last listing it may name no longer: Flink moves it on at every checkpoint. Asked once a call, and only
    /// where something was deleted that such a checkpoint names.
    async fn look_at_ha_if_it_matters(&mut self, notices: &[Notice]) {
        let named_by_ha = |notice: &Notice| {
            let plain = self.plain_key(&notice.location);
            let namings = self.survey.catalogue.namings(&notice.location, &plain);
            namings.iter().any(|r| {
                let snapshot = self.survey.catalogue.get(r.snapshot);
                snapshot.is_some_and(|s| s.kept == Some(Kept::NamedByHa))
            })
        };
        if !self.survey.ha.name_nothing() && notices.iter().any(named_by_ha) {
            self.survey.look_at_ha(&self.eyes).await;
        }
    }

    /// Somebody but Flink deleted what can be a tail of a sink: which snapshots that are no spare name it?
    async fn read_sinks_if_it_matters(&mut self, notices: &[Notice]) {
        // Against Flink and nobody known tails don't count; but nobody known can turn out to be a rule.
        let can_count = |n: &Notice| match n.cause {
            Cause::Flink => false,
            Cause::Unknown => self
                .rules(&n.location)
                .is_some_and(|rules| !rules.rules.is_empty()),
            Cause::Lifecycle | Cause::Foreign(_) | Cause::Ours => true,
        };
        let asked: Vec<&Notice> = notices
            .iter()
            .filter(|n| n.told.deleted && can_be_tail(n.location.key()) && can_count(n))
            .collect();
        if asked.is_empty() {
            return;
        }
        // The key of a tail tells no directory: what a run whose ids began again wrote at the key of an older checkpoint has another sink.
        for job in self.survey.directories_with_sinks() {
            self.survey.read_what_was_written_long_ago(&self.eyes, &job).await;
        }
        for metadata in self.survey.with_unread_sinks() {
            let Some(snapshot) = self.survey.catalogue.at(&metadata) else {
                continue;
            };
            let naming = Naming::Tail;
            let referral = Referral { snapshot, naming };
            if asked
                .iter()
                .any(|n| self.strongest_class(&referral, n) != Class::Spare)
            {
                self.survey.read_sinks(&self.eyes, &metadata).await;
            }
        }
    }

    pub(super) fn proof(&self) -> Proof {
        let except = self
            .survey
            .catalogue
            .iter()
            .filter(|(_, s)| matches!(s.contents, Contents::Unreadable { .. }))
            .map(|(_, s)| s.metadata.clone())
            .chain(self.survey.ha.unreadable().cloned())
            .collect();
        Proof {
            oldest_listing: self.survey.catalogue.oldest_listing(),
            snapshots: self.survey.catalogue.iter().count(),
            except,
        }
    }

    pub(super) fn plain_key(&self, location: &ObjectLocation) -> String {
        let root = self.eyes.mandate.roots.find(location);
        root.map_or_else(|| location.key().to_owned(), |(_, plain)| plain.into_owned())
    }

    /// With entropy a person names the directory as `_metadata` has it, without the random part.
    fn released(&self, location: &ObjectLocation) -> bool {
        let switches = &self.eyes.switches;
        let plain = ObjectLocation::new(location.bucket(), self.plain_key(location));
        switches.releases(location) || switches.releases(&plain)
    }

    async fn triage(&mut self, notice: &Notice, proof: &Proof) -> Triage {
        let location = &notice.location;
        let mut cause = notice.cause.clone();
        // A manifest that can't be read just now is no leave to leave the key: the look asks again, and waits.
        if cause == Cause::Ours && self.eyes.memory.hidden_by_orphans(location).await.unwrap_or(true) {
            cause = Cause::Foreign(BY_ORPHANS.to_owned());
        }
        let left = |reason, basis, class| {
            Triage::Left(Box::new(Verdict::left(
                location.clone(),
                reason,
                basis,
                class,
                cause.clone(),
            )))
        };
        let plain = self.plain_key(location);
        let root = self.eyes.mandate.roots.find(location).map(|(root, _)| root.kind);
        let mut referrals = self.survey.catalogue.namings(location, &plain);
        if let [
            Referral {
                naming: Naming::ByName { means },
                ..
            },
            ..,
        ] = referrals[..]
        {
            // A directory that was copied has the same names: where the meant object is there, nobody means this one.
            let means = self.survey.catalogue.index.location(means);
            if self.is_listed(&means).await.unwrap_or(false) {
                referrals.clear();
            }
        }
        // A checkpoint may name what lies outside every root, so only a whole catalogue says that none does.
        if root.is_none() && referrals.is_empty() && self.survey.failed.is_empty() {
            return Triage::Outside;
        }
        if self.released(location) {
            return left(LeaveReason::Released, Basis::NotReferenced, None);
        }
        if cause == Cause::Ours {
            return left(LeaveReason::Ours, Basis::NotReferenced, None);
        }
        if root == Some(RootKind::Ha) {
            if is_in_result_store(location.key()) {
                return left(LeaveReason::ResultStore, Basis::HaObject, None);
            }
            return if cause.is_flink_or_unknown() {
                left(LeaveReason::HaByFlink, Basis::HaObject, None)
            } else {
                Triage::Look
            };
        }
        let uncertain = !self.survey.failed.is_empty()
            || (can_be_tail(location.key())
                && (self.survey.sinks.unknown().next().is_some()
                    || (cause != Cause::Flink && self.unreadable_heads().next().is_some())))
            || !self.survey.catalogue.unreadable_near(location, &plain).is_empty()
            || self
                .is_unheard(referrals.iter().map(|r| r.snapshot), &cause)
                .is_some();
        let classes: Vec<(Naming, Class)> = referrals
            .iter()
            .map(|r| (r.naming, self.strongest_class(r, notice)))
            .collect();
        let class = classes.iter().map(|(_, c)| *c).max();
        if uncertain {
            return Triage::Look;
        }
        if classes.is_empty() && cause == Cause::Flink && can_be_tail(location.key()) {
            return left(LeaveReason::SinkTail, Basis::NotReferenced, None);
        }
        // A checkpoint that is under way may name it yet, and then somebody must know who took it: nothing but its own versions says by which marker.
        if classes.is_empty() && may_be_named_yet(location, &cause) {
            return Triage::Look;
        }
        if classes.is_empty() {
            return left(
                LeaveReason::NotReferenced(proof.clone()),
                Basis::NotReferenced,
                None,
            );
        }
        let mendable = referrals.iter().any(|r| {
            let snapshot = self.survey.catalogue.get(r.snapshot);
            snapshot.is_some_and(|s| self.mendable.contains(&s.metadata))
        });
        match leave_without_a_look(&classes, &cause) {
            Some(reason) if !mendable => left(reason, Basis::Referenced, class),
            Some(_) | None => Triage::Look,
        }
    }

    /// A stranger or a rule took what these name, and of a newer checkpoint that would make them spares a message on its way may say that Flink couldn't store it.
    /// Until when that is awaited.
    pub(super) fn is_unheard(
        &self,
        referrers: impl Iterator<Item = SnapshotId>,
        cause: &Cause,
    ) -> Option<Timestamp> {
        let (now, settle) = (self.eyes.now, self.eyes.mandate.policy.settle);
        let catalogue = &self.survey.catalogue;
        let awaited = referrers.filter_map(|id| catalogue.newer_was_hidden_unheard(id, now.minus(settle)));
        (!cause.is_flink_or_unknown())
            .then(|| awaited.max())
            .flatten()
            .map(|at| at.plus(settle))
            .filter(|until| now < *until)
    }

    /// Snapshots that nobody here can read and somebody may come back to.
    pub(super) fn unreadable_heads(&self) -> impl Iterator<Item = SnapshotId> {
        let dormant_after = self.eyes.mandate.policy.dormant_after;
        self.survey
            .catalogue
            .unreadable_heads(self.eyes.now, dormant_after)
    }

    /// The class at the deletion or now, whichever is stronger: when exactly the key was deleted isn't known without a look.
    fn strongest_class(&self, referral: &Referral, notice: &Notice) -> Class {
        let catalogue = &self.survey.catalogue;
        let Some(snapshot) = catalogue.get(referral.snapshot) else {
            return Class::Spare;
        };
        let dormant_after = self.eyes.mandate.policy.dormant_after;
        let at = |moment| catalogue.class(referral.snapshot, moment, dormant_after);
        match &snapshot.hidden {
            Some(hidden) => at(Moment::BeforeItsOwn(hidden.at)),
            None => at(Moment::Of(notice.at.unwrap_or(self.eyes.now))).max(at(Moment::Of(self.eyes.now))),
        }
    }

    /// Nobody can be restored any more from a `_metadata` whose last version a rule purged while it was hidden.
    fn tell_what_is_gone_for_good(&mut self, judged: &mut Vec<Judged>) {
        let gone = self.survey.take_gone_for_good();
        judged.retain(|j| !gone.contains_key(&j.verdict.location));
        judged.extend(gone.into_iter().map(|(metadata, class)| {
            Judged::from(Verdict {
                location: metadata.clone(),
                incident: Incident::Deletion,
                outcome: Outcome::Lost(FindingCode::PurgedVersion),
                findings: Vec::new(),
                basis: Basis::Referenced,
                class: Some(class),
                cause: Cause::Unknown,
                decided_by: Some(metadata),
            })
        }));
    }

    /// Somebody would act: is there a hidden checkpoint newer than those that are visible?
    async fn look_for_hidden_heads(&mut self, to_look: &[&Notice]) {
        let mut jobs = BTreeSet::new();
        for notice in to_look {
            let plain = self.plain_key(&notice.location);
            for referral in self.survey.catalogue.namings(&notice.location, &plain) {
                if let Some(s) = self
                    .survey
                    .catalogue
                    .get(referral.snapshot)
                    .filter(|s| s.directory_id().is_some())
                {
                    jobs.insert(s.job.clone());
                }
            }
        }
        for job in jobs {
            self.survey.look_for_hidden(&self.eyes, &job).await;
        }
    }

    pub(super) fn rules(&self, location: &ObjectLocation) -> Option<&LifecycleConfiguration> {
        self.eyes.rules.get(location.bucket())
    }
}

/// What a stranger took, and no checkpoint that stands names, but one that is under way may: a tail lies there before its checkpoint is complete.
pub(super) fn may_be_named_yet(location: &ObjectLocation, cause: &Cause) -> bool {
    matches!(cause, Cause::Foreign(_)) && can_be_tail(location.key())
}
