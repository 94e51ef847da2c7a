//! What S3 says of what happens, as those who subscribed hear it.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use s3_documents::bucket::Versioning;
use s3_documents::lifecycle::parse;
use s3_documents::notification::{Agent, Deletion, Record, compare_sequencers, parse_body};
use s3_model::{Content, Delivery, Destination, Form, Model, ModelBucket, Object};
use serde_json::Value;
use stayput_core::timestamp::Timestamp;

fn world() -> (Model, ModelBucket) {
    let model = Model::new(Timestamp::parse("2026-03-14T09:26:53.589Z").unwrap());
    let bucket = model.create_bucket("flink-state", Versioning::Enabled);
    (model, bucket)
}

/// The one record of a message.
fn record(body: &str) -> Record {
    let mut records = parse_body(body.as_bytes()).unwrap_or_else(|e| panic!("{e}: {body}"));
    assert_eq!(records.len(), 1, "{body}");
    records.remove(0)
}

/// Every path of names in a document, without its values.
fn paths(value: &Value, at: &str, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                paths(value, &format!("{at}.{name}"), into);
            }
        }
        Value::Array(items) => items
            .iter()
            .for_each(|item| paths(item, &format!("{at}[]"), into)),
        _ => {
            into.insert(at.to_owned());
        }
    }
}

#[test]
fn each_event_has_the_fields_of_the_documented_one_and_is_read_as_what_happened() {
    let (model, bucket) = world();
    bucket.set_lifecycle(
        parse(br#"{"Rules": [{"ID": "r", "Status": "Enabled", "Filter": {"Prefix": "x"}, "Expiration": {"Days": 1},
            "NoncurrentVersionExpiration": {"NoncurrentDays": 1}},
            {"ID": "t", "Status": "Enabled", "Filter": {"Prefix": "g"}, "Transitions": [{"Days": 1, "StorageClass": "GLACIER"}]}]}"#)
        .unwrap(),
    );
    let flink = bucket.acting_as("AWS:AROAEXAMPLEFLINKTM000:flink-taskmanager");
    let notifications = bucket.subscribe(Destination::new(Form::Notification));
    let event_bridge = bucket.subscribe(Destination::new(Form::EventBridge));
    let put = flink.put("a", b"state");
    let marker = flink.delete("a").unwrap();
    flink.delete_version("a", &put);
    bucket.put("x", b"state");
    bucket.put("g", Object::new(Content::Zeroes(1 << 20)));
    for _ in 0..3 {
        model.advance(Duration::from_secs(86_400));
        bucket.run_rules();
    }
    let notifications = notifications.arrived();
    let event_bridge = event_bridge.arrived();
    assert_eq!(notifications.len(), event_bridge.len());
    let documented = [
        ("s3-object-created-put", None),
        (
            "s3-object-removed-delete-marker-created",
            Some("eventbridge-object-deleted-delete-marker"),
        ),
        (
            "s3-object-removed-delete-version",
            Some("eventbridge-object-deleted-version"),
        ),
        ("s3-object-created-put", None),
        ("s3-object-created-put", None),
        (
            "s3-lifecycle-transition",
            Some("eventbridge-object-storage-class-changed"),
        ),
        ("s3-lifecycle-expiration-delete-marker-created", None),
        ("s3-lifecycle-expiration-delete-version", None),
    ];
    let read = |name: &str| -> Value {
        let file =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/corpus/events/{name}.json"));
        serde_json::from_slice(&std::fs::read(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display())))
            .unwrap()
    };
    let fields = |value: &Value| {
        let mut found = BTreeSet::new();
        paths(value, "", &mut found);
        found
    };
    let mut compared = 0;
    for (n, (notification, bridge)) in documented.iter().enumerate() {
        let pairs = [
            (Some(notification), &notifications[n]),
            (bridge.as_ref(), &event_bridge[n]),
        ];
        for (name, message) in pairs {
            let Some(name) = name else { continue };
            let ours: Value = serde_json::from_str(&message.body).unwrap();
            assert_eq!(fields(&ours), fields(&read(name)), "{name}: {}", message.body);
            compared += 1;
        }
    }
    assert_eq!(compared, 11);

    let Record::Created(created) = record(&notifications[0].body) else {
        panic!()
    };
    assert_eq!((created.key.as_str(), created.size), ("a", Some(5)));
    assert_eq!(created.version_id.as_deref(), Some(put.as_str()));
    let Record::Deleted(hidden) = record(&notifications[1].body) else {
        panic!()
    };
    assert_eq!(hidden.version_id.as_deref(), Some(marker.as_str()));
    assert_eq!(
        hidden.agent,
        Agent::Principal("AWS:AROAEXAMPLEFLINKTM000:flink-taskmanager".to_owned())
    );
    assert_eq!(
        hidden.event_time,
        Some(Timestamp::parse("2026-03-14T09:26:53.589Z").unwrap().millis())
    );
    let Record::Deleted(hidden) = record(&event_bridge[1].body) else {
        panic!()
    };
    assert_eq!(
        hidden.agent,
        Agent::Account("111122223333".to_owned()),
        "no principal"
    );
    let Record::Deleted(purged) = record(&notifications[2].body) else {
        panic!()
    };
    assert_eq!(
        (purged.what, purged.version_id.as_deref()),
        (Deletion::Removed, Some(put.as_str()))
    );
    let by_rule: Vec<&s3_model::Delivered> = notifications
        .iter()
        .filter(|m| m.event.principal.starts_with("s3."))
        .collect();
    assert_eq!(by_rule.len(), 3, "moved, hidden, purged");
    for (message, other) in notifications.iter().zip(&event_bridge) {
        for body in [&message.body, &other.body] {
            if let Record::Deleted(deleted) = record(body) {
                assert_eq!(
                    deleted.agent == Agent::Lifecycle,
                    message.event.principal.starts_with("s3."),
                    "{body}"
                );
            }
        }
    }
}

