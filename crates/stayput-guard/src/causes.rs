//! Who put a marker there. Evidence is ranked: message, journal, a rule that fits; else nobody knows.

use std::collections::HashMap;

use s3_documents::lifecycle::LifecycleConfiguration;
use s3_documents::notification::{Agent, DeletedObject};
use stayput_core::cause::{Cause, Principals};
use stayput_core::lifecycle_rules::{self, RuledObject};
use stayput_core::location::ObjectLocation;
use stayput_core::version::{KeyHistory, VersionId};

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

    /// Takes a message in. What is known of a marker is never replaced by "unknown".
    pub fn tell(&mut self, location: &ObjectLocation, marker: &VersionId, cause: Cause) {
        if self.by_marker.len() >= REMEMBERED {
            self.by_marker.clear();
        }
        let known = self
            .by_marker
            .entry((location.clone(), marker.clone()))
            .or_insert(Cause::Unknown);
        if cause != Cause::Unknown {
            *known = cause;
        }
    }

    /// What messages said of this marker; `None` if no message named it.
    pub fn of(&self, location: &ObjectLocation, marker: &VersionId) -> Option<&Cause> {
        self.by_marker.get(&(location.clone(), marker.clone()))
    }
}

/// The rule that explains the marker directly above the data version, and the cause that follows.
pub fn by_rule<'r>(rules: &'r LifecycleConfiguration, history: &KeyHistory) -> Option<(&'r str, Cause)> {
    let marker = history.hidden()?.above_data;
    let data = history.data_versions().next()?;
    let object = RuledObject {
        key: &marker.key,
        size: data.size()?,
        written: data.last_modified,
        tags: None,
    };
    lifecycle_rules::explains(rules, object, marker.last_modified).map(|rule| (rule.name(), Cause::Lifecycle))
}
