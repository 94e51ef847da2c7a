//! What came of a call, in words that need nothing of Stayput.

use s3_model::Call;
use stayput_core::class::Class;
use stayput_core::verdict::{LaterReason, Outcome};
use stayput_guard::batch::{Acted, Answer, BatchReport, Done};
use stayput_guard::port::PortErrorKind;

use super::{Called, Did, Proof, Said, Told};
use crate::store::BUCKET;

/// What was asked of the bucket, and what of that it may not.
pub(super) fn take_calls(calls: &[Call], acting: bool, called: &mut Called) {
    for call in calls {
        if call.bucket == BUCKET {
            called.requests += u64::from(call.pages.max(1));
        }
        match (call.operation, call.bucket == BUCKET) {
            ("CopyObject", true) if acting => {
                // An answer that was lost on its way is a copy all the same: `pages` says whether it reached the bucket.
                if call.pages > 0
                    && call
                        .error
                        .is_none_or(|e| e == PortErrorKind::Transient || call.crashed)
                    && let Some(version) = &call.version
                {
                    called.copied.push((call.key.clone(), version.to_string()));
                }
            }
            ("DeleteObject", true) if acting && call.version.is_some() => {
                if call.pages > 0
                    && call
                        .error
                        .is_none_or(|e| e == PortErrorKind::Transient || call.crashed)
                    && let Some(version) = &call.version
                {
                    called
                        .markers_removed
                        .push((call.key.clone(), version.to_string()));
                }
            }
            ("RestoreObject", true) if acting => {
                if call.pages > 0
                    && call
                        .error
                        .is_none_or(|e| e == PortErrorKind::Transient || call.crashed)
                    && let Some(version) = &call.version
                {
                    called.thaws.push((call.key.clone(), version.to_string()));
                }
            }
            ("PutObject", false) => {}
            _ if call.mutates() => called
                .forbidden
                .push(format!("{} {}", call.operation, call.subject())),
            _ => {}
        }
    }
}

/// Verdicts, findings, and which messages come again.
pub(super) fn take_report(report: BatchReport, called: &mut Called, answers: &mut Vec<(String, Answer)>) {
    called.said = report.verdicts.iter().map(said).collect();
    called.told = report
        .findings
        .iter()
        .map(|f| Told {
            code: f.code.text(),
            about: key_of(&f.about),
            objects: f.objects,
        })
        .collect();
    *answers = report.answers;
}

fn key_of(url: &str) -> String {
    url.strip_prefix(&format!("s3://{BUCKET}/"))
        .unwrap_or(url)
        .to_owned()
}

/// A verdict and what came of it.
pub(super) fn said(acted: &Acted) -> Said {
    let verdict = &acted.verdict;
    let (did, why) = match (&verdict.outcome, &acted.done) {
        (Outcome::Leave(reason), _) => (Did::Left, reason.word().to_owned()),
        (Outcome::Restore(_), Done::Copied { .. } | Done::AlreadyCopied | Done::Unhidden { .. }) => {
            (Did::Restored, "copied".to_owned())
        }
        (Outcome::Restore(_), done) => (Did::NotRestored, format!("{done:?}")),
        (Outcome::Later { why, .. }, _) => (Did::Waits, word(why)),
        (Outcome::Report(code), _) => (Did::Reported, code.text().to_owned()),
        (Outcome::Lost(code), _) => (Did::Lost, code.text().to_owned()),
    };
    Said {
        key: verdict.location.key().to_owned(),
        did,
        why,
        cause: verdict.cause.word(),
        class: verdict.class.map(Class::word),
        about: verdict.decided_by.as_ref().map(|l| l.key().to_owned()),
        proof: acted.named_by.as_ref().map(|named| Proof {
            etag: named.etag.clone().unwrap_or_default(),
            at_byte: named.at_byte,
            operator: named.operator_id.clone(),
            subtask: named.subtask,
        }),
    }
}

fn word(why: &LaterReason) -> String {
    match why {
        LaterReason::Transient(what) => format!("couldn't be read just now: {what}"),
        other => other.word().to_owned(),
    }
}
