//! Which objects many snapshots name, in little memory.
//!
//! Directories are interned, file names kept as 16 bytes where they are UUIDs, and what a snapshot names is a
//! compressed bitmap of object numbers: checkpoints of one job share most of them.

use std::collections::BTreeMap;
use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use roaring::RoaringBitmap;

use crate::extent::Extent;
use crate::location::ObjectLocation;

mod directories;
pub(crate) mod uuid;

use directories::Directories;

/// The number of a snapshot in the index; never given twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SnapshotNo(u32);

/// The number of an object in the index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ObjectNo(u32);

/// A set of objects of an index, in little memory.
#[derive(Clone, Default, Debug)]
pub(crate) struct ObjectSet(RoaringBitmap);

impl ObjectSet {
    /// Puts an object in; whether it is new there.
    pub(crate) fn insert(&mut self, object: ObjectNo) -> bool {
        self.0.insert(object.0)
    }

    /// Whether it is in there.
    pub(crate) fn contains(&self, object: ObjectNo) -> bool {
        self.0.contains(object.0)
    }
}

/// The references of many snapshots.
#[derive(Default)]
pub struct ReferenceIndex {
    directories: Directories,
    objects: Chunked,
    /// Object numbers by the hash of the file name alone, so that a name is found in whatever directory it lies.
    by_name: HashTable<u32>,
    hasher: DefaultHashBuilder,
    other_names: Vec<Box<str>>,
    /// Extents beyond the first, where handles disagree about one object.
    more_extents: HashMap<u32, Vec<Extent>>,
    snapshots: HashMap<SnapshotNo, RoaringBitmap>,
    next_snapshot: u32,
}

/// The index holds 2^31 objects or directories and takes no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "more than 2^31 distinct objects or directories are referenced: split the roots over several Stayputs"
)]
pub struct IndexFull;

#[derive(Clone, Copy)]
struct Object {
    name: [u8; 16],
    /// Bit 31: the name is a number of `other_names` instead of a UUID.
    directory: u32,
    extent: [u32; 2],
}

const OTHER_NAME: u32 = 1 << 31;

/// A file name as it is kept and hashed. A UUID is 16 bytes: growing the table must not write its text again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Name<'a> {
    Uuid([u8; 16]),
    Other(&'a str),
}

impl<'a> Name<'a> {
    pub(crate) fn of(file: &'a str) -> Self {
        uuid::bytes_of(file).map_or(Self::Other(file), Self::Uuid)
    }

    fn hash(self, hasher: &DefaultHashBuilder) -> u64 {
        match self {
            Self::Uuid(bytes) => hasher.hash_one(u128::from_ne_bytes(bytes)),
            Self::Other(file) => hasher.hash_one(file),
        }
    }
}

/// The name of a stored object.
fn name_of<'a>(stored: &Object, other_names: &'a [Box<str>]) -> Name<'a> {
    if stored.directory & OTHER_NAME == 0 {
        return Name::Uuid(stored.name);
    }
    let [a, b, c, d, ..] = stored.name;
    Name::Other(&other_names[u32::from_be_bytes([a, b, c, d]) as usize])
}

/// Objects in chunks, so that growth never copies or doubles.
#[derive(Default)]
struct Chunked {
    chunks: Vec<Vec<Object>>,
    len: u32,
}

const CHUNK: usize = 1 << 14;

impl Chunked {
    fn push(&mut self, object: Object) -> u32 {
        if (self.len as usize).is_multiple_of(CHUNK) {
            // The first chunk grows as it is filled: most indexes are small.
            let chunk = if self.chunks.is_empty() {
                Vec::new()
            } else {
                Vec::with_capacity(CHUNK)
            };
            self.chunks.push(chunk);
        }
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.push(object);
        }
        self.len += 1;
        self.len - 1
    }

    fn get(&self, number: u32) -> &Object {
        let number = number as usize;
        &self.chunks[number / CHUNK][number % CHUNK]
    }
}

impl ReferenceIndex {
    /// An empty index.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a snapshot with everything that it names exactly, and gives it a number.
    ///
    /// # Errors
    /// [`IndexFull`]: nothing was added.
    pub fn add<'r>(
        &mut self,
        references: impl IntoIterator<Item = (&'r ObjectLocation, Extent)>,
    ) -> Result<SnapshotNo, IndexFull> {
        let references = references.into_iter();
        let mut entering = self.enter(references.size_hint().0);
        for (location, extent) in references {
            entering.name(location, extent);
        }
        entering.finish()
    }

