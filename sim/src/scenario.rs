//! A history before it happens, as data: how the world is set up and what is done in it. The same scenario always gives the same history, and
//! a scenario that was kept stays what it was when the generator changes.

use serde::{Deserialize, Serialize};

use crate::clock::Millis;

/// Everything that decides a history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scenario {
    /// Decides what steps leave open: names, delays, orders.
    pub seed: u64,
    /// How the world is set up.
    pub world: World,
    /// What is done, in order.
    pub steps: Vec<Step>,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// So long after the step before, in milliseconds.
    pub after: Millis,
    /// Tells this step's choices from those of others; it stays the same when other steps are dropped.
    pub dice: u64,
    /// What is done.
    pub act: Act,
}

/// How the world is set up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct World {
    /// Who messages say did it.
    pub telling: Telling,
    /// Whether the guard restores; otherwise it observes.
    pub acting: bool,
    /// Whether there is a control prefix.
    pub journal: bool,
    /// So many instances of the function take messages.
    pub instances: usize,
    /// Whether the creation of `_metadata` is told too.
    pub created_told: bool,
    /// How messages travel.
    pub delivery: Delivery,
    /// What fails on the way between the function and S3.
    pub faults: Faults,
    /// The bucket's lifecycle rules.
    pub rules: Vec<Rule>,
    /// Stayput was installed so long after the beginning, in milliseconds; what was hidden before is history. `None`: everything counts.
    #[serde(default)]
    pub installed: Option<Millis>,
    /// Objects that may be copied on one day.
    pub objects_per_day: u64,
    /// Bytes that may be copied on one day; `None`: more than there are.
    #[serde(default)]
    pub bytes_per_day: Option<u64>,
    /// Whether another Stayput, with a control prefix of its own, watches the same bucket.
    #[serde(default)]
    pub second_guard: bool,
    /// In so many of a thousand clean-ups of what a job was restored from and owned S3 throttles for some minutes: files are gone by then, and `_metadata`
    /// stands.
    #[serde(default)]
    pub throttled: u32,
    /// Where what is hidden comes back without a copy.
    #[serde(default)]
    pub unhides: Unhides,
    /// Every `_metadata` has a sidecar, however small.
    #[serde(default)]
    pub sidecars: bool,
    /// Whether the function is told of its own copies too, as it is where the bucket tells of what is created.
    #[serde(default)]
    pub own_copies_told: bool,
    /// The bucket is a replica: jobs write into another one, and what they do there comes here some time later.
    #[serde(default)]
    pub replication: Option<Replication>,
    /// The jobs that run when the history begins.
    pub jobs: Vec<JobSpec>,
}

/// How what jobs do in one bucket comes to another. Of each key in the order in which it was done, of different keys in any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replication {
    /// Normally within so long, in milliseconds.
    pub delay: Millis,
    /// So many in a thousand come hours late.
    pub late: u32,
    /// Whether delete markers are replicated, as their own setting says.
    pub markers: bool,
    /// Whether the function is told of a marker that replication lays.
    pub told: bool,
}

/// Under which roots the settings ask for un-hiding: delete markers are removed where that can be, instead of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Unhides {
    /// Under none.
    #[default]
    Nowhere,
    /// Under that of checkpoints alone.
    Checkpoints,
    /// Under all.
    Everywhere,
}

/// Who messages say did it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Telling {
    /// The role of the jobs, which the settings name.
    Role,
    /// Some principal, but the settings name none.
    NoPrincipals,
    /// EventBridge, which names an account and no role.
    EventBridge,
}

/// How messages travel from S3 to the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// Normally at most so long, in milliseconds.
    pub delay: Millis,
    /// So many in a thousand come hours late.
    pub late: u32,
    /// So many in a thousand come twice.
    pub doubled: u32,
    /// So many in a thousand never come.
    pub lost: u32,
    /// The function takes at most so many at once.
    pub batch: usize,
    /// A message that failed is visible again after this, in milliseconds.
    pub visibility: Millis,
    /// After so many receives it goes to the dead-letter queue.
    pub receives: u32,
}

/// What fails between the function and S3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Faults {
    /// In so many of a thousand calls of the function one request fails and may be tried again.
    pub failing: u32,
    /// In so many of a thousand calls the function dies at some request.
    pub crashing: u32,
    /// In so many of a thousand calls somebody else acts between two requests.
    pub racing: u32,
}

impl Faults {
    /// Nothing fails.
    pub const NONE: Self = Self {
        failing: 0,
        crashing: 0,
        racing: 0,
    };
}

/// A lifecycle rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// It takes keys that begin so.
    pub prefix: String,
    /// Current versions are hidden after so many days.
    pub days: Option<u32>,
    /// Noncurrent versions are removed after so many days.
    pub noncurrent_days: Option<u32>,
    /// What it moves to an archive, if anything.
    #[serde(default)]
    pub moves: Option<Moves>,
}

