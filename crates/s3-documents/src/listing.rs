//! Listings as the AWS command line prints them: `aws s3api list-object-versions`, `list-objects-v2`, and the text of `aws s3 ls --recursive`.
//!
//! The command line decodes keys itself, so they are literal here.

use std::collections::HashMap;

use std::cmp::Ordering;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::document::{read, unusable};
use crate::error::{DocumentError, Problem};
use crate::timestamp;

const VERSIONS: &str = "the output of `aws s3api list-object-versions`";
const OBJECTS: &str = "the output of `aws s3api list-objects-v2`";

/// The versions and delete markers of a bucket, or of a prefix.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VersionListing {
    /// Data versions: ordered by key, those of one key the newest first.
    pub versions: Vec<ObjectVersion>,
    /// Delete markers, ordered in the same way.
    pub delete_markers: Vec<DeleteMarker>,
    /// Whether the listing was cut off and more would follow. Then nothing can be concluded from what is absent.
    pub truncated: bool,
}

/// A data version.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ObjectVersion {
    /// Literal key.
    pub key: String,
    /// Its id; `null` for what was written while versioning wasn't enabled.
    pub version_id: String,
    /// Whether it is on top of its key: the current version.
    pub is_latest: bool,
    /// When it was written, in milliseconds since the epoch, UTC; S3 gives whole seconds.
    #[serde(deserialize_with = "timestamp::required")]
    pub last_modified: i64,
    /// Length in bytes.
    pub size: u64,
    /// As listed, quotes included. `None` if the store lists none.
    #[serde(rename = "ETag")]
    pub etag: Option<String>,
    /// As listed, such as `GLACIER`; `None`: not said, which means `STANDARD`.
    pub storage_class: Option<String>,
    /// Whether an archived version was brought back; only with `--optional-object-attributes RestoreStatus`.
    pub restore_status: Option<RestoreStatus>,
}

/// A delete marker.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct DeleteMarker {
    /// Literal key.
    pub key: String,
    /// Its id.
    pub version_id: String,
    /// Whether it is on top of its key, and so hides it.
    pub is_latest: bool,
    /// When it was made, in milliseconds since the epoch, UTC. That of a lifecycle rule is dated 00:00 of its day, which can be before the version
    /// that it hides.
    #[serde(deserialize_with = "timestamp::required")]
    pub last_modified: i64,
}

/// How far an archived version is brought back.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct RestoreStatus {
    /// Whether it is being brought back.
    pub is_restore_in_progress: bool,
    /// Until when the copy that was brought back stays, in milliseconds since the epoch, UTC.
    #[serde(default, deserialize_with = "timestamp::optional")]
    pub restore_expiry_date: Option<i64>,
}

/// A row of [`VersionListing::rows`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Row<'l> {
    /// Bytes.
    Version(&'l ObjectVersion),
    /// A delete marker.
    Marker(&'l DeleteMarker),
}

impl<'l> Row<'l> {
    /// Literal key.
    #[must_use]
    pub fn key(&self) -> &'l str {
        match self {
            Self::Version(version) => &version.key,
            Self::Marker(marker) => &marker.key,
        }
    }

    /// Id of the version or marker.
    #[must_use]
    pub fn version_id(&self) -> &'l str {
        match self {
            Self::Version(version) => &version.version_id,
            Self::Marker(marker) => &marker.version_id,
        }
    }

    /// Whether it is on top of its key.
    #[must_use]
    pub fn is_latest(&self) -> bool {
        match self {
            Self::Version(version) => version.is_latest,
            Self::Marker(marker) => marker.is_latest,
        }
    }

    /// Milliseconds since the epoch, UTC.
    #[must_use]
    pub fn last_modified(&self) -> i64 {
        match self {
            Self::Version(version) => version.last_modified,
            Self::Marker(marker) => marker.last_modified,
        }
    }
}