    /// Begins to add a snapshot that names about so many objects, so that nobody must hold all of them at once.
    pub(crate) fn enter(&mut self, about: usize) -> Entering<'_> {
        if self.objects.len == 0 {
            // Most names of a job's first snapshot are new, those of its next ones aren't.
            self.by_name.reserve(about, |_| 0);
        }
        Entering {
            index: self,
            named: Vec::new(),
            full: false,
        }
    }

    /// Adds what a snapshot names besides, as another source says.
    pub fn add_more<'r>(
        &mut self,
        snapshot: SnapshotNo,
        references: impl IntoIterator<Item = (&'r ObjectLocation, Extent)>,
    ) -> Result<(), IndexFull> {
        for (location, extent) in references {
            let object = self.intern_split(Split::of(location), extent)?;
            if let Some(named) = self.snapshots.get_mut(&snapshot) {
                named.insert(object);
            }
        }
        Ok(())
    }

    /// Holds what these snapshots name, except some of it, under a number of its own: it stays known when they are forgotten. Whoever holds it
    /// [removes](Self::remove) it.
    ///
    /// # Errors
    /// [`IndexFull`]: no number is left.
    pub fn hold(
        &mut self,
        snapshots: &[SnapshotNo],
        except: impl IntoIterator<Item = ObjectNo>,
    ) -> Result<SnapshotNo, IndexFull> {
        let mut held = self.union(snapshots);
        for object in except {
            held.remove(object.0);
        }
        held.optimize();
        self.number(held)
    }

    fn union(&self, snapshots: &[SnapshotNo]) -> RoaringBitmap {
        let mut all = RoaringBitmap::new();
        for named in snapshots.iter().filter_map(|s| self.snapshots.get(s)) {
            all |= named;
        }
        all
    }

    fn number(&mut self, named: RoaringBitmap) -> Result<SnapshotNo, IndexFull> {
        let number = SnapshotNo(self.next_snapshot);
        self.next_snapshot = self.next_snapshot.checked_add(1).ok_or(IndexFull)?;
        self.snapshots.insert(number, named);
        Ok(number)
    }

    /// What these snapshots name and that other one doesn't.
    pub fn named_besides(&self, snapshots: &[SnapshotNo], other: SnapshotNo) -> Vec<ObjectNo> {
        let mut all = self.union(snapshots);
        if let Some(other) = self.snapshots.get(&other) {
            all -= other;
        }
        all.into_iter().map(ObjectNo).collect()
    }

    /// How many objects these snapshots name in each directory, by its bucket and key prefix.
    pub fn named_by_directory(&self, snapshots: &[SnapshotNo]) -> BTreeMap<(&str, &str), usize> {
        let mut counts: HashMap<u32, usize> = HashMap::new();
        for object in self.union(snapshots) {
            *counts.entry(self.directory_of(ObjectNo(object))).or_default() += 1;
        }
        counts
            .into_iter()
            .map(|(number, count)| (self.directory(number), count))
            .collect()
    }

    /// Forgets a snapshot. Objects that nobody names any more go when [`Self::compact`] is called.
    pub fn remove(&mut self, snapshot: SnapshotNo) {
        self.snapshots.remove(&snapshot);
    }

    /// Drops objects that no snapshot names, if they are more than half of all. Object numbers change then.
    pub fn compact(&mut self) -> Result<(), IndexFull> {
        let mut live = RoaringBitmap::new();
        for named in self.snapshots.values() {
            live |= named;
        }
        if live.len().saturating_mul(2) >= u64::from(self.objects.len) {
            return Ok(());
        }
        let mut fresh = Self {
            next_snapshot: self.next_snapshot,
            ..Self::default()
        };
        let mut snapshots: Vec<_> = self.snapshots.iter().collect();
        snapshots.sort_by_key(|(number, _)| **number);
        for (number, named) in snapshots {
            let mut moved = RoaringBitmap::new();
            for object in named {
                let location = self.location(ObjectNo(object));
                for extent in self.extents(ObjectNo(object)) {
                    moved.insert(fresh.intern_split(Split::of(&location), extent)?);
                }
            }
            moved.optimize();
            fresh.snapshots.insert(*number, moved);
        }
        *self = fresh;
        Ok(())
    }

    /// How many distinct objects are held, named or not.
    pub fn objects(&self) -> usize {
        self.objects.len as usize
    }

    /// The object at a location, if any snapshot ever named it.
    pub fn find(&self, location: &ObjectLocation) -> Option<ObjectNo> {
        let at = Split::of(location);
        let directory = self.directories.find(at.bucket, at.directory)?;
        let name = Name::of(at.file);
        self.lookup(directory, name, name.hash(&self.hasher))
            .map(ObjectNo)
    }

    /// All objects with this file name, in whatever directory.
    pub fn find_by_name(&self, file: &str) -> Vec<ObjectNo> {
        let name = Name::of(file);
        self.by_name
            .iter_hash(name.hash(&self.hasher))
            .filter(|n| name_of(self.objects.get(**n), &self.other_names) == name)
            .map(|n| ObjectNo(*n))
            .collect()
    }

    /// Whether the snapshot names the object exactly.
    pub fn names(&self, snapshot: SnapshotNo, object: ObjectNo) -> bool {
        self.snapshots
            .get(&snapshot)
            .is_some_and(|named| named.contains(object.0))
    }

    /// Everything that the snapshot names exactly.
    pub fn objects_of(&self, snapshot: SnapshotNo) -> impl Iterator<Item = ObjectNo> + '_ {
        self.snapshots.get(&snapshot).into_iter().flatten().map(ObjectNo)
    }

    /// Which of these snapshots name something in each directory, by the directory's number: who could name an object is told by where it lies.
    pub(crate) fn by_directory(&self, snapshots: &[SnapshotNo]) -> HashMap<u32, Vec<u32>> {
        let mut found: HashMap<u32, Vec<u32>> = HashMap::new();
        for (place, snapshot) in (0..).zip(snapshots) {
            let mut last = None;
            for object in self.objects_of(*snapshot) {
                let directory = self.directory_of(object);
                // References of one snapshot come in runs from one directory.
                if last == Some(directory) {
                    continue;
                }
                last = Some(directory);
                let named = found.entry(directory).or_default();
                if named.last() != Some(&place) {
                    named.push(place);
                }
            }
        }
        found
    }

    /// The number of the directory that an object lies in.
    pub(crate) fn directory_of(&self, object: ObjectNo) -> u32 {
        self.objects.get(object.0).directory & !OTHER_NAME
    }

    /// Bucket and key prefix of a directory.
    pub(crate) fn directory(&self, number: u32) -> (&str, &str) {
        self.directories.get(number)
    }

    /// What both snapshots name.
    pub fn shared_by(&self, a: SnapshotNo, b: SnapshotNo) -> Vec<ObjectNo> {
        match (self.snapshots.get(&a), self.snapshots.get(&b)) {
            (Some(a), Some(b)) => (a & b).into_iter().map(ObjectNo).collect(),
            _ => Vec::new(),
        }
    }

    /// Where an object lies.
    pub fn location(&self, object: ObjectNo) -> ObjectLocation {
        let stored = self.objects.get(object.0);
        let (bucket, directory) = self.directories.get(stored.directory & !OTHER_NAME);
        let mut key = String::from(directory);
        match name_of(stored, &self.other_names) {
            Name::Uuid(bytes) => uuid::push(&mut key, bytes),
            Name::Other(file) => key.push_str(file),
        }
        ObjectLocation::new(bucket, key)
    }

    /// All lengths that handles ask of the object; at least one.
    pub fn extents(&self, object: ObjectNo) -> Vec<Extent> {
        let first = unpack(self.objects.get(object.0).extent);
        std::iter::once(first)
            .chain(self.more_extents.get(&object.0).into_iter().flatten().copied())
            .collect()
    }

    fn lookup(&self, directory: u32, name: Name<'_>, hash: u64) -> Option<u32> {
        self.by_name
            .find(hash, |n| {
                let stored = self.objects.get(*n);
                stored.directory & !OTHER_NAME == directory && name_of(stored, &self.other_names) == name
            })
            .copied()
    }

    fn intern_split(&mut self, at: Split<'_>, extent: Extent) -> Result<u32, IndexFull> {
        self.intern(at.bucket, at.directory, Name::of(at.file), extent)
    }

    fn intern(
        &mut self,
        bucket: &str,
        directory: &str,
        name: Name<'_>,
        extent: Extent,
    ) -> Result<u32, IndexFull> {
        let directory = self.directories.intern(bucket, directory)?;
        let hash = name.hash(&self.hasher);
        if let Some(number) = self.lookup(directory, name, hash) {
            let packed = pack(extent);
            if self.objects.get(number).extent != packed {
                let extent = unpack(packed);
                let more = self.more_extents.entry(number).or_default();
                if !more.contains(&extent) {
                    more.push(extent);
                }
            }
            return Ok(number);
        }
        if self.objects.len >= OTHER_NAME {
            return Err(IndexFull);
        }
        let (stored, flag) = match name {
            Name::Uuid(bytes) => (bytes, 0),
            Name::Other(file) => {
                let at = u32::try_from(self.other_names.len()).map_err(|_| IndexFull)?;
                self.other_names.push(Box::from(file));
                let mut stored = [0; 16];
                stored[..4].copy_from_slice(&at.to_be_bytes());
                (stored, OTHER_NAME)
            }
        };
        let number = self.objects.push(Object {
            name: stored,
            directory: directory | flag,
            extent: pack(extent),
        });
        let Self {
            by_name,
            objects,
            other_names,
            hasher,
            ..
        } = self;
        by_name.insert_unique(hash, number, |n| {
            name_of(objects.get(*n), other_names).hash(hasher)
        });
        Ok(number)
    }
}

