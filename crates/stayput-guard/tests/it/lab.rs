//! A real job on the model: two retained checkpoints that Flink 2.3.0 wrote, everything visible, and who deletes what.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use s3_documents::bucket::Versioning;
use s3_documents::listing::{VersionListing, parse_versions};
use s3_documents::notification::parse_body;
use s3_model::{Content, Model, ModelBucket, ModelJournal, Object};
use serde_json::{Value, json};
use stayput_core::cause::Principals;
use stayput_core::location::ObjectLocation;
use stayput_core::metadata::references;
use stayput_core::metadata_limit::MetadataLimit;
use stayput_core::root::{Root, RootKind, Roots};
use stayput_core::timestamp::Timestamp;
use stayput_core::verdict::{Outcome, Policy};
use stayput_core::version::VersionId;
use stayput_guard::batch::{Acted, BatchReport, Done, Message};
use stayput_guard::guard::{Acting, Guard};
use stayput_guard::mandate::{Mandate, SIDECARS_FROM};

pub(crate) const BUCKET: &str = "flink-lab";
pub(crate) const ROOT: &str = "2.3.0/events-retained2/";
pub(crate) const JOB: &str = "2.3.0/events-retained2/2be3cab7043c112ec2d02bfe50f0feb2/";
pub(crate) const JOB_ID: &str = "2be3cab7043c112ec2d02bfe50f0feb2";
pub(crate) const SETTLE: Duration = Duration::from_secs(300);
pub(crate) const MINUTE: Duration = Duration::from_secs(60);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);
pub(crate) const DAY: Duration = Duration::from_secs(86_400);
/// chk-8, the newest, names so many objects, and so many of them lie in its own directory.
pub(crate) const NAMED_BY_HEAD: usize = 30;
pub(crate) const OWN_OF_HEAD: usize = 4;

pub(crate) type ActingGuard = Guard<Model, ModelJournal, Model, Acting<Model>>;
pub(crate) type ObservingGuard = Guard<Model, ModelJournal, Model>;

/// Who deletes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Who {
    /// A lifecycle rule, with a marker dated midnight.
    Rule,
    /// The role of the job.
    Flink,
    /// A person.
    Alice,
    /// Somebody whom EventBridge doesn't name.
    Nobody,
    /// Another Stayput.
    Stayput,
}

/// The world of a story.
pub(crate) struct Lab {
    pub(crate) model: Model,
    pub(crate) bucket: ModelBucket,
    pub(crate) control: ModelBucket,
    pub(crate) mandate: Mandate,
}

fn story(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/corpus/stories")
        .join(name)
}

/// The versions of a story's bucket. What the story deletes comes back: a test says itself what goes.
fn all_visible(story: &Path) -> VersionListing {
    let bytes = std::fs::read(story.join("bucket.json")).expect("the stories are part of the repository");
    let mut listing = parse_versions(&bytes).expect("a listing");
    listing.delete_markers.clear();
    for version in &mut listing.versions {
        version.is_latest = true;
    }
    listing
}

/// The bytes of a real `_metadata` of the job: chk-7 or chk-8.
pub(crate) fn real_metadata(id: u64) -> Vec<u8> {
    let version = match id {
        7 => "cb2d99fd-6990-4ca1-8151-05704933c719",
        8 => "22c6e724-be83-4ddf-92bc-08a6b4b2fd9b",
        _ => panic!("the job retained chk-7 and chk-8"),
    };
    let file = story("lifecycle-running").join(format!("metadata/{JOB}chk-{id}/_metadata@{version}"));
    std::fs::read(file).expect("the stories are part of the repository")
}

/// The same `_metadata` under another checkpoint id: it stands behind magic number and version.
pub(crate) fn with_id(mut bytes: Vec<u8>, id: u64) -> Vec<u8> {
    bytes[8..16].copy_from_slice(&id.to_be_bytes());
    bytes
}

/// The same `_metadata` in the directory of another job: its id has as many digits, so that no length in the file changes.
pub(crate) fn of_job(mut bytes: Vec<u8>, job: &str) -> Vec<u8> {
    let old = JOB_ID.as_bytes();
    assert_eq!(job.len(), old.len());
    let mut n = 0;
    while n + old.len() <= bytes.len() {
        if bytes[n..].starts_with(old) {
            bytes[n..n + old.len()].copy_from_slice(job.as_bytes());
            n += old.len();
        } else {
            n += 1;
        }
    }
    bytes
}

pub(crate) fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).expect("a time")
}

/// A root of the bucket.
pub(crate) fn root(prefix: &str, kind: RootKind) -> Root {
    Root::new(&format!("s3://{BUCKET}/{prefix}"), kind, None).expect("a root")
}

