//! Messages that must wait are parked in a queue of their own, and looked at again when they are due.

use std::time::Duration;

use serde_json::{Value, json};
use stayput_tests::cloud::Queue;
use stayput_tests::deployment::Deployment;
use stayput_tests::system::{bootstrap, ministack};
use stayput_tests::tree::Tree;

const SOMEBODY: &str = "AWS:AROASOMEBODY:console";
const JOB: &str = "dcece6f052f11be38b0597169690f7b8/";
/// No message comes back to a test by itself within this.
const NEVER: Duration = Duration::from_secs(600);

/// A function with a job to watch, and where it parks what waits.
struct Parking {
    deployment: Deployment,
    parked: Queue,
    /// A file that the job's newest checkpoint needs, as its key and its bytes.
    needed: (String, Vec<u8>),
}

impl Parking {
    /// `invisible` as for a deployment. `there`: whether the queue is made, and calls the function.
    fn deploy(name: &str, settle: &str, invisible: Duration, there: bool) -> Option<Self> {
        let (url, bootstrap) = (ministack()?, bootstrap("ministack")?);
        let of_bucket = |bucket: &str| format!("{url}/000000000000/{bucket}-parked");
        let deployment = Deployment::new(&url, &bootstrap, name, invisible, |bucket| {
            format!(
                "mode = \"restore\"\ncontrol = \"s3://{bucket}/stayput/\"\nsettle = \"{settle}\"\nparked_queue = \"{}\"\n\
                 [[roots]]\nuri = \"s3://{bucket}/flink/\"\nkind = \"checkpoints\"\n[flink]\nprincipals = [\"AROAFLINK\"]\n",
                of_bucket(bucket)
            )
        });
        let parked = if there {
            let parked = deployment
                .cloud
                .make_queue(&format!("{}-parked", deployment.bucket), &json!({}));
            assert!(parked.url.ends_with("-parked"), "{}", parked.url);
            deployment.cloud.feed(&deployment.function, &parked, 10);
            parked
        } else {
            Queue {
                url: of_bucket(&deployment.bucket),
                arn: String::new(),
            }
        };
        let tree = Tree::load("2.3.0-cross-job");
        let mut files = tree.rebased(&format!("s3://{}/flink", deployment.bucket));
        files.retain(|key, _| key.starts_with(JOB));
        deployment.upload("flink/", &files);
        let references = tree.references();
        let (needed, _) = references
            .iter()
            .find(|(key, by)| {
                key.starts_with(&format!("{JOB}shared/")) && by.contains(&format!("{JOB}chk-3"))
            })
            .expect("chk-3 names shared files");
        let needed = (format!("flink/{needed}"), files[needed].clone());
        Some(Self {
            deployment,
            parked,
            needed,
        })
    }

    /// The summaries of all calls so far.
    fn summaries(&self) -> Vec<Value> {
        let log = self.deployment.log();
        log.iter().filter_map(|l| l.get("summary").cloned()).collect()
    }

    fn sum(&self, field: &str) -> u64 {
        self.summaries().iter().filter_map(|s| s[field].as_u64()).sum()
    }
}

#[test]
fn what_waits_is_parked_as_it_came_and_looked_at_again_when_it_is_due() {
    let Some(world) = Parking::deploy("parked", "5s", NEVER, true) else {
        return;
    };
    let (deployment, (needed, bytes)) = (&world.deployment, &world.needed);
    deployment.delete_as(SOMEBODY, needed);

    // Its own queue would bring it back after ten minutes.
    let back = deployment.wait_for(needed, Duration::from_secs(60));
    assert_eq!(&back, bytes, "{needed} is another file now");
    deployment.wait_until_idle(Duration::from_secs(60));
    assert_eq!(deployment.cloud.depth(&deployment.dead_letters), (0, 0));
    assert_eq!(deployment.cloud.depth(&world.parked), (0, 0));
    assert!(world.sum("parked") >= 1, "{:?}", world.summaries());
    assert_eq!((world.sum("again"), world.sum("left_to_sweep")), (0, 0));

    // What was sent is S3's own message, and a number beside it.
    let requests = deployment.recorder.requests();
    let sent: Vec<Value> = requests
        .iter()
        .filter_map(|request| request.document.as_ref())
        .filter(|(operation, _)| operation == "AmazonSQS.SendMessageBatch")
        .map(|(_, text)| serde_json::from_str(text).unwrap_or_else(|e| panic!("{text}: {e}")))
        .collect();
    let entry = &sent[0]["Entries"][0];
    let body: Value =
        serde_json::from_str(entry["MessageBody"].as_str().unwrap_or_default()).unwrap_or_default();
    assert_eq!(body["Records"][0]["s3"]["bucket"]["name"], *deployment.bucket);
    assert_eq!(
        entry["MessageAttributes"]["stayput-parked"]["StringValue"], "1",
        "{entry}"
    );
    let delay = entry["DelaySeconds"].as_u64().unwrap_or_default();
    assert!((1..=5).contains(&delay), "{entry}");
}

#[test]
fn where_the_parked_queue_takes_nothing_the_message_comes_back_from_its_own() {
    let Some(world) = Parking::deploy("unparked", "5s", Duration::from_secs(3), false) else {
        return;
    };
    let (deployment, (needed, bytes)) = (&world.deployment, &world.needed);
    deployment.delete_as(SOMEBODY, needed);
    let back = deployment.wait_for(needed, Duration::from_secs(60));
    assert_eq!(&back, bytes, "{needed} is another file now");
    deployment.wait_until_idle(Duration::from_secs(60));
    assert_eq!(deployment.cloud.depth(&deployment.dead_letters), (0, 0));
    assert_eq!(world.sum("parked"), 0);
    assert!(world.sum("again") >= 1, "{:?}", world.summaries());
    let log = deployment.log();
    let said = |line: &Value| {
        line["message"]
            .as_str()
            .is_some_and(|m| m.contains("couldn't be parked") && m.contains(&world.parked.url))
    };
    assert!(log.iter().any(said), "{log:#?}");
}

#[test]
fn what_was_parked_six_times_is_done_and_left_to_the_sweep() {
    let Some(world) = Parking::deploy("enough", "1h", NEVER, true) else {
        return;
    };
    let deployment = &world.deployment;
    let marker = deployment.cloud.delete(&deployment.bucket, &world.needed.0);
    let body = json!({"Records": [{
        "eventVersion": "2.1", "eventSource": "aws:s3", "eventTime": "2026-11-30T03:00:00.000Z",
        "eventName": "ObjectRemoved:DeleteMarkerCreated", "userIdentity": {"principalId": SOMEBODY},
        "s3": {"bucket": {"name": deployment.bucket}, "object": {"key": world.needed.0, "versionId": marker}},
    }]});
    deployment
        .cloud
        .send_with(&world.parked, &body.to_string(), "stayput-parked", 6);
    let began = std::time::Instant::now();
    while world.sum("left_to_sweep") < 1 {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "{:?}",
            deployment.log()
        );
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(world.sum("again"), 0);
    assert_eq!(deployment.cloud.depth(&world.parked), (0, 0));
    assert_eq!(deployment.cloud.depth(&deployment.dead_letters), (0, 0));
    let log = deployment.log();
    let said = |line: &Value| {
        line["message"]
            .as_str()
            .is_some_and(|m| m.contains("left to the sweep") && m.contains("6 times"))
    };
    assert!(log.iter().any(said), "{log:#?}");
}
