//! What a call answers, with judges that wait, fail or break at certain keys.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use stayput_aws::parked::ToPark;
use stayput_core::timestamp::Timestamp;
use stayput_guard::batch::Summary;
use stayput_guard::port::PortError;

use super::*;

/// Counts deletions, and does what the key says.
#[derive(Clone, Default)]
struct ByKey {
    deletions: Arc<AtomicUsize>,
    made: Arc<AtomicUsize>,
}

impl Judge for ByKey {
    async fn handle(&mut self, messages: &[Message]) -> BatchReport {
        let mut report = BatchReport::default();
        for message in messages {
            let mut answer = Answer::Done;
            for record in &message.records {
                let Record::Deleted(deleted) = record else {
                    continue;
                };
                assert!(!deleted.key.contains("break"), "at {}", deleted.key);
                self.deletions.fetch_add(1, Ordering::Relaxed);
                let why = match deleted.key.as_str() {
                    key if key.contains("wait") => LaterReason::Quiet,
                    key if key.contains("throttled") => LaterReason::Transient("SlowDown".to_owned()),
                    _ => continue,
                };
                answer = Answer::Again {
                    not_before: Timestamp::from_millis(0),
                    why,
                };
            }
            report.answers.push((message.id.clone(), answer));
        }
        report
    }

    async fn sweep(&mut self) -> SweepReport {
        panic!("the first sweep of all");
    }

    async fn findings_sent(&self, _: &[Finding]) -> Result<(), PortError> {
        Ok(())
    }

    async fn publish(&self, findings: &[Finding]) -> Vec<Result<(), PortError>> {
        vec![Ok(()); findings.len()]
    }

    fn parks(&self) -> bool {
        false
    }

