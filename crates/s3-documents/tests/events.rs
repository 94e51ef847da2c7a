//! Every example event gives the answer that `expected.tsv` asks for.

use std::collections::BTreeMap;
use std::path::PathBuf;

use s3_documents::notification::{
    Agent, DeletedObject, Deletion, Delivery, Record, Source, parse_body, parse_delivery,
};

/// The root that the examples are made for.
const BUCKET: &str = "flink-state";

mod support;

fn file(name: &str) -> Vec<u8> {
    let path = support::events().join(name);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// What came of one payload.
#[derive(Debug, Default)]
struct Answer {
    deletions: Vec<DeletedObject>,
    others: Vec<String>,
    failed: Vec<String>,
    error: Option<String>,
}

impl Answer {
    fn add(&mut self, record: Record) {
        match record {
            Record::Deleted(deleted) if deleted.bucket == BUCKET => self.deletions.push(deleted),
            Record::Deleted(elsewhere) => self.others.push(elsewhere.bucket),
            Record::Created(_) => self.others.push("ObjectCreated".into()),
            Record::Other(other) => self.others.push(other.event_name),
            Record::TestEvent => self.others.push("s3:TestEvent".into()),
        }
    }

    fn word(&self) -> &'static str {
        match (
            self.error.is_some(),
            self.deletions.is_empty(),
            self.failed.is_empty(),
        ) {
            (true, ..) => "error",
            (_, true, true) => "skip",
            (_, false, true) => "act",
            (_, true, false) => "fail",
            (_, false, false) => "act+fail",
        }
    }
}

fn answer(payload: &[u8]) -> Answer {
    let mut answer = Answer::default();
    match parse_delivery(payload) {
        Err(e) => answer.error = Some(e.to_string()),
        Ok(Delivery::Scheduled) => panic!("none of the examples is a schedule"),
        Ok(Delivery::Direct(records)) => {
            for record in records {
                match record {
                    Ok(record) => answer.add(record),
                    Err(e) => answer.failed.push(e.to_string()),
                }
            }
        }
        Ok(Delivery::Queue(messages)) => {
            for message in messages {
                match message.result {
                    Ok(records) => records.into_iter().for_each(|record| answer.add(record)),
                    Err(e) => {
                        assert!(e.to_string().contains(&message.message_id), "{e}");
                        answer.failed.push(message.message_id);
                    }
                }
            }
        }
    }
    answer
}

#[test]
fn every_example_gives_the_expected_answer() {
    let table = String::from_utf8(file("expected.tsv")).unwrap();
    let mut rows = 0;
    let mut wrong = Vec::new();
    for row in table.lines().skip(1) {
        let mut columns = row.split('\t');
        let [name, expected, deletions, note] = std::array::from_fn(|_| columns.next().unwrap_or_default());
        let answer = answer(&file(name));
        // A direct call that fails as a whole and one whose records all fail are the same to Lambda.
        let word = match answer.word() {
            "error" if expected != "error" => "fail",
            word => word,
        };
        let count: usize = match deletions {
            "" => usize::from(word == "act"),
            number => number.parse().unwrap(),
        };
        let failing = note
            .strip_prefix("fails: ")
            .is_none_or(|id| answer.failed == [id]);
        let also = note.strip_prefix("also: ").is_none_or(|name| {
            answer
                .others
                .iter()
                .any(|other| name.starts_with(other.as_str()) && !other.is_empty())
        });
        if !expected.split("-or-").any(|either| either == word)
            || answer.deletions.len() != count
            || !failing
            || !also
        {
            wrong.push(format!("{row}\n    got {word}: {answer:?}"));
        }
        rows += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(rows >= 90, "only {rows} rows were read");
}

#[test]
fn every_file_has_its_row() {
    let table = String::from_utf8(file("expected.tsv")).unwrap();
    let mut files = 0;
    for (folder, prefix) in [("", ""), ("malformed", "malformed/")] {
        for entry in std::fs::read_dir(support::events().join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".json") {
                let row = format!("\n{prefix}{name}\t");
                assert!(table.contains(&row), "{prefix}{name} has no row in expected.tsv");
                files += 1;
            }
        }
    }
    assert!(files >= 90, "only {files} files were found");
}

fn only_deletion(name: &str) -> DeletedObject {
    let mut answer = answer(&file(name));
    assert_eq!(answer.deletions.len(), 1, "{name}: {answer:?}");
    answer.deletions.remove(0)
}

