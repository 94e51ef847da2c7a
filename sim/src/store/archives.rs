//! What rules moved to an archive, where nothing can be read before it is thawed.

use stayput_core::version::VersionId;

use super::{Hand, Happened, Store};
use crate::clock::Millis;
use crate::scenario::Archive;

impl Store {
    /// A rule moves a version to an archive. Whether it is still there.
    pub fn archive(&mut self, key: &str, version: &str, to: Archive) -> bool {
        let id = VersionId::new(version);
        let moved = self.bucket.edit(key, &id, |object| {
            object.storage_class = Some(to.class().to_owned());
        });
        if moved {
            self.moved.insert((key.to_owned(), id), self.now());
        }
        moved
    }

    /// Since when a version lies in an archive, thawed or not.
    pub fn archived_since(&self, key: &str, version: &str) -> Option<Millis> {
        if self.moved.is_empty() {
            return None;
        }
        let of = (key.to_owned(), VersionId::new(version));
        self.moved.get(&of).copied()
    }

    /// Whether some data version of a key lies in an archive, thawed or not.
    pub fn has_archived_version(&self, key: &str) -> bool {
        let mut moved = self.moved.keys();
        moved.any(|(of, _)| of == key)
    }

    /// Since when what is visible at a key can't be read, as it lies in an archive.
    pub fn unreadable_since(&self, key: &str) -> Option<Millis> {
        if self.moved.is_empty() {
            return None;
        }
        let current = self.bucket.current(key)?;
        let is_archived = current.object.is_some_and(|object| object.is_archived());
        let since = self.moved.get(&(key.to_owned(), current.id))?;
        is_archived.then_some(*since)
    }

    /// When the bytes of a version can be read, of which that was asked.
    pub fn thawed_at(&self, key: &str, version: &str) -> Option<Millis> {
        let stored = self.bucket.version(key, &VersionId::new(version))?;
        Some(stored.object?.thaw?.ready.millis())
    }

    /// Whether nobody can read the newest data of a key, visible or hidden, as it lies in an archive.
    pub fn is_out_of_reach(&self, key: &str) -> bool {
        if self.moved.is_empty() {
            return false;
        }
        let history = self.bucket.history(key);
        let newest = history.data_versions().next();
        let stored = newest.and_then(|v| self.bucket.version(key, &v.id));
        stored
            .and_then(|v| v.object)
            .is_some_and(|object| object.is_archived())
    }

    /// Tells that the bytes of a version can be read, if they can.
    pub fn tell_of_thaw(&mut self, key: &str, version: &str) {
        let stored = self.bucket.version(key, &VersionId::new(version));
        if stored.and_then(|v| v.object).is_some_and(|object| object.thawed) {
            self.tell(key, Happened::Thawed(version.to_owned()), Hand::Rule);
        }
    }
}
