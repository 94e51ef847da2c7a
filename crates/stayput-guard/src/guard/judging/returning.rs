//! What comes back with a `_metadata`, though no message of the call tells of it.

use std::collections::{BTreeMap, BTreeSet};

use stayput_core::loss::{MetadataState, WHOLE_WITHIN};

use super::{Bench, Judged};
use crate::guard::{Cause, Hand, Journal, Notice, ObjectLocation, Outcome, PortError, Reading, Timestamp};
use crate::inspect::Inspected;

impl<R, J, H> Bench<'_, R, J, H>
where
    R: Reading + Sync,
    J: Journal + Sync,
    H: Hand + Sync,
{
    /// Who brings back the files of a hidden `_metadata` asks for that too: its own message may be lost, or was answered when a newer checkpoint still
    /// stood that Flink took back since.
    pub(super) fn metadata_of_returning_files(&self, judged: &[Judged]) -> Vec<Notice> {
        let answered = answered_in(judged);
        let mut hidden: BTreeMap<&ObjectLocation, Notice> = BTreeMap::new();
        for j in judged {
            let (Outcome::Restore(_), Some(metadata)) = (&j.verdict.outcome, &j.verdict.decided_by) else {
                continue;
            };
            let loss = self.inspected.get(metadata).map(|i| &i.loss.metadata);
            if let (Some(MetadataState::Hidden { at, cause }), false) = (loss, answered.contains(metadata)) {
                hidden
                    .entry(metadata)
                    .or_insert_with(|| Notice::without_a_message(metadata.clone(), cause.clone(), *at));
            }
        }
        hidden.into_values().collect()
    }

    /// A `_metadata` comes back only when all that it names is there, also what no message of this call tells of: messages come in any
    /// order, and while nobody knew of the hidden `_metadata`, the answer to the others was that nobody names them. What Flink deleted, or
    /// what went at another time, is no part of that deletion.
    pub(super) fn what_returning_metadata_lack(&self, judged: &[Judged]) -> Vec<Notice> {
        let answered = answered_in(judged);
        let mut lacking: BTreeMap<&ObjectLocation, Notice> = BTreeMap::new();
        for (_, inspected, hidden_at) in self.returning(judged) {
            for missing in &inspected.loss.missing {
                let Some(at) = missing.history.hidden().map(|h| h.above_data.last_modified) else {
                    continue;
                };
                if comes_back_with_it(at, hidden_at, &missing.cause) && !answered.contains(&missing.location)
                {
                    lacking.entry(&missing.location).or_insert_with(|| {
                        Notice::without_a_message(missing.location.clone(), missing.cause.clone(), at)
                    });
                }
            }
        }
        lacking.into_values().collect()
    }

    /// Likewise the tails of its sinks, which no handle names: what is missing of a snapshot doesn't count them.
    pub(super) async fn tails_of_returning_metadata(&mut self, judged: &[Judged]) -> Vec<Notice> {
        let answered = answered_in(judged);
        let returning: Vec<(ObjectLocation, Timestamp)> = self
            .returning(judged)
            .map(|(metadata, _, hidden_at)| (metadata.clone(), hidden_at))
            .collect();
        let mut notices: BTreeMap<ObjectLocation, Notice> = BTreeMap::new();
        for (metadata, hidden_at) in returning {
            self.survey.read_sinks(&self.eyes, &metadata).await;
            let catalogue = &self.survey.catalogue;
            let tails = catalogue.at(&metadata).into_iter();
            let tails: Vec<ObjectLocation> = tails
                .flat_map(|id| catalogue.tails_of(id))
                .map(|tail| catalogue.index.location(tail))
                .filter(|tail| !answered.contains(tail))
                .collect();
            for tail in tails {
                let (at, cause) = match self.who_took(&tail).await {
                    Ok(Some(taken)) => taken,
                    Ok(None) => continue,
                    // The verdict says that it couldn't be read, and the sweep looks again.
                    Err(_) => (hidden_at, Cause::Unknown),
                };
                if comes_back_with_it(at, hidden_at, &cause) {
                    notices
                        .entry(tail.clone())
                        .or_insert_with(|| Notice::without_a_message(tail, cause, at));
                }
            }
        }
        notices.into_values().collect()
    }

    /// `_metadata` that come back, what was seen of their snapshots, and when they were hidden.
    fn returning<'j>(
        &'j self,
        judged: &'j [Judged],
    ) -> impl Iterator<Item = (&'j ObjectLocation, &'j Inspected, Timestamp)> {
        judged
            .iter()
            .filter(|j| matches!(j.verdict.outcome, Outcome::Restore(_)))
            .filter_map(|j| {
                let metadata = &j.verdict.location;
                let inspected = self.inspected.get(metadata)?;
                match inspected.loss.metadata {
                    MetadataState::Hidden { at, .. } => Some((metadata, inspected, at)),
                    MetadataState::Stands | MetadataState::Gone => None,
                }
            })
    }

    /// When a key was hidden and by whom; `None`: it is visible, or was never there.
    async fn who_took(&self, location: &ObjectLocation) -> Result<Option<(Timestamp, Cause)>, PortError> {
        let history = self.eyes.history(location).await?;
        let Some(at) = history.hidden().map(|h| h.above_data.last_modified) else {
            return Ok(None);
        };
        Ok(Some((at, self.eyes.cause_of(location, &history, true).await?)))
    }
}

fn answered_in(judged: &[Judged]) -> BTreeSet<&ObjectLocation> {
    judged.iter().map(|j| &j.verdict.location).collect()
}

/// Whether what was hidden then, by that cause, comes back with the `_metadata` that was hidden at the other time: what a rule or a stranger took, whenever
/// that was, and what nobody known took if it went with it.
fn comes_back_with_it(at: Timestamp, metadata_at: Timestamp, cause: &Cause) -> bool {
    let apart = at.since(metadata_at).max(metadata_at.since(at));
    match cause {
        Cause::Lifecycle | Cause::Foreign(_) => true,
        Cause::Unknown => apart <= WHOLE_WITHIN,
        Cause::Flink | Cause::Ours => false,
    }
}
