//! `_metadata` as a job writes it: handles of what its checkpoint is made of, in the layouts of flink-format.md 1 and 2. A wording of its own
//! beside the reader's, so that a misreading isn't repeated here.

/// A file that a handle names.
#[derive(Clone, Debug)]
pub(crate) struct Handle<'f> {
    /// An absolute path, or a name beside `_metadata`.
    pub(crate) path: Path<'f>,
    /// Length in bytes.
    pub(crate) size: u64,
}

/// How a handle names its file.
#[derive(Clone, Debug)]
pub(crate) enum Path<'f> {
    /// Tag 2.
    Absolute(String),
    /// Tag 6, since 1.11: beside `_metadata`.
    Beside(&'f str),
    /// Tag 15, since 1.20: `size` bytes from there on, of a file that holds other segments too.
    Segment { path: String, start: u64, shared: bool },
}

/// What one subtask's state is made of.
#[derive(Clone, Debug)]
pub(crate) enum Keyed<'f> {
    /// RocksDB incremental: the backend's id, its meta file, shared and private files.
    Incremental {
        backend: &'f str,
        meta: Handle<'f>,
        shared: Vec<Handle<'f>>,
        private: Vec<Handle<'f>>,
    },
    /// One file of key groups.
    Whole(Handle<'f>),
    /// What was materialised, and the log since; sizes without the byte that begins each file of the log.
    Changelog {
        materialized: Vec<Handle<'f>>,
        log: Vec<Handle<'f>>,
    },
}

/// One subtask: managed operator state and keyed state.
#[derive(Clone, Debug)]
pub(crate) struct Subtask<'f> {
    pub(crate) operator_state: Option<Handle<'f>>,
    /// With file merging: the directories of the task-owned and of the shared files, as paths.
    pub(crate) merged: Option<(String, String)>,
    pub(crate) keyed: Keyed<'f>,
}

/// An operator of a file sink.
#[derive(Clone, Debug)]
pub(crate) struct SinkOperator<'f> {
    pub(crate) id: [u8; 16],
    /// Written since 2.0.
    pub(crate) name: &'static str,
    pub(crate) subtasks: Vec<SinkSubtask<'f>>,
}

/// The managed operator state of one subtask of it.
#[derive(Clone, Debug)]
pub(crate) struct SinkSubtask<'f> {
    /// Names of list states and where each of their elements begins.
    pub(crate) states: &'f [(&'static str, Vec<i64>)],
    /// The bytes themselves, or the file that they lie in.
    pub(crate) stream: Result<&'f [u8], Handle<'f>>,
}

/// A `_metadata` of one operator and those of its sink.
pub(crate) struct Metadata<'f> {
    /// The format: 3 (1.11 to 1.14), 4 (1.15 to 1.20) or 5 (2.0).
    pub(crate) format: i32,
    pub(crate) checkpoint_id: i64,
    pub(crate) operator: [u8; 16],
    /// Says so in the properties, since format 4.
    pub(crate) retained_on_cancel: bool,
    pub(crate) subtasks: Vec<Subtask<'f>>,
    pub(crate) sinks: Vec<SinkOperator<'f>>,
}

#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn u8(&mut self, n: u8) -> &mut Self {
        self.0.push(n);
        self
    }

    fn int(&mut self, n: i32) -> &mut Self {
        self.0.extend(n.to_be_bytes());
        self
    }

    fn count(&mut self, n: usize) -> &mut Self {
        self.int(i32::try_from(n).unwrap_or(i32::MAX))
    }

    fn long(&mut self, n: i64) -> &mut Self {
        self.0.extend(n.to_be_bytes());
        self
    }

    fn text(&mut self, t: &str) -> &mut Self {
        let length = u16::try_from(t.len()).unwrap_or(u16::MAX);
        self.0.extend(length.to_be_bytes());
        self.0.extend(t.as_bytes());
        self
    }

    fn class(&mut self, name: &str, version: i64, flags: u8, fields: u8) -> &mut Self {
        self.u8(0x72).text(name).long(version).u8(flags);
        self.u8(0).u8(fields)
    }

    fn end_of_class(&mut self) -> &mut Self {
        self.u8(0x78).u8(0x70)
    }

    /// `CheckpointProperties` as Java serialises it (flink-format.md 1.7).
    fn properties(&mut self, retained_on_cancel: bool) {
        const FIELDS: [&str; 7] = [
            "discardCancelled",
            "discardFailed",
            "discardFinished",
            "discardSubsumed",
            "discardSuspended",
            "forced",
            "unclaimed",
        ];
        self.0.extend([0xAC, 0xED, 0, 5]);
        self.u8(0x73).class(
            "org.apache.flink.runtime.checkpoint.CheckpointProperties",
            2,
            2,
            8,
        );
        for field in FIELDS {
            self.u8(b'Z').text(field);
        }
        self.u8(b'L').text("checkpointType").u8(0x74);
        self.text("Lorg/apache/flink/runtime/checkpoint/SnapshotType;")
            .end_of_class();
        let discards = u8::from(!retained_on_cancel);
        self.0.extend([discards, discards, 1, 1, discards, 0, 0]);
        self.u8(0x73)
            .class("org.apache.flink.runtime.checkpoint.CheckpointType", 1, 2, 2);
        self.u8(b'L').text("name").u8(0x74).text("Ljava/lang/String;");
        self.u8(b'L').text("sharingFilesStrategy").u8(0x74);
        self.text("Lorg/apache/flink/runtime/checkpoint/SnapshotType$SharingFilesStrategy;");
        self.end_of_class().u8(0x74).text("Checkpoint");
        self.u8(0x7E);
        self.class(
            "org.apache.flink.runtime.checkpoint.SnapshotType$SharingFilesStrategy",
            0,
            0x12,
            0,
        );
        self.u8(0x78).class("java.lang.Enum", 0, 0x12, 0);
        self.end_of_class().u8(0x74).text("FORWARD_BACKWARD");
    }

    fn stream(&mut self, handle: &Handle<'_>) -> &mut Self {
        let size = i64::try_from(handle.size).unwrap_or(-1);
        match &handle.path {
            Path::Absolute(path) => self.u8(2).long(size).text(path),
            Path::Beside(name) => self.u8(6).text(name).long(size),
            Path::Segment { path, start, shared } => {
                self.u8(15).long(i64::try_from(*start).unwrap_or(-1)).long(size);
                self.int(i32::from(*shared)).text(path).text("a logical file")
            }
        }
    }
}

