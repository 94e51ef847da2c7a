//! What the use cases ask of the world, one capability a trait.
//!
//! Reading is for everyone. Only [`Restoring`] changes anything under a root, and it takes a
//! [`Permit`]. No trait here can delete data, but for what was never visible: parts of an upload that Stayput began itself.
//! [`RemoveMarker`] removes delete markers, and asks for what only a marker in a listing makes.

use std::future::Future;
use std::time::Duration;

use s3_documents::bucket::Versioning;
use s3_documents::lifecycle::LifecycleConfiguration;
use stayput_core::location::ObjectLocation;
use stayput_core::restoring::{Marker, Permit};
use stayput_core::thaw::{Readability, ThawOrder};
use stayput_core::timestamp::Timestamp;
use stayput_core::version::{VersionEntry, VersionId};

mod parts;

pub(crate) use parts::Remembered;
pub use parts::{CopiedPart, CopyInParts, OwnUpload};

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{operation} on {subject}: {kind}{}", detail.as_deref().map(|d| format!(" ({d})")).unwrap_or_default())]
pub struct PortError {
    /// What went wrong, as far as a decision needs it.
    pub kind: PortErrorKind,
    /// The S3 operation, by its API name: `GetObject`.
    pub operation: &'static str,
    /// The object, prefix or bucket.
    pub subject: String,
    /// What the server said, for people.
    pub detail: Option<String>,
}

/// The kinds of failure that a use case treats differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PortErrorKind {
    /// No such key, version or bucket.
    #[error("not found")]
    NotFound,
    /// The caller may not.
    #[error("access denied")]
    Denied,
    /// SlowDown, 503: later.
    #[error("throttled")]
    Throttled,
    /// 409: somebody writes the key at this moment.
    #[error("conflicting write")]
    Conflict,
    /// 412: what is visible at the key isn't what the condition says.
    #[error("precondition failed")]
    Precondition,
    /// The object is larger than the caller allows.
    #[error("too large: {size} bytes")]
    TooLarge {
        /// Its length in bytes.
        size: u64,
    },
    /// The bytes are in an archive class and must be thawed first.
    #[error("archived")]
    Archived,
    /// There, but nobody can read it: a disabled key, SSE-C without the customer's key.
    #[error("unreadable")]
    Unreadable,
    /// The server doesn't have this operation.
    #[error("not supported by this server")]
    Unsupported,
    /// Time-outs, 5xx, broken connections: may or may not have had its effect.
    #[error("transient failure")]
    Transient,
    /// Nobody listens there: nothing was sent. A server that starts again listens again; a wrong address never does.
    #[error("can't be reached")]
    Unreachable,
    /// The caller lacks something without which no request succeeds: a region, credentials that are there and haven't expired, a server that
    /// is trusted. Nothing follows about the object.
    #[error("not set up, and a retry doesn't help")]
    NotSetUp,
}

impl PortError {
    /// An error of this kind, without the server's words.
    pub fn new(kind: PortErrorKind, operation: &'static str, subject: impl Into<String>) -> Self {
        Self {
            kind,
            operation,
            subject: subject.into(),
            detail: None,
        }
    }

    /// With the server's words.
    #[must_use]
    pub fn because(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Whether it says nothing that lasts of the object or the bucket: another call, or another process, may be answered.
    pub fn is_transient(&self) -> bool {
        matches!(
            self.kind,
            PortErrorKind::Throttled
                | PortErrorKind::Conflict
                | PortErrorKind::Transient
                | PortErrorKind::Unreachable
                | PortErrorKind::NotSetUp
        )
    }

    /// Whether the same call can succeed later without anybody changing anything.
    pub fn retry_helps(&self) -> bool {
        self.is_transient() && self.kind != PortErrorKind::NotSetUp
    }
}

/// What ListObjectsV2 says of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedObject {
    /// The full key.
    pub key: String,
    /// Length in bytes.
    pub size: u64,
    /// The ETag as listed.
    pub etag: String,
    /// Last-Modified.
    pub last_modified: Timestamp,
    /// The storage class; `None`: STANDARD.
    pub storage_class: Option<String>,
}

/// A whole listing of visible objects: every page was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Objects, in key order (UTF-8 bytes).
    pub objects: Vec<ListedObject>,
    /// Common prefixes, full and ending in the delimiter; empty without a delimiter.
    pub prefixes: Vec<String>,
}

/// What to list versions of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionsOf<'a> {
    /// The bucket.
    pub bucket: &'a str,
    /// The key prefix. A listing of one key passes the key; longer keys come too and the caller drops them.
    pub prefix: &'a str,
    /// Roll keys up at `/`, as ListObjectVersions does with that delimiter.
    pub by_directory: bool,
    /// `key-marker`: only keys after this one, in UTF-8 byte order.
    pub after_key: Option<&'a str>,
    /// At most this many pages of 1,000; `None`: all.
    pub pages: Option<u32>,
}

/// Versions and markers, in listing order: keys ascending, of each key the newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionListing {
    /// Rows.
    pub entries: Vec<VersionEntry>,
    /// Common prefixes.
    pub prefixes: Vec<String>,
    /// Whether pages were left out because of [`VersionsOf::pages`].
    pub truncated: bool,
}

