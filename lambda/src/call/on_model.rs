//! Whole calls on a model of S3, with the guard as it is deployed: a real job whose objects are deleted.

use std::cell::{Cell, RefCell};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use s3_documents::bucket::Versioning;
use s3_documents::listing::parse_versions;
use s3_model::{Content, Fault, Model, ModelBucket, ModelJournal};
use serde_json::json;
use stayput_aws::parked::ToPark;
use stayput_core::timestamp::Timestamp;
use stayput_core::version::VersionId;
use stayput_guard::guard::{Acting, Guard};
use stayput_guard::port::{PortError, PortErrorKind};
use stayput_guard::settings::Settings;
use tracing_subscriber::fmt::MakeWriter;

use super::*;
use crate::log::Lines;

const BUCKET: &str = "flink-lab";
const JOB: &str = "2.3.0/events-retained2/2be3cab7043c112ec2d02bfe50f0feb2/";
/// Named by chk-8, the newest checkpoint of the job, and by nobody.
const NEEDED: &str = "shared/1eb6bd52-c923-4b53-9b9b-bec263de6f2c";
const UNNEEDED: &str = "shared/0f0e0d0c-1111-4222-8333-444455556666";

struct OnModel {
    guard: Guard<Model, ModelJournal, Model, Acting<Model>>,
    model: Model,
    counted: Cell<u64>,
    parks: bool,
}

impl Judge for OnModel {
    async fn handle(&mut self, messages: &[Message]) -> BatchReport {
        self.guard.handle(messages).await
    }

    async fn sweep(&mut self) -> SweepReport {
        self.guard.sweep().await
    }

    async fn findings_sent(&self, findings: &[Finding]) -> Result<(), PortError> {
        self.guard.findings_sent(findings).await
    }

    /// Keeps what it is told, unless the test says that it can't be reached.
    async fn publish(&self, findings: &[Finding]) -> Vec<Result<(), PortError>> {
        let one = |finding: &Finding| match UNREACHABLE.get() {
            true => Err(PortError::new(PortErrorKind::Transient, "Publish", "a topic")),
            false => {
                PUBLISHED.with_borrow_mut(|all| all.push(finding.code.text()));
                Ok(())
            }
        };
        findings.iter().map(one).collect()
    }

    fn parks(&self) -> bool {
        self.parks
    }

    /// Keeps what it is told, but for what the test says that the queue doesn't take.
    async fn park(&self, messages: &[ToPark<'_>]) -> Vec<Result<(), PortError>> {
        let one = |message: &ToPark<'_>| {
            if REFUSED.with_borrow(|refused| message.body.contains(refused)) {
                return Err(PortError::new(
                    PortErrorKind::Denied,
                    "SendMessageBatch",
                    "a queue",
                ));
            }
            let kept = (message.body.to_owned(), message.after.as_secs(), message.times);
            PARKED.with_borrow_mut(|all| all.push(kept));
            Ok(())
        };
        messages.iter().map(one).collect()
    }

    fn now(&self) -> Timestamp {
        self.model.now()
    }

    /// The model's count of listings; the real one of all operations is tested where the requests are real.
    fn requests(&self) -> BTreeMap<String, u64> {
        let listings = self.model.requests("ListObjectsV2");
        let new = listings - self.counted.replace(listings);
        BTreeMap::from([("ListObjectsV2".to_owned(), new)])
    }
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/corpus")
}

/// The job of a story, with everything visible, two minutes after midnight.
struct World {
    model: Model,
    bucket: ModelBucket,
    control: ModelBucket,
}

