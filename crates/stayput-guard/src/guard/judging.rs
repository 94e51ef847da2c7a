//! Judging the objects of one call: first what needs no look, then the rest, each snapshot looked at once.

use std::collections::{BTreeMap, BTreeSet};

use s3_documents::bucket::Versioning;
use stayput_core::catalogue::Referral;
use stayput_core::lifecycle_rules::{self, RuledObject};
use stayput_core::loss::{Loss, MetadataState, fitting};
use stayput_core::restoring::copy_metadata;
use stayput_core::snapshot::Contents;
use stayput_core::verdict::{
    Basis, Candidate, Deletion, Evidence, Look, Proof, Referrer, Sources, Why, judge,
};
use stayput_core::version::{KeyHistory, VersionEntry};

use super::{
    Cause, Class, Eyes, Hand, Journal, LeaveReason, Moment, Naming, Notice, ObjectLocation, Outcome,
    PortError, Protect, Reading, RootKind, SnapshotId, Survey, Verdict, identity_of, leave_without_a_look,
};
use crate::causes;
use crate::inspect::{Inspected, cause_of_key, inspect};
use crate::survey::first_written;

/// A rule that would take a copy within this is worth a finding before the first copy.
const COPIES_MUST_LIVE: std::time::Duration = std::time::Duration::from_secs(7 * 86_400);
/// The cause of a key that `orphans` hid though a snapshot names it.
const BY_ORPHANS: &str = "stayput orphans";

/// One call's worth of judging.
pub(super) struct Bench<'g, R, J, H> {
    pub(super) eyes: Eyes<'g, R, J>,
    pub(super) survey: &'g mut Survey,
    pub(super) hand: &'g H,
    versioning: BTreeMap<String, Versioning>,
    told: BTreeSet<ObjectLocation>,
    pub(super) inspected: BTreeMap<ObjectLocation, Inspected>,
    claimed: BTreeMap<ObjectLocation, bool>,
    pub(super) outside: u64,
    /// Why nobody knows what persons switched; then nothing is restored.
    pub(super) switches_unread: Option<String>,
    untouched: Loss,
}

