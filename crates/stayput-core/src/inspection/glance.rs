//! What somebody wants to know first.

use flink_checkpoint::{Keyed, KeyedHead, OperatorState, Snapshot, Stream, StreamHead};
use serde::Serialize;

use super::Document;
use crate::report::summary::{
    Amount, Feature, Inlined, Kind, NamedDirectory, PerDirectory, Properties, Whose,
};
use crate::shown::Quoted;

/// So many directories are listed.
const LISTED: usize = 20;

/// A snapshot in a dozen answers. Texts of the file aren't escaped, but for sentences.
#[derive(Clone, Debug, Serialize)]
pub struct Glance {
    /// Always [`super::FORM`].
    pub form: &'static str,
    /// Releases that can have written it: `Flink 1.16 to 1.20`.
    pub releases: String,
    /// Format version, 2 to 7.
    pub format_version: u8,
    /// Checkpoint or savepoint, if anything tells.
    pub kind: Option<Kind>,
    /// The id that Flink gave it.
    pub checkpoint_id: u64,
    /// What Flink recorded about its purpose; `None` before format 4.
    pub properties: Option<Properties>,
    /// The state backend, as far as the handles tell it; `None` without keyed state.
    pub state_backend: Option<&'static str>,
    /// What can be recognised of the job's configuration, each with a sentence.
    pub features: Vec<Recognised>,
    /// How much there is of what.
    pub counts: Counts,
    /// Objects that it needs and the bytes that handles ask of them.
    pub objects: Amount,
    /// State that lies in `_metadata` itself.
    pub inlined: Inlined,
    /// What this snapshot added, as Flink counts it.
    pub new_bytes: NewBytes,
    /// Whether the directory can be moved as it is.
    pub relocatable: bool,
    /// Why.
    pub relocatable_because: &'static str,
    /// Where the snapshot lies, if that is known.
    pub at: Option<String>,
    /// How that is known: `said`, or `paths`: by the paths in the file.
    pub at_known_by: Option<&'static str>,
    /// Directories that hold what it needs, most bytes first; at most 20.
    pub directories: Vec<PerDirectory>,
    /// Directories that were left out there.
    pub directories_left_out: u64,
    /// Other jobs' directories, other buckets and file systems among those: it can't be restored without them.
    pub depends_on: Vec<PerDirectory>,
    /// Directories that are named as a whole (file merging); at most 20.
    pub named_directories: Vec<NamedDirectory>,
    /// Whether all that it needs lies in its own job directory; `None` if it isn't known where it lies.
    pub self_contained: Option<bool>,
    /// That in a sentence. Escaped.
    pub self_contained_sentence: String,
    /// What only the job's own code can read.
    pub opaque: Vec<Opaque>,
    /// All in one sentence: what it is, how big, what holds most. Escaped.
    pub sentence: String,
}

/// A feature and what it means.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Recognised {
    /// Its stable name.
    pub name: Feature,
    /// What it means for the job and its files.
    pub meaning: &'static str,
}

/// Numbers of things.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Counts {
    /// Operators.
    pub operators: u64,
    /// Operators of which all subtasks had finished.
    pub finished_operators: u64,
    /// Stored subtasks.
    pub subtasks: u64,
    /// Handles that name an object or a directory: the rows.
    pub handles: u64,
    /// Bytes of `_metadata`.
    pub metadata_bytes: u64,
}

/// What a snapshot added (Flink's checkpointed size).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NewBytes {
    /// The bytes, of those handles that say it.
    pub bytes: u64,
    /// Handles that don't: incremental ones before Flink 1.15, for example.
    pub not_said: u64,
}

/// Bytes whose meaning only the job's own code knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Opaque {
    /// What it is.
    pub what: String,
    /// How many bytes.
    pub bytes: u64,
    /// What that means.
    pub meaning: &'static str,
}

