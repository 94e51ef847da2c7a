//! A verdict as `stayput replay` prints it.

use serde::Serialize;
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
        let document = acted.document();
        let failed = match document.done {
            Done::Failed(why) => Some(why),
            Done::WrittenByOthers => Some("somebody else wrote the key meanwhile".to_owned()),
            Done::Unfinished { copied, of } => Some(format!("{copied} of {of} bytes are copied")),
            Done::ThawAsked { .. }
            | Done::Nothing
            | Done::WouldCopy
            | Done::Copied { .. }
            | Done::AlreadyCopied
            | Done::Unhidden { .. } => None,
        };
        Self {
            look,
            key: acted.verdict.location.key().to_owned(),
            outcome: document.outcome,
            code: document.reason,
            source: document.source_version,
            class: document.class,
            cause: document.cause,
            findings: document.findings.iter().map(|code| code.text()).collect(),
            decided_by: document.snapshot,
            failed,
        }
    }
}
