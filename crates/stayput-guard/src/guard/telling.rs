//! What people are told: findings, by snapshot and code, and the handle behind each verdict.

use std::collections::{BTreeMap, BTreeSet};

use stayput_core::cause::{Cause, WhyUnknown};
use stayput_core::chain::{NamedBy, named_by};
use stayput_core::location::ObjectLocation;
use stayput_core::loss::MetadataState;
use stayput_core::report::finding::{Finding, FindingCode};
use stayput_core::report::recovery::Way;
use stayput_core::snapshot::{Contents, identity_of};
use stayput_core::timestamp::Timestamp;
use stayput_core::verdict::{Incident, LaterReason, Outcome};

use super::judging::{Bench, Judged};
use super::undo::undo_command;
use crate::batch::Done;
use crate::causes;
use crate::inspect::inspect;
use crate::port::{Journal, Reading};
use crate::restore::Hand;

/// So many checkpoints of a directory are looked at to find one that still works.
const TRIED_FOR_HEALTH: usize = 4;

impl<R, J, H> Bench<'_, R, J, H>
where
    R: Reading + Sync,
    J: Journal + Sync,
    H: Hand + Sync,
{
    /// Reads each snapshot that decided anything once more, to say which handle names the object. What can't be read isn't explained.
    pub(super) async fn named_by(&self, judged: &[Judged]) -> BTreeMap<ObjectLocation, NamedBy> {
        let mut wanted: BTreeMap<&ObjectLocation, Vec<ObjectLocation>> = BTreeMap::new();
        for j in judged
            .iter()
            .filter(|j| !matches!(j.verdict.outcome, Outcome::Leave(_)))
        {
            if let Some(snapshot) = j
                .verdict
                .decided_by
                .as_ref()
                .filter(|s| **s != j.verdict.location)
            {
                wanted
                    .entry(snapshot)
                    .or_default()
                    .push(j.verdict.location.clone());
            }
        }
        let mut found = BTreeMap::new();
        for (metadata, objects) in wanted {
            let version = self
                .survey
                .catalogue
                .at(metadata)
                .and_then(|id| self.survey.catalogue.get(id))
                .and_then(|s| s.version.as_ref());
            let body = self
                .eyes
                .reading
                .body(metadata, version, self.eyes.mandate.metadata_limit.bytes())
                .await;
            let (mut of_snapshot, mut etag) = (BTreeMap::new(), None);
            if let Ok(body) = body {
                of_snapshot = named_by(&body.bytes, metadata, &objects, &self.eyes.mandate.roots);
                etag = Some(body.head.etag);
            }
            for object in objects {
                if let Some(sink) = self.survey.sinks.named_by(metadata, &object) {
                    of_snapshot.entry(object).or_insert(sink);
                }
            }
            for named in of_snapshot.values_mut() {
                if etag.is_some() {
                    named.etag.clone_from(&etag);
                }
            }
            found.extend(of_snapshot);
        }
        found
    }

    /// A finding about one thing. If that can't be read, it says why, and what helps against that.
    fn finding(&self, code: FindingCode, about: &ObjectLocation) -> Finding {
        let mut finding = Finding::new(code, about.to_string());
        let snapshot = self
            .survey
            .catalogue
            .at(about)
            .and_then(|id| self.survey.catalogue.get(id));
        if code == FindingCode::CannotJudge
            && let Some(snapshot) = snapshot
            && let Contents::Unreadable { why, .. } = &snapshot.contents
        {
            finding.because = Some(why.to_string());
            finding.next_step = format!("{} The deletions can be undone until the deadline.", why.remedy());
        }
        finding
    }

    /// One finding per snapshot and code, with what came of each object, and only those that are news.
    pub(super) async fn findings(&mut self, judged: &[Judged], done: &[Done]) -> Vec<Finding> {
        let mut all: BTreeMap<(FindingCode, String), Finding> = BTreeMap::new();
        let mut nameless: BTreeMap<String, &WhyUnknown> = BTreeMap::new();
        let mut latest: Option<Timestamp> = None;
        for (j, done) in judged.iter().zip(done) {
            let verdict = &j.verdict;
            let way = Way::of(done);
            let about = verdict.decided_by.as_ref().unwrap_or(&verdict.location);
            let of_outcome = match verdict.outcome {
                Outcome::Report(code) | Outcome::Lost(code) => Some((code, about.clone())),
                Outcome::Leave(_) | Outcome::Restore(_) | Outcome::Later { .. } => None,
            };
            let codes: BTreeSet<_> = verdict.findings.iter().cloned().chain(of_outcome).collect();
            for (code, about) in codes {
                let finding = all
                    .entry((code, about.to_string()))
                    .or_insert_with(|| self.finding(code, &about));
                finding.count(&verdict.location);
                if code == FindingCode::VersionKeyUnusable && finding.because.is_none() {
                    finding.because.clone_from(&j.because);
                }
                if let (FindingCode::Archived | FindingCode::ArchivedInPlace, Some(ready_by)) =
                    (code, thawed_by(&verdict.outcome, self.eyes.now))
                {
                    latest = latest.max(Some(ready_by));
                    finding.because =
                        latest.map(|at| format!("S3 was asked to thaw it, which is done by {at}"));
                }
                if let Some(rule) = self.rule_to_change(j).filter(|_| code.asks_for_another_rule()) {
                    finding.name_rule(rule);
                }
                if code == FindingCode::DeletedNeeded {
                    let known = nameless.entry(about.to_string()).or_insert(&j.why_unknown);
                    *known = (*known).min(&j.why_unknown);
                }
                if let Some(way) = way {
                    finding.recovers(way, &verdict.location, version_of(j, way), self.eyes.now);
                }
                // Nobody needs to undo what is back.
                if way.is_some_and(Way::is_back) {
                    continue;
                }
                finding.deadline = match (finding.deadline, j.deadline) {
                    (Some(a), Some(b)) => Some(a.min(b)),
                    (a, b) => a.or(b),
                };
                if finding.undo.is_none() {
                    finding.undo = undo_command(&verdict.location, j.history.as_ref());
                }
            }
        }
        for (about, why) in nameless {
            if let Some(finding) = all.get_mut(&(FindingCode::DeletedNeeded, about)) {
                self.say_why_nobody_is_known(finding, why);
            }
        }
        self.say_what_still_works(judged, &mut all).await;
        let mut news = Vec::new();
        for finding in all.into_values().chain(self.survey.ha.findings()) {
            // A finding whose memory can't be asked is sent: twice is better than never.
            if self
                .eyes
                .memory
                .is_news(&finding, self.eyes.now)
                .await
                .unwrap_or(true)
            {
                news.push(finding);
            }
        }
        news.sort_by_key(|f| std::cmp::Reverse(f.severity));
        news
    }

    /// Why nobody is known, and only that advice which isn't followed already.
    fn say_why_nobody_is_known(&self, finding: &mut Finding, why: &WhyUnknown) {
        finding.because = Some(why.reason());
        let remedy = why.remedy(!self.eyes.mandate.principals.flink.is_empty());
        if !remedy.is_empty() {
            finding.next_step = format!("{} {remedy}", finding.next_step);
        }
    }

    /// The rule that took an object, where a rule did.
    fn rule_to_change(&self, judged: &Judged) -> Option<&str> {
        let history = judged
            .history
            .as_ref()
            .filter(|_| judged.verdict.cause == Cause::Lifecycle)?;
        let rules = self.rules(&judged.verdict.location)?;
        match judged.verdict.incident {
            Incident::Archival => causes::rule_that_archived(rules, history.current()?, self.eyes.now),
            Incident::Deletion | Incident::Mismatch => causes::rule_behind(rules, history),
        }
    }

    /// Of a loss people ask at once: what is broken by it, and what can the job still be restored from?
    async fn say_what_still_works(
        &mut self,
        judged: &[Judged],
        findings: &mut BTreeMap<(FindingCode, String), Finding>,
    ) {
        let mut working: BTreeMap<ObjectLocation, Option<String>> = BTreeMap::new();
        for j in judged {
            let (Outcome::Lost(code), Some(about)) = (&j.verdict.outcome, &j.verdict.decided_by) else {
                continue;
            };
            let broken: Vec<ObjectLocation> = self
                .survey
                .catalogue
                .namings(&j.verdict.location, &self.plain_key(&j.verdict.location))
                .iter()
                .filter_map(|r| self.survey.catalogue.get(r.snapshot))
                .filter(|s| s.hidden.is_none())
                .map(|s| s.metadata.clone())
                .collect();
            if !working.contains_key(about) {
                let newest = self.newest_that_works(about).await;
                working.insert(about.clone(), newest);
            }
            let Some(finding) = findings.get_mut(&(*code, about.to_string())) else {
                continue;
            };
            for metadata in broken.iter().map(ToString::to_string) {
                if !finding.broken.contains(&metadata) {
                    finding.broken.push(metadata);
                }
            }
            finding.newest_that_works = working.get(about).cloned().flatten();
        }
    }

    /// The newest visible checkpoint of the same directory of which nothing is missing; of those beside it, the newest few are tried.
    async fn newest_that_works(&mut self, about: &ObjectLocation) -> Option<String> {
        let job = identity_of(about).1;
        let mut beside: Vec<(Timestamp, ObjectLocation)> = self
            .survey
            .catalogue
            .iter()
            .filter(|(_, s)| s.job == job && s.hidden.is_none() && s.facts().is_some())
            .map(|(_, s)| (s.written, s.metadata.clone()))
            .collect();
        beside.sort();
        for (_, metadata) in beside.into_iter().rev().take(TRIED_FOR_HEALTH) {
            let seen = inspect(&self.eyes, self.survey, &metadata, &BTreeSet::new()).await;
            if let Ok(Some((_, seen))) = seen
                && seen.loss.missing.is_empty()
                && seen.overwritten.is_empty()
                && seen.loss.metadata == MetadataState::Stands
            {
                return Some(metadata.to_string());
            }
        }
        None
    }
}

/// The version that an object came back from, or would; `None`: what is visible is somebody else's.
fn version_of(judged: &Judged, way: Way) -> Option<&str> {
    match &judged.verdict.outcome {
        Outcome::Restore(permit) if way != Way::WrittenByOthers => Some(permit.source().version.as_str()),
        _ => None,
    }
}

/// By when a version that was just asked for is thawed.
fn thawed_by(outcome: &Outcome, now: Timestamp) -> Option<Timestamp> {
    match outcome {
        Outcome::Later {
            not_before,
            why: LaterReason::Thaw(_),
        } if *not_before > now => Some(*not_before),
        _ => None,
    }
}
