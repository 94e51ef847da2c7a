//! Who needs an object: everything that its referrers have lost and are, as evidence for the verdict.

use stayput_core::catalogue::{Naming, Referral, SnapshotId};
use stayput_core::cause::Cause;
use stayput_core::class::Class;
use stayput_core::location::ObjectLocation;
use stayput_core::loss::{Loss, MetadataState, fitting};
use stayput_core::report::finding::FindingCode;
use stayput_core::root::RootKind;
use stayput_core::sinks::can_be_tail;
use stayput_core::snapshot::{Contents, identity_of};
use stayput_core::timestamp::Timestamp;
use stayput_core::verdict::{Deletion, Evidence, Referrer, Taken, Why};
use stayput_core::version::{KeyHistory, VersionEntry};

use super::judging::Bench;
use crate::inspect::inspect;
use crate::port::{Journal, PortError, Reading};
use crate::restore::Hand;

impl<R, J, H> Bench<'_, R, J, H>
where
    R: Reading + Sync,
    J: Journal + Sync,
    H: Hand + Sync,
{
    /// Whether an object is visible, by a listing of its directory: one for all that lies there.
    pub(super) async fn is_listed(&mut self, object: &ObjectLocation) -> Result<bool, PortError> {
        let directory = (object.bucket().to_owned(), object.directory().to_owned());
        if !self.listed.contains_key(&directory) {
            let listing = self.eyes.reading.list(&directory.0, &directory.1, true).await?;
            let keys = listing.objects.into_iter().map(|o| o.key).collect();
            self.listed.insert(directory.clone(), keys);
        }
        Ok(self
            .listed
            .get(&directory)
            .is_some_and(|keys| keys.contains(object.key())))
    }

    /// Some ways of naming count only when the object's versions say so.
    pub(super) async fn counts(
        &mut self,
        referral: &Referral,
        metadata: &ObjectLocation,
        history: &KeyHistory,
    ) -> Result<bool, PortError> {
        match referral.naming {
            Naming::ItsMetadata | Naming::Exact { .. } | Naming::Tail | Naming::Directory => Ok(true),
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
    pub(super) async fn inspect_if_it_matters(
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
        let moment = Loss::none().moment(deletion.at, snapshot.written, self.eyes.now);
        let class = catalogue.class(id, moment, self.eyes.mandate.policy.dormant_after);
        if snapshot.hidden.is_none() && class == Class::Spare && !self.mendable.contains(metadata) {
            return Ok(());
        }
        if let Some((_, inspected)) = inspect(&self.eyes, self.survey, metadata, &self.told).await? {
            self.learn_who_hid(metadata, &inspected.loss.metadata);
            self.inspected.insert(metadata.clone(), inspected);
        }
        Ok(())
    }

    /// Another process may have heard who hid a `_metadata` since this one saw that it was hidden: what its class says of the others beside it hangs on that.
    fn learn_who_hid(&mut self, metadata: &ObjectLocation, state: &MetadataState) {
        let MetadataState::Hidden { cause, .. } = state else {
            return;
        };
        let catalogue = &mut self.survey.catalogue;
        let snapshot = catalogue.at(metadata).and_then(|id| catalogue.get_mut(id));
        if let Some(hidden) = snapshot.and_then(|s| s.hidden.as_mut())
            && hidden.cause == Cause::Unknown
        {
            hidden.cause.clone_from(cause);
        }
    }

    /// A stranger's deletion beside what can't be read: whether that went too, and as a whole.
    pub(super) async fn inspect_unreadable_near(
        &mut self,
        deletion: &Deletion,
        plain: &str,
    ) -> Result<(), PortError> {
        if !matches!(deletion.cause, Cause::Foreign(_)) {
            return Ok(());
        }
        let catalogue = &self.survey.catalogue;
        let near: Vec<ObjectLocation> = catalogue
            .unreadable_near(&deletion.location, plain)
            .into_iter()
            .filter_map(|id| catalogue.get(id).map(|s| s.metadata.clone()))
            .filter(|metadata| !self.inspected.contains_key(metadata))
            .collect();
        for metadata in near {
            if let Some((_, inspected)) = inspect(&self.eyes, self.survey, &metadata, &self.told).await? {
                self.inspected.insert(metadata, inspected);
            }
        }
        Ok(())
    }

    /// How a snapshot went that can't be read.
    fn how_it_went(&self, id: SnapshotId) -> Taken {
        let catalogue = &self.survey.catalogue;
        let seen = catalogue
            .get(id)
            .and_then(|s| Some((s, &self.inspected.get(&s.metadata)?.loss)));
        let Some((snapshot, loss)) = seen else {
            return Taken::No;
        };
        let MetadataState::Hidden { at, cause } = &loss.metadata else {
            return Taken::No;
        };
        let class = || {
            let moment = loss.moment(*at, snapshot.written, self.eyes.now);
            catalogue.class(id, moment, self.eyes.mandate.policy.dormant_after)
        };
        match cause {
            Cause::Flink | Cause::Unknown => Taken::Discarded,
            Cause::Foreign(_) if loss.whole && class() < Class::Running => Taken::AsAWhole,
            Cause::Foreign(_) | Cause::Lifecycle | Cause::Ours => Taken::No,
        }
    }

    pub(super) async fn referrer_facts(
        &mut self,
        metadata: ObjectLocation,
        naming: Naming,
        deletion: &Deletion,
    ) -> Result<Option<ReferrerFacts>, PortError> {
        let Some(id) = self.survey.catalogue.at(&metadata) else {
            return Ok(None);
        };
        let Some(written) = self.survey.catalogue.get(id).map(|s| s.written) else {
            return Ok(None);
        };
        let loss = self.inspected.get(&metadata).map_or(&self.untouched, |i| &i.loss);
        let dormant_after = self.eyes.mandate.policy.dormant_after;
        let class = self.survey.catalogue.class(
            id,
            loss.moment(deletion.at, written, self.eyes.now),
            dormant_after,
        );
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
        let mendable = self.mendable.contains(&metadata) && loss.is_mendable(&self.survey.catalogue);
        let reference_lost = hidden && loss.irrecoverable(&self.survey.catalogue).next().is_some();
        let mut facts = ReferrerFacts {
            metadata,
            naming,
            class,
            written,
            claimed: false,
            moved: false,
            put_back_before: false,
            told_as_a_whole: false,
            left_to_flink: false,
            reference_lost,
            visible: !hidden,
            mendable,
        };
        if class == Class::Spare {
            return Ok(Some(facts));
        }
        match &cause {
            Cause::Flink | Cause::Unknown => {
                facts.claimed = self.is_claimed(id, &facts.metadata, written).await?;
                facts.moved = self.survey.catalogue.moved_to(id).is_some();
            }
            Cause::Foreign(principal) if class == Class::Running => {
                facts.moved = self.survey.catalogue.moved_to(id).is_some();
                if let (true, Some(at)) = (whole, hidden_at) {
                    facts.put_back_before = self.was_put_back(&facts.metadata, principal, at).await?;
                }
                if let (true, Some(at)) = (facts.moved, hidden_at) {
                    let (memory, code) = (&self.eyes.memory, FindingCode::DeletedAsAWhole);
                    facts.told_as_a_whole = memory.was_told(code, &facts.metadata, at).await?;
                }
            }
            Cause::Foreign(_) | Cause::Lifecycle | Cause::Ours => {}
        }
        if cause == Cause::Unknown && exclusive_missing {
            facts.left_to_flink = self
                .eyes
                .memory
                .was_left_to_flink(&facts.metadata, written)
                .await?;
        }
        Ok(Some(facts))
    }

    /// Whether its directory was whole again since the same principal deleted it as a whole. Where `_metadata` stayed away, nobody has seen it come back,
    /// and nobody deletes it again on purpose.
    async fn was_put_back(
        &self,
        metadata: &ObjectLocation,
        principal: &str,
        hidden_at: Timestamp,
    ) -> Result<bool, PortError> {
        let memory = &self.eyes.memory;
        let Some(before) = memory.put_back_before(metadata, principal, hidden_at).await? else {
            return Ok(false);
        };
        if before.metadata == *metadata {
            return Ok(true);
        }
        let history = self.eyes.history(&before.metadata).await?;
        // Of what was purged since nobody knows.
        let newest = history.data_versions().next();
        Ok(newest.is_none_or(|v| v.last_modified > before.deleted_at))
    }

    /// Claimed once is claimed for good: the claimer's own checkpoints may be gone by now.
    async fn is_claimed(
        &mut self,
        id: SnapshotId,
        metadata: &ObjectLocation,
        written: Timestamp,
    ) -> Result<bool, PortError> {
        if let Some(known) = self.claimed.get(metadata) {
            return Ok(*known);
        }
        let claimed = if self.survey.catalogue.claimed_by(id).is_some() {
            self.eyes.memory.remember_claimed(metadata, self.eyes.now).await?;
            true
        } else {
            self.eyes.memory.was_claimed(metadata, written).await?
        };
        self.claimed.insert(metadata.clone(), claimed);
        Ok(claimed)
    }

    pub(super) fn fitting_version<'h>(
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

    pub(super) fn evidence<'e>(
        &'e self,
        location: &ObjectLocation,
        plain: &str,
        facts: &[ReferrerFacts],
        cause: &Cause,
    ) -> Evidence<'e> {
        let root = self.eyes.mandate.roots.find(location).map(|(root, _)| root.kind);
        if root == Some(RootKind::Ha) {
            return Evidence::HaObject;
        }
        // Of a directory that couldn't be read whole nobody knows the heads: what its snapshots need is no answer yet.
        let known = |f: &&ReferrerFacts| !self.survey.is_failing(&identity_of(&f.metadata).1);
        // What Flink or nobody known took of a snapshot that can't be read, its `_metadata` too, nobody can judge.
        let speaks = |f: &&ReferrerFacts| {
            let unreadable = || {
                let snapshot = self.survey.catalogue.at(&f.metadata);
                let snapshot = snapshot.and_then(|id| self.survey.catalogue.get(id));
                snapshot.is_some_and(|s| matches!(s.contents, Contents::Unreadable { .. }))
            };
            !cause.is_flink_or_unknown() || !unreadable()
        };
        let needed = facts
            .iter()
            .filter(known)
            .filter(speaks)
            .any(|f| f.class != Class::Spare || f.mendable);
        if !needed {
            let mut why: Vec<Why> = self
                .survey
                .failed
                .iter()
                .map(|f| Why::Transient(f.clone()))
                .collect();
            let mut near = self.survey.catalogue.unreadable_near(location, plain);
            if can_be_tail(location.key()) && !cause.is_flink_or_unknown() {
                let heads = self.unreadable_heads();
                let heads: Vec<SnapshotId> = heads.filter(|id| !near.contains(id)).collect();
                near.extend(heads);
            }
            // What lay in the own directory of one that went as a whole went with that.
            let went_with = near.iter().copied().find(|id| {
                let snapshot = self.survey.catalogue.get(*id);
                snapshot.is_some_and(|s| s.owns(location.bucket(), plain))
                    && self.how_it_went(*id) == Taken::AsAWhole
            });
            for id in went_with.map_or(near, |id| vec![id]) {
                if let Some(snapshot) = self.survey.catalogue.get(id)
                    && let Contents::Unreadable { why: because, .. } = &snapshot.contents
                {
                    why.push(Why::Permanent {
                        metadata: snapshot.metadata.clone(),
                        because: because.to_string(),
                        taken: self.how_it_went(id),
                    });
                }
            }
            if can_be_tail(location.key()) {
                why.extend(
                    self.survey
                        .sinks
                        .unknown()
                        .map(|(metadata, because)| Why::Permanent {
                            metadata: metadata.clone(),
                            because: because.to_owned(),
                            taken: Taken::No,
                        }),
                );
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
                written: f.written,
                claimed: f.claimed,
                loss: self
                    .inspected
                    .get(&f.metadata)
                    .map_or(&self.untouched, |i| &i.loss),
                moved: f.moved,
                put_back_before: f.put_back_before,
                told_as_a_whole: f.told_as_a_whole,
                left_to_flink: f.left_to_flink,
                reference_lost: f.reference_lost,
                named_elsewhere: others_need_it,
                mendable: f.mendable,
            }
        });
        Evidence::Referenced(referrers.collect())
    }
}

/// A referrer before its loss is borrowed.
pub(super) struct ReferrerFacts {
    pub(super) metadata: ObjectLocation,
    naming: Naming,
    pub(super) class: Class,
    written: Timestamp,
    pub(super) claimed: bool,
    moved: bool,
    put_back_before: bool,
    told_as_a_whole: bool,
    left_to_flink: bool,
    reference_lost: bool,
    visible: bool,
    mendable: bool,
}
