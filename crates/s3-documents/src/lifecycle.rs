//! The lifecycle rules of a bucket, as values. What a rule does to an object, and when, is decided in `stayput-core`.

use crate::document::{read, unusable};
use crate::error::DocumentError;

mod json;
mod rule;
mod xml;

pub(crate) use json::{LifecycleJson, from_json};

const JSON: &str = "the output of `aws s3api get-bucket-lifecycle-configuration`";
const XML: &str = "the lifecycle configuration";

/// Reads rules as JSON or XML; the first character that isn't white space says which.
///
/// JSON is the answer of `aws s3api get-bucket-lifecycle-configuration` or what `put-bucket-lifecycle-configuration` takes, with or without
/// `LifecycleConfiguration` around it. XML is what S3's API answers and takes. In both a rule can have the old form, with `Prefix` in place of
/// `Filter`. For a bucket without rules the command prints nothing and fails with `NoSuchLifecycleConfiguration`: use
/// [`LifecycleConfiguration::default`] then.
///
/// # Errors
/// Neither JSON nor XML; a rule with a condition or action that isn't known, that contradicts itself or that S3 doesn't allow. Then
/// nothing of the configuration is used, as a rule that is read wrongly gives a wrong forecast.
pub fn parse(bytes: &[u8]) -> Result<LifecycleConfiguration, DocumentError> {
    const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
    let first = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    if first.trim_ascii_start().first() == Some(&b'<') {
        let text = std::str::from_utf8(bytes).map_err(|e| unusable(XML, e.into()))?;
        xml::parse(text).map_err(|problem| unusable(XML, problem))
    } else {
        from_json(read(first, JSON)?).map_err(|problem| unusable(JSON, problem))
    }
}

/// The lifecycle configuration of a bucket. Without rules it does nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LifecycleConfiguration {
    /// The rules, in their order; disabled ones included.
    pub rules: Vec<LifecycleRule>,
    /// How long an object must be for a transition, where a rule has no size of its own.
    pub minimum_transition_size: MinimumTransitionSize,
}

impl LifecycleConfiguration {
    /// The JSON that `aws s3api put-bucket-lifecycle-configuration --lifecycle-configuration` takes, over several lines. The minimum size of
    /// transitions is a parameter of that command by itself, see [`MinimumTransitionSize::name`]. `None` if a date lies outside the years 0 to
    /// 9999, where no JSON has a form for it.
    #[must_use]
    pub fn to_json(&self) -> Option<String> {
        json::write(self)
    }
}

/// How long an object must be for a transition, where the filter of the rule names no size (`TransitionDefaultMinimumObjectSize`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MinimumTransitionSize {
    /// 128 KiB for all storage classes: configurations written since September 2024.
    AllClasses,
    /// 128 KiB, but any size for `GLACIER` and `DEEP_ARCHIVE`: older configurations.
    VariesByClass,
    /// The document doesn't say, as XML never does, or says something that isn't known.
    #[default]
    NotSaid,
}

impl MinimumTransitionSize {
    fn from_name(name: &str) -> Self {
        match name {
            "all_storage_classes_128K" => Self::AllClasses,
            "varies_by_storage_class" => Self::VariesByClass,
            _ => Self::NotSaid,
        }
    }

    /// S3's word for it; `None` if it isn't known.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::AllClasses => Some("all_storage_classes_128K"),
            Self::VariesByClass => Some("varies_by_storage_class"),
            Self::NotSaid => None,
        }
    }
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
