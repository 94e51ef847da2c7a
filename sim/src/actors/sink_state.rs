//! The bytes of a file sink's operator state, from flink-format.md 5.1 to 5.3 and 6 alone. A wording of its own beside the reader's.

use super::sink::{Open, Sink, Tail};
use crate::scenario::{Release, SinkSpec, Writer};
use crate::store::BUCKET;

/// One operator state: which element of which state begins where, and the bytes.
pub(super) struct Blob {
    pub(super) states: Vec<(&'static str, Vec<i64>)>,
    pub(super) bytes: Vec<u8>,
}

/// How a release writes the state of a sink.
#[derive(Clone, Copy)]
pub(super) struct Dialect {
    pub(super) release: Release,
    pub(super) sink: SinkSpec,
}

const WRITER: &str = "writer_raw_states";
const COMMITTER: &str = "streaming_committer_raw_states";

/// Appends to bytes, big-endian unless it says otherwise.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    fn int(self, n: i32) -> Self {
        self.raw(&n.to_be_bytes())
    }

    fn magic(self, n: u32) -> Self {
        self.raw(&n.to_be_bytes())
    }

    fn long(self, n: u64) -> Self {
        self.raw(&n.to_be_bytes())
    }

    fn yes(self, is: bool) -> Self {
        self.raw(&[u8::from(is)])
    }

    fn length(self, n: usize) -> Self {
        self.int(i32::try_from(n).unwrap_or(i32::MAX))
    }

    fn text(self, text: &str) -> Self {
        let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
        self.raw(&length.to_be_bytes()).raw(text.as_bytes())
    }

    /// A length and so many bytes.
    fn counted(self, bytes: &[u8]) -> Self {
        self.length(bytes.len()).raw(bytes)
    }

    /// What a `SimpleVersionedSerializer` of this version wrote.
    fn versioned(self, version: i32, bytes: &[u8]) -> Self {
        self.int(version).counted(bytes)
    }

    fn list(self, version: i32, of: &[Vec<u8>]) -> Self {
        of.iter()
            .fold(self.int(version).length(of.len()), |b, one| b.counted(one))
    }

    /// Little-endian length and bytes, as the Hadoop-based writer has them.
    fn little(self, text: &str) -> Self {
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
        self.raw(&length.to_le_bytes()).raw(text.as_bytes())
    }
}

impl Dialect {
    /// Wrappers are of version 1 up to 1.14.
    fn wrapper(self) -> i32 {
        if self.release == Release::UpTo114 { 1 } else { 2 }
    }

    fn recoverable(self, open: &Open, tail: Option<&Tail>) -> Vec<u8> {
        let parts = (1..=open.parts).map(|n| (n, format!("{n:032x}")));
        let b = Bytes::default();
        let b = match self.sink.writer {
            Writer::Hadoop => {
                let b = b.raw(&0x9876_1432_u32.to_le_bytes());
                let b = b.little(&open.target).little(&open.upload);
                let b = b.raw(&open.parts.to_le_bytes());
                let b = parts.fold(b, |b, (n, etag)| b.raw(&n.to_le_bytes()).little(&etag));
                let b = b.raw(&open.bytes.to_le_bytes());
                match tail {
                    Some(tail) => b.little(&tail.key).raw(&tail.size.to_le_bytes()),
                    None => b.little("").raw(&(-1_i64).to_le_bytes()),
                }
            }
            Writer::Native => {
                let b = b.text(&open.target).text(&open.upload).long(open.bytes);
                let b = b.raw(&open.parts.to_be_bytes());
                let b = parts.fold(b, |b, (n, etag)| {
                    b.raw(&n.to_be_bytes()).text(&format!("\"{etag}\""))
                });
                let b = b.yes(tail.is_some());
                tail.into_iter()
                    .fold(b, |b, tail| b.text(&tail.key).long(tail.size))
            }
        };
        b.0
    }

    fn in_progress(self, open: &Open, tail: Option<&Tail>) -> Vec<u8> {
        let b = Bytes::default().magic(0xB3A4_073D);
        let b = self.with_path(b, open);
        b.versioned(1, &self.recoverable(open, tail)).0
    }

    fn pending(self, open: &Open) -> Vec<u8> {
        let b = Bytes::default().magic(0x2C85_3C89);
        let mut b = self.with_path(b, open);
        if self.wrapper() == 2 {
            b = b.long(open.bytes);
        }
        b.versioned(1, &self.recoverable(open, None)).0
    }

    fn with_path(self, b: Bytes, open: &Open) -> Bytes {
        if self.wrapper() == 1 {
            return b;
        }
        b.yes(true).text(&format!("s3://{BUCKET}/{}", open.target))
    }

