//! The bucket as those reach it who aren't Stayput, with a memory of who hid what, and the notifications that S3 sends.

mod archives;
mod replication;

use std::collections::{BTreeMap, BTreeSet};

use s3_documents::bucket::Versioning;
use s3_documents::lifecycle::{
    Expiration, LifecycleConfiguration, LifecycleRule, MinimumTransitionSize, NoncurrentExpiration,
    NoncurrentTransition, RuleFilter, Transition, TransitionTime,
};
use s3_model::{Content, Model, ModelBucket, Object};
use stayput_core::timestamp::Timestamp;
use stayput_core::version::{VersionEntry, VersionId, VersionKind};

use crate::clock::Millis;
use crate::scenario::Rule;

/// The name of the bucket.
pub const BUCKET: &str = "state";

/// Whose hand it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hand {
    /// A job's own, by its number.
    Flink(usize),
    /// A lifecycle rule.
    Rule,
    /// S3's own, which replicates what jobs do in another bucket, by a role that the settings name beside theirs.
    Replication,
    /// A person with a role of its own.
    Person,
    /// A person who uses the role of the jobs.
    PersonWithFlinksRole,
    /// The function's, which removes markers.
    Guard,
}

/// The truth about a key that isn't visible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hiding {
    /// When it was hidden.
    pub at: Millis,
    /// By whom; of several markers the one directly above the data.
    pub by: Hand,
    /// The number of the event that told of it.
    pub event: u64,
}

/// What S3 tells of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// Its number.
    pub number: u64,
    /// When it happened.
    pub at: Millis,
    /// The key.
    pub key: String,
    /// What happened.
    pub what: Happened,
    /// Who did it.
    pub by: Hand,
}

/// What happened to a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Happened {
    /// A marker with this id hides it.
    Hidden(String),
    /// This version is there now.
    Written(String),
    /// This version or marker is gone for good.
    Purged(String),
    /// The bytes of this version can be read for some days.
    Thawed(String),
}

/// What is visible at a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shown {
    /// Length in bytes.
    pub size: u64,
    /// The ETag.
    pub etag: String,
    /// Whether the guard's own copy is on top, or what it un-hid.
    pub restored: bool,
    /// Whether its bytes can be read: they lie in no archive, or were thawed.
    pub readable: bool,
}

/// The bucket.
pub struct Store {
    model: Model,
    bucket: ModelBucket,
    hidden: BTreeMap<String, Hiding>,
    /// Who had hidden what came back last.
    came_back: BTreeMap<String, Hiding>,
    /// Keys that a job or its owner would have deleted, had they been visible.
    meant_to_go: BTreeSet<String>,
    /// Keys of which somebody wrote half over the whole.
    spoilt: BTreeSet<String>,
    /// Keys that somebody copied onto themselves.
    touched: BTreeSet<String>,
    /// When a version of a key was last removed.
    purged: BTreeMap<String, Millis>,
    /// When a version was moved to an archive, by key and version.
    moved: BTreeMap<(String, VersionId), Millis>,
    /// Every marker that anybody laid, in order, with its key.
    laid: Vec<(String, VersionId, Hiding)>,
    /// Keys whose version is visible again since the function removed what hid it.
    unhidden: BTreeSet<String>,
    /// Every data version that anybody ever wrote, but those that rules removed.
    written: BTreeMap<String, BTreeSet<VersionId>>,
    /// When data was last replicated to a key.
    arrived: BTreeMap<String, Millis>,
    outbox: Vec<Event>,
    events: u64,
    sizes: u64,
}

impl Store {
    /// An empty bucket that keeps versions.
    pub fn new(model: &Model, rules: &[Rule]) -> Self {
        Self::named(BUCKET, model, rules)
    }

    fn named(name: &str, model: &Model, rules: &[Rule]) -> Self {
        let bucket = model.create_bucket(name, Versioning::Enabled);
        bucket.set_lifecycle(LifecycleConfiguration {
            rules: rules.iter().enumerate().map(|(n, r)| told(n, r)).collect(),
            // Files of a history are small.
            minimum_transition_size: MinimumTransitionSize::VariesByClass,
        });
        Self {
            model: model.clone(),
            bucket,
            hidden: BTreeMap::new(),
            came_back: BTreeMap::new(),
            meant_to_go: BTreeSet::new(),
            spoilt: BTreeSet::new(),
            touched: BTreeSet::new(),
            purged: BTreeMap::new(),
            moved: BTreeMap::new(),
            laid: Vec::new(),
            unhidden: BTreeSet::new(),
            written: BTreeMap::new(),
            arrived: BTreeMap::new(),
            outbox: Vec::new(),
            events: 0,
            sizes: 1000,
        }
    }

