//! What changes, for people and for programs.

use std::io::{self, Write};

use s3_documents::notification_configuration::{Change, Overlap};
use serde::Serialize;

use super::{Listed, Plan, TARGETS};
use crate::terminal::{Shown, ShownJson};

/// The form of the document; it grows by fields only.
const FORM: u32 = 1;

/// A line with `+`, `-` or nothing before it.
fn line(change: &Change) -> (char, String) {
    match change {
        Change::Kept(there) => (' ', there.to_string()),
        Change::Removed(there) => ('-', there.to_string()),
        Change::Added(wanted) => ('+', wanted.to_string()),
        Change::ToEventBridge => ('+', "all events to EventBridge".to_owned()),
    }
}

pub(super) fn plan(plan: &Plan, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "What s3://{} sends:", Shown(&plan.bucket))?;
    match &plan.merged {
        Ok(merged) => {
            for (sign, text) in merged.changes.iter().map(line) {
                writeln!(out, "  {sign} {}", Shown(&text))?;
            }
            if merged.changes.is_empty() && plan.not_understood.is_empty() {
                writeln!(out, "    nothing")?;
            }
            for element in &plan.not_understood {
                writeln!(
                    out,
                    "    {} (not understood here; it stays as it is)",
                    Shown(element)
                )?;
            }
        }
        Err(overlaps) => {
            for overlap in overlaps {
                writeln!(
                    out,
                    "  S3 would refuse it (“Configurations overlap”), as both of these take {}:",
                    overlap.event
                )?;
                writeln!(out, "    {}", Shown(&overlap.there.to_string()))?;
                writeln!(out, "  + {}", Shown(&overlap.wanted.to_string()))?;
            }
            writeln!(out, "  {}", advice(overlaps, plan.filter_helps))?;
        }
    }
    Ok(())
}

/// What to do about an overlap.
fn advice(overlaps: &[Overlap], filter_helps: bool) -> String {
    let ours = |o: &Overlap| o.there.id.as_deref().is_some_and(|id| id.starts_with("stayput-"));
    let mut ways = Vec::new();
    if overlaps.iter().all(ours) {
        ways.push("remove the older setup of Stayput, or call with the same options as then");
    }
    if filter_helps {
        ways.push("call with --only-below, which takes keys below the prefix alone");
    }
    ways.push("send these events to an SNS topic in place of the present target and subscribe both to it (Stayput reads SNS's envelopes)");
    ways.push("call with --eventbridge alone, which overlaps with nothing, but names no role");
    format!("What to do: {}.", ways.join("; or "))
}

pub(super) fn after(plan: &Plan, applied: bool, listed: &[Listed], out: &mut dyn Write) -> io::Result<()> {
    let said = match &plan.merged {
        Err(_) => "Nothing was written.",
        Ok(_) if applied => "Written, and read again: everything is there.",
        Ok(_) if plan.wanted.is_empty() && !plan.to_event_bridge => {
            &format!("Nothing is added, since no target was named. Say where deletions go: {TARGETS}.")
        }
        Ok(merged) if merged.changes_nothing() => "Nothing needs to be written.",
        Ok(_) => "Nothing was written: --apply writes this.",
    };
    writeln!(out, "{said}")?;
    if !listed.is_empty() {
        let ids: Vec<&str> = listed.iter().map(|principal| principal.id.as_str()).collect();
        writeln!(
            out,
            "For infra/template.yaml: FlinkRoleIds={}",
            Shown(&ids.join(","))
        )?;
    }
    writeln!(
        out,
        "Settings, for stayput.toml or STAYPUT_CONFIG, on the standard output:\n"
    )
}

/// The settings and nothing else, so that they can go into a file.
pub(super) fn settings(settings: &str, out: &mut dyn Write) -> io::Result<()> {
    for line in settings.lines() {
        writeln!(out, "{}", Shown(line))?;
    }
    Ok(())
}

#[derive(Serialize)]
struct Document<'a> {
    form: u32,
    bucket: &'a str,
    applied: bool,
    changes: Vec<ChangeLine>,
    overlaps: Vec<OverlapLine<'a>>,
    not_understood: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
    /// The notification configuration that is to be written, as S3 takes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<&'a str>,
    principals: Vec<PrincipalLine<'a>>,
    settings: &'a str,
}

#[derive(Serialize)]
struct ChangeLine {
    change: &'static str,
    what: String,
}

#[derive(Serialize)]
struct OverlapLine<'a> {
    event: &'a str,
    there: String,
    wanted: String,
}

#[derive(Serialize)]
struct PrincipalLine<'a> {
    given: &'a str,
    id: &'a str,
}

pub(super) fn document(
    plan: &Plan,
    applied: bool,
    listed: &[Listed],
    settings: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    let changes = plan
        .merged
        .iter()
        .flat_map(|merged| &merged.changes)
        .map(|change| {
            let (sign, what) = line(change);
            let change = match sign {
                '+' => "added",
                '-' => "removed",
                _ => "kept",
            };
            ChangeLine { change, what }
        });
    let overlaps = plan.merged.as_ref().err().map(Vec::as_slice).unwrap_or_default();
    let document = Document {
        form: FORM,
        bucket: &plan.bucket,
        applied,
        changes: changes.collect(),
        overlaps: overlaps
            .iter()
            .map(|overlap| OverlapLine {
                event: &overlap.event,
                there: overlap.there.to_string(),
                wanted: overlap.wanted.to_string(),
            })
            .collect(),
        not_understood: &plan.not_understood,
        advice: (!overlaps.is_empty()).then(|| advice(overlaps, plan.filter_helps)),
        document: plan.merged.as_ref().ok().map(|merged| merged.text.as_str()),
        principals: listed
            .iter()
            .map(|principal| PrincipalLine {
                given: &principal.given,
                id: &principal.id,
            })
            .collect(),
        settings,
    };
    writeln!(out, "{}", ShownJson(&serde_json::to_string_pretty(&document)?))
}
