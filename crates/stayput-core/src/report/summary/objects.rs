//! The objects that a snapshot names, each once, and where they lie seen from the snapshot.

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;

use flink_checkpoint::{Complete, Damaged, Extent, Limits, Reference};
use serde::{Deserialize, Serialize};

use super::home::Home;
use crate::handles::{Handles, NONE, Names, Numbering, Row};
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
    /// Adds one object of this length; `None`: nobody says it.
    pub(crate) fn add_object(&mut self, bytes: Option<u64>) {
        self.objects += 1;
        self.bytes = self.bytes.saturating_add(bytes.unwrap_or(0));
        self.of_unknown_length += u64::from(bytes.is_none());
    }

    fn add(&mut self, other: Amount) {
        self.objects += other.objects;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.at_least += other.at_least;
        self.changelog += other.changelog;
        self.of_unknown_length += other.of_unknown_length;
    }
}

/// Whose directory an object lies in, seen from the snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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

    /// The objects that a `_metadata` names, which lies in this directory (or is this `_metadata`), and whether it can be read to its end. If not,
    /// they are those before the damage.
    pub fn read(bytes: &[u8], at: Option<&Location>) -> (Self, Result<Complete, Damaged>) {
        let home = at.map(Home::of);
        let mut collector = Collector::new(bytes, home.as_ref());
        let read = flink_checkpoint::references(bytes, &Limits::default(), &mut |reference| {
            collector.tell(reference);
            ControlFlow::Continue(())
        });
        (collector.finish(), read)
    }

    /// The objects of a file with these bytes.
    pub(crate) fn of(handles: &Handles, bytes: &[u8], has_home: bool) -> Self {
        let mut lengths: Vec<(u32, Length)> = vec![(NONE, Length::Unknown); handles.objects()];
        let mut directories: Vec<&Row> = Vec::new();
        for row in handles.all() {
            if row.names() == Names::Directory {
                directories.push(row);
                continue;
            }
            let length = match row.extent() {
                Extent::Exact(n) => Length::Exact(n),
                Extent::AtLeast(n) => Length::AtLeast(n),
                Extent::Changelog(n) => Length::Changelog(n),
                Extent::Unknown => Length::Unknown,
            };
            if let Some(object) = lengths.get_mut(row.object as usize) {
                *object = (row.place, object.1.max(length));
            }
        }
        let mut by_place: Vec<Amount> = vec![Amount::default(); handles.places().len()];
        let mut unnameable = Amount::default();
        let named_as_a_whole: HashSet<u32> = directories.iter().map(|row| row.object).collect();
        for (object, (place, length)) in (0..).zip(&lengths) {
            if named_as_a_whole.contains(&object) {
                continue;
            }
            by_place
                .get_mut(*place as usize)
                .unwrap_or(&mut unnameable)
                .add(length.amount());
        }
        let mut total = unnameable;
        let mut lying: BTreeMap<(Whose, Part), Amount> = BTreeMap::new();
        let mut by_directory: BTreeMap<(Whose, &str), Amount> = BTreeMap::new();
        let mut absolute_own = false;
        for (lies, amount) in handles.places().iter().zip(by_place) {
            if amount.objects == 0 {
                continue;
            }
            absolute_own |= !lies.relative && lies.whose == Whose::Own;
            total.add(amount);
            lying.entry((lies.whose, lies.part)).or_default().add(amount);
            by_directory
                .entry((lies.whose, &lies.job))
                .or_default()
                .add(amount);
        }
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
        // Two spellings of one directory are shown as they are written.
        let mut named: Vec<NamedDirectory> = directories
            .iter()
            .map(|row| NamedDirectory {
                path: super::text(row.path(bytes)),
            })
            .collect();
        named.sort_unstable();
        named.dedup();
        let named_directory_count = named.len() as u64;
        let mut without_location: Vec<&[u8]> = directories
            .iter()
            .filter(|row| row.place == NONE)
            .map(|row| row.path(bytes).as_bytes())
            .collect();
        without_location.sort_unstable();
        without_location.dedup();
        named.truncate(LISTED);
        let counted = handles.counted();
        Self {
            total,
            handles: counted.relative + counted.absolute,
            by_place: lying
                .into_iter()
                .map(|((whose, part), amount)| Lying { whose, part, amount })
                .collect(),
            by_directory,
            directories_left_out,
            named_directories: named,
            named_directory_count,
            unnameable_directories: without_location.len() as u64,
            unnameable: unnameable.objects,
            none_at_home: has_home && counted.absolute > 0 && !absolute_own,
        }
    }
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

/// Collects references of one file, each object once.
#[derive(Debug)]
pub(super) struct Collector<'h, 'a> {
    bytes: &'a [u8],
    numbering: Numbering<'h, 'a>,
    has_home: bool,
}

impl<'h, 'a> Collector<'h, 'a> {
    /// For the references of a file with these bytes that lies in this directory.
    pub(super) fn new(bytes: &'a [u8], home: Option<&'h Home>) -> Self {
        Self {
            bytes,
            numbering: Numbering::new(bytes, home),
            has_home: home.is_some(),
        }
    }

    /// Takes one reference.
    pub(super) fn tell(&mut self, reference: &Reference<'_>) {
        self.numbering.tell(reference);
    }

    /// What was collected.
    pub(super) fn finish(self) -> Objects {
        Objects::of(&self.numbering.finish(), self.bytes, self.has_home)
    }
}

#[cfg(test)]
mod tests;