    /// Suspends versioning, or enables it again.
    pub fn keep_versions(&self, on: bool) {
        let status = if on {
            Versioning::Enabled
        } else {
            Versioning::Suspended
        };
        self.bucket.set_versioning(status);
    }

    /// Whether the bucket keeps versions now.
    pub fn keeps_versions(&self) -> bool {
        self.bucket.versioning() == Versioning::Enabled
    }

    /// The time.
    pub fn now(&self) -> Millis {
        self.model.now().millis()
    }

    /// The model's own view of the bucket.
    pub fn bucket(&self) -> &ModelBucket {
        &self.bucket
    }

    /// A length that no other file has, so that a file is known by it.
    pub fn fresh_size(&mut self) -> u64 {
        self.sizes += 1;
        self.sizes
    }

    fn tell(&mut self, key: &str, what: Happened, by: Hand) -> u64 {
        self.events += 1;
        self.outbox.push(Event {
            number: self.events,
            at: self.now(),
            key: key.to_owned(),
            what,
            by,
        });
        self.events
    }

    /// The events since the last time.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.outbox)
    }

    /// Writes a file of this length.
    pub fn put(&mut self, key: &str, size: u64, by: Hand) {
        self.put_object(key, Object::new(Content::Zeroes(size)), by);
    }

    /// Writes these bytes.
    pub fn put_bytes(&mut self, key: &str, bytes: Vec<u8>, by: Hand) -> String {
        let object = Object::new(bytes);
        let etag = object.etag.clone();
        self.put_object(key, object, by);
        etag
    }

    fn put_object(&mut self, key: &str, object: Object, by: Hand) {
        let id = self.bucket.put(key, object);
        self.hidden.remove(key);
        self.unhidden.remove(key);
        self.meant_to_go.remove(key);
        self.remember_version(key, id.clone());
        self.tell(key, Happened::Written(id.to_string()), by);
    }

    /// Copies what is visible onto itself: a new version with the same bytes, or with half of them. Whether there was anything.
    pub fn rewrite(&mut self, key: &str, half: bool, by: Hand) -> bool {
        let current = self.bucket.current(key).and_then(|v| v.object);
        let Some(object) = current.filter(|object| !object.is_archived()) else {
            return false;
        };
        let content = match (&object.content, half) {
            (content, false) => content.clone(),
            (Content::Bytes(bytes), true) => Content::from(&bytes[..bytes.len() / 2]),
            (Content::Zeroes(size) | Content::Withheld(size), true) => Content::Zeroes(size / 2),
        };
        if half {
            self.spoilt.insert(key.to_owned());
        } else {
            self.touched.insert(key.to_owned());
        }
        self.put_object(key, Object::new(content), by);
        true
    }

    /// A job deletes a file. All of Flink's file systems ask first whether it is there, so that what somebody hid before gets no second marker, and
    /// nothing tells that Flink meant it to go.
    pub fn delete_as_flink(&mut self, key: &str, job: usize) {
        if self.bucket.is_visible(key) {
            self.delete(key, Hand::Flink(job));
        } else {
            self.note_meant_to_go(key);
        }
    }

    /// Somebody would delete a key, but nothing is visible there.
    pub fn note_meant_to_go(&mut self, key: &str) {
        self.meant_to_go.insert(key.to_owned());
    }

    /// Whether a job or its owner would have deleted a key that somebody else had hidden before.
    pub fn was_meant_to_go(&self, key: &str) -> bool {
        self.meant_to_go.contains(key)
    }

    /// DELETE without a version id, whether anything is visible or not.
    pub fn delete(&mut self, key: &str, by: Hand) {
        let was_visible = self.bucket.is_visible(key);
        let Some(marker) = self.bucket.delete(key) else {
            return;
        };
        self.note_hidden(key, &marker, by, was_visible);
    }

    /// What a rule's expiration does: a marker dated midnight.
    pub fn expire(&mut self, key: &str) {
        if let Some(marker) = self.bucket.expire(key) {
            self.note_hidden(key, &marker, Hand::Rule, true);
        }
    }

    /// Remembers a marker that was laid while the function was at work.
    pub fn note_hidden(&mut self, key: &str, marker: &VersionId, by: Hand, was_visible: bool) {
        if marker.is_null()
            && let Some(ids) = self.written.get_mut(key)
        {
            // A marker without an id takes the place of the version without one.
            ids.remove(marker);
        }
        let event = self.tell(key, Happened::Hidden(marker.to_string()), by);
        let at = self.now();
        let hiding = Hiding { at, by, event };
        self.laid.push((key.to_owned(), marker.clone(), hiding));
        if was_visible {
            self.hidden.insert(key.to_owned(), hiding);
            self.unhidden.remove(key);
        }
    }

    /// Remembers that the function removed a marker, of which S3 tells as of any version that goes. What is visible then, if anything: its version.
    pub fn note_marker_removed(&mut self, key: &str, marker: &str) -> Option<String> {
        self.tell(key, Happened::Purged(marker.to_owned()), Hand::Guard);
        if let Some(current) = self.bucket.current(key) {
            self.note_restored(key);
            self.unhidden.insert(key.to_owned());
            return Some(current.id.to_string());
        }
        // Whoever laid the marker that is directly above the data now hid it.
        let history = self.bucket.history(key);
        let on_top = history.entries().iter();
        let above = on_top.take_while(|v| v.kind == VersionKind::Marker).last();
        let whose = above.and_then(|marker| {
            let mut laid = self.laid.iter().rev();
            laid.find(|(of, id, _)| of == key && *id == marker.id)
        });
        if let Some((_, _, hiding)) = whose {
            self.hidden.insert(key.to_owned(), *hiding);
        }
        None
    }

    fn remember_version(&mut self, key: &str, id: VersionId) {
        match self.written.get_mut(key) {
            Some(ids) => ids.insert(id),
            None => self.written.entry(key.to_owned()).or_default().insert(id),
        };
    }

    /// Data versions that somebody wrote, that no rule removed, and that aren't there any more.
    pub fn vanished(&self) -> Vec<(String, String)> {
        let mut gone = Vec::new();
        for (key, ids) in &self.written {
            let history = self.bucket.history(key);
            let there: BTreeSet<&VersionId> = history.data_versions().map(|v| &v.id).collect();
            let missing = ids.iter().filter(|id| !there.contains(id));
            gone.extend(missing.map(|id| (key.clone(), id.to_string())));
        }
        gone
    }

    /// Remembers that the guard put a key back.
    pub fn note_restored(&mut self, key: &str) {
        if let Some(top) = self.bucket.current(key) {
            self.remember_version(key, top.id);
        }
        if let Some(hiding) = self.hidden.remove(key) {
            self.came_back.insert(key.to_owned(), hiding);
        }
    }

    /// S3 tells of a copy that the guard made, as of anything that is written.
    pub fn tell_of_copy(&mut self, key: &str) {
        if let Some(top) = self.bucket.current(key) {
            self.tell(key, Happened::Written(top.id.to_string()), Hand::Guard);
        }
    }

    /// Whether somebody ever wrote half of this object over it.
    pub fn was_spoilt(&self, key: &str) -> bool {
        self.spoilt.contains(key)
    }

    /// Who had hidden a key that the guard put back.
    pub fn came_back_after(&self, key: &str) -> Option<Hiding> {
        self.came_back.get(key).copied()
    }

    /// Whether a version is the visible one.
    pub fn is_current(&self, key: &str, version: &str) -> bool {
        let current = self.bucket.current(key);
        current.is_some_and(|v| v.id.to_string() == version)
    }

    /// A version is gone for good.
    pub fn purge(&mut self, key: &str, version: &str, by: Hand) {
        let id = VersionId::new(version);
        if self.bucket.delete_version(key, &id) {
            if let Some(ids) = self.written.get_mut(key) {
                ids.remove(&id);
            }
            self.purged.insert(key.to_owned(), self.now());
            self.tell(key, Happened::Purged(version.to_owned()), by);
        }
    }

    /// When a version of a key was last removed for good.
    pub fn purged_at(&self, key: &str) -> Option<Millis> {
        self.purged.get(key).copied()
    }

    /// Whether bytes of this ETag were at a key, and the last version of them had gone for good by then.
    pub fn was_gone_for_good(&self, key: &str, etag: &str, by: Millis) -> bool {
        let history = self.bucket.history(key);
        let has = |v: &VersionEntry| matches!(&v.kind, VersionKind::Data { etag: its, .. } if its == etag);
        !history.data_versions().any(has) && self.purged.get(key).is_some_and(|at| *at <= by)
    }

    /// Whether nobody can know any more how old a file is: somebody copied it onto itself, and a version of it is gone.
    pub fn is_of_unknown_age(&self, key: &str) -> bool {
        self.touched.contains(key) && self.purged.contains_key(key)
    }

    /// Who hid a key that isn't visible.
    pub fn hiding(&self, key: &str) -> Option<Hiding> {
        self.hidden.get(key).copied()
    }

    /// What is visible at a key.
    pub fn shown(&self, key: &str) -> Option<Shown> {
        let object = self.bucket.current(key)?.object?;
        Some(Shown {
            size: object.content.len(),
            restored: object.metadata.contains_key("stayput-count") || self.unhidden.contains(key),
            readable: !object.is_archived(),
            etag: object.etag,
        })
    }

    /// The bytes that are visible at a key.
    pub fn bytes(&self, key: &str) -> Option<Vec<u8>> {
        match self.bucket.current(key)?.object?.content {
            Content::Bytes(bytes) => Some(bytes.to_vec()),
            Content::Zeroes(_) | Content::Withheld(_) => None,
        }
    }

    /// The bytes of whichever version of a key has this ETag.
    pub fn bytes_of(&self, key: &str, etag: &str) -> Option<Vec<u8>> {
        let history = self.bucket.history(key);
        let has = |v: &&VersionEntry| matches!(&v.kind, VersionKind::Data { etag: its, .. } if its == etag);
        let version = history.data_versions().find(has)?;
        let object = self.bucket.version(key, &version.id)?.object?;
        match object.content {
            Content::Bytes(bytes) => Some(bytes.to_vec()),
            Content::Zeroes(_) | Content::Withheld(_) => None,
        }
    }

    /// The bytes of every data version of a key, visible or hidden.
    pub fn bytes_of_all(&self, key: &str) -> Vec<Vec<u8>> {
        let history = self.bucket.history(key);
        let etags = history.data_versions().filter_map(|v| match &v.kind {
            VersionKind::Data { etag, .. } => Some(etag),
            VersionKind::Marker => None,
        });
        etags.filter_map(|etag| self.bytes_of(key, etag)).collect()
    }

    /// Whether the key is visible.
    pub fn is_visible(&self, key: &str) -> bool {
        self.bucket.is_visible(key)
    }

    /// The ETag of the newest data version of a key, visible or hidden.
    pub fn newest_bytes(&self, key: &str) -> Option<String> {
        self.bucket
            .history(key)
            .data_versions()
            .next()
            .and_then(|v| match &v.kind {
                VersionKind::Data { etag, .. } => Some(etag.clone()),
                VersionKind::Marker => None,
            })
    }

    /// The length of a version, in bytes.
    pub fn size_of(&self, key: &str, version: &str) -> Option<u64> {
        let history = self.bucket.history(key);
        let mut versions = history.data_versions();
        versions.find(|v| v.id.to_string() == version)?.size()
    }

    /// Whether some data version of the key has this length.
    pub fn has_version(&self, key: &str, size: u64) -> bool {
        let history = self.bucket.history(key);
        history.data_versions().any(|v| v.size() == Some(size))
    }

    /// The visible keys below a prefix.
    pub fn visible(&self, prefix: &str) -> Vec<String> {
        let mut keys = self.bucket.visible_keys();
        keys.retain(|k| k.starts_with(prefix));
        keys
    }

    /// All keys that ever were, with their versions: id, when it was written, whether it is data; the newest first.
    pub fn versions(&self, key: &str) -> Vec<(String, Millis, bool)> {
        self.bucket
            .history(key)
            .entries()
            .iter()
            .map(|v| {
                (
                    v.id.to_string(),
                    v.last_modified.millis(),
                    v.kind != VersionKind::Marker,
                )
            })
            .collect()
    }

    /// All keys that have a version or marker.
    pub fn keys(&self) -> Vec<String> {
        self.bucket.keys()
    }

    /// Sets the time.
    pub fn set_now(&self, at: Millis) {
        self.model.set_now(Timestamp::from_millis(at));
    }
}

/// A rule as the bucket's configuration tells it.
fn told(number: usize, rule: &Rule) -> LifecycleRule {
    let mut told = LifecycleRule::new(format!("rule-{number}"), RuleFilter::prefix(rule.prefix.clone()));
    told.expiration = rule.days.map(Expiration::Days);
    told.noncurrent_expiration = rule.noncurrent_days.map(|noncurrent_days| NoncurrentExpiration {
        noncurrent_days,
        newer_noncurrent_versions: None,
    });
    if let Some(moves) = rule.moves {
        let storage_class = moves.to.class().to_owned();
        told.transitions.extend(moves.days.map(|days| Transition {
            when: TransitionTime::Days(days),
            storage_class: storage_class.clone(),
        }));
        told.noncurrent_transitions
            .extend(moves.noncurrent_days.map(|noncurrent_days| NoncurrentTransition {
                noncurrent_days,
                newer_noncurrent_versions: None,
                storage_class,
            }));
    }
    told
}