#[test]
fn a_marker_of_a_flink_role_is_read_to_the_last_field() {
    assert_eq!(
        only_deletion("s3-object-removed-delete-marker-created.json"),
        DeletedObject {
            bucket: "flink-state".into(),
            key: "checkpoints/7c1f0a5de3b94c60a1d2f4e8b6093a17/chk-42/_metadata".into(),
            version_id: Some("Pq8vT0nZc1xW5bLmE7yRkA2dUoJ4sHgF".into()),
            what: Deletion::MarkerCreated,
            agent: Agent::Principal("AWS:AROAEXAMPLEFLINKTM000:flink-taskmanager".into()),
            event_time: Some(1_773_480_413_589),
            sequencer: Some("0066F1A2B3C4D5E6F8".into()),
            region: Some("eu-west-1".into()),
            source: Source::Notification,
        }
    );
}

#[test]
fn the_same_marker_through_event_bridge_names_an_account_instead_of_a_role() {
    let through_event_bridge = only_deletion("eventbridge-object-deleted-delete-marker.json");
    let direct = only_deletion("s3-object-removed-delete-marker-created.json");
    assert_eq!(through_event_bridge.key, direct.key);
    assert_eq!(through_event_bridge.version_id, direct.version_id);
    assert_eq!(through_event_bridge.what, direct.what);
    assert_eq!(through_event_bridge.agent, Agent::Account("111122223333".into()));
    assert_eq!(through_event_bridge.event_time, Some(1_773_480_413_000));
    assert_eq!(through_event_bridge.source, Source::EventBridge);
}

#[test]
fn lifecycle_is_known_from_both_kinds_of_event() {
    for name in [
        "s3-lifecycle-expiration-delete.json",
        "s3-lifecycle-expiration-delete-marker-created.json",
        "s3-lifecycle-expiration-delete-version.json",
        "sqs-s3-lifecycle-expiration-delete.json",
        "eventbridge-object-deleted-lifecycle.json",
    ] {
        assert_eq!(only_deletion(name).agent, Agent::Lifecycle, "{name}");
    }
}

#[test]
fn a_purge_is_told_from_a_marker_and_from_an_unversioned_delete() {
    let of = |name| {
        let deleted = only_deletion(name);
        (deleted.what, deleted.version_id.is_some(), deleted.is_purge())
    };
    assert_eq!(
        of("s3-object-removed-delete.json"),
        (Deletion::Removed, false, false)
    );
    assert_eq!(
        of("s3-object-removed-delete-version.json"),
        (Deletion::Removed, true, true)
    );
    assert_eq!(
        of("s3-object-removed-delete-null-version.json"),
        (Deletion::Removed, true, true)
    );
    assert_eq!(
        of("s3-object-removed-delete-marker-created.json"),
        (Deletion::MarkerCreated, true, false)
    );
    assert_eq!(
        of("eventbridge-object-deleted-version.json"),
        (Deletion::Removed, true, true)
    );
    assert_eq!(
        of("malformed/eventbridge-deletion-type-missing.json"),
        (Deletion::Unspecified, false, false)
    );
}

#[test]
fn a_key_is_decoded_once_and_by_the_rule_of_its_source() {
    let key = "savepoints/team a+b/50% done/käse=1 (copy)/_metadata";
    assert_eq!(only_deletion("s3-key-url-encoded.json").key, key);
    assert_eq!(
        only_deletion("eventbridge-object-deleted-special-key.json").key,
        key
    );
}

#[test]
fn a_reason_that_we_do_not_know_leaves_the_agent_unknown() {
    for name in [
        "malformed/eventbridge-reason-missing.json",
        "malformed/eventbridge-reason-unknown.json",
    ] {
        assert_eq!(only_deletion(name).agent, Agent::Unknown, "{name}");
    }
}

#[test]
fn what_no_decision_needs_only_lowers_what_is_known() {
    assert_eq!(
        only_deletion("malformed/event-time-epoch-number.json").event_time,
        None
    );
    assert_eq!(
        only_deletion("malformed/missing-event-time.json").event_time,
        None
    );
    assert_eq!(only_deletion("malformed/sequencer-not-hex.json").sequencer, None);
    assert_eq!(only_deletion("malformed/missing-sequencer.json").sequencer, None);
}

