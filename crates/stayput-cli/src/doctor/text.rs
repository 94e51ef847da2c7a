//! The answer for people: what was found first, by how bad it is, then what isn't known, then what is fine.

use std::cmp::Reverse;
use std::io::{self, Write};

use stayput_core::report::finding::Severity;
use stayput_guard::doctor::{Check, Diagnosis, Facts, Status};

use super::Summary;
use crate::terminal::Shown;

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Notice => "notice",
        Severity::Warning => "warning",
        Severity::Urgent => "urgent",
        Severity::Lost => "lost",
    }
}

pub(super) fn write(
    facts: &Facts,
    checks: &[Check],
    summary: Summary,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut found: Vec<&Diagnosis> = checks.iter().flat_map(|check| &check.findings).collect();
    found.sort_by_key(|diagnosis| Reverse(diagnosis.severity));
    for diagnosis in found {
        writeln!(
            out,
            "{:<8} {}  {}",
            word(diagnosis.severity),
            diagnosis.code,
            Shown(&diagnosis.about)
        )?;
        for text in [&diagnosis.what, &diagnosis.why, &diagnosis.fix] {
            if !text.is_empty() {
                writeln!(out, "         {}", Shown(text))?;
            }
        }
        if let Some(command) = &diagnosis.command {
            writeln!(out, "         $ {}", Shown(command))?;
        }
        writeln!(out)?;
    }
    for check in checks {
        for why in &check.unknown {
            writeln!(
                out,
                "unknown  {}: {}.",
                check.check,
                Shown(why.trim_end_matches('.'))
            )?;
        }
    }
    for check in checks.iter().filter(|check| check.status == Status::Fine) {
        let seen = check.seen.join(" ");
        writeln!(out, "fine     {}: {}", check.check, Shown(&seen))?;
    }
    writeln!(
        out,
        "{}: {} checks fine, {} with findings, {} not known",
        Shown(&facts.place.to_string()),
        summary.fine,
        summary.finding,
        summary.unknown
    )
}
