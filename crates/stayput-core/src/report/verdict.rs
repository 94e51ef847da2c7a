//! One verdict as a document, with its whole chain, and as a sentence for people.

use serde::Serialize;

use crate::cause::Cause;
use crate::chain::NamedBy;
use crate::report::finding::FindingCode;
use crate::restoring::Permit;
use crate::timestamp::Timestamp;
use crate::verdict::{Basis, Incident, LaterReason, LeaveReason, Outcome, Verdict};

/// What was done about a verdict.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "done", content = "detail")]
pub enum Done {
    /// Nothing was to be done.
    Nothing,
    /// It would have been copied; the guard only observes.
    WouldCopy,
    /// It was copied.
    Copied {
        /// Whether the server honoured `If-None-Match`; if not, a race window remains.
        condition_honoured: bool,
    },
    /// An earlier call of ours had copied it already.
    AlreadyCopied,
    /// The markers that hid it were removed, so that it is visible as it was.
    Unhidden {
        /// How many.
        markers: usize,
    },
    /// Somebody else wrote the key meanwhile: theirs stays.
    WrittenByOthers,
    /// It is copied in parts, and there was no time for all of them: the next look goes on.
    Unfinished {
        /// So many bytes are copied.
        copied: u64,
        /// So many bytes it has.
        of: u64,
    },
    /// S3 was asked to thaw the version.
    ThawAsked {
        /// When its bytes can be read, at the latest.
        ready_by: Timestamp,
    },
    /// The copy, or what it needs, failed, for this reason.
    Failed(String),
}

/// A verdict and what came of it: event, object, handle, operator, `_metadata`, job.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct VerdictDocument {
    /// The object, as a URL.
    pub object: String,
    /// `leave`, `restore`, `later`, `report` or `lost`; of an observing guard, what would be done.
    pub outcome: &'static str,
    /// The finding that goes with it, else the reason in a few words; `None`: a restore that needs no explanation.
    pub reason: Option<String>,
    /// `running`, `resting`, `dormant`, `spare`, `HA` or `unknown`; `None`: nobody names the object.
    pub class: Option<&'static str>,
    /// `lifecycle`, `Flink`, `foreign`, `ours` or `unknown`.
    pub cause: &'static str,
    /// The principal, if it was a foreign one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The `_metadata` of the snapshot whose need decided, as a URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<String>,
    /// The handle of that snapshot which names the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub named_by: Option<NamedBy>,
    /// The version that is copied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_version: Option<String>,
    /// Not to be looked at before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// Until when it can be undone: when the bucket's rules purge the version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// Codes of all findings that go with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<FindingCode>,
    /// What was done.
    #[serde(flatten)]
    pub done: Done,
    /// All of it in words.
    pub sentence: String,
}

impl VerdictDocument {
    /// Makes the document of a verdict.
    pub fn new(
        verdict: &Verdict,
        done: &Done,
        named_by: Option<&NamedBy>,
        deadline: Option<Timestamp>,
    ) -> Self {
        let findings: Vec<FindingCode> = verdict.findings.iter().map(|(code, _)| *code).collect();
        let (outcome, reason) = match &verdict.outcome {
            Outcome::Leave(reason) => ("leave", Some(reason.word().to_owned())),
            Outcome::Restore(_) => ("restore", findings.first().map(|c| c.text().to_owned())),
            Outcome::Later { why, .. } => ("later", Some(why.word().to_owned())),
            Outcome::Report(code) => ("report", Some(code.text().to_owned())),
            Outcome::Lost(code) => ("lost", Some(code.text().to_owned())),
        };
        let class = match verdict.basis {
            Basis::HaObject => Some("HA"),
            Basis::Unknown => Some("unknown"),
            Basis::Referenced | Basis::NotReferenced => verdict.class.map(crate::class::Class::word),
        };
        Self {
            object: verdict.location.to_string(),
            outcome,
            reason,
            class,
            cause: verdict.cause.word(),
            by: match &verdict.cause {
                Cause::Foreign(by) => Some(by.clone()),
                Cause::Lifecycle | Cause::Flink | Cause::Ours | Cause::Unknown => None,
            },
            snapshot: verdict.decided_by.as_ref().map(ToString::to_string),
            named_by: named_by.cloned(),
            source_version: match &verdict.outcome {
                Outcome::Restore(permit) => Some(permit.source().version.to_string()),
                _ => None,
            },
            not_before: match &verdict.outcome {
                Outcome::Later { not_before, .. } => Some(*not_before),
                _ => None,
            },
            deadline,
            findings,
            done: done.clone(),
            sentence: sentence(verdict, done, named_by),
        }
    }
}

