//! What rules do to a bucket as its days pass: the table that the evaluator of `stayput-core` is held against too, and stories that no single
//! object tells.

use std::path::Path;
use std::time::Duration;

use s3_documents::bucket::Versioning;
use s3_documents::lifecycle::parse;
use s3_documents::notification::{Agent, Deletion, Record, parse_body};
use s3_model::{
    Content, Destination, Form, Model, ModelBucket, Object, Retention, RetentionMode, RuleAction, RuleDeed,
    StoredVersion,
};
use serde_json::{Value, json};
use stayput_core::timestamp::Timestamp;
use stayput_core::version::VersionId;

const DAY: Duration = Duration::from_secs(86_400);

fn at(time: &str) -> Timestamp {
    Timestamp::parse(time).unwrap()
}

fn world(rules: &Value) -> (Model, ModelBucket) {
    let model = Model::new(at("2026-03-10T12:00:00Z"));
    let bucket = model.create_bucket("flink-state", Versioning::Enabled);
    bucket.set_lifecycle(parse(json!({ "Rules": rules }).to_string().as_bytes()).unwrap());
    (model, bucket)
}

/// Lets midnights pass, with the rules carried out at each; gives what they did, and when.
fn pass(model: &Model, bucket: &ModelBucket, days: u32) -> Vec<(String, RuleAction)> {
    let mut done = Vec::new();
    for _ in 0..days {
        model.set_now(model.now().midnight().plus(DAY));
        let day = model.now().day();
        done.extend(bucket.run_rules().into_iter().map(|action| (day.clone(), action)));
    }
    done
}

/// `hide`, `purge`, ... with the day, key and rule.
fn told(done: &[(String, RuleAction)]) -> Vec<String> {
    let told = done.iter().map(|(day, action)| {
        let deed = match &action.deed {
            RuleDeed::Hidden(_) => "hide".to_owned(),
            RuleDeed::Deleted => "delete".to_owned(),
            RuleDeed::Purged(_) => "purge".to_owned(),
            RuleDeed::MarkerRemoved(_) => "marker".to_owned(),
            RuleDeed::Moved(_, class) => format!("to {class}"),
            RuleDeed::UploadAborted(_) => "abort".to_owned(),
        };
        format!("{day} {deed} {} by {}", action.key, action.rule)
    });
    told.collect()
}

mod table {
    use super::*;

    /// Puts what a case says into a bucket of its own. `None`: something about it isn't known, so that there is nothing to put.
    fn put(bucket: &ModelBucket, object: &Value, now: Timestamp) -> Option<()> {
        let key = object["key"].as_str().unwrap();
        let before = |days: &Value| Some(now.minus(Duration::from_secs_f64(days.as_f64()? * 86_400.0)));
        if object["upload"] == true {
            return None;
        }
        let known = |name: &str| object.get(name).is_none_or(|value| !value.is_null());
        if !(known("tags") && known("version")) {
            return None;
        }
        let mut stored = Object::new(Content::Zeroes(object["size"].as_u64()?));
        for (name, value) in object["tags"].as_object().into_iter().flatten() {
            stored = stored.with_tag(name, value.as_str().unwrap());
        }
        stored.storage_class = object["storage_class"].as_str().map(str::to_owned);
        let id = if object["version"] == "null" || bucket.versioning() == Versioning::Never {
            "null"
        } else if bucket.versioning() == Versioning::Suspended && object["version"] != "own" {
            return None;
        } else {
            "v0"
        };
        let version = |id: &str, at, object| StoredVersion {
            id: VersionId::new(id),
            last_modified: at,
            object,
        };
        bucket.add_version(key, version(id, before(&object["age_days"])?, Some(stored)));
        if let Some(noncurrent) = object.get("noncurrent") {
            let since = before(&noncurrent["days"])?;
            // The newer noncurrent versions, and the marker above them all.
            for n in 0..noncurrent["newer"].as_u64()? {
                let newer = Some(Object::new(b"newer"));
                bucket.add_version(key, version(&format!("v{}", n + 1), since, newer));
            }
            bucket.add_version(key, version("marker", since, None));
        }
        Some(())
    }

