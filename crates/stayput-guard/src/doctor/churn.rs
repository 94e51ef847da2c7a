//! How much is hidden in a bucket, and how fast: from a listing of versions.

use std::time::Duration;

use stayput_core::timestamp::Timestamp;
use stayput_core::version::{VersionEntry, VersionKind};

/// How far back hidden versions are counted.
const WEEK: Duration = Duration::from_secs(7 * 86_400);
const DAY_MILLIS: u64 = 86_400_000;

/// What a listing of versions showed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Churn {
    /// Versions and markers that were listed.
    pub listed: u64,
    /// Whether that was all.
    pub complete: bool,
    /// Versions that were hidden in the last seven days and are still there.
    pub hidden: u64,
    /// Their bytes.
    pub hidden_bytes: u64,
    /// So many days of these seven the listing covers, from the first that was hidden on; at least 1.
    pub days: u64,
    /// All hidden versions that are there, whenever they were hidden, in bytes.
    pub noncurrent_bytes: u64,
    /// Versions and markers of directory markers: keys that end in `/`.
    pub directory_markers: u64,
}

impl Churn {
    /// Bytes that are hidden in a day, on average.
    pub fn bytes_a_day(&self) -> u64 {
        self.hidden_bytes / self.days.max(1)
    }
}

/// Counts a listing, row by row.
#[derive(Clone, Debug)]
pub struct ChurnCounter {
    churn: Churn,
    now: Timestamp,
    /// The key of the last row, and when what lies above the next one was written.
    above: Option<(String, Timestamp)>,
    first: Option<Timestamp>,
}

impl ChurnCounter {
    /// As of now.
    pub fn new(now: Timestamp) -> Self {
        Self {
            churn: Churn::default(),
            now,
            above: None,
            first: None,
        }
    }

    /// Counts a row; of each key the newest comes first.
    pub fn count(&mut self, row: &VersionEntry) {
        self.churn.listed += 1;
        if row.key.ends_with('/') {
            self.churn.directory_markers += 1;
        }
        let hidden_at = match &self.above {
            Some((key, at)) if *key == row.key => Some(*at),
            _ => None,
        };
        if let (Some(at), VersionKind::Data { size, .. }) = (hidden_at, &row.kind) {
            self.churn.noncurrent_bytes = self.churn.noncurrent_bytes.saturating_add(*size);
            if at.plus(WEEK) >= self.now {
                self.churn.hidden += 1;
                self.churn.hidden_bytes = self.churn.hidden_bytes.saturating_add(*size);
                self.first = Some(self.first.map_or(at, |first| first.min(at)));
            }
        }
        self.above = Some((row.key.clone(), row.last_modified));
    }

    /// The sums. `complete`: whether all rows were counted.
    pub fn finish(mut self, complete: bool) -> Churn {
        self.churn.complete = complete;
        let since = self
            .first
            .map_or(0, |first| self.now.millis().saturating_sub(first.millis()).max(0));
        self.churn.days = u64::try_from(since).unwrap_or(0).div_ceil(DAY_MILLIS).clamp(1, 7);
        self.churn
    }
}
