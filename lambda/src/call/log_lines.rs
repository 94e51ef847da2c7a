//! The lines that infra/template.yaml reads metrics from.

use std::collections::BTreeMap;
use std::path::Path;

use stayput_core::report::finding::{Finding, FindingCode, Severity};
use stayput_core::timestamp::Timestamp;

use super::*;
use crate::log;

fn finding(code: FindingCode, now: Timestamp) -> Finding {
    let days = match code {
        FindingCode::RuleWillHideNeeded => Some(30),
        code if code.is_forecast() => Some(6),
        FindingCode::DeletedAsAWhole => Some(2),
        _ => None,
    };
    let mut finding = Finding::new(code, "s3://flink-state/checkpoints/job/chk-8/_metadata");
    finding.count("s3://flink-state/checkpoints/job/shared/a");
    // As the forecast has it: urgent only in the last seven days.
    if code == FindingCode::RuleWillHideNeeded {
        finding.severity = Severity::Warning;
    }
    finding.deadline = days.map(|days| now.plus(std::time::Duration::from_secs(days * 86_400 + 3600)));
    finding
}

fn summary(way: &'static str, number: u64) -> CallSummary {
    CallSummary {
        way,
        deletions: 31,
        malformed: 1,
        panicked: 2,
        sweep: (way == "scheduled").then(SweepSummary::default),
        guard: Summary {
            messages: 4,
            judged: 31,
            left: BTreeMap::from([("spare", 20)]),
            restored: number,
            later: 3,
            reported: 1,
            lost: 1,
            failed: 2,
            ..Summary::default()
        },
        ..CallSummary::default()
    }
}

/// `infra/checks` asks these lines whether each filter finds its own and no other. If the lines are right and the file is old,
/// `STAYPUT_KEEP=1` writes it anew.
#[test]
fn the_lines_that_the_template_was_checked_with_are_those_that_the_function_writes() {
    let now = Timestamp::parse("2026-11-30T04:00:00Z").unwrap();
    let written = log::written(|| {
        let report = BatchReport {
            findings: FindingCode::ALL.map(|code| finding(code, now)).to_vec(),
            ..BatchReport::default()
        };
        tell::report(&report, "request");
        summarize(&summary("queue", 3), "request");
        summarize(&summary("scheduled", 5), "request");
    });
    let lines: Vec<Value> = written
        .lines()
        .map(|line| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            line["time"] = Value::from(now.to_string());
            line
        })
        .collect();
    assert_eq!(lines.len(), FindingCode::ALL.len() + 2);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../infra/checks/log.jsonl");
    if std::env::var_os("STAYPUT_KEEP").is_some() {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(&path, text).unwrap();
    }
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let before: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for (line, before) in lines.iter().zip(&before) {
        assert_eq!(line, before, "if the line is right, STAYPUT_KEEP=1 keeps it");
    }
    assert_eq!(lines.len(), before.len());
}