    /// What happened to the version with this id, or by hiding it.
    fn seen(key: &str, id: &str, run: Timestamp, action: &RuleAction) -> Option<Value> {
        let is = |other: &VersionId| other.as_str() == id;
        let mut seen = match &action.deed {
            RuleDeed::Hidden(_) => json!({ "effect": "hide" }),
            RuleDeed::Deleted => json!({ "effect": "delete" }),
            RuleDeed::Purged(purged) if is(purged) => json!({ "effect": "purge" }),
            RuleDeed::Moved(moved, class) if is(moved) => {
                json!({ "effect": "transition", "storage_class": class })
            }
            _ => return None,
        };
        seen["rule"] = action.rule.clone().into();
        seen["at"] = run.to_string().into();
        (action.key == key).then_some(seen)
    }

    /// Each object of each case in a bucket of its own, and its days.
    #[test]
    fn what_the_clock_carries_out_is_what_the_table_says() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/lifecycle/cases.json");
        let file: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        let now = at(file["now"].as_str().unwrap());
        let (mut cases, mut objects) = (0, 0);
        for case in file["cases"].as_array().unwrap() {
            let name = case["name"].as_str().unwrap();
            let configuration = parse(case["configuration"].to_string().as_bytes()).unwrap();
            let versioning = match case["versioning"].as_str() {
                Some("Suspended") => Versioning::Suspended,
                Some("Never") => Versioning::Never,
                _ => Versioning::Enabled,
            };
            let before = objects;
            for object in case["objects"].as_array().unwrap() {
                let model = Model::new(now);
                let bucket = model.create_bucket("b", versioning);
                bucket.set_lifecycle(configuration.clone());
                let expected = object["expect"].as_array().unwrap();
                let key = object["key"].as_str().unwrap();
                let sure = expected.iter().all(|effect| effect.get("if").is_none());
                let mut seen = Vec::new();
                if object["upload"] == true {
                    let days = object["age_days"].as_f64().unwrap();
                    model.set_now(now.minus(Duration::from_secs_f64(days * 86_400.0)));
                    bucket.begin_upload(key, Object::new(b""));
                } else if !sure || put(&bucket, object, now).is_none() {
                    continue;
                }
                objects += 1;
                // What is due already is done today, and then day by day for two years.
                let mut run = now;
                for _ in 0..730 {
                    model.set_now(run);
                    for action in bucket.run_rules() {
                        let id = if bucket.versioning() == Versioning::Never || object["version"] == "null" {
                            "null"
                        } else {
                            "v0"
                        };
                        if object["upload"] == true {
                            seen.push(
                                json!({ "effect": "abort", "rule": action.rule, "at": run.to_string() }),
                            );
                        } else {
                            seen.extend(super::table::seen(key, id, run, &action));
                        }
                    }
                    run = run.midnight().plus(DAY);
                }
                assert_eq!(
                    seen.len(),
                    expected.len(),
                    "{name}: {key}: {seen:?}, not {expected:?}"
                );
                let mut last = None;
                for (seen, expected) in seen.iter().zip(expected) {
                    let due = at(expected["at"].as_str().unwrap());
                    // What was due before today is done today.
                    let mut due = if due <= now { now } else { due };
                    // One thing a day is done to a version: S3 moves it first and hides it later.
                    if last == Some(due) {
                        due = due.midnight().plus(DAY);
                    }
                    last = Some(due);
                    let is = |name: &str| seen[name] == expected[name];
                    // A null marker takes the place of a null version: the same loss by another name.
                    let hidden_for_good = seen["effect"] == "hide"
                        && expected["effect"] == "delete"
                        && versioning == Versioning::Suspended;
                    assert!(
                        (is("effect") || hidden_for_good)
                            && is("rule")
                            && is("storage_class")
                            && at(seen["at"].as_str().unwrap()) == due,
                        "{name}: {key}: {seen}, not {expected}"
                    );
                }
            }
            cases += usize::from(objects > before);
        }
        assert!(cases >= 45 && objects >= 90, "{cases} cases, {objects} objects");
        println!("{cases} cases, {objects} objects");
    }
}

