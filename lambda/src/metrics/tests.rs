//! What the lines of sheets are, by the specification of the format.

use std::collections::BTreeSet;
use std::path::Path;

use stayput_guard::sweep::Progress;
use stayput_tests::embedded_metrics::{Measured, measured};

use super::made::{job, now, swept, url};
use super::*;

fn taken(sheets: &[Sheet]) -> Vec<Measured> {
    let lines: Vec<Value> = sheets
        .iter()
        .flat_map(|sheet| sheet.lines("Stayput", now()))
        .map(Value::Object)
        .collect();
    measured(&lines)
}

#[test]
fn more_than_a_hundred_values_go_into_further_lines_and_none_is_lost() {
    let mut sheet = Sheet::default();
    for millis in 0..250 {
        sheet.value(Metric::TimeToRestore, millis);
    }
    sheet.count(Metric::Restored, 250);
    sheet.count(Metric::Failed, 0);
    let lines = sheet.lines("Stayput", now());
    assert_eq!(lines.len(), 3);
    let taken = taken(&[sheet]);
    let times = taken.iter().filter(|m| m.name == "TimeToRestore");
    let times: Vec<f64> = times.flat_map(|m| m.values.clone()).collect();
    assert_eq!(times, (0..250).map(f64::from).collect::<Vec<_>>());
    // What has one value stands in one line, and what there is nothing of in none.
    assert_eq!(taken.iter().filter(|m| m.name == "Restored").count(), 1);
    assert!(taken.iter().all(|m| m.name != "Failed"));
    assert!(Sheet::default().lines("Stayput", now()).is_empty());
}

#[test]
fn a_line_of_numbers_says_to_people_what_it_is_and_cloudwatch_takes_the_numbers_all_the_same() {
    let mut call = Sheet::default();
    call.count(Metric::Restored, 3);
    let mut of_job = Sheet::of_job(url(0));
    of_job.count(Metric::Restored, 2);
    let text = crate::log::written(|| write(&[call, of_job], "Stayput", now(), "r-1"));
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let messages: Vec<&str> = lines
        .iter()
        .map(|line| line["message"].as_str().unwrap())
        .collect();
    assert_eq!(
        messages,
        [
            "metrics of this call".to_owned(),
            format!("metrics of the job {}", url(0))
        ]
    );
    let taken = measured(&lines);
    assert!(taken.iter().all(|m| m.name == "Restored"), "{taken:?}");
    assert_eq!(
        taken.len(),
        3,
        "once for the call, and of the job with and without it"
    );
}

#[test]
fn every_metric_has_its_row_with_its_unit_in_the_documentation() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/metrics.md");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    let documented: BTreeMap<&str, &str> = rows
        .iter()
        .map(|row| (row[1].trim_matches('`'), row[2]))
        .collect();
    let measured: BTreeMap<&str, String> = Metric::ALL
        .iter()
        .map(|metric| (metric.name(), format!("{:?}", metric.unit())))
        .collect();
    assert!(measured.len() >= 35);
    let measured: BTreeMap<&str, &str> = measured.iter().map(|(name, unit)| (*name, &**unit)).collect();
    assert_eq!(documented, measured);
}

#[test]
fn a_namespace_is_what_cloudwatch_takes() {
    for good in ["Stayput", "Stayput/my-stack_2", "a.b:c#d"] {
        assert!(is_namespace(good), "{good}");
    }
    for bad in ["", "AWS/Lambda", "with space", ":x", "\u{f6}", &"x".repeat(256)] {
        assert!(!is_namespace(bad), "{bad}");
    }
}

