//! `completedCheckpoint…` objects of an HA storage directory: a whole checkpoint as Java objects.

use std::collections::HashSet;

use super::{Fields, HaError, node};
use crate::Extent;
use crate::java::{Graph, JavaStr, Node, NodeId, Value, read_object};

const CLASS: &str = "org.apache.flink.runtime.checkpoint.CompletedCheckpoint";
const OPERATOR_ID: &str = "org.apache.flink.runtime.jobgraph.OperatorID";
/// A merged file of which nothing is used: it names no real file (`EmptySegmentFileStateHandle`, Flink 2.0 and later).
const NO_FILE: &str = "org.apache.flink.runtime.state.filemerging.EmptySegmentFileStateHandle";
const CHANGELOG: &str = "org.apache.flink.runtime.state.changelog.ChangelogStateHandleStreamImpl";

/// A checkpoint as an HA store keeps it (`CompletedCheckpoint`, Flink 1.13 to 2.3): what a JobManager that recovers restores from.
#[derive(Clone, Debug)]
pub struct CompletedCheckpoint<'a> {
    graph: Graph<'a>,
    checkpoint_id: u64,
    job_id: [u8; 16],
    external_pointer: JavaStr<'a>,
    metadata_uri: JavaStr<'a>,
    metadata_size: u64,
    triggered: i64,
    completed: Option<i64>,
    /// Handles of `_metadata` itself, which are no state.
    metadata_handles: Vec<NodeId>,
}

/// One handle of a [`CompletedCheckpoint`] that names a file or a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HaReference<'a> {
    /// Its URI, percent-encoded as `java.net.URI` keeps it. Always absolute, also where `_metadata` has a relative path.
    pub uri: JavaStr<'a>,
    /// How long the file must be.
    pub extent: Extent,
    /// Everything below is named (`DirectoryStreamStateHandle`), not one file.
    pub directory: bool,
}

impl<'a> CompletedCheckpoint<'a> {
    /// Reads a whole object. Memory stays below 100 bytes for each byte of it.
    ///
    /// # Errors
    /// It is another object, a damaged one, or lacks a field that every release from 1.13 on writes.
    pub fn read(bytes: &'a [u8]) -> Result<Self, HaError> {
        let (graph, used) = read_object(bytes, bytes.len())?;
        if used != bytes.len() {
            return Err(HaError::TrailingBytes(bytes.len() - used));
        }
        let fields = Fields(&graph);
        let root = graph.root();
        if !fields.is(root, CLASS) {
            return Err(HaError::OtherClass(fields.class(root)));
        }
        let metadata = graph
            .field(root, "metadataHandle")
            .ok_or(HaError::Field("metadataHandle"))?;
        let job = graph.field(root, "job").ok_or(HaError::Field("job"))?;
        let of_location = graph
            .field(root, "storageLocation")
            .and_then(|location| graph.field(location, "metadataFileHandle"));
        Ok(Self {
            checkpoint_id: fields.unsigned(root, "checkpointID")?,
            job_id: fields.id(job)?,
            external_pointer: fields.text(root, "externalPointer")?,
            metadata_uri: fields.path(metadata, "filePath")?,
            metadata_size: fields.unsigned(metadata, "stateSize")?,
            triggered: fields.long(root, "timestamp")?,
            completed: fields.long(root, "completionTimestamp").ok(),
            metadata_handles: [Some(metadata), of_location]
                .into_iter()
                .flatten()
                .filter_map(node)
                .collect(),
            graph,
        })
    }

    /// The id that Flink gave the checkpoint.
    pub fn checkpoint_id(&self) -> u64 {
        self.checkpoint_id
    }

    /// The job's id, in the order in which it is printed.
    pub fn job_id(&self) -> [u8; 16] {
        self.job_id
    }

