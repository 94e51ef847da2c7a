//! A sidecar: what the catalogue takes from one `_metadata`, in a fraction of its bytes, so that a process which begins anew needn't
//! read all of it. It stands for the bytes of one ETag, and is as good as they are or refused whole.
//!
//! | part | bytes |
//! | --- | --- |
//! | head | `STAYREFS`, the format (1 byte), Stayput's release; bucket, key, ETag of the `_metadata`; its length |
//! | references | each begins with a byte `b`. `b & 3` = 1: a file whose name is a UUID, its 16 bytes; 2: any other name, as text. Then a number: the size that the handle tells, and `b >> 2` says of which kind it is, as [`Extent`] is packed. `b & 3` = 0: no file; `b >> 2` = 1: a directory, its bucket and key prefix as texts, in which the following files lie, and which gets the next number from 0 on; 2: such a directory again, its number; 0: the end |
//! | facts | how many references there were; checkpoint id; 1 if there is state of file sinks, else 0; operator ids (how many, 16 bytes each); keyed backend ids (how many, texts); directories that are named as a whole, as they are written (how many, bucket and key as texts) |
//! | seal | the first 16 bytes of the SHA-256 of all before |
//!
//! Numbers are LEB128 without signs, of at most 64 bits; a text is its length in bytes, and UTF-8.

use std::ops::Range;

use sha2::{Digest, Sha256};

use crate::extent::Extent;
use crate::location::ObjectLocation;
use crate::metadata::without_entropy;
use crate::reference_index::{IndexFull, ReferenceIndex};
use crate::root::Roots;
use crate::snapshot::Facts;

mod reader;
mod recorder;

use reader::Reader;
pub use recorder::Recorder;

const MAGIC: &[u8; 8] = b"STAYREFS";
/// Counts up when the bytes mean something else, and when anything else is read out of a `_metadata`: between two releases nothing but this
/// tells a reader that was mended from one that wasn't. `tests/hostile/tests/sidecars.rs` notices.
const FORMAT: u8 = 1;
/// What another release read out of a `_metadata` isn't believed: that one may have read it wrongly.
const RELEASE: &str = env!("CARGO_PKG_VERSION");
const SEAL: usize = 16;

/// What a reference begins with, in its two lowest bits.
const NO_FILE: u8 = 0;
const UUID: u8 = 1;
const OTHER_NAME: u8 = 2;
/// The same byte whole, where no file follows.
const END: u8 = NO_FILE;
const NEW_DIRECTORY: u8 = NO_FILE | 1 << 2;
const DIRECTORY_AGAIN: u8 = NO_FILE | 2 << 2;
/// Where the kind of an extent begins, in a reference's first byte and in a packed extent.
const KIND_AT: u32 = 2;
const PACKED_KIND_AT: u32 = 62;

/// The bytes that a sidecar stands for.
#[derive(Clone, Copy, Debug)]
pub struct Of<'a> {
    /// Where the `_metadata` lies: relative handles were resolved against it.
    pub metadata: &'a ObjectLocation,
    /// Its ETag.
    pub etag: &'a str,
    /// Its length in bytes.
    pub size: u64,
}

/// Why the bytes aren't the sidecar that was asked for. Then the `_metadata` itself is read, and the sidecar is written again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Other bytes, another format, or another release of Stayput.
    #[error("it isn't a sidecar of this release")]
    NotOfThisRelease,
    /// It stands for another `_metadata`, or for other bytes at its key.
    #[error("it stands for other bytes")]
    OfOtherBytes,
    /// Truncated or changed.
    #[error("it is damaged at byte {at}")]
    Damaged {
        /// Where reading ended.
        at: usize,
    },
}

/// A sidecar that was read to its end.
#[derive(Clone, Debug)]
pub struct Sidecar {
    bytes: Vec<u8>,
    /// Where in them the references lie.
    references: Range<usize>,
    /// How many references there are.
    count: u64,
    checkpoint_id: u64,
    has_sinks: bool,
    operators: Box<[[u8; 16]]>,
    backends: Box<[Box<str>]>,
    directories: Vec<ObjectLocation>,
}

