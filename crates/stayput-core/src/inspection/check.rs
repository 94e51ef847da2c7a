//! What a snapshot needs, held against what exists.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use flink_checkpoint::Extent as FileExtent;
use serde::{Deserialize, Serialize};

use super::Document;
use super::listing::{Existing, Listing, ListingKind};
use crate::extent::Extent;
use crate::handles::{Names, Row};
use crate::layout::{METADATA_FILE, Place, is_job_id};
use crate::location::{Location, file_name_start};
use crate::metadata::extent;
use crate::report::summary::Amount;
use crate::report::summary::home;

/// So many examples are named of each status.
const LISTED: usize = 20;

/// What a check found of one handle's object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Status {
    /// Nobody held it against a listing.
    #[default]
    NotChecked,
    /// It is there, with a length that fits.
    Present,
    /// The listing says nothing of where it would lie.
    NotCovered,
    /// It is there, but in an archive class: no job can read it as it is.
    Archived,
    /// It isn't visible, and a version that fits lies below: it can be put back.
    Recoverable,
    /// What is visible has another length, and a version that fits lies below: it can be put back.
    Overwritten,
    /// It isn't there. The listing shows no versions, so that nobody can tell whether it can be put back.
    Missing,
    /// What is visible has another length. Whether a version that fits lies below isn't known.
    WrongSize,
    /// It isn't there, and no version of it fits: it can't be put back.
    Gone,
}

impl Status {
    /// By number, as windows of rows have it.
    pub const ALL: [Self; 9] = [
        Self::NotChecked,
        Self::Present,
        Self::NotCovered,
        Self::Archived,
        Self::Recoverable,
        Self::Overwritten,
        Self::Missing,
        Self::WrongSize,
        Self::Gone,
    ];

    /// What it means, in a sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::NotChecked => "not held against a listing",
            Self::Present => "there, with a length that fits",
            Self::NotCovered => "the listing shows nothing of that directory, so nothing is known",
            Self::Archived => "there, but in an archive class: no job can read it before it is brought back",
            Self::Recoverable => "hidden below a delete marker; a version that fits can be put back",
            Self::Overwritten => {
                "visible with another length; a version that fits lies below and can be put back"
            }
            Self::Missing => {
                "not there; whether a version can be put back is told by list-object-versions alone"
            }
            Self::WrongSize => "visible with another length than the handles ask for",
            Self::Gone => "not there, and no version that fits: it can't be put back",
        }
    }
}

/// Whether a job can be restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// All that the snapshot needs is there.
    Healthy,
    /// Something is away and can be put back.
    Repairable,
    /// Something is away for good.
    Lost,
    /// It can't be told.
    Unknown,
}

/// What a check found.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// Always [`super::FORM`].
    pub form: &'static str,
    /// Whether a job can be restored.
    pub verdict: Verdict,
    /// That, and why, in sentences. Escaped.
    pub sentence: String,
    /// What to do next.
    pub next_step: String,
    /// By status: how many objects, each once.
    pub by_status: Vec<StatusAmount>,
    /// The `_metadata` itself; `None` if it isn't known where it lies.
    pub metadata: Option<Status>,
    /// Directories that are named as a whole, so that nobody can tell which of their files are needed.
    pub named_directories: u64,
    /// Visible objects in the snapshot's own directory that it doesn't name.
    pub unreferenced_own: Orphans,
    /// Visible objects elsewhere in its job's directory that it doesn't name. Other checkpoints can.
    pub unreferenced_elsewhere: Orphans,
    /// What the verdict rests on, one step each. Escaped.
    pub chain: Vec<String>,
}

/// Objects of one status.
#[derive(Clone, Debug, Serialize)]
pub struct StatusAmount {
    /// The status.
    pub status: Status,
    /// What it means.
    pub meaning: &'static str,
    /// How many objects, and the bytes that handles ask of them.
    #[serde(flatten)]
    pub amount: Amount,
    /// The first 20 of them. Not escaped.
    pub examples: Vec<String>,
}

/// Objects that nothing names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Orphans {
    /// How many.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The first 20 keys, in order. Not escaped.
    pub examples: Vec<String>,
}

impl Orphans {
    fn add(&mut self, key: &str, size: u64) {
        self.objects += 1;
        self.bytes = self.bytes.saturating_add(size);
        if self.examples.len() < LISTED {
            self.examples.push(key.to_owned());
        }
    }
}