#[test]
fn errors_name_the_place_the_field_and_what_happens_next() {
    let of = |name: &str| {
        let answer = match parse_delivery(&file(name)) {
            Err(e) => e,
            Ok(Delivery::Direct(records)) => records.into_iter().find_map(Result::err).unwrap(),
            Ok(Delivery::Queue(messages)) => messages.into_iter().find_map(|m| m.result.err()).unwrap(),
            Ok(Delivery::Scheduled) => unreachable!(),
        };
        answer.to_string()
    };
    let cases = BTreeMap::from([
        (
            "sqs-batch-mixed.json",
            [
                "message 8 (13859b76-60d9-56a5-a078-1f6a7e7737e7)",
                "line 1, column 2",
                "dead-letter queue",
            ],
        ),
        (
            "malformed/missing-key.json",
            ["record 1", "s3.object.key is missing", "tried twice more"],
        ),
        (
            "malformed/key-null.json",
            [
                "record 1",
                "s3.object.key is null",
                "the key of the object is needed",
            ],
        ),
        (
            "malformed/key-truncated-percent-escape.json",
            ["record 1", "at byte", "hexadecimal"],
        ),
        (
            "malformed/key-invalid-utf8.json",
            ["record 1", "no UTF-8 from byte", "s3.object.key"],
        ),
        (
            "malformed/bucket-arn-mismatch.json",
            ["record 1", "\"flink-state\"", "arn:aws:s3:::some-other-bucket"],
        ),
        (
            "malformed/event-version-not-a-number.json",
            ["eventVersion", "\"two\"", "2.x"],
        ),
        (
            "malformed/eventbridge-event-version-2.0.json",
            ["detail.event-version", "\"2.0\"", "1.x"],
        ),
        (
            "malformed/event-source-unknown.json",
            ["eventSource", "\"aws:unknown\"", "isn't S3"],
        ),
        (
            "malformed/invalid-utf8.json",
            ["the event", "no UTF-8 from byte", "can't be JSON"],
        ),
        (
            "malformed/records-null.json",
            ["`Records` is null", "not a list", "neither an S3 notification"],
        ),
        (
            "malformed/top-level-array.json",
            ["it is a list", "not an object", "neither an S3 notification"],
        ),
        (
            "malformed/sqs-message-id-missing.json",
            [
                "message 1 has no messageId",
                "nothing of this batch was judged",
                "the event",
            ],
        ),
        (
            "malformed/sqs-body-null.json",
            ["message 1 (", "body is null", "maxReceiveCount"],
        ),
    ]);
    for (name, parts) in cases {
        let text = of(name);
        for part in parts {
            assert!(text.contains(part), "{name}: {part:?} isn't in: {text}");
        }
    }
}

#[test]
fn a_bad_record_of_a_direct_call_does_not_hide_the_good_ones() {
    let text = String::from_utf8(file("s3-multiple-records.json")).unwrap();
    let broken = text.replacen("\"key\": \"checkpoints", "\"key\": 7, \"was\": \"checkpoints", 1);
    assert_ne!(text, broken);
    let answer = answer(broken.as_bytes());
    assert_eq!(
        (answer.deletions.len(), answer.failed.len()),
        (2, 1),
        "{answer:?}"
    );
    assert!(answer.failed[0].contains("record 1"), "{answer:?}");
}

#[test]
fn a_body_alone_reads_as_the_message_that_carried_it() {
    for name in [
        "sqs-s3-object-removed-delete.json",
        "sqs-sns-s3-object-removed-delete.json",
        "sqs-s3-test-event.json",
    ] {
        let payload: serde_json::Value = serde_json::from_slice(&file(name)).unwrap();
        let body = payload["Records"][0]["body"].as_str().unwrap();
        let Ok(Delivery::Queue(messages)) = parse_delivery(&file(name)) else {
            panic!("{name} is a queue's")
        };
        assert_eq!(messages[0].result, parse_body(body.as_bytes()), "{name}");
    }
}

#[test]
fn a_message_keeps_its_body_as_it_came_and_its_attributes() {
    let read = |entry: serde_json::Value| {
        let payload = serde_json::json!({"Records": [entry]}).to_string();
        let Ok(Delivery::Queue(mut messages)) = parse_delivery(payload.as_bytes()) else {
            panic!("it is a queue's")
        };
        messages.remove(0)
    };
    let body = "{ \"Event\": \"s3:TestEvent\",\n \"Bucket\": \"k\u{e4}se\" }";
    let with = |attributes: serde_json::Value| {
        read(
            serde_json::json!({"messageId": "m", "eventSource": "aws:sqs", "body": body, "messageAttributes": attributes}),
        )
    };
    let message = with(serde_json::json!({
        "times": {"stringValue": "3", "dataType": "Number"},
        "bytes": {"binaryValue": "AQ==", "dataType": "Binary"},
        "wrong": 7,
    }));
    assert_eq!(message.body, body);
    assert_eq!(message.result, Ok(vec![Record::TestEvent]));
    assert_eq!(message.attributes, [("times".to_owned(), "3".to_owned())].into());
    let many: serde_json::Map<_, _> = (0..1000)
        .map(|n| (format!("a{n}"), serde_json::json!({"stringValue": "x"})))
        .collect();
    assert_eq!(with(many.into()).attributes.len(), 10);
    // Attributes of the wrong kind hide no message.
    for wrong in [
        serde_json::json!([]),
        serde_json::json!("a"),
        serde_json::Value::Null,
    ] {
        let message = with(wrong);
        assert!(
            message.attributes.is_empty() && message.result.is_ok(),
            "{message:?}"
        );
    }
    assert_eq!(
        read(serde_json::json!({"messageId": "m", "eventSource": "aws:sqs"})).body,
        ""
    );
}

