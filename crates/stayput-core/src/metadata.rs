//! What the catalogue takes from the bytes of a `_metadata`.

use std::ops::ControlFlow;

use flink_checkpoint::{Complete, ErrorKind, Limits, Reference, Target};

use crate::extent::Extent;
use crate::location::{Location, ObjectLocation};
use crate::reference_index::{IndexFull, ReferenceIndex, Split};
use crate::root::Roots;
use crate::shown::Quoted;
use crate::sidecar::Recorder;
use crate::snapshot::{Facts, Unreadable};

/// A `_metadata` that was read to its end. The objects that it names are told by [`references`], one by one: there can be millions.
#[derive(Clone, Debug)]
pub struct Taken {
    /// Format version, checkpoint id, counts, properties.
    pub complete: Complete,
    /// Operator ids, sorted, each once.
    pub operators: Box<[[u8; 16]]>,
    /// Keyed backend ids, sorted, each once.
    pub backends: Box<[Box<str>]>,
    /// Directories named as a whole, as key prefixes that end in `/`, entropy taken out.
    pub directories: Box<[ObjectLocation]>,
    /// How many references lie on other file systems, where Stayput can't look.
    pub elsewhere: u64,
}

/// A `_metadata` that can't be read, and what its undamaged part names: a hint, never proof.
#[derive(Clone, Debug)]
pub struct NotTaken {
    /// Why.
    pub why: Unreadable,
    /// Objects named before the damage.
    pub names_at_least: Vec<ObjectLocation>,
}

/// Why a `_metadata` didn't get into the index.
#[derive(Clone, Debug)]
pub enum NotEntered {
    /// It can't be read.
    NotTaken(NotTaken),
    /// There is no room.
    Full(IndexFull),
}

/// Reads the bytes of the `_metadata` at `metadata`. Relative handles resolve against where it lies now.
///
/// # Errors
/// It can't be read to its end, or a path in it is no location of an object.
pub fn take(bytes: &[u8], metadata: &ObjectLocation, roots: &Roots) -> Result<Taken, NotTaken> {
    read(bytes, metadata, roots, &mut |_, _| {}).map(|(taken, _)| taken)
}

/// A `_metadata` that was entered into an index.
#[derive(Clone, Debug)]
pub struct Entered {
    /// What it says.
    pub facts: Facts,
    /// How many references lie on other file systems, where Stayput can't look.
    pub elsewhere: u64,
    /// Its sidecar, if one was recorded: without what others know that it names besides.
    pub sidecar: Option<Vec<u8>>,
}

/// Reads it as [`take`] does, and enters what it names into an index, and what others know that it names besides; `recorder` takes it down.
///
/// # Errors
/// It isn't in the index then.
pub fn enter<'m>(
    bytes: &[u8],
    metadata: &ObjectLocation,
    roots: &Roots,
    more: impl IntoIterator<Item = (&'m ObjectLocation, Extent)>,
    index: &mut ReferenceIndex,
    mut recorder: Option<Recorder>,
) -> Result<Entered, NotEntered> {
    let mut entering = index.enter(bytes.len() / BYTES_PER_REFERENCE);
    let (taken, directories) = read(bytes, metadata, roots, &mut |at, extent| {
        entering.name_split(at, extent);
        if let Some(recorder) = &mut recorder {
            recorder.name(at, extent);
        }
    })
    .map_err(NotEntered::NotTaken)?;
    for (object, extent) in more {
        entering.name(object, extent);
    }
    let facts = Facts {
        references: entering.finish().map_err(NotEntered::Full)?,
        checkpoint_id: taken.complete.checkpoint_id,
        operators: taken.operators,
        backends: taken.backends,
        directories: taken.directories,
    };
    let sidecar = recorder.map(|r| {
        r.finish(
            facts.checkpoint_id,
            &facts.operators,
            &facts.backends,
            &directories,
        )
    });
    Ok(Entered {
        facts,
        elsewhere: taken.elsewhere,
        sidecar,
    })
}