impl Document {
    /// What a check found of a row; [`Status::NotChecked`] before there was one.
    pub fn status(&self, row: u32) -> Status {
        self.handles
            .all()
            .get(row as usize)
            .map_or(Status::NotChecked, |row| self.status_of(row))
    }

    pub(super) fn status_of(&self, row: &Row) -> Status {
        self.statuses
            .get(row.object as usize)
            .copied()
            .unwrap_or_default()
    }

    /// Holds what the snapshot needs against what exists, and remembers the status of each object for views.
    pub fn check(&mut self, listing: &Listing) -> Check {
        let coverage = Coverage::of(listing, self.home.as_ref());
        let mut wanted: Vec<Wanted> = vec![Wanted::default(); self.handles.objects()];
        for (number, row) in (0..).zip(self.handles.all()) {
            if let Some(object) = wanted.get_mut(row.object as usize) {
                object.ask(number, row);
            }
        }
        let mut statuses = vec![Status::NotChecked; wanted.len()];
        let mut by_status: BTreeMap<Status, StatusAmount> = BTreeMap::new();
        let mut named: HashSet<String> = HashSet::new();
        let mut named_directories = Vec::new();
        for (object, status) in wanted.iter().zip(&mut statuses) {
            let Some(row) = object.first.and_then(|row| self.handles.all().get(row as usize)) else {
                continue;
            };
            let text = self.handles.location(row, &self.bytes).to_string();
            if row.names() == Names::Directory {
                named_directories.push(text);
                continue;
            }
            let location = Location::parse_flink_path(&text)
                .ok()
                .filter(|_| row.place != crate::handles::NONE);
            *status = match &location {
                None => Status::NotCovered,
                Some(location) => coverage.status(location, &object.extents),
            };
            if let Some(Location::S3(at)) = &location {
                named.insert(at.key().to_owned());
            }
            let amount = by_status.entry(*status).or_insert_with(|| StatusAmount {
                status: *status,
                meaning: status.meaning(),
                amount: Amount::default(),
                examples: Vec::new(),
            });
            amount.amount.add_object(object.bytes);
            if amount.examples.len() < LISTED {
                amount.examples.push(text);
            }
        }
        self.statuses = statuses;
        let metadata = self.home.as_ref().and_then(|home| {
            let at = Location::parse_flink_path(&format!("{}/_metadata", home.location)).ok()?;
            Some(coverage.status(&at, &[Extent::Exact(self.bytes.len() as u64)]))
        });
        let (unreferenced_own, unreferenced_elsewhere) = self.orphans(listing, &named, &named_directories);
        let mut check = Check {
            form: super::FORM,
            verdict: Verdict::Unknown,
            sentence: String::new(),
            next_step: String::new(),
            by_status: by_status.into_values().collect(),
            metadata,
            named_directories: named_directories.len() as u64,
            unreferenced_own,
            unreferenced_elsewhere,
            chain: Vec::new(),
        };
        check.judge(listing);
        check
    }

    fn orphans(
        &self,
        listing: &Listing,
        named: &HashSet<String>,
        named_directories: &[String],
    ) -> (Orphans, Orphans) {
        let (mut own, mut elsewhere) = (Orphans::default(), Orphans::default());
        let Some(Location::S3(at)) = self.home.as_ref().map(|home| &home.location) else {
            return (own, elsewhere);
        };
        if listing.kind() == ListingKind::Directory
            || listing.bucket().is_some_and(|bucket| bucket != at.bucket())
        {
            return (own, elsewhere);
        }
        let directory = home::with_slash(at.key());
        let metadata = format!("{directory}_metadata");
        let job = Place::of(&metadata).job().unwrap_or(&directory).to_owned();
        let mut keys: Vec<(&str, u64)> = listing
            .iter()
            .filter_map(|(key, existing)| existing.size.map(|size| (key, size)))
            .filter(|(key, _)| key.starts_with(&job) && !key.ends_with('/'))
            .collect();
        keys.sort_unstable();
        for (key, size) in keys {
            let below_named = || {
                named_directories.iter().any(|directory| {
                    Location::parse_flink_path(directory)
                        .ok()
                        .and_then(|location| {
                            location.s3().map(|d| key.starts_with(&home::with_slash(d.key())))
                        })
                        .unwrap_or(false)
                })
            };
            if named.contains(key) || key == metadata || below_named() {
                continue;
            }
            if key.starts_with(&directory) {
                own.add(key, size);
            } else {
                elsewhere.add(key, size);
            }
        }
        (own, elsewhere)
    }
}

