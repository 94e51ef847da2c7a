//! Runs the real command on the cases of the repository.
#![allow(dead_code, reason = "each test uses a part")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// What a call said and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) status: i32,
}

pub(crate) fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus")
}

/// Calls the command in the folder of the corpus, so that names are the same on every machine.
pub(crate) fn stayput(arguments: &[&str]) -> Said {
    stayput_reading(arguments, &[])
}

/// The same, with bytes on its standard input.
pub(crate) fn stayput_reading(arguments: &[&str], input: &[u8]) -> Said {
    let mut child = Command::new(env!("CARGO_BIN_EXE_stayput"))
        .args(arguments)
        .current_dir(corpus())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A command that doesn't read its input ends without it.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Said {
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
        status: output.status.code().unwrap(),
    }
}

/// One checkpoint of the corpus.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) oracle: Value,
    /// What Flink was told to load.
    pub(crate) pointer: String,
}

/// All checkpoints that Flink's own classes were asked about.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(corpus()).unwrap() {
        let folder = entry.unwrap().path();
        let oracle = folder.join("oracle.json");
        if !oracle.is_file() {
            continue;
        }
        let toml = std::fs::read_to_string(folder.join("case.toml")).unwrap();
        let pointer = toml
            .lines()
            .find_map(|line| line.strip_prefix("external_pointer = \""));
        cases.push(Case {
            name: folder.file_name().unwrap().to_str().unwrap().to_owned(),
            oracle: serde_json::from_slice(&std::fs::read(oracle).unwrap()).unwrap(),
            pointer: pointer.unwrap().trim_end_matches('"').to_owned(),
        });
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(cases.len() >= 58, "only {} cases", cases.len());
    cases
}

/// The bytes of a case's `_metadata`.
pub(crate) fn metadata(case: &str) -> Vec<u8> {
    std::fs::read(corpus().join(case).join("_metadata")).unwrap()
}

/// Replaces text by other text of the same length, everywhere. Fails if it isn't there.
pub(crate) fn rewritten(mut bytes: Vec<u8>, from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let places: Vec<usize> = (0..bytes.len())
        .filter(|&at| bytes[at..].starts_with(from))
        .collect();
    assert!(!places.is_empty(), "nothing to rewrite");
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    bytes
}