#[test]
fn an_object_is_hidden_at_a_midnight_and_the_event_says_who_and_when() {
    let (model, bucket) = world(&json!([
        {"ID": "save-money", "Status": "Enabled", "Filter": {"Prefix": "cp/"}, "Expiration": {"Days": 1}}]));
    let subscription = bucket.subscribe(Destination::new(Form::Notification).on("s3:LifecycleExpiration:*"));
    bucket.put("cp/a", b"state");
    bucket.put("other", b"state");
    assert_eq!(told(&pass(&model, &bucket, 1)), [""; 0], "it isn't a day old yet");
    // S3 is at work until the afternoon.
    model.set_now(at("2026-03-12T15:30:00Z"));
    assert_eq!(bucket.run_rules().len(), 1);
    let history = bucket.history("cp/a");
    let marker = history.hidden().unwrap().newest;
    assert_eq!(
        marker.last_modified,
        at("2026-03-12T00:00:00Z"),
        "dated the midnight before"
    );

    let arrived = subscription.arrived();
    let [message] = arrived.as_slice() else {
        panic!("{arrived:?}")
    };
    let records = parse_body(message.body.as_bytes()).unwrap();
    let [Record::Deleted(deleted)] = records.as_slice() else {
        panic!("{records:?}")
    };
    assert_eq!(
        (&deleted.what, &deleted.agent),
        (&Deletion::MarkerCreated, &Agent::Lifecycle)
    );
    assert_eq!(deleted.version_id.as_deref(), Some(marker.id.as_str()));
    assert_eq!(
        deleted.event_time,
        Some(at("2026-03-12T15:30:00Z").millis()),
        "the event has the time of the work"
    );
}

#[test]
fn the_clock_carries_rules_out_by_itself_once_it_is_told_to() {
    let (model, bucket) = world(&json!([
        {"ID": "old", "Status": "Enabled", "Filter": {}, "Expiration": {"Days": 1}, "NoncurrentVersionExpiration": {"NoncurrentDays": 3}},
        {"ID": "markers", "Status": "Enabled", "Filter": {}, "Expiration": {"ExpiredObjectDeleteMarker": true}}]));
    bucket.put("a", b"state");
    model.advance(DAY * 30);
    assert!(bucket.is_visible("a"), "rules that nobody carries out do nothing");
    let model = Model::new(model.now());
    let bucket = {
        let again = model.create_bucket("again", Versioning::Enabled);
        again.set_lifecycle(parse(json!({"Rules": [
            {"ID": "old", "Status": "Enabled", "Filter": {}, "Expiration": {"Days": 1}, "NoncurrentVersionExpiration": {"NoncurrentDays": 3}},
            {"ID": "markers", "Status": "Enabled", "Filter": {}, "Expiration": {"ExpiredObjectDeleteMarker": true}}]}).to_string().as_bytes()).unwrap());
        again
    };
    bucket.let_rules_run(Some(Duration::from_secs(3 * 3_600)));
    let events = bucket.subscribe(Destination::new(Form::Notification).on("s3:LifecycleExpiration:*"));
    bucket.put("a", b"state");
    model.advance(DAY * 30);
    assert!(
        bucket.keys().is_empty(),
        "marker, version and lone marker are gone"
    );
    let events = events.all();
    let events: Vec<String> = events
        .iter()
        .map(|m| format!("{} {}", m.event.at, m.event.kind.name()))
        .collect();
    assert_eq!(
        events,
        [
            "2026-04-11T03:00:00Z LifecycleExpiration:DeleteMarkerCreated",
            "2026-04-14T03:00:00Z LifecycleExpiration:Delete",
            "2026-04-15T03:00:00Z LifecycleExpiration:Delete",
        ]
    );
    bucket.put("b", b"state");
    bucket.let_rules_run(None);
    model.advance(DAY * 30);
    assert!(bucket.is_visible("b"));
}

#[test]
fn noncurrent_versions_and_markers_go_oldest_first_and_the_newest_are_kept() {
    let (model, bucket) = world(&json!([
        {"ID": "keep-two", "Status": "Enabled", "Filter": {},
         "NoncurrentVersionExpiration": {"NoncurrentDays": 1, "NewerNoncurrentVersions": 2}}]));
    for n in 0..4 {
        bucket.put("a", format!("version {n}").into_bytes());
        bucket.delete("a");
    }
    let done = pass(&model, &bucket, 5);
    assert_eq!(told(&done), vec!["2026-03-12 purge a by keep-two"; 5]);
    let left: Vec<bool> = bucket
        .history("a")
        .entries()
        .iter()
        .map(|row| row.size().is_some())
        .collect();
    assert_eq!(
        left,
        [false, true, false],
        "the current marker and the two below it"
    );
}

#[test]
fn a_marker_dated_midnight_makes_the_version_below_it_noncurrent_from_midnight_on() {
    let (model, bucket) = world(&json!([
        {"ID": "old", "Status": "Enabled", "Filter": {}, "Expiration": {"Date": "2026-03-01T00:00:00Z"},
         "NoncurrentVersionExpiration": {"NoncurrentDays": 1}}]));
    bucket.put("a", b"state");
    let done = pass(&model, &bucket, 3);
    assert_eq!(
        told(&done),
        [
            "2026-03-11 hide a by old",
            "2026-03-12 purge a by old",
            "2026-03-13 marker a by old"
        ]
    );
}

