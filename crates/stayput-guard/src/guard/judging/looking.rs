//! The look at one object: its versions, every snapshot that names it, and the verdict that follows.

use s3_documents::bucket::Versioning;
use stayput_core::cause::WhyUnknown;
use stayput_core::lifecycle_rules::{self, RuledObject};
use stayput_core::loss::{DirectoryUse, MetadataState};
use stayput_core::report::finding::FindingCode;
use stayput_core::restoring::copy_metadata;
use stayput_core::thaw::Readability;
use stayput_core::verdict::{Candidate, Deletion, Evidence, LaterReason, Look, Sources, Why, judge};
use stayput_core::version::{KeyHistory, VersionEntry};

use super::{BY_ORPHANS, Bench, Judged};
use crate::causes;
use crate::guard::evidence::ReferrerFacts;
use crate::guard::{
    Cause, Class, Hand, Journal, LeaveReason, METADATA_FILE, Naming, Notice, ObjectLocation, Outcome,
    PortError, Protect, Reading, Timestamp, Verdict,
};
use crate::port::PortErrorKind;
use crate::survey::first_written;

/// A rule that would take a copy within this is worth a finding before the first copy.
pub(super) const COPIES_MUST_LIVE: std::time::Duration = std::time::Duration::from_secs(7 * 86_400);

