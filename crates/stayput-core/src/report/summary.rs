//! A snapshot at a glance: what it is, who wrote it, what it is made of and where its files lie.
//!
//! The command, the web page and any script see the same document, made here. It is made of values; sentences are
//! made from those by [`Feature::meaning`], [`Relocatable::reason`] and [`Damage`] alone.
//!
//! Numbers are JSON numbers and can be larger than 2^53 (which JavaScript rounds) only in forged files.

use std::collections::BTreeMap;

use flink_checkpoint::{CheckpointProperties, Snapshot, SnapshotType};
use serde::Serialize;

use crate::handles::Handles;
use crate::layout::Place;
use crate::location::Location;

mod damage;
mod feature;
pub(crate) mod home;
mod objects;
mod release;
pub(crate) mod state;

pub use damage::{Damage, ReadSoFar};
pub use feature::Feature;
pub use objects::{Amount, Lying, NamedDirectory, Objects, Part, PerDirectory, Whose};
pub use release::Releases;
pub use state::{Held, Operator};

use home::Home;

/// Name and version of the form of this document. Fields are only added under one version.
pub const FORM: &str = "stayput.snapshot.1";

/// What came of reading a `_metadata`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "reading", rename_all = "lowercase")]
pub enum Reading {
    /// It was read to its end.
    Whole(Box<Summary>),
    /// It could not be read to its end.
    Damaged(Box<Damage>),
    /// It wasn't read: what was said about where it lies makes no sense.
    Refused {
        /// Always [`FORM`].
        form: &'static str,
        /// What is wrong.
        message: String,
    },
}

/// A snapshot at a glance.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Always [`FORM`].
    pub form: &'static str,
    /// The directory that holds it, if that is known. Relative handles mean objects there.
    pub at: Option<Location>,
    /// Length of `_metadata` in bytes.
    pub metadata_bytes: u64,
    /// Format version, 2 to 7.
    pub format_version: u8,
    /// The releases that can have written it.
    pub releases: Releases,
    /// The id that Flink gave it.
    pub checkpoint_id: u64,
    /// Checkpoint or savepoint, if anything tells.
    pub kind: Option<Kind>,
    /// What Flink recorded about its purpose; `None` before format 4 (Flink 1.16).
    pub properties: Option<Properties>,
    /// What can be recognised of the job's configuration.
    pub features: Vec<Feature>,
    /// Operators in the order of the file.
    pub operators: Vec<Operator>,
    /// State of all operators together, by kind: `managed_keyed` …
    pub state: BTreeMap<&'static str, Held>,
    /// States of master hooks.
    pub master_states: Vec<MasterState>,
    /// Objects outside `_metadata`, each counted once.
    pub objects: Objects,
    /// Handles whose bytes lie in `_metadata` itself.
    pub inlined: Inlined,
    /// Whether the directory can be moved or copied as it is.
    pub relocatable: Relocatable,
}

/// Checkpoint or savepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Kind {
    /// Whether it is a savepoint.
    pub savepoint: bool,
    /// What tells.
    pub known_from: KnownFrom,
}

/// What tells whether it is a checkpoint or a savepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KnownFrom {
    /// Its properties.
    Properties,
    /// State in a form that only savepoints have (tag 7).
    Handles,
    /// The name of its directory.
    Directory,
}

/// `CheckpointProperties`, in Flink's words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Properties {
    /// `Checkpoint`, `Full Checkpoint`, `Savepoint`, `Terminate Savepoint` or `Suspend Savepoint`.
    #[serde(rename = "type")]
    pub name: String,
    /// `CANONICAL` or `NATIVE`; `None` for checkpoints.
    pub savepoint_format: Option<&'static str>,
    /// `SharingFilesStrategy` of a checkpoint.
    pub sharing_files: Option<&'static str>,
    /// What the job did after a savepoint: `NONE`, `SUSPEND`, `TERMINATE`.
    pub then: Option<&'static str>,
    /// Triggered regardless of limits.
    pub forced: bool,
    /// When Flink deletes it by itself: `subsumed`, `finished`, `cancelled`, `failed`, `suspended`.
    pub discarded_when: Vec<&'static str>,
    /// Restored in NO_CLAIM mode.
    pub unclaimed: bool,
}

/// State of a master hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MasterState {
    /// Name of the hook.
    pub name: String,
    /// Length in bytes.
    pub bytes: u64,
}

/// State that lies in `_metadata` itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Inlined {
    /// Handles of that kind.
    pub handles: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Whether the snapshot's directory can be moved or copied and restored from its new place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Relocatable {
    /// Whether it can.
    pub answer: bool,
    /// Handles with a relative path: they move along.
    pub relative_handles: u64,
    /// Handles with an absolute path: they don't.
    pub absolute_handles: u64,
    /// Directories that are named as a whole, always by an absolute path.
    pub directories: u64,
}

impl Relocatable {
    /// Why, in one sentence.
    pub fn reason(self) -> &'static str {
        match self {
            Self {
                answer: true,
                relative_handles: 0,
                ..
            } => "all state lies in _metadata itself",
            Self { answer: true, .. } => {
                "every file is named relative to the directory of _metadata, so move the whole directory"
            }
            Self {
                absolute_handles: 0, ..
            } => "it names directories of merged files by absolute paths",
            Self { .. } => {
                "it names files by absolute paths, which stay where they are and must not be deleted"
            }
        }
    }
}

