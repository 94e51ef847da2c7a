//! A bucket as those reach it who aren't Stayput.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use s3_documents::bucket::Versioning;
use s3_documents::lifecycle::LifecycleConfiguration;
use stayput_core::location::ObjectLocation;
use stayput_core::timestamp::Timestamp;
use stayput_core::version::{KeyHistory, VersionId};

use crate::error::ErrorCode;
use crate::event::EventKind;
use crate::object::{Object, RetentionMode, StoredVersion};
use crate::subscription::{Destination, Queue, Subscription};
use crate::thaw::Tier;
use crate::world::{BucketState, DAY, Hand, S3_ITSELF, World};

/// A bucket of the model, as people, Flink and lifecycle rules reach it. What is done here is not recorded and meets no fault.
///
/// Clones are the same bucket.
#[derive(Clone, Debug)]
pub struct ModelBucket {
    pub(crate) world: Arc<World>,
    pub(crate) state: Arc<BucketState>,
    pub(crate) principal: Arc<str>,
}

impl ModelBucket {
    /// The same bucket, as somebody else reaches it: events name this principal, such as `AWS:AROAFLINK:taskmanager`.
    #[must_use]
    pub fn acting_as(&self, principal: &str) -> Self {
        Self {
            principal: principal.into(),
            ..self.clone()
        }
    }

