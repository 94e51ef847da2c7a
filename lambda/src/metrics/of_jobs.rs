//! The numbers of each job, from a sweep, which knows the whole catalogue.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use s3_documents::encoding::encode_percent;
use stayput_core::snapshot::JobDirectory;
use stayput_core::timestamp::Timestamp;
use stayput_guard::sweep::SweepReport;

use super::{LONGEST_DIMENSION, Metric, Sheet};

/// So many jobs have numbers of their own: CloudWatch bills each.
pub(super) const JOBS_AT_MOST: usize = 30;
/// What the rest is called, all together. No job directory can be called so.
pub(super) const OTHERS: &str = "others";

/// What is known of a job or a savepoint's directory.
#[derive(Default)]
struct OfJob {
    /// When the oldest object that it needs was written.
    oldest: Option<Timestamp>,
    /// The first midnight from which a rule takes something that it needs.
    loss: Option<Timestamp>,
    /// When the newest checkpoint was written, of a job that counts as running.
    newest: Option<Timestamp>,
}

impl OfJob {
    fn write(&self, sheet: &mut Sheet, now: Timestamp) {
        if let Some(oldest) = self.oldest {
            sheet.value(Metric::OldestNeededAge, now.since(oldest).as_secs());
        }
        if let Some(loss) = self.loss {
            sheet.hours(Metric::HoursUntilLoss, loss.millis().saturating_sub(now.millis()));
        }
        if let Some(newest) = self.newest {
            let age = now.millis().saturating_sub(newest.millis());
            sheet.hours(Metric::HoursSinceCheckpoint, age);
        }
    }
}

/// One sheet a job, the most important first, and one for all others: what a rule takes soonest, then what runs, the longest without a
/// checkpoint first.
pub(crate) fn of_jobs(report: &SweepReport) -> (Vec<Sheet>, u64) {
    let now = report.forecast.now;
    let mut jobs: BTreeMap<&JobDirectory, OfJob> = BTreeMap::new();
    for bucket in &report.forecast.buckets {
        for age in &bucket.ages {
            let job = jobs.entry(&age.job).or_default();
            job.oldest = [job.oldest, age.oldest_written].into_iter().flatten().min();
        }
        for harm in bucket.harms.iter().filter(|harm| !harm.is_unsure()) {
            let job = jobs.entry(&harm.job).or_default();
            job.loss = [job.loss, harm.first].into_iter().flatten().min();
        }
    }
    for progress in report.progress.iter().filter(|progress| progress.runs) {
        jobs.entry(&progress.job).or_default().newest = Some(progress.newest);
    }
    let mut ranked: Vec<(String, OfJob)> = jobs
        .into_iter()
        .map(|(job, numbers)| (dimension(job), numbers))
        .collect();
    ranked.sort_by(|(a, x), (b, y)| {
        let rank = |job: &OfJob| {
            (
                job.loss.is_none(),
                job.loss,
                job.newest.is_none(),
                job.newest,
                Reverse(job.oldest.is_some()),
                job.oldest,
            )
        };
        (a.len() > LONGEST_DIMENSION, rank(x), a).cmp(&(b.len() > LONGEST_DIMENSION, rank(y), b))
    });
    let nameable = ranked.iter().filter(|(job, _)| job.len() <= LONGEST_DIMENSION);
    let rest = ranked.split_off(nameable.count().min(JOBS_AT_MOST));
    let mut sheets: Vec<Sheet> = Vec::new();
    for (job, numbers) in ranked {
        let mut sheet = Sheet::of_job(job);
        numbers.write(&mut sheet, now);
        sheets.push(sheet);
    }
    let mut others = Sheet::of_job(OTHERS.to_owned());
    for (_, numbers) in &rest {
        numbers.write(&mut others, now);
    }
    sheets.push(others);
    (sheets, rest.len() as u64)
}

/// CloudWatch takes printable ASCII.
fn dimension(job: &JobDirectory) -> String {
    format!("s3://{}/{}", job.bucket, encode_percent(&job.prefix))
}
