//! Where on S3 a snapshot lies, told by the paths in its own `_metadata`.

use std::collections::BTreeMap;

use flink_checkpoint::{Damaged, Limits, Target};
use stayput_core::layout::{METADATA_FILE, Place};
use stayput_core::location::{Location, ObjectLocation};

/// The key of the `_metadata`: in the directory `chk-<its id>` that it names files in, or beside the files of its savepoint, or in the job
/// directory whose `shared/` it names most files in. `None`: it names no file on S3 by an absolute path that says so.
pub(super) fn of(bytes: &[u8]) -> Result<Option<ObjectLocation>, Damaged> {
    let mut places = Places::default();
    let complete = flink_checkpoint::references(bytes, &Limits::default(), &mut |reference| {
        if let Target::Absolute(path) = &reference.target
            && let Some(path) = path.as_str()
            && let Ok(Location::S3(object)) = Location::parse_flink_path(&path)
        {
            places.count(&object);
        }
        std::ops::ControlFlow::Continue(())
    })?;
    Ok(places.of(complete.checkpoint_id))
}

/// Directories by bucket and prefix, with the number of files that are named there.
#[derive(Default)]
struct Places {
    checkpoints: BTreeMap<(String, String, u64), u64>,
    savepoints: BTreeMap<(String, String), u64>,
    jobs: BTreeMap<(String, String), u64>,
}

impl Places {
    fn count(&mut self, object: &ObjectLocation) {
        let bucket = object.bucket().to_owned();
        match Place::of(object.key()) {
            Place::Checkpoint { job, directory, id } => {
                *self
                    .checkpoints
                    .entry((bucket.clone(), directory.to_owned(), id))
                    .or_default() += 1;
                *self.jobs.entry((bucket, job.to_owned())).or_default() += 1;
            }
            Place::Shared { job } | Place::TaskOwned { job } => {
                *self.jobs.entry((bucket, job.to_owned())).or_default() += 1;
            }
            Place::Savepoint { directory } => {
                *self.savepoints.entry((bucket, directory.to_owned())).or_default() += 1;
            }
            Place::Elsewhere => {}
        }
    }

    fn of(self, checkpoint_id: u64) -> Option<ObjectLocation> {
        let own = self
            .checkpoints
            .iter()
            .filter(|((_, _, id), _)| *id == checkpoint_id);
        if let Some(((bucket, directory, _), _)) = own.max_by_key(|(_, files)| **files) {
            return Some(metadata(bucket, directory));
        }
        if let Some(((bucket, job), _)) = self.jobs.iter().max_by_key(|(_, files)| **files) {
            return Some(metadata(bucket, &format!("{job}chk-{checkpoint_id}/")));
        }
        let ((bucket, directory), _) = self.savepoints.iter().max_by_key(|(_, files)| **files)?;
        Some(metadata(bucket, directory))
    }
}

fn metadata(bucket: &str, directory: &str) -> ObjectLocation {
    ObjectLocation::new(bucket, format!("{directory}{METADATA_FILE}"))
}