/// A reference of an incremental checkpoint takes about so many bytes: its handle's two names and its path.
const BYTES_PER_REFERENCE: usize = 128;

/// What it says, and the directories that it names as a whole as they are written.
fn read(
    bytes: &[u8],
    metadata: &ObjectLocation,
    roots: &Roots,
    named: &mut impl FnMut(Split<'_>, Extent),
) -> Result<(Taken, Vec<ObjectLocation>), NotTaken> {
    let mut directories = Vec::new();
    let mut elsewhere = 0;
    let mut nameless = None;
    let mut paths = Paths::of(metadata);
    let result = flink_checkpoint::facts(bytes, &Limits::default(), &mut |reference| {
        let resolved = match reference.target {
            Target::Directory(_) => match place(&reference.target, metadata) {
                Some(Location::S3(directory)) => return directories.push(directory),
                Some(Location::Foreign(_)) => Resolved::Elsewhere,
                None => Resolved::Nowhere,
            },
            _ => paths.resolve(&reference.target),
        };
        match resolved {
            Resolved::Object(at) => named(at, extent(reference.extent)),
            Resolved::Elsewhere => elsewhere += 1,
            Resolved::Nowhere => {
                nameless.get_or_insert_with(|| reference.target.path().to_string());
            }
        }
    });
    let facts = result.map_err(|damaged| {
        let mut names_at_least = Vec::new();
        damaged.partial.references(bytes, |reference| {
            names_at_least.extend(object(reference, metadata).map(|(object, _)| object));
            ControlFlow::Continue(())
        });
        let why = match damaged.error.kind {
            ErrorKind::TooNew { version } => Unreadable::NewerFormat(version),
            _ => Unreadable::Damaged(damaged.error.to_string()),
        };
        NotTaken { why, names_at_least }
    })?;
    if let Some(path) = nameless {
        let mut names_at_least = Vec::new();
        references(bytes, metadata, &mut |object, _| names_at_least.push(object));
        return Err(NotTaken {
            why: no_location(&path),
            names_at_least,
        });
    }
    let mut operators: Vec<_> = facts.operators.iter().map(|id| id.0).collect();
    operators.sort_unstable();
    operators.dedup();
    directories.sort_unstable();
    directories.dedup();
    let taken = Taken {
        complete: facts.complete,
        operators: operators.into(),
        backends: facts
            .backends
            .iter()
            .map(|b| b.to_string().into_boxed_str())
            .collect(),
        directories: directories.iter().map(|d| without_entropy(d, roots)).collect(),
        elsewhere,
    };
    Ok((taken, directories))
}

/// The paths of one `_metadata`. Those of one directory mostly follow each other, so that only the first of them is parsed.
struct Paths<'m> {
    metadata: &'m ObjectLocation,
    last: Directory,
    /// The object that was parsed last, if it isn't simply a file of `last`.
    odd: Option<ObjectLocation>,
}

/// A directory as it was written, and what it means.
#[derive(Default)]
struct Directory {
    relative: bool,
    /// With its slash; empty: none yet.
    written: Vec<u8>,
    /// `None`: it lies on another file system.
    means: Option<ObjectLocation>,
}

enum Resolved<'p> {
    Object(Split<'p>),
    Elsewhere,
    Nowhere,
}

impl<'m> Paths<'m> {
    fn of(metadata: &'m ObjectLocation) -> Self {
        Self {
            metadata,
            last: Directory::default(),
            odd: None,
        }
    }

