//! A checkpoint root that Flink wrote, with all its state files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::rebase::rebase;

/// Keys relative to the root, and their bytes.
pub type Files = BTreeMap<String, Vec<u8>>;

/// A tree of `tests/corpus/trees`.
pub struct Tree {
    folder: PathBuf,
    /// What the paths in its `_metadata` files begin with; no `/` at the end.
    pub root: String,
}

impl Tree {
    /// The tree of that name.
    ///
    /// # Panics
    /// If there is none.
    pub fn load(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("corpus/trees")
            .join(name);
        let case = folder.join("case.toml");
        let text = fs::read_to_string(&case).unwrap_or_else(|e| panic!("{}: {e}", case.display()));
        let root = text
            .lines()
            .find_map(|line| line.strip_prefix("root = \"")?.strip_suffix('"'))
            .unwrap_or_else(|| panic!("{} names no root", case.display()))
            // Flink writes `file:/…` for what is configured as `file:///…`.
            .replacen("file:///", "file:/", 1);
        Self { folder, root }
    }

    /// Every file, the paths in `_metadata` moved below `to` (no `/` at the end).
    ///
    /// # Panics
    /// If a file can't be read, or a `_metadata` names nothing below the old root: then nothing would have been moved.
    pub fn rebased(&self, to: &str) -> Files {
        let mut files = Files::new();
        collect(&self.folder.join("root"), String::new(), &mut files);
        for (key, bytes) in &mut files {
            if key.ends_with("/_metadata") {
                let moved = rebase(bytes, &self.root, to).unwrap_or_else(|e| panic!("{key}: {e}"));
                assert_ne!(&moved, bytes, "{key} names nothing below {}", self.root);
                *bytes = moved;
            }
        }
        assert!(!files.is_empty(), "{} is empty", self.folder.display());
        files
    }

    /// Which checkpoints (`JOB/chk-N`) name a key, by Flink's own reading.
    ///
    /// # Panics
    /// If `references.tsv` can't be read.
    pub fn references(&self) -> BTreeMap<String, Vec<String>> {
        let file = self.folder.join("references.tsv");
        let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let rows = text.lines().skip(1).filter_map(|line| {
            let columns: Vec<&str> = line.split('\t').collect();
            let [key, .., by] = columns[..] else { return None };
            let by = if by == "(nobody)" {
                Vec::new()
            } else {
                by.split(',').map(str::to_owned).collect()
            };
            Some((key.to_owned(), by))
        });
        rows.collect()
    }
}

fn collect(folder: &Path, prefix: String, files: &mut Files) {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    for entry in entries {
        let entry = entry.unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        let key = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let path = entry.path();
        if path.is_dir() {
            collect(&path, format!("{key}/"), files);
        } else {
            files.insert(
                key,
                fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display())),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flink_checkpoint::{Limits, Target, references};
    use std::ops::ControlFlow;

    #[test]
    fn a_moved_tree_names_the_same_files_below_its_new_root() {
        let tree = Tree::load("2.3.0-cross-job");
        let new_root = "s3://a-bucket/with/a-much-longer-prefix/than-before";
        let files = tree.rebased(new_root);
        let mut named: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (key, bytes) in files.iter().filter(|(key, _)| key.ends_with("/_metadata")) {
            let snapshot = key.trim_end_matches("/_metadata");
            references(bytes, &Limits::default(), &mut |reference| {
                let path = reference.target.path().to_string();
                let key = match reference.target {
                    Target::Exclusive(_) => format!("{snapshot}/{path}"),
                    Target::Absolute(_) | Target::Directory(_) => {
                        let below = path
                            .strip_prefix(new_root)
                            .and_then(|rest| rest.strip_prefix('/'));
                        below.unwrap_or_else(|| panic!("{path} wasn't moved")).to_owned()
                    }
                };
                let by = named.entry(key).or_default();
                if by.last().is_none_or(|last| last != snapshot) {
                    by.push(snapshot.to_owned());
                }
                ControlFlow::Continue(())
            })
            .unwrap_or_else(|e| panic!("{key}: {e}"));
        }
        assert!(named.len() > 70, "{} keys are named", named.len());
        assert_eq!(named, tree.references());
    }
}
