//! A recording: the notifications of a bucket while real Flink jobs ran in it, and all versions that were there at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use s3_model::{Content, Object, StoredVersion};
use serde_json::Value;
use stayput_core::timestamp::Timestamp;
use stayput_core::version::VersionId;
use stayput_guard::port::PortErrorKind;

/// Something that happened to a key: a version was written, or a marker put on top.
pub(crate) struct Happening {
    /// When, to the millisecond.
    pub(crate) at: Timestamp,
    /// The key.
    pub(crate) key: String,
    /// The version or marker, as the bucket keeps it.
    pub(crate) version: StoredVersion,
    /// What S3 sent of it; of a marker where no object was, nothing.
    pub(crate) notification: Option<Value>,
}

impl Happening {
    /// Whether an object was hidden; keys that end in `/` mean nothing.
    pub(crate) fn hides(&self) -> bool {
        self.version.object.is_none() && self.notification.is_some() && !self.key.ends_with('/')
    }

    /// Whether a checkpoint or savepoint was completed.
    pub(crate) fn completes(&self) -> bool {
        self.version.object.is_some() && self.key.ends_with("/_metadata")
    }
}

/// One stream, and what is needed to rebuild the bucket at any moment of it.
pub(crate) struct Recording {
    /// Release and case, as its files are called.
    pub(crate) name: String,
    /// The bucket.
    pub(crate) bucket: String,
    /// The root of its checkpoints as a key prefix, with a `/` at its end.
    pub(crate) root: String,
    /// All that happened, in the order of the bucket.
    pub(crate) happenings: Vec<Happening>,
    /// `_metadata` versions whose bytes nobody kept: the guard may not read them.
    pub(crate) unread: usize,
    /// What Flink's own classes read from the `_metadata` files that are visible at the end, by key.
    pub(crate) oracles: BTreeMap<String, Value>,
    /// When a person removed the first job's directory: from, until, and its prefix.
    pub(crate) removed_by_hand: Option<(Timestamp, Timestamp, String)>,
}

/// Whether the recordings are those of the large corpus.
pub(crate) fn is_large() -> bool {
    folder().1
}

/// The folder of recordings: of the large corpus if there is one, and whether it is that.
fn folder() -> (PathBuf, bool) {
    match std::env::var_os("STAYPUT_CORPUS") {
        Some(corpus) => (PathBuf::from(corpus).join("s3-events"), true),
        None => {
            let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/s3-events");
            (corpus, false)
        }
    }
}

/// All recordings, in the order of their names.
pub(crate) fn recordings() -> Vec<Recording> {
    let (folder, large) = folder();
    let mut streams: Vec<PathBuf> = fs::read_dir(&folder)
        .expect("the recordings are there")
        .map(|entry| entry.expect("a folder can be listed").path())
        .filter(|path| path.extension().is_some_and(|e| e == "jsonl"))
        .collect();
    streams.sort();
    let found: Vec<Recording> = streams.iter().map(|stream| Recording::load(stream)).collect();
    let at_least = if large { LARGE } else { SMALL };
    assert!(
        found.len() >= at_least,
        "only {} recordings in {}",
        found.len(),
        folder.display()
    );
    found
}

/// At least so many recordings must be in the large corpus and in the repository.
const LARGE: usize = 49;
const SMALL: usize = 5;

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&text(path)).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Files below a folder whose name begins so.
fn files_below(folder: &Path, begin: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else {
        return found;
    };
    for path in entries.map(|e| e.expect("a folder can be listed").path()) {
        if path.is_dir() {
            found.extend(files_below(&path, begin));
        } else if path
            .file_name()
            .is_some_and(|n| n.to_string_lossy().starts_with(begin))
        {
            found.push(path);
        }
    }
    found
}

fn relative(path: &Path, folder: &Path) -> String {
    path.strip_prefix(folder)
        .expect("below it")
        .to_string_lossy()
        .into_owned()
}