impl Sidecar {
    /// Reads all of it, so that nothing of a damaged one gets anywhere.
    ///
    /// # Errors
    /// It isn't the sidecar of these bytes, made by this release.
    pub fn open(bytes: Vec<u8>, of: Of<'_>) -> Result<Self, Refused> {
        let mut reader = Reader::of(&bytes);
        let head = (reader.take(MAGIC.len()), reader.byte(), reader.text());
        if !matches!(head, (Ok(magic), Ok(FORMAT), Ok(RELEASE)) if magic == MAGIC) {
            return Err(Refused::NotOfThisRelease);
        }
        let sealed = bytes.len().saturating_sub(SEAL);
        let (content, seal) = bytes.split_at(sealed);
        if seal_of(content) != seal {
            return Err(Refused::Damaged { at: sealed });
        }
        let mut reader = Reader::at(content, reader.position());
        let stands_for = (reader.text()?, reader.text()?, reader.text()?, reader.number()?);
        if stands_for != (of.metadata.bucket(), of.metadata.key(), of.etag, of.size) {
            return Err(Refused::OfOtherBytes);
        }
        let start = reader.position();
        let told = reader.references(&mut |_, _, _, _| {})?;
        let references = start..reader.position();
        let count = reader.number()?;
        if count != told {
            return Err(reader.damaged());
        }
        let checkpoint_id = reader.number()?;
        let has_sinks = match reader.byte()? {
            0 => false,
            1 => true,
            _ => return Err(reader.damaged()),
        };
        let operators = reader.many(Reader::id)?;
        let backends = reader.many(|r| r.text().map(Box::from))?;
        let directories = reader.many(|r| Ok(ObjectLocation::new(r.text()?, r.text()?)))?;
        if reader.position() != content.len() {
            return Err(reader.damaged());
        }
        Ok(Self {
            bytes,
            references,
            count,
            checkpoint_id,
            has_sinks,
            operators: operators.into(),
            backends: backends.into(),
            directories,
        })
    }

    /// `checkpointId` in the `_metadata`.
    pub fn checkpoint_id(&self) -> u64 {
        self.checkpoint_id
    }

    /// Whether the `_metadata` holds state of file sinks. What it is, only the `_metadata` says.
    pub fn has_sinks(&self) -> bool {
        self.has_sinks
    }

    /// Enters what the snapshot names into an index, as reading the `_metadata` would have, and what others know that it names besides.
    ///
    /// # Errors
    /// There is no room; it isn't in the index then.
    pub fn enter<'m>(
        self,
        roots: &Roots,
        more: impl IntoIterator<Item = (&'m ObjectLocation, Extent)>,
        index: &mut ReferenceIndex,
    ) -> Result<Facts, IndexFull> {
        // What is shorter than this isn't a reference, whatever the count says.
        let references = &self.bytes[self.references];
        let about = references.len() / SHORTEST;
        let about = usize::try_from(self.count).map_or(about, |count| count.min(about));
        let mut entering = index.enter(about);
        let read = Reader::of(references).references(&mut |bucket, directory, name, extent| {
            entering.name_in(bucket, directory, name, extent);
        });
        debug_assert!(read.is_ok(), "it was read to its end before");
        for (object, extent) in more {
            entering.name(object, extent);
        }
        Ok(Facts {
            references: entering.finish()?,
            checkpoint_id: self.checkpoint_id,
            operators: self.operators,
            backends: self.backends,
            directories: self
                .directories
                .iter()
                .map(|directory| without_entropy(directory, roots))
                .collect(),
        })
    }
}

/// A reference's first byte, a name of one byte with its length, and a size of one byte.
const SHORTEST: usize = 4;

fn seal_of(content: &[u8]) -> [u8; SEAL] {
    let mut seal = [0; SEAL];
    seal.copy_from_slice(&Sha256::digest(content)[..SEAL]);
    seal
}