/// What a lifecycle rule moves to an archive, where nothing can be read before it is thawed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moves {
    /// Where to.
    pub to: Archive,
    /// Current versions after so many days.
    pub days: Option<u32>,
    /// Noncurrent versions after so many days.
    pub noncurrent_days: Option<u32>,
}

/// A storage class whose bytes must be thawed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Archive {
    /// `GLACIER`: a thaw takes at most five hours.
    Glacier,
    /// `DEEP_ARCHIVE`: at most twelve.
    Deep,
}

impl Archive {
    /// As S3 calls it.
    pub fn class(self) -> &'static str {
        match self {
            Self::Glacier => "GLACIER",
            Self::Deep => "DEEP_ARCHIVE",
        }
    }
}

/// A job as its owner configured it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSpec {
    /// The release that runs it.
    pub release: Release,
    /// So many checkpoints are retained.
    pub retained: usize,
    /// Whether they stay when the job is cancelled or fails.
    pub retained_on_cancel: bool,
    /// RocksDB incremental checkpoints; otherwise every file is private.
    pub incremental: bool,
    /// So many subtasks.
    pub subtasks: usize,
    /// Which operators: jobs with the same number have the same operator ids.
    pub operators: u8,
    /// Where its files lie, and who deletes them.
    #[serde(default)]
    pub layout: Layout,
    /// Its job id is all zeroes, as with high availability in application mode: every such job writes into the same directory.
    #[serde(default)]
    pub zero_id: bool,
    /// High availability: a pointer to each retained checkpoint lies in the HA store's directory.
    #[serde(default)]
    pub ha: bool,
    /// And that pointer holds the whole checkpoint, as Flink writes it; otherwise bytes that nobody can read.
    #[serde(default)]
    pub readable_pointers: bool,
    /// Its files lie under random prefixes (`s3.entropy.key`).
    #[serde(default)]
    pub entropy: bool,
    /// Its file sink, if it has one.
    #[serde(default)]
    pub sink: Option<SinkSpec>,
}

/// A file sink of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SinkSpec {
    /// Which file system writes.
    pub writer: Writer,
    /// Its state lies in `_metadata`, as small state does; otherwise in a file of each checkpoint.
    pub inlined: bool,
}

/// A file system that sinks write by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Writer {
    /// `flink-s3-fs-hadoop`.
    Hadoop,
    /// `flink-s3-fs-native`, since 2.3.
    Native,
}

/// Where the files of a job lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Layout {
    /// Private files in `chk-N/`, shared ones in `shared/`.
    #[default]
    Plain,
    /// File merging, since 1.20: segments of files in `shared/job_…` and `taskowned/job_…`, which TaskManagers delete.
    Merged,
    /// The changelog, since 1.16: a log below `dstl/`, and what was materialised in `taskowned/`.
    Changelog,
    /// ForSt, since 2.0: all files in `shared/op_…/db/`, some of them before any checkpoint names them.
    ForSt,
}

/// A family of releases that clean up in the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Release {
    /// Up to 1.14: `_metadata`, private files, then shared ones by counting.
    UpTo114,
    /// 1.16 to 1.18: shared files are scheduled first, `_metadata` goes before the private files.
    Of116,
    /// 1.19 and later: everything at once, `_metadata` last.
    From119,
    /// The same with parallel mode switched off.
    From119Sequential,
}

impl Release {
    /// What it makes of what was asked for: up to 1.14 nobody owns what was restored.
    pub fn claim(self, asked: Claim) -> Claim {
        match self {
            Self::UpTo114 => Claim::Legacy,
            Self::Of116 | Self::From119 | Self::From119Sequential => asked,
        }
    }
}

