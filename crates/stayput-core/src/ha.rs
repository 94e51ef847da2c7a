//! What an HA store's `completedCheckpoint…` object says: which checkpoint a JobManager would restore, and what that names.

use flink_checkpoint::ha::{CompletedCheckpoint, HaError};

use crate::extent::Extent;
use crate::location::{Location, ObjectLocation};
use crate::metadata::{extent, no_location, without_entropy};
use crate::root::Roots;
use crate::snapshot::Unreadable;

/// How the names of such objects begin (the prefix that `FileSystemStateStorageHelper` is given, all releases).
const OBJECT_NAME: &str = "completedCheckpoint";

/// A checkpoint as an HA store names it.
#[derive(Clone, Debug)]
pub struct NamedByHa {
    /// Where its `_metadata` lies, as the store says.
    pub metadata: ObjectLocation,
    /// Its id.
    pub checkpoint_id: u64,
    /// Every object that a handle names.
    pub references: Vec<(ObjectLocation, Extent)>,
    /// Operator ids, sorted, each once.
    pub operators: Box<[[u8; 16]]>,
    /// Keyed backend ids, sorted, each once.
    pub backends: Box<[Box<str>]>,
    /// Directories named as a whole, as key prefixes that end in `/`, entropy taken out.
    pub directories: Box<[ObjectLocation]>,
}

/// Whether a key below an HA root is one that a JobManager reads when it recovers a checkpoint. Job graphs, jars in `blob/` and the
/// result stores aren't.
pub fn is_completed_checkpoint(key: &str) -> bool {
    let (directory, name) = key.rsplit_once('/').unwrap_or(("", key));
    name.starts_with(OBJECT_NAME)
        && !is_in_result_store(key)
        && !directory.split('/').any(|part| part == "blob")
}

/// `job-result-store/` (1.15 and later) and `application-result-store/` (2.3): an entry there says that a job has ended.
pub fn is_in_result_store(key: &str) -> bool {
    key.split('/')
        .any(|part| matches!(part, "job-result-store" | "application-result-store"))
}

/// Reads the bytes of a `completedCheckpoint…` object. `Ok(None)`: its checkpoint lies on another file system than S3.
///
/// # Errors
/// It can't be read, now or later: damaged, another class, or a path that is none.
pub fn take(bytes: &[u8], roots: &Roots) -> Result<Option<NamedByHa>, Unreadable> {
    let damaged = |e: HaError| Unreadable::Damaged(e.to_string());
    let checkpoint = CompletedCheckpoint::read(bytes).map_err(damaged)?;
    let Location::S3(metadata) = place(checkpoint.metadata_uri())? else {
        return Ok(None);
    };
    let mut references = Vec::new();
    let mut directories = Vec::new();
    for reference in checkpoint.references().map_err(damaged)? {
        match place(reference.uri)? {
            Location::S3(object) if reference.directory => directories.push(without_entropy(&object, roots)),
            Location::S3(object) => references.push((object, extent(reference.extent))),
            Location::Foreign(_) => {}
        }
    }
    directories.sort_unstable();
    directories.dedup();
    Ok(Some(NamedByHa {
        metadata,
        checkpoint_id: checkpoint.checkpoint_id(),
        references,
        operators: checkpoint.operators().into(),
        backends: checkpoint
            .backends()
            .into_iter()
            .map(String::into_boxed_str)
            .collect(),
        directories: directories.into(),
    }))
}

fn place(uri: flink_checkpoint::JavaStr<'_>) -> Result<Location, Unreadable> {
    uri.as_str()
        .and_then(|text| Location::parse_java_uri(&text).ok())
        .ok_or_else(|| no_location(&uri.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_objects_of_checkpoints_are_told_by_their_key() {
        assert!(is_completed_checkpoint("ha/lab/completedCheckpoint010d740ab2ce"));
        assert!(is_completed_checkpoint("completedCheckpoint010d740ab2ce"));
        for other in [
            "ha/lab/submittedJobGraph4865286f62d0",
            "ha/lab/blob/job_x/completedCheckpoint",
            "ha/job-result-store/lab/completedCheckpoint",
            "ha/lab/completedCheckpoint/x",
        ] {
            assert!(!is_completed_checkpoint(other), "{other}");
        }
    }
}