#[test]
fn keys_are_form_encoded_in_notifications_and_plain_in_event_bridge() {
    let (_, bucket) = world();
    let key = "savepoints/team a+b/50% done/k\u{e4}se=1 (copy)/_metadata";
    let notifications = bucket.subscribe(Destination::new(Form::Notification));
    let event_bridge = bucket.subscribe(Destination::new(Form::EventBridge));
    bucket.put(key, b"m");
    let (one, other) = (notifications.arrived(), event_bridge.arrived());
    assert!(
        one[0]
            .body
            .contains("savepoints/team+a%2Bb/50%25+done/k%C3%A4se%3D1+%28copy%29/_metadata")
    );
    assert!(other[0].body.contains(key));
    for body in [&one[0].body, &other[0].body] {
        let Record::Created(created) = record(body) else {
            panic!("{body}")
        };
        assert_eq!(created.key, key);
    }
}

#[test]
fn versions_are_told_as_the_bucket_keeps_them() {
    let (model, _) = world();
    for (versioning, expected) in [(Versioning::Suspended, Some("null")), (Versioning::Never, None)] {
        let bucket = model.create_bucket(&format!("{versioning:?}").to_lowercase(), versioning);
        let events = bucket.subscribe(Destination::new(Form::Notification).on("s3:ObjectRemoved:*"));
        bucket.put("a", b"1");
        bucket.delete("a");
        bucket.delete("never-there");
        let events = events.arrived();
        let Record::Deleted(deleted) = record(&events[0].body) else {
            panic!()
        };
        assert_eq!(deleted.version_id.as_deref(), expected);
        let what = if expected.is_some() {
            Deletion::MarkerCreated
        } else {
            Deletion::Removed
        };
        assert_eq!(deleted.what, what);
        assert_eq!(events.len(), if expected.is_some() { 2 } else { 1 });
    }
}

