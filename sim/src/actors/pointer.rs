//! What a pointer of an HA store holds: the whole checkpoint as Java objects, from which a JobManager that recovers restores without reading `_metadata`
//! (flink-format.md 4.5). A wording of its own beside the reader's.

use super::java::{Class, Object, Value, stream};
use super::metadata::{Handle, Keyed, Path, SinkOperator, Subtask};
use crate::clock::Millis;
use crate::store::BUCKET;

const STRING: &str = "Ljava/lang/String;";
const HANDLE: &str = "Lorg/apache/flink/runtime/state/StreamStateHandle;";
const PATH: &str = "Lorg/apache/flink/core/fs/Path;";
const LIST: &str = "Ljava/util/List;";
const MAP: &str = "Ljava/util/Map;";

/// `uid`: the number by which Java tells versions of a class apart, as streams of real Flink have it; 1 where none of those at hand has one.
const fn class(name: &'static str, uid: u64, fields: &'static [(&'static str, &'static str)]) -> Class {
    Class {
        name,
        uid,
        flags: 2,
        fields,
        above: None,
    }
}

const URI: Class = Class {
    flags: 3,
    ..class("java.net.URI", 0xac01_782e_439e_49ab, &[("string", STRING)])
};
const FLINK_PATH: Class = class("org.apache.flink.core.fs.Path", 1, &[("uri", "Ljava/net/URI;")]);
const FILE: Class = class(
    "org.apache.flink.runtime.state.filesystem.FileStateHandle",
    0x04dc_75d8_62bd_1bb3,
    &[("stateSize", "J"), ("filePath", PATH)],
);
const RELATIVE: Class = Class {
    above: Some(&FILE),
    ..class(
        "org.apache.flink.runtime.state.filesystem.RelativeFileStateHandle",
        1,
        &[("relativePath", STRING)],
    )
};
const SEGMENT: Class = class(
    "org.apache.flink.runtime.state.filemerging.SegmentFileStateHandle",
    1,
    &[("startPos", "J"), ("stateSize", "J"), ("filePath", PATH)],
);
const DIRECTORY: Class = class(
    "org.apache.flink.runtime.state.filemerging.DirectoryStreamStateHandle",
    1,
    &[("directory", PATH)],
);
const BYTE_STREAM: Class = class(
    "org.apache.flink.runtime.state.memory.ByteStreamStateHandle",
    0xb6b8_de37_f379_6da6,
    &[("data", "[B"), ("handleName", STRING)],
);
const ABSTRACT_ID: Class = class(
    "org.apache.flink.util.AbstractID",
    1,
    &[("lowerPart", "J"), ("upperPart", "J")],
);
const JOB_ID: Class = Class {
    above: Some(&ABSTRACT_ID),
    ..class("org.apache.flink.api.common.JobID", 1, &[])
};
const OPERATOR_ID: Class = Class {
    above: Some(&ABSTRACT_ID),
    ..class("org.apache.flink.runtime.jobgraph.OperatorID", 1, &[])
};
const UUID: Class = class(
    "java.util.UUID",
    0xbc99_03f7_986d_852f,
    &[("leastSigBits", "J"), ("mostSigBits", "J")],
);
const ARRAY_LIST: Class = Class {
    flags: 3,
    ..class("java.util.ArrayList", 0x7881_d21d_99c7_619d, &[("size", "I")])
};
const HASH_MAP: Class = Class {
    flags: 3,
    ..class(
        "java.util.HashMap",
        0x0507_dac1_c316_60d1,
        &[("loadFactor", "F"), ("threshold", "I")],
    )
};
const INCREMENTAL: Class = class(
    "org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle",
    0x8c6a_20c9_009e_ce39,
    &[
        ("checkpointId", "J"),
        ("backendIdentifier", "Ljava/util/UUID;"),
        ("metaStateHandle", HANDLE),
        ("privateState", LIST),
        ("sharedState", LIST),
    ],
);
const WITH_NAME: Class = class(
    "org.apache.flink.runtime.state.IncrementalKeyedStateHandle$HandleAndLocalPath",
    0x6b05_a807_9b6a_c2dc,
    &[("handle", HANDLE), ("localPath", STRING)],
);
const KEY_GROUPS: Class = class(
    "org.apache.flink.runtime.state.KeyGroupsStateHandle",
    1,
    &[("stateHandle", HANDLE)],
);
const CHANGELOG: Class = class(
    "org.apache.flink.runtime.state.changelog.ChangelogStateBackendHandle$ChangelogStateBackendHandleImpl",
    1,
    &[("keyed", LIST), ("nonMaterialized", LIST)],
);
const LOG: Class = class(
    "org.apache.flink.runtime.state.changelog.ChangelogStateHandleStreamImpl",
    1,
    &[("handlesAndOffsets", LIST)],
);
const OPERATOR_STREAM: Class = class(
    "org.apache.flink.runtime.state.OperatorStreamStateHandle",
    0x007f_7581_ef5b_6047,
    &[("delegateStateHandle", HANDLE)],
);
const SUBTASK: Class = class(
    "org.apache.flink.runtime.checkpoint.OperatorSubtaskState",
    0xdec4_53c4_9b30_6be5,
    &[("managedKeyedState", LIST), ("managedOperatorState", LIST)],
);
const OPERATOR: Class = class(
    "org.apache.flink.runtime.checkpoint.OperatorState",
    0xbcc1_0c7a_0514_03ee,
    &[
        ("maxParallelism", "I"),
        ("parallelism", "I"),
        ("operatorID", "Lorg/apache/flink/runtime/jobgraph/OperatorID;"),
        ("operatorSubtaskStates", MAP),
    ],
);
const LOCATION: Class = class(
    "org.apache.flink.runtime.state.filesystem.FsCompletedCheckpointStorageLocation",
    1,
    &[("externalPointer", STRING), ("metadataFileHandle", HANDLE)],
);
const COMPLETED: Class = class(
    "org.apache.flink.runtime.checkpoint.CompletedCheckpoint",
    0x8bfa_6e93_3be6_6402,
    &[
        ("checkpointID", "J"),
        ("completionTimestamp", "J"),
        ("timestamp", "J"),
        ("externalPointer", STRING),
        ("job", "Lorg/apache/flink/api/common/JobID;"),
        ("metadataHandle", HANDLE),
        ("operatorStates", MAP),
        (
            "storageLocation",
            "Lorg/apache/flink/runtime/state/CompletedCheckpointStorageLocation;",
        ),
    ],
);

