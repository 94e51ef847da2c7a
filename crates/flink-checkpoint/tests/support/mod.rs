//! The corpus in the repository.
#![allow(dead_code, unreachable_pub)]

use std::path::{Path, PathBuf};

/// The folders of the small corpus with a `_metadata`, sorted by name.
pub fn small_corpus() -> Vec<PathBuf> {
    corpus(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus"),
        58,
    )
}

/// The folders of the small corpus, and of the large one if `STAYPUT_CORPUS` names it.
pub fn all_cases() -> Vec<PathBuf> {
    let mut cases = small_corpus();
    if let Some(root) = std::env::var_os("STAYPUT_CORPUS") {
        cases.extend(corpus(Path::new(&root), 416));
    }
    cases
}

fn corpus(root: &Path, at_least: usize) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root).unwrap_or_else(|e| panic!("{}: {e}", root.display()));
    let mut cases: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("_metadata").is_file() && path.join("oracle.json").is_file())
        .collect();
    assert!(
        cases.len() >= at_least,
        "{} cases in {}, expected {at_least}",
        cases.len(),
        root.display()
    );
    cases.sort();
    cases
}

pub fn name(case: &Path) -> String {
    case.file_name().unwrap().to_string_lossy().into_owned()
}

pub fn metadata(case: &Path) -> Vec<u8> {
    std::fs::read(case.join("_metadata")).unwrap()
}