impl VersionListing {
    /// All versions and markers in one list: ordered by key, those of one key the newest first.
    ///
    /// S3 lists both in one sequence, the command line prints two, so that their order among each other must be found again: the one on
    /// top is marked; below it the later one is above; at the same time the marker is, since what is deleted was there before. Versions among
    /// themselves, and markers, keep the order of the listing. Only a marker of a lifecycle rule that no longer is on top can come out one place too low,
    /// as it is dated 00:00.
    #[must_use]
    pub fn rows(&self) -> Vec<Row<'_>> {
        let mut versions: Vec<&ObjectVersion> = self.versions.iter().collect();
        let mut markers: Vec<&DeleteMarker> = self.delete_markers.iter().collect();
        versions.sort_by(|a, b| a.key.cmp(&b.key));
        markers.sort_by(|a, b| a.key.cmp(&b.key));
        let mut rows = Vec::with_capacity(versions.len() + markers.len());
        let (mut versions, mut markers) = (versions.into_iter().peekable(), markers.into_iter().peekable());
        loop {
            let marker_first = match (versions.peek(), markers.peek()) {
                (None, None) => return rows,
                (None, Some(_)) => true,
                (Some(_), None) => false,
                (Some(version), Some(marker)) => match marker.key.cmp(&version.key) {
                    Ordering::Less => true,
                    Ordering::Greater => false,
                    Ordering::Equal => {
                        marker.is_latest
                            || (!version.is_latest && marker.last_modified >= version.last_modified)
                    }
                },
            };
            rows.extend(if marker_first {
                markers.next().map(Row::Marker)
            } else {
                versions.next().map(Row::Version)
            });
        }
    }
}

/// Signs that more would follow: of the API, and of the command line's own paging.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Paging {
    is_truncated: Option<bool>,
    next_token: Option<IgnoredAny>,
    next_key_marker: Option<IgnoredAny>,
    next_continuation_token: Option<IgnoredAny>,
}

