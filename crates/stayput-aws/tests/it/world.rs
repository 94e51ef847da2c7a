//! A real job's checkpoint root in a bucket of a real server, and a guard over it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use s3_documents::notification::parse_body;
use serde_json::{Value, json};
use stayput_aws::clock::SystemClock;
use stayput_aws::copies::Copies;
use stayput_aws::journal::S3Journal;
use stayput_aws::s3::S3;
use stayput_core::cause::Principals;
use stayput_core::location::ObjectLocation;
use stayput_core::metadata_limit::MetadataLimit;
use stayput_core::root::{Root, RootKind, Roots};
use stayput_core::timestamp::Timestamp;
use stayput_core::verdict::Policy;
use stayput_core::version::{KeyHistory, VersionId};
use stayput_guard::batch::{Acted, BatchReport, Message};
use stayput_guard::guard::{Acting, Guard};
use stayput_guard::mandate::Mandate;
use stayput_guard::port::{Reading, VersionsOf};
use stayput_tests::tree::{Files, Tree};

use crate::server::Bucket;

pub(crate) const DAY: Duration = Duration::from_secs(86_400);
/// What the bucket's checkpoint root is called.
pub(crate) const ROOT: &str = "flink/";
/// The job that was cancelled, and the one that was restored from it by CLAIM.
pub(crate) const OLD_JOB: &str = "flink/dcece6f052f11be38b0597169690f7b8/";
pub(crate) const JOB: &str = "flink/3f78e2cd88580e0e298862c640aa6b1e/";

pub(crate) type RealGuard<C = SystemClock, R = S3> = Guard<R, S3Journal, C, Acting<Copies>>;

/// Who deleted an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Who {
    Rule,
    Somebody,
}

/// The root in its bucket.
pub(crate) struct World {
    pub(crate) bucket: Bucket,
    /// All keys and their bytes.
    pub(crate) files: Files,
    named_by: BTreeMap<String, Vec<String>>,
}

impl World {
    /// The tree that Flink 2.3.0 wrote, in a new bucket of this server, without the cancelled job's own checkpoints; nothing is uploaded yet.
    pub(crate) async fn at(url: &str) -> Self {
        let bucket = Bucket::versioned(url).await;
        let tree = Tree::load("2.3.0-cross-job");
        let mut files: Files = tree
            .rebased(&format!("s3://{}/flink", bucket.name))
            .into_iter()
            .map(|(key, bytes)| (format!("{ROOT}{key}"), bytes))
            .collect();
        files.retain(|key, _| key.starts_with(JOB) || key.starts_with(&format!("{OLD_JOB}shared/")));
        let named_by = tree.references().into_iter();
        Self {
            bucket,
            files,
            named_by: named_by.map(|(key, by)| (format!("{ROOT}{key}"), by)).collect(),
        }
    }

    /// Writes the files that `which` wants, `_metadata` last. Returns how many.
    pub(crate) async fn upload(&self, which: impl Fn(&str) -> bool) -> usize {
        let (last, first): (Vec<_>, Vec<_>) = self
            .files
            .iter()
            .filter(|(key, _)| which(key))
            .partition(|(key, _)| key.ends_with("/_metadata"));
        for part in [&first, &last] {
            let puts = part.iter().map(|(key, bytes)| self.bucket.put(key, bytes));
            stream::iter(puts).buffer_unordered(8).count().await;
        }
        first.len() + last.len()
    }

    /// What this checkpoint of the job names, by Flink's own reading.
    pub(crate) fn named_by(&self, checkpoint: &str) -> BTreeSet<String> {
        let by = format!("{}{checkpoint}", &JOB[ROOT.len()..]);
        let named = self.named_by.iter().filter(|(_, all)| all.contains(&by));
        let keys: BTreeSet<String> = named.map(|(key, _)| key.clone()).collect();
        assert!(keys.len() >= 20, "{checkpoint} names {} objects", keys.len());
        keys
    }

    /// A guard's orders: restore what is needed of everything under the root.
    pub(crate) fn mandate(&self, settle: Duration) -> Mandate {
        let root = Root::new(
            &format!("s3://{}/{ROOT}", self.bucket.name),
            RootKind::Checkpoints,
            None,
        );
        Mandate {
            control: None,
            roots: Roots::new(vec![root.expect("a root")]),
            principals: Principals {
                flink: vec!["AROAFLINK".to_owned()],
                ours: vec!["AROASTAYPUT".to_owned()],
            },
            policy: Policy {
                settle,
                dormant_after: 90 * DAY,
            },
            catalogue_max_age: settle,
            metadata_limit: MetadataLimit::of_settings(1 << 24),
            // These checkpoints have some kilobytes.
            sidecars_from: 1,
            protect_since: None,
            objects_per_day: 100_000,
            bytes_per_day: 1 << 40,
        }
    }

