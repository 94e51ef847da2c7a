//! Every handle that names something, as a row of 48 bytes beside the bytes of the file; objects are numbered, so that each can be counted once.
//!
//! The summary and the inspector count by these rows, so that they can't disagree.

use std::fmt;
use std::hash::{BuildHasher, Hasher as _};
use std::ops::{ControlFlow, Range};

use flink_checkpoint::{
    Damaged, Extent, Index, InlinedAt, JavaStr, KeyGroups, Limits, Part, Reference, Role, StateKind, Target,
    Visitor,
};
use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};

use crate::report::summary::home::Home;

pub(crate) mod places;

use places::{Lies, Places};

/// No number: no subtask, or a path that is no location.
pub const NONE: u32 = u32::MAX;

/// How a handle names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// By an absolute path.
    Absolute,
    /// By a path below the directory of `_metadata`.
    Relative,
    /// A directory as a whole.
    Directory,
}

/// One handle.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    size: u64,
    at: u32,
    end: u32,
    /// Position of its operator in the file, from 0.
    pub operator: u32,
    /// Its subtask, or [`NONE`].
    pub subtask: u32,
    groups: KeyGroups,
    /// Number of the directory that holds what it names, or [`NONE`].
    pub(crate) place: u32,
    /// Number of what it names: the same for all handles that name the same object.
    pub object: u32,
    path_len: u16,
    /// Of the path, what precedes the last part, with its slash.
    directory_len: u16,
    role: u8,
    what: u8,
}

const HAS_GROUPS: u8 = 1 << 4;
const COUNTS: u8 = 1 << 5;
const FIRST: u8 = 1 << 6;

impl Row {
    fn of(reference: &Reference<'_>) -> Self {
        let path = reference.target.path().as_bytes();
        let names = match reference.target {
            Target::Absolute(_) => 0,
            Target::Exclusive(_) => 1,
            Target::Directory(_) => 2,
        };
        let (extent, size) = match reference.extent {
            Extent::Exact(n) => (0, n),
            Extent::AtLeast(n) => (1, n),
            Extent::Changelog(n) => (2, n),
            Extent::Unknown => (3, 0),
        };
        let groups = reference.key_groups;
        let directory = match reference.target {
            Target::Exclusive(_) => 0,
            Target::Directory(_) => path.len(),
            Target::Absolute(_) => memchr::memrchr(b'/', path).map_or(0, |at| at + 1),
        };
        // A string of Java's writeUTF has at most 65,535 bytes.
        let short = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
        Self {
            size,
            at: narrow(reference.span.start),
            end: narrow(reference.span.end),
            operator: reference.operator.0,
            subtask: reference.subtask.unwrap_or(NONE),
            groups: groups.unwrap_or_default(),
            place: NONE,
            object: NONE,
            path_len: short(path.len()),
            directory_len: short(directory),
            role: role_code(reference.role),
            what: names | extent << 2 | if groups.is_some() { HAS_GROUPS } else { 0 },
        }
    }

    /// How it names.
    pub fn names(&self) -> Names {
        match self.what & 3 {
            0 => Names::Absolute,
            1 => Names::Relative,
            _ => Names::Directory,
        }
    }

    /// How long the object must be.
    pub fn extent(&self) -> Extent {
        match self.what >> 2 & 3 {
            0 => Extent::Exact(self.size),
            1 => Extent::AtLeast(self.size),
            2 => Extent::Changelog(self.size),
            _ => Extent::Unknown,
        }
    }

    /// The length that the handle says, in bytes; `None` if it says none.
    pub fn size(&self) -> Option<u64> {
        (self.what >> 2 & 3 != 3).then_some(self.size)
    }

    /// The bytes of state behind the handle: of a part of a merged object its length, of anything else that of the object. `None` if the handle
    /// doesn't say.
    pub fn state_bytes(&self, file: &[u8]) -> Option<u64> {
        match self.extent() {
            Extent::AtLeast(end) => self.segment_start(file).map(|start| end.saturating_sub(start)),
            _ => self.size(),
        }
    }

    /// The first byte of a part of a merged object (tag 15).
    pub fn segment_start(&self, file: &[u8]) -> Option<u64> {
        // Right behind the tag.
        let start = file.get(self.at as usize + 1..)?.first_chunk::<8>()?;
        matches!(self.extent(), Extent::AtLeast(_)).then(|| u64::from_be_bytes(*start))
    }