pub(crate) fn mandate() -> Mandate {
    let root = root(ROOT, RootKind::Checkpoints);
    Mandate {
        control: None,
        roots: Roots::new(vec![root]),
        principals: Principals {
            flink: vec!["AROAFLINK".to_owned()],
            ours: vec!["AROASTAYPUT".to_owned()],
        },
        policy: Policy {
            settle: SETTLE,
            dormant_after: 90 * DAY,
        },
        catalogue_max_age: SETTLE,
        metadata_limit: MetadataLimit::of_settings(1 << 24),
        sidecars_from: SIDECARS_FROM,
        protect_since: None,
        objects_per_day: 10_000,
        bytes_per_day: 1 << 40,
    }
}

impl Lab {
    /// Two minutes after midnight of 28 November 2026: chk-8 is six minutes old, chk-7 sixteen, and the oldest of their files are of August.
    pub(crate) fn new() -> Self {
        Self::with_versioning(Versioning::Enabled)
    }

    pub(crate) fn with_versioning(versioning: Versioning) -> Self {
        let model = Model::new(at("2026-11-28T00:02:00Z"));
        let bucket = model.create_bucket(BUCKET, versioning);
        let mut listing = all_visible(&story("lifecycle-running"));
        if versioning != Versioning::Enabled {
            for version in &mut listing.versions {
                version.version_id = "null".to_owned();
            }
        }
        bucket.load(&listing).expect("a whole listing");
        for id in [7, 8] {
            let key = metadata_key(id);
            let version = bucket.current(&key).expect("it is there").id;
            assert!(bucket.edit(&key, &version, |o| o.content = Content::from(real_metadata(id))));
        }
        let control = model.create_bucket("ops", Versioning::Never);
        Self {
            model,
            bucket,
            control,
            mandate: mandate(),
        }
    }

    /// The bucket of another story at ten o'clock, everything visible, with the bytes that the story has, under these roots. Also how many
    /// objects have bytes.
    pub(crate) fn of_story(name: &str, roots: Vec<Root>) -> (Self, usize) {
        let model = Model::new(at("2026-11-28T10:00:00Z"));
        let bucket = model.create_bucket(BUCKET, Versioning::Enabled);
        let story = story(name);
        let listing = all_visible(&story);
        bucket.load(&listing).expect("a whole listing");
        let mut with_bytes = 0;
        for version in &listing.versions {
            let file = format!("metadata/{}@{}", version.key, version.version_id);
            if let Ok(bytes) = std::fs::read(story.join(file)) {
                let current = bucket.current(&version.key).expect("it is there").id;
                assert!(bucket.edit(&version.key, &current, |o| o.content = Content::from(bytes)));
                with_bytes += 1;
            }
        }
        let control = model.create_bucket("ops", Versioning::Never);
        let mandate = Mandate {
            roots: Roots::new(roots),
            ..mandate()
        };
        let lab = Self {
            model,
            bucket,
            control,
            mandate,
        };
        (lab, with_bytes)
    }

    /// A new process that restores. It shares journal and calls with those before it.
    pub(crate) fn guard(&self) -> ActingGuard {
        let journal = self.model.journal(&self.control, "stayput/");
        let m = || self.model.clone();
        Guard::acting(m(), Some(journal), m(), m(), self.mandate.clone())
    }

    /// A new process that observes, with a journal and calls of its own.
    pub(crate) fn observer(&self) -> (Model, ObservingGuard) {
        let client = self.model.another_client();
        let journal = client.journal(&self.control, "observer/");
        let guard = Guard::observing(
            client.clone(),
            Some(journal),
            client.clone(),
            self.mandate.clone(),
        );
        (client, guard)
    }

    /// What this checkpoint names, as keys.
    pub(crate) fn named_by(&self, id: u64) -> BTreeSet<String> {
        let location = self.bucket.at(&metadata_key(id));
        let mut keys = BTreeSet::new();
        references(&real_metadata(id), &location, &mut |object, _| {
            keys.insert(object.key().to_owned());
        });
        keys
    }

    /// The files in `shared/` that chk-8 names.
    pub(crate) fn shared_of_head(&self) -> Vec<String> {
        let named = self.named_by(8);
        assert_eq!(named.len(), NAMED_BY_HEAD);
        named.into_iter().filter(|k| k.contains("/shared/")).collect()
    }

    /// The files in its own directory that chk-8 names.
    pub(crate) fn own_of_head(&self) -> Vec<String> {
        let own: Vec<String> = self
            .named_by(8)
            .into_iter()
            .filter(|k| k.contains("/chk-8/"))
            .collect();
        assert_eq!(own.len(), OWN_OF_HEAD);
        own
    }

