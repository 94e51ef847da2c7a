//! Versions as the model keeps them.

use std::collections::BTreeMap;
use std::sync::Arc;

use md5::{Digest, Md5};
use stayput_core::timestamp::Timestamp;
use stayput_core::version::{VersionEntry, VersionId, VersionKind};
use stayput_guard::port::PortErrorKind;

use crate::thaw::Thaw;

/// The bytes of a version, or that there are none to be had.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Content {
    /// Real bytes.
    Bytes(Arc<[u8]>),
    /// So many zero bytes, which take no memory until somebody reads them.
    Zeroes(u64),
    /// So many bytes that nobody should ask for: reading them is [`PortErrorKind::NotFound`] and is remembered, see
    /// [`Model::reads_in_vain`](crate::Model::reads_in_vain). Copying works.
    Withheld(u64),
}

impl Content {
    /// Length in bytes.
    pub fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Zeroes(size) | Self::Withheld(size) => *size,
        }
    }

    /// Whether the length is zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The ETag that the model gives on a put, quotes included: the MD5 of the bytes, as S3 has it for objects of one part. Of
    /// bytes that aren't there, it depends on their number alone.
    pub(crate) fn etag(&self) -> String {
        quoted_hex(self.digest(), None)
    }

    pub(crate) fn digest(&self) -> [u8; 16] {
        let digest = match self {
            Self::Bytes(bytes) => Md5::digest(bytes),
            Self::Zeroes(size) => Md5::digest(format!("{size} zeroes")),
            Self::Withheld(size) => Md5::digest(format!("{size} bytes withheld")),
        };
        digest.into()
    }

    /// The parts of an upload one after the other. If one of them has no bytes to be had, neither has the whole.
    pub(crate) fn joined(parts: &[&Self]) -> Self {
        let size = parts
            .iter()
            .fold(0_u64, |sum, part| sum.saturating_add(part.len()));
        if parts.iter().any(|part| matches!(part, Self::Withheld(_))) {
            return Self::Withheld(size);
        }
        let mut bytes = Vec::new();
        for part in parts {
            match part {
                Self::Bytes(part) => bytes.extend_from_slice(part),
                Self::Zeroes(_) | Self::Withheld(_) => return Self::Zeroes(size),
            }
        }
        bytes.into()
    }
}

/// An ETag; with the number of parts, where it is that of an upload.
pub(crate) fn quoted_hex(digest: [u8; 16], parts: Option<usize>) -> String {
    let digest = u128::from_be_bytes(digest);
    match parts {
        None => format!("\"{digest:032x}\""),
        Some(parts) => format!("\"{digest:032x}-{parts}\""),
    }
}

impl From<&[u8]> for Content {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(bytes.into())
    }
}

impl<const N: usize> From<&[u8; N]> for Content {
    fn from(bytes: &[u8; N]) -> Self {
        Self::Bytes(bytes.as_slice().into())
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes.into())
    }
}

/// A data version: its bytes and what S3 keeps beside them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Object {
    /// The bytes.
    pub content: Content,
    /// The ETag, quotes included.
    pub etag: String,
    /// The storage class; `None`: STANDARD.
    pub storage_class: Option<String>,
    /// `x-amz-archive-status`, which heads alone tell: the archive tier of Intelligent-Tiering where it lies, `ARCHIVE_ACCESS` or
    /// `DEEP_ARCHIVE_ACCESS`.
    pub archive_status: Option<String>,
    /// User metadata: names in lower case, without `x-amz-meta-`.
    pub metadata: BTreeMap<String, String>,
    /// Tags.
    pub tags: BTreeMap<String, String>,
    /// What reading the bytes answers, if not the bytes. [`PortErrorKind::Denied`] and [`PortErrorKind::Unreadable`] also hold for HeadObject and
    /// as source of a copy, since those ask for the same permission or key.
    pub refusal: Option<PortErrorKind>,
    /// Whether an archived version was brought back, so that it can be read and copied.
    pub thawed: bool,
    /// The RestoreObject that was accepted for it and whose end hasn't come.
    pub thaw: Option<Thaw>,
    /// Until when no one may remove this version for good.
    pub retention: Option<Retention>,
    /// Whether it was replicated from another bucket, as heads say; a copy of it is none.
    pub replica: bool,
    /// Whether a legal hold keeps this version from being removed.
    pub legal_hold: bool,
}

