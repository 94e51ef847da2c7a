//! What exists: a listing of a bucket or of a directory, in any of the forms in which people have one.

use std::collections::HashMap;

use s3_documents::inventory;
use s3_documents::listing::{self, Listing as Document, ObjectListing, Row, VersionListing};
use serde::Serialize;

use crate::location::ObjectLocation;
use crate::timestamp::Timestamp;
use crate::version::is_archive_class;

/// The form of a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ListingKind {
    /// `aws s3api list-object-versions`, or an S3 Inventory of all versions.
    Versions,
    /// `aws s3api list-objects-v2`, or an S3 Inventory of current versions.
    Objects,
    /// `aws s3 ls --recursive`.
    Text,
    /// Paths and lengths of a directory.
    Directory,
}

/// One key, as a listing shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Existing {
    /// Length of the visible object in bytes; `None` if there is none.
    pub size: Option<u64>,
    /// When that was written.
    pub written: Option<Timestamp>,
    /// Its storage class, as listed.
    pub storage_class: Option<String>,
    /// Its version is `null`; `None`: the listing doesn't say.
    pub null_version: Option<bool>,
    /// Lengths of the data versions below, the newest first.
    pub below: Vec<u64>,
    /// Whether a delete marker hides it.
    pub hidden: bool,
}

impl Existing {
    /// Whether it is visible, but in a class in which no job can read it.
    pub fn is_archived(&self) -> bool {
        self.size.is_some() && self.storage_class.as_deref().is_some_and(is_archive_class)
    }
}

/// What exists.
#[derive(Clone, Debug)]
pub struct Listing {
    kind: ListingKind,
    /// The bucket, where the listing says it.
    bucket: Option<String>,
    by_key: HashMap<Box<str>, Existing>,
    /// Keys by their last part: what was dropped as a directory is found by it.
    by_name: HashMap<Box<str>, Vec<Box<str>>>,
    truncated: bool,
    /// A file of an S3 Inventory.
    inventory: bool,
    bytes: u64,
}

/// What a listing holds, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Described {
    /// Its form.
    pub kind: ListingKind,
    /// The bucket, if the listing says it.
    pub bucket: Option<String>,
    /// Keys.
    pub keys: u64,
    /// Visible objects.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Keys below a delete marker.
    pub hidden: u64,
    /// Whether it was cut off.
    pub truncated: bool,
    /// All that in a sentence.
    pub sentence: String,
}

