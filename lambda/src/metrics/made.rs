//! Sweeps made up for tests.

use std::collections::BTreeMap;
use std::time::Duration;

use stayput_core::forecast::{
    Amount, BucketForecast, FORM, Forecast, Harm, HarmKind, JobAge, PutBack, RuleName,
};
use stayput_core::snapshot::JobDirectory;
use stayput_core::timestamp::Timestamp;
use stayput_guard::batch::BatchReport;
use stayput_guard::sweep::{Progress, SweepReport, SweepSummary};

pub(crate) fn now() -> Timestamp {
    Timestamp::parse("2026-11-30T05:30:00Z").unwrap()
}

/// The directory of the n-th job, as a URL.
pub(crate) fn url(n: u32) -> String {
    job(&format!("{n:032x}")).to_string()
}

pub(crate) fn job(name: &str) -> JobDirectory {
    JobDirectory {
        bucket: "flink-state".to_owned(),
        prefix: format!("checkpoints/{name}/"),
    }
}

fn days(days: u64) -> Duration {
    Duration::from_secs(days * 86_400)
}

fn harm(name: &str, first: Timestamp) -> Harm {
    Harm {
        job: job(name),
        rule: RuleName { number: 1, id: None },
        kind: HarmKind::Hide,
        days: Some(30),
        date: None,
        depends_on: None,
        amount: Amount::default(),
        due: 0,
        of_unknown_age: 0,
        first: Some(first),
        last: None,
        by_day: BTreeMap::new(),
        examples: Vec::new(),
        snapshots: Vec::new(),
        put_back: PutBack::Always,
    }
}

/// A sweep over `jobs` jobs: the n-th is n hours from its newest checkpoint and needs an object that is n days old; the last runs no more,
/// and a rule takes something of the last but one tomorrow.
pub(crate) fn swept(jobs: u32) -> SweepReport {
    let name = |n: u32| format!("{n:032x}");
    let ages = (0..jobs).map(|n| JobAge {
        job: job(&name(n)),
        needed: Amount::default(),
        shared: 0,
        oldest: None,
        oldest_written: Some(now().minus(days(u64::from(n)))),
        days_today: None,
    });
    let progress = (0..jobs).map(|n| Progress {
        job: job(&name(n)),
        newest: now().minus(Duration::from_secs(u64::from(n) * 3600)),
        runs: n + 1 < jobs,
    });
    let harmed = name(jobs.saturating_sub(2));
    SweepReport {
        judged: BatchReport::default(),
        forecast: Forecast {
            form: FORM,
            now: now(),
            buckets: vec![BucketForecast {
                bucket: "flink-state".to_owned(),
                versioning: "enabled",
                needed: Amount::default(),
                unlisted: 0,
                archived: Amount::default(),
                perhaps_archived: 0,
                hidden: 0,
                hidden_examples: Vec::new(),
                harms: vec![
                    harm(&harmed, now().plus(days(9))),
                    harm(&harmed, now().midnight().plus(days(1))),
                ],
                snapshots: Vec::new(),
                ages: ages.collect(),
                aborts: Vec::new(),
                correction: None,
            }],
            without_rules: BTreeMap::new(),
        },
        progress: progress.collect(),
        seen: SweepSummary::default(),
        unread: Vec::new(),
        unknown: Vec::new(),
    }
}
