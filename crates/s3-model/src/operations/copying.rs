//! CopyObject.

use std::collections::BTreeMap;

use stayput_core::restoring::MAX_SINGLE_COPY_BYTES;
use stayput_core::version::VersionId;

use super::reading::{found, is_readable, is_same};
use super::{Condition, Operations, Which, Written};
use crate::error::ErrorCode;
use crate::event::EventKind;
use crate::object::Object;
use crate::world::Contents;

/// What to copy within the bucket, and how.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Copy {
    /// The key that is copied.
    pub from: String,
    /// The version of it; `None`: what is visible.
    pub version: Option<VersionId>,
    /// What must be so at the key that is written.
    pub condition: Condition,
    /// `x-amz-copy-source-if-match`.
    pub source_if_match: Option<String>,
    /// User metadata in place of the source's own; `None`: the source's own.
    pub metadata: Option<BTreeMap<String, String>>,
    /// Tags in place of the source's own.
    pub tags: Option<BTreeMap<String, String>>,
    /// The storage class of the copy; `None`: STANDARD, whatever the source has.
    pub storage_class: Option<String>,
}

impl Copy {
    /// Of what is visible at a key.
    pub fn of(from: &str) -> Self {
        Self {
            from: from.to_owned(),
            ..Self::default()
        }
    }

    /// Of a version.
    pub fn of_version(from: &str, version: &VersionId) -> Self {
        Self {
            version: Some(version.clone()),
            ..Self::of(from)
        }
    }

    /// Only under this condition.
    #[must_use]
    pub fn if_key(mut self, condition: Condition) -> Self {
        self.condition = condition;
        self
    }
}

impl Operations {
    /// CopyObject onto this key.
    ///
    /// # Errors
    /// S3's own: nothing there, a marker, archived bytes, more than 5 GiB, a condition that doesn't hold, a copy onto itself that changes
    /// nothing.
    pub fn copy(&self, key: &str, copy: &Copy) -> Result<Written, ErrorCode> {
        self.request("CopyObject", key, copy.version.as_ref(), |contents, hand| {
            let object = contents.to_copy(key, copy)?;
            contents.holds(key, &copy.condition)?;
            contents.write(hand, key, object, EventKind::Copied)
        })
    }
}

impl Contents {
    fn to_copy(&self, key: &str, copy: &Copy) -> Result<Object, ErrorCode> {
        let which = Which {
            key: &copy.from,
            version: copy.version.as_ref(),
        };
        let (_, source) = found(self, which).map_err(|code| match code {
            // A marker can't be named as a source, though it can be asked for.
            ErrorCode::MethodNotAllowed => ErrorCode::InvalidRequest,
            code => code,
        })?;
        if let Some(kind) = source.refusal {
            return Err(ErrorCode::of_kind(kind));
        }
        let same = copy.from == key && copy.version.is_none();
        if same && copy.metadata.is_none() && copy.tags.is_none() && copy.storage_class.is_none() {
            return Err(ErrorCode::InvalidRequest);
        }
        is_readable(source)?;
        if source.content.len() > MAX_SINGLE_COPY_BYTES {
            return Err(ErrorCode::InvalidRequest);
        }
        if copy
            .source_if_match
            .as_ref()
            .is_some_and(|etag| !is_same(&source.etag, etag))
        {
            return Err(ErrorCode::PreconditionFailed);
        }
        let mut object = source.copied();
        object.storage_class.clone_from(&copy.storage_class);
        if let Some(metadata) = &copy.metadata {
            object.metadata.clone_from(metadata);
        }
        if let Some(tags) = &copy.tags {
            object.tags.clone_from(tags);
        }
        Ok(object)
    }
}
