//! The handle behind a verdict is the one that Flink's own classes name.

use std::path::{Path, PathBuf};

use serde_json::Value;
use stayput_core::chain::named_by;
use stayput_core::location::{Location, ObjectLocation};
use stayput_core::root::{Root, RootKind, Roots};

/// At least so many cases on S3, and objects in them, in the repository and in the large corpus.
const AT_LEAST: (usize, usize) = (4, 60);
const AT_LEAST_LARGE: (usize, usize) = (100, 3_000);

fn corpus() -> (PathBuf, bool) {
    match std::env::var_os("STAYPUT_CORPUS") {
        Some(named) => (named.into(), true),
        None => (
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus"),
            false,
        ),
    }
}

fn s3(path: &str) -> ObjectLocation {
    match Location::parse_flink_path(path) {
        Ok(Location::S3(location)) => location,
        other => panic!("{path}: {other:?}"),
    }
}

/// The pointer that Flink's loader was given, or nothing if it isn't on S3.
fn pointer(folder: &Path) -> Option<String> {
    let toml = std::fs::read_to_string(folder.join("case.toml")).ok()?;
    let line = toml.lines().find_map(|l| l.strip_prefix("external_pointer = "))?;
    let pointer = line.trim_matches('"').to_owned();
    pointer.starts_with("s3").then_some(pointer)
}

#[test]
fn every_object_is_named_by_as_many_handles_and_in_the_roles_that_flink_says() {
    let (corpus, large) = corpus();
    let (mut cases, mut objects) = (0, 0);
    for entry in std::fs::read_dir(corpus).unwrap() {
        let folder = entry.unwrap().path();
        let Some(pointer) = pointer(&folder) else { continue };
        let bytes = std::fs::read(folder.join("_metadata")).unwrap();
        let oracle: Value =
            serde_json::from_slice(&std::fs::read(folder.join("oracle.json")).unwrap()).unwrap();
        let metadata = s3(&format!("{pointer}/_metadata"));
        let is_file = |f: &&Value| f["kind"] != "directory";
        let files: Vec<&Value> = oracle["files"]
            .as_array()
            .unwrap()
            .iter()
            .filter(is_file)
            .collect();
        let wanted: Vec<ObjectLocation> = files.iter().map(|f| s3(f["uri"].as_str().unwrap())).collect();
        let found = named_by(&bytes, &metadata, &wanted, &Roots::default());
        for (file, location) in files.iter().zip(&wanted) {
            let by = found
                .get(location)
                .unwrap_or_else(|| panic!("{location} in {}", folder.display()));
            assert_eq!(Some(by.handles), file["refs"].as_u64(), "{location}: {by:?}");
            let roles: Vec<&str> = file["roles"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(Value::as_str)
                .collect();
            assert!(roles.contains(&by.role.as_str()), "{location}: {by:?}, {roles:?}");
            let operators = oracle["operators"].as_array().unwrap();
            let operator = operators
                .iter()
                .find(|o| o["operator_id"] == by.operator_id.as_str())
                .expect("an operator of the file");
            assert_eq!(by.uid.as_deref(), operator["uid"].as_str());
        }
        let stranger = metadata.sibling("00000000-0000-0000-0000-000000000000");
        assert!(named_by(&bytes, &metadata, &[stranger], &Roots::default()).is_empty());
        cases += 1;
        objects += files.len();
    }
    println!("{cases} cases on S3, {objects} objects");
    let least = if large { AT_LEAST_LARGE } else { AT_LEAST };
    assert!(
        cases >= least.0 && objects >= least.1,
        "only {cases} cases and {objects} objects"
    );
}

#[test]
fn what_lies_below_a_named_directory_is_named_by_it_also_under_entropy_and_a_directory_whose_name_goes_on_is_another()
 {
    // The repository's merged files don't lie on S3.
    let Some(corpus) = std::env::var_os("STAYPUT_CORPUS") else {
        println!("not run: STAYPUT_CORPUS names no large corpus");
        return;
    };
    let mut directories = 0;
    for entry in std::fs::read_dir(corpus).unwrap() {
        let folder = entry.unwrap().path();
        let Some(pointer) = pointer(&folder) else { continue };
        let bytes = std::fs::read(folder.join("_metadata")).unwrap();
        let oracle: Value =
            serde_json::from_slice(&std::fs::read(folder.join("oracle.json")).unwrap()).unwrap();
        let metadata = s3(&format!("{pointer}/_metadata"));
        for file in oracle["files"].as_array().unwrap() {
            if file["kind"] != "directory" {
                continue;
            }
            let directory = s3(file["uri"].as_str().unwrap());
            let (bucket, key) = (directory.bucket(), directory.key().trim_end_matches('/'));
            let below = ObjectLocation::new(bucket, format!("{key}/0b1f"));
            let beside = ObjectLocation::new(bucket, format!("{key}0/0b1f"));
            let strewn = ObjectLocation::new(bucket, format!("x7Qa/{key}/0b1f"));
            let wanted = [below.clone(), beside, strewn.clone()];
            let plain = named_by(&bytes, &metadata, &wanted, &Roots::default());
            assert_eq!(plain.keys().collect::<Vec<_>>(), [&below], "{}", folder.display());
            let first = key.split('/').next().unwrap();
            let uri = format!("s3://{bucket}/_entropy_/{first}/");
            let root = Root::new(&uri, RootKind::Checkpoints, Some("_entropy_")).unwrap();
            let under_entropy = named_by(&bytes, &metadata, &wanted, &Roots::new(vec![root]));
            let found: Vec<_> = under_entropy.keys().collect();
            assert_eq!(found, [&below, &strewn], "{}", folder.display());
            assert_eq!(under_entropy[&strewn], plain[&below]);
            directories += 1;
        }
    }
    assert!(directories >= 20, "only {directories} directories");
}
