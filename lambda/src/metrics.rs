//! Metrics as lines of the log, in CloudWatch's embedded metric format: CloudWatch takes the numbers out of them by itself, and no call of
//! an API is made. <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html>
//!
//! A line holds the numbers of one call, or of one job. A count that is 0 isn't written: CloudWatch bills by metric and hour. docs/metrics.md
//! says what each number means.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value, json};
use stayput_core::timestamp::Timestamp;

use crate::log::TARGET;

mod of_call;
mod of_jobs;

pub(crate) use of_call::{Collected, of_call};
pub(crate) use of_jobs::of_jobs;

/// Where the metrics are, unless the environment says otherwise.
pub(crate) const NAMESPACE: &str = "Stayput";

/// The variable with another namespace: stacks that share an account must not ring each other's alarms.
pub(crate) const VARIABLE: &str = "STAYPUT_METRICS_NAMESPACE";

/// CloudWatch takes at most so many values of one metric out of a line.
const VALUES_IN_A_LINE: usize = 100;

/// The dimension of what is measured for each job directory.
const JOB: &str = "Job";

/// CloudWatch takes no longer value of a dimension.
const LONGEST_DIMENSION: usize = 1024;

/// Units, in CloudWatch's words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unit {
    Count,
    Bytes,
    Seconds,
    Milliseconds,
    /// CloudWatch has no word for it: hours.
    None,
}

macro_rules! metrics {
    ($($name:ident $unit:ident,)+) => {
        /// Everything that is measured. The name of each is its metric's name.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub(crate) enum Metric {
            $($name,)+
        }

        impl Metric {
            /// All of them.
            #[cfg(test)]
            pub(crate) const ALL: &[Self] = &[$(Self::$name,)+];

            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)+
                }
            }

            pub(crate) fn unit(self) -> Unit {
                match self {
                    $(Self::$name => Unit::$unit,)+
                }
            }
        }
    };
}

metrics! {
    Deletions Count,
    DeletedByLifecycle Count,
    DeletedByFlink Count,
    DeletedByForeign Count,
    DeletedByStayput Count,
    DeletedByUnknown Count,
    Left Count,
    Restored Count,
    Unhidden Count,
    Repaired Count,
    Waiting Count,
    Parked Count,
    LeftToSweep Count,
    Reported Count,
    LostObjects Count,
    Failed Count,
    RestoredBytes Bytes,
    TimeToRestore Milliseconds,
    BudgetSpent Count,
    Malformed Count,
    Panicked Count,
    Findings Count,
    Lost Count,
    Urgent Count,
    CannotJudge Count,
    RepeatOffence Count,
    Untold Count,
    RuleWillHurt Count,
    ListRequests Count,
    HeadRequests Count,
    GetRequests Count,
    CopyRequests Count,
    PutRequests Count,
    SettingsRequests Count,
    OtherRequests Count,
    Sweeps Count,
    Unread Count,
    Jobs Count,
    Snapshots Count,
    OtherJobs Count,
    OldestNeededAge Seconds,
    HoursUntilLoss None,
    HoursSinceCheckpoint None,
}

/// Numbers that go into one line, or into several if they are too many.
#[derive(Default, Debug)]
pub(crate) struct Sheet {
    /// Of one job, which is then a dimension; the numbers count without it too.
    job: Option<String>,
    values: BTreeMap<Metric, Vec<Number>>,
}

impl Sheet {
    pub(crate) fn of_job(job: String) -> Self {
        Self {
            job: Some(job),
            values: BTreeMap::new(),
        }
    }

    /// A count; none of it is no number.
    pub(crate) fn count(&mut self, metric: Metric, count: u64) {
        if count > 0 {
            self.values.entry(metric).or_default().push(count.into());
        }
    }

    /// One of several values.
    pub(crate) fn value(&mut self, metric: Metric, value: u64) {
        self.values.entry(metric).or_default().push(value.into());
    }

    /// Hours, out of milliseconds, to a hundredth. What has passed is 0.
    pub(crate) fn hours(&mut self, metric: Metric, millis: i64) {
        const HUNDREDTH_MILLIS: i64 = 36_000;
        // At most 2^63 / 36,000, which a double holds.
        let hours = (millis.max(0) / HUNDREDTH_MILLIS) as f64 / 100.0;
        if let Some(hours) = Number::from_f64(hours) {
            self.values.entry(metric).or_default().push(hours);
        }
    }

    /// The lines, as JSON objects. There is none if nothing was measured.
    fn lines(&self, namespace: &str, at: Timestamp) -> Vec<Map<String, Value>> {
        let mut lines = Vec::new();
        for number in 0.. {
            let mut metrics = Vec::new();
            let mut line = Map::new();
            for (metric, values) in &self.values {
                match values.chunks(VALUES_IN_A_LINE).nth(number) {
                    None | Some([]) => continue,
                    Some([value]) => line.insert(metric.name().to_owned(), json!(value)),
                    Some(values) => line.insert(metric.name().to_owned(), json!(values)),
                };
                metrics.push(json!({"Name": metric.name(), "Unit": format!("{:?}", metric.unit())}));
            }
            if metrics.is_empty() {
                return lines;
            }
            let dimensions = match &self.job {
                None => json!([[]]),
                Some(job) => {
                    line.insert(JOB.to_owned(), json!(job));
                    json!([[], [JOB]])
                }
            };
            line.insert(
                "_aws".to_owned(),
                json!({
                    "Timestamp": at.millis(),
                    "CloudWatchMetrics": [{"Namespace": namespace, "Dimensions": dimensions, "Metrics": metrics}],
                }),
            );
            lines.push(line);
        }
        lines
    }
}

/// Writes the lines.
pub(crate) fn write(sheets: &[Sheet], namespace: &str, at: Timestamp, request: &str) {
    for line in sheets.iter().flat_map(|sheet| sheet.lines(namespace, at)) {
        // CloudWatch takes nothing but what `_aws` names; the words are for people who read the log.
        let of = match line.get(JOB).and_then(Value::as_str) {
            Some(job) => format!("the job {job}"),
            None => "this call".to_owned(),
        };
        let text = Value::Object(line).to_string();
        tracing::info!(target: TARGET, request, metrics = text, "metrics of {of}");
    }
}

/// Whether CloudWatch takes it as a namespace.
pub(crate) fn is_namespace(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || ".-_/#:".contains(c);
    (1..=255).contains(&text.len())
        && text.chars().all(allowed)
        && !text.starts_with([':', '/'])
        && !text.starts_with("AWS/")
}

#[cfg(test)]
pub(crate) mod made;
#[cfg(test)]
mod tests;