    fn resolve<'p>(&'p mut self, target: &Target<'p>) -> Resolved<'p> {
        let relative = matches!(target, Target::Exclusive(_));
        let path = target.path().as_bytes();
        let slash = memchr::memrchr(b'/', path);
        let (written, file) = path.split_at(slash.map_or(0, |at| at + 1));
        // Of a name in ASCII nothing but its own characters is meant, so one is as good as another. Without a directory it could
        // be taken for a scheme.
        let simple = !file.is_empty() && !written.is_empty() && file.is_ascii();
        let Some(file) = simple.then(|| std::str::from_utf8(file).ok()).flatten() else {
            return self.odd(target);
        };
        if self.last.written != written || self.last.relative != relative {
            let means = match place(target, self.metadata) {
                None => return Resolved::Nowhere,
                Some(Location::Foreign(_)) => None,
                Some(Location::S3(object)) if object.file_name() == file => {
                    Some(ObjectLocation::new(object.bucket(), object.directory()))
                }
                Some(Location::S3(_)) => return self.odd(target),
            };
            self.last = Directory {
                relative,
                written: written.to_vec(),
                means,
            };
        }
        match &self.last.means {
            Some(directory) => Resolved::Object(Split {
                bucket: directory.bucket(),
                directory: directory.key(),
                file,
            }),
            None => Resolved::Elsewhere,
        }
    }

    fn odd(&mut self, target: &Target<'_>) -> Resolved<'_> {
        match place(target, self.metadata) {
            None => Resolved::Nowhere,
            Some(Location::Foreign(_)) => Resolved::Elsewhere,
            Some(Location::S3(object)) => Resolved::Object(Split::of(self.odd.insert(object))),
        }
    }
}

/// Tells `f` every object on S3 that a handle of the `_metadata` at `metadata` names, as often as it is named, with the length that the
/// handle asks for. Of bytes that [`take`] refuses it tells those before the damage.
pub fn references(bytes: &[u8], metadata: &ObjectLocation, f: &mut impl FnMut(ObjectLocation, Extent)) {
    let tell = &mut |reference: &Reference<'_>| {
        if let Some((object, extent)) = object(reference, metadata) {
            f(object, extent);
        }
        ControlFlow::Continue(())
    };
    // How the reading ends was said by `take`.
    let _ = flink_checkpoint::references(bytes, &Limits::default(), tell);
}

/// The object on S3 that a handle names, if it names one.
fn object(reference: &Reference<'_>, metadata: &ObjectLocation) -> Option<(ObjectLocation, Extent)> {
    if matches!(reference.target, Target::Directory(_)) {
        return None;
    }
    match place(&reference.target, metadata)? {
        Location::S3(object) => Some((object, extent(reference.extent))),
        Location::Foreign(_) => None,
    }
}

fn place(target: &Target<'_>, metadata: &ObjectLocation) -> Option<Location> {
    let path = target.path().as_str()?;
    match target {
        Target::Exclusive(_) => Some(Location::S3(metadata.sibling(&path))),
        Target::Absolute(_) | Target::Directory(_) => Location::parse_flink_path(&path).ok(),
    }
}

/// Why something that names such a path can't be read.
pub(crate) fn no_location(path: &str) -> Unreadable {
    Unreadable::Damaged(format!(
        "it names {}, which is no location of an object",
        Quoted(path)
    ))
}

/// Whether an object lies below a directory that [`without_entropy`] gave. `plain_key` is its key with entropy taken out.
pub(crate) fn is_below(object: &ObjectLocation, plain_key: &str, directory: &ObjectLocation) -> bool {
    object.bucket() == directory.bucket()
        && (object.key().starts_with(directory.key()) || plain_key.starts_with(directory.key()))
}

/// A directory as a key prefix that ends in `/`, entropy taken out.
pub(crate) fn without_entropy(directory: &ObjectLocation, roots: &Roots) -> ObjectLocation {
    let whole = ObjectLocation::new(directory.bucket(), format!("{}/", directory.key()));
    match roots.find(&whole) {
        Some((root, plain)) => ObjectLocation::new(root.bucket(), plain.into_owned()),
        None => whole,
    }
}

pub(crate) fn extent(extent: flink_checkpoint::Extent) -> Extent {
    match extent {
        flink_checkpoint::Extent::Exact(n) => Extent::Exact(n),
        flink_checkpoint::Extent::AtLeast(n) => Extent::AtLeast(n),
        flink_checkpoint::Extent::Changelog(n) => Extent::Changelog(n),
        flink_checkpoint::Extent::Unknown => Extent::Unknown,
    }
}
