//! What everybody needs who looks at the world, and the two questions that everybody asks.

use std::collections::{BTreeMap, BTreeSet};

use s3_documents::lifecycle::LifecycleConfiguration;
use stayput_core::cause::Cause;
use stayput_core::layout::METADATA_FILE;
use stayput_core::location::ObjectLocation;
use stayput_core::snapshot::identity_of;
use stayput_core::timestamp::Timestamp;
use stayput_core::version::{KeyHistory, VersionId};

use crate::causes::{self, ToldCauses};
use crate::mandate::Mandate;
use crate::memory::{Memory, Switches};
use crate::port::{Journal, PortError, Reading, VersionsOf};

/// What everybody needs who looks: borrowed for one call.
pub(crate) struct Eyes<'g, R, J> {
    pub(crate) reading: &'g R,
    pub(crate) memory: &'g Memory<J>,
    pub(crate) mandate: &'g Mandate,
    pub(crate) told: &'g ToldCauses,
    pub(crate) switches: &'g Switches,
    pub(crate) rules: &'g BTreeMap<String, LifecycleConfiguration>,
    /// Buckets whose rules nobody may read, and that pass for buckets without any.
    pub(crate) rules_unknown: &'g BTreeSet<String>,
    pub(crate) now: Timestamp,
}

impl<R: Reading + Sync, J: Journal + Sync> Eyes<'_, R, J> {
    /// A bucket's rules, if somebody could read them.
    pub(crate) fn known_rules(&self, bucket: &str) -> Option<&LifecycleConfiguration> {
        let rules = self.rules.get(bucket)?;
        (!self.rules_unknown.contains(bucket)).then_some(rules)
    }

    /// All versions and markers of one key.
    pub(crate) async fn history(&self, location: &ObjectLocation) -> Result<KeyHistory, PortError> {
        let of = VersionsOf {
            bucket: location.bucket(),
            prefix: location.key(),
            by_directory: false,
            after_key: None,
            pages: Some(1),
        };
        let mut listing = self.reading.versions(of.clone()).await?;
        // Longer keys sort after the key itself, so its rows are on the first page unless there are a thousand of them.
        if listing.truncated && listing.entries.iter().all(|e| e.key == location.key()) {
            listing = self.reading.versions(VersionsOf { pages: None, ..of }).await?;
        }
        listing.entries.retain(|e| e.key == location.key());
        Ok(KeyHistory::new(listing.entries))
    }

    /// Who put the marker directly above the data version there: message, journal, rule.
    pub(crate) async fn cause_of(
        &self,
        location: &ObjectLocation,
        history: &KeyHistory,
        ask_journal: bool,
    ) -> Result<Cause, PortError> {
        let Some(hidden) = history.hidden() else {
            return Ok(Cause::Unknown);
        };
        let marker = &hidden.above_data.id;
        let heard = if ask_journal {
            self.heard_who_hid(location, marker).await?
        } else {
            self.told_who_hid(location, marker)
        };
        if let Some(cause) = heard {
            return Ok(cause);
        }
        let rules = self.rules.get(location.bucket());
        Ok(rules
            .and_then(|r| causes::by_rule(r, history))
            .map_or(Cause::Unknown, |(_, cause)| cause))
    }

    /// Who put this marker there, as far as messages or the journal say; `None`: nobody was heard of.
    pub(crate) async fn heard_who_hid(
        &self,
        location: &ObjectLocation,
        marker: &VersionId,
    ) -> Result<Option<Cause>, PortError> {
        if let Some(cause) = self.told_who_hid(location, marker) {
            return Ok(Some(cause));
        }
        if location.file_name() == METADATA_FILE {
            let (kind, job) = identity_of(location);
            self.memory.who_hid(&job, kind.id(), location, marker).await
        } else {
            self.memory.cause(location, marker).await
        }
    }

    fn told_who_hid(&self, location: &ObjectLocation, marker: &VersionId) -> Option<Cause> {
        let told = self.told.of(location, marker).cloned();
        told.filter(|cause| *cause != Cause::Unknown)
    }

    /// Whether the marker passes for a rule's where nobody was heard of. Then who it really was must be remembered, of Flink too.
    pub(crate) fn passes_for_a_rules(&self, location: &ObjectLocation, history: &KeyHistory) -> bool {
        let rules = self.rules.get(location.bucket());
        rules.is_some_and(|rules| causes::by_rule(rules, history).is_some())
    }
}
