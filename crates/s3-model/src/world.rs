//! What clients share: the buckets, the time, and the counter that ids are made from.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use s3_documents::bucket::Versioning;
use s3_documents::lifecycle::LifecycleConfiguration;
use stayput_core::timestamp::Timestamp;
use stayput_core::version::VersionId;

use crate::object::{Object, StoredVersion};

/// Buckets, time and ids.
#[derive(Debug)]
pub(crate) struct World {
    buckets: Mutex<BTreeMap<String, Arc<BucketState>>>,
    now: AtomicI64,
    ids: AtomicU64,
}

/// One bucket.
#[derive(Debug)]
pub(crate) struct BucketState {
    pub(crate) name: String,
    contents: Mutex<Contents>,
}

/// What is in a bucket and how it is set up.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) versioning: Versioning,
    pub(crate) lifecycle: LifecycleConfiguration,
    /// Of each key the versions and markers, the oldest first: the last one is the current one. No stack is empty.
    /// Keys are in the order of their UTF-8 bytes, as in S3's listings.
    pub(crate) keys: BTreeMap<String, Vec<StoredVersion>>,
}

/// Whoever panicked while holding the lock left the map whole: every change is a single insertion or removal.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    pub(crate) fn new(now: Timestamp) -> Self {
        Self {
            buckets: Mutex::default(),
            now: AtomicI64::new(now.millis()),
            ids: AtomicU64::new(1),
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.now.load(Ordering::SeqCst))
    }

    pub(crate) fn set_now(&self, now: Timestamp) {
        self.now.store(now.millis(), Ordering::SeqCst);
    }

    /// Now, as S3 dates an object: to the second.
    pub(crate) fn last_modified(&self) -> Timestamp {
        let millis = self.now().millis();
        Timestamp::from_millis(millis.saturating_sub(millis.rem_euclid(1000)))
    }

    pub(crate) fn fresh_id(&self) -> VersionId {
        let number = self.ids.fetch_add(1, Ordering::SeqCst);
        VersionId::new(format!("version-{number:06}"))
    }

    pub(crate) fn bucket(&self, name: &str) -> Option<Arc<BucketState>> {
        lock(&self.buckets).get(name).cloned()
    }

    pub(crate) fn bucket_or_new(&self, name: &str) -> Arc<BucketState> {
        let new = || {
            Arc::new(BucketState {
                name: name.to_owned(),
                contents: Mutex::default(),
            })
        };
        lock(&self.buckets)
            .entry(name.to_owned())
            .or_insert_with(new)
            .clone()
    }
}

impl BucketState {
    pub(crate) fn contents(&self) -> MutexGuard<'_, Contents> {
        lock(&self.contents)
    }
}

impl Contents {
    /// Puts data or a marker on top of a key. While versioning isn't enabled its id is `null`, and what had this id is gone.
    pub(crate) fn push(
        &mut self,
        world: &World,
        key: &str,
        object: Option<Object>,
        last_modified: Timestamp,
    ) -> VersionId {
        let stack = self.keys.entry(key.to_owned()).or_default();
        let id = match self.versioning {
            Versioning::Enabled => world.fresh_id(),
            Versioning::Suspended | Versioning::Never => {
                stack.retain(|v| !v.id.is_null());
                VersionId::new("null")
            }
        };
        stack.push(StoredVersion {
            id: id.clone(),
            last_modified,
            object,
        });
        id
    }

    /// DELETE without a version id. Gives the marker's id, or `None` where versioning was never enabled and the object is gone.
    pub(crate) fn delete(&mut self, world: &World, key: &str, last_modified: Timestamp) -> Option<VersionId> {
        match self.versioning {
            Versioning::Enabled | Versioning::Suspended => Some(self.push(world, key, None, last_modified)),
            Versioning::Never => {
                self.keys.remove(key);
                None
            }
        }
    }

    /// DELETE with a version id: that version or marker is gone for good. Whether it was there.
    pub(crate) fn delete_version(&mut self, key: &str, id: &VersionId) -> bool {
        let Some(stack) = self.keys.get_mut(key) else {
            return false;
        };
        let before = stack.len();
        stack.retain(|v| v.id != *id);
        let removed = stack.len() < before;
        if stack.is_empty() {
            self.keys.remove(key);
        }
        removed
    }

    pub(crate) fn current(&self, key: &str) -> Option<&StoredVersion> {
        self.keys.get(key)?.last()
    }

    pub(crate) fn version(&self, key: &str, id: &VersionId) -> Option<&StoredVersion> {
        self.keys.get(key)?.iter().find(|v| v.id == *id)
    }

    pub(crate) fn version_mut(&mut self, key: &str, id: &VersionId) -> Option<&mut StoredVersion> {
        self.keys.get_mut(key)?.iter_mut().find(|v| v.id == *id)
    }
}