#[test]
fn a_job_has_its_ages_and_the_time_until_a_rule_takes_something() {
    let (sheets, others) = of_jobs(&swept(4));
    assert_eq!(others, 0);
    let taken = taken(&sheets);
    let of = |metric: Metric| -> BTreeMap<Option<&str>, Vec<f64>> {
        let mut all: BTreeMap<Option<&str>, Vec<f64>> = BTreeMap::new();
        for m in taken.iter().filter(|m| m.name == metric.name()) {
            let job = m.dimensions.get(JOB).map(String::as_str);
            all.entry(job).or_default().extend(&m.values);
        }
        all
    };
    let urls = [0, 1, 2, 3].map(url);
    // Each once for its job, and once for all jobs together, which alarms look at.
    let both = |values: &[(usize, f64)]| -> BTreeMap<Option<&str>, Vec<f64>> {
        let mut all: BTreeMap<Option<&str>, Vec<f64>> = BTreeMap::new();
        for (job, value) in values {
            all.insert(Some(urls[*job].as_str()), vec![*value]);
            all.entry(None).or_default().push(*value);
        }
        all
    };
    let day = 86_400.0;
    // Job 2 loses something tomorrow; the others come by how long they have no checkpoint, and what runs no more comes last.
    assert_eq!(
        of(Metric::OldestNeededAge),
        both(&[(2, 2.0 * day), (1, day), (0, 0.0), (3, 3.0 * day)])
    );
    // Job 3 runs no more, so nobody waits for its next checkpoint.
    assert_eq!(
        of(Metric::HoursSinceCheckpoint),
        both(&[(2, 2.0), (1, 1.0), (0, 0.0)])
    );
    // The nearer of two; from 05:30 to midnight.
    assert_eq!(of(Metric::HoursUntilLoss), both(&[(2, 18.5)]));
}

#[test]
fn thirty_jobs_have_numbers_of_their_own_and_all_others_are_visible_together() {
    let (sheets, others) = of_jobs(&swept(250));
    assert_eq!(others, 250 - of_jobs::JOBS_AT_MOST as u64);
    let taken = taken(&sheets);
    let mut jobs: Vec<&str> = taken
        .iter()
        .filter_map(|m| m.dimensions.get(JOB))
        .map(String::as_str)
        .collect();
    jobs.dedup();
    // First the one that loses something, then those that wait longest for a checkpoint.
    assert_eq!(jobs[..3], [url(248), url(247), url(246)]);
    let distinct: BTreeSet<&str> = jobs.iter().copied().collect();
    assert_eq!(distinct.len(), of_jobs::JOBS_AT_MOST + 1);
    // No job's number is lost: the others' stand together, and in what counts without a job.
    for (metric, count) in [
        (Metric::OldestNeededAge, 250),
        (Metric::HoursSinceCheckpoint, 249),
    ] {
        let numbers = |with: fn(Option<&String>) -> bool| -> Vec<f64> {
            let named = taken
                .iter()
                .filter(|m| m.name == metric.name() && with(m.dimensions.get(JOB)));
            let mut all: Vec<f64> = named.flat_map(|m| m.values.clone()).collect();
            all.sort_by(f64::total_cmp);
            all
        };
        assert_eq!(numbers(|job| job.is_none()).len(), count);
        assert_eq!(numbers(|job| job.is_none()), numbers(|job| job.is_some()));
        assert!(numbers(|job| job.is_some_and(|j| j == of_jobs::OTHERS)).len() > 100);
    }
}

#[test]
fn a_directory_of_any_name_becomes_a_dimension_or_one_of_the_others() {
    let mut report = swept(2);
    let names = ["j\u{f6}b \u{1f600}", "a\u{7}b\nc", &"\u{f6}".repeat(500)];
    for (progress, name) in report.progress.iter_mut().zip(names) {
        progress.job = job(name);
        progress.runs = true;
    }
    report.progress.push(Progress {
        job: job(names[2]),
        newest: now(),
        runs: true,
    });
    report.forecast.buckets.clear();
    let (sheets, others) = of_jobs(&report);
    // Each of the 500 letters takes six bytes, escaped: more than CloudWatch takes.
    assert_eq!(others, 1);
    let taken = taken(&sheets);
    let mut jobs: Vec<&str> = taken
        .iter()
        .filter_map(|m| m.dimensions.get(JOB))
        .map(String::as_str)
        .collect();
    jobs.sort_unstable();
    assert_eq!(
        jobs,
        [
            "others",
            "s3://flink-state/checkpoints/a%07b%0Ac/",
            "s3://flink-state/checkpoints/j%C3%B6b%20%F0%9F%98%80/"
        ]
    );
}
