//! Directories that a snapshot names files in, and whose they are seen from the snapshot.

use std::collections::HashMap;

use crate::layout::Place;
use crate::location::Location;
use crate::report::summary::home::{self, Home};
use crate::report::summary::{Part, Whose};

/// Directories by how they are written, and the places that they are: two spellings can be one place.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// By whether the path is relative.
    numbers: [HashMap<Vec<u8>, Option<usize>>; 2],
    places: Vec<Lies>,
    known: HashMap<(bool, String), usize>,
}

/// One directory, and what it is seen from the snapshot.
#[derive(Debug)]
pub(crate) struct Lies {
    /// Only relative handles name it.
    pub(crate) relative: bool,
    pub(crate) whose: Whose,
    pub(crate) part: Part,
    /// The job's (or savepoint's) directory; of a directory outside of any, itself.
    pub(crate) job: String,
    /// The directory in its one spelling; empty for relative names of a snapshot that lies nobody knows where.
    pub(crate) directory: String,
}

impl Places {
    pub(crate) fn all(&self) -> &[Lies] {
        &self.places
    }

    /// Looks at all directories again, from a place that is known only now.
    pub(crate) fn seen_from(&mut self, home: &Home) {
        for place in &mut self.places {
            if place.relative {
                (place.whose, place.part) = (Whose::Own, Part::Exclusive);
                place.job = home.shown_job();
                place.directory = home.location.to_string();
            } else if let Ok(location) = Location::parse_flink_path(&place.directory) {
                *place = lies(&location, Some(home));
            }
        }
    }

    /// Whether an absolute path names the directory of the snapshot itself.
    pub(crate) fn named_absolutely(&self, home: &Home) -> bool {
        let own = home.location.to_string();
        self.places
            .iter()
            .any(|place| !place.relative && place.directory == own)
    }

    /// The number of a directory; `None` if it can't be any location.
    pub(crate) fn number(&mut self, relative: bool, directory: &[u8], home: Option<&Home>) -> Option<usize> {
        if let Some(number) = self.numbers[usize::from(relative)].get(directory) {
            return *number;
        }
        let number = self.look(relative, directory, home);
        self.numbers[usize::from(relative)].insert(directory.to_vec(), number);
        number
    }

    fn look(&mut self, relative: bool, directory: &[u8], home: Option<&Home>) -> Option<usize> {
        let (canonical, lies) = if relative {
            let job = home.map_or_else(String::new, Home::shown_job);
            let canonical = home.map_or_else(String::new, |home| home.location.to_string());
            (
                canonical.clone(),
                Lies {
                    relative,
                    whose: Whose::Own,
                    part: Part::Exclusive,
                    job,
                    directory: canonical,
                },
            )
        } else {
            let text = flink_checkpoint::JavaStr::from_bytes(directory).as_str()?;
            let location = Location::parse_flink_path(&text).ok()?;
            (location.to_string(), lies(&location, home))
        };
        // Without a home, relative and absolute names can't be compared.
        let key = (relative && home.is_none(), canonical);
        let next = self.places.len();
        let number = *self.known.entry(key).or_insert(next);
        if number == next {
            self.places.push(lies);
        } else if let Some(known) = self.places.get_mut(number) {
            known.relative &= relative;
        }
        Some(number)
    }
}

fn lies(location: &Location, home: Option<&Home>) -> Lies {
    let (system, path) = home::split(location);
    let directory = home::with_slash(&path);
    // Any file name does: only directories tell the place.
    let probe = format!("{directory}x");
    let place = Place::of(&probe);
    let mut part = match place {
        Place::Checkpoint { .. } => Part::Checkpoint,
        Place::Shared { .. } => Part::Shared,
        Place::TaskOwned { .. } => Part::Taskowned,
        Place::Savepoint { .. } => Part::Savepoint,
        Place::Elsewhere => Part::Elsewhere,
    };
    let job = place.job();
    let whose = match home {
        None => Whose::Unknown,
        Some(home) if home.system == system => {
            if home.owns(&directory) {
                part = Part::Exclusive;
                Whose::Own
            } else {
                match job {
                    Some(job) if home.is_job(job) => Whose::Own,
                    Some(_) => Whose::OtherJob,
                    None => Whose::Outside,
                }
            }
        }
        Some(home) if home.system.starts_with("s3://") && system.starts_with("s3://") => Whose::OtherBucket,
        Some(_) => Whose::OtherFileSystem,
    };
    let job = match (job, home) {
        _ if part == Part::Exclusive => home.map_or_else(String::new, Home::shown_job),
        (job, _) => home::show(&system, job.unwrap_or(&directory)),
    };
    Lies {
        relative: false,
        whose,
        part,
        job,
        directory: location.to_string(),
    }
}
