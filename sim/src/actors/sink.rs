//! A job's file sink: files that it has open, what waits for its commit, and *tails*, the bytes after the last full part, which only the state of the
//! sink names (flink-format.md 5).

use super::checkpoint::{File, Place};
use super::metadata::{Handle, Path, SinkOperator, SinkSubtask};
use super::names::{hex, uuid};
use super::sink_state::Dialect;
use crate::dice::Dice;
use crate::scenario::{JobSpec, Writer};
use crate::store::{Hand, Store};

/// The key prefix of what sinks write.
pub(crate) const OUTPUT: &str = "out/";

/// A file that a sink has begun: an upload of several parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Open {
    /// The key that it will have.
    pub(super) target: String,
    /// The id of the upload.
    pub(super) upload: String,
    /// So many parts are there.
    pub(super) parts: u32,
    /// Their length in bytes.
    pub(super) bytes: u64,
}

/// The bytes after the last part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Tail {
    pub(super) key: String,
    pub(super) size: u64,
}

/// The files of one subtask.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Sink {
    /// Open files, and the tail that was written for each at the last checkpoint.
    pub(super) open: Vec<(Open, Option<Tail>)>,
    /// Files that are finished once this checkpoint or a later one is complete.
    pub(super) pending: Vec<(u64, Open)>,
    /// Tails that are deleted then.
    pub(super) cleanup: Vec<(u64, Open, Tail)>,
}

