//! Which version of an object is copied onto its own key, and the permit that the copying port asks for.

use crate::location::ObjectLocation;
use crate::timestamp::Timestamp;
use crate::version::VersionId;

mod markers;
pub mod parts;

pub use markers::{CopiedInstead, Marker, Unhiding};
pub use parts::MAX_SINGLE_COPY_BYTES;

/// User metadata that a copy carries beside the object's own. Lower case, as S3 keeps them.
pub mod copy_metadata {
    /// How many times this key was restored by Stayput, this copy included: decimal.
    pub const COUNT: &str = "stayput-count";
    /// The version id that was copied.
    pub const SOURCE_VERSION: &str = "stayput-source-version";
    /// Last-Modified of the first source, RFC 3339: ages and heads use this, never the copy's own.
    pub const SOURCE_LAST_MODIFIED: &str = "stayput-source-last-modified";
    /// The lifecycle rule that hid the key or moved it to an archive, where one is known.
    pub const RULE: &str = "stayput-rule";
}

/// Leave to copy one version of one object onto its own key: if nothing is visible there, or if that very version is what is visible.
///
/// Only a verdict, or a person ([`Permit::by_a_person`], [`Permit::to_repair_by_a_person`]), can make one. None lets a copy go over anything else:
/// the ETag in the condition is that of the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Permit {
    location: ObjectLocation,
    source: Source,
    onto: Onto,
    copy_number: u32,
    rule: Option<String>,
    storage_class: Option<String>,
}

/// What a copy goes onto.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Onto {
    Nothing,
    ItsSource,
}

/// What must be so at the key for the copy to be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Condition<'p> {
    /// `If-None-Match: *`: nothing is visible.
    NothingVisible,
    /// `If-Match`: what is visible has this ETag, that of the version that is copied.
    StillItself(&'p str),
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
            onto: Onto::Nothing,
            copy_number,
            rule,
            storage_class,
        }
    }

    /// For a version that is visible and can't be read where it lies.
    #[must_use]
    pub(crate) fn onto_its_source(self) -> Self {
        Self {
            onto: Onto::ItsSource,
            ..self
        }
    }

    /// A person asked for this copy by name; no verdict stands behind it.
    pub fn by_a_person(location: ObjectLocation, source: Source) -> Self {
        Self::granted(location, source, None, None)
    }

    /// Likewise of what is visible, onto itself.
    pub fn to_repair_by_a_person(location: ObjectLocation, source: Source) -> Self {
        Self::by_a_person(location, source).onto_its_source()
    }

    /// What must be so at the key for the copy to be written.
    pub fn condition(&self) -> Condition<'_> {
        match self.onto {
            Onto::Nothing => Condition::NothingVisible,
            Onto::ItsSource => Condition::StillItself(&self.source.etag),
        }
    }

    /// Whether it is of a visible version, onto itself.
    pub fn is_repair(&self) -> bool {
        self.onto == Onto::ItsSource
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

    /// The lifecycle rule that hid the key or moved it to an archive.
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
