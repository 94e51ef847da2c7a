//! infra/template.yaml as a new user deploys it, on a server that checks what the role may do.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stayput_tests::cloud::Cloud;
use stayput_tests::stack::{Kit, Stack};
use stayput_tests::system::{bootstrap, guarded_ministack, sam};
use stayput_tests::tree::{Files, Tree};

const JOB: &str = "dcece6f052f11be38b0597169690f7b8/";
/// Every deletion has this principal here.
const STRANGER: &str = "EXAMPLE";
const PATIENCE: Duration = Duration::from_secs(90);
const NEWEST: &str = "dcece6f052f11be38b0597169690f7b8/chk-3";

/// A bucket with a job, below `flink/`.
struct State {
    cloud: Cloud,
    bucket: &'static str,
    files: Files,
    /// Files in `shared/` that the job's newest checkpoint names.
    needed: Vec<String>,
}

impl State {
    fn in_bucket(cloud: Cloud, bucket: &'static str) -> Self {
        cloud.make_versioned_bucket(bucket);
        let tree = Tree::load("2.3.0-cross-job");
        let mut files = tree.rebased(&format!("s3://{bucket}/flink"));
        files.retain(|key, _| key.starts_with(JOB));
        // `_metadata` last, as Flink writes it.
        let (metadata, state): (Vec<_>, Vec<_>) =
            files.iter().partition(|(key, _)| key.ends_with("/_metadata"));
        for (key, bytes) in state.iter().chain(&metadata) {
            cloud.put(bucket, &format!("flink/{key}"), bytes);
        }
        let shared = format!("{JOB}shared/");
        let needed: Vec<String> = tree
            .references()
            .into_iter()
            .filter(|(key, by)| key.starts_with(&shared) && by.contains(&format!("{JOB}chk-3")))
            .map(|(key, _)| key)
            .collect();
        assert!(needed.len() >= 3, "chk-3 names too few shared files: {needed:?}");
        Self {
            cloud,
            bucket,
            files,
            needed,
        }
    }

    fn delete(&self, file: &str) {
        self.cloud.delete(self.bucket, &format!("flink/{file}"));
    }

    fn get(&self, file: &str) -> Option<Vec<u8>> {
        self.cloud.get(self.bucket, &format!("flink/{file}"))
    }

