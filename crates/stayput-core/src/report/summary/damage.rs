//! A `_metadata` that can't be read: where, why, what was read before, and what it means for the job.

use std::ops::ControlFlow;

use flink_checkpoint::ha::{CompletedCheckpoint, HaPointer};
use flink_checkpoint::{Damaged, ErrorKind, LooksLike};
use serde::Serialize;

use super::FORM;
use super::home::Home;
use super::objects::{Collector, Objects};
use crate::location::Location;

/// A `_metadata` that could not be read to its end.
#[derive(Clone, Debug, Serialize)]
pub struct Damage {
    /// Always [`FORM`].
    pub form: &'static str,
    /// The directory that holds it, if that is known.
    pub at: Option<Location>,
    /// Length of the file in bytes.
    pub metadata_bytes: u64,
    /// What is wrong. The text is stable: `end_of_file`, `too_new` …
    pub code: &'static str,
    /// Offset in bytes of the field that could not be read.
    pub offset: u64,
    /// That field.
    pub field: String,
    /// The operator that the field belongs to, if any.
    pub operator: Option<DamagedOperator>,
    /// What is wrong, with all of that, as a sentence.
    pub message: String,
    /// What was read before. There can be more in the file: never proof that something isn't needed.
    pub read_so_far: ReadSoFar,
    /// What it means for the job.
    pub meaning: &'static str,
    /// Whether trying again can help. Never: the same bytes give the same error.
    pub retry_helps: bool,
    /// What to do next.
    pub next_step: &'static str,
}

/// The operator in which the damage lies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DamagedOperator {
    /// Position in the file, from 0.
    pub number: u32,
    /// Id, if that could be read.
    pub id: Option<String>,
    /// Subtask, if in one.
    pub subtask: Option<u32>,
}

/// What was read before the damage.
#[derive(Clone, Debug, Serialize)]
pub struct ReadSoFar {
    /// Format version, if that could be read.
    pub format_version: Option<i32>,
    /// Id of the checkpoint, if that could be read.
    pub checkpoint_id: Option<u64>,
    /// Operators that were read to their end.
    pub operators: u64,
    /// Subtasks that had begun.
    pub subtasks: u64,
    /// Objects that were named.
    pub objects: Objects,
    /// Handles whose bytes lie in the file.
    pub inlined_handles: u64,
    /// Those bytes.
    pub inlined_bytes: u64,
}

pub(super) fn describe(damaged: &Damaged, bytes: &[u8], home: Option<&Home>) -> Damage {
    let error = &damaged.error;
    let partial = &damaged.partial;
    let mut collector = Collector::new(bytes, home);
    partial.references(bytes, |reference| {
        collector.tell(reference);
        ControlFlow::Continue(())
    });
    let Explained {
        code,
        meaning,
        next_step,
    } = explain(&error.kind);
    Damage {
        form: FORM,
        at: home.map(|home| home.location.clone()),
        metadata_bytes: bytes.len() as u64,
        code,
        offset: error.at as u64,
        field: error.reading.to_string(),
        operator: error.context.map(|context| DamagedOperator {
            number: context.operator.0,
            id: context.operator_id.map(|id| id.to_string()),
            subtask: context.subtask,
        }),
        message: match ha_object(&error.kind, bytes) {
            Some(named) => format!("{error}. {named}"),
            None => error.to_string(),
        },
        read_so_far: ReadSoFar {
            format_version: partial.format_version,
            checkpoint_id: partial.checkpoint_id,
            operators: partial.counts.operators,
            subtasks: partial.counts.subtasks,
            objects: collector.finish(),
            inlined_handles: partial.counts.inline + partial.counts.inline_changelogs,
            inlined_bytes: partial.counts.inline_bytes + partial.counts.inline_changelog_bytes,
        },
        meaning,
        retry_helps: false,
        next_step,
    }
}

/// What an entry or object of an HA store names, in a sentence.
fn ha_object(kind: &ErrorKind, bytes: &[u8]) -> Option<String> {
    match kind {
        ErrorKind::NotMetadata(LooksLike::HaPointer) => {
            let pointer = HaPointer::read(bytes).ok()?;
            let dead = match pointer.marked_for_deletion {
                Some(true) => "; it is marked for deletion, so Flink ignores it",
                Some(false) | None => "",
            };
            Some(format!(
                "It points to {}, of {} bytes{dead}",
                pointer.uri, pointer.size
            ))
        }
        ErrorKind::NotMetadata(LooksLike::CompletedCheckpoint) => {
            let checkpoint = CompletedCheckpoint::read(bytes).ok()?;
            let job: String = checkpoint
                .job_id()
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            let files = checkpoint.references().ok()?.len();
            Some(format!(
                "It holds checkpoint {} of job {job}, names {files} files and directories, and its _metadata is {}, of {} bytes",
                checkpoint.checkpoint_id(),
                checkpoint.metadata_uri(),
                checkpoint.metadata_size()
            ))
        }
        _ => None,
    }
}

struct Explained {
    code: &'static str,
    meaning: &'static str,
    next_step: &'static str,
}

