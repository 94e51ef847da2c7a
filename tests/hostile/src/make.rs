//! Writes `_metadata` files, from a list of choices: a second wording of the format, for what the corpus doesn't
//! hold (format 7, nested streams, handles of one release beside those of another).

use flink_checkpoint::Field as F;

use crate::tokens::{Token, Writer};

/// The layouts that a file can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The version that the file says: 2 to 7.
    pub version: i32,
    /// 1.11: no subtask index in channel handles.
    pub channel_subtask: bool,
    /// 1.14: no sizes and ids in changelog handles.
    pub changelog_ids: bool,
}

impl Form {
    /// All layouts: formats 2 to 7, of format 3 the three that others replaced too.
    pub const ALL: [Form; 9] = {
        let [two, three, four] = [Form::of(2), Form::of(3), Form::of(4)];
        let of_1_14 = Form {
            changelog_ids: false,
            ..three
        };
        let of_1_11 = Form {
            channel_subtask: false,
            ..three
        };
        let of_both = Form {
            channel_subtask: false,
            ..of_1_14
        };
        [
            two,
            three,
            of_1_14,
            of_1_11,
            of_both,
            four,
            Form::of(5),
            Form::of(6),
            Form::of(7),
        ]
    };

    /// The newest layout of a format.
    pub const fn of(version: i32) -> Form {
        Form {
            version,
            channel_subtask: true,
            changelog_ids: true,
        }
    }
}

/// A `CheckpointProperties` object: a checkpoint that is retained on cancellation.
pub fn properties() -> Writer {
    let mut w = Writer::default();
    w.raw(&[0xAC, 0xED, 0, 5, 0x73, 0x72]);
    w.utf("org.apache.flink.runtime.checkpoint.CheckpointProperties");
    w.i64(2).u8(2).raw(&[0, 8]);
    for flag in [
        "discardCancelled",
        "discardFailed",
        "discardFinished",
        "discardSubsumed",
        "discardSuspended",
    ] {
        w.u8(b'Z').utf(flag);
    }
    w.u8(b'Z').utf("forced").u8(b'Z').utf("unclaimed");
    w.u8(b'L')
        .utf("checkpointType")
        .u8(0x74)
        .utf("Lorg/apache/flink/runtime/checkpoint/SnapshotType;");
    w.raw(&[0x78, 0x70]);
    w.raw(&[0, 0, 1, 1, 0, 0, 0]);
    w.raw(&[0x73, 0x72])
        .utf("org.apache.flink.runtime.checkpoint.CheckpointType");
    w.i64(1).u8(2).raw(&[0, 2]);
    w.u8(b'L').utf("name").u8(0x74).utf("Ljava/lang/String;");
    w.u8(b'L').utf("sharingFilesStrategy").u8(0x74).utf("Lsome/Enum;");
    w.raw(&[0x78, 0x70]);
    w.u8(0x74).utf("Checkpoint");
    w.raw(&[0x7E, 0x72])
        .utf("some.Enum")
        .i64(0)
        .u8(0x12)
        .raw(&[0, 0, 0x78]);
    w.u8(0x72)
        .utf("java.lang.Enum")
        .i64(0)
        .u8(0x12)
        .raw(&[0, 0, 0x78, 0x70]);
    w.u8(0x74).utf("FORWARD_BACKWARD");
    w
}

/// A reference that a file was made with: role, path, extent, operator, subtask.
pub type Made = (String, String, String, u32, Option<u32>);

/// A file that was made, and what it was made of.
#[derive(Debug)]
pub struct MadeFile {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Its pieces, in order; together they are all of it.
    pub tokens: Vec<Token>,
    /// The objects and directories that it names, in order.
    pub made: Vec<Made>,
}

/// Makes files by choices; when these run out, the least is chosen.
pub struct Maker<'c> {
    choices: &'c [u8],
    at: usize,
    form: Form,
    w: Writer,
    made: Vec<Made>,
    operator: u32,
    subtask: Option<u32>,
    names: u32,
}

impl<'c> Maker<'c> {
    /// Makes a file.
    pub fn file(form: Form, choices: &'c [u8]) -> MadeFile {
        let w = Writer::header(form.version, 7);
        let mut maker = Maker {
            choices,
            at: 0,
            form,
            w,
            made: Vec::new(),
            operator: 0,
            subtask: None,
            names: 0,
        };
        maker.body();
        MadeFile {
            bytes: maker.w.0,
            tokens: maker.w.1,
            made: maker.made,
        }
    }

