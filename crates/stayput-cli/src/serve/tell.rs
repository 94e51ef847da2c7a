//! What is printed: one JSON object in each line, told apart by its only field but the time.

use std::io::Write;
use std::net::SocketAddr;

use serde::Serialize;
use stayput_core::report::finding::Finding;
use stayput_core::report::verdict::VerdictDocument;
use stayput_core::timestamp::Timestamp;
use stayput_core::verdict::{Basis, Outcome};
use stayput_guard::batch::{Acted, BatchReport, Summary};
use stayput_guard::sweep::{SweepReport, SweepSummary};

use super::measures::now;
use crate::terminal::ShownJson;

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Line<'a> {
    Started {
        listens: SocketAddr,
        mode: &'static str,
        takes_notifications: bool,
        queues: &'a [String],
    },
    Verdict(Box<VerdictDocument>),
    Finding(&'a Finding),
    Summary(&'a Summary),
    Sweep {
        seen: &'a SweepSummary,
        unread: &'a [String],
        unknown: &'a [String],
    },
    Trouble(&'a str),
    Ended {
        left_to_the_sweep: usize,
    },
}

#[derive(Serialize)]
struct Timed<'a> {
    time: Timestamp,
    #[serde(flatten)]
    line: Line<'a>,
}

fn line(line: Line<'_>) {
    let timed = Timed {
        time: Timestamp::from_millis(now()),
        line,
    };
    let text = serde_json::to_string(&timed).unwrap_or_default();
    let mut out = std::io::stdout().lock();
    // If nobody can be told, the work goes on: /metrics and /health tell.
    let _ = writeln!(out, "{}", ShownJson(&text)).and_then(|()| out.flush());
}

pub(super) fn started(listens: SocketAddr, restores: bool, takes_notifications: bool, queues: &[String]) {
    line(Line::Started {
        listens,
        mode: if restores { "restore" } else { "observe" },
        takes_notifications,
        queues,
    });
}

pub(super) fn ended(left_to_the_sweep: usize) {
    line(Line::Ended { left_to_the_sweep });
}

pub(super) fn trouble(what: &str) {
    line(Line::Trouble(what));
}

/// Flink's own clean-up is most of what comes; it is only counted.
fn is_quiet(acted: &Acted) -> bool {
    matches!(acted.verdict.outcome, Outcome::Leave(_)) && acted.verdict.basis != Basis::Unknown
}

pub(super) fn batch(report: &BatchReport) {
    for acted in report.verdicts.iter().filter(|acted| !is_quiet(acted)) {
        line(Line::Verdict(Box::new(acted.document())));
    }
    for finding in &report.findings {
        line(Line::Finding(finding));
    }
    for warning in &report.warnings {
        trouble(warning);
    }
    line(Line::Summary(&report.summary));
}

pub(super) fn sweep(report: &SweepReport) {
    batch(&report.judged);
    line(Line::Sweep {
        seen: &report.seen,
        unread: &report.unread,
        unknown: &report.unknown,
    });
}
