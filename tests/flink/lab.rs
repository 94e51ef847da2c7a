//! A bucket with Stayput on guard, and a Flink cluster that writes to it.

use std::collections::BTreeMap;
use std::time::Duration;

use stayput_tests::deployment::Deployment;
use stayput_tests::relay::By;
use stayput_tests::system::{bootstrap, given};

use crate::cluster::{Cluster, turn};
use crate::release::Release;

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
    /// The job's arguments: keys, bytes for each, numbers a second, milliseconds between checkpoints.
    pub(crate) fn arguments(self) -> [String; 4] {
        let interval = match self {
            Self::Often => 500,
            Self::WhenTold => 3_600_000,
        };
        [KEYS, 200, 3000, interval].map(|n| n.to_string())
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
    pub(crate) cluster: Cluster,
    pub(crate) deployment: Deployment,
}

impl Lab {
    /// `None`: skipped, and why has been said. `settings` are Flink's, beside those that every test has.
    pub(crate) fn start(
        version: &'static str,
        name: &str,
        known: Known,
        settings: &[(&'static str, &str)],
    ) -> Option<Self> {
        let release = Release::given(version)?;
        let server = given("STAYPUT_MINISTACK", "flink")?;
        let bootstrap = bootstrap("flink")?;
        let turn = turn();
        let deployment = Deployment::new(&server, &bootstrap, name, |bucket| guard_settings(bucket, known));
        // Whatever isn't told otherwise is Flink's own deletion. The function itself deletes nothing.
        deployment
            .relay
            .everyone_else_is(By::Principal(format!("AWS:{FLINK}:taskmanager")));
        let mut all = flink_settings(&release, &server, &deployment.bucket);
        all.extend(settings.iter().map(|(key, value)| (*key, (*value).to_owned())));
        let cluster = Cluster::start(turn, &release, name, &all);
        Some(Self { cluster, deployment })
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

    /// How many copies below Flink's root the function has asked for.
    pub(crate) fn copies(&self) -> usize {
        let below = format!("/{}/flink/", self.deployment.bucket);
        let requests = self.deployment.recorder.requests();
        requests
            .iter()
            .filter(|r| r.is_copy() && r.target.starts_with(&below))
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
fn flink_settings(release: &Release, server: &str, bucket: &str) -> BTreeMap<&'static str, String> {
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
    let directory = format!("s3://{bucket}/flink");
    // No state inlined in `_metadata`: every piece is an object that can be lost.
    settings.extend(if release.is_2() {
        [
            ("execution.checkpointing.dir", directory),
            ("execution.checkpointing.incremental", "true".to_owned()),
            ("execution.checkpointing.num-retained", "2".to_owned()),
            ("execution.checkpointing.data-inline-threshold", "0b".to_owned()),
        ]
    } else {
        [
            ("state.checkpoints.dir", directory),
            ("state.backend.incremental", "true".to_owned()),
            ("state.checkpoints.num-retained", "2".to_owned()),
            ("state.storage.fs.memory-threshold", "0b".to_owned()),
        ]
    });
    settings
}

/// The setting that says what becomes of checkpoints when the job is cancelled.
pub(crate) const RETENTION: &str = "execution.checkpointing.externalized-checkpoint-retention";
