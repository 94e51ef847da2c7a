//! What the guard says, for people and for programs, and the exit status.

use std::fmt::Write as _;
use std::io::{self, Write};

use serde::Serialize;
use stayput_core::forecast::Forecast;
use stayput_core::report::finding::Finding;
use stayput_core::report::verdict::{Done, VerdictDocument};
use stayput_core::verdict::{Basis, Outcome};
use stayput_guard::batch::{Acted, BatchReport, Summary};
use stayput_guard::sweep::{SweepReport, SweepSummary};

use super::{Events, Output, Unreadable};
use crate::exit::Exit;
use crate::quantity::Count;
use crate::terminal::{Shown, ShownJson, complain};

/// What came of a call.
pub(super) enum Told<'e> {
    OfEvents(&'e Events, Box<BatchReport>),
    OfSweep(Box<SweepReport>),
}

impl Told<'_> {
    pub(super) fn judged(&self) -> &BatchReport {
        match self {
            Self::OfEvents(_, report) => report,
            Self::OfSweep(report) => &report.judged,
        }
    }

    fn unreadable(&self) -> &[Unreadable] {
        match self {
            Self::OfEvents(events, _) => &events.unreadable,
            Self::OfSweep(_) => &[],
        }
    }

    fn sweep(&self) -> Option<&SweepReport> {
        match self {
            Self::OfEvents(..) => None,
            Self::OfSweep(report) => Some(report),
        }
    }

    /// What couldn't be read, now or at all, with a word for which.
    fn gaps(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let sweep = self.sweep();
        let unread = sweep.map_or(&[][..], |s| &s.unread).iter();
        let unknown = sweep.map_or(&[][..], |s| &s.unknown).iter();
        let unread = unread.map(|what| ("unread", what.as_str()));
        unread.chain(unknown.map(|what| ("unknown", what.as_str())))
    }
}

fn exit_of(told: &Told<'_>) -> Exit {
    let mut exit = Exit::Fine;
    let report = told.judged();
    if !told.unreadable().is_empty() || told.gaps().next().is_some() {
        exit = exit.and(Exit::CantTell);
    }
    if !report.findings.is_empty() {
        exit = exit.and(Exit::Findings);
    }
    for Acted { verdict, done, .. } in &report.verdicts {
        exit = exit.and(match (&verdict.outcome, done) {
            (_, Done::Failed(_) | Done::Unfinished { .. }) => Exit::CantTell,
            _ if verdict.basis == Basis::Unknown => Exit::CantTell,
            (Outcome::Later { .. }, _) => Exit::CantTell,
            (Outcome::Report(_) | Outcome::Lost(_), _) => Exit::Findings,
            (
                Outcome::Restore(_),
                Done::Copied { .. } | Done::AlreadyCopied | Done::Unhidden { .. } | Done::WrittenByOthers,
            ) => Exit::Fine,
            (Outcome::Restore(_), Done::Nothing | Done::WouldCopy | Done::ThawAsked { .. }) => Exit::Findings,
            (Outcome::Leave(_), _) => Exit::Fine,
        });
    }
    exit
}

pub(super) fn write(told: &Told<'_>, output: Output, out: &mut dyn Write) -> io::Result<Exit> {
    match output {
        Output::Text => write_text(told, out)?,
        Output::Ndjson => write_ndjson(told, out)?,
    }
    // They change nothing of the answer.
    for warning in &told.judged().warnings {
        complain(format_args!("stayput: {}", Shown(warning)));
    }
    Ok(exit_of(told))
}

fn write_text(told: &Told<'_>, out: &mut dyn Write) -> io::Result<()> {
    let report = told.judged();
    for Unreadable { line, error } in told.unreadable() {
        writeln!(
            out,
            "message  line {line} can't be read: {}",
            Shown(&error.to_string())
        )?;
    }
    for acted in &report.verdicts {
        let document = acted.document();
        match (&acted.verdict.outcome, &document.reason) {
            // Flink's own clean-up is most of what comes: one line each.
            (Outcome::Leave(_), Some(reason)) => {
                writeln!(out, "leave    {} ({reason})", Shown(&document.object))?;
            }
            _ => {
                writeln!(out, "{:<8} {}", document.outcome, Shown(&document.object))?;
                writeln!(out, "         {}", Shown(&document.sentence))?;
            }
        }
    }
    for finding in &report.findings {
        writeln!(out, "finding  {}", Shown(&finding.to_string()))?;
    }
    let put_back = |acted: &&Acted| {
        matches!(
            acted.done,
            Done::Copied { .. } | Done::AlreadyCopied | Done::Unhidden { .. }
        )
    };
    let put_back = report.verdicts.iter().filter(put_back).count() as u64;
    for (word, what) in told.gaps() {
        writeln!(out, "{word:<8} {}", Shown(what))?;
    }
    if let Some(sweep) = told.sweep() {
        writeln!(out, "{}", sweep_text(&sweep.seen))?;
    }
    writeln!(out, "{}", summary_text(&report.summary, put_back))
}

