//! The files of a story's folder: their names, and their text with lines.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::error::{StoryError, StoryProblem};

/// What of a story may have another state at a later look.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Numbered {
    Bucket,
    Objects,
    Events,
}

/// The files `bucket.json`, `bucket.2.json` and so on, by kind and look.
pub(super) type NumberedFiles = BTreeMap<(Numbered, usize), PathBuf>;

const PLAIN: [&str; 7] = [
    "story.md",
    "story.toml",
    "stayput.toml",
    "bucket-config.json",
    "metadata",
    "now",
    "expected.tsv",
];

/// Which look a file name means, if it is `stem` + `.N` + `extension`; without a number look 1.
fn look_of(name: &str, stem: &str, extension: &str) -> Option<usize> {
    let middle = name.strip_prefix(stem)?.strip_suffix(extension)?;
    match middle.strip_prefix('.') {
        None if middle.is_empty() => Some(1),
        None => None,
        Some(number) => number.parse().ok().filter(|n| *n > 1),
    }
}

/// The numbered files of a folder. A file of any other name is an error.
pub(super) fn numbered_files(folder: &Path) -> Result<NumberedFiles, StoryError> {
    let mut found = NumberedFiles::new();
    for entry in fs::read_dir(folder).map_err(|e| StoryError::new(folder, e))? {
        let path = entry.map_err(|e| StoryError::new(folder, e))?.path();
        let name = name_of(&path)?;
        if PLAIN.contains(&name) {
            continue;
        }
        let kinds = [
            (Numbered::Bucket, "bucket", ".json"),
            (Numbered::Objects, "objects", ".json"),
            (Numbered::Events, "events", ".jsonl"),
        ];
        let known = kinds
            .iter()
            .find_map(|(kind, stem, extension)| Some((*kind, look_of(name, stem, extension)?)));
        match known {
            Some(known) => {
                found.insert(known, path);
            }
            None => return Err(StoryError::new(path, StoryProblem::UnknownFile)),
        }
    }
    Ok(found)
}

/// All files below a folder, with their path below it, `/`-separated. A missing folder has none.
pub(super) fn files_below(folder: &Path) -> Result<Vec<(String, PathBuf)>, StoryError> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), folder.to_owned())];
    if !folder.is_dir() {
        open.clear();
    }
    while let Some((prefix, folder)) = open.pop() {
        for entry in fs::read_dir(&folder).map_err(|e| StoryError::new(&*folder, e))? {
            let path = entry.map_err(|e| StoryError::new(&*folder, e))?.path();
            let below = format!("{prefix}{}", name_of(&path)?);
            if path.is_dir() {
                open.push((below + "/", path));
            } else {
                found.push((below, path));
            }
        }
    }
    found.sort();
    Ok(found)
}

fn name_of(path: &Path) -> Result<&str, StoryError> {
    path.file_name()
        .and_then(std::ffi::OsStr::to_str)
        .ok_or_else(|| StoryError::new(path, StoryProblem::NameNotUtf8))
}

pub(super) fn bytes(path: &Path) -> Result<Vec<u8>, StoryError> {
    fs::read(path).map_err(|e| StoryError::new(path, e))
}

pub(super) fn text(path: &Path) -> Result<String, StoryError> {
    String::from_utf8(bytes(path)?).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        let line = 1 + e.as_bytes()[..at].iter().filter(|b| **b == b'\n').count();
        StoryError::new(path, StoryProblem::NotUtf8 { at }).at_line(line)
    })
}

/// A key and a version id, written `KEY@VERSIONID`. Keys may contain `@`, version ids don't.
pub(super) fn version(text: &str) -> Option<(String, String)> {
    let (key, version) = text.rsplit_once('@')?;
    (!key.is_empty() && !version.is_empty()).then(|| (key.to_owned(), version.to_owned()))
}
