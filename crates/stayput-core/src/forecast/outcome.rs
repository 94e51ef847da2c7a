//! What a forecast says.

use std::collections::BTreeMap;

use s3_documents::lifecycle::LifecycleRule;
use serde::{Serialize, Serializer};

use super::correction::Correction;
use crate::extent::Extent;
use crate::lifecycle_rules::{NotKnown, When};
use crate::location::ObjectLocation;
use crate::snapshot::JobDirectory;
use crate::timestamp::Timestamp;

/// The form of this document; a change that programs would notice gets a new number.
pub const FORM: &str = "stayput.forecast.1";

/// What lifecycle rules will do to needed objects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Forecast {
    /// Always [`FORM`].
    pub form: &'static str,
    /// The moment that it was made for.
    pub now: Timestamp,
    /// Per bucket whose rules were told, ordered by name.
    pub buckets: Vec<BucketForecast>,
    /// Needed objects in other buckets, whose rules nobody told.
    pub without_rules: BTreeMap<String, Amount>,
}

impl Forecast {
    /// Whether a rule surely or perhaps takes something that is needed. Rules for unfinished uploads don't count, as long as no upload is
    /// known to be needed.
    pub fn is_harmful(&self) -> bool {
        self.buckets
            .iter()
            .any(|b| !b.harms.is_empty() || b.aborts.iter().any(|a| a.uploads > 0))
    }
}

/// How much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Amount {
    /// Objects, each once.
    pub objects: u64,
    /// Their bytes, of those whose length is known; of those known only to be so long or longer, that.
    pub bytes: u64,
    /// Objects of which the length isn't known, or only the least.
    pub of_unknown_size: u64,
}

impl Amount {
    pub(super) fn add(&mut self, size: Extent) {
        self.objects += 1;
        match size {
            Extent::Exact(n) => self.bytes = self.bytes.saturating_add(n),
            Extent::AtLeast(n) => {
                self.bytes = self.bytes.saturating_add(n);
                self.of_unknown_size += 1;
            }
            Extent::Changelog(_) | Extent::Unknown => self.of_unknown_size += 1,
        }
    }
}

/// What the rules of one bucket will do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BucketForecast {
    /// The bucket's name.
    pub bucket: String,
    /// Whether it keeps versions: `enabled`, `suspended` or `never`.
    pub versioning: &'static str,
    /// What snapshots need here.
    pub needed: Amount,
    /// What no listing showed, so that its age isn't known.
    pub unlisted: u64,
    /// What lies in an archive class already, so that no job can read it now.
    pub archived: Amount,
    /// What lies in, or moves to, a class of which nobody can tell whether it stays readable, such as `INTELLIGENT_TIERING`.
    pub perhaps_archived: u64,
    /// Needed objects that aren't visible any more. They aren't part of anything else here.
    pub hidden: u64,
    /// The first ten of them, as URLs.
    pub hidden_examples: Vec<String>,
    /// What will be taken, per job and rule, the earliest first; what perhaps is after what surely is.
    pub harms: Vec<Harm>,
    /// Snapshots that something is taken from, in the order of their keys.
    pub snapshots: Vec<BrokenSnapshot>,
    /// Per job, how old what it needs is.
    pub ages: Vec<JobAge>,
    /// Enabled rules that abort unfinished uploads. State of exactly-once sinks can name such uploads.
    pub aborts: Vec<AbortRisk>,
    /// The rules, changed so that they take nothing that is needed. `None`: they take nothing as they are.
    pub correction: Option<Correction>,
}

/// A rule, as people know it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct RuleName {
    /// Its place in the configuration, from 1.
    pub number: usize,
    /// The name that its author gave it.
    pub id: Option<String>,
}

impl RuleName {
    pub(super) fn of(place: usize, rule: &LifecycleRule) -> Self {
        Self {
            number: place + 1,
            id: rule.id.clone(),
        }
    }
}

impl std::fmt::Display for RuleName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.id {
            Some(id) => write!(f, "rule {id:?}"),
            None => write!(f, "rule {} (unnamed)", self.number),
        }
    }
}

/// What a rule does to a needed object.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum HarmKind {
    /// It deletes the object for good.
    Delete,
    /// It hides the object below a delete marker.
    Hide,
    /// It moves the object to a class in which no job can read it.
    Archive {
        /// The class.
        storage_class: String,
    },
}

