//! Snapshots that somebody asks about by their files alone, without any bucket.

use crate::catalogue::Catalogue;
use crate::layout::METADATA_FILE;
use crate::location::ObjectLocation;
use crate::metadata::{self, NotEntered};
use crate::root::Roots;
use crate::snapshot::{Contents, Snapshot, identity_of};
use crate::timestamp::Timestamp;

/// A `_metadata` that was put into a catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entered {
    /// How many of its handles name files on other file systems than S3.
    pub elsewhere: u64,
}

/// The `_metadata` in a directory.
#[must_use]
pub fn metadata_in(directory: &ObjectLocation) -> ObjectLocation {
    let key = format!("{}/{METADATA_FILE}", directory.key());
    ObjectLocation::new(directory.bucket(), key.trim_start_matches('/'))
}

/// Puts the `_metadata` with these bytes into the catalogue, as if it lay there. Its time of writing isn't known, so nobody should ask for its class.
///
/// # Errors
/// It can't be read, or the catalogue is full: why, for people.
pub fn enter(catalogue: &mut Catalogue, bytes: &[u8], metadata: &ObjectLocation) -> Result<Entered, String> {
    let index = &mut catalogue.index;
    let entered =
        metadata::enter(bytes, metadata, &Roots::default(), [], index, None).map_err(|not| match not {
            NotEntered::NotTaken(not) => not.why.to_string(),
            NotEntered::Full(full) => full.to_string(),
        })?;
    let (kind, job) = identity_of(metadata);
    catalogue.insert(Snapshot {
        metadata: metadata.clone(),
        version: None,
        etag: String::new(),
        size: bytes.len() as u64,
        kind,
        job,
        written: Timestamp::from_millis(0),
        hidden: None,
        contents: Contents::Read(entered.facts),
        kept: None,
    });
    Ok(Entered {
        elsewhere: entered.elsewhere,
    })
}
