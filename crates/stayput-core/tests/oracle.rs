//! The whole document of every checkpoint of the corpus must equal the one that Flink's own classes gave.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use flink_checkpoint::{Index, Limits, Reference, references};
use serde_json::Value;
use stayput_core::oracle::document;

/// A checkpoint, what Flink reads from it, and the pointer that was given to Flink.
struct Case {
    name: String,
    metadata: PathBuf,
    oracle: PathBuf,
    pointer: String,
}

/// The value of a line `key = "value"` of a `case.toml`.
fn setting(folder: &Path, key: &str) -> String {
    let toml = std::fs::read_to_string(folder.join("case.toml")).unwrap();
    let before = format!("{key} = \"");
    let value = toml.lines().find_map(|line| line.strip_prefix(before.as_str()));
    value
        .unwrap_or_else(|| panic!("{} has no {key}", folder.display()))
        .trim_end_matches('"')
        .to_owned()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut entries: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// The case folders directly below `root`.
fn cases(root: &Path) -> Vec<Case> {
    let mut cases = Vec::new();
    for folder in entries(root) {
        let (metadata, oracle) = (folder.join("_metadata"), folder.join("oracle.json"));
        if metadata.is_file() && oracle.is_file() {
            let pointer = setting(&folder, "external_pointer");
            cases.push(Case {
                name: name(&folder),
                metadata,
                oracle,
                pointer,
            });
        }
    }
    cases
}

/// Checkpoints that were alive when a stream of events ended: below a folder for each run, at their own keys.
fn alive_after_events(root: &Path) -> Vec<Case> {
    let mut cases = Vec::new();
    for run in entries(&root.join("s3-events"))
        .into_iter()
        .filter(|path| path.is_dir())
    {
        let mut open = vec![(run.clone(), setting(&run, "root"))];
        while let Some((folder, pointer)) = open.pop() {
            let (metadata, oracle) = (folder.join("_metadata"), folder.join("oracle.json"));
            if metadata.is_file() && oracle.is_file() {
                let name = format!("s3-{} {pointer}", name(&run));
                cases.push(Case {
                    name,
                    metadata,
                    oracle,
                    pointer: pointer.clone(),
                });
            }
            for inner in entries(&folder).into_iter().filter(|path| path.is_dir()) {
                let pointer = format!("{pointer}/{}", name(&inner));
                open.push((inner, pointer));
            }
        }
    }
    cases
}

/// Whole trees: the checkpoints below `root`, Flink's readings with `__` for `/` in their names.
fn trees(root: &Path) -> Vec<Case> {
    let mut cases = Vec::new();
    for tree in entries(&root.join("trees")) {
        for oracle in entries(&tree.join("oracle")) {
            let key = name(&oracle).trim_end_matches(".json").replace("__", "/");
            let metadata = tree.join("root").join(&key).join("_metadata");
            let pointer = format!("{}/{key}", setting(&tree, "root"));
            cases.push(Case {
                name: format!("{} {key}", name(&tree)),
                metadata,
                oracle,
                pointer,
            });
        }
    }
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

fn compare(cases: &[Case], at_least: usize) {
    assert!(
        cases.len() >= at_least,
        "only {} cases, expected {at_least}",
        cases.len()
    );
    let mut compared: BTreeMap<(String, u8), u32> = BTreeMap::new();
    let mut different = Vec::new();
    for Case {
        name,
        metadata,
        oracle,
        pointer,
    } in cases
    {
        let bytes = std::fs::read(metadata).unwrap();
        let theirs: Value = serde_json::from_slice(&std::fs::read(oracle).unwrap()).unwrap();
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
        &cases(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus")),
        58,
    );
}

#[test]
fn every_case_of_the_large_corpus_reads_as_flink_reads_it() {
    let Some(root) = std::env::var_os("STAYPUT_CORPUS").map(PathBuf::from) else {
        println!("not run: STAYPUT_CORPUS names no large corpus");
        return;
    };
    compare(&cases(&root), 416);
    compare(&alive_after_events(&root), 101);
    compare(&trees(&root), 28);
}

/// Flink was not asked about these: `_metadata` files of HA runs, and noncurrent versions on S3. They must be read
/// to their end all the same, and by tree and visitor alike.
#[test]
fn every_metadata_file_of_the_large_corpus_is_read_to_its_end() {
    let Some(root) = std::env::var_os("STAYPUT_CORPUS").map(PathBuf::from) else {
        println!("not run: STAYPUT_CORPUS names no large corpus");
        return;
    };
    let (mut open, mut read) = (vec![root], 0);
    while let Some(folder) = open.pop() {
        for path in entries(&folder) {
            if path.is_dir() {
                open.push(path);
            } else if name(&path).split('@').next() == Some("_metadata") {
                let bytes = std::fs::read(&path).unwrap();
                let index = Index::build(&bytes, &Limits::default());
                let index = index.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
                let mut references = 0;
                index.view(&bytes).unwrap().references(|_| references += 1);
                assert_eq!(
                    references,
                    index.complete().counts.references(),
                    "{}",
                    path.display()
                );
                read += 1;
            }
        }
    }
    println!("{read} files read");
    assert!(read >= 850, "only {read} files");
}