fn object(class: &'static Class, values: Vec<Value>) -> Value {
    Value::Object(Object {
        class,
        values,
        besides: None,
    })
}

fn list(values: Vec<Value>) -> Value {
    let size = i32::try_from(values.len()).unwrap_or(i32::MAX);
    Value::Object(Object {
        class: &ARRAY_LIST,
        values: vec![Value::Int(size)],
        besides: Some((size.to_be_bytes().to_vec(), values)),
    })
}

fn map(entries: Vec<(Value, Value)>) -> Value {
    let size = i32::try_from(entries.len()).unwrap_or(i32::MAX);
    let block = [16_i32.to_be_bytes(), size.to_be_bytes()].concat();
    let flat = entries.into_iter().flat_map(|(key, value)| [key, value]);
    Value::Object(Object {
        class: &HASH_MAP,
        values: vec![Value::Float(0.75), Value::Int(12)],
        besides: Some((block, flat.collect())),
    })
}

/// The two halves of an id of 32 hex digits, or of a UUID; what is none counts as zeroes.
fn halves(hex: &str) -> (i64, i64) {
    let hex = hex.replace('-', "");
    let half = |at: usize| {
        let digits = hex.get(at..at + 16).unwrap_or("0");
        u64::from_str_radix(digits, 16).unwrap_or(0).cast_signed()
    };
    (half(0), half(16))
}

fn id(class: &'static Class, (lower, upper): (i64, i64)) -> Value {
    object(class, vec![Value::Long(lower), Value::Long(upper)])
}

fn long(n: u64) -> Value {
    Value::Long(i64::try_from(n).unwrap_or(i64::MAX))
}

fn path(uri: String) -> Value {
    let uri = Value::Object(Object {
        class: &URI,
        values: vec![Value::Text(uri)],
        besides: Some((Vec::new(), Vec::new())),
    });
    object(&FLINK_PATH, vec![uri])
}

/// A checkpoint as an HA store keeps it.
pub(super) struct Pointer<'f> {
    pub(super) checkpoint_id: u64,
    pub(super) completed: Millis,
    /// The key prefix of the job's directory.
    pub(super) job_directory: &'f str,
    /// The key prefix of the checkpoint's own directory.
    pub(super) directory: String,
    pub(super) metadata_size: u64,
    pub(super) operator: [u8; 16],
    pub(super) subtasks: Vec<Subtask<'f>>,
    pub(super) sinks: Vec<SinkOperator<'f>>,
}

