//! Whatever arrives, the reader answers: it never panics, and what is cut off is never taken for whole.

use proptest::prelude::*;
use s3_documents::notification::{Delivery, parse_body, parse_delivery};
use s3_documents::notification_configuration::NotificationConfiguration;
use s3_documents::{bucket, lifecycle, listing};
use serde_json::{Value, json};

mod support;

fn event_files() -> Vec<(String, Vec<u8>)> {
    let events = support::events();
    let mut files = Vec::new();
    for folder in [events.clone(), events.join("malformed")] {
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "json") {
                files.push((path.display().to_string(), std::fs::read(&path).unwrap()));
            }
        }
    }
    assert!(files.len() >= 90, "only {} files", files.len());
    files
}

fn read_as_everything(bytes: &[u8]) {
    let _ = parse_delivery(bytes);
    let _ = parse_body(bytes);
    let _ = listing::parse_versions(bytes).map(|listing| listing.rows().len());
    let _ = listing::parse_objects(bytes);
    let _ = listing::parse(bytes);
    let _ = lifecycle::parse(bytes);
    let _ = bucket::parse_versioning(bytes);
    let _ = bucket::parse_configuration(bytes);
    let _ = NotificationConfiguration::parse(bytes);
}

#[test]
fn a_payload_that_was_cut_off_is_an_error_at_every_byte() {
    let mut cuts = 0;
    for (name, bytes) in event_files() {
        let whole = bytes.trim_ascii_end().len();
        let step = 1 + whole / 1_500;
        for end in (0..whole).step_by(step) {
            assert!(parse_delivery(&bytes[..end]).is_err(), "{name} cut at byte {end}");
            assert!(parse_body(&bytes[..end]).is_err(), "{name} cut at byte {end}");
            cuts += 1;
        }
    }
    assert!(cuts >= 50_000, "only {cuts} cuts");
}

#[test]
fn deep_nesting_is_an_error_and_no_overflow() {
    for unit in ["[", "{\"Records\":[", "{\"detail\":", "{\"x\":["] {
        let deep = unit.repeat(200_000);
        read_as_everything(deep.as_bytes());
        assert!(parse_delivery(deep.as_bytes()).is_err(), "{unit}");
    }
}

/// JSON of every kind, for places where something else belongs.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        prop::sample::select(vec![
            "",
            "aws:sqs",
            "aws:sns",
            "aws:s3",
            "s3:TestEvent",
            "Notification",
            "2.1",
            "null",
            "%",
            "+"
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{0,4}|Records|Message|body|s3|key", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// All places of a document, as JSON pointers.
fn places(value: &Value, here: &str, out: &mut Vec<String>) {
    out.push(here.to_owned());
    match value {
        Value::Object(map) => map
            .iter()
            .for_each(|(name, inner)| places(inner, &format!("{here}/{name}"), out)),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .for_each(|(i, inner)| places(inner, &format!("{here}/{i}"), out)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        read_as_everything(&bytes);
    }

    #[test]
    fn any_json_is_read_or_refused(value in any_json()) {
        read_as_everything(value.to_string().as_bytes());
    }

    #[test]
    fn changed_bytes_are_read_or_refused(
        file in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let files = event_files();
        let mut bytes = file.get(&files).1.clone();
        for (at, byte) in changes {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
        }
        read_as_everything(&bytes);
    }

    #[test]
    fn whatever_stands_in_one_record_the_others_are_read_as_before(
        place in any::<prop::sample::Index>(),
        value in any_json(),
    ) {
        let files = event_files();
        let (_, bytes) = files.iter().find(|(name, _)| name.ends_with("s3-multiple-records.json")).unwrap();
        let Ok(Delivery::Direct(before)) = parse_delivery(bytes) else { panic!("it is a direct call") };
        let mut document: Value = serde_json::from_slice(bytes).unwrap();
        let mut all = Vec::new();
        places(&document["Records"][1], "/Records/1", &mut all);
        let place = place.get(&all);
        *document.pointer_mut(place).unwrap() = value;
        // One that names another sender is the one thing that changes what the whole payload is.
        prop_assume!(document["Records"][1]["eventSource"] != json!("aws:sqs"));
        let Ok(Delivery::Direct(after)) = parse_delivery(document.to_string().as_bytes()) else {
            return Err(TestCaseError::fail(format!("{place} made the whole call fail")));
        };
        prop_assert_eq!(&after[0], &before[0]);
        prop_assert_eq!(after.last(), before.last());
    }

    #[test]
    fn whatever_stands_in_one_message_the_others_are_read_as_before(
        place in any::<prop::sample::Index>(),
        value in any_json(),
    ) {
        let files = event_files();
        let (_, bytes) = files.iter().find(|(name, _)| name.ends_with("sqs-batch-all-good.json")).unwrap();
        let Ok(Delivery::Queue(before)) = parse_delivery(bytes) else { panic!("it is a batch") };
        let mut document: Value = serde_json::from_slice(bytes).unwrap();
        let mut body: Value = serde_json::from_str(document["Records"][4]["body"].as_str().unwrap()).unwrap();
        let mut all = Vec::new();
        places(&body, "", &mut all);
        let place: &String = place.get(&all);
        *body.pointer_mut(place).unwrap() = value;
        document["Records"][4]["body"] = body.to_string().into();
        let Ok(Delivery::Queue(after)) = parse_delivery(document.to_string().as_bytes()) else {
            return Err(TestCaseError::fail("one body made the whole batch fail"));
        };
        prop_assert_eq!(after.len(), before.len());
        for (i, (after, before)) in after.iter().zip(&before).enumerate() {
            prop_assert_eq!(&after.message_id, &before.message_id);
            if i != 4 {
                prop_assert_eq!(after, before);
            }
        }
    }
}
