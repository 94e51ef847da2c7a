//! A second reader of `_metadata`, written from flink-format.md 1 and 2 alone: what a file names, by whom, and at which byte. It shares nothing with
//! the reader that is judged, and knows the layouts that the jobs of the simulation write: formats 3 to 6 without channel state.

/// A handle that names an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Named {
    /// The path as it stands there; of a relative one the name alone.
    pub(super) path: String,
    /// Whether it lies beside `_metadata`.
    pub(super) beside: bool,
    /// Whether it names a directory, tag 17's.
    pub(super) directory: bool,
    /// The operator's id, in hex.
    pub(super) operator: String,
    /// The subtask.
    pub(super) subtask: Option<u32>,
    /// At which byte its tag stands; of a directory, its text.
    pub(super) at: usize,
}

impl Named {
    /// The key, for a `_metadata` in this directory (which ends in `/`); a directory's ends in `/` too.
    pub(super) fn key(&self, bucket: &str, own: &str) -> String {
        if self.beside {
            return format!("{own}{}", self.path);
        }
        let key = self.path.strip_prefix(&format!("s3://{bucket}/"));
        let key = key.unwrap_or(&self.path).to_owned();
        if self.directory { key + "/" } else { key }
    }
}

/// Managed operator state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct OperatorState {
    /// The operator's id, in hex.
    pub(super) operator: String,
    /// The subtask.
    pub(super) subtask: Option<u32>,
    /// At which byte the handle of its bytes begins.
    pub(super) stream_at: usize,
    /// Where its bytes lie.
    pub(super) stream: Stream,
    /// Names of list states, and where their elements begin.
    states: Vec<(String, Vec<i64>)>,
}

/// Where the bytes of an operator state lie.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Stream {
    Inlined(Vec<u8>),
    In(Named),
}

impl OperatorState {
    /// Where the elements of a state begin.
    pub(super) fn elements_of(&self, name: &str) -> impl Iterator<Item = i64> {
        let of_name = self.states.iter().filter(move |(its, _)| its == name);
        of_name.flat_map(|(_, offsets)| offsets).copied()
    }
}

/// Reads a file, as far as it is one that a job of the simulation writes.
pub(super) fn read(bytes: &[u8]) -> Vec<Named> {
    read_through(bytes).named
}

/// The operator states of a file, likewise.
pub(super) fn operator_states(bytes: &[u8]) -> Vec<OperatorState> {
    read_through(bytes).states
}

fn read_through(bytes: &[u8]) -> Reader<'_> {
    let mut reader = Reader {
        bytes,
        at: 0,
        operator: String::new(),
        subtask: None,
        named: Vec::new(),
        states: Vec::new(),
        inlined: None,
    };
    // Half a file says what its first half says.
    let _ = reader.file();
    reader
}

struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
    operator: String,
    subtask: Option<u32>,
    named: Vec<Named>,
    states: Vec<OperatorState>,
    /// The bytes of the handle that was read last, if it has them itself.
    inlined: Option<&'b [u8]>,
}