    fn choose(&mut self, n: u32) -> u32 {
        let choice = self.choices.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        u32::from(choice) % n
    }

    fn count(&mut self, field: F, most: u32) -> u32 {
        let n = self.choose(most + 1);
        self.w.is(field).i32(i32::try_from(n).expect("a small number"));
        n
    }

    fn name(&mut self, before: &str) -> String {
        self.names += 1;
        format!("{before}{}", self.names)
    }

    fn body(&mut self) {
        let masters = self.count(F::MasterStateCount, 1);
        for _ in 0..masters {
            let w = &mut self.w;
            w.is(F::MasterStateMagic).i32(0xc96b_1696_u32.cast_signed());
            w.is(F::MasterStateLength).i32(4 + 5 + 4 + 2);
            w.is(F::MasterStateVersion)
                .i32(1)
                .is(F::MasterStateName)
                .utf("abc");
            w.is(F::MasterStatePayloadLength).i32(2);
            w.is(F::MasterStatePayload).raw(b"xy");
        }
        let operators = self.count(F::OperatorCount, 3);
        for operator in 0..operators {
            self.operator = operator;
            self.operator();
        }
        if self.form.version >= 4 {
            self.w.is(F::Properties).raw(&properties().0);
        }
    }

    fn operator(&mut self) {
        if self.form.version >= 5 {
            self.w
                .is(F::OperatorName)
                .utf("a name")
                .is(F::OperatorUid)
                .utf("");
        }
        let id = [u8::try_from(self.operator).expect("a small number"); 16];
        self.w.is(F::OperatorId).raw(&id);
        self.w.is(F::Parallelism).i32(2).is(F::MaxParallelism).i32(128);
        if self.form.version == 2 {
            self.w.is(F::ChainLength).i32(1);
        }
        let mut coordinator = false;
        if self.form.version >= 3 {
            coordinator = self.choose(2) == 1;
            self.w.is(F::CoordinatorTag);
            if coordinator {
                self.w.u8(1).is(F::InlineName).utf("s3://b/chk-7/coordinator");
                self.w.is(F::InlineLength).i32(2).is(F::InlineBytes).raw(b"zz");
            } else {
                self.w.u8(0);
            }
        }
        if self.form.version >= 3 && !coordinator && self.choose(4) == 1 {
            self.w.is(F::SubtaskCount).i32(-1);
            return;
        }
        let subtasks = self.count(F::SubtaskCount, 3);
        for index in 0..subtasks {
            let stored = i32::try_from(index).expect("a small number");
            if self.form.version >= 3 && self.choose(4) == 1 {
                self.w.is(F::SubtaskIndex).i32(-stored - 1);
                continue;
            }
            self.subtask = Some(index);
            self.w.is(F::SubtaskIndex).i32(stored);
            self.subtask();
        }
    }

    fn subtask(&mut self) {
        if self.form.version == 2 {
            self.w
                .is(F::LegacyDuration)
                .i64(-1)
                .is(F::LegacyStateCount)
                .i32(0);
        }
        for (role, mark) in [
            ("managed_operator", F::HasManagedOperatorState),
            ("raw_operator", F::HasRawOperatorState),
        ] {
            if self.count(mark, 1) == 1 {
                self.operator_state(role);
            }
        }
        for role in ["managed_keyed", "raw_keyed"] {
            self.keyed(role, 0);
        }
        if self.form.version >= 3 {
            for (role, count, tags) in [
                ("input_channel", F::InputChannelCount, [1, 3]),
                ("result_subpartition", F::OutputChannelCount, [2, 4]),
            ] {
                let n = self.count(count, 2);
                for _ in 0..n {
                    self.channel(role, tags);
                }
            }
        }
        if self.form.version >= 7 {
            let other = self.choose(2);
            self.w
                .is(F::ReferenceCheckpointMark)
                .u8(u8::try_from(other).expect("0 or 1"));
            if other == 1 {
                self.w.is(F::ReferenceCheckpointId).i64(6);
            }
        }
    }