    /// Whether its bytes count for its operator and kind of state: of handles that name one whole object there, the first does.
    pub fn counts(&self) -> bool {
        self.what & COUNTS != 0
    }

    /// Whether it is the first handle that names the object for its operator and kind of state.
    pub fn first(&self) -> bool {
        self.what & FIRST != 0
    }

    /// The key groups in it.
    pub fn key_groups(&self) -> Option<KeyGroups> {
        (self.what & HAS_GROUPS != 0).then_some(self.groups)
    }

    /// What it is for.
    pub fn role(&self) -> Role {
        role_of(self.role)
    }

    pub(crate) fn role_number(&self) -> u8 {
        self.role
    }

    /// The handle's bytes in the file: the first, and the one behind the last.
    pub fn span(&self) -> Range<usize> {
        self.at as usize..self.end as usize
    }

    /// Where its path lies in the file: behind the tag and what is fixed before it, and its own length.
    pub(crate) fn path_span(&self) -> Range<usize> {
        let before = match (self.names(), self.extent()) {
            // Tag 6.
            (Names::Relative, _) => 1,
            (Names::Directory, _) => 0,
            // Tag 15: start, size, scope.
            (Names::Absolute, Extent::AtLeast(_)) => 1 + 8 + 8 + 4,
            // Tag 2: size.
            (Names::Absolute, _) => 1 + 8,
        };
        let at = self.at as usize + before + 2;
        at..at + usize::from(self.path_len)
    }

    /// The last part of what it names; empty for a directory.
    pub fn name<'a>(&self, file: &'a [u8]) -> &'a [u8] {
        let path = self.path_span();
        file.get(path.start + usize::from(self.directory_len)..path.end)
            .unwrap_or_default()
    }

    /// Its path, as it lies in the file.
    pub fn path<'a>(&self, file: &'a [u8]) -> JavaStr<'a> {
        JavaStr::from_bytes(file.get(self.path_span()).unwrap_or_default())
    }
}

/// Offsets in a file that has an index are below 4 GiB.
fn narrow(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

const STATES: [StateKind; 7] = [
    StateKind::Coordinator,
    StateKind::ManagedOperator,
    StateKind::RawOperator,
    StateKind::ManagedKeyed,
    StateKind::RawKeyed,
    StateKind::InputChannel,
    StateKind::ResultSubpartition,
];
const PARTS: [Part; 7] = [
    Part::Whole,
    Part::Meta,
    Part::Shared,
    Part::Private,
    Part::Changelog,
    Part::TaskOwnedDir,
    Part::SharedDir,
];

pub(crate) fn role_code(role: Role) -> u8 {
    (role.state as u8) << 4 | u8::from(role.materialized) << 3 | role.part as u8
}

pub(crate) fn role_of(code: u8) -> Role {
    Role {
        state: *STATES
            .get(usize::from(code >> 4))
            .unwrap_or(&StateKind::Coordinator),
        materialized: code & 8 != 0,
        part: *PARTS.get(usize::from(code & 7)).unwrap_or(&Part::Whole),
    }
}

/// All rows of a snapshot, the directories that they name and how often each object is named.
#[derive(Debug)]
pub struct Handles {
    rows: Vec<Row>,
    places: Places,
    /// By object number.
    handles: Vec<u32>,
    names: Counted,
    inlined: Vec<Inline>,
}

/// State whose bytes lie in `_metadata` itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inline {
    /// Its bytes.
    pub bytes: u64,
    /// Position of its operator in the file, from 0.
    pub operator: u32,
    /// Its subtask, or [`NONE`].
    pub subtask: u32,
    /// At which byte of the file the handle begins.
    pub at: u32,
    role: u8,
}

impl Inline {
    /// What it is for.
    pub fn role(&self) -> Role {
        role_of(self.role)
    }
}

/// Handles by how they name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// By a path below the directory of `_metadata`.
    pub relative: u64,
    /// By an absolute path.
    pub absolute: u64,
    /// A directory as a whole.
    pub directories: u64,
}

