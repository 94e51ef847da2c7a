//! A verdict as `stayput replay` prints it.

use serde::Serialize;
use stayput_core::report::finding::FindingCode;
use stayput_core::verdict::{Basis, Outcome, Verdict};
use stayput_guard::batch::{Acted, Done};

/// One verdict, for one key at one look: a line of ndjson.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// The look, counted from 1.
    pub look: usize,
    /// The key, literal.
    pub key: String,
    /// `leave`, `restore`, `later`, `report` or `lost`. Of an observing guard, what would be done.
    pub outcome: &'static str,
    /// The finding that goes with it, else the reason in a few words; `null`: a restore that needs no explanation.
    pub code: Option<String>,
    /// The version that is copied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The class of the strongest referrer, `HA`, or `unknown`; missing: nobody names the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<&'static str>,
    /// Who deleted it.
    pub cause: &'static str,
    /// All findings that go with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<&'static str>,
    /// The snapshot whose need decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    /// Why a copy that should have been made wasn't.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

impl Line {
    pub(super) fn new(look: usize, acted: &Acted) -> Self {
        let verdict = &acted.verdict;
        let findings: Vec<_> = verdict.findings.iter().map(|(code, _)| code.text()).collect();
        let (outcome, code, source) = match &verdict.outcome {
            Outcome::Leave(reason) => ("leave", Some(reason.word().to_owned()), None),
            Outcome::Restore(permit) => {
                let code = findings.first().map(|code| (*code).to_owned());
                ("restore", code, Some(permit.source().version.to_string()))
            }
            Outcome::Later { why, .. } => ("later", Some(why.word().to_owned()), None),
            Outcome::Report(code) => ("report", Some(text(*code)), None),
            Outcome::Lost(code) => ("lost", Some(text(*code)), None),
        };
        Self {
            look,
            key: verdict.location.key().to_owned(),
            outcome,
            code,
            source,
            class: class(verdict),
            cause: verdict.cause.word(),
            findings,
            decided_by: verdict.decided_by.as_ref().map(ToString::to_string),
            failed: match &acted.done {
                Done::Failed(why) => Some(why.clone()),
                Done::WrittenByOthers => Some("somebody else wrote the key meanwhile".to_owned()),
                Done::Nothing | Done::WouldCopy | Done::Copied { .. } | Done::AlreadyCopied => None,
            },
        }
    }
}

fn text(code: FindingCode) -> String {
    code.text().to_owned()
}

fn class(verdict: &Verdict) -> Option<&'static str> {
    match verdict.basis {
        Basis::HaObject => Some("HA"),
        Basis::Unknown => Some("unknown"),
        _ => verdict.class.map(stayput_core::class::Class::word),
    }
}
