//! What is known after a reading: all of a file, or only a part.

use std::fmt;
use std::ops::ControlFlow;

use crate::grammar::Layout;
use crate::limits::Limits;
use crate::properties::CheckpointProperties;
use crate::reference::Reference;

/// Proof that a file was read to its end (or as far as the visitor wanted, see [`Complete::stopped_early`]).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Complete {
    /// Format version, 2 to 7. 7 is unreleased and read as well as it is known.
    pub format_version: u8,
    /// Id of the checkpoint.
    pub checkpoint_id: u64,
    /// Size of the file in bytes.
    pub bytes: usize,
    /// What the file holds (what was read of it, if the visitor stopped early).
    pub counts: Counts,
    /// Properties; `None` before format 4 (Flink 1.16), and if the visitor stopped early.
    pub properties: Option<CheckpointProperties>,
    /// The visitor wanted no more. There may be references that it wasn't told of, and the rest of the file may
    /// be damaged.
    pub stopped_early: bool,
}

impl Complete {
    /// Format 7 is in no release yet, and how it writes relative handles isn't settled: what was read of it should
    /// be shown as "as well as known".
    pub fn best_effort(&self) -> bool {
        self.format_version > 6
    }
}

/// How much a file holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Master states.
    pub master_states: u64,
    /// Operators.
    pub operators: u64,
    /// Stored subtasks, finished ones too.
    pub subtasks: u64,
    /// Handles that name an object (tags 2 and 6). The same object counts each time.
    pub files: u64,
    /// Handles that name a part of an object (tag 15).
    pub segments: u64,
    /// Directories that are named (two for each tag 17).
    pub directories: u64,
    /// Handles whose bytes lie in the file (tag 1).
    pub inline: u64,
    /// Those bytes.
    pub inline_bytes: u64,
    /// Handles of merged state that has no bytes (tag 16).
    pub empty_segments: u64,
    /// Changelogs whose changes lie in the file (tag 9).
    pub inline_changelogs: u64,
    /// The bytes of those changes.
    pub inline_changelog_bytes: u64,
}

impl Counts {
    /// Number of references: objects, parts of objects, directories.
    pub fn references(&self) -> u64 {
        self.files + self.segments + self.directories
    }
}

/// What could be read of a damaged file. For display and for "may be needed", never for "isn't needed".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Partial {
    /// Format version, if that could be read.
    pub format_version: Option<i32>,
    /// Id of the checkpoint, if that could be read.
    pub checkpoint_id: Option<u64>,
    /// What was read before the damage.
    pub counts: Counts,
    /// How to read it again; `None`: nothing could be read.
    pub(crate) again: Option<(Layout, Limits)>,
}

impl Partial {
    /// Tells `f` the references before the damage, in the order of the file. `bytes` must be the same file;
    /// with others the references are theirs.
    pub fn references(&self, bytes: &[u8], mut f: impl FnMut(&Reference<'_>) -> ControlFlow<()>) {
        if let Some((layout, limits)) = &self.again {
            crate::read::partial_references(bytes, *layout, limits, &mut f);
        }
    }

    pub(crate) fn summary(&self) -> impl fmt::Display {
        let (references, known) = (self.counts.references(), self.again.is_some());
        fmt::from_fn(move |f| {
            if known {
                write!(f, "; {references} references were read before")?;
            }
            Ok(())
        })
    }
}