/// A file that is no listing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{name} can't be read as a listing: {why}. Known are the output of `aws s3api list-object-versions` and `list-objects-v2`, the text of `aws \
     s3 ls --recursive`, the CSV files of S3 Inventory, and lines with a path, a tab and a length"
)]
pub struct NoListing {
    /// What was given, escaped.
    pub name: String,
    /// What is wrong.
    pub why: String,
}

impl Listing {
    /// Reads a listing of any form.
    ///
    /// # Errors
    /// It is none, or has a line that makes no sense.
    pub fn read(bytes: &[u8], name: &str) -> Result<Self, NoListing> {
        let not = |why: String| NoListing {
            name: crate::shown::Quoted(name).to_string(),
            // Some sentences end with a full stop, and another follows.
            why: why.trim_end_matches('.').to_owned(),
        };
        let trimmed = bytes.trim_ascii_start();
        if trimmed.is_empty() {
            return Err(not("it is empty".to_owned()));
        }
        if trimmed.first() == Some(&b'"') {
            let inventory = inventory::parse(bytes).map_err(|e| not(e.to_string()))?;
            return Ok(Self::inventory(&inventory));
        }
        if let Some(pairs) = pairs(bytes) {
            return Ok(Self::directory(pairs));
        }
        match listing::parse(bytes).map_err(|e| not(e.to_string()))? {
            Document::Versions(versions) => Ok(Self::versions(&versions, None)),
            Document::Objects(objects) => Ok(Self::objects(objects, ListingKind::Objects, None)),
            Document::Text(objects) => Ok(Self::objects(objects, ListingKind::Text, None)),
        }
    }

    fn empty(kind: ListingKind, bucket: Option<String>, truncated: bool) -> Self {
        Self {
            kind,
            bucket,
            by_key: HashMap::new(),
            by_name: HashMap::new(),
            truncated,
            inventory: false,
            bytes: 0,
        }
    }

    fn versions(versions: &VersionListing, bucket: Option<String>) -> Self {
        let mut listing = Self::empty(ListingKind::Versions, bucket, versions.truncated);
        for row in versions.rows() {
            let existing = listing.by_key.entry(row.key().into()).or_default();
            match row {
                Row::Marker(marker) => existing.hidden |= marker.is_latest,
                Row::Version(version) if version.is_latest => {
                    existing.size = Some(version.size);
                    existing.written = Some(Timestamp::from_millis(version.last_modified));
                    existing.storage_class.clone_from(&version.storage_class);
                    existing.null_version = Some(version.version_id == "null");
                    listing.bytes = listing.bytes.saturating_add(version.size);
                }
                Row::Version(version) => existing.below.push(version.size),
            }
        }
        listing
    }

    fn objects(objects: ObjectListing, kind: ListingKind, bucket: Option<String>) -> Self {
        let mut listing = Self::empty(kind, bucket, objects.truncated);
        for object in objects.objects {
            listing.bytes = listing.bytes.saturating_add(object.size);
            let existing = Existing {
                size: Some(object.size),
                written: Some(Timestamp::from_millis(object.last_modified)),
                storage_class: object.storage_class,
                ..Existing::default()
            };
            listing.by_key.insert(object.key.into(), existing);
        }
        listing
    }

    fn inventory(inventory: &inventory::Inventory) -> Self {
        let kind = if inventory.all_versions {
            ListingKind::Versions
        } else {
            ListingKind::Objects
        };
        // An inventory comes in several files, and one of them says nothing of what it doesn't hold.
        let mut listing = Self::empty(kind, Some(inventory.bucket.clone()), true);
        listing.inventory = true;
        for object in &inventory.objects {
            let existing = listing.by_key.entry(object.key.as_str().into()).or_default();
            match (object.is_delete_marker, object.is_latest) {
                (true, latest) => existing.hidden |= latest,
                (false, true) => {
                    existing.size = object.size;
                    existing.written = object.last_modified.map(Timestamp::from_millis);
                    existing.storage_class.clone_from(&object.storage_class);
                    existing.null_version =
                        object.version_id.as_ref().map(|id| id.is_empty() || id == "null");
                    listing.bytes = listing.bytes.saturating_add(object.size.unwrap_or(0));
                }
                (false, false) => existing.below.extend(object.size),
            }
        }
        listing
    }

    fn directory(pairs: Vec<(&str, u64)>) -> Self {
        let mut listing = Self::empty(ListingKind::Directory, None, false);
        for (path, size) in pairs {
            let path = path.trim_start_matches("./").trim_matches('/');
            listing.bytes = listing.bytes.saturating_add(size);
            let name = path.rsplit('/').next().unwrap_or_default();
            listing.by_name.entry(name.into()).or_default().push(path.into());
            let existing = Existing {
                size: Some(size),
                ..Existing::default()
            };
            listing.by_key.insert(path.into(), existing);
        }
        listing
    }

    /// Its form.
    pub fn kind(&self) -> ListingKind {
        self.kind
    }

    /// The bucket, if the listing says it.
    pub fn bucket(&self) -> Option<&str> {
        self.bucket.as_deref()
    }

    /// Whether more would follow, so that nothing follows from what is absent.
    pub fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// Keys and what is known of each, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Existing)> {
        self.by_key.iter().map(|(key, existing)| (&**key, existing))
    }

    /// What is known of a key.
    pub fn of_key(&self, key: &str) -> Option<&Existing> {
        self.by_key.get(key)
    }

    /// What is known of a file by the end of its path: its name, and the directory that holds it where the listing has one. For directories that
    /// were copied or dropped, whose paths begin anywhere.
    pub fn of_path(&self, path: &str) -> Option<&Existing> {
        let mut parts = path.rsplit('/');
        let (name, parent) = (parts.next()?, parts.next());
        let known = self.by_name.get(name)?;
        known
            .iter()
            .find(|known| {
                let mut parts = known.rsplit('/').skip(1);
                match parts.next() {
                    None => true,
                    there => there == parent,
                }
            })
            .and_then(|known| self.by_key.get(known))
    }

    /// What it holds.
    pub fn describe(&self) -> Described {
        let objects = self.by_key.values().filter(|e| e.size.is_some()).count() as u64;
        let hidden = self.by_key.values().filter(|e| e.hidden).count() as u64;
        let what = match self.kind {
            ListingKind::Versions if self.inventory => "A file of an S3 Inventory of all versions",
            _ if self.inventory => "A file of an S3 Inventory of current versions",
            ListingKind::Versions => "A listing of versions",
            ListingKind::Objects => "A listing of visible objects",
            ListingKind::Text => {
                "A listing of visible objects as text, with times of a time zone that it doesn't say"
            }
            ListingKind::Directory => "A directory",
        };
        let of = self.bucket.as_ref().map_or(String::new(), |bucket| {
            format!(" of bucket {}", crate::shown::Shown(bucket))
        });
        let hidden_text = if hidden > 0 {
            format!(", {hidden} keys below delete markers")
        } else {
            String::new()
        };
        let cut = if self.inventory {
            ". S3 writes an inventory once a day or a week, in several files: what changed since then isn't in it, and nothing can be concluded \
             from what is absent"
        } else if self.truncated {
            ". More would follow, so nothing can be concluded from what is absent"
        } else {
            ""
        };
        Described {
            kind: self.kind,
            bucket: self.bucket.clone(),
            keys: self.by_key.len() as u64,
            objects,
            bytes: self.bytes,
            hidden,
            truncated: self.truncated,
            sentence: format!(
                "{what}{of}: {objects} objects with {} bytes{hidden_text}{cut}.",
                self.bytes
            ),
        }
    }

    /// What is known of an object on S3. `None`: the listing doesn't show it.
    pub fn of_object(&self, object: &ObjectLocation) -> Option<&Existing> {
        if self.kind == ListingKind::Directory {
            return self.of_path(object.key());
        }
        let fits = self
            .bucket
            .as_ref()
            .is_none_or(|bucket| bucket == object.bucket());
        fits.then(|| self.of_key(object.key())).flatten()
    }
}

/// Lines of a path, a tab and a length. `None`: these are no such lines.
fn pairs(bytes: &[u8]) -> Option<Vec<(&str, u64)>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut pairs = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let (path, size) = line.rsplit_once('\t')?;
        pairs.push((path, size.parse().ok()?));
    }
    Some(pairs)
}