/// What all handles of one object ask for.
#[derive(Clone, Default)]
struct Wanted {
    first: Option<u32>,
    extents: Vec<Extent>,
    bytes: Option<u64>,
}

impl Wanted {
    fn ask(&mut self, number: u32, row: &Row) {
        self.first.get_or_insert(number);
        let asked = extent(row.extent());
        if !self.extents.contains(&asked) {
            self.extents.push(asked);
        }
        if !matches!(row.extent(), FileExtent::Unknown) {
            self.bytes = self.bytes.max(row.size());
        }
    }
}

/// A listing, and which directories it says something of.
struct Coverage<'l> {
    listing: &'l Listing,
    shows: Shows<'l>,
}

/// Which directories a listing says something of.
enum Shows<'l> {
    /// Directories of jobs, or others.
    Directories(BTreeSet<&'l str>),
    Dropped(Dropped<'l>),
}

/// What somebody dropped begins anywhere in its path and may have been renamed: its directories are known by their last names.
struct Dropped<'l> {
    /// Job ids among the names of directories: each is there as a whole.
    jobs: HashSet<&'l str>,
    /// The last names of directories that hold files and lie in no job's directory, as far as the path shows.
    directories: HashSet<&'l str>,
    /// The last name of the snapshot's own directory, if its files were dropped without any.
    bare: Option<String>,
}

impl<'l> Dropped<'l> {
    fn of(listing: &'l Listing, home: Option<&home::Home>) -> Self {
        let mut dropped = Self {
            jobs: HashSet::new(),
            directories: HashSet::new(),
            bare: None,
        };
        for (path, _) in listing.iter() {
            let mut above = path.rsplit('/').skip(1);
            let Some(directory) = above.next() else {
                if path == METADATA_FILE {
                    let own = home.map(|home| home.location.to_string());
                    dropped.bare = own.and_then(|own| own.rsplit('/').next().map(str::to_owned));
                }
                continue;
            };
            match above.chain([directory]).find(|name| is_job_id(name)) {
                Some(job) => dropped.jobs.insert(job),
                None => dropped.directories.insert(directory),
            };
        }
        dropped
    }

    fn covers(&self, key: &str) -> bool {
        let job = Place::of(key).job();
        let job = job.and_then(|job| job.trim_end_matches('/').rsplit('/').next());
        if job.is_some_and(|job| self.jobs.contains(job)) {
            return true;
        }
        let Some(directory) = key.rsplit('/').nth(1) else {
            return false;
        };
        self.directories.contains(directory) || self.bare.as_deref() == Some(directory)
    }
}

impl<'l> Coverage<'l> {
    fn of(listing: &'l Listing, home: Option<&home::Home>) -> Self {
        let shows = if listing.kind() == ListingKind::Directory {
            Shows::Dropped(Dropped::of(listing, home))
        } else {
            Shows::Directories(listing.iter().map(|(key, _)| directory_of(key)).collect())
        };
        Self { listing, shows }
    }

    fn status(&self, location: &Location, extents: &[Extent]) -> Status {
        let (existing, key) = match location {
            Location::S3(object) => {
                let other_bucket = self
                    .listing
                    .bucket()
                    .is_some_and(|bucket| bucket != object.bucket());
                if other_bucket {
                    return Status::NotCovered;
                }
                (self.listing.of_object(object), object.key())
            }
            // Listings of buckets say nothing of other file systems.
            Location::Foreign(foreign) if self.listing.kind() == ListingKind::Directory => {
                (self.listing.of_path(foreign.rest()), foreign.rest())
            }
            Location::Foreign(_) => return Status::NotCovered,
        };
        let fits = |size: u64| extents.iter().all(|extent| extent.allows(size));
        let by_version = self.listing.kind() == ListingKind::Versions;
        // What is cut off, and each file of an inventory, can have more versions of a key elsewhere; an inventory is a day old besides.
        let shows_all = by_version && !self.listing.is_truncated();
        match existing {
            Some(existing) => found(existing, fits, shows_all),
            None if self.listing.is_truncated() || !self.covers(key) => Status::NotCovered,
            None if by_version => Status::Gone,
            None => Status::Missing,
        }
    }

