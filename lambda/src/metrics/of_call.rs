//! The numbers of one call.

use std::collections::BTreeMap;

use stayput_core::report::finding::{Finding, FindingCode, Severity};
use stayput_guard::batch::{BatchReport, Done, Summary};

use super::{Metric, Sheet};

/// What a call measures that its summary doesn't say.
#[derive(Default, Debug)]
pub(crate) struct Collected {
    /// From the marker that hid an object to the end of the call that copied it, in milliseconds.
    restore_millis: Vec<u64>,
    findings: BTreeMap<Metric, u64>,
}

impl Collected {
    pub(crate) fn add(&mut self, report: &BatchReport) {
        for acted in &report.verdicts {
            if let (Done::Copied { .. } | Done::Unhidden { .. }, Some(deleted_at), Some(acted_at)) =
                (&acted.done, acted.deleted_at, report.acted_at)
            {
                let millis = acted_at.since(deleted_at).as_millis();
                self.restore_millis
                    .push(u64::try_from(millis).unwrap_or(u64::MAX));
            }
        }
        for metric in report.findings.iter().flat_map(metrics_of) {
            *self.findings.entry(metric).or_default() += 1;
        }
    }
}

/// What a finding counts as.
fn metrics_of(finding: &Finding) -> impl Iterator<Item = Metric> {
    let urgent = finding.severity == Severity::Urgent;
    let counts = [
        (Metric::Findings, true),
        (Metric::Lost, finding.severity == Severity::Lost),
        // A forecast is urgent in the last seven days, and has a metric of its own; a rule that takes copies is a repeat offence.
        (
            Metric::Urgent,
            urgent && !finding.code.is_forecast() && finding.code != FindingCode::RuleTakesCopies,
        ),
        (Metric::RuleWillHurt, urgent && finding.code.is_forecast()),
        (Metric::CannotJudge, finding.code == FindingCode::CannotJudge),
        (
            Metric::RepeatOffence,
            matches!(
                finding.code,
                FindingCode::RepeatOffence | FindingCode::Held | FindingCode::RuleTakesCopies
            ),
        ),
    ];
    counts
        .into_iter()
        .filter_map(|(metric, fits)| fits.then_some(metric))
}

/// What the summary counts, what was collected, and the requests to S3 by operation.
pub(crate) fn of_call(
    summary: &Summary,
    collected: Collected,
    requests: &BTreeMap<String, u64>,
    more: impl IntoIterator<Item = (Metric, u64)>,
) -> Sheet {
    let mut sheet = Sheet::default();
    for (metric, count) in more {
        sheet.count(metric, count);
    }
    let mut counts: BTreeMap<Metric, u64> = collected.findings;
    for (cause, count) in &summary.by_cause {
        *counts.entry(of_cause(cause)).or_default() += count;
    }
    for (operation, count) in requests {
        *counts.entry(of_request(operation)).or_default() += count;
    }
    counts.extend([
        (Metric::Left, summary.left.values().sum()),
        (Metric::Restored, summary.restored),
        (Metric::Unhidden, summary.unhidden),
        (Metric::Repaired, summary.repaired),
        (Metric::RestoredBytes, summary.restored_bytes),
        (Metric::Waiting, summary.later),
        (Metric::BudgetSpent, summary.over_budget),
        (Metric::Reported, summary.reported),
        (Metric::LostObjects, summary.lost),
        (Metric::Failed, summary.failed),
    ]);
    for (metric, count) in counts {
        sheet.count(metric, count);
    }
    for millis in collected.restore_millis {
        sheet.value(Metric::TimeToRestore, millis);
    }
    sheet
}

/// By the words of `stayput_core::cause::Cause`.
fn of_cause(word: &str) -> Metric {
    match word {
        "lifecycle" => Metric::DeletedByLifecycle,
        "Flink" => Metric::DeletedByFlink,
        "foreign" => Metric::DeletedByForeign,
        "ours" => Metric::DeletedByStayput,
        _ => Metric::DeletedByUnknown,
    }
}