    /// The checkpoint's directory as a Flink path, not percent-encoded: what `-s` of `flink run` takes.
    pub fn external_pointer(&self) -> JavaStr<'a> {
        self.external_pointer
    }

    /// The URI of `_metadata`, percent-encoded as `java.net.URI` keeps it.
    pub fn metadata_uri(&self) -> JavaStr<'a> {
        self.metadata_uri
    }

    /// The length of `_metadata` in bytes.
    pub fn metadata_size(&self) -> u64 {
        self.metadata_size
    }

    /// When the checkpoint was triggered, in ms since 1970.
    pub fn triggered(&self) -> i64 {
        self.triggered
    }

    /// When it was complete, in ms since 1970; `None` where the release doesn't say.
    pub fn completed(&self) -> Option<i64> {
        self.completed
    }

    /// Ids of all operators, sorted, each once.
    pub fn operators(&self) -> Vec<[u8; 16]> {
        let fields = Fields(&self.graph);
        let mut ids: Vec<_> = self
            .objects()
            .filter(|value| fields.is(*value, OPERATOR_ID))
            .filter_map(|value| fields.id(value).ok())
            .collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Ids of keyed backends of incremental handles, as UUID text, sorted, each once.
    pub fn backends(&self) -> Vec<String> {
        let fields = Fields(&self.graph);
        let mut ids: Vec<_> = self
            .objects()
            .filter_map(|value| self.graph.field(value, "backendIdentifier"))
            .filter_map(|uuid| {
                let high = fields.long(uuid, "mostSigBits").ok()?;
                Some(uuid_text(high, fields.long(uuid, "leastSigBits").ok()?))
            })
            .collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Every handle that names a file or directory, in the order of the stream. A handle that several others hold comes once.
    ///
    /// # Errors
    /// A handle has no path: then nobody can tell everything that the checkpoint names.
    pub fn references(&self) -> Result<Vec<HaReference<'a>>, HaError> {
        let fields = Fields(&self.graph);
        let changelogs = self.below_changelogs();
        let mut all = Vec::new();
        for value in self.objects() {
            if node(value).is_some_and(|id| self.metadata_handles.contains(&id)) {
                continue;
            }
            if self.graph.field(value, "filePath").is_some() {
                if fields.is(value, NO_FILE) {
                    continue;
                }
                let size = fields.unsigned(value, "stateSize")?;
                let extent = match self.graph.field(value, "startPos") {
                    Some(Value::Long(start)) => {
                        let start = u64::try_from(start).map_err(|_| HaError::Field("startPos"))?;
                        Extent::AtLeast(start.saturating_add(size))
                    }
                    _ if node(value).is_some_and(|id| changelogs.contains(&id)) => Extent::Changelog(size),
                    _ => Extent::Exact(size),
                };
                all.push(HaReference {
                    uri: fields.path(value, "filePath")?,
                    extent,
                    directory: false,
                });
            } else if self.is_directory(value) {
                all.push(HaReference {
                    uri: fields.path(value, "directory")?,
                    extent: Extent::Unknown,
                    directory: true,
                });
            }
        }
        Ok(all)
    }

    fn objects(&self) -> impl Iterator<Item = Value> + '_ {
        self.graph
            .nodes()
            .filter(|(_, node)| matches!(node, Node::Object { .. }))
            .map(|(id, _)| Value::Node(id))
    }

    fn is_directory(&self, value: Value) -> bool {
        self.graph
            .class_name(value)
            .is_some_and(|name| name.as_bytes().ends_with(b".DirectoryStreamStateHandle"))
    }

    /// Everything that changelog handles hold: their files are one byte longer than their handles say.
    fn below_changelogs(&self) -> HashSet<NodeId> {
        let fields = Fields(&self.graph);
        let mut open: Vec<NodeId> = self
            .objects()
            .filter(|value| fields.is(*value, CHANGELOG))
            .filter_map(|value| self.graph.field(value, "handlesAndOffsets"))
            .filter_map(node)
            .collect();
        let mut seen: HashSet<NodeId> = open.iter().copied().collect();
        while let Some(id) = open.pop() {
            let values: Vec<Value> = match self.graph.node(id) {
                Some(Node::Object {
                    fields, annotations, ..
                }) => fields.iter().chain(annotations).copied().collect(),
                Some(Node::Array { values, .. }) => values.clone(),
                _ => continue,
            };
            open.extend(values.into_iter().filter_map(node).filter(|id| seen.insert(*id)));
        }
        seen
    }
}

fn uuid_text(high: i64, low: i64) -> String {
    let hex: String = high
        .to_be_bytes()
        .into_iter()
        .chain(low.to_be_bytes())
        .map(|byte| format!("{byte:02x}"))
        .collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}