impl Recording {
    fn load(stream: &Path) -> Self {
        let folder = stream.with_extension("");
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let case: toml::Table = text(&folder.join("case.toml")).parse().expect("a case");
        let uri = case["root"]
            .as_str()
            .expect("a root")
            .trim_end_matches('/')
            .to_owned();
        let (bucket, root) = uri.trim_start_matches("s3://").split_once('/').expect("a prefix");
        let (bucket, root) = (bucket.to_owned(), format!("{root}/"));

        let mut happenings: BTreeMap<(String, String), Happening> = BTreeMap::new();
        for line in text(stream).lines() {
            let body: Value = serde_json::from_str(line).expect("a notification");
            let Some(record) = body["Records"].get(0) else {
                continue;
            };
            assert_eq!(body["Records"].as_array().map(Vec::len), Some(1), "{name}");
            let happening = told(record, &body);
            let id = (happening.key.clone(), happening.version.id.as_str().to_owned());
            assert!(happenings.insert(id, happening).is_none(), "{name}: told twice");
        }
        // Markers where no object was: the server doesn't tell of them.
        for row in text(&folder.join("versions.tsv")).lines().skip(1) {
            let [key, version, _, _, kind, at] = row.split('\t').collect::<Vec<_>>()[..] else {
                panic!("{name}: {row}");
            };
            let id = (format!("{root}{key}"), version.to_owned());
            if let Some(told) = happenings.get(&id) {
                assert_eq!(told.version.object.is_some(), kind == "version", "{name}: {key}");
                continue;
            }
            assert_eq!(kind, "delete-marker", "{name}: nobody told of {key}");
            let at = Timestamp::parse(at).expect("a time");
            let version = stored(version, at, None);
            let key = id.0.clone();
            happenings.insert(
                id,
                Happening {
                    at,
                    key,
                    version,
                    notification: None,
                },
            );
        }
        let mut happenings: Vec<Happening> = happenings.into_values().collect();
        happenings.sort_by_cached_key(|h| (h.at, sequencer(h)));

        let mut recording = Self {
            removed_by_hand: removed_by_hand(&folder.join("timeline.tsv")).map(|(from, until)| {
                let job = case["jobs"][0].as_str().expect("a job id");
                (from, until, format!("{root}{job}/"))
            }),
            name,
            bucket,
            root,
            happenings,
            unread: 0,
            oracles: BTreeMap::new(),
        };
        recording.give_bytes(&folder);
        recording.read_oracles(&folder);
        recording
    }

    /// Every `_metadata` version gets its bytes; of those that nobody kept, reading is denied.
    fn give_bytes(&mut self, folder: &Path) {
        let older = folder.join("noncurrent");
        let mut bytes: BTreeMap<(String, Option<String>), Vec<u8>> = BTreeMap::new();
        for path in files_below(folder, "_metadata") {
            let kept = fs::read(&path).expect("a file can be read");
            let named = match path.strip_prefix(&older) {
                Ok(below) => below.to_string_lossy().into_owned(),
                Err(_) => relative(&path, folder),
            };
            let (key, version) = match named.split_once('@') {
                Some((key, version)) => (key, Some(version.to_owned())),
                None => (&*named, None),
            };
            bytes.insert((format!("{}{key}", self.root), version), kept);
        }
        let newest: BTreeMap<String, String> = self
            .happenings
            .iter()
            .map(|h| (h.key.clone(), h.version.id.as_str().to_owned()))
            .collect();
        let mut used = BTreeSet::new();
        for happening in self.happenings.iter_mut().filter(|h| h.completes()) {
            let id = happening.version.id.as_str().to_owned();
            let is_newest = newest.get(&happening.key) == Some(&id);
            let by_version = (happening.key.clone(), Some(id));
            let by_key = (happening.key.clone(), None);
            let found = [Some(by_version), is_newest.then_some(by_key)]
                .into_iter()
                .flatten();
            let found = found.into_iter().find(|at| bytes.contains_key(at));
            let object = happening.version.object.as_mut().expect("data");
            match found {
                Some(at) => {
                    let kept = &bytes[&at];
                    assert_eq!(
                        kept.len() as u64,
                        object.content.len(),
                        "{}: {}",
                        self.name,
                        happening.key
                    );
                    object.content = Content::from(kept.as_slice());
                    used.insert(at);
                }
                None => {
                    self.unread += 1;
                    object.refusal = Some(PortErrorKind::Denied);
                }
            }
        }
        assert_eq!(
            used.len(),
            bytes.len(),
            "{}: bytes of versions that never were",
            self.name
        );
    }

    /// Beside the `_metadata`, or in the case folder that tells more of the same checkpoint.
    fn read_oracles(&mut self, folder: &Path) {
        for path in files_below(folder, "oracle.json") {
            let key = relative(path.parent().expect("a folder"), folder);
            self.oracles
                .insert(format!("{}{key}/_metadata", self.root), json(&path));
        }
        let corpus = folder.parent().and_then(Path::parent).expect("the corpus");
        let of_this = format!("s3-{}-", self.name);
        for case in fs::read_dir(corpus).expect("the corpus is there") {
            let case = case.expect("a folder can be listed").path();
            if !case
                .file_name()
                .is_some_and(|n| n.to_string_lossy().starts_with(&of_this))
            {
                continue;
            }
            let about: toml::Table = text(&case.join("case.toml")).parse().expect("a case");
            if about
                .get("events")
                .and_then(toml::Value::as_str)
                .is_none_or(|e| !e.ends_with(&self.name))
            {
                continue;
            }
            let key = format!("{}{}", self.root, about["metadata_key"].as_str().expect("a key"));
            self.oracles.insert(key, json(&case.join("oracle.json")));
        }
    }

