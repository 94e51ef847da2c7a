//! What a bucket's lifecycle rules will do to objects that checkpoints still need: which, by which rule, from which day.
//!
//! A [`Forecaster`] holds a catalogue against rules. It is told what listings show, object by object, keeps sums and ten examples for
//! each rule, and no object. What no listing showed is judged by its key alone: the rule and its days are known then, no day.
//!
//! [`Forecast::findings`] is what is reported; [`BucketForecast::correction`] the rules that leave needed objects alone.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;
use s3_documents::bucket::Versioning;
use s3_documents::lifecycle::{LifecycleConfiguration, Tag};

use crate::catalogue::{Catalogue, SnapshotId};
use crate::extent::Extent;
use crate::layout::Place;
use crate::lifecycle_rules::{BucketRules, RuledVersion, VersionPlace};
use crate::location::ObjectLocation;
use crate::reference_index::{ObjectNo, ObjectSet, SnapshotNo};
use crate::snapshot::JobDirectory;
use crate::timestamp::Timestamp;

mod asked;
mod correction;
mod findings;
mod outcome;
mod tally;

pub use asked::{Entered, enter, metadata_in};
pub use correction::{Change, Correction};
pub use outcome::{
    AbortRisk, Amount, BrokenSnapshot, BucketForecast, FORM, Forecast, Harm, HarmKind, JobAge, PutBack,
    RuleName,
};

use tally::{Begun, NeededBy, Tally};

/// A visible object, as a listing shows it.
#[derive(Clone, Copy, Debug)]
pub struct Listed<'o> {
    /// Length in bytes.
    pub size: u64,
    /// Last-Modified.
    pub written: Timestamp,
    /// As listed; `None`: not said, which means `STANDARD`.
    pub storage_class: Option<&'o str>,
    /// `None`: not known, as listings don't show them.
    pub tags: Option<&'o [Tag]>,
    /// Whether its version id is `null`; only asked where versioning is suspended. `None`: not known.
    pub null_version: Option<bool>,
}

/// A snapshot whose objects are needed.
struct Needing<'a> {
    metadata: &'a ObjectLocation,
    metadata_size: u64,
    directories: &'a [ObjectLocation],
    /// The number of its job.
    job: u32,
}

/// An unfinished upload that snapshots name.
#[derive(Default)]
struct ToldUpload {
    /// When it was begun, if somebody saw that.
    begun: Option<Timestamp>,
    /// Places of the snapshots.
    named_by: BTreeSet<u32>,
}

/// Holds what snapshots need against the rules of buckets.
pub struct Forecaster<'a> {
    catalogue: &'a Catalogue,
    needing: Vec<Needing<'a>>,
    jobs: Vec<&'a JobDirectory>,
    /// Per snapshot that was read, in the order of the reference index: its number there and its place in `needing`.
    references: Vec<(SnapshotNo, u32)>,
    /// Which of `references` name something in a directory, by the directory's number.
    by_directory: HashMap<u32, Vec<u32>>,
    by_metadata: HashMap<&'a ObjectLocation, u32>,
    naming_directories: Vec<u32>,
    seen: ObjectSet,
    seen_metadata: Vec<bool>,
    /// When each `_metadata` was written, as far as listings showed it.
    metadata_written: Vec<Option<Timestamp>>,
    /// Unfinished uploads by key and id.
    uploads: BTreeMap<(ObjectLocation, String), ToldUpload>,
    tallies: BTreeMap<&'a str, Tally<'a>>,
    elsewhere: BTreeMap<String, Amount>,
    now: Timestamp,
    /// Scratch: which snapshots need the object at hand.
    named_by: Vec<u32>,
}

