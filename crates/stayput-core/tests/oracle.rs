//! The whole document of every checkpoint of the corpus must equal the one that Flink's own classes gave.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use flink_checkpoint::{Index, Limits, Reference, references};
use serde_json::Value;
use stayput_core::oracle::document;

/// All folders below `root` that hold a checkpoint and what Flink reads from it, with the pointer to it.
fn cases(root: &Path) -> Vec<(PathBuf, String)> {
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(root).unwrap_or_else(|e| panic!("{}: {e}", root.display())) {
        let path = entry.unwrap().path();
        if path.join("_metadata").is_file() && path.join("oracle.json").is_file() {
            let toml = std::fs::read_to_string(path.join("case.toml")).unwrap();
            let pointer = toml
                .lines()
                .find_map(|line| line.strip_prefix("external_pointer = \""))
                .unwrap();
            cases.push((path, pointer.trim_end_matches('"').to_owned()));
        }
    }
    cases.sort();
    cases
}

/// Says where two documents differ first.
fn first_difference(path: &str, ours: &Value, theirs: &Value) -> Option<String> {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            if let Some(key) = b.keys().find(|key| !a.contains_key(*key)) {
                return Some(format!("{path}.{key} is missing"));
            }
            if let Some(key) = a.keys().find(|key| !b.contains_key(*key)) {
                return Some(format!("{path}.{key} isn't Flink's"));
            }
            a.iter()
                .find_map(|(key, value)| first_difference(&format!("{path}.{key}"), value, &b[key]))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => a
            .iter()
            .zip(b)
            .enumerate()
            .find_map(|(i, (a, b))| first_difference(&format!("{path}[{i}]"), a, b)),
        (a, b) if a == b => None,
        (a, b) => Some(format!("{path} is {a}, Flink says {b}")),
    }
}

fn compare(root: &Path, at_least: usize) {
    let cases = cases(root);
    assert!(
        cases.len() >= at_least,
        "{} cases in {}, expected {at_least}",
        cases.len(),
        root.display()
    );
    let mut compared: BTreeMap<(String, u8), u32> = BTreeMap::new();
    let mut different = Vec::new();
    for (case, pointer) in &cases {
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = std::fs::read(case.join("_metadata")).unwrap();
        let theirs: Value =
            serde_json::from_slice(&std::fs::read(case.join("oracle.json")).unwrap()).unwrap();
        let index = Index::build(&bytes, &Limits::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
        let snapshot = index.view(&bytes).unwrap();
        if let Some(difference) = first_difference("", &document(snapshot, pointer), &theirs) {
            different.push(format!("{name}: {difference}"));
        }

        let (mut by_tree, mut by_visitor): (Vec<Reference<'_>>, Vec<String>) = Default::default();
        snapshot.references(|reference| by_tree.push(*reference));
        let complete = references(&bytes, &Limits::default(), &mut |reference| {
            by_visitor.push(format!("{reference:?}"));
            ControlFlow::Continue(())
        })
        .unwrap();
        let by_tree: Vec<String> = by_tree.iter().map(|reference| format!("{reference:?}")).collect();
        assert_eq!(by_tree, by_visitor, "{name}");
        assert_eq!(&complete, snapshot.complete(), "{name}");
        assert_eq!(complete.counts.references(), by_visitor.len() as u64, "{name}");

        let release = name
            .trim_start_matches("s3-")
            .split('-')
            .next()
            .unwrap()
            .to_owned();
        *compared.entry((release, complete.format_version)).or_default() += 1;
    }
    for ((release, format), cases) in &compared {
        println!("Flink {release}, format {format}: {cases} cases");
    }
    println!("{} cases compared in all", cases.len());
    assert!(
        different.is_empty(),
        "{} of {} differ:\n{}",
        different.len(),
        cases.len(),
        different.join("\n")
    );
}

#[test]
fn every_case_of_the_repository_reads_as_flink_reads_it() {
    compare(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus"),
        58,
    );
}

#[test]
fn every_case_of_the_large_corpus_reads_as_flink_reads_it() {
    match std::env::var_os("STAYPUT_CORPUS") {
        Some(root) => compare(Path::new(&root), 416),
        None => println!("not run: STAYPUT_CORPUS names no large corpus"),
    }
}