const UNUSABLE: &str = "No job can be restored from this snapshot as it is. The files that it named are still there until somebody deletes \
     them, but which ones it needs can't be told from here.";
const OLDER_VERSION: &str = "Look for an older version of this object (S3 versioning) or another copy; otherwise restore from another checkpoint or savepoint. Delete \
     nothing near it before that.";

fn explain(kind: &ErrorKind) -> Explained {
    let damaged = |code| Explained {
        code,
        meaning: UNUSABLE,
        next_step: OLDER_VERSION,
    };
    match kind {
        ErrorKind::NotMetadata(LooksLike::Empty | LooksLike::TruncatedMetadata) => damaged("truncated"),
        ErrorKind::NotMetadata(LooksLike::HaPointer) => Explained {
            code: "not_metadata",
            meaning: "It is an entry of an HA store, as ZooKeeper or a ConfigMap keeps it: which object a JobManager reads when it recovers.",
            next_step: "Read that object with this command: it holds the checkpoint. If it is gone for good, Flink 1.12 and later can't recover while this \
                        entry stands, however many older checkpoints there are: stop the JobManager and remove the entry (the znode with its locks, or the \
                        key of the ConfigMap), and the next recovery takes the one before.",
        },
        ErrorKind::NotMetadata(LooksLike::CompletedCheckpoint) => Explained {
            code: "not_metadata",
            meaning: "A JobManager that recovers restores from this object and never reads _metadata; it tries the same checkpoint again as long as the \
                      HA store names it.",
            next_step: "Give the _metadata that is named here to `stayput refs` and see whether its files are there. If one is gone for good, stop the \
                        JobManager and remove this checkpoint's entry from ZooKeeper or the ConfigMap: the next recovery takes the one before.",
        },
        ErrorKind::NotMetadata(_) => Explained {
            code: "not_metadata",
            meaning: "It says nothing about any job: this is another file, or one that was overwritten or damaged in its first bytes.",
            next_step: "Give the file named _metadata in a chk-N or savepoint directory. If this is one, look for an older version of it.",
        },
        ErrorKind::TooOld { .. } | ErrorKind::LegacyState { .. } => Explained {
            code: "too_old",
            meaning: "Nothing is wrong with it, but no current Flink can restore from it.",
            next_step: "Restore with a release of Flink from 1.3 to 1.8 and take a new savepoint.",
        },
        ErrorKind::TooNew { .. } => Explained {
            code: "too_new",
            meaning: "Nothing needs to be wrong with it: the Flink that wrote it can read it, this program can't.",
            next_step: "Use a newer release of this program; until then take everything near it as needed.",
        },
        ErrorKind::EndOfFile { .. } => damaged("end_of_file"),
        ErrorKind::Negative { .. } => damaged("negative"),
        ErrorKind::CountTooLarge { .. } => damaged("count_too_large"),
        ErrorKind::UnknownTag { .. } => damaged("unknown_tag"),
        ErrorKind::OutOfRange { .. } => damaged("out_of_range"),
        ErrorKind::TooDeep { .. } => damaged("too_deep"),
        ErrorKind::MasterStateMagic { .. } | ErrorKind::MasterStateLength { .. } => damaged("master_state"),
        ErrorKind::FinishedWithCoordinator => damaged("finished_with_coordinator"),
        ErrorKind::UnsafeRelativePath => damaged("unsafe_relative_path"),
        ErrorKind::TrailingBytes { .. } => Explained {
            code: "trailing_bytes",
            meaning: "Flink ignores what follows the last record, so a job may well be restored from it; but something is there that isn't \
                      understood here.",
            next_step: "Compare it with an older version of this object; take everything near it as needed.",
        },
        ErrorKind::Java(_) | ErrorKind::NotProperties(_) => Explained {
            code: "properties",
            meaning: "The state handles before the properties could be read, but Flink refuses to load a snapshot whose properties it can't \
                      read.",
            next_step: OLDER_VERSION,
        },
        ErrorKind::TooLargeForIndex { .. } => Explained {
            code: "too_large",
            meaning: "Nothing needs to be wrong with it: it is larger than this view can show.",
            next_step: "List what it names with `stayput refs`, which has no such limit.",
        },
        _ => damaged("damaged"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::report::summary::{Reading, read};

    #[test]
    fn an_object_of_an_ha_store_says_which_checkpoint_it_holds() {
        let path = "../../tests/corpus/ha/2.3.0-run/ha-storage/lab/completedCheckpoint010d740ab2ce";
        let bytes =
            std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("part of the repository");
        let Reading::Damaged(damage) = read(&bytes, None) else {
            panic!("it is no _metadata")
        };
        let said = "checkpoint 9 of job 348e45eca2d30d875a12b1e6f963aef8, names";
        assert!(damage.message.contains(said), "{}", damage.message);
        assert!(
            damage.message.contains("/chk-9/_metadata, of 4029 bytes"),
            "{}",
            damage.message
        );
        assert!(damage.meaning.contains("never reads _metadata") && damage.next_step.contains("refs"));
    }
}
