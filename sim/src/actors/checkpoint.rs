//! What a checkpoint or savepoint is made of, as its job remembers it.

use super::sink::Sink;
use crate::clock::Millis;
use crate::store::Store;

/// Where a file of a checkpoint lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// In the checkpoint's own directory.
    Private,
    /// In `shared/` of some job.
    Shared,
    /// In the HA store: what a JobManager reads first when it recovers.
    Pointer,
    /// Beside what a sink writes: the bytes after the last part of an open file. Only the state of the sink names it, and the sink deletes it itself
    /// when a newer checkpoint or savepoint is complete.
    Tail,
}

/// A file that a checkpoint is made of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct File {
    /// Its key.
    pub key: String,
    /// Its length in bytes, which no other file has.
    pub size: u64,
    /// Where it lies.
    pub place: Place,
    pub(super) subtask: usize,
}

/// A complete checkpoint or savepoint, as its job remembers it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checkpoint {
    /// Its id.
    pub id: u64,
    /// The key of its `_metadata`.
    pub metadata: String,
    /// The ETag of its `_metadata`.
    pub etag: String,
    pub(super) metadata_size: u64,
    /// Everything else that it is made of.
    pub files: Vec<File>,
    /// When it was complete.
    pub completed: Millis,
    /// Whether who holds it deletes it when it is subsumed.
    pub owned: bool,
    pub(super) backends: Vec<String>,
    pub(super) sinks: Vec<Sink>,
}

/// A key without the random prefix that entropy gives it.
fn plain(key: &str) -> &str {
    match key.split_once('/') {
        Some((random, plain)) if random.len() == 4 => plain,
        _ => key,
    }
}

/// The directory that a key lies in, likewise.
fn directory_of(key: &str) -> &str {
    let key = plain(key);
    &key[..key.rfind('/').map_or(0, |end| end + 1)]
}

impl Checkpoint {
    /// The key prefix of its own directory.
    pub fn directory(&self) -> &str {
        self.metadata.trim_end_matches("_metadata")
    }

    /// Whether a key lies in its own directory, the random prefix of entropy left out.
    pub fn is_own(&self, key: &str) -> bool {
        key.starts_with(self.directory()) || plain(key).starts_with(self.directory())
    }

    /// Whether every file is visible, can be read and is what was written; `_metadata` too, if asked.
    pub fn is_whole(&self, store: &Store, with_metadata: bool) -> bool {
        let file = |f: &File| {
            store
                .shown(&f.key)
                .is_some_and(|s| s.size == f.size && s.readable)
        };
        let metadata = || {
            let shown = store.shown(&self.metadata);
            shown.is_some_and(|s| s.etag == self.etag && s.readable)
        };
        let state = |f: &&File| f.place != Place::Pointer;
        self.files.iter().filter(state).all(file) && (!with_metadata || metadata())
    }

    /// Whether it names this key, or is it.
    pub fn needs(&self, key: &str) -> bool {
        self.metadata == key || self.files.iter().any(|f| f.key == key)
    }

    /// Whether a key lies in a directory of merged files that it names as a whole, the random prefix of entropy left out.
    pub fn merges_beside(&self, key: &str) -> bool {
        let directory = directory_of(key);
        directory.contains("/job_") && self.files.iter().any(|f| directory_of(&f.key) == directory)
    }

    /// Whether a key lies in a live database of ForSt that it has files in. What no checkpoint names yet lies there too.
    pub fn lives_beside(&self, key: &str) -> bool {
        let directory = directory_of(key);
        let is_live = directory.contains("/shared/op_") && directory.ends_with("/db/");
        is_live && self.files.iter().any(|f| directory_of(&f.key) == directory)
    }

    /// The length of a key that it needs, in bytes.
    pub fn length_of(&self, key: &str) -> Option<u64> {
        if self.metadata == key {
            return Some(self.metadata_size);
        }
        self.files.iter().find(|f| f.key == key).map(|f| f.size)
    }

    /// The length in bytes of the longest of its files, `_metadata` among them.
    pub fn longest(&self) -> u64 {
        let files = self.files.iter().map(|f| f.size);
        files.chain([self.metadata_size]).max().unwrap_or_default()
    }

    /// The key prefix of its job's directory; of a savepoint its own.
    pub fn job_directory(&self) -> &str {
        let own = self.directory().trim_end_matches('/');
        match own.rfind("/chk-") {
            Some(end) => &own[..=end],
            None => self.directory(),
        }
    }

    /// Whether it goes on with another's files or backends.
    pub fn is_made_from(&self, other: &Self) -> bool {
        self.backends.iter().any(|b| other.backends.contains(b))
            || self.files.iter().any(|f| other.needs(&f.key))
    }

    /// How many subtasks its job had.
    pub(super) fn subtasks(&self) -> usize {
        self.files.iter().map(|f| f.subtask + 1).max().unwrap_or(1)
    }

    /// As somebody takes it over who has an HA store of his own, or none.
    pub(super) fn without_pointer(&self) -> Self {
        let mut taken = self.clone();
        taken.files.retain(|f| f.place != Place::Pointer);
        taken
    }

    pub(super) fn keys(&self, place: Place) -> impl Iterator<Item = &String> {
        let of_place = move |f: &&File| f.place == place;
        self.files.iter().filter(of_place).map(|f| &f.key)
    }
}
