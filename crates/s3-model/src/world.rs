//! What clients share: the buckets, the time, and the counters that ids are made from.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use s3_documents::bucket::Versioning;
use s3_documents::lifecycle::LifecycleConfiguration;
use stayput_core::timestamp::Timestamp;
use stayput_core::version::VersionId;

use crate::event::{EventKind, Told};
use crate::object::{Object, RetentionMode, StoredVersion};
use crate::subscription::Queue;
use crate::thaw::ThawTimer;
use crate::uploads::OpenUpload;

pub(crate) const DAY: Duration = Duration::from_secs(86_400);

/// The principal of S3's own doings, as its events name it.
pub(crate) const S3_ITSELF: &str = "s3.amazonaws.com";

/// Buckets, time and ids.
#[derive(Debug)]
pub(crate) struct World {
    buckets: Mutex<BTreeMap<String, Arc<BucketState>>>,
    now: AtomicI64,
    ids: AtomicU64,
    events: AtomicU64,
    /// Whether anything happens by the clock in any bucket.
    clock_acts: AtomicBool,
}

/// Who does something, in which world.
#[derive(Clone, Copy)]
pub(crate) struct Hand<'w> {
    pub(crate) world: &'w World,
    pub(crate) principal: &'w Arc<str>,
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
    /// The bucket's name, as events say it.
    pub(crate) bucket: Arc<str>,
    pub(crate) versioning: Versioning,
    pub(crate) lifecycle: LifecycleConfiguration,
    /// How long after each midnight its rules are carried out; `None`: only when they are told to.
    pub(crate) rules_run: Option<Duration>,
    /// Who is told what happens.
    pub(crate) subscriptions: Vec<Arc<Mutex<Queue>>>,
    /// Of each key the versions and markers, the oldest first: the last one is the current one. No stack is empty.
    /// Keys are in the order of their UTF-8 bytes, as in S3's listings.
    pub(crate) keys: BTreeMap<String, Vec<StoredVersion>>,
    /// Whether it has object lock, and the retention of what is written without one.
    pub(crate) object_lock: Option<Option<(RetentionMode, Duration)>>,
    /// When a thaw is done or ends.
    pub(crate) timers: BTreeMap<Timestamp, Vec<ThawTimer>>,
    /// Unfinished uploads, by id.
    pub(crate) uploads: BTreeMap<String, OpenUpload>,
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
            events: AtomicU64::new(1),
            clock_acts: AtomicBool::new(false),
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.now.load(Ordering::SeqCst))
    }

    /// Sets the time. What happens by the clock on the way happens at its own time, in order.
    pub(crate) fn set_now(&self, now: Timestamp) {
        while let Some(due) = self.due_until(now) {
            self.now.store(due.at.millis(), Ordering::SeqCst);
            self.carry_out(&due);
        }
        self.now.store(now.millis(), Ordering::SeqCst);
    }

    /// What happens first after now and not after `end`.
    fn due_until(&self, end: Timestamp) -> Option<Due> {
        if !self.clock_acts.load(Ordering::SeqCst) {
            return None;
        }
        let now = self.now();
        let buckets = lock(&self.buckets);
        let due = buckets.values().filter_map(|bucket| {
            let contents = bucket.contents();
            let run = contents
                .rules_run
                .map(|after| now.minus(after).midnight().plus(DAY).plus(after));
            // A thaw that was asked for with the clock set forward is done when the clock next moves.
            let timer = contents.timers.keys().next().map(|at| (*at).max(now));
            let at = run.into_iter().chain(timer).min().filter(|at| *at <= end)?;
            Some(Due {
                at,
                rules: run == Some(at),
                bucket: Arc::clone(bucket),
            })
        });
        due.min_by_key(|due| due.at)
    }

    fn carry_out(&self, due: &Due) {
        let mut contents = due.bucket.contents();
        contents.turn_timers(self);
        if due.rules {
            contents.run_rules(self, &mut |_| true);
        }
    }

    pub(crate) fn let_clock_act(&self) {
        self.clock_acts.store(true, Ordering::SeqCst);
    }

    pub(crate) fn next_event(&self) -> u64 {
        self.events.fetch_add(1, Ordering::SeqCst)
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
                contents: Mutex::new(Contents {
                    bucket: name.into(),
                    ..Contents::default()
                }),
            })
        };
        lock(&self.buckets)
            .entry(name.to_owned())
            .or_insert_with(new)
            .clone()
    }
}

/// Something that happens by the clock.
struct Due {
    at: Timestamp,
    rules: bool,
    bucket: Arc<BucketState>,
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
        hand: Hand<'_>,
        key: &str,
        object: Option<Object>,
        last_modified: Timestamp,
        kind: EventKind,
    ) -> VersionId {
        let id = match self.versioning {
            Versioning::Enabled => hand.world.fresh_id(),
            Versioning::Suspended | Versioning::Never => VersionId::new("null"),
        };
        if !self.subscriptions.is_empty() {
            let told = Told::of(kind, key, self.told_id(&id), object.as_ref());
            self.tell(hand, told);
        }
        // Most keys exist already when a marker or a copy comes.
        let stack = match self.keys.get_mut(key) {
            Some(stack) => stack,
            None => self.keys.entry(key.to_owned()).or_default(),
        };
        if id.is_null() {
            stack.retain(|v| !v.id.is_null());
        }
        stack.push(StoredVersion {
            id: id.clone(),
            last_modified,
            object,
        });
        id
    }

    /// DELETE without a version id. Gives the marker's id, or `None` where versioning was never enabled and the object is gone.
    pub(crate) fn delete(
        &mut self,
        hand: Hand<'_>,
        key: &str,
        last_modified: Timestamp,
    ) -> Option<VersionId> {
        match self.versioning {
            Versioning::Enabled | Versioning::Suspended => {
                Some(self.push(hand, key, None, last_modified, EventKind::MarkerCreated))
            }
            Versioning::Never => {
                if self.keys.remove(key).is_some() {
                    self.tell(hand, Told::of(EventKind::Deleted, key, None, None));
                }
                None
            }
        }
    }

    /// DELETE with a version id: that version or marker is gone for good. What was there.
    pub(crate) fn delete_version(
        &mut self,
        hand: Hand<'_>,
        key: &str,
        id: &VersionId,
        kind: EventKind,
    ) -> Option<StoredVersion> {
        let stack = self.keys.get_mut(key)?;
        let place = stack.iter().position(|v| v.id == *id)?;
        let removed = stack.remove(place);
        if stack.is_empty() {
            self.keys.remove(key);
        }
        let told = Told::of(kind, key, self.told_id(id), None);
        self.tell(hand, told);
        Some(removed)
    }

    /// S3 says no version id where versioning was never enabled.
    pub(crate) fn told_id(&self, id: &VersionId) -> Option<VersionId> {
        (self.versioning != Versioning::Never).then(|| id.clone())
    }

    /// Tells all who want to know.
    pub(crate) fn tell(&self, hand: Hand<'_>, told: Told) {
        if self.subscriptions.is_empty() {
            return;
        }
        let event = told.happened(&self.bucket, hand);
        for queue in &self.subscriptions {
            lock(queue).take(&event);
        }
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
