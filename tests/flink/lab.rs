//! A bucket with Stayput on guard, and a Flink cluster that writes to it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use stayput_tests::deployment::Deployment;
use stayput_tests::relay::By;
use stayput_tests::system::{bootstrap, given};

use crate::cluster::{Cluster, Turn, turn};
use crate::release::Release;
use crate::rest::Claim;

/// The principal of Flink's role.
const FLINK: &str = "AROAFLINK";

/// Keys of the job's state.
pub(crate) const KEYS: u64 = 300;

/// When the job takes checkpoints.
#[derive(Clone, Copy)]
pub(crate) enum Pace {
    /// Twice a second.
    Often,
    /// Once an hour: when it is told to. Then the newest stays the newest while a test looks at it.
    WhenTold,
}

impl Pace {
    fn interval(self) -> &'static str {
        match self {
            Self::Often => "500ms",
            Self::WhenTold => "1h",
        }
    }
}

/// Somebody with a console.
pub(crate) fn stranger() -> By {
    By::Principal("AWS:AROASOMEBODY:console".to_owned())
}

/// Whether Stayput's settings say who Flink is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Known {
    Principals,
    Nobody,
}

/// The bucket and the cluster.
pub(crate) struct Lab {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) deployment: Deployment,
    /// Of the jobs.
    settings: BTreeMap<&'static str, String>,
    _turn: Turn,
}

impl Lab {
    /// `None`: skipped, and why has been said. `settings` are the jobs', beside where their checkpoints lie.
    pub(crate) fn start(
        version: &'static str,
        name: &str,
        known: Known,
        settings: &[(&'static str, &str)],
    ) -> Option<Self> {
        let release = Release::given(version)?;
        let server = given("STAYPUT_MINISTACK", "flink")?;
        let bootstrap = bootstrap("flink")?;
        // Before it is this test's turn: whoever waits keeps the cluster alive.
        let cluster = Cluster::of(&release, &flink_settings(&release, &server));
        let turn = turn();
        cluster.clear();
        let deployment = Deployment::new(&server, &bootstrap, name, INVISIBLE, |bucket| {
            guard_settings(bucket, known)
        });
        // Whatever isn't told otherwise is Flink's own deletion. The function itself deletes nothing.
        deployment
            .relay
            .everyone_else_is(By::Principal(format!("AWS:{FLINK}:taskmanager")));
        let directory = if release.is_2() {
            "execution.checkpointing.dir"
        } else {
            "state.checkpoints.dir"
        };
        let mut of_jobs = BTreeMap::from([(directory, format!("s3://{}/flink", deployment.bucket))]);
        of_jobs.extend(settings.iter().map(|(key, value)| (*key, (*value).to_owned())));
        Some(Self {
            cluster,
            deployment,
            settings: of_jobs,
            _turn: turn,
        })
    }

    /// Runs the job, new or from a checkpoint or savepoint; returns its id.
    pub(crate) fn run(&self, pace: Pace, from: Option<(&str, Claim)>) -> String {
        let mut settings = self.settings.clone();
        settings.insert("execution.checkpointing.interval", pace.interval().to_owned());
        // Keys, bytes for each, numbers a second.
        let arguments = [KEYS, 200, 3000].map(|n| n.to_string());
        self.cluster.rest.run(&settings, &arguments, from)
    }

    /// Keys of the visible objects with Stayput's mark in their metadata: those that it brought back.
    pub(crate) fn brought_back(&self) -> Vec<String> {
        let cloud = &self.deployment.cloud;
        let mut keys = cloud.list(&self.deployment.bucket, "flink/");
        keys.retain(|key| {
            // Flink may have deleted it since.
            let metadata = cloud.metadata(&self.deployment.bucket, key).unwrap_or_default();
            metadata.keys().any(|name| name.starts_with("stayput-"))
        });
        keys
    }

    /// How many copies of Flink's objects the function has asked for: all but those of its own documents.
    pub(crate) fn copies(&self) -> usize {
        let bucket = format!("/{}/", self.deployment.bucket);
        let requests = self.deployment.recorder.requests();
        let of_flink = |target: &str| {
            target
                .strip_prefix(&bucket)
                .is_some_and(|key| !key.starts_with("stayput/"))
        };
        requests
            .iter()
            .filter(|r| r.is_copy() && of_flink(&r.target))
            .count()
    }

    /// What the function has asked the server for so far, by operation.
    pub(crate) fn asked(&self) -> BTreeMap<String, usize> {
        let mut sums = BTreeMap::new();
        for request in self.deployment.recorder.requests() {
            *sums.entry(request.operation()).or_default() += 1;
        }
        sums
    }
}

/// A message comes again after so long, if it isn't done: longer than the 30 seconds that a call of the function may last, as the tests count copies.
const INVISIBLE: Duration = Duration::from_secs(35);

/// The delay after which Stayput takes a bucket for quiet.
pub(crate) const SETTLE: Duration = Duration::from_secs(2);

fn guard_settings(bucket: &str, known: Known) -> String {
    let mut text = format!(
        "mode = \"restore\"\ncontrol = \"s3://{bucket}/stayput/\"\nsettle = \"{}s\"\n\
         [[roots]]\nuri = \"s3://{bucket}/flink/\"\nkind = \"checkpoints\"\n\
         [[roots]]\nuri = \"s3://{bucket}/savepoints/\"\nkind = \"savepoints\"\n",
        SETTLE.as_secs()
    );
    if known == Known::Principals {
        text.push_str(&format!("[flink]\nprincipals = [\"{FLINK}\"]\n"));
    }
    text
}

/// Incremental RocksDB checkpoints on S3, by `flink-s3-fs-hadoop`.
fn flink_settings(release: &Release, server: &str) -> BTreeMap<&'static str, String> {
    let mut settings = BTreeMap::from([
        ("s3.endpoint", server.to_owned()),
        ("s3.path.style.access", "true".to_owned()),
        ("s3.access-key", "flink".to_owned()),
        ("s3.secret-key", "flink".to_owned()),
        ("state.backend.type", "rocksdb".to_owned()),
        // With several, the exception of a failed restore may be that of a thread that was stopped for the one that found no file.
        (
            "state.backend.rocksdb.checkpoint.transfer.thread.num",
            "1".to_owned(),
        ),
        ("execution.checkpointing.min-pause", "100ms".to_owned()),
    ]);
    // No state inlined in `_metadata`: every piece is an object that can be lost.
    settings.extend(if release.is_2() {
        [
            ("execution.checkpointing.incremental", "true".to_owned()),
            ("execution.checkpointing.num-retained", "2".to_owned()),
            ("execution.checkpointing.data-inline-threshold", "0b".to_owned()),
        ]
    } else {
        [
            ("state.backend.incremental", "true".to_owned()),
            ("state.checkpoints.num-retained", "2".to_owned()),
            ("state.storage.fs.memory-threshold", "0b".to_owned()),
        ]
    });
    settings
}

/// The setting that says what becomes of checkpoints when the job is cancelled.
pub(crate) const RETENTION: &str = "execution.checkpointing.externalized-checkpoint-retention";