impl Handles {
    /// Reads a file to its end, together with the index of its records.
    ///
    /// # Errors
    /// The file can't be read to its end.
    pub(crate) fn read(bytes: &[u8], home: Option<&Home>) -> Result<(Index, Self), Damaged> {
        let mut numbering = Numbering::new(bytes, home);
        let index = Index::build_and_visit(bytes, &Limits::default(), &mut numbering)?;
        Ok((index, numbering.finish()))
    }

    /// Their number.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// All of them, in the order of the file.
    pub fn all(&self) -> &[Row] {
        &self.rows
    }

    /// By how they name.
    pub fn counted(&self) -> Counted {
        self.names
    }

    /// How many handles name what this row names.
    pub fn handles_of(&self, row: &Row) -> u32 {
        self.handles.get(row.object as usize).copied().unwrap_or(1)
    }

    /// Number of different objects and directories that are named.
    pub fn objects(&self) -> usize {
        self.handles.len()
    }

    /// Whether [`Handles::seen_from`] gives what reading with that place would: not if files there are named both by relative and by absolute
    /// paths, which Flink doesn't do. The same object then has two numbers.
    pub(crate) fn can_be_seen_from(&self, home: &Home) -> bool {
        self.names.relative == 0 || !self.places.named_absolutely(home)
    }

    /// Looks at the directories from a place that is known only now. Objects keep their numbers.
    pub(crate) fn seen_from(&mut self, home: &Home) {
        self.places.seen_from(home);
    }

    /// State that lies in the file itself, in the order of the file.
    pub fn inlined(&self) -> &[Inline] {
        &self.inlined
    }

    pub(crate) fn places(&self) -> &[Lies] {
        self.places.all()
    }

    pub(crate) fn lies(&self, row: &Row) -> Option<&Lies> {
        self.places.all().get(row.place as usize)
    }

    /// What a row names, in its one spelling; not escaped.
    pub fn location<'r>(&'r self, row: &Row, file: &'r [u8]) -> impl fmt::Display + 'r {
        let row = *row;
        fmt::from_fn(move |f| match self.lies(&row) {
            Some(lies) => {
                let name = JavaStr::from_bytes(row.name(file));
                let name = name.as_str().unwrap_or_default();
                f.write_str(&lies.directory)?;
                if !(lies.directory.is_empty() || lies.directory.ends_with('/') || name.is_empty()) {
                    f.write_str("/")?;
                }
                f.write_str(&name)
            }
            None => write!(f, "{}", row.path(file)),
        })
    }

    /// Memory that it occupies, in bytes, without that of directories.
    pub fn memory(&self) -> usize {
        self.rows.capacity() * size_of::<Row>()
            + self.handles.capacity() * size_of::<u32>()
            + self.inlined.capacity() * size_of::<Inline>()
    }
}

/// Numbers objects and their directories while references are told.
#[derive(Debug)]
pub(crate) struct Numbering<'h, 'a> {
    bytes: &'a [u8],
    home: Option<&'h Home>,
    rows: Vec<Row>,
    places: Places,
    hasher: DefaultHashBuilder,
    /// Of each object its hash and the number of its first row. With the hash beside it, a table that grows needn't look at rows and names again,
    /// which lie all over the memory.
    objects: HashTable<(u32, u32)>,
    /// By object number.
    handles: Vec<u32>,
    /// By object number: the operator, from 1, and the kinds of its state that have counted the object.
    counted: Vec<(u32, u8)>,
    names: Counted,
    inlined: Vec<Inline>,
    /// The directory of the row before, as written: nearly always that of this one too.
    last: Option<(bool, Range<usize>, u32)>,
}

impl<'h, 'a> Numbering<'h, 'a> {
    pub(crate) fn new(bytes: &'a [u8], home: Option<&'h Home>) -> Self {
        Self {
            bytes,
            home,
            rows: Vec::new(),
            places: Places::default(),
            hasher: DefaultHashBuilder::default(),
            objects: HashTable::new(),
            handles: Vec::new(),
            counted: Vec::new(),
            names: Counted::default(),
            inlined: Vec::new(),
            last: None,
        }
    }

    /// Takes one reference. Its path must lie in the bytes of the file.
    pub(crate) fn tell(&mut self, reference: &Reference<'_>) {
        let mut row = Row::of(reference);
        match row.names() {
            Names::Relative => self.names.relative += 1,
            Names::Absolute => self.names.absolute += 1,
            Names::Directory => self.names.directories += 1,
        }
        row.place = self.place(&row);
        self.number(&mut row);
        self.count(&mut row);
        self.rows.push(row);
    }