fn pack(extent: Extent) -> [u32; 2] {
    let bits = extent.packed();
    let high = u32::try_from(bits >> 32).unwrap_or(u32::MAX);
    let low = u32::try_from(bits & u64::from(u32::MAX)).unwrap_or(u32::MAX);
    [high, low]
}

fn unpack([high, low]: [u32; 2]) -> Extent {
    Extent::unpacked(u64::from(high) << 32 | u64::from(low))
}

/// An object's place in parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Split<'a> {
    pub(crate) bucket: &'a str,
    /// The key up to and including its last slash.
    pub(crate) directory: &'a str,
    /// What follows.
    pub(crate) file: &'a str,
}

impl<'a> Split<'a> {
    pub(crate) fn of(location: &'a ObjectLocation) -> Self {
        let (directory, file) = location.split();
        Self {
            bucket: location.bucket(),
            directory,
            file,
        }
    }
}

/// A snapshot on its way into the index. If it isn't finished, nothing refers to what was named, and compacting drops it.
pub(crate) struct Entering<'i> {
    index: &'i mut ReferenceIndex,
    named: Vec<u32>,
    full: bool,
}

impl Entering<'_> {
    /// It names this object.
    pub(crate) fn name(&mut self, location: &ObjectLocation, extent: Extent) {
        self.name_split(Split::of(location), extent);
    }

    /// It names the object that lies there.
    pub(crate) fn name_split(&mut self, at: Split<'_>, extent: Extent) {
        self.name_in(at.bucket, at.directory, Name::of(at.file), extent);
    }

    /// It names the object of this name in that directory.
    pub(crate) fn name_in(&mut self, bucket: &str, directory: &str, name: Name<'_>, extent: Extent) {
        match self.index.intern(bucket, directory, name, extent) {
            Ok(number) => self.named.push(number),
            Err(IndexFull) => self.full = true,
        }
    }

    /// All that it names was told.
    ///
    /// # Errors
    /// [`IndexFull`]: nothing was added.
    pub(crate) fn finish(self) -> Result<SnapshotNo, IndexFull> {
        let Self {
            index,
            mut named,
            full,
        } = self;
        if full {
            return Err(IndexFull);
        }
        // The names of a first snapshot are numbered as they come.
        if !named.is_sorted() {
            named.sort_unstable();
        }
        named.dedup();
        let mut named: RoaringBitmap = named.into_iter().collect();
        named.optimize();
        index.number(named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(key: &str) -> ObjectLocation {
        ObjectLocation::new("b", key)
    }

    const UUID: &str = "048639c5-3829-4f26-872e-f96c0c7bc7fc";

    #[test]
    fn a_snapshot_names_what_was_added_and_nothing_else() {
        let mut index = ReferenceIndex::new();
        let (file, odd) = (at(&format!("cp/j/shared/{UUID}")), at("cp/j/shared/odd name"));
        let one = index
            .add([(&file, Extent::Exact(3)), (&odd, Extent::Unknown)])
            .unwrap();
        let two = index.add([(&file, Extent::Exact(3))]).unwrap();
        let found = index.find(&file).unwrap();
        assert!(index.names(one, found) && index.names(two, found));
        assert!(index.names(one, index.find(&odd).unwrap()) && !index.names(two, index.find(&odd).unwrap()));
        assert_eq!(index.location(found), file);
        assert_eq!(
            index.find(&at("cp/j/shared/048639C5-3829-4f26-872e-f96c0c7bc7fc")),
            None,
            "case matters in keys"
        );
        assert_eq!(index.find(&ObjectLocation::new("other", file.key())), None);
        assert_eq!(index.shared_by(one, two), [found]);
    }

    #[test]
    fn a_name_is_found_in_every_directory() {
        let mut index = ReferenceIndex::new();
        let (a, b) = (at(&format!("x/{UUID}")), at(&format!("y/{UUID}")));
        index
            .add([(&a, Extent::Exact(1)), (&b, Extent::Exact(1))])
            .unwrap();
        let mut found: Vec<_> = index
            .find_by_name(UUID)
            .into_iter()
            .map(|o| index.location(o))
            .collect();
        found.sort();
        assert_eq!(found, [a, b]);
    }

    #[test]
    fn handles_that_disagree_are_all_kept() {
        let mut index = ReferenceIndex::new();
        let file = at("cp/merged");
        index
            .add([
                (&file, Extent::AtLeast(10)),
                (&file, Extent::AtLeast(70)),
                (&file, Extent::AtLeast(10)),
            ])
            .unwrap();
        assert_eq!(
            index.extents(index.find(&file).unwrap()),
            [Extent::AtLeast(10), Extent::AtLeast(70)]
        );
    }

    #[test]
    fn compacting_drops_what_nobody_names_and_keeps_the_rest() {
        let mut index = ReferenceIndex::new();
        let all: Vec<_> = (0..100).map(|n| at(&format!("cp/{n}"))).collect();
        let old = index.add(all.iter().map(|l| (l, Extent::Exact(1)))).unwrap();
        let new = index
            .add(all[90..].iter().map(|l| (l, Extent::Exact(1))))
            .unwrap();
        index.remove(old);
        index.compact().unwrap();
        assert_eq!(index.objects(), 10);
        assert!(index.names(new, index.find(&all[95]).unwrap()));
        assert_eq!(index.find(&all[3]), None);
        assert_ne!(
            index.add([(&all[3], Extent::Unknown)]).unwrap(),
            old,
            "numbers aren't given twice"
        );
    }

    #[test]
    fn what_is_held_stays_known_when_its_snapshots_are_forgotten_and_numbers_change() {
        let mut index = ReferenceIndex::new();
        let extent = Extent::Exact(1);
        let named = |keys: &[String]| -> Vec<ObjectLocation> { keys.iter().map(|k| at(k)).collect() };
        let keys: Vec<String> = (0..100).map(|n| format!("cp/j/shared/{n}")).collect();
        let (old, new) = (named(&keys[..60]), named(&keys[50..]));
        let old = index.add(old.iter().map(|l| (l, extent))).unwrap();
        let unseen = index.find(&at("cp/j/shared/55")).unwrap();
        let held = index.hold(&[old], [unseen]).unwrap();
        index.remove(old);
        let gone: Vec<ObjectLocation> = (0..500).map(|n| at(&format!("cp/gone/{n}"))).collect();
        let gone = index.add(gone.iter().map(|l| (l, extent))).unwrap();
        let own = index.add([(&at("cp/j/chk-2/0"), extent)]).unwrap();
        index.remove(gone);
        let new = index.add(new.iter().map(|l| (l, extent))).unwrap();
        index.compact().unwrap();
        assert_eq!(index.objects(), 101, "what is held keeps its objects");
        let besides = index.named_besides(&[new, own], held);
        let besides: Vec<String> = besides
            .into_iter()
            .map(|o| index.location(o).key().to_owned())
            .collect();
        assert_eq!(besides.len(), 42, "{besides:?}");
        assert!(
            besides.contains(&"cp/j/shared/55".to_owned()) && besides.contains(&"cp/j/chk-2/0".to_owned())
        );
        assert!(!besides.contains(&"cp/j/shared/59".to_owned()));
        let counts: Vec<_> = index.named_by_directory(&[new, own]).into_iter().collect();
        assert_eq!(counts, [(("b", "cp/j/chk-2/"), 1), (("b", "cp/j/shared/"), 50)]);
        index.remove(held);
        assert_eq!(index.named_besides(&[own], held).len(), 1);
    }
}