    pub(crate) fn hand(&self) -> Hand<'_> {
        Hand {
            world: &self.world,
            principal: &self.principal,
        }
    }

    /// Has events of this bucket told from now on; a bucket can have many destinations. Nothing is kept of what happened before.
    pub fn subscribe(&self, destination: Destination) -> Subscription {
        let queue = Arc::new(Mutex::new(Queue::new(destination)));
        self.state.contents().subscriptions.push(Arc::clone(&queue));
        Subscription {
            world: Arc::clone(&self.world),
            queue,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.state.name
    }

    /// The location of a key in it.
    pub fn at(&self, key: &str) -> ObjectLocation {
        ObjectLocation::new(self.name(), key)
    }

    /// Whether it keeps versions.
    pub fn versioning(&self) -> Versioning {
        self.state.contents().versioning
    }

    /// PutBucketVersioning. What is there stays as it is.
    pub fn set_versioning(&self, versioning: Versioning) {
        self.state.contents().versioning = versioning;
    }

    /// The bucket has object lock from now on, as if it had been made with it; `retention` is that of what is written without one. It keeps
    /// versions.
    pub fn enable_object_lock(&self, retention: Option<(RetentionMode, Duration)>) {
        let mut contents = self.state.contents();
        contents.versioning = Versioning::Enabled;
        contents.object_lock = Some(retention);
    }

    /// RestoreObject of a version: its bytes can be read when the clock has passed the time that it takes, for so many days. Whether they
    /// could be read already.
    ///
    /// # Errors
    /// S3's own: no such version; a marker; a class that needs no thawing, or that doesn't have this tier; a thaw that is under way.
    pub fn thaw(&self, key: &str, id: &VersionId, days: u32, tier: Tier) -> Result<bool, ErrorCode> {
        let span = DAY.saturating_mul(days);
        self.state
            .contents()
            .thaw(self.hand(), (key, id).into(), span, tier)
    }

    /// PutBucketLifecycleConfiguration. Rules act when they are carried out: [`Self::run_rules`], [`Self::let_rules_run`].
    pub fn set_lifecycle(&self, lifecycle: LifecycleConfiguration) {
        self.state.contents().lifecycle = lifecycle;
    }

    /// PutObject now. Gives the new version's id; `null` unless versioning is enabled, and then what had this id is gone.
    pub fn put(&self, key: &str, object: impl Into<Object>) -> VersionId {
        self.put_at(key, object, self.world.last_modified())
    }

    /// PutObject with a Last-Modified of its own.
    pub fn put_at(&self, key: &str, object: impl Into<Object>, last_modified: Timestamp) -> VersionId {
        let mut contents = self.state.contents();
        contents.push(
            self.hand(),
            key,
            Some(object.into()),
            last_modified,
            EventKind::Put,
        )
    }

    /// DELETE without a version id: a marker on top, also on top of another marker and where nothing was. Gives the
    /// marker's id. `None`: versioning was never enabled, and the object is gone for good.
    pub fn delete(&self, key: &str) -> Option<VersionId> {
        self.delete_at(key, self.world.last_modified())
    }

    /// DELETE without a version id, whose marker has a Last-Modified of its own.
    pub fn delete_at(&self, key: &str, last_modified: Timestamp) -> Option<VersionId> {
        self.state.contents().delete(self.hand(), key, last_modified)
    }

    /// What a lifecycle rule's Expiration does to the current version: as a DELETE, but the marker is dated 00:00 UTC of the day, which
    /// may be before the version that it hides. A key that isn't visible is left alone.
    pub fn expire(&self, key: &str) -> Option<VersionId> {
        let mut contents = self.state.contents();
        contents.current(key)?.object.as_ref()?;
        let principal = Arc::from(S3_ITSELF);
        let hand = Hand {
            world: &self.world,
            principal: &principal,
        };
        if contents.versioning == Versioning::Never {
            contents.delete_version(hand, key, &VersionId::new("null"), EventKind::DeletedByRule);
            return None;
        }
        let midnight = self.world.now().midnight();
        Some(contents.push(hand, key, None, midnight, EventKind::MarkerCreatedByRule))
    }

    /// Puts a version or marker on top of a key that has its id and time already, as a recording tells them.
    pub fn add_version(&self, key: &str, version: StoredVersion) {
        let mut contents = self.state.contents();
        contents.keys.entry(key.to_owned()).or_default().push(version);
    }

    /// DELETE with a version id: this version or marker is gone for good, and what was below it shows. Whether it was there and isn't
    /// locked; S3 tells the latter only.
    pub fn delete_version(&self, key: &str, id: &VersionId) -> bool {
        let mut contents = self.state.contents();
        let locked = contents
            .version(key, id)
            .and_then(|v| v.object.as_ref())
            .is_some_and(|object| object.is_locked(self.world.now()));
        !locked
            && contents
                .delete_version(self.hand(), key, id, EventKind::Deleted)
                .is_some()
    }

    /// Changes a data version in place, as no client of S3 can: its storage class after a transition, thawed bytes, what reading
    /// it answers. Whether there is such a data version.
    pub fn edit(&self, key: &str, id: &VersionId, change: impl FnOnce(&mut Object)) -> bool {
        let mut contents = self.state.contents();
        match contents.version_mut(key, id).and_then(|v| v.object.as_mut()) {
            Some(object) => {
                change(object);
                true
            }
            None => false,
        }
    }

    /// Whether the key is visible: its newest version is data.
    pub fn is_visible(&self, key: &str) -> bool {
        let contents = self.state.contents();
        contents.current(key).is_some_and(|v| v.object.is_some())
    }

    /// The visible version of a key.
    pub fn current(&self, key: &str) -> Option<StoredVersion> {
        self.state
            .contents()
            .current(key)
            .filter(|v| v.object.is_some())
            .cloned()
    }

    /// A version or marker by its id.
    pub fn version(&self, key: &str, id: &VersionId) -> Option<StoredVersion> {
        self.state.contents().version(key, id).cloned()
    }

    /// All versions and markers of a key, the newest first.
    pub fn history(&self, key: &str) -> KeyHistory {
        let contents = self.state.contents();
        let stack = contents.keys.get(key).map(Vec::as_slice).unwrap_or_default();
        KeyHistory::new(
            stack
                .iter()
                .rev()
                .enumerate()
                .map(|(depth, v)| v.row(key, depth == 0))
                .collect(),
        )
    }

    /// All visible keys, in order.
    pub fn visible_keys(&self) -> Vec<String> {
        self.state
            .contents()
            .keys
            .iter()
            .filter(|(_, stack)| stack.last().is_some_and(|v| v.object.is_some()))
            .map(|(key, _)| key.clone())
            .collect()
    }

    /// All keys that have a version or marker, in order.
    pub fn keys(&self) -> Vec<String> {
        self.state.contents().keys.keys().cloned().collect()
    }

    /// Forgets everything in it; versioning and lifecycle stay.
    pub fn clear(&self) {
        self.state.contents().keys.clear();
    }
}