impl Metadata<'_> {
    /// The bytes of the file.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut b = Bytes::default();
        b.0.extend([0x49, 0x60, 0x67, 0x2D]);
        b.int(self.format).long(self.checkpoint_id);
        b.int(0).count(1 + self.sinks.len());
        if self.format >= 5 {
            b.text("an operator").text("");
        }
        b.0.extend(self.operator);
        b.count(self.subtasks.len()).int(128);
        // No coordinator state.
        b.u8(0).count(self.subtasks.len());
        for (index, subtask) in self.subtasks.iter().enumerate() {
            b.count(index);
            match (&subtask.operator_state, &subtask.merged) {
                (_, Some((task_owned, shared))) => {
                    // No operator state, but the directories: every subtask names them.
                    b.int(1).u8(17).int(0).text(task_owned).text(shared).u8(1).u8(16);
                }
                (Some(handle), None) => {
                    b.int(1).u8(4).int(1).text("a list").u8(0).int(1).long(0);
                    b.stream(handle);
                }
                (None, None) => {
                    b.int(0);
                }
            }
            b.int(0);
            self.keyed(&mut b, index, &subtask.keyed);
            // No raw keyed state, no channels.
            b.u8(0).int(0).int(0);
        }
        for sink in &self.sinks {
            self.sink(&mut b, sink);
        }
        if self.format >= 4 {
            b.properties(self.retained_on_cancel);
        }
        b.0
    }

    fn sink(&self, b: &mut Bytes, sink: &SinkOperator<'_>) {
        if self.format >= 5 {
            b.text(sink.name).text("");
        }
        b.0.extend(sink.id);
        b.count(sink.subtasks.len()).int(128);
        b.u8(0).count(sink.subtasks.len());
        for (index, subtask) in sink.subtasks.iter().enumerate() {
            b.count(index).int(1).u8(4).count(subtask.states.len());
            for (name, offsets) in subtask.states {
                b.text(name).u8(0).count(offsets.len());
                for offset in offsets {
                    b.long(*offset);
                }
            }
            match &subtask.stream {
                Ok(bytes) => {
                    b.u8(1).text("a stream").count(bytes.len()).0.extend(*bytes);
                }
                Err(handle) => {
                    b.stream(handle);
                }
            }
            // No raw operator state, no keyed state, no channels.
            b.int(0).u8(0).u8(0).int(0).int(0);
        }
    }

    fn keyed(&self, b: &mut Bytes, index: usize, keyed: &Keyed<'_>) {
        let new_tags = self.format >= 4;
        let groups = 128 / self.subtasks.len().max(1);
        match keyed {
            Keyed::Incremental {
                backend,
                meta,
                shared,
                private,
            } => {
                b.u8(if new_tags { 11 } else { 5 });
                b.long(self.checkpoint_id).text(backend);
                b.count(index * groups).count(groups);
                if new_tags {
                    b.long(-1);
                }
                b.stream(meta);
                for files in [shared, private] {
                    b.count(files.len());
                    for (n, file) in files.iter().enumerate() {
                        b.text(&format!("{n:06}.sst")).stream(file);
                    }
                }
            }
            Keyed::Whole(file) => {
                b.u8(if new_tags { 12 } else { 3 });
                b.count(index * groups).int(1).long(0).stream(file);
            }
            Keyed::Changelog { materialized, log } => {
                b.u8(14).count(index * groups).count(groups).long(-1);
                b.count(materialized.len());
                for file in materialized {
                    b.u8(12).count(index * groups).int(1).long(0).stream(file);
                    b.text("a handle");
                }
                b.count(log.len());
                for file in log {
                    b.u8(13)
                        .count(index * groups)
                        .count(groups)
                        .int(1)
                        .long(0)
                        .stream(file);
                    b.long(i64::try_from(file.size).unwrap_or(-1)).long(-1);
                    b.text("a handle").text("filesystem");
                }
                b.long(1).long(self.checkpoint_id);
            }
        }
        if new_tags {
            b.text("a handle");
        }
    }
}