/// Reads a `_metadata`. `at` says where it lies, as a Flink path: its directory, or `_metadata` itself.
pub fn read(bytes: &[u8], at: Option<&str>) -> Reading {
    match at.map(Location::parse_flink_path).transpose() {
        Ok(at) => read_at(bytes, at.as_ref()),
        Err(e) => Reading::Refused {
            form: FORM,
            message: e.to_string(),
        },
    }
}

/// As [`read`], as compact JSON text: the same on every platform for the same bytes.
pub fn json(bytes: &[u8], at: Option<&str>) -> String {
    serde_json::to_string(&read(bytes, at)).unwrap_or_else(|e| {
        serde_json::json!({ "reading": "refused", "form": FORM, "message": e.to_string() }).to_string()
    })
}

/// As [`read`], with the place already read.
pub fn read_at(bytes: &[u8], at: Option<&Location>) -> Reading {
    let home = at.map(Home::of);
    match Handles::read(bytes, home.as_ref()) {
        // The index was built from these bytes.
        Ok((index, handles)) => match index.view(bytes) {
            Ok(snapshot) => Reading::Whole(Box::new(whole(snapshot, &handles, home.as_ref()))),
            Err(e) => Reading::Refused {
                form: FORM,
                message: e.to_string(),
            },
        },
        Err(damaged) => Reading::Damaged(Box::new(damage::describe(&damaged, bytes, home.as_ref()))),
    }
}

/// The summary of a snapshot that has these handles.
pub(crate) fn whole(snapshot: Snapshot<'_>, handles: &Handles, home: Option<&Home>) -> Summary {
    let complete = snapshot.complete();
    let objects = Objects::of(handles, snapshot.bytes(), home.is_some());
    let walked = state::walk(snapshot, handles);
    let handles = handles.counted();
    let features = feature::all(&walked.seen, complete);
    Summary {
        form: FORM,
        at: home.map(|home| home.location.clone()),
        metadata_bytes: complete.bytes as u64,
        format_version: complete.format_version,
        releases: release::of(complete.format_version, &walked.seen),
        checkpoint_id: complete.checkpoint_id,
        kind: kind(complete.properties.as_ref(), &features, home),
        properties: complete.properties.as_ref().map(properties),
        features,
        operators: walked.operators,
        state: walked.total,
        master_states: snapshot
            .master_states()
            .map(|state| MasterState {
                name: text(state.name),
                bytes: state.payload.len() as u64,
            })
            .collect(),
        objects,
        inlined: Inlined {
            handles: complete.counts.inline + complete.counts.inline_changelogs,
            bytes: complete.counts.inline_bytes + complete.counts.inline_changelog_bytes,
        },
        relocatable: Relocatable {
            answer: handles.absolute == 0 && handles.directories == 0,
            relative_handles: handles.relative,
            absolute_handles: handles.absolute,
            directories: handles.directories,
        },
    }
}

fn kind(
    properties: Option<&CheckpointProperties>,
    features: &[Feature],
    home: Option<&Home>,
) -> Option<Kind> {
    if let Some(properties) = properties {
        let savepoint = properties.snapshot_type.is_savepoint();
        return Some(Kind {
            savepoint,
            known_from: KnownFrom::Properties,
        });
    }
    if features.contains(&Feature::CanonicalSavepoint) {
        return Some(Kind {
            savepoint: true,
            known_from: KnownFrom::Handles,
        });
    }
    let savepoint = match Place::of(&home?.metadata()) {
        Place::Checkpoint { .. } => false,
        Place::Savepoint { directory } if home::is_savepoint_name(directory) => true,
        _ => return None,
    };
    Some(Kind {
        savepoint,
        known_from: KnownFrom::Directory,
    })
}

fn properties(from: &CheckpointProperties) -> Properties {
    let (savepoint_format, sharing_files, then) = match &from.snapshot_type {
        SnapshotType::Checkpoint { sharing, .. } => (None, Some(sharing.name()), None),
        SnapshotType::Savepoint { format, then, .. } => (Some(format.name()), None, Some(then.name())),
    };
    let discarded_when = [
        (from.discard_subsumed, "subsumed"),
        (from.discard_finished, "finished"),
        (from.discard_cancelled, "cancelled"),
        (from.discard_failed, "failed"),
        (from.discard_suspended, "suspended"),
    ];
    Properties {
        name: from.snapshot_type.name().to_owned(),
        savepoint_format,
        sharing_files,
        then,
        forced: from.forced,
        discarded_when: discarded_when
            .into_iter()
            .filter_map(|(is, when)| is.then_some(when))
            .collect(),
        unclaimed: from.unclaimed,
    }
}

/// The text, or its escaped form where there is none.
pub(crate) fn text(text: flink_checkpoint::JavaStr<'_>) -> String {
    text.as_str().map_or_else(|| text.to_string(), Into::into)
}