/// What was looked at.
fn sweep_text(seen: &SweepSummary) -> String {
    let by_word = |counts: &std::collections::BTreeMap<&'static str, u64>| {
        let parts: Vec<String> = counts.iter().map(|(word, n)| format!("{n} {word}")).collect();
        parts.join(", ")
    };
    let mut text = format!(
        "{} looked at",
        Count(seen.objects, "needed object", "needed objects")
    );
    for (counts, what) in [
        (&seen.whole, "whole"),
        (&seen.incomplete, "with something missing"),
    ] {
        if !counts.is_empty() {
            // Writing to a string can't fail.
            let _ = write!(text, "; {what}: {}", by_word(counts));
        }
    }
    for (n, what) in [
        (seen.unreadable, "snapshots that can't be read"),
        (
            seen.young,
            "deleted just now, left to their messages or the next sweep",
        ),
        (seen.told_before, "told of before"),
    ] {
        if n > 0 {
            let _ = write!(text, "; {n} {what}");
        }
    }
    for (counts, what) in [
        (&seen.before_protection, "hidden before protect_since and left"),
        (&seen.missed_by_spares, "missing from spare checkpoints and left"),
    ] {
        if !counts.is_empty() {
            let _ = write!(text, "; {what}: {}", by_word(counts));
        }
    }
    text
}

/// In numbers; `put_back` of those that were to be restored are back.
fn summary_text(summary: &Summary, put_back: u64) -> String {
    let left: u64 = summary.left.values().sum();
    let mut text = String::new();
    if summary.messages > 0 {
        let _ = write!(text, "{}, ", Count(summary.messages, "message", "messages"));
    }
    let _ = write!(
        text,
        "{} judged: {left} left",
        Count(summary.judged, "object", "objects")
    );
    if left > 0 {
        let reasons: Vec<String> = summary.left.iter().map(|(why, n)| format!("{n} {why}")).collect();
        // Writing to a string can't fail.
        let _ = write!(text, " ({})", reasons.join(", "));
    }
    for (n, what) in [
        (put_back, "put back"),
        (summary.restored.saturating_sub(put_back), "to restore"),
        (summary.later, "to be looked at again"),
        (summary.reported, "reported"),
        (summary.lost, "lost"),
        (summary.failed, "failed"),
        (summary.outside, "outside of every root"),
    ] {
        if n > 0 {
            let _ = write!(text, ", {n} {what}");
        }
    }
    let _ = write!(
        text,
        "; {} of {} known",
        Count(summary.snapshots, "snapshot", "snapshots"),
        Count(summary.jobs, "job directory", "job directories")
    );
    if summary.paused {
        text.push_str("; paused: nothing is restored until stayput resume");
    }
    text
}

/// One line of ndjson, told apart by its only field.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Line<'a> {
    Unreadable { line: usize, message: String },
    Verdict(Box<VerdictDocument>),
    Finding(&'a Finding),
    Unread(&'a str),
    Unknown(&'a str),
    Forecast(&'a Forecast),
    Sweep(&'a SweepSummary),
    Summary(&'a Summary),
}

fn write_ndjson(told: &Told<'_>, out: &mut dyn Write) -> io::Result<()> {
    let report = told.judged();
    let unreadable = told.unreadable().iter().map(|unreadable| Line::Unreadable {
        line: unreadable.line,
        message: unreadable.error.to_string(),
    });
    let verdicts = report
        .verdicts
        .iter()
        .map(|acted| Line::Verdict(Box::new(acted.document())));
    let findings = report.findings.iter().map(Line::Finding);
    let summary = std::iter::once(Line::Summary(&report.summary));
    let gaps = told.gaps().map(|(word, what)| match word {
        "unread" => Line::Unread(what),
        _ => Line::Unknown(what),
    });
    let sweep = told
        .sweep()
        .into_iter()
        .flat_map(|s| [Line::Forecast(&s.forecast), Line::Sweep(&s.seen)]);
    let lines = unreadable.chain(verdicts).chain(findings).chain(gaps);
    for line in lines.chain(sweep).chain(summary) {
        let text = serde_json::to_string(&line)?;
        writeln!(out, "{}", ShownJson(&text))?;
    }
    Ok(())
}