    /// A new process that restores and has the real time.
    pub(crate) fn guard(&self, settle: Duration) -> RealGuard {
        Guard::acting(
            S3::new(&self.bucket.connection),
            Some(self.journal()),
            SystemClock,
            self.copies(),
            self.mandate(settle),
        )
    }

    pub(crate) fn journal(&self) -> S3Journal {
        S3Journal::new(&self.bucket.connection, self.bucket.at("stayput/"))
    }

    pub(crate) fn copies(&self) -> Copies {
        Copies::new(&self.bucket.connection, Some(self.bucket.at("stayput/")), 1_000)
    }

    /// Every key's versions below the root, as the server lists them.
    pub(crate) async fn histories(&self) -> BTreeMap<String, KeyHistory> {
        let of = VersionsOf {
            bucket: &self.bucket.name,
            prefix: ROOT,
            by_directory: false,
            after_key: None,
            pages: None,
        };
        let mut rows: BTreeMap<String, Vec<_>> = BTreeMap::new();
        let listing = S3::new(&self.bucket.connection).versions(of).await.unwrap();
        for entry in listing.entries {
            rows.entry(entry.key.clone()).or_default().push(entry);
        }
        let histories = rows.into_iter().map(|(key, rows)| (key, KeyHistory::new(rows)));
        histories.collect()
    }

    /// Waits until the server's rules have hidden all of these. Returns every marker that isn't among the known ones, and makes it known.
    pub(crate) async fn wait_until_taken(
        &self,
        keys: &BTreeSet<String>,
        known: &mut BTreeSet<VersionId>,
    ) -> Vec<(String, VersionId, Timestamp)> {
        let began = Instant::now();
        loop {
            let histories = self.histories().await;
            let left = keys.iter().find(|key| histories[*key].current().is_some());
            if left.is_none() {
                let hidden = histories.iter().filter_map(|(key, history)| {
                    let marker = history.hidden()?.above_data;
                    Some((key.clone(), marker.id.clone(), marker.last_modified))
                });
                return hidden
                    .filter(|(_, marker, _)| known.insert(marker.clone()))
                    .collect();
            }
            assert!(
                began.elapsed() < Duration::from_secs(600),
                "the rules leave {left:?}"
            );
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// How many copies were made of each of these. A copy without a marker below it would be one too many.
    pub(crate) async fn copies_of(&self, keys: &BTreeSet<String>) -> usize {
        let histories = self.histories().await;
        let mut copies = 0;
        for key in keys {
            let rows = histories[key].entries();
            copies += rows.iter().filter(|row| row.size().is_some()).count() - 1;
            let twice = rows
                .windows(2)
                .any(|two| two.iter().all(|row| row.size().is_some()));
            assert!(!twice, "{key} was copied twice: {rows:?}");
        }
        copies
    }

    /// S3's message about a marker.
    pub(crate) fn told(&self, who: Who, key: &str, marker: &VersionId, at: Timestamp) -> Message {
        let body = self.body(who, key, marker, at);
        let records = parse_body(body.to_string().as_bytes()).expect("a body as S3 sends it");
        Message {
            id: format!("{key} {marker}"),
            records,
        }
    }

    /// The same as a queue brings it.
    pub(crate) fn body(&self, who: Who, key: &str, marker: &VersionId, at: Timestamp) -> Value {
        let (name, principal) = match who {
            Who::Rule => ("LifecycleExpiration:DeleteMarkerCreated", "s3.amazonaws.com"),
            Who::Somebody => ("ObjectRemoved:DeleteMarkerCreated", "AWS:AROASOMEBODY:console"),
        };
        json!({"Records": [{
            "eventVersion": "2.3", "eventSource": "aws:s3", "awsRegion": "eu-west-1",
            "eventTime": at.to_string(), "eventName": name,
            "userIdentity": {"principalId": principal},
            "s3": {"s3SchemaVersion": "1.0", "configurationId": "stayput",
                   "bucket": {"name": self.bucket.name, "arn": format!("arn:aws:s3:::{}", self.bucket.name)},
                   "object": {"key": key, "versionId": marker.as_str()}}
        }]})
    }
}

/// S3 says times in whole seconds, and so does Ceph count the age of what it wrote; its listings say milliseconds.
pub(crate) fn whole_second(time: Timestamp) -> Timestamp {
    let since = time.since(Timestamp::from_millis(0));
    Timestamp::from_millis(0).plus(Duration::from_secs(since.as_secs()))
}

/// What was said and done about a key.
pub(crate) fn verdict_on<'r>(report: &'r BatchReport, at: &ObjectLocation) -> &'r Acted {
    let mut found = report.verdicts.iter().filter(|a| a.verdict.location == *at);
    found.next().unwrap_or_else(|| panic!("no verdict on {at}"))
}