impl World {
    fn with_a_job() -> Self {
        let model = Model::new(Timestamp::parse("2026-11-28T00:02:00Z").unwrap());
        let bucket = model.create_bucket(BUCKET, Versioning::Enabled);
        let control = model.create_bucket("ops", Versioning::Never);
        let story = corpus().join("stories/lifecycle-running");
        let read = |file: &str| std::fs::read(story.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
        let mut listing = parse_versions(&read("bucket.json")).unwrap();
        listing.delete_markers.clear();
        for version in &mut listing.versions {
            version.is_latest = true;
        }
        bucket.load(&listing).unwrap();
        for (id, version) in [
            (7, "cb2d99fd-6990-4ca1-8151-05704933c719"),
            (8, "22c6e724-be83-4ddf-92bc-08a6b4b2fd9b"),
        ] {
            let key = format!("{JOB}chk-{id}/_metadata");
            let bytes = read(&format!("metadata/{key}@{version}"));
            let current = bucket.current(&key).unwrap().id;
            assert!(bucket.edit(&key, &current, |o| o.content = Content::from(bytes)));
        }
        for file in [NEEDED, UNNEEDED] {
            assert!(bucket.is_visible(&format!("{JOB}{file}")), "{file}");
        }
        Self {
            model,
            bucket,
            control,
        }
    }

    fn function(&self) -> Function<OnModel, impl Fn() -> OnModel> {
        self.function_that(false)
    }

    /// The function, with a queue to park messages in or without one.
    fn function_that(&self, parks: bool) -> Function<OnModel, impl Fn() -> OnModel> {
        let settings = Settings::parse(&format!(
            "mode = 'restore'\ncontrol = 's3://ops/stayput/'\n[[roots]]\nuri = 's3://{BUCKET}/2.3.0/events-retained2/'\nkind = 'checkpoints'\n\
             [flink]\nprincipals = ['AROAFLINK']"
        ))
        .unwrap();
        let (model, control) = (self.model.clone(), self.control.clone());
        Function::new(move || {
            let journal = model.journal(&control, "stayput/");
            let m = || model.clone();
            OnModel {
                guard: Guard::acting(m(), Some(journal), m(), m(), settings.mandate.clone()),
                model: m(),
                counted: Cell::new(model.requests("ListObjectsV2")),
                parks,
            }
        })
    }

    /// Hides the object and gives the notification of it.
    fn delete(&self, who: &str, file: &str) -> Value {
        let key = format!("{JOB}{file}");
        let (name, marker) = match who {
            "s3.amazonaws.com" => (
                "LifecycleExpiration:DeleteMarkerCreated",
                self.bucket.expire(&key),
            ),
            _ => ("ObjectRemoved:DeleteMarkerCreated", self.bucket.delete(&key)),
        };
        json!({"Records": [{
            "eventVersion": "2.3", "eventSource": "aws:s3", "awsRegion": "eu-west-1",
            "eventTime": self.model.now().to_string(), "eventName": name,
            "userIdentity": {"principalId": who},
            "s3": {"s3SchemaVersion": "1.0", "bucket": {"name": BUCKET},
                   "object": {"key": key, "versionId": marker.as_ref().map(VersionId::as_str)}}
        }]})
    }

    fn is_visible(&self, file: &str) -> bool {
        self.bucket.is_visible(&format!("{JOB}{file}"))
    }
}

const RULE: &str = "s3.amazonaws.com";
const FLINK: &str = "AWS:AROAFLINK:taskmanager-1";

fn queue(bodies: &[(&str, String)]) -> Vec<u8> {
    let records: Vec<Value> = bodies
        .iter()
        .map(|(id, body)| json!({"messageId": id, "eventSource": "aws:sqs", "body": body}))
        .collect();
    json!({"Records": records}).to_string().into_bytes()
}

thread_local! {
    /// Whether the topic of findings can't be reached.
    static UNREACHABLE: Cell<bool> = const { Cell::new(false) };
    /// The codes of the findings that it took.
    static PUBLISHED: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
    /// What the parked queue doesn't take: bodies with this in them.
    static REFUSED: RefCell<String> = RefCell::new("nothing is refused".to_owned());
    /// What it took: body, seconds, times.
    static PARKED: RefCell<Vec<(String, u64, u32)>> = const { RefCell::new(Vec::new()) };
    static LOGGED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// What this thread logs.
#[derive(Clone, Copy)]
struct OfThisThread;

impl Write for OfThisThread {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        LOGGED.with_borrow_mut(|logged| logged.extend_from_slice(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for OfThisThread {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        *self
    }
}

/// One subscriber for all threads: with one per thread, a place in the code that another thread comes to first counts as switched off.
fn listen() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let subscriber = tracing_subscriber::fmt()
            .event_format(Lines)
            .with_max_level(tracing::Level::INFO)
            .with_writer(OfThisThread)
            .finish();
        tracing::subscriber::set_global_default(subscriber).unwrap();
        tracing::callsite::rebuild_interest_cache();
    });
    LOGGED.take();
}

/// The lines since `listen`.
fn logged() -> Vec<Value> {
    let text = String::from_utf8(LOGGED.take()).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test]
async fn of_a_mixed_batch_the_needed_object_comes_back_and_only_what_must_come_again_fails() {
    let world = World::with_a_job();
    let mut function = world.function();
    let payload = queue(&[
        ("poison", "{\"Records\": 7}".to_owned()),
        ("expired", world.delete(RULE, NEEDED).to_string()),
        ("clean-up", world.delete(FLINK, UNNEEDED).to_string()),
        ("not JSON", "hello".to_owned()),
    ]);
    listen();
    let answer = function.call(&payload, "r-1").await.unwrap();
    let failed = ["not JSON", "poison"].map(str::to_owned).to_vec();
    assert_eq!(answer, batch(failed));
    assert!(world.is_visible(NEEDED));
    assert!(!world.is_visible(UNNEEDED));

    // One line for the verdict that acted, with the whole chain; the clean-up is only counted.
    let lines = logged();
    let verdicts: Vec<&Value> = lines.iter().filter(|l| l.get("verdict").is_some()).collect();
    assert_eq!(verdicts.len(), 1, "{lines:#?}");
    let text = verdicts[0].to_string();
    for word in [NEEDED, "chk-8", "lifecycle", "running"] {
        assert!(text.contains(word), "{word} isn't in {text}");
    }
    let summaries: Vec<&Value> = lines.iter().filter_map(|l| l.get("summary")).collect();
    let [summary] = summaries.as_slice() else {
        panic!("{lines:#?}")
    };
    assert_eq!(summary["restored"], 1);
    let metrics = stayput_tests::embedded_metrics::measured(&lines);
    let of = |name: &str| -> Vec<f64> {
        let named = metrics.iter().filter(|m| m.name == name);
        named.flat_map(|m| m.values.clone()).collect()
    };
    for (name, values) in [
        ("Deletions", vec![2.0]),
        ("DeletedByLifecycle", vec![1.0]),
        ("DeletedByFlink", vec![1.0]),
        ("Left", vec![1.0]),
        ("Restored", vec![1.0]),
        ("Malformed", vec![2.0]),
        // The rule's marker is dated midnight, two minutes ago.
        ("TimeToRestore", vec![120_000.0]),
        ("Failed", vec![]),
    ] {
        assert_eq!(of(name), values, "{name}");
    }
    assert!(of("ListRequests")[0] >= 1.0);
    assert_eq!(summary["malformed"], 2);
    assert_eq!(summary["left"].as_object().map(serde_json::Map::len), Some(1));
    assert_eq!(
        lines.iter().filter(|l| l["level"] == "ERROR").count(),
        2,
        "{lines:#?}"
    );
}

#[tokio::test]
async fn what_waits_fails_in_a_queue_until_its_time_and_is_left_to_the_sweep_without_one() {
    let world = World::with_a_job();
    let mut function = world.function();
    let body = world.delete(FLINK, NEEDED);
    let payload = queue(&[("early", body.to_string())]);
    let again = function.call(&payload, "r").await.unwrap();
    assert_eq!(again, batch(vec!["early".to_owned()]));
    assert!(!world.is_visible(NEEDED));

    listen();
    let answer = function.call(body.to_string().as_bytes(), "direct").await;
    assert_eq!(answer, Ok(Value::Null));
    let lines = logged();
    assert!(
        lines.iter().any(|l| l["message"]
            .as_str()
            .is_some_and(|m| m.contains("left to the sweep"))),
        "{lines:#?}"
    );

    // The same message, after the settle delay.
    world.model.advance(Duration::from_secs(301));
    assert_eq!(function.call(&payload, "r").await.unwrap(), batch(Vec::new()));
    assert!(world.is_visible(NEEDED));
    // And once more: nothing is copied twice.
    let copies = world.model.requests("CopyObject");
    assert_eq!(function.call(&payload, "r").await.unwrap(), batch(Vec::new()));
    assert_eq!(world.model.requests("CopyObject"), copies);
}

#[tokio::test]
async fn a_store_that_throttles_makes_the_message_come_again_and_then_it_is_answered() {
    for operation in [
        "ListObjectsV2",
        "ListObjectVersions",
        "GetObject",
        "GetBucketVersioning",
    ] {
        let world = World::with_a_job();
        let mut function = world.function();
        let body = world.delete(RULE, NEEDED).to_string();
        world
            .model
            .plan(Fault::answers(PortErrorKind::Throttled).on(operation).always());
        let payload = queue(&[("m", body.clone())]);
        let again = function.call(&payload, "r").await.unwrap();
        assert_eq!(again, batch(vec!["m".to_owned()]), "{operation}");
        let direct = function.call(body.as_bytes(), "r").await.unwrap_err();
        assert_eq!(direct.kind, ErrorKind::Transient, "{operation}");
        assert!(!world.is_visible(NEEDED), "{operation}");

        world.model.forget_faults();
        assert_eq!(
            function.call(&payload, "r").await.unwrap(),
            batch(Vec::new()),
            "{operation}"
        );
        assert!(world.is_visible(NEEDED), "{operation}");
    }
}

#[tokio::test]
async fn a_scheduled_call_finds_what_no_message_told_of_and_fails_only_if_it_is_not_complete() {
    let world = World::with_a_job();
    let mut function = world.function();
    let schedule =
        json!({"version": "0", "detail-type": "Scheduled Event", "source": "aws.scheduler", "detail": {}});
    let schedule = schedule.to_string().into_bytes();
    drop(world.delete(FLINK, NEEDED));
    world.model.advance(Duration::from_secs(3600));
    world.model.plan(
        Fault::answers(PortErrorKind::Throttled)
            .on("ListObjectsV2")
            .always(),
    );
    let error = function.call(&schedule, "r").await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Transient);
    assert!(error.what.contains("throttled"), "{}", error.what);
    assert!(!world.is_visible(NEEDED));