/// The one place where a verdict becomes words.
fn sentence(verdict: &Verdict, done: &Done, named_by: Option<&NamedBy>) -> String {
    let mut text = match verdict.incident {
        Incident::Deletion => {
            let who = match &verdict.cause {
                Cause::Lifecycle => "A lifecycle rule deleted".to_owned(),
                Cause::Flink => "Flink deleted".to_owned(),
                Cause::Foreign(by) => format!("{by} deleted"),
                Cause::Ours => "A Stayput deleted".to_owned(),
                Cause::Unknown => "Somebody unknown deleted".to_owned(),
            };
            format!("{who} {}", verdict.location)
        }
        Incident::Archival => {
            let who = match &verdict.cause {
                Cause::Lifecycle => "A lifecycle rule moved",
                _ => "Nobody known moved",
            };
            format!("{who} to an archive class {}", verdict.location)
        }
        Incident::Mismatch => format!("Something else was written to {}", verdict.location),
    };
    if let Some(snapshot) = &verdict.decided_by {
        let class = verdict
            .class
            .map(|c| format!("{} ", c.word()))
            .unwrap_or_default();
        text.push_str(&match (verdict.basis, *snapshot == verdict.location) {
            (Basis::Unknown, _) => {
                format!(", and {snapshot} can't be read, so nobody knows whether it needs it")
            }
            (_, true) => format!(", the _metadata of a {class}snapshot"),
            (_, false) => format!(", which the {class}snapshot {snapshot} names"),
        });
        if let Some(handle) = named_by {
            let operator = handle
                .uid
                .as_ref()
                .or(handle.operator.as_ref())
                .unwrap_or(&handle.operator_id);
            text.push_str(&format!(" as {} of operator {operator}", handle.role));
            if let Some(subtask) = handle.subtask {
                text.push_str(&format!(", subtask {subtask}"));
            }
        }
    }
    text.push_str(". ");
    text.push_str(&what_follows(verdict, done));
    text
}

fn what_follows(verdict: &Verdict, done: &Done) -> String {
    match (&verdict.outcome, done) {
        (_, Done::Failed(why)) => {
            format!("Putting it back failed: {why}. The message comes again, nothing is lost by waiting.")
        }
        (_, Done::Unfinished { copied, of }) => {
            format!("{copied} of its {of} bytes are copied in parts; the next look goes on from there.")
        }
        (_, Done::WrittenByOthers) => "Somebody wrote the key meanwhile; theirs stays.".to_owned(),
        (Outcome::Restore(permit), Done::Copied { condition_honoured }) => {
            let window = if *condition_honoured {
                ""
            } else {
                " (this server ignores If-None-Match, so a race window remains)"
            };
            format!(
                "Version {} was copied {}{window}; a restore of the job finds it.",
                permit.source().version,
                where_to(permit)
            )
        }
        (Outcome::Restore(permit), Done::Unhidden { markers }) => {
            let (s, were) = if *markers == 1 { ("", "was") } else { ("s", "were") };
            format!(
                "The delete marker{s} above version {} {were} removed, so that it is visible as before; a restore of the job finds it.",
                permit.source().version
            )
        }
        (Outcome::Restore(_), Done::AlreadyCopied) => {
            "It was put back already; a restore of the job finds it.".to_owned()
        }
        (Outcome::Restore(permit), _) if permit.is_repair() => {
            format!(
                "Its version {} would be copied {}.",
                permit.source().version,
                where_to(permit)
            )
        }
        (Outcome::Restore(permit), _) => {
            format!("It would be put back from version {}.", permit.source().version)
        }
        (Outcome::Leave(reason), _) => leave(reason).to_owned(),
        (Outcome::Later { .. }, Done::ThawAsked { ready_by }) => {
            format!(
                "It lies in an archive; S3 was asked to thaw it, which is done by {ready_by}. Then it is copied by the next look or sweep."
            )
        }
        (Outcome::Later { not_before, why }, _) => match why {
            LaterReason::Transient(why) => {
                format!("That couldn't be judged just now: {why}. It is looked at again.")
            }
            other => format!(
                "Nothing is done yet ({}); it is looked at again from {not_before} on.",
                other.word()
            ),
        },
        (Outcome::Report(code) | Outcome::Lost(code), _) => {
            format!("{} {}", code.meaning(), code.next_step())
        }
    }
}

fn where_to(permit: &Permit) -> String {
    if permit.is_repair() {
        let class = permit.storage_class().unwrap_or("STANDARD");
        format!("onto itself in {class}")
    } else {
        "back".to_owned()
    }
}

fn leave(reason: &LeaveReason) -> &'static str {
    match reason {
        LeaveReason::DirectoryMarker => "A key that ends in a slash is a directory marker and means nothing.",
        LeaveReason::Released => "Deletions here were declared as intended, so it stays away.",
        LeaveReason::Visible => "It is visible again, so nothing is to be done.",
        LeaveReason::Ours => "It stays away.",
        LeaveReason::NotReferenced(_) => {
            "No state handle of any snapshot under the roots names it, so it stays away."
        }
        LeaveReason::Spare => {
            "Only older checkpoints name it, under which Flink itself deletes; it stays away."
        }
        LeaveReason::Claimed => {
            "Another job took that snapshot over and deletes as if it were its own; it stays away."
        }
        LeaveReason::Purge => {
            "A version was purged, which isn't a deletion of the key; nothing is to be done."
        }
        LeaveReason::DiscardedByFlink => {
            "The snapshot itself was discarded: the job ended or went on elsewhere. It stays away."
        }
        LeaveReason::Dormant => {
            "Nobody has used that snapshot for long, and Flink discards it. It stays away."
        }
        LeaveReason::NamedByDirectoryOnly => {
            "Only a directory above it is named, which doesn't keep Flink from tidying up. It stays away."
        }
        LeaveReason::SinkTail => {
            "A sink deletes such an object itself once a newer checkpoint is complete. It stays away."
        }
        LeaveReason::NewRunInDirectory => {
            "A new run writes in that directory and would fail if it came back. It stays away."
        }
        LeaveReason::SameRunWentOn => {
            "The job has gone on to newer checkpoints, so this _metadata isn't wanted. It stays away."
        }
        LeaveReason::MetadataGone => {
            "No version of that snapshot's _metadata is left, so nothing can be restored from it. It stays away."
        }
        LeaveReason::HaByFlink => "Flink deletes such an object at every checkpoint. It stays away.",
        LeaveReason::ResultStore => {
            "Entries of a result store are never put back: they say that a job has ended."
        }
    }
}