    fn operator_state(&mut self, role: &str) {
        self.w.is(F::OperatorStateTag);
        let merged = match self.choose(3) {
            0 => {
                self.w.u8(0);
                return;
            }
            1 => false,
            _ => true,
        };
        self.w.u8(if merged { 17 } else { 4 });
        let states = self.count(F::StateCount, 3);
        for mode in 0..states {
            let name = self.name("state-");
            self.w.is(F::StateName).utf(&name);
            self.w
                .is(F::DistributionMode)
                .u8(u8::try_from(mode).expect("0 to 2"));
            self.counted_offsets();
        }
        if merged {
            for (part, field) in [
                ("task_owned_dir", F::TaskOwnedDirectory),
                ("shared_dir", F::SharedDirectory),
            ] {
                let path = self.name("s3://b/_entropy_/");
                self.w.is(field).utf(&path);
                self.make(format!("{role}.{part}"), path, "Unknown".into());
            }
            self.w.is(F::IsEmpty).u8(0);
            if self.choose(2) == 0 {
                self.w.is(F::StreamTag).u8(16);
            } else {
                self.segment(role);
            }
        } else {
            self.stream(role, false, 0);
        }
    }

    fn counted_offsets(&mut self) {
        let n = self.count(F::OffsetCount, 3);
        self.offsets(n);
    }

    /// `n` offsets. Of none at all nothing is told: there is no byte of them.
    fn offsets(&mut self, n: u32) {
        if n > 0 {
            self.w.is(F::Offsets);
        }
        for offset in 0..n {
            self.w.i64(i64::from(offset) * 1000 + 77);
        }
    }

    fn groups(&mut self) {
        self.w.is(F::KeyGroupStart).i32(4).is(F::KeyGroupCount).i32(8);
    }

    fn groups_with_offsets(&mut self) {
        self.w.is(F::KeyGroupStart).i32(4);
        let n = self.count(F::KeyGroupCount, 3);
        self.offsets(n);
    }

    fn make(&mut self, role: String, path: String, extent: String) {
        self.made.push((role, path, extent, self.operator, self.subtask));
    }

    fn channel(&mut self, role: &str, [plain, merged]: [u8; 2]) {
        let is_merged = self.form.version >= 6 && self.choose(2) == 1;
        if self.form.version >= 6 {
            self.w
                .is(F::ChannelTag)
                .u8(if is_merged { merged } else { plain });
        }
        if self.form.channel_subtask {
            self.w.is(F::ChannelSubtask).i32(5);
        }
        if !is_merged {
            self.w.is(F::GateOrPartition).i32(1);
            self.w.is(F::ChannelOrSubpartition).i32(2);
            self.counted_offsets();
        }
        self.w.is(F::ChannelStateSize).i64(30);
        self.stream(role, false, 0);
        if is_merged {
            self.w.is(F::MergedOffsetsLength).i32(4 + 20 + 28);
            self.w.is(F::MergedChannelCount).i32(2);
            for (subpartition, size, offsets) in [(1, 10, 0), (2, 20, 1)] {
                self.w.is(F::GateOrPartition).i32(0);
                self.w.is(F::ChannelOrSubpartition).i32(subpartition);
                self.w.is(F::ChannelStateSize).i64(size);
                self.w.is(F::OffsetCount).i32(offsets);
                self.offsets(offsets.unsigned_abs());
            }
        }
    }

    fn keyed(&mut self, role: &str, depth: u32) {
        let form = self.form;
        let tags: &[u8] = if depth == 0 {
            &[0, 3, 5, 7, 8, 9, 10, 11, 12, 13, 14]
        } else {
            &[0, 3, 5, 7, 11, 12]
        };
        let tag = tags[self.choose(u32::try_from(tags.len()).expect("a few tags")) as usize];
        self.w.is(F::KeyedTag).u8(tag);
        match tag {
            0 => {}
            3 | 7 | 12 => {
                self.groups_with_offsets();
                self.stream(role, false, 0);
            }
            5 | 11 => self.incremental(role, tag == 11),
            8 | 14 => {
                let ids = tag == 14 || form.changelog_ids;
                self.changelog(role, ids, tag == 14);
                if !ids {
                    return;
                }
            }
            _ => {
                // A log outside a changelog handle is legal for the grammar, and has the role of its place.
                self.log_with_tag(role, tag);
                return;
            }
        }
        if matches!(tag, 8 | 11 | 12 | 14) {
            self.handle_id();
        }
    }

    fn handle_id(&mut self) {
        let id = self.name("handle-");
        self.w.is(F::StateHandleId).utf(&id);
    }