    world.model.forget_faults();
    listen();
    assert_eq!(function.call(&schedule, "r").await, Ok(Value::Null));
    assert!(world.is_visible(NEEDED));
    let lines = logged();
    let summary = lines.iter().find_map(|l| l.get("summary")).unwrap();
    assert_eq!(summary["way"], "scheduled");
    assert_eq!(summary["restored"], 1);
    assert_eq!(summary["sweep"]["incomplete"]["running"], 1, "{summary}");
}

#[tokio::test]
async fn a_topic_that_cannot_be_reached_fails_no_call_and_what_it_did_not_take_is_told_again() {
    let world = World::with_a_job();
    let mut function = world.function();
    drop(world.delete(FLINK, NEEDED));
    world.model.advance(Duration::from_secs(3600));
    let schedule = json!({"detail-type": "Scheduled Event", "source": "aws.scheduler", "detail": {}});
    let schedule = schedule.to_string().into_bytes();
    UNREACHABLE.set(true);
    listen();
    assert_eq!(function.call(&schedule, "r").await, Ok(Value::Null));
    assert!(world.is_visible(NEEDED));
    let lines = logged();
    let told = lines.iter().filter(|l| l.get("finding").is_some()).count();
    let summary = lines.iter().find_map(|l| l.get("summary")).unwrap();
    assert!(told >= 1);
    assert_eq!(summary["untold"], told);
    assert!(lines.iter().any(|l| l["Untold"] == told), "{lines:#?}");

    // The file is back, so that no look at it finds anything: the next finding brings the old one along.
    UNREACHABLE.set(false);
    let file = format!("{JOB}{NEEDED}");
    world.bucket.put(&file, Content::Zeroes(1));
    world.model.advance(Duration::from_secs(3600));
    assert_eq!(function.call(&schedule, "r").await, Ok(Value::Null));
    let published = PUBLISHED.take();
    assert_eq!(published.len(), told + 1, "{published:?}");
    assert!(published.contains(&"deleted_needed"), "{published:?}");
    assert!(published.contains(&"overwritten"), "{published:?}");

    // Then nothing is news.
    assert_eq!(function.call(&schedule, "r").await, Ok(Value::Null));
    assert_eq!(PUBLISHED.take(), Vec::<&str>::new());
}

