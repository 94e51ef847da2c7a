//! What persons switch: a pause, pins and releases. Nothing is ever deleted, a switch that was taken back says so.

use serde::{Deserialize, Serialize};
use stayput_core::location::{Location, ObjectLocation};
use stayput_core::timestamp::Timestamp;

use super::{Memory, hash};
use crate::port::{Journal, PortError};

/// What persons switched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// Nothing is restored.
    pub paused: bool,
    /// Snapshots below these locations count as running.
    pub pinned: Vec<ObjectLocation>,
    /// Deletions below these locations are intended.
    pub released: Vec<ObjectLocation>,
}

impl Switches {
    /// Whether an object, or a directory above it, is pinned.
    pub fn pins(&self, object: &ObjectLocation) -> bool {
        self.pinned.iter().any(|named| covers(named, object))
    }

    /// Whether deletions of an object, or of everything in a directory above it, are intended.
    pub fn releases(&self, object: &ObjectLocation) -> bool {
        self.released.iter().any(|named| covers(named, object))
    }
}

/// A name of a directory covers what lies in it, and no other that begins alike: `chk-5` isn't `chk-50`.
fn covers(named: &ObjectLocation, object: &ObjectLocation) -> bool {
    let directory = named.key().trim_end_matches('/');
    let below = object.key().strip_prefix(directory);
    named.bucket() == object.bucket()
        && below.is_some_and(|rest| directory.is_empty() || rest.is_empty() || rest.starts_with('/'))
}

/// Which switch of those that name a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// `stayput pin`.
    Pin,
    /// `stayput release`.
    Release,
}

impl Switch {
    fn name(self, uri: &str) -> String {
        let word = match self {
            Self::Pin => "pin",
            Self::Release => "release",
        };
        format!("switch/{word}/{}", hash(&[uri]))
    }
}

const PAUSE: &str = "switch/pause";

#[derive(Serialize, Deserialize)]
struct Paused {
    paused: bool,
    since: Timestamp,
}

#[derive(Serialize, Deserialize)]
struct Uri {
    uri: String,
    /// Taken back: nothing is ever deleted, here neither.
    #[serde(default)]
    off: bool,
}

impl<J: Journal> Memory<J> {
    /// What persons switched: one listing, and one read for each.
    pub async fn switches(&self) -> Result<Switches, PortError> {
        let mut switches = Switches::default();
        for name in self.names("switch/").await? {
            if name == PAUSE {
                switches.paused = self.is_paused().await?;
                continue;
            }
            let list = match name.split('/').nth(1) {
                Some("pin") => &mut switches.pinned,
                Some("release") => &mut switches.released,
                _ => continue,
            };
            if let Some(Uri { uri, off: false }) = self.read(&name).await?
                && let Ok(Location::S3(location)) = Location::parse_flink_path(&uri)
            {
                list.push(location);
            }
        }
        Ok(switches)
    }

    /// Whatever a person put there pauses; only a document that says so itself doesn't.
    async fn is_paused(&self) -> Result<bool, PortError> {
        let Some(journal) = &self.journal else {
            return Ok(false);
        };
        let Some(bytes) = journal.read(PAUSE, super::LONGEST_DOCUMENT).await? else {
            return Ok(false);
        };
        let resumed = serde_json::from_slice(&bytes).is_ok_and(|Paused { paused, .. }| !paused);
        Ok(!resumed)
    }

    /// Switches a pin or release on.
    pub async fn switch_on(&self, switch: Switch, uri: &str) -> Result<(), PortError> {
        self.switch(switch, uri, false).await
    }

    /// Takes a pin or release back. `uri` as it was given to [`Self::switch_on`].
    pub async fn switch_off(&self, switch: Switch, uri: &str) -> Result<(), PortError> {
        self.switch(switch, uri, true).await
    }

    async fn switch(&self, switch: Switch, uri: &str, off: bool) -> Result<(), PortError> {
        let document = Uri {
            uri: uri.to_owned(),
            off,
        };
        self.write(&switch.name(uri), &document).await
    }

    /// Pauses: nothing is restored until [`Self::resume`].
    pub async fn pause(&self, now: Timestamp) -> Result<(), PortError> {
        let (paused, since) = (true, now);
        self.write(PAUSE, &Paused { paused, since }).await
    }

    /// Goes on.
    pub async fn resume(&self, now: Timestamp) -> Result<(), PortError> {
        let (paused, since) = (false, now);
        self.write(PAUSE, &Paused { paused, since }).await
    }
}

#[cfg(test)]
mod tests {
    use super::covers;
    use stayput_core::location::ObjectLocation;

    #[test]
    fn a_directory_covers_what_lies_in_it_and_no_other_that_begins_alike() {
        let at = |key: &str| ObjectLocation::new("b", key);
        for named in ["cp/j/chk-5", "cp/j/chk-5/", "cp/j/", "", "cp/j/chk-5/_metadata"] {
            assert!(covers(&at(named), &at("cp/j/chk-5/_metadata")), "{named}");
        }
        for named in ["cp/j/chk-", "cp/j/chk-50", "cp/j2/", "cp/j/chk-5/_meta"] {
            assert!(!covers(&at(named), &at("cp/j/chk-5/_metadata")), "{named}");
        }
        assert!(!covers(
            &ObjectLocation::new("c", "cp/"),
            &at("cp/j/chk-5/_metadata")
        ));
    }
}