/// What a checkpoint has of a job's sinks: the operators in `_metadata`, by operator and subtask, and where their state lies.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct SinkStates(Vec<Vec<StateOf>>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct StateOf {
    states: Vec<(&'static str, Vec<i64>)>,
    lies: Lies,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Lies {
    InMetadata(Vec<u8>),
    InFile { key: String, size: u64 },
}

impl Sink {
    /// As a restored job goes on: files stay open; what waited for its commit is committed, and the tail that it was restored from is forgotten.
    fn restored(&self) -> Self {
        Self {
            open: self.open.iter().map(|(open, _)| (open.clone(), None)).collect(),
            ..Self::default()
        }
    }

    fn persist(&mut self, spec: JobSpec, checkpoint: u64, store: &mut Store, by: Hand, dice: &mut Dice) {
        let mut still_open = Vec::new();
        for (mut open, tail) in std::mem::take(&mut self.open) {
            let before = tail.map(|tail| (checkpoint, open.clone(), tail));
            self.cleanup.extend(before);
            let grown = u32::try_from(dice.below(3)).unwrap_or(0);
            open.parts += grown;
            open.bytes += u64::from(grown) * (5 << 20) + u64::from(grown > 0) * dice.below(4096);
            if dice.per_mille(300) {
                // Its last part is there too.
                open.parts += 1;
                open.bytes += 1 + dice.below(5 << 20);
                self.pending.push((checkpoint, open));
            } else {
                still_open.push((open, None));
            }
        }
        if still_open.is_empty() {
            let directory = format!("{OUTPUT}app-{}/dt={}", spec.operators, dice.below(3));
            let open = Open {
                target: format!("{directory}/part-{}-{}", uuid(dice), dice.below(9)),
                upload: hex(dice, 40),
                parts: 0,
                bytes: 0,
            };
            still_open.push((open, None));
        }
        for (open, tail) in &mut still_open {
            // Seldom the last part ends with the last byte.
            if dice.per_mille(60) {
                continue;
            }
            let key = match spec.sink.map(|of| of.writer) {
                None | Some(Writer::Hadoop) => {
                    let (directory, name) = open.target.rsplit_once('/').unwrap_or(("", &open.target));
                    format!("{directory}/_{name}_tmp_{}", uuid(dice))
                }
                Some(Writer::Native) => format!("{}/.incomplete/{}/{}", open.target, open.upload, uuid(dice)),
            };
            let size = store.fresh_size();
            store.put(&key, size, by);
            *tail = Some(Tail { key, size });
        }
        self.open = still_open;
    }
}

/// Whether a key is that of a tail: bytes of a file that isn't whole yet.
pub(crate) fn is_tail_key(key: &str) -> bool {
    key.starts_with(OUTPUT) && (key.contains("_tmp_") || key.contains("/.incomplete/"))
}

/// The sinks of a new job.
pub(super) fn new(spec: JobSpec) -> Vec<Sink> {
    match spec.sink {
        Some(_) => vec![Sink::default(); spec.subtasks.max(1)],
        None => Vec::new(),
    }
}

/// The sinks of a job that goes on from others; with another parallelism its files are dealt out anew.
pub(super) fn restored(from: &[Sink], spec: JobSpec) -> Vec<Sink> {
    let mut sinks = new(spec);
    if sinks.is_empty() {
        return sinks;
    }
    let count = sinks.len();
    for (n, sink) in from.iter().enumerate() {
        sinks[n % count].open.extend(sink.restored().open);
    }
    sinks
}

/// At the beginning of a checkpoint: every open file's tail is written, and the state. The files that the checkpoint names besides.
pub(super) fn snapshot(
    sinks: &mut [Sink],
    spec: JobSpec,
    checkpoint: u64,
    store: &mut Store,
    by: Hand,
    mut key: impl FnMut(&mut Dice) -> String,
    dice: &mut Dice,
) -> (SinkStates, Vec<File>) {
    let (mut states, mut files) = (SinkStates::default(), Vec::new());
    let Some(of) = spec.sink else {
        return (states, files);
    };
    let dialect = Dialect {
        release: spec.release,
        sink: of,
    };
    for (subtask, sink) in sinks.iter_mut().enumerate() {
        sink.persist(spec, checkpoint, store, by, dice);
        let tails = sink.open.iter().filter_map(|(_, tail)| tail.as_ref());
        files.extend(tails.map(|tail| File {
            key: tail.key.clone(),
            size: tail.size,
            place: Place::Tail,
            subtask,
        }));
        let blobs = dialect.blobs(checkpoint, subtask, sink);
        for (operator, blob) in blobs.into_iter().enumerate() {
            let lies = if of.inlined {
                Lies::InMetadata(blob.bytes)
            } else {
                let (key, size) = (key(dice), u64::try_from(blob.bytes.len()).unwrap_or(u64::MAX));
                store.put_bytes(&key, blob.bytes, by);
                files.push(File {
                    key: key.clone(),
                    size,
                    place: Place::Private,
                    subtask,
                });
                Lies::InFile { key, size }
            };
            if states.0.len() <= operator {
                states.0.resize(operator + 1, Vec::new());
            }
            states.0[operator].push(StateOf {
                states: blob.states,
                lies,
            });
        }
    }
    (states, files)
}

/// A checkpoint is complete: what waited for it is finished, and these tails go.
pub(super) fn commit(sinks: &mut [Sink], complete: u64, store: &mut Store, by: Hand) -> Vec<String> {
    let mut gone = Vec::new();
    for sink in sinks {
        for (_, done) in sink.pending.extract_if(.., |(of, _)| *of <= complete) {
            store.put(&done.target, done.bytes, by);
        }
        let tails = sink.cleanup.extract_if(.., |(of, ..)| *of <= complete);
        gone.extend(tails.map(|(_, _, tail)| tail.key));
    }
    gone
}

impl SinkStates {
    /// Whether the state of a sink lies in this file.
    pub(super) fn lies_in(&self, key: &str) -> bool {
        let of_file = |state: &StateOf| matches!(&state.lies, Lies::InFile { key: its, .. } if its == key);
        self.0.iter().flatten().any(of_file)
    }

    /// The operators as `_metadata` has them; `own`: the directory that it lies in; `path`: of a key that lies elsewhere.
    pub(super) fn operators<'f>(&'f self, spec: JobSpec, own: &str) -> Vec<SinkOperator<'f>> {
        let operators = self.0.iter().enumerate();
        operators
            .map(|(n, subtasks)| SinkOperator {
                // Another than the job's first operator, and another for the committer.
                id: [spec.operators ^ if n == 0 { 0x80 } else { 0xC0 }; 16],
                name: if n == 0 { "Sink: Writer" } else { "Sink: Committer" },
                subtasks: subtasks
                    .iter()
                    .map(|state| SinkSubtask {
                        states: &state.states,
                        stream: match &state.lies {
                            Lies::InMetadata(bytes) => Ok(bytes.as_slice()),
                            Lies::InFile { key, size } => Err(Handle {
                                path: match key.strip_prefix(own) {
                                    Some(name) => Path::Beside(name),
                                    None => Path::Absolute(format!("s3://{}/{key}", crate::store::BUCKET)),
                                },
                                size: *size,
                            }),
                        },
                    })
                    .collect(),
            })
            .collect()
    }
}
