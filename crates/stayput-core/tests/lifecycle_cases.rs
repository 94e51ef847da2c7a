//! Every case of `tests/corpus/lifecycle/cases.json`: what rules do to objects, and when. A real server is held against the same file.

use std::path::Path;
use std::time::Duration;

use s3_documents::bucket::Versioning;
use s3_documents::lifecycle::{Tag, parse};
use serde_json::{Value, json};
use stayput_core::extent::Extent;
use stayput_core::lifecycle_rules::{
    Action, BucketRules, Effect, RuledVersion, VersionPlace, When, days_not_due_yet, is_readable,
};
use stayput_core::timestamp::Timestamp;

fn before(now: Timestamp, days: &Value) -> Option<Timestamp> {
    days.as_f64()
        .map(|days| now.minus(Duration::from_secs_f64(days * 86_400.0)))
}

fn tags(object: &Value) -> Option<Vec<Tag>> {
    match object.get("tags") {
        Some(Value::Null) => None,
        None => Some(Vec::new()),
        Some(tags) => Some(
            tags.as_object()
                .unwrap()
                .iter()
                .map(|(key, value)| Tag {
                    key: key.clone(),
                    value: value.as_str().unwrap().to_owned(),
                })
                .collect(),
        ),
    }
}

fn size(object: &Value) -> Extent {
    match (object["size"].as_u64(), object["size_at_least"].as_u64()) {
        (Some(n), None) => Extent::Exact(n),
        (None, Some(n)) => Extent::AtLeast(n),
        _ => Extent::Unknown,
    }
}

fn shown(rules: &BucketRules<'_>, effect: &Effect<'_>) -> Value {
    let mut shown = json!({
        "effect": match effect.action {
            Action::Hide => "hide",
            Action::Delete => "delete",
            Action::Transition { .. } => "transition",
            Action::Purge => "purge",
            Action::Abort => "abort",
        },
        "rule": rules.rules()[effect.rule].id,
        "at": effect.at,
    });
    match effect.when {
        When::Days(days) => shown["day"] = days.into(),
        When::Date(date) => shown["date"] = date.to_string().into(),
    }
    if let Action::Transition { storage_class } = effect.action {
        shown["storage_class"] = storage_class.into();
        shown["readable"] = is_readable(storage_class).into();
    }
    if let Some(unknown) = effect.depends_on {
        shown["if"] = serde_json::to_value(unknown).unwrap();
    }
    shown
}

#[test]
fn what_rules_do_to_objects_and_when() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/lifecycle/cases.json");
    let file: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    assert_eq!(file["format"], 1);
    let now = Timestamp::parse(file["now"].as_str().unwrap()).unwrap();
    let (mut cases, mut objects, mut on_a_server) = (0, 0, 0);
    for case in file["cases"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let configuration = parse(case["configuration"].to_string().as_bytes()).unwrap();
        let versioning = match case["versioning"].as_str() {
            None | Some("Enabled") => Versioning::Enabled,
            Some("Suspended") => Versioning::Suspended,
            Some("Never") => Versioning::Never,
            Some(other) => panic!("{name}: {other}"),
        };
        let rules = BucketRules::new(&configuration, versioning, now);
        for object in case["objects"].as_array().unwrap() {
            let key = object["key"].as_str().unwrap();
            let tags = tags(object);
            let mut effects = Vec::new();
            if object["upload"] == true {
                effects.extend(rules.abort(key, before(now, &object["age_days"])));
            } else {
                let version = RuledVersion {
                    key,
                    size: size(object),
                    written: before(now, &object["age_days"]),
                    storage_class: object["storage_class"].as_str(),
                    tags: tags.as_deref(),
                    null_version: object["version"].as_str().map(|version| version == "null"),
                    place: match object.get("noncurrent") {
                        None => VersionPlace::Current,
                        Some(noncurrent) => VersionPlace::Noncurrent {
                            since: before(now, &noncurrent["days"]),
                            newer: noncurrent["newer"].as_u64().map(|n| u32::try_from(n).unwrap()),
                        },
                    },
                };
                rules.effects(&version, &mut effects);
            }
            let shown: Vec<Value> = effects.iter().map(|effect| shown(&rules, effect)).collect();
            assert_eq!(Value::from(shown), object["expect"], "{name}: {key}");
            objects += 1;
        }
        cases += 1;
        on_a_server += usize::from(case["ceph"] == true);
    }
    assert!(
        cases >= 50 && objects >= 110 && on_a_server >= 20,
        "{cases} cases, {objects} objects, {on_a_server} for a server"
    );
}

#[test]
fn the_days_that_are_not_due_yet_are_the_fewest() {
    let now = Timestamp::parse("2026-03-10T12:00:00Z").unwrap();
    for hours in 0..1_000 {
        let written = now.minus(Duration::from_secs(hours * 3_600));
        let days = days_not_due_yet(written, now);
        let due = |days| {
            let text = format!(
                r#"{{"Rules": [{{"Status": "Enabled", "Filter": {{}}, "Expiration": {{"Days": {days}}}}}]}}"#
            );
            let configuration = parse(text.as_bytes()).unwrap();
            let version = RuledVersion {
                written: Some(written),
                ..RuledVersion::named("k")
            };
            let mut effects = Vec::new();
            BucketRules::new(&configuration, Versioning::Enabled, now).effects(&version, &mut effects);
            effects[0].at.unwrap()
        };
        assert!(due(days) > now, "{hours} hours: {days} days");
        assert!(days == 1 || due(days - 1) <= now, "{hours} hours: {days} days");
    }
}
