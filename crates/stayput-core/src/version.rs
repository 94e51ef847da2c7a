//! The versions and delete markers of one key, as a versioned bucket lists them.

use serde::{Deserialize, Serialize};

use crate::timestamp::Timestamp;

/// A version id as S3 gave it. `null` is the id of what was written while versioning was off or suspended.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VersionId(String);

impl VersionId {
    /// The id as listed; never empty in a listing.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The text of the id.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the `null` version, which a later write replaces.
    pub fn is_null(&self) -> bool {
        self.0 == "null"
    }
}

impl std::fmt::Display for VersionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// One row of ListObjectVersions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VersionEntry {
    /// The full key.
    pub key: String,
    /// The version id of the data version or of the marker.
    pub id: VersionId,
    /// Whether it is the current one of its key.
    pub is_latest: bool,
    /// When it was written; of a lifecycle marker: 00:00 UTC of that day.
    pub last_modified: Timestamp,
    /// Data or a marker.
    pub kind: VersionKind,
}

/// What a version is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum VersionKind {
    /// Bytes.
    Data {
        /// Length in bytes.
        size: u64,
        /// The ETag as listed, quotes included.
        etag: String,
        /// The storage class as listed; `None`: not said, which means STANDARD.
        storage_class: Option<String>,
    },
    /// A delete marker.
    Marker,
}

/// All versions and markers of one key, the newest first, in the order of the listing.
///
/// Never sorted by time: a lifecycle marker is dated 00:00 UTC and can be older than what it hides.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KeyHistory {
    entries: Vec<VersionEntry>,
}

/// The run of markers above the newest data version.
#[derive(Clone, Copy, Debug)]
pub struct Hidden<'h> {
    /// The marker on top: the newest.
    pub newest: &'h VersionEntry,
    /// The marker directly above the data version: the one whose cause counts.
    pub above_data: &'h VersionEntry,
}

impl KeyHistory {
    /// From the rows of a listing that belong to one key, in listing order.
    pub fn new(entries: Vec<VersionEntry>) -> Self {
        Self { entries }
    }

    /// All rows, the newest first.
    pub fn entries(&self) -> &[VersionEntry] {
        &self.entries
    }

    /// Whether there is neither version nor marker.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The current data version, if the key is visible.
    pub fn current(&self) -> Option<&VersionEntry> {
        self.entries
            .first()
            .filter(|e| matches!(e.kind, VersionKind::Data { .. }))
    }

    /// The markers that hide the key; `None` if it is visible or nothing is there at all.
    pub fn hidden(&self) -> Option<Hidden<'_>> {
        let newest = self.entries.first().filter(|e| e.kind == VersionKind::Marker)?;
        let above_data = self
            .entries
            .iter()
            .take_while(|e| e.kind == VersionKind::Marker)
            .last()?;
        Some(Hidden { newest, above_data })
    }

    /// The data versions, the newest first.
    pub fn data_versions(&self) -> impl Iterator<Item = &VersionEntry> {
        self.entries
            .iter()
            .filter(|e| matches!(e.kind, VersionKind::Data { .. }))
    }
}

impl VersionEntry {
    /// Length in bytes; `None` for a marker.
    pub fn size(&self) -> Option<u64> {
        match &self.kind {
            VersionKind::Data { size, .. } => Some(*size),
            VersionKind::Marker => None,
        }
    }
}
