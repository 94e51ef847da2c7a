//! Writes `_metadata` files, from a list of choices: a second wording of the format, for what the corpus doesn't
//! hold (format 7, nested streams, handles of one release beside those of another).

/// The layouts that a file can have.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    pub version: i32,
    /// 1.11: no subtask index in channel handles.
    pub channel_subtask: bool,
    /// 1.14: no sizes and ids in changelog handles.
    pub changelog_ids: bool,
}

impl Form {
    pub fn of(version: i32) -> Form {
        Form {
            version,
            channel_subtask: true,
            changelog_ids: true,
        }
    }
}

/// The bytes of a `CheckpointProperties` object: a checkpoint that is retained on cancellation.
pub fn properties() -> Vec<u8> {
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
    w.0
}

#[derive(Default)]
pub struct Writer(pub Vec<u8>);

impl Writer {
    pub fn header(version: i32, checkpoint_id: i64) -> Writer {
        let mut w = Writer::default();
        w.raw(&[0x49, 0x60, 0x67, 0x2D]).i32(version).i64(checkpoint_id);
        w
    }

    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub fn u8(&mut self, value: u8) -> &mut Self {
        self.raw(&[value])
    }

    pub fn i32(&mut self, value: i32) -> &mut Self {
        self.raw(&value.to_be_bytes())
    }

    pub fn i64(&mut self, value: i64) -> &mut Self {
        self.raw(&value.to_be_bytes())
    }

    pub fn utf(&mut self, text: &str) -> &mut Self {
        self.raw(&u16::try_from(text.len()).unwrap().to_be_bytes())
            .raw(text.as_bytes())
    }
}

/// A reference that a file was made with: role, path, extent, operator, subtask.
pub type Made = (String, String, String, u32, Option<u32>);

/// Makes files by choices; when these run out, the least is chosen.
pub struct Maker<'c> {
    choices: &'c [u8],
    at: usize,
    form: Form,
    w: Writer,
    pub made: Vec<Made>,
    operator: u32,
    subtask: Option<u32>,
    names: u32,
}

impl<'c> Maker<'c> {
    pub fn file(form: Form, choices: &'c [u8]) -> (Vec<u8>, Vec<Made>) {
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
        (maker.w.0, maker.made)
    }

    fn choose(&mut self, n: u32) -> u32 {
        let choice = self.choices.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        u32::from(choice) % n
    }

    fn count(&mut self, most: u32) -> u32 {
        let n = self.choose(most + 1);
        self.w.i32(i32::try_from(n).unwrap());
        n
    }

    fn name(&mut self, before: &str) -> String {
        self.names += 1;
        format!("{before}{}", self.names)
    }

    fn body(&mut self) {
        let masters = self.count(1);
        for _ in 0..masters {
            self.w
                .raw(&0xc96b_1696_u32.to_be_bytes())
                .i32(4 + 5 + 4 + 2)
                .i32(1)
                .utf("abc")
                .i32(2)
                .raw(b"xy");
        }
        let operators = self.count(3);
        for operator in 0..operators {
            self.operator = operator;
            self.operator();
        }
        if self.form.version >= 4 {
            self.w.raw(&properties());
        }
    }

    fn operator(&mut self) {
        if self.form.version >= 5 {
            self.w.utf("a name").utf("");
        }
        self.w
            .raw(&[u8::try_from(self.operator).unwrap(); 16])
            .i32(2)
            .i32(128);
        if self.form.version == 2 {
            self.w.i32(1);
        }
        let mut coordinator = false;
        if self.form.version >= 3 {
            coordinator = self.choose(2) == 1;
            if coordinator {
                self.w.u8(1).utf("s3://b/chk-7/coordinator").i32(2).raw(b"zz");
            } else {
                self.w.u8(0);
            }
        }
        if self.form.version >= 3 && !coordinator && self.choose(4) == 1 {
            self.w.i32(-1);
            return;
        }
        let subtasks = self.count(3);
        for index in 0..subtasks {
            if self.form.version >= 3 && self.choose(4) == 1 {
                self.w.i32(-i32::try_from(index).unwrap() - 1);
                continue;
            }
            self.subtask = Some(index);
            self.w.i32(i32::try_from(index).unwrap());
            self.subtask();
        }
    }

    fn subtask(&mut self) {
        if self.form.version == 2 {
            self.w.i64(-1).i32(0);
        }
        for role in ["managed_operator", "raw_operator"] {
            let present = self.choose(2);
            self.w.i32(i32::try_from(present).unwrap());
            if present == 1 {
                self.operator_state(role);
            }
        }
        for role in ["managed_keyed", "raw_keyed"] {
            self.keyed(role, 0);
        }
        if self.form.version >= 3 {
            for (role, tags) in [("input_channel", [1, 3]), ("result_subpartition", [2, 4])] {
                let n = self.count(2);
                for _ in 0..n {
                    self.channel(role, tags);
                }
            }
        }
        if self.form.version >= 7 {
            let other = self.choose(2);
            self.w.u8(u8::try_from(other).unwrap());
            if other == 1 {
                self.w.i64(6);
            }
        }
    }

    fn operator_state(&mut self, role: &str) {
        let merged = match self.choose(3) {
            0 => {
                self.w.u8(0);
                return;
            }
            1 => false,
            _ => true,
        };
        self.w.u8(if merged { 17 } else { 4 });
        let states = self.count(2);
        for mode in 0..states {
            let name = self.name("state-");
            self.w.utf(&name).u8(u8::try_from(mode).unwrap());
            self.offsets();
        }
        if merged {
            for part in ["task_owned_dir", "shared_dir"] {
                let path = self.name("s3://b/_entropy_/");
                self.w.utf(&path);
                self.make(format!("{role}.{part}"), path, "Unknown".into());
            }
            self.w.u8(0);
            if self.choose(2) == 0 {
                self.w.u8(16);
            } else {
                self.segment(role);
            }
        } else {
            self.stream(role, false, 0);
        }
    }

