//! A file that is no `_metadata`, or one that can't be read: what it is, and what to do.

use flink_checkpoint::LooksLike;
use serde::Serialize;

use crate::location::Location;
use crate::report::summary::{self, Reading};

/// A file that is no `_metadata`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WrongFile {
    /// Always `not_metadata`.
    pub reading: &'static str,
    /// Always [`super::FORM`].
    pub form: &'static str,
    /// What it seems to be: `sst`, `ha_pointer` …
    pub looks_like: &'static str,
    /// What it is, in a sentence.
    pub sentence: String,
    /// What that means for a job.
    pub meaning: &'static str,
    /// What to do next.
    pub what_next: &'static str,
}

/// The answer about a file that isn't a whole `_metadata`, as JSON text: [`WrongFile`], or a [`summary::Damage`].
pub(super) fn json(bytes: &[u8], at: Option<&Location>) -> String {
    let reading = summary::read_at(bytes, at);
    let Reading::Damaged(damage) = &reading else {
        return serde_json::to_string(&reading).unwrap_or_default();
    };
    if damage.code != "not_metadata" {
        return serde_json::to_string(&reading).unwrap_or_default();
    }
    let guess = LooksLike::guess(bytes);
    let looks_like = match guess {
        LooksLike::Sst => "sst",
        LooksLike::HaPointer => "ha_pointer",
        LooksLike::CompletedCheckpoint => "completed_checkpoint",
        LooksLike::JavaObjects => "java_objects",
        LooksLike::Gzip => "gzip",
        LooksLike::Zip => "zip",
        LooksLike::Zstd => "zstd",
        LooksLike::Text => "text",
        LooksLike::Empty | LooksLike::TruncatedMetadata => "truncated",
        _ => "unknown",
    };
    let wrong = WrongFile {
        reading: "not_metadata",
        form: super::FORM,
        looks_like,
        sentence: format!("This is no `_metadata` of Flink: {guess}."),
        meaning: match looks_like {
            "sst" => "It holds state, and a checkpoint names it; which one isn't written in it.",
            "text" => "It says nothing about any job. Downloads that fail leave such a text behind.",
            _ => damage.meaning,
        },
        what_next: match looks_like {
            "sst" => {
                "Open the _metadata of the chk-N or savepoint directory that needs it. There its name tells which operator breaks without it."
            }
            _ => damage.next_step,
        },
    };
    serde_json::to_string(&wrong).unwrap_or_default()
}