#[test]
fn a_subscription_that_nobody_confirmed_is_said_to_be_one() {
    let body = br#"{"Type":"SubscriptionConfirmation","TopicArn":"arn:aws:sns:eu-west-1:111122223333:t","Message":"You have chosen to subscribe"}"#;
    let e = parse_body(body).unwrap_err().to_string();
    assert!(
        e.contains("confirm the subscription to arn:aws:sns:eu-west-1:111122223333:t"),
        "{e}"
    );
}

#[test]
fn an_envelope_in_an_envelope_is_refused() {
    let inner = r#"{"Type":"Notification","Message":"{\"Event\":\"s3:TestEvent\"}"}"#;
    assert_eq!(parse_body(inner.as_bytes()), Ok(vec![Record::TestEvent]));
    let outer = serde_json::json!({"Type": "Notification", "Message": inner}).to_string();
    let e = parse_body(outer.as_bytes()).unwrap_err().to_string();
    assert!(e.contains("SNS envelope lies in an SNS envelope"), "{e}");
}

#[test]
fn the_clock_of_event_bridge_is_a_schedule() {
    for source in ["aws.events", "aws.scheduler"] {
        let payload = serde_json::json!({"version": "0", "detail-type": "Scheduled Event", "source": source, "detail": {}});
        assert_eq!(
            parse_delivery(payload.to_string().as_bytes()),
            Ok(Delivery::Scheduled)
        );
    }
}

#[test]
fn a_list_longer_than_any_batch_is_refused_and_costs_nothing() {
    let full = format!("{{\"Records\":[{}{{}}]}}", "{},".repeat(9_999));
    let Ok(Delivery::Direct(records)) = parse_delivery(full.as_bytes()) else {
        panic!("10,000 are allowed")
    };
    assert_eq!(records.len(), 10_000);
    let longer = format!("{{\"Records\":[{}{{}}]}}", "{},".repeat(10_000));
    let e = parse_delivery(longer.as_bytes()).unwrap_err().to_string();
    assert!(e.contains("more than 10000 entries"), "{e}");
}

#[test]
fn names_of_other_stores_are_taken() {
    let text = String::from_utf8(file("s3-object-removed-delete-marker-created.json")).unwrap();
    let minio = text
        .replace("aws:s3\"", "minio:s3\"")
        .replace("ObjectRemoved:", "s3:ObjectRemoved:")
        .replace("\"2.1\"", "\"2.0\"");
    assert_eq!(
        answer(minio.as_bytes()).deletions,
        [only_deletion("s3-object-removed-delete-marker-created.json")]
    );
}

#[test]
fn every_message_of_the_stories_is_read() {
    let stories: PathBuf = [
        env!("CARGO_MANIFEST_DIR"),
        "..",
        "..",
        "tests",
        "corpus",
        "stories",
    ]
    .iter()
    .collect();
    let (mut messages, mut deletions, mut lifecycle, mut created) = (0, 0, 0, 0);
    for story in std::fs::read_dir(stories).unwrap() {
        let story = story.unwrap();
        if !story.file_type().unwrap().is_dir() {
            continue;
        }
        for file in std::fs::read_dir(story.path()).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_none_or(|ending| ending != "jsonl") {
                continue;
            }
            for (number, line) in std::fs::read_to_string(&path).unwrap().lines().enumerate() {
                let records = parse_body(line.as_bytes())
                    .unwrap_or_else(|e| panic!("{}, line {}: {e}", path.display(), number + 1));
                messages += 1;
                for record in records {
                    match record {
                        Record::Deleted(deleted) => {
                            assert_ne!(deleted.what, Deletion::Unspecified);
                            assert!(
                                deleted.event_time.is_some() && deleted.sequencer.is_some(),
                                "{deleted:?}"
                            );
                            deletions += 1;
                            lifecycle += usize::from(deleted.agent == Agent::Lifecycle);
                        }
                        Record::Created(_) => created += 1,
                        Record::TestEvent => {}
                        Record::Other(other) => assert!(other.is_known(), "{other:?}"),
                    }
                }
            }
        }
    }
    assert!(
        messages >= 1_300 && deletions >= 1_200,
        "{messages} messages, {deletions} deletions"
    );
    assert!(
        lifecycle >= 300 && created >= 2,
        "{lifecycle} by rules, {created} created"
    );
}
