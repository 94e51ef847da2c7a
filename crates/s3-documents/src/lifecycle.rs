//! The lifecycle rules of a bucket, as values. What a rule does to an object, and when, is decided in `stayput-core`.

mod json;

pub use json::parse;
pub(crate) use json::{LifecycleJson, from_json};

/// The lifecycle configuration of a bucket. Without rules it does nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LifecycleConfiguration {
    /// The rules, in their order; disabled ones included.
    pub rules: Vec<LifecycleRule>,
}

/// One rule. All its fields are public, so that an adapter of an SDK can fill them too.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LifecycleRule {
    /// The name that its author gave it, or S3.
    pub id: Option<String>,
    /// Whether it acts (`Status: Enabled`).
    pub enabled: bool,
    /// The objects that it takes.
    pub filter: RuleFilter,
    /// What happens to current versions.
    pub expiration: Option<Expiration>,
    /// When noncurrent versions are removed for good.
    pub noncurrent_expiration: Option<NoncurrentExpiration>,
    /// When current versions move to another storage class.
    pub transitions: Vec<Transition>,
    /// When noncurrent versions do.
    pub noncurrent_transitions: Vec<NoncurrentTransition>,
    /// Unfinished multipart uploads are aborted so many days after their beginning. Uploads have no tags and no size: a
    /// rule with this takes a prefix only.
    pub abort_incomplete_upload_days: Option<u32>,
}

impl LifecycleRule {
    /// An enabled rule that does nothing yet.
    #[must_use]
    pub fn new(id: impl Into<String>, filter: RuleFilter) -> Self {
        Self {
            id: Some(id.into()),
            enabled: true,
            filter,
            ..Self::default()
        }
    }

    /// The name for people.
    #[must_use]
    pub fn name(&self) -> &str {
        self.id.as_deref().unwrap_or("(unnamed)")
    }
}

/// Which objects a rule takes: those that meet all conditions. The default takes every object.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuleFilter {
    /// The key begins with this, literally; empty: any key.
    pub prefix: String,
    /// The object has all these tags.
    pub tags: Vec<Tag>,
    /// The object is larger than so many bytes.
    pub size_greater_than: Option<u64>,
    /// The object is smaller than so many bytes.
    pub size_less_than: Option<u64>,
}

impl RuleFilter {
    /// All objects whose key begins with `prefix`.
    #[must_use]
    pub fn prefix(prefix: impl Into<String>) -> Self {
        Self {
            prefix: prefix.into(),
            ..Self::default()
        }
    }
}

/// A tag of an object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Tag {
    /// Its key.
    pub key: String,
    /// Its value, which may be empty.
    pub value: String,
}

/// What happens to current versions. On a versioned bucket an expiration hides the object with a delete marker; on an unversioned
/// one it removes it for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiration {
    /// So many days after the object was written, at least 1; S3 rounds up to the next midnight UTC.
    Days(u32),
    /// From this moment on every object that the filter takes, however young: milliseconds since the epoch, midnight UTC.
    Date(i64),
    /// Delete markers go that hide nothing any more. No object is touched.
    ExpiredObjectDeleteMarker,
}

/// When noncurrent versions are removed for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoncurrentExpiration {
    /// So many days after the version became noncurrent, at least 1.
    pub noncurrent_days: u32,
    /// So many of the newest noncurrent versions stay, however old.
    pub newer_noncurrent_versions: Option<u32>,
}

/// When current versions move to another storage class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transition {
    /// When.
    pub when: TransitionTime,
    /// The class, such as `GLACIER`.
    pub storage_class: String,
}

/// The moment of a [`Transition`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransitionTime {
    /// So many days after the object was written; may be 0.
    Days(u32),
    /// From this moment on: milliseconds since the epoch, midnight UTC.
    Date(i64),
}

/// When noncurrent versions move to another storage class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoncurrentTransition {
    /// So many days after the version became noncurrent; may be 0.
    pub noncurrent_days: u32,
    /// So many of the newest noncurrent versions stay where they are.
    pub newer_noncurrent_versions: Option<u32>,
    /// The class, such as `GLACIER`.
    pub storage_class: String,
}
