//! Who put a marker there. Evidence is ranked: message, journal, a rule that fits; else nobody knows.

use std::collections::HashMap;
use std::time::Duration;

use s3_documents::lifecycle::LifecycleConfiguration;
use s3_documents::notification::{Agent, DeletedObject};
use stayput_core::cause::{Cause, Principals, WhyUnknown};
use stayput_core::lifecycle_rules::{self, RuledObject};
use stayput_core::location::ObjectLocation;
use stayput_core::timestamp::Timestamp;
use stayput_core::version::{KeyHistory, VersionEntry, VersionId, is_archive_class};

/// What messages told, kept between calls: the message of a marker and the look at it needn't come together.
#[derive(Debug, Default)]
pub struct ToldCauses {
    by_marker: HashMap<(ObjectLocation, VersionId), Cause>,
}

/// Beyond so many remembered markers the older ones are forgotten: the journal holds what matters.
const REMEMBERED: usize = 200_000;

impl ToldCauses {
    /// The cause that a message names.
    pub fn cause_in(deleted: &DeletedObject, principals: &Principals) -> Cause {
        match &deleted.agent {
            Agent::Lifecycle => Cause::Lifecycle,
            Agent::Principal(principal) => principals.cause_of(principal),
            Agent::Account(_) | Agent::Unknown => Cause::Unknown,
        }
    }

    /// Takes a message in. Of several about one marker the cause that asks most for a look is known, in whatever order they come: where versioning is suspended,
    /// who deletes a hidden key again puts the marker `null` in the place of the marker `null`.
    pub fn tell(&mut self, location: &ObjectLocation, marker: &VersionId, cause: Cause) {
        if self.by_marker.len() >= REMEMBERED {
            self.by_marker.clear();
        }
        let known = self
            .by_marker
            .entry((location.clone(), marker.clone()))
            .or_insert(Cause::Unknown);
        if outranks(&cause, known) {
            *known = cause;
        }
    }

    /// What messages said of this marker; `None` if no message named it.
    pub fn of(&self, location: &ObjectLocation, marker: &VersionId) -> Option<&Cause> {
        self.by_marker.get(&(location.clone(), marker.clone()))
    }
}

/// Why a message from which this cause follows leaves it open who did it; `None`: it doesn't.
pub fn why_unknown(deleted: &DeletedObject, cause: &Cause) -> Option<WhyUnknown> {
    (*cause == Cause::Unknown).then(|| match &deleted.agent {
        Agent::Principal(principal) => WhyUnknown::NobodyListed(principal.clone()),
        Agent::Account(_) => WhyUnknown::OnlyTheAccount,
        Agent::Lifecycle | Agent::Unknown => WhyUnknown::NotSaid,
    })
}

/// Whether a cause asks for a look more than another: what could be left unseen on one may not be on the other.
pub(crate) fn outranks(cause: &Cause, other: &Cause) -> bool {
    let rank = |cause: &Cause| match cause {
        Cause::Unknown => 0,
        Cause::Ours => 1,
        Cause::Flink => 2,
        Cause::Lifecycle => 3,
        Cause::Foreign(_) => 4,
    };
    match (cause, other) {
        (Cause::Foreign(who), Cause::Foreign(before)) => who > before,
        _ => rank(cause) > rank(other),
    }
}

/// Not every server waits for the midnight after the last day.
const UP_TO_MIDNIGHT: Duration = Duration::from_secs(86_400);

/// The rule that explains the marker directly above the data version, and the cause that follows.
pub fn by_rule<'r>(rules: &'r LifecycleConfiguration, history: &KeyHistory) -> Option<(&'r str, Cause)> {
    let (object, marker) = taken(history)?;
    lifecycle_rules::explains(rules, object, marker).map(|rule| (rule.name(), Cause::Lifecycle))
}

/// The name of the rule behind a marker of which a message says that a rule put it there: one that explains it, else one whose days had passed.
pub fn rule_behind<'r>(rules: &'r LifecycleConfiguration, history: &KeyHistory) -> Option<&'r str> {
    let (object, marker) = taken(history)?;
    let rule = lifecycle_rules::explains(rules, object, marker).or_else(|| {
        let (rule, from) = lifecycle_rules::hides(rules, object)?;
        (from <= marker.plus(UP_TO_MIDNIGHT)).then_some(rule)
    })?;
    Some(rule.name())
}

/// The name of the rule that moved a version to an archive, by what the bucket's rules say today.
pub fn rule_that_archived<'r>(
    rules: &'r LifecycleConfiguration,
    version: &VersionEntry,
    now: Timestamp,
) -> Option<&'r str> {
    let object = RuledObject {
        key: &version.key,
        size: version.size()?,
        written: version.last_modified,
        tags: None,
    };
    let (rule, from) = lifecycle_rules::archives(rules, object)?;
    (version.storage_class().is_some_and(is_archive_class) && from <= now).then_some(rule.name())
}

/// What the marker directly above the data version hides, and when it was put there.
fn taken(history: &KeyHistory) -> Option<(RuledObject<'_>, Timestamp)> {
    let marker = history.hidden()?.above_data;
    let data = history.data_versions().next()?;
    let object = RuledObject {
        key: &marker.key,
        size: data.size()?,
        written: data.last_modified,
        tags: None,
    };
    Some((object, marker.last_modified))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_messages_about_one_marker_the_order_doesnt_matter() {
        let location = ObjectLocation::new("b", "cp/j/chk-1/_metadata");
        let marker = VersionId::new("null");
        let causes = [
            Cause::Unknown,
            Cause::Ours,
            Cause::Flink,
            Cause::Lifecycle,
            Cause::Foreign("a".into()),
            Cause::Foreign("b".into()),
        ];
        for one in &causes {
            for other in &causes {
                let known = |first: &Cause, second: &Cause| {
                    let mut told = ToldCauses::default();
                    told.tell(&location, &marker, first.clone());
                    told.tell(&location, &marker, second.clone());
                    told.of(&location, &marker).cloned()
                };
                assert_eq!(known(one, other), known(other, one), "{one:?} {other:?}");
            }
        }
    }
}