    /// A file that is open: an element of the writer's state.
    fn bucket(self, open: &Open, tail: Option<&Tail>) -> Vec<u8> {
        let (directory, _) = open.target.rsplit_once('/').unwrap_or(("", &open.target));
        let (_, id) = directory.rsplit_once('/').unwrap_or(("", directory));
        let state = Bytes::default()
            .magic(0x1E76_4B79)
            .versioned(1, &Bytes::default().little(id).0)
            .text(&format!("s3://{BUCKET}/{directory}"))
            .long(1_793_613_600_000)
            .yes(true)
            .versioned(self.wrapper(), &self.in_progress(open, tail));
        Bytes::default().versioned(3, &state.0).0
    }

    fn committable(self, pending: Option<&Open>, cleanup: Option<(&Open, &Tail)>) -> Vec<u8> {
        let mut b = Bytes::default().magic(0x1E76_5C80);
        if self.wrapper() == 2 {
            b = b.text("a bucket");
        }
        b = b.yes(pending.is_some());
        if let Some(open) = pending {
            b = b.versioned(self.wrapper(), &self.pending(open));
        }
        b = b.yes(cleanup.is_some());
        if let Some((open, tail)) = cleanup {
            b = b.versioned(self.wrapper(), &self.in_progress(open, Some(tail)));
        }
        if self.wrapper() == 2 {
            b = b.yes(false);
        }
        b.0
    }

    /// Everything that waits for its commit: one element of the committer's state.
    fn collector(self, checkpoint: u64, subtask: usize, committables: &[Vec<u8>]) -> Vec<u8> {
        const MAGIC: u32 = 0xB91F_252C;
        if self.wrapper() == 1 {
            let b = Bytes::default().magic(MAGIC).list(1, committables);
            return Bytes::default().versioned(1, &b.0).0;
        }
        let (of_checkpoints, of_subtasks) = match self.release {
            Release::UpTo114 | Release::Of116 => (0, 0),
            Release::From119 | Release::From119Sequential => (1, 2),
        };
        let requests: Vec<Vec<u8>> = committables
            .iter()
            .map(|c| Bytes::default().versioned(2, c).int(0).int(0).0)
            .collect();
        let mut b = Bytes::default();
        if of_subtasks >= 1 {
            b = b.length(subtask);
        }
        b = b.list(0, &requests).length(committables.len());
        if of_subtasks <= 1 {
            b = b.int(0);
        }
        let of_subtask = b.int(0).0;
        let mut b = Bytes::default().long(checkpoint);
        if of_checkpoints >= 1 {
            b = b.int(1);
        }
        let of_checkpoint = b.list(of_subtasks, &[of_subtask]).0;
        let b = Bytes::default()
            .magic(MAGIC)
            .list(of_checkpoints, &[of_checkpoint]);
        Bytes::default().versioned(2, &b.0).0
    }

    fn blob(self, states: &[(&'static str, Vec<Vec<u8>>)]) -> Blob {
        let mut b = match self.release {
            Release::UpTo114 | Release::Of116 => Bytes::default().int(5),
            Release::From119 | Release::From119Sequential => Bytes::default().int(6).yes(false),
        };
        let count = u16::try_from(states.len()).unwrap_or(u16::MAX);
        b = b.raw(&count.to_be_bytes());
        for (name, _) in states {
            // Neither options nor serializers: nobody can read past those of others.
            b = b.text(name).int(1).int(0).int(0);
        }
        b = b.raw(&[0, 0]);
        let mut at = Vec::new();
        for (name, elements) in states {
            let mut offsets = Vec::new();
            for element in elements {
                offsets.push(i64::try_from(b.0.len()).unwrap_or(i64::MAX));
                b = b.counted(element);
            }
            at.push((*name, offsets));
        }
        Blob {
            states: at,
            bytes: b.0,
        }
    }

    /// The state of writer and committer of one subtask: of 1.14 one operator has both.
    pub(super) fn blobs(self, checkpoint: u64, subtask: usize, sink: &Sink) -> Vec<Blob> {
        let buckets: Vec<Vec<u8>> = sink
            .open
            .iter()
            .map(|(o, t)| self.bucket(o, t.as_ref()))
            .collect();
        let commits = sink.pending.iter().map(|(_, o)| self.committable(Some(o), None));
        let cleans = sink
            .cleanup
            .iter()
            .map(|(_, o, t)| self.committable(None, Some((o, t))));
        let committables: Vec<Vec<u8>> = commits.chain(cleans).collect();
        let collected = vec![self.collector(checkpoint, subtask, &committables)];
        if self.wrapper() == 1 {
            return vec![self.blob(&[(WRITER, buckets), (COMMITTER, collected)])];
        }
        vec![
            self.blob(&[(WRITER, buckets), ("bucket-states", Vec::new())]),
            self.blob(&[(COMMITTER, collected)]),
        ]
    }
}