impl Pointer<'_> {
    /// The bytes of the object.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let directory = format!("s3://{BUCKET}/{}", self.directory.trim_end_matches('/'));
        let metadata = || {
            let path = path(format!("{directory}/_metadata"));
            object(&FILE, vec![long(self.metadata_size), path])
        };
        let job = self.job_directory.trim_start_matches("cp/");
        let mut operators = vec![self.of_operator(self.operator, &self.subtasks, |s| self.of_subtask(s))];
        for sink in &self.sinks {
            operators.push(self.of_operator(sink.id, &sink.subtasks, |s| {
                let stream = match &s.stream {
                    Ok(bytes) => object(
                        &BYTE_STREAM,
                        vec![Value::Bytes(bytes.to_vec()), Value::Text("a stream".to_owned())],
                    ),
                    Err(handle) => self.handle(handle),
                };
                let state = object(&OPERATOR_STREAM, vec![stream]);
                object(&SUBTASK, vec![Value::Null, list(vec![state])])
            }));
        }
        let location = object(&LOCATION, vec![Value::Text(directory.clone()), metadata()]);
        stream(&Object {
            class: &COMPLETED,
            values: vec![
                long(self.checkpoint_id),
                Value::Long(self.completed),
                Value::Long(self.completed - 1_000),
                Value::Text(directory.clone()),
                id(&JOB_ID, halves(job)),
                metadata(),
                map(operators),
                location,
            ],
            besides: None,
        })
    }

    fn of_operator<S>(&self, of: [u8; 16], subtasks: &[S], state: impl Fn(&S) -> Value) -> (Value, Value) {
        let hex: String = of.iter().map(|byte| format!("{byte:02x}")).collect();
        let count = i32::try_from(subtasks.len()).unwrap_or(i32::MAX);
        // The keys of the map are boxed numbers; whose state it is nobody here asks.
        let states = subtasks.iter().map(|s| (Value::Null, state(s))).collect();
        let values = vec![
            Value::Int(128),
            Value::Int(count),
            id(&OPERATOR_ID, halves(&hex)),
            map(states),
        ];
        (id(&OPERATOR_ID, halves(&hex)), object(&OPERATOR, values))
    }

    fn of_subtask(&self, subtask: &Subtask<'_>) -> Value {
        let merged = subtask.merged.iter().flat_map(|(own, shared)| [own, shared]);
        let directories: Vec<Value> = merged
            .map(|directory| object(&DIRECTORY, vec![path(directory.clone())]))
            .collect();
        object(
            &SUBTASK,
            vec![list(vec![self.keyed(&subtask.keyed)]), list(directories)],
        )
    }

    fn keyed(&self, keyed: &Keyed<'_>) -> Value {
        let named = |files: &[Handle<'_>]| {
            let with_name = |(n, file): (usize, &Handle<'_>)| {
                let name = Value::Text(format!("{n:06}.sst"));
                object(&WITH_NAME, vec![self.handle(file), name])
            };
            list(files.iter().enumerate().map(with_name).collect())
        };
        let groups = |file: &Handle<'_>| object(&KEY_GROUPS, vec![self.handle(file)]);
        match keyed {
            Keyed::Incremental {
                backend,
                meta,
                shared,
                private,
            } => {
                let (most, least) = halves(backend);
                let backend = object(&UUID, vec![Value::Long(least), Value::Long(most)]);
                object(
                    &INCREMENTAL,
                    vec![
                        long(self.checkpoint_id),
                        backend,
                        self.handle(meta),
                        named(private),
                        named(shared),
                    ],
                )
            }
            Keyed::Whole(file) => groups(file),
            Keyed::Changelog { materialized, log } => {
                let log = log.iter().map(|file| self.handle(file)).collect();
                let log = object(&LOG, vec![list(log)]);
                let materialized = materialized.iter().map(groups).collect();
                object(&CHANGELOG, vec![list(materialized), list(vec![log])])
            }
        }
    }

    /// Of what lies beside `_metadata` the object has the absolute path too.
    fn handle(&self, handle: &Handle<'_>) -> Value {
        let size = long(handle.size);
        match &handle.path {
            Path::Absolute(at) => object(&FILE, vec![size, path(at.clone())]),
            Path::Beside(name) => {
                let at = path(format!("s3://{BUCKET}/{}{name}", self.directory));
                object(&RELATIVE, vec![size, at, Value::Text((*name).to_owned())])
            }
            Path::Segment { path: at, start, .. } => {
                object(&SEGMENT, vec![long(*start), size, path(at.clone())])
            }
        }
    }
}