/// The guard itself, not a stand-in, behind every shape of event, with a bucket in which nothing is needed.
#[tokio::test]
async fn every_event_file_passes_the_guard_and_is_answered_as_the_table_says() {
    let folder = corpus().join("events");
    let table = std::fs::read_to_string(folder.join("expected.tsv")).unwrap();
    let model = Model::new(Timestamp::parse("2026-12-01T00:00:00Z").unwrap());
    let bucket = model.create_bucket("flink-state", Versioning::Enabled);
    let control = model.create_bucket("ops", Versioning::Never);
    let settings = Settings::from_short("s3://flink-state/", None).unwrap();
    let make = || {
        let m = || model.clone();
        let journal = model.journal(&control, "stayput/");
        OnModel {
            guard: Guard::acting(m(), Some(journal), m(), m(), settings.mandate.clone()),
            model: m(),
            counted: Cell::new(0),
            parks: false,
        }
    };
    let mut function = Function::new(make);
    let mut seen = 0;
    for row in table.lines().skip(1) {
        let mut columns = row.split('\t');
        let (Some(file), Some(expected)) = (columns.next(), columns.next()) else {
            panic!("{row}")
        };
        let payload = std::fs::read(folder.join(file)).unwrap();
        let answer = function.call(&payload, file).await;
        let failures = answer
            .as_ref()
            .ok()
            .and_then(|value| value["batchItemFailures"].as_array().map(Vec::len));
        let failed = answer.is_err() || failures.is_some_and(|n| n > 0);
        let fits = expected.split("-or-").any(|word| match word {
            "act" | "skip" => !failed,
            "fail" | "act+fail" => failed,
            "error" => answer.is_err(),
            other => panic!("{file}: {other} isn't known"),
        });
        assert!(fits, "{file}: expected {expected}, answered {answer:?}");
        seen += 1;
    }
    assert!(seen >= 94, "{seen} event files");
    assert!(
        bucket.keys().is_empty(),
        "nothing was written: {:?}",
        bucket.keys()
    );
}

mod parked;