#[test]
fn only_what_was_asked_for_is_told_and_only_from_then_on() {
    let (_, bucket) = world();
    bucket.put("cp/before", b"1");
    let removed = Destination::new(Form::Notification)
        .below("cp/")
        .on("s3:ObjectRemoved:DeleteMarkerCreated")
        .on("s3:LifecycleExpiration:*");
    let removed = bucket.subscribe(removed);
    let bridge = bucket.subscribe(Destination::new(Form::EventBridge).on("Object Deleted"));
    bucket.put("cp/a", b"1");
    bucket.delete("cp/a");
    bucket.delete("sp/a");
    let lone = bucket.delete("cp/b").unwrap();
    bucket.delete_version("cp/b", &lone);
    let keys = |messages: Vec<s3_model::Delivered>| {
        messages
            .into_iter()
            .map(|m| m.event.key.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(keys(removed.arrived()), ["cp/a", "cp/b"]);
    assert_eq!(keys(bridge.arrived()), ["cp/a", "sp/a", "cp/b", "cp/b"]);
    assert!(removed.arrived().is_empty(), "each message is given once");
    assert_eq!(
        parse_body(removed.test_event("flink-state").as_bytes()).unwrap(),
        [Record::TestEvent]
    );
}

#[test]
fn messages_come_late_twice_out_of_order_or_never() {
    let (model, bucket) = world();
    let minutes = |m: u64| Duration::from_secs(60 * m);
    let fates = Delivery::by(move |event| match &*event.key {
        "late" => vec![minutes(5)],
        "twice" => vec![minutes(1), minutes(9)],
        "lost" => vec![],
        _ => vec![Duration::ZERO],
    });
    let events = bucket.subscribe(Destination::new(Form::Notification).delivered(fates));
    for key in ["late", "twice", "lost", "prompt"] {
        bucket.put(key, b"1");
    }
    let mut heard = Vec::new();
    while let Some(next) = events.next_arrival() {
        model.set_now(next.max(model.now()));
        heard.extend(events.arrived());
    }
    let keys: Vec<&str> = heard.iter().map(|m| &*m.event.key).collect();
    assert_eq!(keys, ["prompt", "twice", "late", "twice"]);
    assert_eq!(heard[1].body, heard[3].body, "the same, word for word");
    assert_ne!(heard[1].id, heard[3].id, "in another message");
    assert_eq!(events.lost().len(), 1);
    assert_eq!(events.pending(), 0);
}

#[test]
fn a_seed_decides_every_fate_and_fates_have_the_shares_that_were_asked_for() {
    let deliver = |seed| {
        let (_, bucket) = world();
        let delivery = Delivery::seeded(seed, Duration::from_secs(600), 100_000, 50_000);
        let events = bucket.subscribe(Destination::new(Form::Notification).delivered(delivery));
        for n in 0..2_000 {
            bucket.put(&format!("{}", n % 40), b"1");
        }
        let lost = events.lost().len();
        (events.all(), lost)
    };
    let (messages, lost) = deliver(7);
    assert_eq!(deliver(7).0, messages);
    assert_ne!(deliver(8).0, messages);
    let doubled = messages.len() + lost - 2_000;
    assert!(
        (50..150).contains(&lost) && (120..280).contains(&doubled),
        "{lost} lost, {doubled} doubled"
    );
    let out_of_order = messages
        .windows(2)
        .filter(|two| two[0].event.sequence > two[1].event.sequence);
    assert!(out_of_order.count() > 500);
    let latest = messages.iter().map(|m| m.at.since(m.event.at)).max().unwrap();
    assert!(latest <= Duration::from_secs(600) && latest > Duration::from_secs(500));
}

#[test]
fn sequencers_order_the_events_of_a_key_though_their_lengths_differ() {
    let (_, bucket) = world();
    let events = bucket.subscribe(Destination::new(Form::Notification));
    for _ in 0..600 {
        bucket.put("a", b"1");
    }
    let sequencers: Vec<String> = events.arrived().iter().map(|m| m.event.sequencer()).collect();
    assert!(
        sequencers
            .windows(2)
            .all(|two| compare_sequencers(&two[0], &two[1]).is_lt())
    );
    let lengths: BTreeSet<usize> = sequencers.iter().map(String::len).collect();
    assert!(lengths.len() > 1, "{lengths:?}");
}
