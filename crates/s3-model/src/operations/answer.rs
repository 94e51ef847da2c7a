//! What S3 answers when it does what it was asked to.

use std::collections::BTreeMap;

use stayput_core::timestamp::Timestamp;
use stayput_core::version::VersionId;

use crate::object::{Object, StoredVersion};
use crate::world::Contents;

/// A version was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Written {
    /// Its id; `None` where versioning was never enabled.
    pub version: Option<VersionId>,
    /// Its ETag, quotes included.
    pub etag: String,
}

/// Something was deleted, or there was nothing to delete; S3 doesn't tell which.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Deleted {
    /// Without a version id in the request: the id of the marker that was made. With one: that id. `None` where versioning was never enabled.
    pub version: Option<VersionId>,
    /// Whether it is about a marker: one was made, or the version that is gone was one.
    pub is_marker: bool,
}

/// What HeadObject answers, and GetObject beside the bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Head {
    /// The version that answered; `None` where versioning was never enabled.
    pub version: Option<VersionId>,
    /// Length in bytes of the whole object.
    pub size: u64,
    /// The ETag, quotes included.
    pub etag: String,
    /// Last-Modified.
    pub last_modified: Timestamp,
    /// The storage class; `None`: STANDARD, which S3 leaves out here.
    pub storage_class: Option<String>,
    /// User metadata: names in lower case, without `x-amz-meta-`.
    pub metadata: BTreeMap<String, String>,
    /// The number of tags.
    pub tag_count: usize,
    /// `x-amz-restore`, as long as the version is being thawed or is thawed.
    pub restore: Option<String>,
}

impl Head {
    pub(super) fn of(contents: &Contents, stored: &StoredVersion, object: &Object) -> Self {
        Self {
            version: contents.told_id(&stored.id),
            size: object.content.len(),
            etag: object.etag.clone(),
            last_modified: stored.last_modified,
            storage_class: object.storage_class.clone().filter(|class| class != "STANDARD"),
            metadata: object.metadata.clone(),
            tag_count: object.tags.len(),
            restore: object.thaw.map(|thaw| thaw.header(object.thawed)),
        }
    }
}

/// One page of a listing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Page<Row> {
    /// Rows and common prefixes, in the order of the listing.
    pub items: Vec<PageItem<Row>>,
    /// The key and version after which the next page begins; `None`: this was the last.
    pub next: Option<(String, Option<VersionId>)>,
}

/// A row of a listing, or a directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PageItem<Row> {
    /// An object or version.
    Row(Row),
    /// A common prefix, with the slash at its end.
    Prefix(String),
}