    fn offsets(&mut self) {
        let n = self.count(3);
        for offset in 0..n {
            self.w.i64(i64::from(offset) * 1000 + 77);
        }
    }

    fn groups_with_offsets(&mut self) {
        self.w.i32(4);
        self.offsets();
    }

    fn make(&mut self, role: String, path: String, extent: String) {
        self.made.push((role, path, extent, self.operator, self.subtask));
    }

    fn channel(&mut self, role: &str, [plain, merged]: [u8; 2]) {
        let is_merged = self.form.version >= 6 && self.choose(2) == 1;
        if self.form.version >= 6 {
            self.w.u8(if is_merged { merged } else { plain });
        }
        if self.form.channel_subtask {
            self.w.i32(5);
        }
        if is_merged {
            self.w.i64(30);
        } else {
            self.w.i32(1).i32(2);
            self.offsets();
            self.w.i64(30);
        }
        self.stream(role, false, 0);
        if is_merged {
            self.w.i32(4 + 20 + 28).i32(2);
            self.w.i32(0).i32(1).i64(10).i32(0);
            self.w.i32(0).i32(2).i64(20).i32(1).i64(99);
        }
    }

    fn keyed(&mut self, role: &str, depth: u32) {
        let form = self.form;
        let tags: &[u8] = if depth == 0 {
            &[0, 3, 5, 7, 8, 9, 10, 11, 12, 13, 14]
        } else {
            &[0, 3, 5, 7, 11, 12]
        };
        let tag = tags[self.choose(u32::try_from(tags.len()).unwrap()) as usize];
        self.w.u8(tag);
        match tag {
            0 => {}
            3 | 7 | 12 => {
                self.groups_with_offsets();
                self.stream(role, false, 0);
            }
            5 | 11 => {
                self.w
                    .i64(6)
                    .utf("11112222-3333-4444-5555-666677778888")
                    .i32(0)
                    .i32(8);
                if tag == 11 {
                    self.w.i64(-1);
                }
                self.stream(&format!("{role}.meta"), false, 0);
                for part in ["shared", "private"] {
                    let n = self.count(3);
                    for _ in 0..n {
                        self.w.utf("000012.sst");
                        self.stream(&format!("{role}.{part}"), false, 0);
                    }
                }
            }
            8 | 14 => {
                let ids = tag == 14 || form.changelog_ids;
                self.w.i32(0).i32(8);
                if ids {
                    self.w.i64(12);
                }
                let n = self.count(2);
                for _ in 0..n {
                    self.keyed(&format!("{role}.materialized"), depth + 1);
                }
                let n = self.count(2);
                for _ in 0..n {
                    self.log(&format!("{role}.changelog"));
                }
                if ids {
                    self.w.i64(3);
                    if tag == 14 {
                        self.w.i64(7);
                    }
                }
                if !ids {
                    return;
                }
            }
            9 | 10 | 13 => {
                // A log outside a changelog handle is legal for the grammar, and has the role of its place.
                self.log_with_tag(role, tag);
                return;
            }
            _ => unreachable!(),
        }
        if matches!(tag, 8 | 11 | 12 | 14) {
            let id = self.name("handle-");
            self.w.utf(&id);
        }
    }

    fn log(&mut self, role: &str) {
        let tag = [9, 10, 13][self.choose(3) as usize];
        self.w.u8(tag);
        self.log_with_tag(role, tag);
    }

    fn log_with_tag(&mut self, role: &str, tag: u8) {
        self.w.i32(0).i32(8);
        if tag == 9 {
            self.w.i64(1).i64(9);
            let n = self.count(2);
            for _ in 0..n {
                self.w.i32(-1).i32(3).raw(b"abc");
            }
        } else {
            let n = self.count(2);
            for _ in 0..n {
                self.w.i64(40);
                self.stream(role, true, 0);
            }
            self.w.i64(500);
            if tag == 13 || self.form.changelog_ids {
                self.w.i64(400);
            }
        }
        if tag == 13 || self.form.changelog_ids {
            let id = self.name("handle-");
            self.w.utf(&id);
        }
        if tag == 13 {
            self.w.utf("filesystem");
        }
    }

    fn segment(&mut self, role: &str) {
        let path = self.name("s3://b/shared/merged-");
        self.w.u8(15).i64(100).i64(50).i32(1).utf(&path).utf("logical");
        self.make(role.into(), path, "AtLeast(150)".into());
    }

    fn stream(&mut self, role: &str, log: bool, depth: u32) {
        match self.choose(if depth < 3 { 8 } else { 7 }) {
            0 => {
                self.w.u8(0);
            }
            1 => {
                self.w.u8(1).utf("s3://b/chk-7/inline").i32(4).raw(&[6, 0, 1, 2]);
            }
            2 | 3 => {
                let path = self.name("s3://b/shared/");
                self.w.u8(2).i64(321).utf(&path);
                self.make(
                    role.into(),
                    path,
                    if log { "Changelog(321)" } else { "Exact(321)" }.into(),
                );
            }
            4 => {
                let path = self.name("file-");
                self.w.u8(6).utf(&path).i64(-1);
                self.make(role.into(), path, "Unknown".into());
            }
            5 => self.segment(role),
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