    fn is_back(&self, file: &str) {
        let began = Instant::now();
        while self.get(file).as_ref() != Some(&self.files[file]) {
            assert!(began.elapsed() < PATIENCE, "{file} isn't back");
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn lines(&self, stack: &Stack) -> Vec<Value> {
        let log = self.cloud.log_of(stack.output("LogGroup"));
        log.iter()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }

    /// The verdict on a file with this word for what was done, once there is one.
    fn verdict(&self, stack: &Stack, file: &str, done: &str) -> Value {
        let object = format!("s3://{}/flink/{file}", self.bucket);
        let began = Instant::now();
        loop {
            let lines = self.lines(stack);
            let is_it = |l: &&Value| l["verdict"]["object"] == *object && l["verdict"]["done"] == done;
            if let Some(line) = lines.iter().find(is_it) {
                return line["verdict"].clone();
            }
            let log: Vec<String> = lines.iter().map(ToString::to_string).collect();
            assert!(
                began.elapsed() < PATIENCE,
                "no verdict {done} on {object}:\n{}",
                log.join("\n")
            );
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn nothing_was_denied(&self, stack: &Stack) {
        let said: Vec<String> = self.lines(stack).iter().map(ToString::to_string).collect();
        assert!(said.len() >= 2, "{said:?}");
        let denied: Vec<&String> = said
            .iter()
            .filter(|line| line.to_lowercase().contains("denied"))
            .collect();
        assert!(denied.is_empty(), "{denied:#?}");
    }
}

fn kit() -> Option<(Cloud, Kit)> {
    let (url, sam, bootstrap) = (guarded_ministack()?, sam()?, bootstrap("stack")?);
    Some((Cloud::at(&url), Kit { sam, bootstrap }))
}

#[test]
fn a_stack_observes_then_restores_and_its_role_can_do_both_and_no_more() {
    let Some((cloud, kit)) = kit() else { return };
    let bucket = "stack-state";
    let state = State::in_bucket(cloud.clone(), bucket);
    let [first, second, third, ..] = state.needed.as_slice() else {
        return;
    };

    // As it is installed: it observes.
    let parameters = [
        ("StateBucket", bucket),
        ("CheckpointPrefix", "flink/"),
        ("SettleSeconds", "0"),
        ("BatchWindowSeconds", "1"),
        ("FlinkRoleIds", "AROAFLINK"),
    ];
    let stack = kit.deploy(&cloud, "stayput-stack", &parameters);
    stack.let_send(&cloud, bucket);
    state.delete(first);
    let seen = state.verdict(&stack, first, "would_copy");
    assert_eq!(
        (&seen["cause"], &seen["by"]),
        (&"foreign".into(), &STRANGER.into()),
        "{seen}"
    );
    assert_eq!(state.get(first), None, "observing changed something");
    state.nothing_was_denied(&stack);

    // Dared to: it restores, and remembers. Parameters that aren't named keep their values.
    let dared = [("Mode", "restore"), ("ControlBucket", bucket)];
    let stack = kit.deploy(&cloud, "stayput-stack", &dared);
    state.delete(second);
    state.is_back(second);
    state.verdict(&stack, second, "copied");

    // What it only watched, the sweep puts back.
    let schedule = br#"{"source":"aws.scheduler","detail-type":"Scheduled Event"}"#;
    let answer = cloud.invoke(stack.output("SweepFunction"), schedule);
    assert_eq!(String::from_utf8_lossy(&answer), "null");
    assert_eq!(state.get(first).as_ref(), Some(&state.files[first]));
    assert!(!cloud.list(bucket, "stayput/").is_empty(), "it remembers nothing");
    state.nothing_was_denied(&stack);

    // And the server does check: without that policy nothing is copied.
    cloud.delete_role_policy(stack.output("RoleName"), "copy");
    state.delete(third);
    let seen = state.verdict(&stack, third, "failed");
    let why = seen["detail"].as_str().unwrap_or_default();
    assert!(why.to_lowercase().contains("denied"), "{seen}");
    assert_eq!(state.get(third), None);
}

#[test]
fn a_stack_that_hears_by_eventbridge_knows_what_and_not_who() {
    let Some((cloud, kit)) = kit() else { return };
    let bucket = "stack-on-the-bus";
    let state = State::in_bucket(cloud.clone(), bucket);
    let parameters = [
        ("StateBucket", bucket),
        ("CheckpointPrefix", "flink/"),
        ("SettleSeconds", "0"),
        ("BatchWindowSeconds", "1"),
        ("FlinkRoleIds", "AROAFLINK"),
        ("EventPath", "eventbridge"),
    ];
    let stack = kit.deploy(&cloud, "stayput-bus", &parameters);
    assert!(
        !stack.outputs.contains_key("Notifications"),
        "{:?}",
        stack.outputs
    );
    cloud.put_notifications(bucket, "<EventBridgeConfiguration></EventBridgeConfiguration>");
    state.delete(&state.needed[0]);
    let seen = state.verdict(&stack, &state.needed[0], "would_copy");
    assert_eq!(seen["cause"], "unknown", "{seen}");
    state.nothing_was_denied(&stack);
}

/// S3's message about a version that was thawed.
fn can_be_read(bucket: &str, key: &str, version: &str) -> String {
    json!({"Records": [{
        "eventVersion": "2.1", "eventSource": "aws:s3", "awsRegion": "us-east-1", "eventTime": "2026-11-30T03:00:00.000Z",
        "eventName": "ObjectRestore:Completed", "userIdentity": {"principalId": "s3.amazonaws.com"},
        "s3": {"s3SchemaVersion": "1.0", "bucket": {"name": bucket}, "object": {"key": key, "versionId": version}},
    }]})
    .to_string()
}

#[test]
fn a_stack_that_hears_of_new_checkpoints_and_of_thaws_needs_no_more_than_the_others() {
    let Some((cloud, kit)) = kit() else { return };
    let bucket = "stack-new-checkpoints";
    let state = State::in_bucket(cloud.clone(), bucket);
    let metadata = format!("flink/{NEWEST}/_metadata");
    let newest = cloud.get(bucket, &metadata).expect("chk-3 is there");
    cloud.delete(bucket, &metadata);
    let parameters = [
        ("StateBucket", bucket),
        ("CheckpointPrefix", "flink/"),
        ("SettleSeconds", "0"),
        ("BatchWindowSeconds", "1"),
        ("FlinkRoleIds", "AROAFLINK"),
        ("Mode", "restore"),
        ("ControlBucket", bucket),
        ("NewCheckpoints", "yes"),
    ];
    let stack = kit.deploy(&cloud, "stayput-new-checkpoints", &parameters);
    let references = Tree::load("2.3.0-cross-job").references();
    let only_new = |key: &&String| references[*key] == [NEWEST];
    let hidden = state
        .needed
        .iter()
        .find(only_new)
        .expect("chk-3 has files of its own");
    // Nobody is told of this, and no checkpoint names it yet.
    state.delete(hidden);
    stack.let_send(&cloud, bucket);

    cloud.put(bucket, &metadata, &newest);
    state.is_back(hidden);
    state.verdict(&stack, hidden, "copied");

    // Hidden without a message, and then S3 tells that its version can be read. (This server thaws no version that is hidden.)
    cloud.put_notifications(bucket, "");
    let thawed = state.needed.iter().find(|key| *key != hidden).expect("another");
    let key = format!("flink/{thawed}");
    let version = cloud.version(bucket, &key);
    state.delete(thawed);
    let lifecycle = cloud.queue_of(stack.output("LifecycleQueueArn"));
    cloud.send(&lifecycle, &can_be_read(bucket, &key, &version));
    state.is_back(thawed);
    state.verdict(&stack, thawed, "copied");
    state.nothing_was_denied(&stack);
}

#[test]
fn what_waits_goes_round_by_the_parked_queue_of_the_stack() {
    let Some((cloud, kit)) = kit() else { return };
    let bucket = "stack-parks";
    let state = State::in_bucket(cloud.clone(), bucket);
    let parameters = [
        ("StateBucket", bucket),
        ("CheckpointPrefix", "flink/"),
        ("SettleSeconds", "8"),
        ("BatchWindowSeconds", "1"),
        ("FlinkRoleIds", "AROAFLINK"),
        ("Mode", "restore"),
    ];
    let stack = kit.deploy(&cloud, "stayput-parks", &parameters);
    // AWS has no action of this name: sqs:SendMessage is for batches too. This server asks for it.
    let batches = json!({"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Action": ["sqs:SendMessageBatch"], "Resource": ["*"]}]});
    cloud.allow(stack.output("RoleName"), "batches", &batches.to_string());
    let file = &state.needed[0];
    let marker = cloud.delete(bucket, &format!("flink/{file}"));
    // By the queue without a delay, so that it comes before it is quiet; that queue would bring it back after 12 minutes.
    let told = json!({"Records": [{
        "eventVersion": "2.1", "eventSource": "aws:s3", "awsRegion": "us-east-1", "eventTime": "2026-11-30T03:00:00.000Z",
        "eventName": "ObjectRemoved:DeleteMarkerCreated", "userIdentity": {"principalId": "AWS:AROASOMEBODY:console"},
        "s3": {"s3SchemaVersion": "1.0", "bucket": {"name": bucket}, "object": {"key": format!("flink/{file}"), "versionId": marker}},
    }]});
    let lifecycle = cloud.queue_of(stack.output("LifecycleQueueArn"));
    cloud.send(&lifecycle, &told.to_string());
    state.is_back(file);
    let parked: u64 = state
        .lines(&stack)
        .iter()
        .filter_map(|line| line["summary"]["parked"].as_u64())
        .sum();
    assert!(parked >= 1, "{:?}", state.lines(&stack));
    state.nothing_was_denied(&stack);
}
