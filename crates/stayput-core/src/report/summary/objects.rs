//! The objects that a snapshot names, each once, and where they lie seen from the snapshot.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use flink_checkpoint::{Extent, Reference, Target};
use serde::Serialize;

use super::home::{self, Home};
use crate::layout::Place;
use crate::location::Location;

/// How many job directories, and how many named directories, are listed. More are counted.
const LISTED: usize = 20;

/// Objects and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Amount {
    /// Objects, each once.
    pub objects: u64,
    /// The bytes that the handles ask of them. Of a merged object that is up to the end of the last part that is named, of a
    /// changelog file its uncompressed length.
    pub bytes: u64,
    /// Merged objects among them (tag 15), which can be longer.
    pub at_least: u64,
    /// Changelog files among them, which can be compressed.
    pub changelog: u64,
    /// Objects among them whose length no handle says; their bytes are missing above.
    pub of_unknown_length: u64,
}

impl Amount {
    fn add(&mut self, other: Amount) {
        self.objects += other.objects;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.at_least += other.at_least;
        self.changelog += other.changelog;
        self.of_unknown_length += other.of_unknown_length;
    }
}

/// Whose directory an object lies in, seen from the snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Whose {
    /// The snapshot's own job directory. With entropy injection told by the job id.
    Own,
    /// The directory of another job (or savepoint) in the same bucket: a job that was restored goes on using files of the old one.
    OtherJob,
    /// In the same bucket, but in no job directory: changelog files, for example.
    Outside,
    /// Another bucket.
    OtherBucket,
    /// Another file system.
    OtherFileSystem,
    /// It isn't known where the snapshot lies.
    Unknown,
}

/// Which part of a job directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The directory of the snapshot itself.
    Exclusive,
    /// `chk-N/` of another checkpoint (or, if it isn't known where the snapshot lies, of any).
    Checkpoint,
    /// `shared/`.
    Shared,
    /// `taskowned/`.
    Taskowned,
    /// A savepoint's directory.
    Savepoint,
    /// Anywhere else.
    Elsewhere,
}

/// Objects that lie in one part of one kind of directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Lying {
    /// Whose directory.
    pub whose: Whose,
    /// Which part.
    pub part: Part,
    /// How many.
    #[serde(flatten)]
    pub amount: Amount,
}

/// Objects by job directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PerDirectory {
    /// The job's (or savepoint's) directory; of objects outside of any, the directory that holds them.
    pub directory: String,
    /// Whose it is.
    pub whose: Whose,
    /// How many objects.
    #[serde(flatten)]
    pub amount: Amount,
}

/// A directory that is named as a whole (tag 17).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct NamedDirectory {
    /// Its path as Flink prints it.
    pub path: String,
}

/// All objects of a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Objects {
    /// All of them.
    pub total: Amount,
    /// Handles that name an object or a part of one; the same object counts each time.
    pub handles: u64,
    /// By place: only what there is, own first.
    pub by_place: Vec<Lying>,
    /// By job directory, most bytes first; at most 20.
    pub by_directory: Vec<PerDirectory>,
    /// Job directories that were left out there.
    pub directories_left_out: u64,
    /// Directories named as a whole, in order; at most 20.
    pub named_directories: Vec<NamedDirectory>,
    /// How many there are.
    pub named_directory_count: u64,
    /// Of these directories, those with a path that can't be any location.
    pub unnameable_directories: u64,
    /// Paths that can't be the location of any object, such as those with lone surrogates. They count in the total only.
    pub unnameable: u64,
    /// Files are named by absolute paths, and none of them lies in the snapshot's own job directory: it was copied from elsewhere, or the
    /// job was restored from another one and hasn't added files of its own yet.
    pub none_at_home: bool,
}

impl Objects {
    /// The sum over places that fit.
    pub fn sum(&self, mut fits: impl FnMut(&Lying) -> bool) -> Amount {
        let mut sum = Amount::default();
        for lying in self.by_place.iter().filter(|lying| fits(lying)) {
            sum.add(lying.amount);
        }
        sum
    }
}

/// Handles by how they name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Handles {
    pub(super) relative: u64,
    pub(super) absolute: u64,
    pub(super) directories: u64,
}