/// S3 bills them by these kinds.
fn of_request(operation: &str) -> Metric {
    match operation {
        "ListObjectsV2" | "ListObjectVersions" => Metric::ListRequests,
        "HeadObject" => Metric::HeadRequests,
        "GetObject" => Metric::GetRequests,
        "CopyObject" => Metric::CopyRequests,
        "PutObject" => Metric::PutRequests,
        "GetBucketVersioning" | "GetBucketLifecycleConfiguration" => Metric::SettingsRequests,
        _ => Metric::OtherRequests,
    }
}

#[cfg(test)]
mod tests {
    use stayput_core::cause::Cause;

    use super::*;

    #[test]
    fn every_cause_has_its_metric_and_only_what_nobody_knows_is_unknown() {
        let causes = [
            Cause::Lifecycle,
            Cause::Flink,
            Cause::Foreign("AWS:AROAX".to_owned()),
            Cause::Ours,
            Cause::Unknown,
        ];
        let mut metrics: Vec<Metric> = causes.iter().map(|cause| of_cause(cause.word())).collect();
        metrics.dedup();
        assert_eq!(metrics.len(), 5);
        assert_eq!(of_cause(Cause::Unknown.word()), Metric::DeletedByUnknown);
    }

    #[test]
    fn each_finding_counts_once_as_a_finding_and_where_an_alarm_waits_for_it() {
        let counted = |metric: Metric| -> Vec<&str> {
            let all = FindingCode::ALL.map(|code| Finding::new(code, "s3://b/k"));
            let of_metric = all.iter().filter(|f| metrics_of(f).any(|m| m == metric));
            of_metric.map(|f| f.code.text()).collect()
        };
        let of_severity = |severity: Severity| -> Vec<&str> {
            let all = FindingCode::ALL.iter().filter(|code| code.severity() == severity);
            all.map(|code| code.text()).collect()
        };
        assert_eq!(counted(Metric::Findings).len(), FindingCode::ALL.len());
        assert_eq!(counted(Metric::Lost), of_severity(Severity::Lost));
        assert_eq!(counted(Metric::CannotJudge), ["cannot_judge"]);
        assert_eq!(
            counted(Metric::RepeatOffence),
            ["repeat_offence", "held", "rule_takes_copies"]
        );
        // What is urgent rings one alarm at least.
        let (urgent, forecast) = (counted(Metric::Urgent), counted(Metric::RuleWillHurt));
        assert!(urgent.iter().all(|code| !code.starts_with("rule_")), "{urgent:?}");
        assert!(
            forecast.iter().all(|code| code.starts_with("rule_will_")),
            "{forecast:?}"
        );
        let mut rings: Vec<&str> = [urgent, forecast, counted(Metric::RepeatOffence)].concat();
        rings.sort_unstable();
        let mut all = of_severity(Severity::Urgent);
        assert!(all.len() >= 15, "{all:?}");
        all.retain(|code| rings.binary_search(code).is_err());
        assert_eq!(all, Vec::<&str>::new());
        // In its last seven days only.
        let mut far = Finding::new(FindingCode::RuleWillHideNeeded, "s3://b/k");
        far.severity = Severity::Warning;
        assert!(metrics_of(&far).all(|metric| metric == Metric::Findings));
    }

    #[test]
    fn requests_are_counted_by_kind_and_none_is_forgotten() {
        let requests: BTreeMap<String, u64> = [
            ("ListObjectsV2", 2),
            ("ListObjectVersions", 3),
            ("GetObject", 1),
            ("RestoreObject", 7),
        ]
        .map(|(name, count)| (name.to_owned(), count))
        .into();
        let sheet = of_call(&Summary::default(), Collected::default(), &requests, []);
        let written: Vec<(&str, String)> = sheet
            .values
            .iter()
            .map(|(metric, values)| (metric.name(), format!("{values:?}")))
            .collect();
        let one = |n: u64| format!("[Number({n})]");
        assert_eq!(
            written,
            [
                ("ListRequests", one(5)),
                ("GetRequests", one(1)),
                ("OtherRequests", one(7))
            ]
        );
    }
}