#[test]
fn a_restored_copy_begins_its_days_anew() {
    let (model, bucket) = world(&json!([
        {"ID": "old", "Status": "Enabled", "Filter": {}, "Expiration": {"Days": 2}}]));
    let first = bucket.put("a", b"state");
    assert_eq!(told(&pass(&model, &bucket, 3)), ["2026-03-13 hide a by old"]);
    // Who removes the marker has the old version again, with its old age.
    let marker = bucket.history("a").hidden().unwrap().newest.id.clone();
    bucket.delete_version("a", &marker);
    assert_eq!(bucket.current("a").unwrap().id, first);
    assert_eq!(told(&pass(&model, &bucket, 1)), ["2026-03-14 hide a by old"]);
    // A copy is young.
    bucket.put("a", b"state");
    assert_eq!(told(&pass(&model, &bucket, 3)), ["2026-03-16 hide a by old"]);
}

#[test]
fn what_is_locked_is_hidden_but_never_purged() {
    let (model, bucket) = world(&json!([
        {"ID": "old", "Status": "Enabled", "Filter": {}, "Expiration": {"Days": 1}, "NoncurrentVersionExpiration": {"NoncurrentDays": 1}}]));
    let until = at("2026-03-20T00:00:00Z");
    let kept = bucket.put("kept", b"1");
    let held = bucket.put("held", b"1");
    bucket.edit("kept", &kept, |object| {
        object.retention = Some(Retention {
            mode: RetentionMode::Compliance,
            until,
        });
    });
    bucket.edit("held", &held, |object| object.legal_hold = true);
    assert!(!bucket.delete_version("kept", &kept));
    assert_eq!(
        told(&pass(&model, &bucket, 9)),
        ["2026-03-12 hide held by old", "2026-03-12 hide kept by old"]
    );
    assert_eq!(
        told(&pass(&model, &bucket, 2)),
        ["2026-03-20 purge kept by old", "2026-03-21 marker kept by old"]
    );
    bucket.edit("held", &held, |object| object.legal_hold = false);
    assert_eq!(told(&pass(&model, &bucket, 1)), ["2026-03-22 purge held by old"]);
}

#[test]
fn some_keys_come_a_day_late() {
    let (model, bucket) = world(&json!([
        {"ID": "old", "Status": "Enabled", "Filter": {}, "Expiration": {"Days": 1}}]));
    bucket.put("a", b"1");
    bucket.put("b", b"1");
    model.set_now(at("2026-03-12T00:00:00Z"));
    bucket.run_rules_on(|key| key == "a");
    assert_eq!(bucket.visible_keys(), ["b"]);
    model.set_now(at("2026-03-13T09:00:00Z"));
    bucket.run_rules();
    let marker = bucket.history("b").entries()[0].last_modified;
    assert_eq!(
        marker,
        at("2026-03-13T00:00:00Z"),
        "dated the day on which it was made"
    );
}

#[test]
fn an_unfinished_upload_is_aborted_and_a_finished_one_is_an_object() {
    let (model, bucket) = world(&json!([
        {"ID": "tidy", "Status": "Enabled", "Filter": {"Prefix": "out/"}, "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 7}}]));
    let events = bucket.subscribe(Destination::new(Form::Notification));
    let late = bucket.begin_upload("out/part-0", Object::new(b""));
    let done = bucket.begin_upload("out/part-1", Object::new(b""));
    let etag = bucket.upload_part(&done, 1, b"rows").unwrap();
    bucket.complete_upload(&done, &[(1, etag)]).unwrap();
    bucket.begin_upload("elsewhere", Object::new(b""));
    assert_eq!(
        told(&pass(&model, &bucket, 10)),
        ["2026-03-18 abort out/part-0 by tidy"]
    );
    assert_eq!(bucket.uploads().len(), 1);
    assert!(!bucket.abort_upload(&late), "it is gone");
    assert_eq!(bucket.visible_keys(), ["out/part-1"]);
    let events: Vec<&str> = events.all().iter().map(|m| m.event.kind.name()).collect();
    assert_eq!(
        events,
        ["ObjectCreated:CompleteMultipartUpload"],
        "S3 tells nobody of an abort"
    );
}
