//! Entries of HA stores: the small handle in a znode or ConfigMap that points to an object of the HA storage directory.

use super::{Fields, HaError, node};
use crate::java::{JavaStr, Node, Value, read_object};

const HANDLE: &str = "org.apache.flink.runtime.state.RetrievableStreamStateHandle";
const MARKED: &str =
    "org.apache.flink.kubernetes.highavailability.KubernetesStateHandleStore$StateHandleWithDeleteMarker";
/// An entry has some 500 bytes and 20 values; user classes never lie in it.
const MAX_VALUES: usize = 500;

/// An entry of an HA store (`RetrievableStreamStateHandle`; in Kubernetes since 1.15 within a `StateHandleWithDeleteMarker`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HaPointer<'a> {
    /// The URI of the object that it points to, percent-encoded as `java.net.URI` keeps it.
    pub uri: JavaStr<'a>,
    /// That object's length in bytes.
    pub size: u64,
    /// Flink has begun to remove the entry and ignores it (Kubernetes since 1.15); `None` for a bare handle.
    pub marked_for_deletion: Option<bool>,
    /// `serialVersionUID` of the wrapper of Kubernetes entries; `None` for a bare handle. It isn't declared, so it differs between 1.15 to
    /// 1.18 (`0x9f813bf39965437f`) and 1.19 and later (`0x1bad4480ef860d7c`): a release of the other group ignores the entry with a warning.
    pub wrapper_uid: Option<i64>,
}

/// What an entry points to, by the name of the object (`FileSystemStateStorageHelper`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointsTo {
    /// `completedCheckpoint…`: a whole checkpoint.
    Checkpoint,
    /// `submittedJobGraph…`, `submittedExecutionPlan…` (2.0 and later) or `submittedApplication…` (2.3): what is to be run.
    Job,
    /// An object of another name.
    Other,
}

impl<'a> HaPointer<'a> {
    /// Reads an entry, base64 already decoded.
    ///
    /// # Errors
    /// It is another object or a damaged one. Kubernetes entries that hold garbage are ignored by Flink with a warning.
    pub fn read(bytes: &'a [u8]) -> Result<Self, HaError> {
        let (graph, used) = read_object(bytes, MAX_VALUES)?;
        if used != bytes.len() {
            return Err(HaError::TrailingBytes(bytes.len() - used));
        }
        let fields = Fields(&graph);
        let mut handle = graph.root();
        let mut marked_for_deletion = None;
        let mut wrapper_uid = None;
        if fields.is(handle, MARKED) {
            match graph.field(handle, "markedForDeletion") {
                Some(Value::Boolean(marked)) => marked_for_deletion = Some(marked),
                _ => return Err(HaError::Field("markedForDeletion")),
            }
            wrapper_uid = node(handle).and_then(|id| match graph.node(id)? {
                Node::Object { class, .. } => Some(graph.class(*class)?.serial_version_uid),
                _ => None,
            });
            handle = graph.field(handle, "inner").ok_or(HaError::Field("inner"))?;
        }
        if !fields.is(handle, HANDLE) {
            return Err(HaError::OtherClass(fields.class(handle)));
        }
        let wrapped = graph
            .field(handle, "wrappedStreamStateHandle")
            .ok_or(HaError::Field("wrappedStreamStateHandle"))?;
        Ok(Self {
            uri: fields.path(wrapped, "filePath")?,
            size: fields.unsigned(wrapped, "stateSize")?,
            marked_for_deletion,
            wrapper_uid,
        })
    }

    /// What it points to.
    pub fn points_to(&self) -> PointsTo {
        let uri = self.uri.as_bytes();
        let name = uri.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        if name.starts_with(b"completedCheckpoint") {
            PointsTo::Checkpoint
        } else if name.starts_with(b"submitted") {
            PointsTo::Job
        } else {
            PointsTo::Other
        }
    }
}