/// A verdict with what carrying it out and telling people needs.
pub(super) struct Judged {
    pub(super) verdict: Verdict,
    /// Versions and markers, where they were looked at.
    pub(super) history: Option<KeyHistory>,
    /// When the rules purge the version that could come back.
    pub(super) deadline: Option<super::Timestamp>,
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
        versioning: BTreeMap<String, Versioning>,
        switches_unread: Option<String>,
    ) -> Self {
        Self {
            eyes,
            survey,
            hand,
            versioning,
            told: BTreeSet::new(),
            inspected: BTreeMap::new(),
            claimed: BTreeMap::new(),
            outside: 0,
            switches_unread,
            untouched: Loss::none(),
        }
    }

    /// One verdict per object under a root, or that a snapshot names.
    pub(super) async fn judge_all(&mut self, notices: &[Notice]) -> Vec<Judged> {
        self.told = notices
            .iter()
            .filter(|n| n.told.deleted)
            .map(|n| n.location.clone())
            .collect();
        let mut judged = Vec::with_capacity(notices.len());
        let mut to_look = Vec::new();
        let proof = self.proof();
        for notice in notices {
            match self.triage(notice, &proof).await {
                Triage::Outside => self.outside += 1,
                Triage::Left(verdict) => judged.push(Judged {
                    verdict: *verdict,
                    history: None,
                    deadline: None,
                }),
                Triage::Look => to_look.push(notice),
            }
        }
        self.look_for_hidden_heads(&to_look).await;
        for notice in to_look {
            judged.push(self.judge_one(notice).await);
        }
        judged
    }

    fn proof(&self) -> Proof {
        let except = self
            .survey
            .catalogue
            .iter()
            .filter(|(_, s)| matches!(s.contents, Contents::Unreadable { .. }))
            .map(|(_, s)| s.metadata.clone())
            .collect();
        Proof {
            oldest_listing: self.survey.catalogue.oldest_listing(),
            snapshots: self.survey.catalogue.iter().count(),
            except,
        }
    }

    fn plain_key(&self, location: &ObjectLocation) -> String {
        let root = self.eyes.mandate.roots.find(location);
        root.map_or_else(|| location.key().to_owned(), |(_, plain)| plain.into_owned())
    }

    fn released(&self, location: &ObjectLocation) -> bool {
        let released = &self.eyes.switches.released;
        released
            .iter()
            .any(|r| r.bucket() == location.bucket() && location.key().starts_with(r.key()))
    }

    async fn triage(&mut self, notice: &Notice, proof: &Proof) -> Triage {
        let location = &notice.location;
        let mut cause = notice.cause.clone();
        // A manifest that can't be read just now speaks for nothing: the look asks again.
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
        let referrals = self.survey.catalogue.namings(location, &plain);
        if root.is_none() && referrals.is_empty() {
            return Triage::Outside;
        }
        if self.released(location) {
            return left(LeaveReason::Released, Basis::NotReferenced, None);
        }
        if notice.cause == Cause::Ours
            && !self
                .eyes
                .memory
                .hidden_by_orphans(location)
                .await
                .unwrap_or(false)
        {
            return left(LeaveReason::Ours, Basis::NotReferenced, None);
        }
        if root == Some(RootKind::Ha) {
            if is_result_store(location.key()) {
                return left(LeaveReason::ResultStore, Basis::HaObject, None);
            }
            return if cause.is_flink_or_unknown() {
                left(LeaveReason::HaByFlink, Basis::HaObject, None)
            } else {
                Triage::Look
            };
        }
        let uncertain = !self.survey.failed.is_empty()
            || !self.survey.catalogue.unreadable_near(location, &plain).is_empty();
        let classes: Vec<(Naming, Class)> = referrals
            .iter()
            .map(|r| (r.naming, self.strongest_class(r, notice)))
            .collect();
        let class = classes.iter().map(|(_, c)| *c).max();
        if uncertain {
            return Triage::Look;
        }
        if classes.is_empty() {
            return left(
                LeaveReason::NotReferenced(proof.clone()),
                Basis::NotReferenced,
                None,
            );
        }
        match leave_without_a_look(&classes, &cause) {
            Some(reason) => left(reason, Basis::Referenced, class),
            None => Triage::Look,
        }
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

    async fn judge_one(&mut self, notice: &Notice) -> Judged {
        match self.look_at(notice).await {
            Ok(judged) => judged,
            Err(e) => {
                let why = vec![Why::Transient(e.to_string())];
                let history = KeyHistory::default();
                let deletion = self.deletion(notice, &history, notice.cause.clone());
                let look = self.look(notice, &history, None, None);
                let verdict = judge(
                    &deletion,
                    &Evidence::Unknown(why),
                    &look,
                    &self.eyes.mandate.policy,
                    self.eyes.now,
                );
                Judged {
                    verdict,
                    history: None,
                    deadline: None,
                }
            }
        }
    }

    async fn look_at(&mut self, notice: &Notice) -> Result<Judged, PortError> {
        let location = &notice.location;
        let plain = self.plain_key(location);
        // Without it nobody knows what a copy would do. Of a bucket that holds no root it wasn't asked yet.
        if !self.versioning.contains_key(location.bucket()) {
            let versioning = self.eyes.reading.versioning(location.bucket()).await?;
            self.versioning.insert(location.bucket().to_owned(), versioning);
        }
        let history = self.eyes.history(location).await?;
        let mut cause = cause_of_key(
            &history,
            self.eyes.cause_of(location, &history, true).await?,
            &notice.cause,
        );
        if cause == Cause::Ours && self.eyes.memory.hidden_by_orphans(location).await? {
            cause = Cause::Foreign(BY_ORPHANS.to_owned());
        }
        let deletion = self.deletion(notice, &history, cause);

        // First look at every snapshot that names it, since looking can change what the catalogue says.
        let mut naming: Vec<(ObjectLocation, Naming)> = Vec::new();
        for referral in self.survey.catalogue.namings(location, &plain) {
            let Some(metadata) = self
                .survey
                .catalogue
                .get(referral.snapshot)
                .map(|s| s.metadata.clone())
            else {
                continue;
            };
            if self.counts(&referral, &metadata, &history).await? {
                naming.push((metadata, referral.naming));
            }
        }
        for (metadata, _) in &naming {
            self.inspect_if_it_matters(metadata, &deletion).await?;
        }
        let mut facts: Vec<ReferrerFacts> = Vec::new();
        for (metadata, naming) in naming {
            if let Some(f) = self.referrer_facts(metadata, naming, &deletion).await? {
                facts.push(f);
            }
        }
        let fitting = self.fitting_version(location, &facts, &history);
        let deadline = self.deadline(location, &history, fitting, &deletion);
        let policy = self.eyes.mandate.policy;
        let evidence = self.evidence(location, &plain, &facts);
        let mut look = self.look(notice, &history, fitting, None);
        look.rule = self.rule(location, &history, &deletion);
        let overwritten = facts.iter().any(|f| {
            self.inspected
                .get(&f.metadata)
                .is_some_and(|i| i.overwritten.contains(location))
        });
        if look.visible == Some(true) && overwritten {
            look.visible = Some(false);
        }
        let mut verdict = judge(&deletion, &evidence, &look, &policy, self.eyes.now);
        if let (Outcome::Restore(_), Some(version)) = (&verdict.outcome, fitting) {
            // Only now is it worth asking how often this key was put back before.
            let head = self.eyes.reading.head(location, Some(&version.id)).await?;
            let count = head
                .metadata_value(copy_metadata::COUNT)
                .and_then(|c| c.parse().ok())
                .unwrap_or(0);
            look.sources.candidate = Some(Candidate {
                version,
                restored_before: count,
                first_written: first_written(&head),
            });
            verdict = judge(&deletion, &evidence, &look, &policy, self.eyes.now);
        }
        self.note_restarted_ids(&facts, &mut verdict);
        Ok(Judged {
            verdict,
            history: Some(history),
            deadline,
        })
    }

    fn note_restarted_ids(&self, facts: &[ReferrerFacts], verdict: &mut Verdict) {
        if matches!(verdict.outcome, Outcome::Leave(_)) {
            return;
        }
        for f in facts.iter().filter(|f| f.class != Class::Spare) {
            let id = self.survey.catalogue.at(&f.metadata);
            if id.is_some_and(|id| self.survey.catalogue.heads_beside(id, self.eyes.now).1.is_some()) {
                verdict.findings.push((
                    stayput_core::report::finding::FindingCode::IdsRestarted,
                    f.metadata.clone(),
                ));
            }
        }
    }

    fn deletion(&self, notice: &Notice, history: &KeyHistory, cause: Cause) -> Deletion {
        let marker = history.hidden().map(|h| h.above_data.last_modified);
        Deletion {
            location: notice.location.clone(),
            told: notice.told,
            cause,
            at: marker.or(notice.at).unwrap_or(self.eyes.now),
        }
    }

    fn look<'h>(
        &'h self,
        notice: &'h Notice,
        history: &'h KeyHistory,
        version: Option<&'h VersionEntry>,
        rule: Option<&'h str>,
    ) -> Look<'h> {
        let location = &notice.location;
        let root = self.eyes.mandate.roots.find(location).map(|(root, _)| root);
        let rule_takes_copies = self.rules(location).is_some_and(|rules| {
            let copy = RuledObject {
                key: location.key(),
                size: version.and_then(VersionEntry::size).unwrap_or_default(),
                written: self.eyes.now,
                tags: None,
            };
            lifecycle_rules::hides(rules, copy)
                .is_some_and(|(_, at)| at < self.eyes.now.plus(COPIES_MUST_LIVE))
        });
        Look {
            visible: history.current().map(|_| true),
            sources: Sources {
                versioning: self
                    .versioning
                    .get(location.bucket())
                    .copied()
                    .unwrap_or(Versioning::Suspended),
                history,
                candidate: version.map(|version| Candidate {
                    version,
                    restored_before: 0,
                    first_written: version.last_modified,
                }),
            },
            protect: root.map_or(Protect::Default, |r| r.protect),
            released: self.released(location),
            storage_class: root.and_then(|r| r.storage_class.as_deref()),
            rule,
            rule_takes_copies,
        }
    }

    fn rules(&self, location: &ObjectLocation) -> Option<&s3_documents::lifecycle::LifecycleConfiguration> {
        self.eyes.rules.get(location.bucket())
    }

    fn rule<'h>(
        &'h self,
        location: &ObjectLocation,
        history: &KeyHistory,
        deletion: &Deletion,
    ) -> Option<&'h str> {
        if deletion.cause != Cause::Lifecycle {
            return None;
        }
        causes::by_rule(self.rules(location)?, history).map(|(name, _)| name)
    }

    fn deadline(
        &self,
        location: &ObjectLocation,
        history: &KeyHistory,
        version: Option<&VersionEntry>,
        deletion: &Deletion,
    ) -> Option<super::Timestamp> {
        let version = version.or_else(|| history.data_versions().next())?;
        let object = RuledObject {
            key: location.key(),
            size: version.size()?,
            written: version.last_modified,
            tags: None,
        };
        lifecycle_rules::purges(self.rules(location)?, object, deletion.at)
    }

    /// Some ways of naming count only when the object's versions say so.
    async fn counts(
        &mut self,
        referral: &Referral,
        metadata: &ObjectLocation,
        history: &KeyHistory,
    ) -> Result<bool, PortError> {
        match referral.naming {
            Naming::ItsMetadata | Naming::Exact { .. } | Naming::Directory => Ok(true),
            Naming::ByName { means } => {
                let means = self.survey.catalogue.index.location(means);
                Ok(self.eyes.history(&means).await?.is_empty())
            }
            Naming::LiveDatabase => {
                let head = self
                    .survey
                    .catalogue
                    .at(metadata)
                    .and_then(|id| self.survey.catalogue.get(id));
                let written = history.data_versions().next().map(|v| v.last_modified);
                Ok(head.is_some_and(|head| written > Some(head.written)))
            }
        }
    }

    /// A spare that stands needs no look: whatever it has lost, its class is the answer.
    async fn inspect_if_it_matters(
        &mut self,
        metadata: &ObjectLocation,
        deletion: &Deletion,
    ) -> Result<(), PortError> {
        if self.inspected.contains_key(metadata) {
            return Ok(());
        }
        let catalogue = &self.survey.catalogue;
        let Some(id) = catalogue.at(metadata) else {
            return Ok(());
        };
        let Some(snapshot) = catalogue.get(id) else {
            return Ok(());
        };
        let class = catalogue.class(
            id,
            Moment::Of(deletion.at),
            self.eyes.mandate.policy.dormant_after,
        );
        if snapshot.hidden.is_none() && class == Class::Spare {
            return Ok(());
        }
        if let Some((_, inspected)) = inspect(&self.eyes, self.survey, metadata, &self.told).await? {
            self.inspected.insert(metadata.clone(), inspected);
        }
        Ok(())
    }

    async fn referrer_facts(
        &mut self,
        metadata: ObjectLocation,
        naming: Naming,
        deletion: &Deletion,
    ) -> Result<Option<ReferrerFacts>, PortError> {
        let Some(id) = self.survey.catalogue.at(&metadata) else {
            return Ok(None);
        };
        let loss = self.inspected.get(&metadata).map_or(&self.untouched, |i| &i.loss);
        let dormant_after = self.eyes.mandate.policy.dormant_after;
        let class = self
            .survey
            .catalogue
            .class(id, loss.moment(deletion.at), dormant_after);
        let cause = loss.cause_for(&deletion.cause).clone();
        let (whole, hidden, exclusive_missing) = (
            loss.whole,
            loss.metadata != MetadataState::Stands,
            loss.exclusive_missing_by_flink,
        );
        let hidden_at = match &loss.metadata {
            MetadataState::Hidden { at, .. } => Some(*at),
            MetadataState::Stands | MetadataState::Gone => None,
        };
        let reference_lost = hidden && loss.irrecoverable(&self.survey.catalogue).next().is_some();
        let mut facts = ReferrerFacts {
            metadata,
            naming,
            class,
            claimed: false,
            moved: false,
            put_back_before: false,
            left_to_flink: false,
            reference_lost,
            visible: !hidden,
        };
        if class == Class::Spare {
            return Ok(Some(facts));
        }
        match &cause {
            Cause::Flink | Cause::Unknown => facts.claimed = self.is_claimed(id, &facts.metadata).await?,
            Cause::Foreign(principal) if whole && class == Class::Running => {
                facts.moved = self.survey.catalogue.moved_to(id).is_some();
                if let Some(at) = hidden_at {
                    facts.put_back_before = self
                        .eyes
                        .memory
                        .was_put_back(&facts.metadata, principal, at)
                        .await?;
                }
            }
            Cause::Foreign(_) | Cause::Lifecycle | Cause::Ours => {}
        }
        if cause == Cause::Unknown && exclusive_missing {
            facts.left_to_flink = self.eyes.memory.was_left_to_flink(&facts.metadata).await?;
        }
        Ok(Some(facts))
    }

    /// Claimed once is claimed for good: the claimer's own checkpoints may be gone by now.
    async fn is_claimed(&mut self, id: SnapshotId, metadata: &ObjectLocation) -> Result<bool, PortError> {
        if let Some(known) = self.claimed.get(metadata) {
            return Ok(*known);
        }
        let claimed = if self.survey.catalogue.claimed_by(id).is_some() {
            self.eyes.memory.remember_claimed(metadata, self.eyes.now).await?;
            true
        } else {
            self.eyes.memory.was_claimed(metadata).await?
        };
        self.claimed.insert(metadata.clone(), claimed);
        Ok(claimed)
    }

    fn fitting_version<'h>(
        &self,
        location: &ObjectLocation,
        facts: &[ReferrerFacts],
        history: &'h KeyHistory,
    ) -> Option<&'h VersionEntry> {
        let catalogue = &self.survey.catalogue;
        // Of a `_metadata`: the version that was read to its end.
        if facts.iter().any(|f| f.naming == Naming::ItsMetadata) {
            let read = catalogue
                .at(location)
                .and_then(|id| catalogue.get(id))
                .and_then(|s| s.version.as_ref());
            return history.data_versions().find(|v| Some(&v.id) == read);
        }
        let means = facts.iter().find_map(|f| match f.naming {
            Naming::ByName { means } => Some(means),
            _ => None,
        });
        let object = catalogue.index.find(location).or(means);
        fitting(
            history,
            &object.map(|o| catalogue.index.extents(o)).unwrap_or_default(),
        )
    }

    fn evidence<'e>(
        &'e self,
        location: &ObjectLocation,
        plain: &str,
        facts: &[ReferrerFacts],
    ) -> Evidence<'e> {
        let root = self.eyes.mandate.roots.find(location).map(|(root, _)| root.kind);
        if root == Some(RootKind::Ha) {
            return Evidence::HaObject;
        }
        // Of a directory that couldn't be read whole nobody knows the heads: what its snapshots need is no answer yet.
        let known = |f: &&ReferrerFacts| !self.survey.is_failing(&identity_of(&f.metadata).1);
        let needed = facts.iter().filter(known).any(|f| f.class != Class::Spare);
        if !needed {
            let mut why: Vec<Why> = self
                .survey
                .failed
                .iter()
                .map(|f| Why::Transient(f.clone()))
                .collect();
            for id in self.survey.catalogue.unreadable_near(location, plain) {
                if let Some(snapshot) = self.survey.catalogue.get(id)
                    && let Contents::Unreadable { why: because, .. } = &snapshot.contents
                {
                    why.push(Why::Permanent {
                        metadata: snapshot.metadata.clone(),
                        because: because.to_string(),
                    });
                }
            }
            if !why.is_empty() {
                return Evidence::Unknown(why);
            }
        }
        if facts.is_empty() {
            return Evidence::NotReferenced(self.proof());
        }
        let referrers = facts.iter().map(|f| {
            let others_need_it = facts
                .iter()
                .any(|o| o.metadata != f.metadata && o.visible && o.class != Class::Spare);
            Referrer {
                metadata: f.metadata.clone(),
                naming: f.naming,
                class: f.class,
                claimed: f.claimed,
                loss: self
                    .inspected
                    .get(&f.metadata)
                    .map_or(&self.untouched, |i| &i.loss),
                moved: f.moved,
                put_back_before: f.put_back_before,
                left_to_flink: f.left_to_flink,
                reference_lost: f.reference_lost,
                named_elsewhere: others_need_it,
            }
        });
        Evidence::Referenced(referrers.collect())
    }
}

/// A referrer before its loss is borrowed.
struct ReferrerFacts {
    metadata: ObjectLocation,
    naming: Naming,
    class: Class,
    claimed: bool,
    moved: bool,
    put_back_before: bool,
    left_to_flink: bool,
    reference_lost: bool,
    visible: bool,
}

/// `job-result-store/` (1.15 and later) and `application-result-store/` (2.3): an entry there says that a job has ended.
fn is_result_store(key: &str) -> bool {
    key.split('/')
        .any(|part| matches!(part, "job-result-store" | "application-result-store"))
}
