//! Which version of a hidden object comes back, and the permit that the copying port asks for.

use crate::location::ObjectLocation;
use crate::timestamp::Timestamp;
use crate::version::VersionId;

pub mod parts;

pub use parts::MAX_SINGLE_COPY_BYTES;

/// User metadata that a copy carries beside the object's own. Lower case, as S3 keeps them.
pub mod copy_metadata {
    /// How many times this key was restored by Stayput, this copy included: decimal.
    pub const COUNT: &str = "stayput-count";
    /// The version id that was copied.
    pub const SOURCE_VERSION: &str = "stayput-source-version";
    /// Last-Modified of the first source, RFC 3339: ages and heads use this, never the copy's own.
    pub const SOURCE_LAST_MODIFIED: &str = "stayput-source-last-modified";
    /// The lifecycle rule that hid the key, where one is known.
    pub const RULE: &str = "stayput-rule";
}

/// Leave to copy one version of one object onto its own key, if nothing is visible there.
///
/// Only a verdict, or a person ([`Permit::by_a_person`]), can make one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Permit {
    location: ObjectLocation,
    source: Source,
    copy_number: u32,
    rule: Option<String>,
    storage_class: Option<String>,
}

/// The data version to copy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Source {
    /// Its version id.
    pub version: VersionId,
    /// Length in bytes.
    pub size: u64,
    /// Its ETag as listed.
    pub etag: String,
    /// When the bytes were first written: the version's own Last-Modified, or, of a copy made by Stayput, the one it carries.
    pub first_written: Timestamp,
    /// How many times Stayput had restored this key when that version was made; 0 for an original.
    pub restored_before: u32,
}

impl Permit {
    pub(crate) fn granted(
        location: ObjectLocation,
        source: Source,
        rule: Option<String>,
        storage_class: Option<String>,
    ) -> Self {
        let copy_number = source.restored_before.saturating_add(1);
        Self {
            location,
            source,
            copy_number,
            rule,
            storage_class,
        }
    }

    /// A person asked for this copy by name; no verdict stands behind it.
    pub fn by_a_person(location: ObjectLocation, source: Source) -> Self {
        Self::granted(location, source, None, None)
    }

    /// The object that comes back.
    pub fn location(&self) -> &ObjectLocation {
        &self.location
    }

    /// What is copied.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The value of [`copy_metadata::COUNT`] that the copy carries.
    pub fn copy_number(&self) -> u32 {
        self.copy_number
    }

    /// The lifecycle rule that hid the key.
    pub fn rule(&self) -> Option<&str> {
        self.rule.as_deref()
    }

    /// The storage class of the copy; `None`: STANDARD.
    pub fn storage_class(&self) -> Option<&str> {
        self.storage_class.as_deref()
    }

    /// Our user metadata, to be added to the object's own.
    pub fn metadata(&self) -> Vec<(&'static str, String)> {
        let mut all = vec![
            (copy_metadata::COUNT, self.copy_number.to_string()),
            (copy_metadata::SOURCE_VERSION, self.source.version.to_string()),
            (
                copy_metadata::SOURCE_LAST_MODIFIED,
                self.source.first_written.to_string(),
            ),
        ];
        if let Some(rule) = &self.rule {
            all.push((copy_metadata::RULE, rule.clone()));
        }
        all
    }
}
