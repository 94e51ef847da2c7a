//! What comes from another bucket.

use s3_model::Model;
use stayput_core::version::VersionId;

use super::{Hand, Happened, Store};
use crate::clock::Millis;

/// The bucket that jobs write to, where the one that the function watches is its replica.
const ORIGIN: &str = "origin";

impl Store {
    /// The bucket that is replicated. No rules lie on it, and nobody but jobs reaches it.
    pub fn origin(model: &Model) -> Self {
        Self::named(ORIGIN, model, &[])
    }

    /// A version or marker of the origin comes here: with its id and its date, as S3 replicates it, and above all that is there. Whether it was data.
    pub fn replicate(&mut self, origin: &Self, key: &str, version: &str) -> bool {
        let Some(mut stored) = origin.bucket.version(key, &VersionId::new(version)) else {
            return false;
        };
        let (id, is_data) = (stored.id.clone(), stored.object.is_some());
        if let Some(object) = &mut stored.object {
            object.replica = true;
        }
        let was_visible = self.bucket.is_visible(key);
        self.bucket.add_version(key, stored);
        if is_data {
            self.hidden.remove(key);
            self.unhidden.remove(key);
            self.remember_version(key, id.clone());
            self.arrived.insert(key.to_owned(), self.now());
            self.tell(key, Happened::Written(id.to_string()), Hand::Replication);
        } else {
            self.note_hidden(key, &id, Hand::Replication, was_visible);
        }
        is_data
    }

    /// When data was last replicated to a key.
    pub fn arrived_at(&self, key: &str) -> Option<Millis> {
        self.arrived.get(key).copied()
    }
}
