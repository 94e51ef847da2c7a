//! Short explanations of the terms that answers use: for whoever meets one for the first time.

/// A term, as answers write it or as people say it, and what it means in a sentence or two.
pub const TERMS: [(&str, &str); 48] = [
    (
        "_metadata",
        "The one file that makes a directory a checkpoint: it names every other file, or holds small state itself. Flink writes it last; without it nothing can be restored.",
    ),
    (
        "checkpoint",
        "A snapshot that Flink takes by itself to recover from failures. Flink deletes old ones, unless they are retained.",
    ),
    (
        "savepoint",
        "A snapshot that a person asked for. Flink never deletes it by itself.",
    ),
    (
        "chk-N",
        "The directory of checkpoint N: its _metadata and the files that belong to this checkpoint alone.",
    ),
    (
        "shared/",
        "Files that several checkpoints of a job use, such as SST files of incremental checkpoints. A file here can be as old as the job.",
    ),
    (
        "taskowned/",
        "Files that TaskManagers own, so that the JobManager never deletes them.",
    ),
    (
        "operator",
        "One step of the job that has state. Snapshots know it by its id, which comes from the uid that the job sets.",
    ),
    (
        "uid",
        "The name by which an operator finds its state again in another version of the job. Without one, Flink derives the id from the job's graph, and a changed graph loses its state.",
    ),
    (
        "operator_id",
        "The hash of an operator's uid, 16 bytes. Before Flink 2.0 it is the only name that a snapshot has for an operator.",
    ),
    (
        "subtask",
        "One of an operator's parallel instances; each has its own part of the state.",
    ),
    (
        "parallelism",
        "How many subtasks an operator had when the snapshot was taken.",
    ),
    (
        "max_parallelism",
        "The number of key groups, so the most subtasks that can ever share the keyed state. It can't be changed without losing that state.",
    ),
    (
        "key_group",
        "The smallest part of keyed state that moves between subtasks: every key belongs to one, by its hash.",
    ),
    (
        "skew",
        "How unevenly state lies over subtasks. One that has much more than the others takes longest to snapshot and to restore.",
    ),
    (
        "handle",
        "An entry of _metadata that names state: an object, a part of one, a directory, or bytes in _metadata itself.",
    ),
    (
        "inlined",
        "State so small that it lies in _metadata itself (state.storage.fs.memory-threshold, 20 kB by default). It has no file of its own.",
    ),
    (
        "relocatable",
        "Whether the directory can be moved as it is: only if every file is named relative to it, as in savepoints of Flink 1.11 and later.",
    ),
    (
        "absolute",
        "Named by its whole path: it must stay where it is, wherever the snapshot is moved.",
    ),
    (
        "relative",
        "Named by a path below the directory of _metadata: it moves along.",
    ),
    (
        "directory",
        "A directory that is named as a whole (file merging): which of its files are needed can't be told from _metadata.",
    ),
    (
        "exclusive",
        "Belongs to this snapshot alone, and lies in its directory.",
    ),
    (
        "managed_keyed",
        "State by key: what ValueState, ListState, MapState and windows hold.",
    ),
    (
        "raw_keyed",
        "Keyed bytes that an operator writes itself; timers on the heap beside RocksDB are kept so.",
    ),
    (
        "managed_operator",
        "List, union and broadcast state of an operator: offsets of sources, for example.",
    ),
    (
        "raw_operator",
        "Bytes that an operator writes itself, without keys.",
    ),
    (
        "input_channel",
        "Records that were on their way into an operator (unaligned checkpoints).",
    ),
    (
        "result_subpartition",
        "Records that were on their way out of an operator (unaligned checkpoints).",
    ),
    (
        "coordinator",
        "State of an operator's coordinator on the JobManager, such as the splits that a source has not yet handed out. Always inlined.",
    ),
    (
        "master_state",
        "Bytes that a hook of the job wrote on the JobManager. What is in them only the hook knows.",
    ),
    (
        "meta",
        "What a state backend notes about its files, so that it can open them again.",
    ),
    (
        "shared",
        "A file that other checkpoints may use too: an SST file of RocksDB or ForSt. It can lie in any directory, even another job's.",
    ),
    (
        "private",
        "A file of RocksDB or ForSt for this checkpoint only, such as MANIFEST or CURRENT.",
    ),
    (
        "changelog",
        "A log of state changes (changelog state backend): restored on top of the last materialized base.",
    ),
    (
        "materialized",
        "The base that a changelog starts from: a whole snapshot of the state backend, taken now and then.",
    ),
    (
        "incremental",
        "A checkpoint that uploads only files that earlier ones don't have; the others it names again.",
    ),
    (
        "unaligned",
        "A checkpoint that doesn't wait for barriers to align, so that records in flight are part of it.",
    ),
    (
        "file_merging",
        "Many small files of subtasks in one large one (Flink 1.20 and later). A handle then names a part of it, and the whole length isn't recorded.",
    ),
    (
        "canonical",
        "A savepoint in a form that any state backend can read. It is always whole.",
    ),
    (
        "native",
        "A savepoint in the form of its state backend: faster, but only the same backend can read it.",
    ),
    (
        "forst",
        "A state backend (Flink 2.0) that can keep its database in the checkpoint storage: then files in shared/op_*/db/ are live.",
    ),
    (
        "claim",
        "A job restored in CLAIM mode owns the snapshot's files and may delete them. In NO_CLAIM mode it never touches them, and its first checkpoint is a full one.",
    ),
    (
        "new_bytes",
        "What this snapshot added, as Flink counts it (checkpointed size). The full size is what it needs.",
    ),
    (
        "delete_marker",
        "What a deletion leaves on top of a key in a bucket with versioning: the object is hidden, its versions are still there.",
    ),
    (
        "noncurrent",
        "A version below another one or below a delete marker. A lifecycle rule can purge it; then it is gone for good.",
    ),
    (
        "lifecycle_rule",
        "A rule of the bucket by which S3 itself hides, deletes or archives objects by their age. It knows nothing of checkpoints: a file in shared/ can be old and needed.",
    ),
    (
        "archived",
        "In a storage class such as GLACIER, in which no job can read it until it is brought back.",
    ),
    (
        "unreferenced",
        "An object that this snapshot doesn't name. Other checkpoints and savepoints can: that alone is no reason to delete it.",
    ),
    (
        "opaque",
        "Bytes whose meaning only the job's own code knows. If they name files or uploads, nobody else can tell.",
    ),
];

/// All terms as a JSON object.
pub fn json() -> String {
    let terms: serde_json::Map<String, serde_json::Value> = TERMS
        .iter()
        .map(|(term, text)| ((*term).to_owned(), (*text).into()))
        .collect();
    serde_json::Value::Object(terms).to_string()
}