/// A retention period of object lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retention {
    /// Whether anybody can lift it.
    pub mode: RetentionMode,
    /// Its end.
    pub until: Timestamp,
}

/// The modes of object lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RetentionMode {
    /// Who has the permission can go past it, by saying so.
    Governance,
    /// Nobody can.
    Compliance,
}

impl Object {
    /// An object with these bytes in STANDARD, without metadata or tags.
    pub fn new(content: impl Into<Content>) -> Self {
        let content = content.into();
        let etag = content.etag();
        Self::with_etag(content, etag)
    }

    fn with_etag(content: Content, etag: String) -> Self {
        Self {
            etag,
            content,
            storage_class: None,
            archive_status: None,
            metadata: BTreeMap::new(),
            tags: BTreeMap::new(),
            refusal: None,
            thawed: false,
            thaw: None,
            retention: None,
            replica: false,
            legal_hold: false,
        }
    }

    /// With one more user metadata value; S3 keeps the name in lower case.
    #[must_use]
    pub fn with_metadata(mut self, name: &str, value: impl Into<String>) -> Self {
        self.metadata.insert(name.to_ascii_lowercase(), value.into());
        self
    }

    /// With one more tag.
    #[must_use]
    pub fn with_tag(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.tags.insert(name.into(), value.into());
        self
    }

    /// In this storage class.
    #[must_use]
    pub fn in_class(mut self, storage_class: impl Into<String>) -> Self {
        self.storage_class = Some(storage_class.into());
        self
    }

    /// As a copy of it is written: bytes, metadata and tags, in STANDARD. The ETag of a copy is that of one part, however many its source
    /// had.
    pub(crate) fn copied(&self) -> Self {
        let etag = if self.etag.contains('-') {
            self.content.etag()
        } else {
            self.etag.clone()
        };
        Self {
            etag,
            metadata: self.metadata.clone(),
            tags: self.tags.clone(),
            ..Self::with_etag(self.content.clone(), String::new())
        }
    }

    /// Whether object lock keeps it from being removed at this time.
    pub fn is_locked(&self, now: Timestamp) -> bool {
        self.legal_hold || self.retention.is_some_and(|retention| now < retention.until)
    }

    /// Whether its bytes lie in an archive class or tier and weren't brought back. GLACIER_IR is none: it is read at once.
    pub fn is_archived(&self) -> bool {
        !self.thawed && matches!(self.archive(), "GLACIER" | "DEEP_ARCHIVE")
    }

    /// The archive class where its bytes lie, of an archive tier the one that is as slow; of anything else its class.
    pub(crate) fn archive(&self) -> &str {
        match self.archive_status.as_deref() {
            Some("ARCHIVE_ACCESS") => "GLACIER",
            Some("DEEP_ARCHIVE_ACCESS") => "DEEP_ARCHIVE",
            _ => self.storage_class.as_deref().unwrap_or_default(),
        }
    }
}

impl<C: Into<Content>> From<C> for Object {
    fn from(content: C) -> Self {
        Self::new(content)
    }
}

/// A version or delete marker in its key's stack.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredVersion {
    /// Its id; `null` for what was written while versioning wasn't enabled.
    pub id: VersionId,
    /// When it was written, to the second, as S3 says it.
    pub last_modified: Timestamp,
    /// The data; `None`: a delete marker.
    pub object: Option<Object>,
}

impl StoredVersion {
    /// The row of ListObjectVersions.
    pub(crate) fn row(&self, key: &str, is_latest: bool) -> VersionEntry {
        VersionEntry {
            key: key.to_owned(),
            id: self.id.clone(),
            is_latest,
            last_modified: self.last_modified,
            kind: match &self.object {
                Some(object) => VersionKind::Data {
                    size: object.content.len(),
                    etag: object.etag.clone(),
                    storage_class: object.storage_class.clone(),
                },
                None => VersionKind::Marker,
            },
        }
    }
}
