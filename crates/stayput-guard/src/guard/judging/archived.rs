//! The look at a needed object that is visible, but perhaps lies in an archive, and the verdict that follows.

use std::collections::BTreeMap;

use futures_util::StreamExt;
use futures_util::stream;
use s3_documents::bucket::Versioning;
use stayput_core::ha::is_in_result_store;
use stayput_core::lifecycle_rules::{self, RuledObject};
use stayput_core::restoring::copy_metadata;
use stayput_core::thaw::Readability;
use stayput_core::verdict::{
    Archived, Basis, Candidate, Incident, LaterReason, NeededBy, Sources, judge_archived,
};
use stayput_core::version::is_archive_class;

use super::looking::COPIES_MUST_LIVE;
use super::{Bench, Judged};
use crate::causes;
use crate::guard::{
    Cause, Class, Hand, Journal, LeaveReason, Moment, Naming, Notice, ObjectLocation, Outcome, PortError,
    Protect, Reading, RootKind, Verdict,
};
use crate::port::PortErrorKind;
use crate::survey::first_written;

/// So many objects are looked at at once.
const CONCURRENT: usize = 16;

impl<R, J, H> Bench<'_, R, J, H>
where
    R: Reading + Sync,
    J: Journal + Sync,
    H: Hand + Sync,
{
    /// One verdict on each of these that lies in an archive.
    pub(in crate::guard) async fn judge_archived(
        &mut self,
        objects: BTreeMap<ObjectLocation, NeededBy>,
    ) -> Vec<Judged> {
        for location in objects.keys() {
            let bucket = location.bucket();
            // Of a bucket that holds no root it wasn't asked yet. What isn't known passes for suspended, and is told only.
            if !self.versioning.contains_key(bucket)
                && let Ok(versioning) = self.eyes.reading.versioning(bucket).await
            {
                self.versioning.insert(bucket.to_owned(), versioning);
            }
        }
        let this = &*self;
        stream::iter(objects)
            .map(|(location, needed_by)| async move {
                match this.look_into_archive(&location, &needed_by).await {
                    Ok(judged) => judged,
                    Err(e) => Some(this.unread(location, &needed_by, &e)),
                }
            })
            .buffered(CONCURRENT)
            .filter_map(async |judged| judged)
            .collect()
            .await
    }

    /// What S3 says it has thawed is put right if it is visible, which no deletion is.
    pub(in crate::guard) async fn judge_thawed(&mut self, notices: &[Notice], judged: &mut [Judged]) {
        let left = |j: &Judged| matches!(j.verdict.outcome, Outcome::Leave(_));
        let thawed: BTreeMap<ObjectLocation, NeededBy> = notices
            .iter()
            .filter(|n| n.thawed)
            .filter(|n| judged.iter().any(|j| left(j) && j.verdict.location == n.location))
            .filter_map(|n| Some((n.location.clone(), self.who_needs(&n.location)?)))
            .collect();
        for in_archive in self.judge_archived(thawed).await {
            let place = judged
                .iter_mut()
                .find(|j| j.verdict.location == in_archive.verdict.location);
            if let Some(place) = place {
                *place = in_archive;
            }
        }
    }

    /// Who needs it most of those that stand.
    fn who_needs(&self, location: &ObjectLocation) -> Option<NeededBy> {
        let root = self.eyes.mandate.roots.find(location).map(|(root, _)| root.kind);
        if root == Some(RootKind::Ha) {
            return (!is_in_result_store(location.key())).then_some(NeededBy::HaStore);
        }
        let catalogue = &self.survey.catalogue;
        let plain = self.plain_key(location);
        let dormant_after = self.eyes.mandate.policy.dormant_after;
        let standing = catalogue.namings(location, &plain).into_iter().filter_map(|r| {
            let names = matches!(
                r.naming,
                Naming::ItsMetadata | Naming::Exact { .. } | Naming::Tail
            );
            let snapshot = catalogue
                .get(r.snapshot)
                .filter(|s| names && s.hidden.is_none())?;
            let class = catalogue.class(r.snapshot, Moment::Of(self.eyes.now), dormant_after);
            Some((class, snapshot.written, snapshot.metadata.clone()))
        });
        let (class, _, metadata) = standing.max()?;
        Some(NeededBy::Snapshot { metadata, class })
    }

    fn unread(&self, location: ObjectLocation, needed_by: &NeededBy, error: &PortError) -> Judged {
        let mut verdict = told(location, needed_by);
        verdict.outcome = Outcome::Later {
            not_before: self.eyes.now,
            why: LaterReason::Transient(error.to_string()),
        };
        Judged::from(verdict)
    }

    /// `None`: its bytes can be read, or it isn't there any more.
    async fn look_into_archive(
        &self,
        location: &ObjectLocation,
        needed_by: &NeededBy,
    ) -> Result<Option<Judged>, PortError> {
        let head = match self.eyes.reading.head(location, None).await {
            Ok(head) => Some(head),
            Err(e) if e.kind == PortErrorKind::NotFound => return Ok(None),
            // A key of the customer's own keeps even the head.
            Err(e) if e.kind == PortErrorKind::Unreadable => None,
            Err(e) => return Err(e),
        };
        let in_a_class = |class: Option<&str>| class.is_some_and(is_archive_class);
        if let Some(head) = &head
            && head.readability == Readability::Now
            && !in_a_class(head.storage_class.as_deref())
        {
            return Ok(None);
        }
        let history = self.eyes.history(location).await?;
        let Some(current) = history.current() else {
            return Ok(None);
        };
        let Some(head) = head else {
            return Ok(in_a_class(current.storage_class()).then(|| {
                let error = PortError::new(PortErrorKind::Unreadable, "HeadObject", location.to_string());
                let mut judged = Judged {
                    history: Some(history.clone()),
                    ..Judged::from(told(location.clone(), needed_by))
                };
                judged.tell_that_its_key_is_unusable(&error);
                judged
            }));
        };
        if head.version.as_ref().is_some_and(|id| *id != current.id) {
            let changed = PortError::new(PortErrorKind::Conflict, "HeadObject", location.to_string());
            return Err(changed.because("somebody wrote it at this moment"));
        }
        let count = head
            .metadata_value(copy_metadata::COUNT)
            .and_then(|c| c.parse().ok())
            .unwrap_or(0);
        let rules = self.rules(location);
        let root = self.eyes.mandate.roots.find(location).map(|(root, _)| root);
        let copy = RuledObject {
            key: location.key(),
            size: head.size,
            written: self.eyes.now,
            tags: None,
        };
        let soon = self.eyes.now.plus(COPIES_MUST_LIVE);
        let archived = Archived {
            location: location.clone(),
            needed_by: needed_by.clone(),
            sources: Sources {
                on_its_way_until: None,
                versioning: (self.versioning.get(location.bucket()).copied())
                    .unwrap_or(Versioning::Suspended),
                history: &history,
                candidate: Some(Candidate {
                    version: current,
                    restored_before: count,
                    first_written: first_written(&head),
                    readability: head.readability,
                }),
            },
            protect: root.map_or(Protect::Default, |r| r.protect),
            released: self.released(location),
            storage_class: root.and_then(|r| r.storage_class.as_deref()),
            rule: rules.and_then(|rules| causes::rule_that_archived(rules, current, self.eyes.now)),
            rule_takes_copies: rules
                .and_then(|rules| lifecycle_rules::archives(rules, copy))
                .is_some_and(|(_, at)| at < soon),
        };
        let verdict = judge_archived(&archived, self.eyes.now);
        Ok(Some(Judged {
            history: Some(history.clone()),
            ..Judged::from(verdict)
        }))
    }
}

/// Nothing more is known than that it lies in an archive.
fn told(location: ObjectLocation, needed_by: &NeededBy) -> Verdict {
    let (basis, class, decided_by): (_, Option<Class>, _) = match needed_by {
        NeededBy::HaStore => (Basis::HaObject, None, None),
        NeededBy::Snapshot { metadata, class } => (Basis::Referenced, Some(*class), Some(metadata.clone())),
    };
    Verdict {
        incident: Incident::Archival,
        decided_by,
        ..Verdict::left(location, LeaveReason::Visible, basis, class, Cause::Unknown)
    }
}