    fn covers(&self, key: &str) -> bool {
        match &self.shows {
            Shows::Directories(directories) => directories.contains(directory_of(key)),
            Shows::Dropped(dropped) => dropped.covers(key),
        }
    }
}

/// The job's directory; where there is none, the directory that holds it.
fn directory_of(key: &str) -> &str {
    Place::of(key)
        .job()
        .unwrap_or_else(|| &key[..file_name_start(key)])
}

/// `shows_all`: what the listing shows of a key is all that there is of it.
fn found(existing: &Existing, fits: impl Fn(u64) -> bool, shows_all: bool) -> Status {
    let below = existing.below.iter().any(|size| fits(*size));
    match existing.size {
        Some(size) if fits(size) && existing.is_archived() => Status::Archived,
        Some(size) if fits(size) => Status::Present,
        Some(_) if below => Status::Overwritten,
        Some(_) if shows_all => Status::Gone,
        Some(_) => Status::WrongSize,
        None if below => Status::Recoverable,
        None if shows_all => Status::Gone,
        None => Status::Missing,
    }
}

impl Check {
    fn of_status(&self, status: Status) -> u64 {
        let found = self.by_status.iter().find(|amount| amount.status == status);
        found.map_or(0, |amount| amount.amount.objects) + u64::from(self.metadata == Some(status))
    }

    fn judge(&mut self, listing: &Listing) {
        let count = |status| self.of_status(status);
        let (gone, missing, wrong) = (
            count(Status::Gone),
            count(Status::Missing),
            count(Status::WrongSize),
        );
        let back = count(Status::Recoverable) + count(Status::Overwritten);
        let (archived, uncovered, present) = (
            count(Status::Archived),
            count(Status::NotCovered),
            count(Status::Present),
        );
        let objects = |n: u64| {
            if n == 1 {
                "1 object".to_owned()
            } else {
                format!("{n} objects")
            }
        };
        let (verdict, sentence, next_step) = if gone > 0 {
            (
                Verdict::Lost,
                format!(
                    "It can't be restored: {} gone, without a version that fits.",
                    are(gone)
                ),
                "Restore from another checkpoint or savepoint. Look for a copy of these objects first: a replica, a backup, or another bucket.",
            )
        } else if missing + wrong > 0 {
            (
                Verdict::Unknown,
                format!(
                    "It can't be restored as it is: {} not there or of another length. Whether they can be put back isn't known from this \
                     listing.",
                    are(missing + wrong)
                ),
                "List the versions too: `aws s3api list-object-versions --bucket … --prefix …`, and drop that.",
            )
        } else if back > 0 {
            (
                Verdict::Repairable,
                format!(
                    "It can't be restored as it is: {} away, and can be put back from versions that are left.",
                    are(back)
                ),
                "Put them back with `stayput sweep --apply`, or copy the versions onto their keys. Then check again.",
            )
        } else if archived > 0 {
            (
                Verdict::Repairable,
                format!(
                    "{} in an archive class: no job can read them before they are brought back.",
                    are(archived)
                ),
                "Bring them back with `aws s3api restore-object`, or copy them onto themselves in STANDARD once they are readable.",
            )
        } else if uncovered > 0 {
            (
                Verdict::Unknown,
                format!(
                    "Of {} nothing is known: this listing shows nothing of where they would lie. {} there.",
                    objects(uncovered),
                    are(present)
                ),
                "Drop a listing of these directories too.",
            )
        } else if self.named_directories > 0 {
            (
                Verdict::Unknown,
                format!(
                    "All {} that it names are there. It also names directories of merged files as a whole, and which of their files are needed \
                     can't be told.",
                    objects(present)
                ),
                "Take everything below these directories as needed.",
            )
        } else {
            (
                Verdict::Healthy,
                format!(
                    "All that it needs is there: {} of the length that its handles ask for.",
                    objects(present)
                ),
                "Nothing needs to be done.",
            )
        };
        let mut chain = vec![listing.describe().sentence];
        for amount in &self.by_status {
            chain.push(format!("{}: {}", objects(amount.amount.objects), amount.meaning));
        }
        if let Some(status) = self.metadata {
            chain.push(format!("_metadata: {}", status.meaning()));
        }
        (self.verdict, self.sentence, self.next_step, self.chain) =
            (verdict, sentence, next_step.to_owned(), chain);
    }
}

fn are(n: u64) -> String {
    if n == 1 {
        "1 object is".to_owned()
    } else {
        format!("{n} objects are")
    }
}