    /// Whether a person hid this, not Flink.
    pub(crate) fn is_by_hand(&self, happening: &Happening) -> bool {
        self.removed_by_hand.as_ref().is_some_and(|(from, until, job)| {
            *from <= happening.at && happening.at < *until && happening.key.starts_with(job.as_str())
        })
    }

    /// Whether a person hid what this key last held.
    pub(crate) fn is_hidden_by_hand(&self, key: &str) -> bool {
        let hidden = self.happenings.iter().rev().find(|h| h.key == key && h.hides());
        hidden.is_some_and(|h| self.is_by_hand(h))
    }

    /// Whether the file wasn't there yet when this `_metadata`, which names it, was first written, or never came.
    pub(crate) fn comes_after(&self, key: &str, metadata: &str) -> bool {
        let first = |key: &str| {
            let put = |h: &Happening| h.key == key && h.version.object.is_some();
            self.happenings.iter().position(put).unwrap_or(usize::MAX)
        };
        first(key) > first(metadata)
    }

    /// How many objects were hidden.
    pub(crate) fn deletions(&self) -> usize {
        self.happenings.iter().filter(|h| h.hides()).count()
    }

    /// The moments at which a look tells something new, each as the number of happenings before it: after every completed
    /// `_metadata`, after every batch of deletions (nothing else was hidden for the next 200 ms, or a `_metadata` came), at the end.
    pub(crate) fn moments(&self) -> Vec<usize> {
        let mut moments = BTreeSet::from([self.happenings.len()]);
        let mut last: Option<(usize, Timestamp)> = None;
        for (n, happening) in self.happenings.iter().enumerate() {
            if let Some((after, at)) = last
                && (happening.completes() || (happening.hides() && happening.at.millis() - at.millis() > 200))
            {
                moments.insert(after);
                last = None;
            }
            if happening.completes() {
                moments.insert(n + 1);
            }
            if happening.hides() {
                last = Some((n + 1, happening.at));
            }
        }
        moments.extend(last.map(|(after, _)| after));
        moments.into_iter().collect()
    }
}

/// What a notification tells.
fn told(record: &Value, body: &Value) -> Happening {
    let at = Timestamp::parse(record["eventTime"].as_str().expect("a time")).expect("a time");
    let object = &record["s3"]["object"];
    let key = object["key"].as_str().expect("a key");
    // Flink's keys need no form encoding but of `+` and `=`, which the recorded ones don't have.
    assert!(!key.contains(['%', '+']), "an encoded key: {key}");
    let id = object["versionId"].as_str().expect("a versioned bucket");
    let data = match record["eventName"].as_str() {
        Some("ObjectRemoved:DeleteMarkerCreated") => None,
        Some(name) if name.starts_with("ObjectCreated:") => {
            let mut data = Object::new(Content::Zeroes(object["size"].as_u64().expect("a size")));
            data.etag = format!("\"{}\"", object["eTag"].as_str().expect("an ETag"));
            Some(data)
        }
        other => panic!("an event that no recording has: {other:?}"),
    };
    Happening {
        at,
        key: key.to_owned(),
        version: stored(id, at, data),
        notification: Some(body.clone()),
    }
}

/// A version as S3 keeps it: its time is to the second.
fn stored(id: &str, at: Timestamp, object: Option<Object>) -> StoredVersion {
    StoredVersion {
        id: VersionId::new(id),
        last_modified: Timestamp::from_millis(at.millis().div_euclid(1000) * 1000),
        object,
    }
}

fn sequencer(happening: &Happening) -> String {
    let body = happening.notification.as_ref();
    let sequencer = body.and_then(|b| b["Records"][0]["s3"]["object"]["sequencer"].as_str());
    sequencer.unwrap_or_default().to_owned()
}

/// The step of the script that removes a job's directory as a person does: from when until the next step.
fn removed_by_hand(timeline: &Path) -> Option<(Timestamp, Timestamp)> {
    let text = fs::read_to_string(timeline).ok()?;
    let at = |line: &str| Timestamp::parse(line.split('\t').next()?).ok();
    let mut lines = text.lines();
    let removal = lines.find(|l| l.contains("\task rmdir"))?;
    Some((at(removal)?, at(lines.next()?)?))
}
