//! What everybody needs who looks at the world, and the two questions that everybody asks.

use std::collections::BTreeMap;

use s3_documents::lifecycle::LifecycleConfiguration;
use stayput_core::cause::Cause;
use stayput_core::layout::METADATA_FILE;
use stayput_core::location::ObjectLocation;
use stayput_core::snapshot::identity_of;
use stayput_core::timestamp::Timestamp;
use stayput_core::version::KeyHistory;

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
    pub(crate) now: Timestamp,
}

impl<R: Reading + Sync, J: Journal + Sync> Eyes<'_, R, J> {
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
        let told = self.told.of(location, marker).cloned();
        if let Some(cause) = told.filter(|c| *c != Cause::Unknown) {
            return Ok(cause);
        }
        if ask_journal {
            let remembered = if location.file_name() == METADATA_FILE {
                let (kind, job) = identity_of(location);
                self.memory.who_hid(&job, kind.id(), location, marker).await?
            } else {
                self.memory.cause(location, marker).await?
            };
            if let Some(cause) = remembered {
                return Ok(cause);
            }
        }
        let rules = self.rules.get(location.bucket());
        Ok(rules
            .and_then(|r| causes::by_rule(r, history))
            .map_or(Cause::Unknown, |(_, cause)| cause))
    }
}
