//! What kind of snapshot it is: `CheckpointProperties`, since format 4 (Flink 1.16).

use crate::java::{Graph, Value};

/// Properties of a snapshot. In Flink: `org.apache.flink.runtime.checkpoint.CheckpointProperties`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointProperties {
    /// Checkpoint or savepoint.
    pub snapshot_type: SnapshotType,
    /// Whether it was triggered regardless of limits; true for savepoints.
    pub forced: bool,
    /// Whether Flink deletes it when a newer checkpoint takes its place.
    pub discard_subsumed: bool,
    /// Whether Flink deletes it when the job finishes.
    pub discard_finished: bool,
    /// Whether Flink deletes it when the job is cancelled.
    pub discard_cancelled: bool,
    /// Whether Flink deletes it when the job fails.
    pub discard_failed: bool,
    /// Whether Flink deletes it when the job is suspended.
    pub discard_suspended: bool,
    /// Whether it was restored in NO_CLAIM mode.
    pub unclaimed: bool,
}

/// Type of a snapshot. In Flink: `SnapshotType`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotType {
    /// `CheckpointType`.
    Checkpoint {
        /// `Checkpoint` or `Full Checkpoint`.
        name: Box<str>,
        /// What files it may share with others.
        sharing: SharingFiles,
    },
    /// `SavepointType`.
    Savepoint {
        /// `Savepoint`, `Terminate Savepoint` or `Suspend Savepoint`.
        name: Box<str>,
        /// Format of the state.
        format: SavepointFormat,
        /// What the job did then.
        then: PostCheckpointAction,
    },
}

impl SnapshotType {
    /// Whether it is a savepoint.
    pub fn is_savepoint(&self) -> bool {
        matches!(self, SnapshotType::Savepoint { .. })
    }

    /// Flink's name of the type.
    pub fn name(&self) -> &str {
        match self {
            SnapshotType::Checkpoint { name, .. } | SnapshotType::Savepoint { name, .. } => name,
        }
    }
}

macro_rules! java_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// The name of the constant in Flink.
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }

            fn parse(text: crate::java::JavaStr<'_>) -> Option<Self> {
                $(if text == $text { return Some($name::$variant); })*
                None
            }
        }
    };
}

java_enum! {
    /// What files a checkpoint may share. In Flink: `SharingFilesStrategy`.
    SharingFiles {
        /// With older and newer checkpoints.
        ForwardBackward = "FORWARD_BACKWARD",
        /// With newer ones only: a full checkpoint.
        Forward = "FORWARD",
        /// With none.
        NoSharing = "NO_SHARING",
    }
}

java_enum! {
    /// Format of a savepoint. In Flink: `SavepointFormatType`.
    SavepointFormat {
        /// The same for every backend.
        Canonical = "CANONICAL",
        /// The backend's own files.
        Native = "NATIVE",
    }
}

java_enum! {
    /// What the job did after a savepoint. In Flink: `SavepointType.PostCheckpointAction`.
    PostCheckpointAction {
        /// It went on.
        None = "NONE",
        /// It was suspended.
        Suspend = "SUSPEND",
        /// It ended.
        Terminate = "TERMINATE",
    }
}

impl CheckpointProperties {
    /// Picks the properties out of an object graph; the error names the first thing that is missing.
    pub(crate) fn from_graph(graph: &Graph<'_>) -> Result<Self, &'static str> {
        let root = graph.root();
        let is = |value, name: &str| graph.class_name(value).is_some_and(|class| class == name);
        if !is(root, "org.apache.flink.runtime.checkpoint.CheckpointProperties") {
            return Err("the object is of another class");
        }
        let flag = |name: &'static str| match graph.field(root, name) {
            Some(Value::Boolean(value)) => Ok(value),
            _ => Err(name),
        };
        let kind = graph.field(root, "checkpointType").ok_or("checkpointType")?;
        let text = |name: &'static str| {
            graph
                .field(kind, name)
                .and_then(|value| graph.text(value))
                .ok_or(name)
        };
        let name = || Ok::<_, &'static str>(text("name")?.to_string().into_boxed_str());
        let snapshot_type = if is(kind, "org.apache.flink.runtime.checkpoint.CheckpointType") {
            let sharing = text("sharingFilesStrategy")?;
            SnapshotType::Checkpoint {
                name: name()?,
                sharing: SharingFiles::parse(sharing).ok_or("sharingFilesStrategy")?,
            }
        } else if is(kind, "org.apache.flink.runtime.checkpoint.SavepointType") {
            SnapshotType::Savepoint {
                name: name()?,
                format: SavepointFormat::parse(text("formatType")?).ok_or("formatType")?,
                then: PostCheckpointAction::parse(text("postCheckpointAction")?)
                    .ok_or("postCheckpointAction")?,
            }
        } else {
            return Err("checkpointType is of an unknown class");
        };
        Ok(CheckpointProperties {
            snapshot_type,
            forced: flag("forced")?,
            discard_subsumed: flag("discardSubsumed")?,
            discard_finished: flag("discardFinished")?,
            discard_cancelled: flag("discardCancelled")?,
            discard_failed: flag("discardFailed")?,
            discard_suspended: flag("discardSuspended")?,
            unclaimed: flag("unclaimed")?,
        })
    }
}