/// Objects that one job needs and one rule takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Harm {
    /// The job directory, or the directory of a savepoint.
    #[serde(serialize_with = "shown")]
    pub job: JobDirectory,
    /// The rule.
    pub rule: RuleName,
    /// What it does.
    #[serde(flatten)]
    pub kind: HarmKind,
    /// When, in the rule's words: days after the upload.
    pub days: Option<u32>,
    /// When, in the rule's words: on this day.
    pub date: Option<Timestamp>,
    /// It happens only if this, which isn't known, fits.
    #[serde(rename = "if")]
    pub depends_on: Option<NotKnown>,
    /// How much.
    pub amount: Amount,
    /// Objects for which the day has come: S3 takes them any moment.
    pub due: u64,
    /// Objects whose age isn't known, so that no day can be named.
    pub of_unknown_age: u64,
    /// The first midnight from which it takes one. Can have passed.
    pub first: Option<Timestamp>,
    /// The last, of the objects that are needed today.
    pub last: Option<Timestamp>,
    /// How many from which midnight on.
    pub by_day: BTreeMap<Timestamp, u64>,
    /// The first ten objects, as URLs.
    pub examples: Vec<String>,
    /// The `_metadata` of the snapshots that need them.
    pub snapshots: Vec<ObjectLocation>,
    /// How long what was taken can be put back.
    pub put_back: PutBack,
}

impl Harm {
    /// Whether it isn't known that the rule takes the objects. Where only the versioning of the bucket isn't known, it surely takes them.
    pub fn is_unsure(&self) -> bool {
        self.depends_on.is_some_and(|why| why != NotKnown::Version)
    }

    /// When, in the rule's words.
    pub fn when(&self) -> When {
        match (self.days, self.date) {
            (_, Some(date)) => When::Date(date),
            (days, None) => When::Days(days.unwrap_or_default()),
        }
    }
}

/// How long what a rule took can be put back, the worst of all its objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum PutBack {
    /// Not at all: it is deleted for good.
    Never,
    /// Perhaps not at all: versioning is suspended, and version ids aren't known.
    PerhapsNever,
    /// So many days after it was hidden, a rule purges the version.
    ForDays {
        /// Full days, not yet rounded up to midnight UTC.
        days: u32,
        /// The first midnight from which a version may be purged. `None`: it isn't known when it is hidden.
        until: Option<Timestamp>,
    },
    /// As long as nobody deletes the version: no rule purges it.
    Always,
}

/// A snapshot that needs what a rule takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BrokenSnapshot {
    /// Its `_metadata`.
    pub metadata: ObjectLocation,
    /// How many of its objects are surely taken.
    pub objects: u64,
    /// How many more perhaps are.
    pub perhaps: u64,
    /// From when on it can't be restored. `None`: no age is known, or nothing is surely taken.
    pub from: Option<Timestamp>,
}

/// How old what a job needs is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JobAge {
    /// The job directory, or the directory of a savepoint.
    #[serde(serialize_with = "shown")]
    pub job: JobDirectory,
    /// What it needs here.
    pub needed: Amount,
    /// Objects that don't lie in the directory of the snapshot that needs them. They can be older than it.
    pub shared: u64,
    /// The oldest object of known age.
    pub oldest: Option<String>,
    /// When it was written.
    pub oldest_written: Option<Timestamp>,
    /// The fewest days of an expiration that takes nothing of it today. That is no promise for tomorrow: a file stays needed as long as no
    /// compaction rewrites it, and a snapshot that is kept ages as a whole.
    pub days_today: Option<u32>,
}

/// A rule that aborts unfinished uploads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AbortRisk {
    /// The rule.
    pub rule: RuleName,
    /// It takes uploads whose key begins with this.
    pub prefix: String,
    /// So many days after they were begun.
    pub days: u32,
    /// Uploads that are known to be needed and that it takes.
    pub uploads: u64,
    /// Of these, uploads of which it is known only that they were begun before a snapshot was written: the rule can take them earlier than
    /// `first`.
    pub bounded: u64,
    /// The first midnight from which it takes one of them; a midnight that it is no later than, if some are `bounded`. `None`: no day is known.
    pub first: Option<Timestamp>,
    /// The first ten of them, as URLs.
    pub examples: Vec<String>,
    /// The snapshots that name them.
    pub snapshots: Vec<ObjectLocation>,
}

fn shown<S: Serializer>(job: &JobDirectory, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(job)
}
