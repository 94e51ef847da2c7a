//! What a sweep saw and did.

use std::collections::BTreeMap;

use serde::Serialize;
use stayput_core::forecast::Forecast;
use stayput_core::snapshot::JobDirectory;
use stayput_core::timestamp::Timestamp;

use crate::batch::BatchReport;

/// What came of a sweep: it looks at everything that snapshots need, whoever told of it or not.
#[derive(Clone, Debug)]
pub struct SweepReport {
    /// Verdicts on what is missing, overwritten or archived, what was done about it, and the findings. No messages, no answers.
    pub judged: BatchReport,
    /// What the rules of the roots' buckets will do to what running and resting snapshots need. Its findings are among those of `judged`.
    pub forecast: Forecast,
    /// Of every job directory that holds a checkpoint, how old the newest one is; in the order of their names.
    pub progress: Vec<Progress>,
    /// In numbers, what was looked at.
    pub seen: SweepSummary,
    /// What couldn't be read just now: the sweep isn't complete, and the next one may be.
    pub unread: Vec<String>,
    /// What nobody can find out with the permissions at hand.
    pub unknown: Vec<String>,
}

/// How far a job directory has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The directory.
    pub job: JobDirectory,
    /// When the `_metadata` of its newest visible checkpoint was written, which Flink does when the checkpoint is complete.
    pub newest: Timestamp,
    /// Whether that checkpoint counts as running, or did at some moment of the last 24 hours: sweeps may be a day apart, and a job that stopped
    /// between two of them must be seen by one. A pin keeps a checkpoint and says nothing of a job, so it doesn't count; nor does a job that
    /// went on in another directory.
    pub runs: bool,
}

/// What a sweep looked at, in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SweepSummary {
    /// Snapshots of which nothing is missing, by class.
    pub whole: BTreeMap<&'static str, u64>,
    /// Snapshots of which something is missing, by class. Spares with missing files are normal: Flink deletes `_metadata` last.
    pub incomplete: BTreeMap<&'static str, u64>,
    /// Snapshots that can't be read.
    pub unreadable: u64,
    /// Objects that snapshots name, counted once in each job directory.
    pub objects: u64,
    /// Missing objects whose markers are younger than the settle delay: left to their messages, or to the next sweep.
    pub young: u64,
    /// Needed objects that were hidden before `protect_since`, by who did it: history, which isn't touched.
    pub before_protection: BTreeMap<&'static str, u64>,
    /// Objects that only spares miss, by who deleted them: left.
    pub missed_by_spares: BTreeMap<&'static str, u64>,
    /// Verdicts that people were told of before and that haven't changed.
    pub told_before: u64,
}