    async fn park(&self, _: &[ToPark<'_>]) -> Vec<Result<(), PortError>> {
        panic!("there is no queue to park in")
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_millis(0)
    }

    fn requests(&self) -> BTreeMap<String, u64> {
        BTreeMap::new()
    }
}

fn function() -> (ByKey, Function<ByKey, impl Fn() -> ByKey>) {
    let judge = ByKey::default();
    let make = {
        let judge = judge.clone();
        move || {
            judge.made.fetch_add(1, Ordering::Relaxed);
            judge.clone()
        }
    };
    (judge, Function::new(make))
}

fn notification(key: &str) -> Value {
    json!({"Records": [{
        "eventVersion": "2.1", "eventSource": "aws:s3", "awsRegion": "eu-west-1",
        "eventTime": "2026-11-28T10:00:00.000Z", "eventName": "ObjectRemoved:DeleteMarkerCreated",
        "userIdentity": {"principalId": "AWS:AROAX:y"},
        "s3": {"s3SchemaVersion": "1.0", "bucket": {"name": "b"}, "object": {"key": key, "versionId": "m1", "sequencer": "0A"}}
    }]})
}

fn batch_of(bodies: &[(&str, String)]) -> Vec<u8> {
    let records: Vec<Value> = bodies
        .iter()
        .map(|(id, body)| json!({"messageId": id, "eventSource": "aws:sqs", "body": body}))
        .collect();
    json!({"Records": records}).to_string().into_bytes()
}

#[tokio::test]
async fn each_message_of_a_batch_is_answered_by_itself() {
    let (judge, mut function) = function();
    let payload = batch_of(&[
        ("good", notification("k").to_string()),
        ("poison", "{".to_owned()),
        ("waits", notification("wait").to_string()),
        ("throttled", notification("throttled").to_string()),
        ("good too", notification("l").to_string()),
    ]);
    let answer = function.call(&payload, "r").await.unwrap();
    let failed = ["poison", "throttled", "waits"].map(str::to_owned).to_vec();
    assert_eq!(answer, batch(failed));
    assert_eq!(judge.deletions.load(Ordering::Relaxed), 4);
}

#[tokio::test]
async fn a_panic_at_one_message_fails_that_message_alone_and_the_next_call_works() {
    let (judge, mut function) = function();
    let payload = batch_of(&[
        ("good", notification("k").to_string()),
        ("broken", notification("break").to_string()),
        ("good too", notification("l").to_string()),
    ]);
    let answer = function.call(&payload, "r").await.unwrap();
    assert_eq!(answer, batch(vec!["broken".to_owned()]));
    // The whole batch broke once, then the one message did: each time a new judge was made, beside the first.
    assert_eq!(judge.made.load(Ordering::Relaxed), 3);
    let answer = function
        .call(&batch_of(&[("next", notification("k").to_string())]), "r")
        .await;
    assert_eq!(answer.unwrap(), batch(Vec::new()));
}

#[tokio::test]
async fn a_direct_call_fails_for_what_a_retry_can_mend_and_not_for_what_only_time_can() {
    let (_, mut function) = function();
    let call = |key: &str| notification(key).to_string().into_bytes();
    assert_eq!(function.call(&call("k"), "r").await, Ok(Value::Null));
    assert_eq!(function.call(&call("wait"), "r").await, Ok(Value::Null));
    let kind = |answer: Result<Value, CallError>| answer.map_err(|e| e.kind);
    assert_eq!(
        kind(function.call(&call("throttled"), "r").await),
        Err(ErrorKind::Transient)
    );
    assert_eq!(
        kind(function.call(&call("break"), "r").await),
        Err(ErrorKind::Panicked)
    );
    assert_eq!(kind(function.call(b"[", "r").await), Err(ErrorKind::Malformed));
}

/// `expected.tsv` is the contract: what each kind of event is answered with, and how many deletions it tells of.
#[tokio::test]
async fn every_event_file_is_answered_as_the_table_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/corpus/events");
    let table = std::fs::read_to_string(folder.join("expected.tsv")).unwrap();
    let mut seen = 0;
    for row in table.lines().skip(1) {
        let mut columns = row.split('\t');
        let (Some(file), Some(expected), Some(deletions)) = (columns.next(), columns.next(), columns.next())
        else {
            panic!("{row}")
        };
        let payload = std::fs::read(folder.join(file)).unwrap();
        let (judge, mut function) = function();
        let answer = function.call(&payload, "r").await;
        let failed = match &answer {
            Err(_) => true,
            Ok(value) => value["batchItemFailures"]
                .as_array()
                .is_some_and(|a| !a.is_empty()),
        };
        let judged = judge.deletions.load(Ordering::Relaxed);
        // For SQS "error" means that the call fails as a whole; nothing of it is judged then.
        let fits = expected.split("-or-").any(|word| match word {
            "act" => !failed && judged > 0,
            // Whether a bucket is watched is the guard's to say.
            "skip" => !failed && (judged == 0 || file.contains("another")),
            "fail" => failed && judged == 0,
            "act+fail" => failed && judged > 0,
            "error" => answer.is_err() && judged == 0,
            other => panic!("{file}: {other} isn't known"),
        });
        assert!(
            fits,
            "{file}: expected {expected}, judged {judged}, answered {answer:?}"
        );
        if let (Ok(deletions), false) = (deletions.parse::<usize>(), file.contains("another")) {
            assert_eq!(judged, deletions, "{file}");
        }
        seen += 1;
    }
    assert!(seen >= 94, "{seen} event files");
}

#[test]
fn what_is_left_adds_up_by_job_when_messages_are_judged_one_by_one() {
    let part = |job: &str, count: u64| {
        let mut part = Summary::default();
        part.left.insert("spare", count);
        part.left_by_job
            .entry(job.to_owned())
            .or_default()
            .insert("spare", count);
        part
    };
    let mut sum = Summary::default();
    super::add(&mut sum, part("s3://b/cp/j/", 2));
    super::add(&mut sum, part("s3://b/cp/k/", 1));
    super::add(&mut sum, part("s3://b/cp/j/", 3));
    assert_eq!(sum.left["spare"], 6);
    assert_eq!(sum.left_by_job["s3://b/cp/j/"]["spare"], 5);
    assert_eq!(sum.left_by_job["s3://b/cp/k/"]["spare"], 1);
}

#[tokio::test]
async fn a_panic_in_the_sweep_is_an_error_of_that_call_and_the_next_call_works() {
    let (judge, mut function) = function();
    let schedule =
        json!({"version": "0", "detail-type": "Scheduled Event", "source": "aws.events", "detail": {}});
    let error = function
        .call(schedule.to_string().as_bytes(), "r")
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Panicked);
    assert!(error.what.contains("in the sweep"), "{}", error.what);
    assert_eq!(judge.made.load(Ordering::Relaxed), 2);
    let answer = function
        .call(&batch_of(&[("next", notification("k").to_string())]), "r")
        .await;
    assert_eq!(answer.unwrap(), batch(Vec::new()));
}