impl Paging {
    fn more(&self) -> bool {
        self.is_truncated == Some(true)
            || self.next_token.is_some()
            || self.next_key_marker.is_some()
            || self.next_continuation_token.is_some()
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Versions {
    versions: Option<Vec<ObjectVersion>>,
    delete_markers: Option<Vec<DeleteMarker>>,
    contents: Option<IgnoredAny>,
    #[serde(flatten)]
    paging: Paging,
}

/// Reads the output of `aws s3api list-object-versions`. Fields that aren't named here (`Owner`, checksums …) are ignored. A prefix without
/// versions has no `Versions`, and that is no error.
///
/// # Errors
/// No JSON, a row without one of its fields or with one of the wrong kind, or a listing of another kind.
pub fn parse_versions(bytes: &[u8]) -> Result<VersionListing, DocumentError> {
    let listing: Versions = read(bytes, VERSIONS)?;
    if listing.contents.is_some() {
        let what = format!("it has `Contents`, so it is {OBJECTS}, which shows neither versions nor markers");
        return Err(unusable(VERSIONS, Problem::Unusable { what }));
    }
    Ok(VersionListing {
        versions: listing.versions.unwrap_or_default(),
        delete_markers: listing.delete_markers.unwrap_or_default(),
        truncated: listing.paging.more(),
    })
}

/// The visible objects of a bucket, or of a prefix.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ObjectListing {
    /// The objects, ordered by key.
    pub objects: Vec<ListedObject>,
    /// With a delimiter: the prefixes that hold more.
    pub common_prefixes: Vec<String>,
    /// Whether the listing was cut off and more would follow.
    pub truncated: bool,
}

/// A visible object.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ListedObject {
    /// Literal key.
    pub key: String,
    /// When it was written, in milliseconds since the epoch, UTC; S3 gives whole seconds.
    #[serde(deserialize_with = "timestamp::required")]
    pub last_modified: i64,
    /// Length in bytes.
    pub size: u64,
    /// As listed, quotes included. `None` if the store lists none.
    #[serde(rename = "ETag")]
    pub etag: Option<String>,
    /// As listed; `None`: not said, which means `STANDARD`.
    pub storage_class: Option<String>,
    /// Whether an archived object was brought back; only with `--optional-object-attributes RestoreStatus`.
    pub restore_status: Option<RestoreStatus>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Objects {
    contents: Option<Vec<ListedObject>>,
    common_prefixes: Option<Vec<CommonPrefix>>,
    versions: Option<IgnoredAny>,
    delete_markers: Option<IgnoredAny>,
    #[serde(flatten)]
    paging: Paging,
}

impl Objects {
    fn is_of_versions(&self) -> bool {
        self.versions.is_some() || self.delete_markers.is_some()
    }
}

impl From<Objects> for ObjectListing {
    fn from(read: Objects) -> Self {
        let prefixes = read.common_prefixes.unwrap_or_default();
        Self {
            objects: read.contents.unwrap_or_default(),
            common_prefixes: prefixes.into_iter().map(|p| p.prefix).collect(),
            truncated: read.paging.more(),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct CommonPrefix {
    prefix: String,
}

/// Reads the output of `aws s3api list-objects-v2`. Fields that aren't named here are ignored. An empty prefix has no `Contents`, and that is no error.
///
/// # Errors
/// No JSON, a row without one of its fields or with one of the wrong kind, or a listing of another kind.
pub fn parse_objects(bytes: &[u8]) -> Result<ObjectListing, DocumentError> {
    let listing: Objects = read(bytes, OBJECTS)?;
    if listing.is_of_versions() {
        let what = format!("it has `Versions` or `DeleteMarkers`, so it is {VERSIONS}");
        return Err(unusable(OBJECTS, Problem::Unusable { what }));
    }
    Ok(listing.into())
}

/// A listing of any of the three kinds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listing {
    /// `aws s3api list-object-versions`.
    Versions(VersionListing),
    /// `aws s3api list-objects-v2`.
    Objects(ObjectListing),
    /// `aws s3 ls --recursive`. It prints times of the machine's own time zone, without saying which; they are read as UTC.
    Text(ObjectListing),
}

/// What stands in a listing in JSON and tells its kind.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Kind {
    versions: Option<IgnoredAny>,
    delete_markers: Option<IgnoredAny>,
}

/// Reads a listing of any kind: JSON by what it holds, anything else as the text of `aws s3 ls --recursive`.
///
/// # Errors
/// As [`parse_versions`] and [`parse_objects`]; a line of text that isn't one of that command's.
pub fn parse(bytes: &[u8]) -> Result<Listing, DocumentError> {
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        return parse_text(bytes).map(Listing::Text);
    }
    // Most are of objects, and are read once.
    match read::<Objects>(bytes, OBJECTS) {
        Ok(listing) if !listing.is_of_versions() => {
            let listing = ObjectListing::from(listing);
            // Any object of JSON could pass for the listing of an empty bucket.
            if listing.objects.is_empty() && !has_a_field_of_a_listing(bytes)? {
                let what =
                    "it has none of a listing's fields, such as Contents, Versions or Prefix".to_owned();
                return Err(unusable(OBJECTS, Problem::Unusable { what }));
            }
            return Ok(Listing::Objects(listing));
        }
        Ok(_) => return parse_versions(bytes).map(Listing::Versions),
        // Of which kind it is decides what people are told.
        Err(_) => {}
    }
    let kind: Kind = read(bytes, "the listing")?;
    if kind.versions.is_some() || kind.delete_markers.is_some() {
        parse_versions(bytes).map(Listing::Versions)
    } else {
        parse_objects(bytes).map(Listing::Objects)
    }
}

fn has_a_field_of_a_listing(bytes: &[u8]) -> Result<bool, DocumentError> {
    const FIELDS: [&str; 11] = [
        "Contents",
        "CommonPrefixes",
        "Delimiter",
        "EncodingType",
        "IsTruncated",
        "KeyCount",
        "MaxKeys",
        "Name",
        "Prefix",
        // All that the AWS command says of an empty bucket.
        "RequestCharged",
        "StartAfter",
    ];
    let fields: HashMap<String, IgnoredAny> = read(bytes, OBJECTS)?;
    Ok(FIELDS.iter().any(|field| fields.contains_key(*field)))
}

const TEXT: &str = "the output of `aws s3 ls --recursive`";

fn parse_text(bytes: &[u8]) -> Result<ObjectListing, DocumentError> {
    let text = std::str::from_utf8(bytes).map_err(|e| unusable(TEXT, e.into()))?;
    let mut listing = ObjectListing::default();
    for (number, line) in (1..).zip(text.lines()) {
        // With --summarize, totals follow after an empty line.
        if line.trim().is_empty()
            || line.starts_with("Total Objects:")
            || line.trim_start().starts_with("Total Size:")
        {
            continue;
        }
        match text_row(line) {
            Some(object) => listing.objects.push(object),
            None => {
                let shown: String = line.chars().take(80).collect();
                let what = format!(
                    "line {number} is {shown:?}, where date, time, size in bytes and key are needed (without --human-readable)"
                );
                return Err(unusable(TEXT, Problem::Unusable { what }));
            }
        }
    }
    Ok(listing)
}

/// `2026-03-10 12:00:00       1234 the key`: one space stands before the key, and more are part of it.
fn text_row(line: &str) -> Option<ListedObject> {
    let (date, rest) = line.split_once(' ')?;
    let (time, rest) = rest.split_once(' ')?;
    let (size, key) = rest.trim_start_matches(' ').split_once(' ')?;
    Some(ListedObject {
        key: (!key.is_empty()).then(|| key.to_owned())?,
        last_modified: timestamp::parse_timestamp(&format!("{date}T{time}Z"))?,
        size: size.parse().ok()?,
        etag: None,
        storage_class: None,
        restore_status: None,
    })
}