impl Document {
    /// What somebody wants to know first.
    pub fn glance(&self) -> Glance {
        let summary = self.summary();
        // Seen from where it lies, which the summary only knows if somebody said it.
        let seen = crate::report::summary::Objects::of(&self.handles, &self.bytes, self.home.is_some());
        let elsewhere = seen.sum(|lying| lying.whose != Whose::Own);
        let self_contained = self
            .home
            .is_some()
            .then_some(elsewhere.objects == 0 && seen.unnameable == 0);
        let depends_on: Vec<PerDirectory> = if self.home.is_some() {
            let others = seen.by_directory.iter().filter(|d| d.whose != Whose::Own);
            others.take(LISTED).cloned().collect()
        } else {
            Vec::new()
        };
        let mut glance = Glance {
            form: super::FORM,
            releases: summary.releases.to_string(),
            format_version: summary.format_version,
            kind: summary.kind,
            checkpoint_id: summary.checkpoint_id,
            properties: summary.properties.clone(),
            state_backend: state_backend(&summary.features),
            features: summary
                .features
                .iter()
                .map(|feature| Recognised {
                    name: *feature,
                    meaning: feature.meaning(),
                })
                .collect(),
            counts: Counts {
                operators: summary.operators.len() as u64,
                finished_operators: summary.operators.iter().filter(|o| o.fully_finished).count() as u64,
                subtasks: summary.operators.iter().map(|o| o.subtasks).sum(),
                handles: self.handles().len() as u64,
                metadata_bytes: summary.metadata_bytes,
            },
            objects: seen.total,
            inlined: summary.inlined,
            // The file was the index's before.
            new_bytes: self.index.view(&self.bytes).map(new_bytes).unwrap_or_default(),
            relocatable: summary.relocatable.answer,
            relocatable_because: summary.relocatable.reason(),
            at: self.home.as_ref().map(|home| home.location.to_string()),
            at_known_by: self
                .home
                .as_ref()
                .map(|_| if self.place_was_said { "said" } else { "paths" }),
            self_contained,
            self_contained_sentence: self_contained_sentence(self_contained, &depends_on, elsewhere),
            directories: seen.by_directory,
            directories_left_out: seen.directories_left_out,
            depends_on,
            named_directories: seen.named_directories,
            opaque: self.opaque(),
            sentence: String::new(),
        };
        glance.sentence = self.in_a_sentence(&glance);
        glance
    }

    fn opaque(&self) -> Vec<Opaque> {
        let summary = self.summary();
        let mut opaque = Vec::new();
        for state in &summary.master_states {
            opaque.push(Opaque {
                what: format!("master hook {}", Quoted(&state.name)),
                bytes: state.bytes,
                meaning: "only the hook can read it",
            });
        }
        for (kind, what, meaning) in [
            (
                "coordinator",
                "state of coordinators",
                "only the operator's coordinator can read it",
            ),
            (
                "raw_operator",
                "raw operator state",
                "only the operator's own code can read it",
            ),
            (
                "raw_keyed",
                "raw keyed state",
                "only the operator's own code can read it; timers are kept so",
            ),
        ] {
            if let Some(held) = summary.state.get(kind) {
                opaque.push(Opaque {
                    what: what.to_owned(),
                    bytes: held.bytes.saturating_add(held.inlined_bytes),
                    meaning,
                });
            }
        }
        opaque
    }

    fn in_a_sentence(&self, glance: &Glance) -> String {
        let what = match glance.kind {
            Some(kind) if kind.savepoint => "Savepoint",
            Some(_) => "Checkpoint",
            None => "Checkpoint or savepoint",
        };
        let all = glance.objects.bytes.saturating_add(glance.inlined.bytes);
        let operators = self
            .summary()
            .operators
            .iter()
            .enumerate()
            .map(|(number, operator)| {
                let bytes = operator.state.values().fold(0u64, |sum, held| {
                    sum.saturating_add(held.bytes).saturating_add(held.inlined_bytes)
                });
                (bytes, number)
            });
        let most = match operators.max_by_key(|(bytes, number)| (*bytes, std::cmp::Reverse(*number))) {
            Some((bytes, number)) if bytes > 0 => {
                let name = self.operator_name(u32::try_from(number).unwrap_or(u32::MAX));
                format!("; operator {} holds most of it", Quoted(name))
            }
            _ => String::new(),
        };
        format!(
            "{what} {} of {}: {all} bytes in {} objects and in _metadata{most}.",
            glance.checkpoint_id, glance.releases, glance.objects.objects
        )
    }
}

