//! Entries of HA stores, as people get hold of them: the bytes of a znode, a ConfigMap as JSON, or the base64 text in it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flink_checkpoint::ha::{CompletedCheckpoint, HaPointer, PointsTo};
use serde::Serialize;

use crate::location::Location;
use crate::shown::Quoted;

/// What one entry, or one object, says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pointer {
    /// The entry's name in the ConfigMap, such as `checkpointID-0000000000000000012`. Not escaped.
    pub entry: Option<String>,
    /// What it points to: `checkpoint`, `job`, `other`; `metadata` where the bytes are the checkpoint's object itself.
    pub points_to: &'static str,
    /// Where that lies. Not escaped.
    pub location: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// Flink has begun to remove the entry and ignores it (Kubernetes).
    pub marked_for_deletion: bool,
    /// The checkpoint's id; only of an object that holds a checkpoint.
    pub checkpoint_id: Option<u64>,
    /// The job's id; only of an object that holds a checkpoint.
    pub job_id: Option<String>,
}

/// What HA bytes say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pointers {
    /// The entries, in the order of their names.
    pub pointers: Vec<Pointer>,
    /// Entries that couldn't be read, and why. Escaped.
    pub unreadable: Vec<String>,
    /// What to do with them. Escaped.
    pub sentence: String,
}

/// Reads what an HA store holds. `None`: it is nothing of the kind.
pub fn read(bytes: &[u8]) -> Option<Pointers> {
    let mut pointers = Vec::new();
    let mut unreadable = Vec::new();
    let trimmed = bytes.trim_ascii();
    if bytes.starts_with(&[0xAC, 0xED]) {
        one(None, bytes, &mut pointers, &mut unreadable);
    } else if trimmed.first() == Some(&b'{') {
        let value: serde_json::Value = serde_json::from_slice(trimmed).ok()?;
        for map in maps(&value) {
            for field in ["data", "binaryData"] {
                for (name, text) in map
                    .get(field)
                    .and_then(|data| data.as_object())
                    .into_iter()
                    .flatten()
                {
                    if let Some(decoded) = text.as_str().and_then(|text| STANDARD.decode(text.trim()).ok())
                        && decoded.starts_with(&[0xAC, 0xED])
                    {
                        one(Some(name), &decoded, &mut pointers, &mut unreadable);
                    }
                }
            }
        }
    } else {
        let text: Vec<u8> = trimmed
            .iter()
            .copied()
            .filter(|byte| !byte.is_ascii_whitespace())
            .collect();
        let decoded = STANDARD.decode(text).ok()?;
        if !decoded.starts_with(&[0xAC, 0xED]) {
            return None;
        }
        one(None, &decoded, &mut pointers, &mut unreadable);
    }
    if pointers.is_empty() && unreadable.is_empty() {
        return None;
    }
    pointers.sort_by(|a: &Pointer, b| a.entry.cmp(&b.entry));
    let sentence = sentence(&pointers);
    Some(Pointers {
        pointers,
        unreadable,
        sentence,
    })
}

/// A ConfigMap, or a list of them as `kubectl get configmaps -o json` prints it.
fn maps(value: &serde_json::Value) -> Vec<&serde_json::Value> {
    match value.get("items").and_then(|items| items.as_array()) {
        Some(items) => items.iter().collect(),
        None => vec![value],
    }
}

fn one(entry: Option<&str>, bytes: &[u8], pointers: &mut Vec<Pointer>, unreadable: &mut Vec<String>) {
    let entry = entry.map(str::to_owned);
    match HaPointer::read(bytes) {
        Ok(pointer) => pointers.push(Pointer {
            points_to: match pointer.points_to() {
                PointsTo::Checkpoint => "checkpoint",
                PointsTo::Job => "job",
                PointsTo::Other => "other",
            },
            location: decoded(&pointer.uri.to_string()),
            bytes: pointer.size,
            marked_for_deletion: pointer.marked_for_deletion == Some(true),
            checkpoint_id: None,
            job_id: None,
            entry,
        }),
        Err(not_a_pointer) => match CompletedCheckpoint::read(bytes) {
            Ok(checkpoint) => pointers.push(Pointer {
                points_to: "metadata",
                location: decoded(&checkpoint.metadata_uri().to_string()),
                bytes: checkpoint.metadata_size(),
                marked_for_deletion: false,
                checkpoint_id: Some(checkpoint.checkpoint_id()),
                job_id: Some(
                    checkpoint
                        .job_id()
                        .iter()
                        .map(|byte| format!("{byte:02x}"))
                        .collect(),
                ),
                entry,
            }),
            Err(_) => unreadable.push(match entry {
                Some(entry) => format!("{}: {not_a_pointer}", Quoted(&entry)),
                None => not_a_pointer.to_string(),
            }),
        },
    }
}

/// A Java URI in its one spelling; as it is, if it is no location.
fn decoded(uri: &str) -> String {
    Location::parse_java_uri(uri).map_or_else(|_| uri.to_owned(), |location| location.to_string())
}

fn sentence(pointers: &[Pointer]) -> String {
    let live: Vec<&Pointer> = pointers
        .iter()
        .filter(|pointer| !pointer.marked_for_deletion)
        .collect();
    match live.as_slice() {
        [] => "Nothing here is live: no JobManager restores from it.".to_owned(),
        [one] if one.points_to == "metadata" => format!(
            "It is checkpoint {} of a JobManager that recovers; its _metadata is {}. Open that file here.",
            one.checkpoint_id.unwrap_or_default(),
            Quoted(&one.location)
        ),
        [one] if one.points_to == "checkpoint" => format!(
            "A JobManager that recovers reads the object {}. It names the checkpoint's _metadata: get it and open it here.",
            Quoted(&one.location)
        ),
        several => format!(
            "{} entries. A JobManager that recovers takes the newest checkpoint among them.",
            several.len()
        ),
    }
}
