//! What a guard watches, and how far it may go: the settings, as the use cases need them.

use std::time::Duration;

use stayput_core::cause::Principals;
use stayput_core::location::ObjectLocation;
use stayput_core::metadata_limit::MetadataLimit;
use stayput_core::root::Roots;
use stayput_core::timestamp::Timestamp;
use stayput_core::verdict::Policy;

/// What a guard watches, and how.
#[derive(Clone, Debug)]
pub struct Mandate {
    /// All roots.
    pub roots: Roots,
    /// The prefix of the journal and the switches; its key ends in `/` or is empty. `None`: nothing is remembered between processes.
    pub control: Option<ObjectLocation>,
    /// Whose deletions mean what.
    pub principals: Principals,
    /// Delays and ages of the verdict table.
    pub policy: Policy,
    /// Listings are used no longer than this.
    pub catalogue_max_age: Duration,
    /// A `_metadata` longer than this isn't read, and those that are read at the same time aren't longer together.
    pub metadata_limit: MetadataLimit,
    /// A `_metadata` of so many bytes or more gets a sidecar in the control prefix, and is read from it where there is one.
    pub sidecars_from: u64,
    /// The day of installation: older markers are history. `None`: everything counts.
    pub protect_since: Option<Timestamp>,
    /// At most so many objects are copied on one day (UTC), by all instances under one control prefix; without one, in one call.
    pub objects_per_day: u64,
    /// At most so many bytes, likewise.
    pub bytes_per_day: u64,
}

/// [`Mandate::sidecars_from`], unless somebody says otherwise. Below it one GET of the `_metadata` takes about as long as asking for its
/// head and its sidecar.
pub const SIDECARS_FROM: u64 = 4 << 20;

impl Mandate {
    /// Whether a marker counts: not older than the day of installation. Lifecycle markers are dated midnight, so that day counts whole.
    pub fn counts(&self, marker: Timestamp) -> bool {
        self.protect_since.is_none_or(|since| {
            let since = if marker.is_midnight() {
                since.midnight()
            } else {
                since
            };
            marker >= since
        })
    }
}
