//! What a call did, in one line.

use serde::Serialize;
use stayput_guard::batch::Summary;
use stayput_guard::sweep::SweepSummary;

use crate::log::TARGET;
use crate::metrics::Collected;

/// The one line that every call ends with.
#[derive(Serialize, Default)]
pub(super) struct CallSummary {
    /// `queue`, `direct` or `scheduled`.
    pub(super) way: &'static str,
    /// Deletions that were told of, duplicates included.
    pub(super) deletions: usize,
    /// Messages, or records of a direct call, that can't be used.
    pub(super) malformed: usize,
    /// Messages that fail, so that their queue brings them again.
    pub(super) again: usize,
    /// Messages that were sent to the parked queue until they are due.
    pub(super) parked: usize,
    /// Waits that are left to the sweep, since a direct call doesn't come again for them, and messages that were parked as often as they may.
    pub(super) left_to_sweep: usize,
    /// Messages or records at which Stayput itself failed.
    pub(super) panicked: usize,
    /// Findings that couldn't be published.
    pub(super) untold: usize,
    /// What a sweep looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sweep: Option<SweepSummary>,
    /// The guard's own numbers.
    #[serde(flatten)]
    pub(super) guard: Summary,
    /// For the metrics.
    #[serde(skip)]
    pub(super) collected: Collected,
}

/// Sums up what was judged in parts. Taken apart by name, so that a new number can't be forgotten here.
pub(super) fn add(sum: &mut Summary, part: Summary) {
    let Summary {
        messages,
        judged,
        by_cause,
        left,
        left_by_job,
        restored,
        restored_bytes,
        unhidden,
        repaired,
        over_budget,
        later,
        reported,
        lost,
        failed,
        outside,
        jobs,
        snapshots,
        paused,
    } = part;
    sum.messages += messages;
    sum.judged += judged;
    for (cause, count) in by_cause {
        *sum.by_cause.entry(cause).or_default() += count;
    }
    for (reason, count) in left {
        *sum.left.entry(reason).or_default() += count;
    }
    for (job, left) in left_by_job {
        let of_job = sum.left_by_job.entry(job).or_default();
        for (reason, count) in left {
            *of_job.entry(reason).or_default() += count;
        }
    }
    sum.restored += restored;
    sum.restored_bytes = sum.restored_bytes.saturating_add(restored_bytes);
    sum.unhidden += unhidden;
    sum.repaired += repaired;
    sum.over_budget += over_budget;
    sum.later += later;
    sum.reported += reported;
    sum.lost += lost;
    sum.failed += failed;
    sum.outside += outside;
    // Of the catalogue as a whole, not of this call.
    sum.jobs = sum.jobs.max(jobs);
    sum.snapshots = sum.snapshots.max(snapshots);
    sum.paused |= paused;
}

pub(super) fn summarize(summary: &CallSummary, request: &str) {
    let text = serde_json::to_string(summary).unwrap_or_default();
    tracing::info!(
        target: TARGET,
        request,
        summary = text,
        "{} deletions; verdicts: restore {}, later {}, report {}, lost {}; failed {}",
        summary.deletions,
        summary.guard.restored,
        summary.guard.later,
        summary.guard.reported,
        summary.guard.lost,
        summary.guard.failed
    );
}