impl<'a> Forecaster<'a> {
    /// Asks about the objects of these snapshots of a catalogue: those that are running, resting, or that somebody named. Snapshots that
    /// can't be read need their `_metadata`; what else they need nobody knows.
    pub fn new(
        catalogue: &'a Catalogue,
        needed: impl IntoIterator<Item = SnapshotId>,
        now: Timestamp,
    ) -> Self {
        let mut jobs: Vec<&JobDirectory> = Vec::new();
        let mut job_numbers: HashMap<&JobDirectory, u32> = HashMap::new();
        let (mut needing, mut references) = (Vec::new(), Vec::new());
        for snapshot in needed.into_iter().filter_map(|id| catalogue.get(id)) {
            let job = *job_numbers.entry(&snapshot.job).or_insert_with(|| {
                jobs.push(&snapshot.job);
                number(jobs.len() - 1)
            });
            if let Some(facts) = snapshot.facts() {
                references.push((facts.references, number(needing.len())));
            }
            needing.push(Needing {
                metadata: &snapshot.metadata,
                metadata_size: snapshot.size,
                directories: snapshot.facts().map_or(&[], |facts| &facts.directories),
                job,
            });
        }
        let snapshots: Vec<SnapshotNo> = references.iter().map(|(snapshot, _)| *snapshot).collect();
        let with_directories = (0..)
            .zip(&needing)
            .filter_map(|(n, s): (u32, &Needing<'_>)| (!s.directories.is_empty()).then_some(n));
        Self {
            by_directory: catalogue.index.by_directory(&snapshots),
            by_metadata: (0..).zip(&needing).map(|(n, s)| (s.metadata, n)).collect(),
            naming_directories: with_directories.collect(),
            seen: ObjectSet::default(),
            seen_metadata: vec![false; needing.len()],
            metadata_written: vec![None; needing.len()],
            uploads: BTreeMap::new(),
            tallies: BTreeMap::new(),
            elsewhere: BTreeMap::new(),
            named_by: Vec::new(),
            catalogue,
            needing,
            jobs,
            references,
            now,
        }
    }

    /// Tells the rules of a bucket, before anything in it is told. Objects in buckets whose rules nobody told are only counted.
    pub fn bucket(&mut self, name: &'a str, rules: &'a LifecycleConfiguration, versioning: Versioning) {
        let protected = self.protected(name);
        let rules = BucketRules::new(rules, versioning, self.now);
        let tally = Tally::new(name, rules, protected, self.needing.len(), self.now);
        self.tallies.insert(name, tally);
    }

    /// Directories in a bucket whose objects are needed: job directories, and where else needed objects lie.
    fn protected(&self, bucket: &str) -> Vec<String> {
        let jobs = self
            .jobs
            .iter()
            .filter(|job| job.bucket == bucket)
            .map(|job| job.prefix.clone());
        let elsewhere = self.by_directory.keys().filter_map(|directory| {
            let (in_bucket, directory) = self.catalogue.index.directory(*directory);
            (in_bucket == bucket).then(|| Place::of(directory).job().unwrap_or(directory).to_owned())
        });
        let mut all: Vec<String> = jobs.chain(elsewhere).collect();
        all.sort_unstable();
        // Sorted, a directory stands right before what lies below it.
        all.dedup_by(|below, above| below.starts_with(above.as_str()));
        all
    }

    /// Tells a visible object. What no snapshot needs is passed over; what is told twice counts once.
    pub fn listed(&mut self, location: &ObjectLocation, object: &Listed<'_>) {
        if let Some(snapshot) = self.by_metadata.get(location) {
            self.metadata_written[*snapshot as usize] = Some(object.written);
        }
        if !self.find(location) {
            return;
        }
        let version = RuledVersion {
            key: location.key(),
            size: Extent::Exact(object.size),
            written: Some(object.written),
            storage_class: Some(object.storage_class.unwrap_or("STANDARD")),
            tags: object.tags,
            null_version: object.null_version,
            place: VersionPlace::Current,
        };
        self.needed(location.bucket(), &version);
    }

    /// Tells that an object isn't visible any more: no rule can hide it, so it is only counted, if a snapshot needs it.
    pub fn hidden(&mut self, location: &ObjectLocation) {
        if self.find(location)
            && let Some(tally) = self.tallies.get_mut(location.bucket())
        {
            tally.hidden(location.key());
        }
    }

    /// Tells an unfinished upload whose id is in the state of the sinks of the snapshot at `metadata`, and when it was begun, if that is known.
    /// If not, it was begun before that `_metadata` was written: once a listing shows it, the day is known by which the upload is taken at the
    /// latest. What several snapshots name counts once; what a snapshot names that isn't asked about is passed over.
    pub fn upload(
        &mut self,
        metadata: &ObjectLocation,
        location: &ObjectLocation,
        id: &str,
        begun: Option<Timestamp>,
    ) {
        let Some(snapshot) = self.by_metadata.get(metadata).copied() else {
            return;
        };
        if !self.tallies.contains_key(location.bucket()) {
            return;
        }
        let told = self.uploads.entry((location.clone(), id.to_owned())).or_default();
        told.begun = told.begun.or(begun);
        told.named_by.insert(snapshot);
    }

    /// Holds the uploads against the rules, now that all that listings show is told.
    fn judge_uploads(&mut self) {
        for ((location, _), told) in std::mem::take(&mut self.uploads) {
            let Some(tally) = self.tallies.get_mut(location.bucket()) else {
                continue;
            };
            // Before the earliest of the snapshots that name it.
            let written = told
                .named_by
                .iter()
                .filter_map(|n| self.metadata_written[*n as usize]);
            let begun = match (told.begun, written.min()) {
                (Some(at), _) => Begun::At(at),
                (None, Some(at)) => Begun::Before(at),
                (None, None) => Begun::Unknown,
            };
            tally.upload(location.key(), begun, &told.named_by);
        }
    }

    /// Whether the object is needed and wasn't told before; leaves in `named_by` by which snapshots.
    fn find(&mut self, location: &ObjectLocation) -> bool {
        self.named_by.clear();
        if let Some(object) = self.catalogue.index.find(location) {
            self.named_by_handles(object);
            if !self.named_by.is_empty() && !self.seen.insert(object) {
                return false;
            }
        }
        if let Some(snapshot) = self.by_metadata.get(location).copied() {
            if std::mem::replace(&mut self.seen_metadata[snapshot as usize], true) {
                return false;
            }
            self.named_by.push(snapshot);
        }
        if self.named_by.is_empty() {
            // Files of a directory that is named as a whole. Listings show each once.
            let named = self.naming_directories.iter().copied().filter(|snapshot| {
                self.needing[*snapshot as usize]
                    .directories
                    .iter()
                    .any(|directory| {
                        directory.bucket() == location.bucket() && location.key().starts_with(directory.key())
                    })
            });
            self.named_by.extend(named);
        }
        !self.named_by.is_empty()
    }

    fn named_by_handles(&mut self, object: ObjectNo) {
        let index = &self.catalogue.index;
        let candidates = self.by_directory.get(&index.directory_of(object));
        for candidate in candidates.into_iter().flatten() {
            let (snapshot, place) = self.references[*candidate as usize];
            if index.names(snapshot, object) {
                self.named_by.push(place);
            }
        }
    }

    fn needed(&mut self, bucket: &str, version: &RuledVersion<'_>) {
        let needing = &self.needing;
        let needed_by = self.named_by.iter().map(|place| {
            let snapshot = &needing[*place as usize];
            NeededBy {
                snapshot: *place,
                job: snapshot.job,
                exclusive: version.key.starts_with(snapshot.metadata.directory())
                    && snapshot.metadata.bucket() == bucket,
            }
        });
        match self.tallies.get_mut(bucket) {
            Some(tally) => tally.object(version, needed_by),
            None => self
                .elsewhere
                .entry(bucket.to_owned())
                .or_default()
                .add(version.size),
        }
    }

    /// Judges what no listing showed, by its key alone, and sums up.
    pub fn finish(mut self) -> Forecast {
        self.judge_uploads();
        let references = self.references.clone();
        let index = &self.catalogue.index;
        let mut rest = Vec::new();
        for (snapshot, _) in &references {
            // One after another, so that no list of all objects is ever made.
            rest.extend(
                index
                    .objects_of(*snapshot)
                    .filter(|object| !self.seen.contains(*object)),
            );
            for object in rest.drain(..) {
                if !self.seen.insert(object) {
                    continue;
                }
                self.named_by.clear();
                self.named_by_handles(object);
                let location = index.location(object);
                let version = RuledVersion {
                    size: strongest(&index.extents(object)),
                    ..RuledVersion::named(location.key())
                };
                self.needed(location.bucket(), &version);
            }
        }
        for place in 0..self.needing.len() {
            if self.seen_metadata[place] {
                continue;
            }
            self.named_by = vec![number(place)];
            let metadata = self.needing[place].metadata;
            let version = RuledVersion {
                size: Extent::Exact(self.needing[place].metadata_size),
                ..RuledVersion::named(metadata.key())
            };
            self.needed(metadata.bucket(), &version);
        }
        let snapshots: Vec<&ObjectLocation> = self.needing.iter().map(|s| s.metadata).collect();
        Forecast {
            form: FORM,
            now: self.now,
            buckets: self
                .tallies
                .into_values()
                .map(|tally| tally.finish(&self.jobs, &snapshots))
                .collect(),
            without_rules: self.elsewhere,
        }
    }
}

/// Snapshots and jobs are numbered in 32 bits, as the reference index numbers them.
fn number(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

/// What is known of the length of an object that several handles name.
fn strongest(extents: &[Extent]) -> Extent {
    let exact = extents.iter().find(|e| matches!(e, Extent::Exact(_)));
    let at_least = || {
        extents
            .iter()
            .filter_map(|e| match e {
                Extent::AtLeast(n) => Some(*n),
                Extent::Exact(_) | Extent::Changelog(_) | Extent::Unknown => None,
            })
            .max()
    };
    match exact {
        Some(exact) => *exact,
        None => at_least().map_or(Extent::Unknown, Extent::AtLeast),
    }
}