/// Collects references, each object once.
#[derive(Debug, Default)]
pub struct Collector<'a> {
    home: Option<Home>,
    /// Relative or not, and the path.
    objects: HashMap<(bool, Cow<'a, [u8]>), Length>,
    directories: HashSet<Cow<'a, [u8]>>,
    handles: Handles,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Length {
    Unknown,
    Changelog(u64),
    AtLeast(u64),
    Exact(u64),
}

impl Length {
    fn amount(self) -> Amount {
        let (bytes, at_least, changelog, of_unknown_length) = match self {
            Self::Unknown => (0, 0, 0, 1),
            Self::Changelog(bytes) => (bytes, 0, 1, 0),
            Self::AtLeast(bytes) => (bytes, 1, 0, 0),
            Self::Exact(bytes) => (bytes, 0, 0, 0),
        };
        Amount {
            objects: 1,
            bytes,
            at_least,
            changelog,
            of_unknown_length,
        }
    }
}

impl<'a> Collector<'a> {
    /// For a snapshot that lies in this directory (or has this `_metadata`).
    pub fn new(at: Option<&Location>) -> Self {
        Self {
            home: at.map(Home::of),
            ..Self::default()
        }
    }

    pub(super) fn within(home: Option<&Home>) -> Self {
        Self {
            home: home.cloned(),
            ..Self::default()
        }
    }

    /// Takes one reference.
    pub fn tell(&mut self, reference: &Reference<'a>) {
        let path = Cow::Borrowed(reference.target.path().as_bytes());
        self.take(reference.target, path, reference.extent);
    }

    /// As [`Self::tell`], for references that don't live long enough.
    pub fn tell_copied(&mut self, reference: &Reference<'_>) {
        let path = Cow::Owned(reference.target.path().as_bytes().to_vec());
        self.take(reference.target, path, reference.extent);
    }

    fn take(&mut self, target: Target<'_>, path: Cow<'a, [u8]>, extent: Extent) {
        let relative = match target {
            Target::Directory(_) => {
                self.handles.directories += 1;
                self.directories.insert(path);
                return;
            }
            Target::Exclusive(_) => true,
            Target::Absolute(_) => false,
        };
        if relative {
            self.handles.relative += 1;
        } else {
            self.handles.absolute += 1;
        }
        let length = match extent {
            Extent::Exact(n) => Length::Exact(n),
            Extent::AtLeast(n) => Length::AtLeast(n),
            Extent::Changelog(n) => Length::Changelog(n),
            Extent::Unknown => Length::Unknown,
        };
        let longest = self.objects.entry((relative, path)).or_insert(length);
        *longest = (*longest).max(length);
    }

    pub(super) fn handles(&self) -> Handles {
        self.handles
    }

    /// What was collected.
    pub fn finish(self) -> Objects {
        let Self {
            home,
            objects,
            directories,
            handles,
        } = self;
        let home = home.as_ref();
        let mut map = Map::default();
        let mut lengths: HashMap<(usize, &[u8]), Length> = HashMap::with_capacity(objects.len());
        let mut unnameable = Amount::default();
        for ((relative, path), length) in &objects {
            let (directory, name) = match path.iter().rposition(|&byte| byte == b'/') {
                Some(at) if !relative => (&path[..at], &path[at + 1..]),
                _ => (&b""[..], &path[..]),
            };
            match map.number(*relative, directory, home) {
                // Only what is text can be the name of an object.
                Some(number) if flink_checkpoint::JavaStr::from_bytes(name).as_str().is_some() => {
                    let longest = lengths.entry((number, name)).or_insert(*length);
                    *longest = (*longest).max(*length);
                }
                _ => unnameable.add(length.amount()),
            }
        }
        let mut by_place: BTreeMap<(Whose, Part), Amount> = BTreeMap::new();
        let mut by_directory: BTreeMap<(Whose, &str), Amount> = BTreeMap::new();
        let mut total = unnameable;
        for ((number, _), length) in lengths {
            let Some(lies) = map.places.get(number) else {
                continue;
            };
            let amount = length.amount();
            total.add(amount);
            by_place.entry((lies.whose, lies.part)).or_default().add(amount);
            by_directory
                .entry((lies.whose, &lies.job))
                .or_default()
                .add(amount);
        }
        let absolute_own = map
            .places
            .iter()
            .any(|lies| !lies.relative && lies.whose == Whose::Own);
        let mut by_directory: Vec<PerDirectory> = by_directory
            .into_iter()
            .map(|((whose, directory), amount)| PerDirectory {
                directory: directory.to_owned(),
                whose,
                amount,
            })
            .collect();
        by_directory.sort_by_key(|d| std::cmp::Reverse(d.amount.bytes));
        let directories_left_out = by_directory.len().saturating_sub(LISTED) as u64;
        by_directory.truncate(LISTED);
        let mut named: Vec<NamedDirectory> = directories
            .iter()
            .map(|path| NamedDirectory {
                path: super::text(flink_checkpoint::JavaStr::from_bytes(path)),
            })
            .collect();
        named.sort_unstable();
        let named_directory_count = named.len() as u64;
        let unnameable_directories = directories.iter().filter(|path| !is_location(path)).count() as u64;
        named.truncate(LISTED);
        Objects {
            total,
            handles: handles.relative + handles.absolute,
            by_place: by_place
                .into_iter()
                .map(|((whose, part), amount)| Lying { whose, part, amount })
                .collect(),
            by_directory,
            directories_left_out,
            named_directories: named,
            named_directory_count,
            unnameable_directories,
            unnameable: unnameable.objects,
            none_at_home: home.is_some() && handles.absolute > 0 && !absolute_own,
        }
    }
}

fn is_location(path: &[u8]) -> bool {
    flink_checkpoint::JavaStr::from_bytes(path)
        .as_str()
        .is_some_and(|path| Location::parse_flink_path(&path).is_ok())
}

/// Directories by how they are written, and the places that they are: two spellings can be one place.
#[derive(Default)]
struct Map {
    numbers: HashMap<(bool, Vec<u8>), Option<usize>>,
    places: Vec<Lies>,
    known: HashMap<(bool, String), usize>,
}

struct Lies {
    relative: bool,
    whose: Whose,
    part: Part,
    job: String,
}

impl Map {
    fn number(&mut self, relative: bool, directory: &[u8], home: Option<&Home>) -> Option<usize> {
        if let Some(number) = self.numbers.get(&(relative, directory.to_vec())) {
            return *number;
        }
        let number = self.look(relative, directory, home);
        self.numbers.insert((relative, directory.to_vec()), number);
        number
    }

    fn look(&mut self, relative: bool, directory: &[u8], home: Option<&Home>) -> Option<usize> {
        let (canonical, lies) = if relative {
            let job = home.map_or_else(String::new, Home::shown_job);
            let canonical = home.map_or_else(String::new, |home| home.location.to_string());
            (
                canonical,
                Lies {
                    relative,
                    whose: Whose::Own,
                    part: Part::Exclusive,
                    job,
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
    }
}

#[cfg(test)]
mod tests;
