//! The acceptance stories, for every test that plays them.

use std::fs;
use std::path::{Path, PathBuf};

use stayput_cli::replay::Story;

/// The folders of all stories: below the folder that the environment names, else in the repository.
pub(crate) fn all() -> Vec<PathBuf> {
    let folder = std::env::var_os("STAYPUT_STORIES").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/stories"),
        PathBuf::from,
    );
    let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut found: Vec<_> = entries
        .map(|e| e.unwrap().path())
        .filter(|p| p.join("now").is_file())
        .collect();
    found.sort();
    assert!(
        found.len() >= 100,
        "{} has {} stories, expected 100 at least",
        folder.display(),
        found.len()
    );
    found
}

/// Reads one.
pub(crate) fn load(folder: &Path) -> Story {
    Story::load(folder).unwrap_or_else(|e| panic!("{e}"))
}