    pub(crate) fn finish(self) -> Handles {
        let Self {
            rows,
            places,
            handles,
            names,
            inlined,
            ..
        } = self;
        Handles {
            rows,
            places,
            handles,
            names,
            inlined,
        }
    }

    fn place(&mut self, row: &Row) -> u32 {
        let path = row.path_span();
        let relative = row.names() == Names::Relative;
        let mut directory = path.start..path.start + usize::from(row.directory_len);
        if row.names() == Names::Absolute {
            // Without its slash.
            directory.end = directory.end.saturating_sub(1).max(directory.start);
        }
        let written = self.bytes.get(directory.clone()).unwrap_or_default();
        let place = match &self.last {
            Some((was_relative, span, place))
                if *was_relative == relative && self.bytes.get(span.clone()) == Some(written) =>
            {
                *place
            }
            _ => {
                let place = self.places.number(relative, written, self.home);
                let place = place.map_or(NONE, narrow);
                self.last = Some((relative, directory, place));
                place
            }
        };
        // Only what is text can be the name of an object.
        if place != NONE && !JavaStr::from_bytes(row.name(self.bytes)).is_text() {
            return NONE;
        }
        place
    }

    fn number(&mut self, row: &mut Row) {
        let (bytes, rows) = (self.bytes, &self.rows);
        // What has no place is told apart by how it is written.
        let key = |row: &Row| {
            let unplaced = row.place == NONE;
            let name = if unplaced {
                row.path(bytes).as_bytes()
            } else {
                row.name(bytes)
            };
            let kind = match row.names() {
                Names::Directory => 2,
                Names::Relative if unplaced => 1,
                Names::Relative | Names::Absolute => 0u8,
            };
            (row.place, kind, name)
        };
        let wanted = key(row);
        let (place, kind, name) = wanted;
        let mut hasher = self.hasher.build_hasher();
        hasher.write(name);
        hasher.write_u64(u64::from(place) << 8 | u64::from(kind));
        // The upper half: a hash of 32 bits, whose own upper bits the table looks at too.
        let hash = (hasher.finish() >> 32) as u32;
        let spread = |hash: u32| u64::from(hash) << 32 | u64::from(hash);
        let next = narrow(rows.len());
        let known = |(other, first): &(u32, u32)| {
            *other == hash && rows.get(*first as usize).is_some_and(|row| key(row) == wanted)
        };
        match self.objects.entry(spread(hash), known, |(hash, _)| spread(*hash)) {
            Entry::Occupied(known) => {
                let (_, first) = *known.get();
                row.object = rows.get(first as usize).map_or(NONE, |row| row.object);
                if let Some(handles) = self.handles.get_mut(row.object as usize) {
                    *handles += 1;
                }
            }
            Entry::Vacant(free) => {
                free.insert((hash, next));
                row.object = narrow(self.handles.len());
                self.handles.push(1);
                self.counted.push((0, 0));
            }
        }
    }

    fn count(&mut self, row: &mut Row) {
        let Some(counted) = self.counted.get_mut(row.object as usize) else {
            return;
        };
        if row.names() == Names::Directory {
            return;
        }
        let operator = row.operator.saturating_add(1);
        if counted.0 != operator {
            *counted = (operator, 0);
        }
        let kind = 1 << (row.role >> 4);
        if counted.1 & kind == 0 {
            counted.1 |= kind;
            row.what |= FIRST | COUNTS;
        }
        // Parts of a merged object are different bytes.
        if matches!(row.extent(), Extent::AtLeast(_)) {
            row.what |= COUNTS;
        }
    }
}

impl<'a> Visitor<'a> for Numbering<'_, '_> {
    fn inlined(&mut self, state: &InlinedAt) {
        self.inlined.push(Inline {
            bytes: state.bytes,
            operator: state.operator.0,
            subtask: state.subtask.unwrap_or(NONE),
            at: narrow(state.at),
            role: role_code(state.role),
        });
    }

    fn reference(&mut self, reference: &Reference<'a>) -> ControlFlow<()> {
        self.tell(reference);
        ControlFlow::Continue(())
    }
}
