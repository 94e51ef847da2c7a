//! Where a snapshot lies, told by the paths in its own `_metadata`.

use std::collections::{BTreeMap, HashMap};

use flink_checkpoint::{Damaged, Limits, Target};

use crate::handles::{Handles, Names};
use crate::layout::Place;
use crate::location::Location;
use crate::report::summary::home;

/// The directory of a snapshot: `chk-<its id>` that it names files in, or the job directory's `chk-<its id>` whose other files it names most of,
/// or the savepoint that holds most. `None`: it names no file by an absolute path that says so, or only in file systems that don't fit.
///
/// # Errors
/// The bytes can't be read to their end.
pub fn told_by_paths(bytes: &[u8], fits: impl Fn(&Location) -> bool) -> Result<Option<Location>, Damaged> {
    // Directories as they are written: there are few, whatever the number of files.
    let mut written: HashMap<Vec<u8>, u64> = HashMap::new();
    let mut last: (Vec<u8>, u64) = (Vec::new(), 0);
    let complete = flink_checkpoint::references(bytes, &Limits::default(), &mut |reference| {
        if let Target::Absolute(path) = reference.target {
            let path = path.as_bytes();
            let directory = &path[..memchr::memrchr(b'/', path).map_or(0, |at| at + 1)];
            if last.0 == directory {
                last.1 += 1;
            } else {
                let before = std::mem::replace(&mut last, (directory.to_vec(), 1));
                *written.entry(before.0).or_default() += before.1;
            }
        }
        std::ops::ControlFlow::Continue(())
    })?;
    *written.entry(last.0).or_default() += last.1;
    let mut places = Places::default();
    for (directory, files) in written {
        let Some(text) = flink_checkpoint::JavaStr::from_bytes(&directory)
            .as_str()
            .map(std::borrow::Cow::into_owned)
        else {
            continue;
        };
        if let Ok(location) = Location::parse_flink_path(&text)
            && fits(&location)
        {
            places.count(&location, files);
        }
    }
    Ok(places.of(complete.checkpoint_id))
}

/// As [`told_by_paths`], of a snapshot that was read.
pub(crate) fn told_by_handles(handles: &Handles, checkpoint_id: u64) -> Option<Location> {
    let mut files = vec![0u64; handles.places().len()];
    for row in handles.all().iter().filter(|row| row.names() == Names::Absolute) {
        if let Some(files) = files.get_mut(row.place as usize) {
            *files += 1;
        }
    }
    let mut places = Places::default();
    for (lies, files) in handles.places().iter().zip(files) {
        if files > 0
            && let Ok(directory) = Location::parse_flink_path(&lies.directory)
        {
            places.count(&directory, files);
        }
    }
    places.of(checkpoint_id)
}

/// Directories by file system and prefix, with the number of files that are named there.
#[derive(Default)]
struct Places {
    checkpoints: BTreeMap<(String, String, u64), u64>,
    savepoints: BTreeMap<(String, String), u64>,
    jobs: BTreeMap<(String, String), u64>,
}

impl Places {
    fn count(&mut self, directory: &Location, files: u64) {
        let (system, path) = home::split(directory);
        // Any file name does: only directories tell the place.
        match Place::of(&format!("{}x", home::with_slash(&path))) {
            Place::Checkpoint { job, directory, id } => {
                let key = (system.clone(), directory.to_owned(), id);
                *self.checkpoints.entry(key).or_default() += files;
                *self.jobs.entry((system, job.to_owned())).or_default() += files;
            }
            Place::Shared { job } | Place::TaskOwned { job } => {
                *self.jobs.entry((system, job.to_owned())).or_default() += files;
            }
            Place::Savepoint { directory } => {
                *self.savepoints.entry((system, directory.to_owned())).or_default() += files;
            }
            Place::Elsewhere => {}
        }
    }

    fn of(self, checkpoint_id: u64) -> Option<Location> {
        let own = self
            .checkpoints
            .iter()
            .filter(|((_, _, id), _)| *id == checkpoint_id);
        if let Some(((system, directory, _), _)) = own.max_by_key(|(_, files)| **files) {
            return at(system, directory);
        }
        if let Some(((system, job), _)) = self.jobs.iter().max_by_key(|(_, files)| **files) {
            return at(system, &format!("{job}chk-{checkpoint_id}"));
        }
        let ((system, directory), _) = self.savepoints.iter().max_by_key(|(_, files)| **files)?;
        at(system, directory)
    }
}

fn at(system: &str, directory: &str) -> Option<Location> {
    Location::parse_flink_path(&home::show(system, directory.trim_end_matches('/'))).ok()
}