    fn incremental(&mut self, role: &str, has_size: bool) {
        let backend = "11112222-3333-4444-5555-666677778888";
        self.w
            .is(F::BackendCheckpointId)
            .i64(6)
            .is(F::BackendId)
            .utf(backend);
        self.groups();
        if has_size {
            self.w.is(F::CheckpointedSize).i64(-1);
        }
        self.stream(&format!("{role}.meta"), false, 0);
        for (part, count) in [("shared", F::SharedCount), ("private", F::PrivateCount)] {
            let n = self.count(count, 3);
            for _ in 0..n {
                self.w.is(F::LocalPath).utf("000012.sst");
                self.stream(&format!("{role}.{part}"), false, 0);
            }
        }
    }

    fn changelog(&mut self, role: &str, ids: bool, has_checkpoint_id: bool) {
        self.groups();
        if ids {
            self.w.is(F::CheckpointedSize).i64(12);
        }
        let n = self.count(F::MaterializedCount, 2);
        for _ in 0..n {
            self.keyed(&format!("{role}.materialized"), 1);
        }
        let n = self.count(F::NonMaterializedCount, 2);
        for _ in 0..n {
            self.log(&format!("{role}.changelog"));
        }
        if ids {
            self.w.is(F::MaterializationId).i64(3);
            if has_checkpoint_id {
                self.w.is(F::BackendCheckpointId).i64(7);
            }
        }
    }

    fn log(&mut self, role: &str) {
        let tag = [9, 10, 13][self.choose(3) as usize];
        self.w.is(F::KeyedTag).u8(tag);
        self.log_with_tag(role, tag);
    }

    fn log_with_tag(&mut self, role: &str, tag: u8) {
        self.groups();
        let ids = tag == 13 || self.form.changelog_ids;
        if tag == 9 {
            self.w.is(F::SequenceFrom).i64(1).is(F::SequenceTo).i64(9);
            let n = self.count(F::ChangeCount, 2);
            for _ in 0..n {
                self.w.is(F::ChangeKeyGroup).i32(-1);
                self.w.is(F::ChangeLength).i32(3).is(F::Change).raw(b"abc");
            }
        } else {
            let n = self.count(F::ChangelogFileCount, 2);
            for _ in 0..n {
                self.w.is(F::ChangelogOffset).i64(40);
                self.stream(role, true, 0);
            }
            self.w.is(F::ChangelogSize).i64(500);
            if ids {
                self.w.is(F::IncrementalSize).i64(400);
            }
        }
        if ids {
            self.handle_id();
        }
        if tag == 13 {
            self.w.is(F::StorageIdentifier).utf("filesystem");
        }
    }

    fn segment(&mut self, role: &str) {
        let path = self.name("s3://b/shared/merged-");
        self.w.is(F::StreamTag).u8(15);
        self.w.is(F::SegmentStart).i64(100).is(F::StateSize).i64(50);
        self.w.is(F::SegmentScope).i32(1).is(F::Path).utf(&path);
        self.w.is(F::LogicalFileId).utf("logical");
        self.make(role.into(), path, "AtLeast(150)".into());
    }

    fn stream(&mut self, role: &str, log: bool, depth: u32) {
        let choice = self.choose(if depth < 3 { 8 } else { 7 });
        if choice == 5 {
            return self.segment(role);
        }
        self.w.is(F::StreamTag);
        match choice {
            0 => {
                self.w.u8(0);
            }
            1 => {
                self.w.u8(1).is(F::InlineName).utf("s3://b/chk-7/inline");
                self.w
                    .is(F::InlineLength)
                    .i32(4)
                    .is(F::InlineBytes)
                    .raw(&[6, 0, 1, 2]);
            }
            2 | 3 => {
                let path = self.name("s3://b/shared/");
                self.w.u8(2).is(F::StateSize).i64(321).is(F::Path).utf(&path);
                let extent = if log { "Changelog(321)" } else { "Exact(321)" };
                self.make(role.into(), path, extent.into());
            }
            4 => {
                let path = self.name("file-");
                self.w.u8(6).is(F::RelativePath).utf(&path);
                self.w.is(F::StateSize).i64(-1);
                self.make(role.into(), path, "Unknown".into());
            }
            6 => {
                self.w.u8(16);
            }
            _ => {
                self.w.u8(3);
                self.groups_with_offsets();
                self.stream(role, log, depth + 1);
            }
        }
    }
}