impl<'b> Reader<'b> {
    fn take(&mut self, n: usize) -> Option<&'b [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(n)?)?;
        self.at += n;
        Some(taken)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|b| b[0])
    }

    fn int(&mut self) -> Option<i32> {
        Some(i32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn count(&mut self) -> Option<usize> {
        usize::try_from(self.int()?)
            .ok()
            .filter(|n| *n <= self.bytes.len())
    }

    fn longs(&mut self, n: usize) -> Option<()> {
        self.take(n.checked_mul(8)?).map(|_| ())
    }

    fn text(&mut self) -> Option<String> {
        let length = u16::from_be_bytes(self.take(2)?.try_into().ok()?);
        String::from_utf8(self.take(usize::from(length))?.to_vec()).ok()
    }

    fn file(&mut self) -> Option<()> {
        if self.take(4)? != [0x49, 0x60, 0x67, 0x2D] {
            return None;
        }
        let format = self.int().filter(|f| (3..=6).contains(f))?;
        self.longs(1)?;
        if self.int()? != 0 {
            return None;
        }
        for _ in 0..self.count()? {
            self.operator(format)?;
        }
        // What follows is Java's own and names no file.
        let rest = &self.bytes[self.at..];
        let whole = if format >= 4 {
            rest.starts_with(&[0xAC, 0xED, 0, 5])
        } else {
            rest.is_empty()
        };
        whole.then_some(())
    }

    fn operator(&mut self, format: i32) -> Option<()> {
        if format >= 5 {
            self.text()?;
            self.text()?;
        }
        self.operator = self.take(16)?.iter().map(|b| format!("{b:02x}")).collect();
        self.longs(1)?;
        self.subtask = None;
        self.stream()?;
        for _ in 0..self.count()? {
            self.subtask = Some(u32::try_from(self.int()?).ok()?);
            for _managed_and_raw in 0..2 {
                if self.int()? != 0 {
                    self.operator_state()?;
                }
            }
            self.keyed()?;
            self.keyed()?;
            if (self.int()?, self.int()?) != (0, 0) {
                return None;
            }
        }
        Some(())
    }

    fn operator_state(&mut self) -> Option<()> {
        let tag = self.u8()?;
        if tag == 0 {
            return Some(());
        }
        let mut states = Vec::new();
        for _ in 0..self.count()? {
            let name = self.text()?;
            self.u8()?;
            let mut offsets = Vec::new();
            for _ in 0..self.count()? {
                offsets.push(i64::from_be_bytes(self.take(8)?.try_into().ok()?));
            }
            states.push((name, offsets));
        }
        match tag {
            4 => {}
            17 => {
                for _task_owned_and_shared in 0..2 {
                    let at = self.at;
                    let path = self.text()?;
                    self.name(at, path, false, true);
                }
                self.u8()?;
            }
            _ => return None,
        }
        let (stream_at, before) = (self.at, self.named.len());
        self.inlined = None;
        self.stream()?;
        let stream = match (self.inlined, self.named.get(before)) {
            (Some(bytes), _) => Stream::Inlined(bytes.to_vec()),
            (None, Some(named)) => Stream::In(named.clone()),
            (None, None) => return Some(()),
        };
        self.states.push(OperatorState {
            operator: self.operator.clone(),
            subtask: self.subtask,
            stream_at,
            stream,
            states,
        });
        Some(())
    }

    fn keyed(&mut self) -> Option<()> {
        let tag = self.u8()?;
        match tag {
            0 => return Some(()),
            3 | 7 | 12 => {
                self.int()?;
                let offsets = self.count()?;
                self.longs(offsets)?;
                self.stream()?;
            }
            5 | 11 => {
                self.longs(1)?;
                self.text()?;
                self.longs(1)?;
                if tag == 11 {
                    self.longs(1)?;
                }
                self.stream()?;
                for _shared_and_private in 0..2 {
                    for _ in 0..self.count()? {
                        self.text()?;
                        self.stream()?;
                    }
                }
            }
            14 => {
                self.longs(2)?;
                for _materialized_and_not in 0..2 {
                    for _ in 0..self.count()? {
                        self.keyed()?;
                    }
                }
                self.longs(2)?;
            }
            13 => {
                self.longs(1)?;
                for _ in 0..self.count()? {
                    self.longs(1)?;
                    self.stream()?;
                }
                self.longs(2)?;
                self.text()?;
            }
            _ => return None,
        }
        if tag != 3 && tag != 5 {
            self.text()?;
        }
        Some(())
    }

    fn stream(&mut self) -> Option<()> {
        let at = self.at;
        match self.u8()? {
            0 | 16 => {}
            1 => {
                self.text()?;
                let n = self.count()?;
                self.inlined = Some(self.take(n)?);
            }
            2 => {
                self.longs(1)?;
                let path = self.text()?;
                self.name(at, path, false, false);
            }
            6 => {
                let path = self.text()?;
                self.longs(1)?;
                self.name(at, path, true, false);
            }
            15 => {
                self.longs(2)?;
                self.int()?;
                let path = self.text()?;
                self.text()?;
                self.name(at, path, false, false);
            }
            _ => return None,
        }
        Some(())
    }

    fn name(&mut self, at: usize, path: String, beside: bool, directory: bool) {
        self.named.push(Named {
            path,
            beside,
            directory,
            operator: self.operator.clone(),
            subtask: self.subtask,
            at,
        });
    }
}
