//! Every checkpoint of the corpus, written by real Flink releases, must name exactly the files that Flink's own
//! classes read from it.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;

use flink_checkpoint::{Extent, Limits, Target, facts, references};
use serde_json::{Value, json};

fn oracle(case: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(case.join("oracle.json")).unwrap()).unwrap()
}

/// The directory that relative handles are resolved against, as Flink prints it.
fn exclusive_directory(case: &Path) -> String {
    let text = std::fs::read_to_string(case.join("case.toml")).unwrap();
    let line = text
        .lines()
        .find(|line| line.starts_with("external_pointer"))
        .unwrap();
    let pointer = line.split('"').nth(1).unwrap();
    pointer.replacen("file:///", "file:/", 1)
}

#[derive(Default)]
struct File {
    size: u64,
    kind: &'static str,
    refs: u64,
    roles: BTreeSet<String>,
}

#[test]
fn references_are_those_that_flink_reads() {
    let mut read: BTreeMap<(String, u64), u32> = BTreeMap::new();
    for case in support::all_cases() {
        let (name, bytes) = (support::name(&case), support::metadata(&case));
        let (oracle, directory) = (oracle(&case), exclusive_directory(&case));
        let mut files: BTreeMap<String, File> = BTreeMap::new();
        let complete = references(&bytes, &Limits::default(), &mut |reference| {
            let path = reference.target.path().as_str().unwrap();
            let uri = match reference.target {
                Target::Exclusive(_) => format!("{directory}/{path}"),
                _ => path.into_owned(),
            };
            let (kind, size) = match (reference.target, reference.extent) {
                (Target::Directory(_), Extent::Unknown) => ("directory", 0),
                (_, Extent::AtLeast(size)) => ("segment", size),
                (_, Extent::Exact(size) | Extent::Changelog(size)) => ("file", size),
                other => panic!("{name}: {other:?}"),
            };
            let is_log = reference.role.to_string().ends_with(".changelog");
            assert_eq!(
                is_log,
                matches!(reference.extent, Extent::Changelog(_)),
                "{name}: {reference:?}"
            );
            let file = files.entry(uri).or_default();
            file.size = file.size.max(size);
            file.kind = kind;
            file.refs += 1;
            file.roles.insert(reference.role.to_string());
            ControlFlow::Continue(())
        })
        .unwrap_or_else(|e| panic!("{name}: {e}"));

        assert_eq!(
            u64::from(complete.format_version),
            oracle["format_version"].as_u64().unwrap(),
            "{name}"
        );
        assert_eq!(
            complete.checkpoint_id,
            oracle["checkpoint_id"].as_u64().unwrap(),
            "{name}"
        );
        assert_eq!(
            complete.counts.inline,
            oracle["totals"]["inline_handles"].as_u64().unwrap(),
            "{name}"
        );
        assert_eq!(
            complete.properties.is_some(),
            complete.format_version >= 4,
            "{name}"
        );
        let found: Vec<Value> = files
            .iter()
            .map(|(uri, file)| {
                json!({ "uri": uri, "declared_size": file.size, "kind": file.kind, "refs": file.refs,
                        "roles": file.roles })
            })
            .collect();
        let mut expected = oracle["files"].as_array().unwrap().clone();
        for file in &mut expected {
            file.as_object_mut().unwrap().remove("handle_types");
        }
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected, "{name}");
        }
        assert_eq!(found.len(), expected.len(), "{name}");

        let facts = facts(&bytes, &Limits::default(), &mut |_| {}).unwrap();
        let ids: Vec<String> = facts.operators.iter().map(ToString::to_string).collect();
        let expected: Vec<&str> = oracle["operators"]
            .as_array()
            .unwrap()
            .iter()
            .map(|o| o["operator_id"].as_str().unwrap())
            .collect();
        assert_eq!(ids, expected, "{name}");
        let mut backends = BTreeSet::new();
        collect(&oracle, "backend_id", &mut backends);
        let found: BTreeSet<String> = facts.backends.iter().map(ToString::to_string).collect();
        assert_eq!(found, backends, "{name}");
        assert_eq!(facts.backends.len(), backends.len(), "{name}");
        if let Some(properties) = complete.properties {
            assert_eq!(
                properties.snapshot_type.name(),
                oracle["properties"]["type"].as_str().unwrap(),
                "{name}"
            );
        }

        let release = name
            .trim_start_matches("s3-")
            .split('-')
            .next()
            .unwrap()
            .to_owned();
        *read
            .entry((release, u64::from(complete.format_version)))
            .or_default() += 1;
    }
    for ((release, format), cases) in read {
        println!("Flink {release}, format {format}: {cases} cases");
    }
}

fn collect(value: &Value, key: &str, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                match value {
                    Value::String(text) if name == key => {
                        into.insert(text.clone());
                    }
                    value => collect(value, key, into),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, key, into)),
        _ => {}
    }
}