    /// A file in `shared/` that chk-7 names and chk-8 doesn't.
    pub(crate) fn named_by_spare_only(&self) -> String {
        let head = self.named_by(8);
        let mut spare = self.named_by(7);
        spare.retain(|k| k.contains("/shared/") && !head.contains(k));
        spare
            .into_iter()
            .next()
            .expect("chk-7 has files that chk-8 dropped")
    }

    /// A file in `shared/` that nobody names: left over from an aborted checkpoint.
    pub(crate) fn named_by_nobody(&self) -> String {
        format!("{JOB}shared/0f0e0d0c-1111-4222-8333-444455556666")
    }

    /// Every key of the job.
    pub(crate) fn all_keys(&self) -> Vec<String> {
        let mut keys = self.bucket.keys();
        keys.retain(|k| k.starts_with(JOB));
        keys
    }

    /// Deletes a key now, and gives the message that tells of it.
    pub(crate) fn delete(&self, who: Who, key: &str) -> Message {
        let marker = match who {
            Who::Rule => self.bucket.expire(key),
            Who::Flink | Who::Alice | Who::Nobody | Who::Stayput => self.bucket.delete(key),
        };
        let time = match who {
            Who::Rule => self.model.now().midnight(),
            _ => self.model.now(),
        };
        told(who, key, marker.as_ref(), time)
    }

    pub(crate) fn delete_all<K: AsRef<str>>(
        &self,
        who: Who,
        keys: impl IntoIterator<Item = K>,
    ) -> Vec<Message> {
        keys.into_iter().map(|k| self.delete(who, k.as_ref())).collect()
    }

    /// A noncurrent rule purges a version; the message that tells of it.
    pub(crate) fn purge(&self, key: &str, version: &VersionId) -> Message {
        assert!(
            self.bucket.delete_version(key, version),
            "{key} has no {version:?}"
        );
        let time = self.model.now().midnight();
        let body = notification(
            "LifecycleExpiration:Delete",
            "s3.amazonaws.com",
            key,
            Some(version),
            time,
        );
        message(format!("purge of {key} {version:?}"), &body)
    }

    /// Flink completes a checkpoint with the files of chk-8 and private ones of its own; the message that tells of it.
    pub(crate) fn complete(&self, id: u64) -> Message {
        for own in self.own_of_head() {
            let size = self
                .bucket
                .version(&own, &self.newest_data(&own))
                .and_then(|v| v.object);
            let size = size.expect("data").content.len();
            let key = own.replace("/chk-8/", &format!("/chk-{id}/"));
            self.bucket.put(&key, Object::new(Content::Zeroes(size)));
        }
        let key = metadata_key(id);
        let version = self.bucket.put(&key, with_id(real_metadata(8), id));
        created(&key, &version, self.model.now())
    }

    /// Another job with the same files in a directory of its own, whose one checkpoint was completed then.
    pub(crate) fn add_job(&self, job: &str, completed: Timestamp) {
        for key in self.named_by(8) {
            let object = self
                .bucket
                .version(&key, &self.newest_data(&key))
                .and_then(|v| v.object);
            let key = key.replace(JOB_ID, job);
            self.bucket.put_at(&key, object.expect("data"), completed);
        }
        let key = metadata_key(8).replace(JOB_ID, job);
        self.bucket.put_at(&key, of_job(real_metadata(8), job), completed);
    }

    /// The newest data version of a key.
    pub(crate) fn newest_data(&self, key: &str) -> VersionId {
        let history = self.bucket.history(key);
        let newest = history.data_versions().next().expect("a data version");
        newest.id.clone()
    }

    pub(crate) fn data_versions(&self, key: &str) -> usize {
        self.bucket.history(key).data_versions().count()
    }

    pub(crate) fn is_visible(&self, key: &str) -> bool {
        self.bucket.is_visible(key)
    }

    /// User metadata of what is visible at a key.
    pub(crate) fn user_metadata(&self, key: &str, name: &str) -> Option<String> {
        let object = self.bucket.current(key)?.object?;
        object.metadata.get(name).cloned()
    }

    /// The keys that were copied so far, in order; copies that didn't succeed aren't counted.
    pub(crate) fn copied(&self) -> Vec<String> {
        let calls = self.model.calls();
        let copies = calls
            .iter()
            .filter(|c| c.operation == "CopyObject" && c.error.is_none());
        copies.map(|c| c.key.clone()).collect()
    }
}

pub(crate) fn metadata_key(id: u64) -> String {
    format!("{JOB}chk-{id}/_metadata")
}

/// A notification of S3 about one object.
pub(crate) fn notification(
    name: &str,
    principal: &str,
    key: &str,
    version: Option<&VersionId>,
    time: Timestamp,
) -> Value {
    json!({"Records": [{
        "eventVersion": "2.3", "eventSource": "aws:s3", "awsRegion": "eu-west-1",
        "eventTime": time.to_string(), "eventName": name,
        "userIdentity": {"principalId": principal},
        "s3": {"s3SchemaVersion": "1.0", "bucket": {"name": BUCKET},
               "object": {"key": key, "versionId": version.map(VersionId::as_str)}}
    }]})
}

