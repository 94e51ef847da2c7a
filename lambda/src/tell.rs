//! What a call says in the log: a line for each verdict that acts, waits, reports or doesn't know, and one summary.

use serde::Serialize;
use stayput_core::report::finding::{Finding, Severity};
use stayput_core::verdict::{Basis, Outcome};
use stayput_guard::batch::{Acted, BatchReport, Done};

use crate::log::TARGET;

fn json(document: &impl Serialize) -> String {
    // Only maps with keys that aren't text fail, and these documents have none.
    serde_json::to_string(document).unwrap_or_default()
}

pub(crate) fn report(report: &BatchReport, request: &str) {
    for acted in &report.verdicts {
        verdict(acted, request);
    }
    for f in &report.findings {
        finding(f, request);
    }
    for warning in &report.warnings {
        tracing::warn!(target: TARGET, request, "{warning}");
    }
}

fn verdict(acted: &Acted, request: &str) {
    let quiet = matches!(acted.verdict.outcome, Outcome::Leave(_)) && acted.verdict.basis != Basis::Unknown;
    if quiet && !tracing::enabled!(target: TARGET, tracing::Level::DEBUG) {
        return;
    }
    let document = acted.document();
    let (text, verdict) = (document.sentence.as_str(), json(&document));
    if quiet {
        tracing::debug!(target: TARGET, request, verdict, "{text}");
    } else if matches!(acted.done, Done::Failed(_)) {
        tracing::error!(target: TARGET, request, verdict, "{text}");
    } else if matches!(acted.verdict.outcome, Outcome::Lost(_) | Outcome::Report(_)) {
        tracing::warn!(target: TARGET, request, verdict, "{text}");
    } else {
        tracing::info!(target: TARGET, request, verdict, "{text}");
    }
}

fn finding(finding: &Finding, request: &str) {
    let document = json(finding);
    match finding.severity {
        Severity::Lost => tracing::error!(target: TARGET, request, finding = document, "{finding}"),
        Severity::Urgent | Severity::Warning => {
            tracing::warn!(target: TARGET, request, finding = document, "{finding}");
        }
        Severity::Notice => tracing::info!(target: TARGET, request, finding = document, "{finding}"),
    }
}
