//! What ARCHITECTURE.md says about dependencies and tests is so.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What each part may know of the others, tests left aside.
const MAY_KNOW: [(&str, &[&str]); 12] = [
    ("crates/flink-checkpoint", &[]),
    ("crates/s3-documents", &[]),
    ("crates/stayput-core", &["flink-checkpoint", "s3-documents"]),
    (
        "crates/stayput-guard",
        &["flink-checkpoint", "s3-documents", "stayput-core"],
    ),
    (
        "crates/stayput-aws",
        &[
            "flink-checkpoint",
            "s3-documents",
            "stayput-core",
            "stayput-guard",
        ],
    ),
    (
        "crates/s3-model",
        &[
            "flink-checkpoint",
            "s3-documents",
            "stayput-core",
            "stayput-guard",
        ],
    ),
    (
        "crates/stayput-cli",
        &[
            "flink-checkpoint",
            "s3-documents",
            "stayput-core",
            "stayput-guard",
            "stayput-aws",
            "s3-model",
        ],
    ),
    (
        "lambda",
        &[
            "flink-checkpoint",
            "s3-documents",
            "stayput-core",
            "stayput-guard",
            "stayput-aws",
        ],
    ),
    ("wasm", &["flink-checkpoint", "s3-documents", "stayput-core"]),
    ("tests", &["flink-checkpoint"]),
    (
        "sim",
        &["s3-documents", "stayput-core", "stayput-guard", "s3-model"],
    ),
    (
        "tests/hostile",
        &["flink-checkpoint", "s3-documents", "stayput-core"],
    ),
];

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Names in the tables of dependencies that are built into the program.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut counts = false;
    for line in manifest.lines().map(str::trim) {
        if let Some(table) = line.strip_prefix('[') {
            let table = table.trim_end_matches(']');
            counts =
                table == "dependencies" || (table.starts_with("target.") && table.ends_with(".dependencies"));
            if let Some(name) = table.strip_prefix("dependencies.") {
                names.insert(name.to_owned());
            }
        } else if counts && let Some((name, _)) = line.split_once('=') {
            let name = name.trim().split('.').next().unwrap_or_default();
            names.insert(name.trim_matches('"').to_owned());
        }
    }
    names
}

#[test]
fn dependencies_point_one_way() {
    let ours: BTreeSet<&str> = [
        "flink-checkpoint",
        "s3-documents",
        "stayput-core",
        "stayput-guard",
        "stayput-aws",
        "s3-model",
        "stayput-cli",
    ]
    .into();
    for (folder, may_know) in MAY_KNOW {
        let known = dependencies(&read(&workspace().join(folder).join("Cargo.toml")));
        assert!(!known.is_empty(), "{folder}: no dependency was read");
        for name in known.iter().filter(|name| ours.contains(name.as_str())) {
            assert!(may_know.contains(&name.as_str()), "{folder} must not know {name}");
        }
    }
}

#[test]
fn only_stayput_aws_knows_the_sdk_and_the_core_knows_no_io() {
    let of_sdk = |name: &str| name.starts_with("aws-");
    let with_io =
        |name: &str| of_sdk(name) || ["tokio", "ureq", "reqwest", "hyper", "lambda_runtime"].contains(&name);
    for (folder, _) in MAY_KNOW {
        let known = dependencies(&read(&workspace().join(folder).join("Cargo.toml")));
        let pure = [
            "crates/flink-checkpoint",
            "crates/s3-documents",
            "crates/stayput-core",
            "crates/stayput-guard",
            "wasm",
        ];
        for name in &known {
            assert!(
                folder == "crates/stayput-aws" || !of_sdk(name),
                "{folder} must not know {name}"
            );
            assert!(
                !pure.contains(&folder) || !with_io(name),
                "{folder} must not know {name}"
            );
        }
    }
    let aws = dependencies(&read(&workspace().join("crates/stayput-aws/Cargo.toml")));
    assert!(
        aws.iter().any(|name| of_sdk(name)),
        "the names of the SDK's crates have changed"
    );
}

/// Every function of every Rust file, by the file's path in the workspace.
fn functions() -> BTreeMap<String, BTreeSet<String>> {
    let mut found = BTreeMap::new();
    let root = workspace();
    let mut folders: Vec<PathBuf> = ["crates", "lambda", "sim", "wasm", "tests", "xtask"]
        .iter()
        .map(|name| root.join(name))
        .collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
            let path = entry
                .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
                .path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ext| ext == "rs") {
                let names = read(&path)
                    .lines()
                    .filter_map(|line| {
                        line.split_once("fn ")?
                            .1
                            .split(['(', '<'])
                            .next()
                            .map(str::to_owned)
                    })
                    .collect();
                let name = path
                    .strip_prefix(&root)
                    .unwrap_or(&path)
                    .to_string_lossy()
                    .into_owned();
                found.insert(name, names);
            }
        }
    }
    found
}

#[test]
fn every_test_that_architecture_names_exists() {
    let functions = functions();
    let text = read(&workspace().join("ARCHITECTURE.md"));
    let mut file = None;
    let mut checked = 0;
    for word in text.split('`').skip(1).step_by(2) {
        if word.ends_with(".mjs") {
            assert!(
                workspace().join(word).is_file(),
                "ARCHITECTURE.md names {word}, which isn't there"
            );
        } else if word.ends_with(".rs") {
            let names = functions
                .get(word)
                .unwrap_or_else(|| panic!("ARCHITECTURE.md names {word}, which isn't there"));
            file = Some((word, names));
        } else if word.len() > 12
            && word.contains('_')
            && word
                .chars()
                .all(|c| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit())
        {
            let (file, names) = file.unwrap_or_else(|| panic!("{word} stands before any file's name"));
            assert!(names.contains(word), "{file} has no {word}");
            checked += 1;
        }
    }
    assert!(
        checked >= 20,
        "only {checked} names of tests were found in ARCHITECTURE.md"
    );
}