/// What HeadObject says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectHead {
    /// The version that answered; `None` where the bucket never had versioning.
    pub version: Option<VersionId>,
    /// Length in bytes.
    pub size: u64,
    /// The ETag.
    pub etag: String,
    /// Last-Modified.
    pub last_modified: Timestamp,
    /// The storage class; `None`: STANDARD.
    pub storage_class: Option<String>,
    /// User metadata: names in lower case, without `x-amz-meta-`.
    pub metadata: Vec<(String, String)>,
    /// Whether its bytes can be read.
    pub readability: Readability,
    /// Whether S3 replicated it from another bucket (`x-amz-replication-status: REPLICA`).
    pub replica: bool,
}

impl ObjectHead {
    /// One user metadata value.
    pub fn metadata_value(&self, name: &str) -> Option<&str> {
        self.metadata
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, v)| v.as_str())
    }
}

/// An object's bytes and what came with them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectBody {
    /// All bytes.
    pub bytes: Vec<u8>,
    /// The head of the version that was read.
    pub head: ObjectHead,
}

/// Looking at buckets. Every method reads all pages before it answers, or fails.
pub trait Reading {
    /// ListObjectsV2 below `prefix` (a full key prefix); `by_directory` rolls up at `/`.
    fn list(
        &self,
        bucket: &str,
        prefix: &str,
        by_directory: bool,
    ) -> impl Future<Output = Result<Listing, PortError>> + Send;

    /// ListObjectVersions.
    fn versions(&self, of: VersionsOf<'_>) -> impl Future<Output = Result<VersionListing, PortError>> + Send;

    /// HeadObject of a version, or of what is visible.
    fn head(
        &self,
        location: &ObjectLocation,
        version: Option<&VersionId>,
    ) -> impl Future<Output = Result<ObjectHead, PortError>> + Send;

    /// GetObject into one buffer. An object longer than `max_bytes` is [`PortErrorKind::TooLarge`] and isn't fetched.
    fn body(
        &self,
        location: &ObjectLocation,
        version: Option<&VersionId>,
        max_bytes: u64,
    ) -> impl Future<Output = Result<ObjectBody, PortError>> + Send;

    /// GetBucketVersioning.
    fn versioning(&self, bucket: &str) -> impl Future<Output = Result<Versioning, PortError>> + Send;

    /// GetBucketLifecycleConfiguration; no configuration is an empty one.
    fn lifecycle(
        &self,
        bucket: &str,
    ) -> impl Future<Output = Result<LifecycleConfiguration, PortError>> + Send;
}

/// Bringing one version back: CopyObject of it onto its own key, under the condition of its permit.
pub trait CopyOnCondition {
    /// Copies. [`PortErrorKind::Precondition`]: what is visible at the key isn't what [`Permit::condition`] says; nothing was written.
    /// The copy carries the object's own user metadata, tags and encryption, and [`Permit::metadata`].
    fn copy_on_condition(&self, permit: &Permit) -> impl Future<Output = Result<Copied, PortError>> + Send;
}

/// Asking for archived bytes.
pub trait Thaw {
    /// How it asks.
    fn order(&self) -> ThawOrder;

    /// RestoreObject of the permit's version, unless its head says that this was asked before or that its bytes can be read. How long it takes at
    /// the most.
    fn thaw(&self, permit: &Permit) -> impl Future<Output = Result<Duration, PortError>> + Send;
}

/// Making a version that is still there visible again.
pub trait RemoveMarker {
    /// DeleteObject of a delete marker by its version id. That it is gone already is no failure. No data can go: a [`Marker`] names what was listed as
    /// a marker, under an id that nothing else ever has.
    fn remove_marker(&self, marker: &Marker) -> impl Future<Output = Result<(), PortError>> + Send;
}

/// All that an acting guard does to objects under a root.
pub trait Restoring: CopyOnCondition + CopyInParts + Thaw + RemoveMarker {}

impl<M: CopyOnCondition + CopyInParts + Thaw + RemoveMarker> Restoring for M {}

/// A copy that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The new version's id, where the server tells it.
    pub version: Option<VersionId>,
    /// Whether the server is known to honour the condition. `false`: it was listed before and after, and a race window remains.
    pub condition_honoured: bool,
}

/// Stayput's memory under the control prefix: documents by name. Names are `/`-separated words and hex digits.
pub trait Journal {
    /// One document; `None` if there is none. One of more than `max_bytes` is [`PortErrorKind::TooLarge`] and isn't fetched.
    fn read(
        &self,
        name: &str,
        max_bytes: u64,
    ) -> impl Future<Output = Result<Option<Vec<u8>>, PortError>> + Send;

    /// Writes one document, replacing what is there.
    fn write(&self, name: &str, document: Vec<u8>) -> impl Future<Output = Result<(), PortError>> + Send;

    /// The names of all documents whose name begins so, in order.
    fn names(&self, prefix: &str) -> impl Future<Output = Result<Vec<String>, PortError>> + Send;
}

/// The time, as the world outside tells it.
pub trait Clock {
    /// Now.
    fn now(&self) -> Timestamp;
}