/// What is done in a step. Jobs and savepoints are meant by their number, counted from 0 and modulo how many there are.
#[expect(
    missing_docs,
    reason = "the fields are numbers of jobs and savepoints, as the type says"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Act {
    /// A job completes a checkpoint.
    Checkpoint { job: usize },
    /// A job's checkpoint is aborted after its private files were written.
    Abort { job: usize },
    /// A checkpoint is complete, but the HA store refuses it, and Flink takes it back within a second.
    FailedStore { job: usize },
    /// The owner cancels it.
    Cancel { job: usize },
    /// It fails for good.
    Fail { job: usize },
    /// It has worked through its input.
    Finish { job: usize },
    /// Its JobManager dies, whatever it was doing; with HA another one goes on.
    KillJobManager { job: usize, ha: bool },
    /// A TaskManager dies: the job goes on from its newest checkpoint, if that is whole.
    Failover { job: usize },
    /// A canonical savepoint.
    Savepoint { job: usize },
    /// Flink disposes of a savepoint, since its owner says so.
    Dispose { savepoint: usize },
    /// An ended job is started again from its newest checkpoint, as a new job.
    Restore { job: usize, claim: Claim },
    /// An ended job is started again from its newest checkpoint with another parallelism.
    Rescale {
        job: usize,
        claim: Claim,
        subtasks: usize,
    },
    /// An ended job is deployed again under its job id, without a restore: its ids begin again in the same directory.
    Redeploy { job: usize },
    /// A savepoint is started as a new job.
    RestoreSavepoint {
        savepoint: usize,
        claim: Claim,
        of_job: usize,
    },
    /// The owner doesn't want an ended job any more, and deletes its whole directory.
    DeleteOnPurpose { job: usize },
    /// Somebody who shouldn't deletes something.
    Delete { what: Target, by: Somebody },
    /// Somebody copies a file onto itself.
    Touch { what: Target },
    /// Somebody puts half of a file over it.
    Truncate { what: Target },
    /// One instance of the function ends; its next message meets a new one.
    ColdStart,
    /// A person pauses or resumes restoring.
    Pause { on: bool },
    /// The scheduled sweep, besides the daily one.
    Sweep,
    /// Somebody takes a permission from the function's role, or gives it back.
    Deny { what: Denied, on: bool },
    /// Somebody suspends the bucket's versioning, or enables it again.
    Versioning { on: bool },
    /// The function is deployed again with other settings: every instance is a new one.
    Deploy { change: Change },
    /// Time passes.
    Wait,
}

/// What the function's role may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Denied {
    /// `s3:GetObject` and `s3:GetObjectVersion`.
    Getting,
    /// `s3:ListBucket`.
    Listing,
    /// `s3:ListBucketVersions`.
    ListingVersions,
    /// What a copy needs.
    Copying,
    /// `s3:DeleteObjectVersion`, which only un-hiding needs, and a copy does instead.
    Removing,
}

/// What is other in a new deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// Whether it restores.
    Acting(bool),
    /// The settle delay, in minutes.
    Settle(u32),
    /// Nothing but the code.
    Code,
    /// Where it un-hides.
    Unhides(Unhides),
    /// Whether the settings name the role of the jobs; otherwise they name none.
    Principals(bool),
    /// Whether there is a root for savepoints.
    Savepoints(bool),
    /// Whether there is a root for checkpoints.
    Checkpoints(bool),
    /// The settings name a role for the jobs, and it isn't theirs.
    AnothersRole,
}

/// Which role the settings say the jobs have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// Theirs.
    Theirs,
    /// None.
    None,
    /// Another's.
    Anothers,
}

impl Named {
    /// As a world begins.
    pub fn in_a_world(telling: Telling) -> Self {
        if telling == Telling::NoPrincipals {
            Self::None
        } else {
            Self::Theirs
        }
    }

    /// After this change.
    #[must_use]
    pub fn changed(self, change: Change) -> Self {
        match change {
            Change::Principals(true) => Self::Theirs,
            Change::Principals(false) => Self::None,
            Change::AnothersRole => Self::Anothers,
            _ => self,
        }
    }
}

/// What a restored job may do with what it was restored from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Claim {
    /// It owns it and deletes it when it is subsumed.
    Claim,
    /// It reads it until its first checkpoint, which is full.
    NoClaim,
    /// It refers to it and never deletes it.
    Legacy,
}

/// What somebody lays hands on.
#[expect(
    missing_docs,
    reason = "the fields are numbers of jobs and savepoints, as the type says"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Target {
    /// A shared file that the newest checkpoint of a job names.
    SharedOfNewest { job: usize },
    /// A private file of it.
    PrivateOfNewest { job: usize },
    /// Its `_metadata`.
    MetadataOfNewest { job: usize },
    /// Its whole `chk-N/`.
    DirectoryOfNewest { job: usize },
    /// The job's `shared/`.
    Shared { job: usize },
    /// The whole directory of a job.
    Job { job: usize },
    /// A file of a savepoint.
    OfSavepoint { savepoint: usize },
    /// A whole savepoint.
    Savepoint { savepoint: usize },
    /// Every shared file that the newest checkpoint of a job names, by a list of yesterday: whether it is visible or not.
    Listed { job: usize },
    /// Whatever the newest checkpoint of a job names and is hidden, by a list that is older than that: it gets a second marker.
    HiddenOfNewest { job: usize },
    /// The HA store's pointer to the newest checkpoint of a job.
    Pointer { job: usize },
    /// A tail that the sink of a job needs if it is restored from its newest checkpoint.
    Tail { job: usize },
    /// A tail that the sink of a job needed when a savepoint was taken.
    TailOfSavepoint { savepoint: usize },
    /// Everything that sinks have written or begun, as somebody tidies up who takes it for rubbish.
    Output,
    /// Any visible object.
    Any,
}

/// Who lays hands on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Somebody {
    /// A person or script with a role of its own.
    Person,
    /// Somebody who uses the role of the jobs.
    WithFlinksRole,
}
