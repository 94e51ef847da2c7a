//! Stayput as it is run: bucket → queue → Lambda, with a dead-letter queue.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cloud::{Cloud, Queue, REGION};
use crate::recorder::Recorder;
use crate::relay::{By, Relay};
use crate::tree::Files;

/// One bucket and one function that watches it.
pub struct Deployment {
    /// The server.
    pub cloud: Cloud,
    /// The versioned bucket.
    pub bucket: String,
    /// The function's name.
    pub function: String,
    /// What the function is fed with.
    pub queue: Queue,
    /// Where messages land that it could never handle.
    pub dead_letters: Queue,
    /// Between S3 and the function's queue: it says who deleted what.
    pub relay: Relay,
    /// Between the function and the server: what the function asks for.
    pub recorder: Recorder,
}

/// How often a message is offered before it counts as poisonous.
pub const MAX_RECEIVE_COUNT: u32 = 12;

impl Deployment {
    /// Makes everything under names of its own. A message that was delivered is `invisible` so long: then it comes again if it isn't done,
    /// even if the call that has it still runs, and two calls beside each other may both copy. On AWS that is at least six times the
    /// function's timeout. `settings` gets the bucket's name and returns the settings document.
    ///
    /// # Panics
    /// If the zip beside the bootstrap can't be read, or the server refuses.
    pub fn new(
        url: &str,
        bootstrap: &Path,
        name: &str,
        invisible: Duration,
        settings: impl FnOnce(&str) -> String,
    ) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "{name}-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let zip = bootstrap.with_file_name("stayput-lambda.zip");
        let zip = fs::read(&zip)
            .unwrap_or_else(|e| panic!("{}: {e}; `cargo xtask lambda` makes it", zip.display()));
        let cloud = Cloud::at(url);

        cloud.make_versioned_bucket(&name);
        let events = cloud.make_queue(&format!("{name}-events"), &json!({}));
        let dead_letters = cloud.make_queue(&format!("{name}-dead"), &json!({}));
        let redrive = json!({"deadLetterTargetArn": dead_letters.arn, "maxReceiveCount": MAX_RECEIVE_COUNT})
            .to_string();
        let queue = cloud.make_queue(
            &format!("{name}-work"),
            &json!({"VisibilityTimeout": invisible.as_secs().to_string(), "RedrivePolicy": redrive}),
        );
        let relay = Relay::start(cloud.clone(), events.clone(), queue.clone());
        let recorder = Recorder::before(url);
        let variables = json!({
            "STAYPUT_CONFIG": settings(&name),
            "AWS_ENDPOINT_URL": recorder.url(),
            "AWS_REGION": REGION,
            // A line for every verdict, those too that leave an object.
            "STAYPUT_LOG": "debug",
        });
        cloud.make_function(&name, &zip, &variables);
        cloud.feed(&name, &queue, 10);
        cloud.notify_of_deletions(&name, &events);
        Self {
            cloud,
            bucket: name.clone(),
            function: name,
            queue,
            dead_letters,
            relay,
            recorder,
        }
    }

    /// Uploads files below `prefix`, which ends in `/` or is empty: state first, then the `_metadata` files in the order of
    /// their ids, as Flink does.
    pub fn upload(&self, prefix: &str, files: &Files) {
        let (metadata, state): (Vec<_>, Vec<_>) =
            files.iter().partition(|(key, _)| key.ends_with("/_metadata"));
        let mut metadata = metadata;
        metadata.sort_by_key(|(key, _)| checkpoint_id(key));
        for (key, bytes) in state.into_iter().chain(metadata) {
            self.cloud.put(&self.bucket, &format!("{prefix}{key}"), bytes);
        }
    }

    /// Deletes an object as this principal.
    pub fn delete_as(&self, principal: &str, key: &str) {
        self.delete_by(By::Principal(principal.to_owned()), key);
    }

    /// Deletes an object as somebody does, or a rule.
    pub fn delete_by(&self, by: By, key: &str) {
        self.relay.deleting(by, || self.cloud.delete(&self.bucket, key));
    }

    /// The object, if it is visible.
    pub fn get(&self, key: &str) -> Option<Vec<u8>> {
        self.cloud.get(&self.bucket, key)
    }

    /// Waits until the object is visible again.
    ///
    /// # Panics
    /// If it isn't after so long; says what the function logged.
    pub fn wait_for(&self, key: &str, at_most: Duration) -> Vec<u8> {
        let began = Instant::now();
        loop {
            if let Some(bytes) = self.get(key) {
                return bytes;
            }
            let log = || self.cloud.log(&self.function).join("\n");
            assert!(
                began.elapsed() < at_most,
                "{key} isn't back after {at_most:?}; the function's log:\n{}",
                log()
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Waits until no message waits and none is being handled.
    ///
    /// # Panics
    /// If that isn't so after so long.
    pub fn wait_until_idle(&self, at_most: Duration) {
        let began = Instant::now();
        let mut idle = 0;
        // A message between two queues is in neither count: a second of quiet must pass.
        while idle < 10 {
            let depth = self.cloud.depth(&self.queue);
            idle = if depth == (0, 0) { idle + 1 } else { 0 };
            let log = || self.cloud.log(&self.function).join("\n");
            assert!(
                began.elapsed() < at_most,
                "{depth:?} messages are left after {at_most:?}; log:\n{}",
                log()
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// The function's log lines that are JSON.
    pub fn log(&self) -> Vec<Value> {
        self.cloud
            .log(&self.function)
            .iter()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }
}

/// The N of `…/chk-N/_metadata`; 0 for others.
fn checkpoint_id(key: &str) -> u64 {
    let directory = key
        .trim_end_matches("/_metadata")
        .rsplit('/')
        .next()
        .unwrap_or_default();
    directory
        .strip_prefix("chk-")
        .and_then(|id| id.parse().ok())
        .unwrap_or(0)
}
