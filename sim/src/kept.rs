//! Histories that once failed, kept as data: `sim/kept/NAME.json`, where the name tells the story.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::scenario::Scenario;

/// A history that was kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// What went wrong once, for people.
    pub story: String,
    /// Which invariant it violated.
    pub violated: String,
    /// The history.
    pub scenario: Scenario,
}

/// Where they lie.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("kept")
}

/// All of them, by name.
///
/// # Errors
/// The folder or a file in it can't be read.
pub fn all() -> Result<Vec<(String, Kept)>, String> {
    let folder = folder();
    let mut found = Vec::new();
    let entries = fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for entry in entries {
        let path = entry.map_err(|e| format!("{}: {e}", folder.display()))?.path();
        if path.extension().is_none_or(|e| e != "json") {
            continue;
        }
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let bytes = fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let kept = serde_json::from_slice(&bytes).map_err(|e| format!("{}: {e}", path.display()))?;
        found.push((name, kept));
    }
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(found)
}

/// Keeps one in a folder.
///
/// # Errors
/// The file can't be written.
pub fn keep(folder: &Path, name: &str, kept: &Kept) -> Result<PathBuf, String> {
    let path = folder.join(format!("{name}.json"));
    let mut text = serde_json::to_string_pretty(kept).map_err(|e| e.to_string())?;
    text.push('\n');
    fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(path)
}