impl<R, J, H> Bench<'_, R, J, H>
where
    R: Reading + Sync,
    J: Journal + Sync,
    H: Hand + Sync,
{
    pub(super) async fn judge_one(&mut self, notice: &Notice) -> Judged {
        match self.look_at(notice).await {
            Ok(judged) => judged,
            Err(e) => {
                let why = vec![Why::Transient(e.to_string())];
                let history = KeyHistory::default();
                // What is our own deletion for certain was left before: of this one a manifest of `orphans` says otherwise, or couldn't be read.
                let cause = match &notice.cause {
                    Cause::Ours => Cause::Foreign(BY_ORPHANS.to_owned()),
                    other => other.clone(),
                };
                let deletion = self.deletion(notice, &history, cause);
                let look = self.look(notice, &history, None, None);
                let verdict = judge(
                    &deletion,
                    &Evidence::Unknown(why),
                    &look,
                    &self.eyes.mandate.policy,
                    self.eyes.now,
                );
                Judged::from(verdict)
            }
        }
    }

    /// Whether another process saw that some of these were claimed, and this one doesn't see by whom: whoever it was may need the object.
    fn was_claimed_by_somebody_unseen(&self, facts: &[ReferrerFacts]) -> bool {
        let catalogue = &self.survey.catalogue;
        facts.iter().filter(|f| f.claimed).any(|f| {
            let id = catalogue.at(&f.metadata);
            id.is_some_and(|id| catalogue.claimed_by(id).is_none())
        })
    }

    /// Whether this is a `_metadata` that was hidden, and a run whose ids began again writes where it would come back.
    fn is_in_the_way_of_a_new_run(&self, location: &ObjectLocation) -> bool {
        let itself = self
            .inspected
            .get(location)
            .filter(|_| location.file_name() == METADATA_FILE);
        itself.is_some_and(|inspected| {
            let loss = &inspected.loss;
            loss.metadata != MetadataState::Stands
                && matches!(loss.directory_use, DirectoryUse::NewRun { .. })
        })
    }

    async fn look_at(&mut self, notice: &Notice) -> Result<Judged, PortError> {
        let location = &notice.location;
        let plain = self.plain_key(location);
        // Without it nobody knows what a copy would do. Of a bucket that holds no root it wasn't asked yet.
        if !self.versioning.contains_key(location.bucket()) {
            let versioning = self.eyes.reading.versioning(location.bucket()).await?;
            self.versioning.insert(location.bucket().to_owned(), versioning);
        }
        let watched = self
            .eyes
            .mandate
            .roots
            .iter()
            .any(|r| r.bucket() == location.bucket());
        if watched && !self.eyes.rules.contains_key(location.bucket()) {
            // A rule's marker that no message names would pass for one of nobody known.
            let unread = PortError::new(
                PortErrorKind::Transient,
                "GetBucketLifecycleConfiguration",
                location.bucket(),
            );
            return Err(unread.because("the bucket's rules couldn't be read just now"));
        }
        let history = self.eyes.history(location).await?;
        let mut cause = cause_of_key(
            &history,
            self.eyes.cause_of(location, &history, true).await?,
            notice,
        );
        if cause == Cause::Ours && self.eyes.memory.hidden_by_orphans(location).await? {
            cause = Cause::Foreign(BY_ORPHANS.to_owned());
        }
        let deletion = self.deletion(notice, &history, cause);
        self.inspect_unreadable_near(&deletion, &plain).await?;

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
        // Looking can change what the catalogue says, and so which of the others matter.
        loop {
            let before = self.inspected.len();
            for (metadata, _) in &naming {
                self.inspect_if_it_matters(metadata, &deletion).await?;
            }
            if self.inspected.len() == before {
                break;
            }
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
        let evidence = self.evidence(location, &plain, &facts, &deletion.cause);
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
        if look.sources.has_no_data()
            && !matches!(verdict.outcome, Outcome::Leave(_))
            && let Some(metadata) = &verdict.decided_by
        {
            look.sources.on_its_way_until = self.replicated.until(&self.eyes, metadata).await?;
            verdict = judge(&deletion, &evidence, &look, &policy, self.eyes.now);
        }
        // Whatever it is that nobody can read there, the new run would meet it.
        if matches!(evidence, Evidence::Unknown(_))
            && matches!(verdict.outcome, Outcome::Restore(_) | Outcome::Later { .. })
            && self.is_in_the_way_of_a_new_run(location)
        {
            verdict.outcome = Outcome::Leave(LeaveReason::NewRunInDirectory);
        }
        // A sweep comes again anyway.
        if let (Outcome::Leave(_), Evidence::Referenced(_), true) =
            (&verdict.outcome, &evidence, notice.told.deleted)
        {
            let referrers = facts.iter().filter_map(|f| self.survey.catalogue.at(&f.metadata));
            if let Some(failed) = self.survey.failed.first() {
                // That those who name it don't want it is no answer while others couldn't be read.
                let unknown = Evidence::Unknown(vec![Why::Transient(failed.clone())]);
                verdict = judge(&deletion, &unknown, &look, &policy, self.eyes.now);
            } else if let Some(not_before) = self.is_unheard(referrers, &deletion.cause)
                && look.visible != Some(true)
            {
                let why = LaterReason::Quiet;
                verdict.outcome = Outcome::Later { not_before, why };
            } else if verdict.outcome == Outcome::Leave(LeaveReason::Claimed)
                && self.was_claimed_by_somebody_unseen(&facts)
                && self.survey.look_at_headless_next(&self.eyes)
            {
                let not_before = self.eyes.now.plus(policy.settle);
                let why = LaterReason::Quiet;
                verdict.outcome = Outcome::Later { not_before, why };
            }
        }
        let wanted = matches!(
            verdict.outcome,
            Outcome::Restore(_)
                | Outcome::Later {
                    why: LaterReason::Thaw(_),
                    ..
                }
        );
        if let (true, Some(version)) = (wanted, fitting) {
            // Only now is it worth asking how often this key was put back before, and whether an archived version can be read.
            let head = match self.eyes.reading.head(location, Some(&version.id)).await {
                Ok(head) => head,
                Err(e) if e.kind == PortErrorKind::Unreadable => {
                    let mut judged = Judged {
                        history: Some(history),
                        deadline,
                        ..Judged::from(verdict)
                    };
                    judged.tell_that_its_key_is_unusable(&e);
                    return Ok(judged);
                }
                Err(e) => return Err(e),
            };
            let count = head
                .metadata_value(copy_metadata::COUNT)
                .and_then(|c| c.parse().ok())
                .unwrap_or(0);
            // A server may have dropped what our copies said of themselves; then the versions below say it.
            let returns = history.returns(&version.id);
            look.sources.candidate = Some(Candidate {
                version,
                restored_before: returns.map_or(count, |r| count.max(r.times)),
                first_written: returns.map_or(first_written(&head), |r| {
                    r.first_written.min(first_written(&head))
                }),
                readability: head.readability,
            });
            verdict = judge(&deletion, &evidence, &look, &policy, self.eyes.now);
        }
        self.note_restarted_ids(&facts, &mut verdict);
        let key_cause = deletion.cause;
        Ok(Judged {
            history: Some(history),
            deadline,
            key_cause,
            why_unknown: (notice.why_unknown.clone()).unwrap_or(WhyUnknown::NoMessage),
            ..Judged::from(verdict)
        })
    }

    fn note_restarted_ids(&self, facts: &[ReferrerFacts], verdict: &mut Verdict) {
        if matches!(verdict.outcome, Outcome::Leave(_)) {
            return;
        }
        for f in facts.iter().filter(|f| f.class != Class::Spare) {
            let id = self.survey.catalogue.at(&f.metadata);
            if id.is_some_and(|id| self.survey.catalogue.heads_beside(id, self.eyes.now).1.is_some()) {
                verdict
                    .findings
                    .push((FindingCode::IdsRestarted, f.metadata.clone()));
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
                    readability: Readability::of_class(version.storage_class()),
                }),
                on_its_way_until: None,
            },
            protect: root.map_or(Protect::Default, |r| r.protect),
            released: self.released(location),
            storage_class: root.and_then(|r| r.storage_class.as_deref()),
            rule,
            rule_takes_copies,
        }
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
        causes::rule_behind(self.rules(location)?, history)
    }

    fn deadline(
        &self,
        location: &ObjectLocation,
        history: &KeyHistory,
        version: Option<&VersionEntry>,
        deletion: &Deletion,
    ) -> Option<Timestamp> {
        let version = version.or_else(|| history.data_versions().next())?;
        let object = RuledObject {
            key: location.key(),
            size: version.size()?,
            written: version.last_modified,
            tags: None,
        };
        lifecycle_rules::purges(self.rules(location)?, object, deletion.at)
    }
}
/// The cause of a key whose marker nobody knows is what messages said that name no marker; without any marker, what any message said.
fn cause_of_key(history: &KeyHistory, by_marker: Cause, notice: &Notice) -> Cause {
    match (history.hidden(), by_marker) {
        (None, _) => notice.cause.clone(),
        (Some(_), Cause::Unknown) => notice.cause_without_marker.clone(),
        (Some(_), known) => known,
    }
}