fn self_contained_sentence(answer: Option<bool>, depends_on: &[PerDirectory], elsewhere: Amount) -> String {
    match (answer, depends_on.first()) {
        (None, _) => {
            "It isn't known where it lies, so it can't be told which of its files are its own job's."
                .to_owned()
        }
        (Some(true), _) => "All that it needs lies in its own job's directory.".to_owned(),
        (Some(false), None) => "It names files by paths that can't be any location.".to_owned(),
        (Some(false), Some(first)) => {
            let whose = match first.whose {
                Whose::OtherJob => "of another job",
                Whose::OtherBucket => "in another bucket",
                Whose::OtherFileSystem => "on another file system",
                Whose::Outside | Whose::Own | Whose::Unknown => "outside of any job's directory",
            };
            let more = match depends_on.len() {
                1 => String::new(),
                n => format!(" and {} more", n - 1),
            };
            format!(
                "It needs {} objects ({} bytes) outside of its own job's directory: {} {whose}{more}. It can't be restored without them.",
                elsewhere.objects,
                elsewhere.bytes,
                Quoted(&first.directory)
            )
        }
    }
}

fn state_backend(features: &[Feature]) -> Option<&'static str> {
    let has = |feature| features.contains(&feature);
    if has(Feature::CanonicalSavepoint) {
        Some("any (canonical savepoint)")
    } else if has(Feature::Changelog) {
        Some("changelog on top of another")
    } else if has(Feature::Forst) {
        Some("ForSt")
    } else if has(Feature::IncrementalKeyedState) {
        Some("RocksDB or ForSt, incremental")
    } else if has(Feature::FullKeyedState) {
        Some("heap (HashMap), or RocksDB without incremental checkpoints")
    } else {
        None
    }
}

fn length(stream: Option<Stream<'_>>) -> Option<u64> {
    match stream?.head {
        StreamHead::Inline { bytes, .. } => Some(bytes.len() as u64),
        StreamHead::File { size, .. } | StreamHead::Relative { size, .. } => size,
        StreamHead::Segment { size, .. } => Some(size),
        StreamHead::EmptySegment => Some(0),
        StreamHead::KeyGroups { .. } => None,
    }
}

/// Flink's checkpointed size: of incremental and changelog handles what they say, of anything else all of it
/// (`CompositeStateHandle.getCheckpointedSize`, Flink 1.15 and later).
fn new_bytes(snapshot: Snapshot<'_>) -> NewBytes {
    let mut new = NewBytes::default();
    let mut add = |bytes: Option<u64>| match bytes {
        Some(bytes) => new.bytes = new.bytes.saturating_add(bytes),
        None => new.not_said += 1,
    };
    for operator in snapshot.operators() {
        if let Some(coordinator) = operator.coordinator() {
            add(length(Some(coordinator)));
        }
        for subtask in operator.subtasks() {
            let states = [subtask.managed_operator(), subtask.raw_operator()];
            for state in states.into_iter().flatten() {
                add(length(OperatorState::delegate(state)));
            }
            let keyed = [subtask.managed_keyed(), subtask.raw_keyed()];
            for handle in keyed.into_iter().flatten() {
                add(new_of_keyed(handle));
            }
            for channel in subtask.input_channels().chain(subtask.result_subpartitions()) {
                add(u64::try_from(channel.head.size).ok());
            }
        }
    }
    new
}

fn new_of_keyed(handle: Keyed<'_>) -> Option<u64> {
    let said = |size: Option<i64>| size.and_then(|size| u64::try_from(size).ok());
    match handle.head {
        KeyedHead::KeyGroups { .. } => length(handle.delegate()),
        KeyedHead::Incremental {
            checkpointed_size, ..
        }
        | KeyedHead::Changelog {
            checkpointed_size, ..
        } => said(checkpointed_size),
        KeyedHead::ChangelogInline(_) => Some(handle.changes().map(|change| change.bytes.len() as u64).sum()),
        KeyedHead::ChangelogFiles { .. } => said(handle.tail.incremental_size),
    }
}
