//! Where a snapshot lies, and what that makes of other paths.

use crate::layout::{METADATA_FILE, Place, is_job_id};
use crate::location::Location;

/// The directory of a snapshot.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    /// The directory.
    pub(crate) location: Location,
    pub(crate) system: String,
    /// Its path in that file system: no slash first, one last (or empty).
    directory: String,
    job: String,
}

impl Home {
    /// From a directory, or a `_metadata` in it.
    pub(crate) fn of(at: &Location) -> Self {
        let (system, path) = split(at);
        let directory = match path.strip_suffix(METADATA_FILE) {
            Some(directory) if directory.is_empty() || directory.ends_with('/') => directory.to_owned(),
            _ => with_slash(&path),
        };
        let job = Place::of(&format!("{directory}{METADATA_FILE}"))
            .job()
            .unwrap_or_default()
            .to_owned();
        Self {
            location: directory_of(at),
            system,
            directory,
            job,
        }
    }

    /// Path of its `_metadata`, without the file system.
    pub(crate) fn metadata(&self) -> String {
        format!("{}{METADATA_FILE}", self.directory)
    }

    /// Whether a directory (a slash last) is that of the snapshot, or below it.
    pub(crate) fn owns(&self, directory: &str) -> bool {
        !self.directory.is_empty() && directory.starts_with(&self.directory)
    }

    /// The job directory, for people.
    pub(crate) fn shown_job(&self) -> String {
        show(&self.system, &self.job)
    }

    /// Whether this is the job directory of the snapshot. Entropy injection changes the path before the job id only.
    pub(crate) fn is_job(&self, job: &str) -> bool {
        let id = |job: &str| {
            let name = job.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            is_job_id(name).then(|| name.to_owned())
        };
        self.job == job || id(job).is_some_and(|id_there| id(&self.job) == Some(id_there))
    }
}

fn directory_of(at: &Location) -> Location {
    let text = at.to_string();
    let directory = text
        .strip_suffix(METADATA_FILE)
        .filter(|before| before.ends_with('/'))
        .and_then(|before| Location::parse_flink_path(before).ok());
    directory.unwrap_or_else(|| at.clone())
}

/// The file system (`s3://bucket`, `file:`, `hdfs://name-node:8020`) and the path in it, without a slash first.
pub(crate) fn split(location: &Location) -> (String, String) {
    match location {
        Location::S3(object) => (format!("s3://{}", object.bucket()), object.key().to_owned()),
        Location::Foreign(foreign) => {
            let scheme = if foreign.scheme().is_empty() {
                "file"
            } else {
                foreign.scheme()
            };
            match foreign.rest().strip_prefix("//") {
                None => (
                    format!("{scheme}:"),
                    foreign.rest().trim_start_matches('/').to_owned(),
                ),
                Some(rest) => {
                    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
                    (format!("{scheme}://{authority}"), path.to_owned())
                }
            }
        }
    }
}

pub(crate) fn with_slash(path: &str) -> String {
    if path.is_empty() || path.ends_with('/') {
        path.to_owned()
    } else {
        format!("{path}/")
    }
}

/// Whether the last directory has a name that Flink gives to savepoints.
pub(crate) fn is_savepoint_name(directory: &str) -> bool {
    directory
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .is_some_and(|name| name.starts_with("savepoint-"))
}

/// A path with its file system.
pub(crate) fn show(system: &str, path: &str) -> String {
    format!("{system}/{path}")
}