fn through_event_bridge(key: &str, version: Option<&VersionId>, time: Timestamp) -> Value {
    json!({
        "version": "0", "id": "106548fc", "detail-type": "Object Deleted", "source": "aws.s3",
        "account": "111122223333", "time": time.to_string(), "region": "eu-west-1",
        "resources": ["arn:aws:s3:::flink-lab"],
        "detail": {"version": "0", "bucket": {"name": BUCKET},
                   "object": {"key": key, "version-id": version.map(VersionId::as_str)},
                   "requester": "111122223333", "reason": "DeleteObject",
                   "deletion-type": "Delete Marker Created"}
    })
}

pub(crate) fn message(id: String, body: &Value) -> Message {
    let records = parse_body(body.to_string().as_bytes()).expect("a body as S3 sends it");
    Message { id, records }
}

/// The message that tells of a deletion.
pub(crate) fn told(who: Who, key: &str, marker: Option<&VersionId>, time: Timestamp) -> Message {
    let (name, principal) = match (who, marker.is_some()) {
        (Who::Rule, true) => ("LifecycleExpiration:DeleteMarkerCreated", "s3.amazonaws.com"),
        (Who::Rule, false) => ("LifecycleExpiration:Delete", "s3.amazonaws.com"),
        (Who::Flink, true) => ("ObjectRemoved:DeleteMarkerCreated", "AWS:AROAFLINK:taskmanager-1"),
        (Who::Flink, false) => ("ObjectRemoved:Delete", "AWS:AROAFLINK:taskmanager-1"),
        (Who::Stayput, true) => ("ObjectRemoved:DeleteMarkerCreated", "AWS:AROASTAYPUT:guard"),
        (Who::Stayput, false) => ("ObjectRemoved:Delete", "AWS:AROASTAYPUT:guard"),
        (Who::Alice | Who::Nobody, true) => ("ObjectRemoved:DeleteMarkerCreated", "AWS:AROAPEOPLE:alice"),
        (Who::Alice | Who::Nobody, false) => ("ObjectRemoved:Delete", "AWS:AROAPEOPLE:alice"),
    };
    let body = match who {
        Who::Nobody => through_event_bridge(key, marker, time),
        Who::Rule | Who::Flink | Who::Alice | Who::Stayput => {
            notification(name, principal, key, marker, time)
        }
    };
    message(format!("{key} {marker:?}"), &body)
}

pub(crate) fn created(key: &str, version: &VersionId, time: Timestamp) -> Message {
    let principal = "AWS:AROAFLINK:jobmanager";
    let body = notification("ObjectCreated:Put", principal, key, Some(version), time);
    message(format!("created {key}"), &body)
}

/// What was said and done about a key.
pub(crate) fn verdict_on<'r>(report: &'r BatchReport, key: &str) -> &'r Acted {
    let of_key = |a: &&Acted| a.verdict.location == ObjectLocation::new(BUCKET, key);
    let found: Vec<&Acted> = report.verdicts.iter().filter(of_key).collect();
    assert_eq!(found.len(), 1, "one verdict on {key}");
    found[0]
}

pub(crate) fn outcome_on<'r>(report: &'r BatchReport, key: &str) -> &'r Outcome {
    &verdict_on(report, key).verdict.outcome
}

pub(crate) fn done_about<'r>(report: &'r BatchReport, key: &str) -> &'r Done {
    &verdict_on(report, key).done
}

/// The outcomes by key, with the reason, in words that can be compared.
pub(crate) fn outcomes(report: &BatchReport) -> Vec<(String, String)> {
    report
        .verdicts
        .iter()
        .map(|a| (a.verdict.location.key().to_owned(), word(&a.verdict.outcome)))
        .collect()
}

pub(crate) fn word(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Leave(reason) => format!("leave: {}", reason.word()),
        Outcome::Restore(permit) => format!("restore {}", permit.source().version),
        Outcome::Later { why, .. } => format!("later: {}", why.word()),
        Outcome::Report(code) => format!("report {}", code.text()),
        Outcome::Lost(code) => format!("lost {}", code.text()),
    }
}

pub(crate) const COPIED: Done = Done::Copied {
    condition_honoured: true,
};

/// A generator of its own, so that a seed gives the same story on every machine (splitmix64).
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Less than `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        let n = u64::try_from(n).expect("small");
        usize::try_from(self.next() % n).expect("small")
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for n in (1..items.len()).rev() {
            items.swap(n, self.below(n + 1));
        }
    }
}
