//! Every event file through the real function, under AWS's own emulator.

use std::fs;
use std::path::{Path, PathBuf};

use stayput_tests::cloud::{Cloud, REGION};
use stayput_tests::emulator::{Called, Emulator};
use stayput_tests::system::{bootstrap, emulator, ministack};

/// Rows of `expected.tsv` that there are at least.
const ROWS: usize = 90;

fn folder() -> PathBuf {
    std::env::var_os("STAYPUT_EVENTS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/events"),
        PathBuf::from,
    )
}

/// The number of deletions in the summary that every call ends with.
fn deletions(called: &Called) -> u64 {
    called
        .log
        .iter()
        .filter_map(|line| line["summary"]["deletions"].as_u64())
        .sum()
}

/// What is wrong with how a call ended, if it isn't as expected.
fn wrong(name: &str, answer: &str, expected_deletions: &str, note: &str, called: &Called) -> Option<String> {
    let failed = called.failed();
    let refused = called.error().is_some() || failed.as_ref().is_some_and(|failed| !failed.is_empty());
    let judged = deletions(called);
    let wanted = expected_deletions.parse::<u64>().ok();
    let acted = judged == wanted.unwrap_or(1);
    let right = match answer {
        "act" => !refused && acted,
        "skip" => !refused && (judged == 0 || name.contains("another")),
        "fail" => refused,
        "error" => called.error().is_some(),
        "act+fail" => {
            acted
                && note
                    .strip_prefix("fails: ")
                    .is_some_and(|ids| failed == Some(ids.split(", ").map(str::to_owned).collect()))
        }
        "fail-or-act" | "skip-or-fail" => true,
        other => return Some(format!("{name}: {other} is no answer that this test knows")),
    };
    (!right).then(|| {
        format!(
            "{name}: expected {answer} {expected_deletions} {note}, got {judged} deletions and {}",
            called.answer
        )
    })
}

/// The real function under the emulator, watching this bucket.
fn function(url: &str, emulator: &Path, bootstrap: &Path, bucket: &str) -> Emulator {
    let roots = format!("s3://{bucket}/");
    let variables = [
        ("STAYPUT_ROOTS", roots.as_str()),
        ("STAYPUT_MODE", "restore"),
        ("AWS_ENDPOINT_URL", url),
        ("AWS_REGION", REGION),
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
    ];
    Emulator::start(emulator, bootstrap, &variables)
}

#[test]
fn every_event_file_gets_its_answer_from_the_real_function() {
    let (Some(emulator), Some(url), Some(bootstrap)) = (emulator(), ministack(), bootstrap("rie")) else {
        return;
    };
    // The bucket of the files: empty, so that nothing is needed and every deletion is left.
    Cloud::at(&url).make_versioned_bucket("flink-state");
    let mut function = function(&url, &emulator, &bootstrap, "flink-state");
    let table = fs::read_to_string(folder().join("expected.tsv")).expect("expected.tsv");
    let (mut rows, mut wrongs) = (0, Vec::new());
    for row in table.lines().skip(1) {
        let mut columns = row.split('\t');
        let mut next = || columns.next().unwrap_or_default();
        let (name, answer, deletions, note) = (next(), next(), next(), next());
        let payload = fs::read(folder().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        let called = function.call(&payload);
        wrongs.extend(wrong(name, answer, deletions, note, &called));
        rows += 1;
    }
    assert!(
        wrongs.is_empty(),
        "{} of {rows}:\n{}",
        wrongs.len(),
        wrongs.join("\n")
    );
    assert!(rows >= ROWS, "only {rows} rows");
    let output = function.output();
    let reports = output
        .lines()
        .filter(|line| line.contains("INIT REPORT"))
        .collect::<Vec<_>>();
    println!("{rows} files; {}", reports.join("; "));
}

/// What Lambda passes on at most.
const LARGEST_PAYLOAD: usize = 6 << 20;

/// A batch from a queue that is as large as Lambda lets it be, with one message in it that can't be read.
fn largest_batch(bucket: &str) -> (Vec<u8>, u64) {
    let message = |n: usize, body: &str| {
        serde_json::json!({"messageId": format!("m-{n}"), "receiptHandle": "r", "body": body, "attributes": {"ApproximateReceiveCount": "1"},
            "messageAttributes": {}, "md5OfBody": "", "eventSource": "aws:sqs",
            "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:deletions", "awsRegion": "us-east-1"})
        .to_string()
    };
    let mut payload = String::from("{\"Records\":[");
    payload.push_str(&message(0, "{\"Records\": 7}"));
    let mut deletions = 0;
    for n in 1.. {
        let body = serde_json::json!({"Records": [{"eventVersion": "2.1", "eventSource": "aws:s3", "awsRegion": "us-east-1",
            "eventTime": "2026-11-28T10:00:00.000Z", "eventName": "ObjectRemoved:DeleteMarkerCreated",
            "userIdentity": {"principalId": "AWS:AROAFLINK:taskmanager"},
            "s3": {"s3SchemaVersion": "1.0", "bucket": {"name": bucket, "arn": format!("arn:aws:s3:::{bucket}")},
                   "object": {"key": format!("flink/0123456789abcdef0123456789abcdef/shared/{n:036}"), "versionId": format!("v{n}")}}}]});
        let next = message(n, &body.to_string());
        if payload.len() + next.len() + 3 > LARGEST_PAYLOAD {
            break;
        }
        payload.push(',');
        payload.push_str(&next);
        deletions += 1;
    }
    payload.push_str("]}");
    (payload.into_bytes(), deletions)
}

#[test]
fn the_largest_payload_is_answered_message_by_message() {
    let (Some(emulator), Some(url), Some(bootstrap)) = (emulator(), ministack(), bootstrap("rie")) else {
        return;
    };
    Cloud::at(&url).make_versioned_bucket("largest-payload");
    let mut function = function(&url, &emulator, &bootstrap, "largest-payload");
    let (payload, wanted) = largest_batch("largest-payload");
    assert!(
        payload.len() > LARGEST_PAYLOAD - 2_000 && wanted > 5_000,
        "{} bytes, {wanted}",
        payload.len()
    );
    for _ in 0..2 {
        let called = function.call(&payload);
        assert_eq!(deletions(&called), wanted);
        assert_eq!(called.failed(), Some(vec!["m-0".to_owned()]), "{}", called.answer);
    }
    println!("{} bytes with {wanted} deletions", payload.len());
}
