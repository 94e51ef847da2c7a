//! GetObject and HeadObject.

use std::ops::RangeInclusive;

use stayput_core::version::VersionId;

use super::{Head, Operations};
use crate::error::ErrorCode;
use crate::object::{Content, Object, StoredVersion};
use crate::world::Contents;

/// A key, and a version of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Which<'a> {
    /// The key.
    pub key: &'a str,
    /// The version's id; `None`: what is visible.
    pub version: Option<&'a VersionId>,
}

impl<'a> From<&'a str> for Which<'a> {
    fn from(key: &'a str) -> Self {
        Self { key, version: None }
    }
}

impl<'a> From<(&'a str, &'a VersionId)> for Which<'a> {
    fn from((key, version): (&'a str, &'a VersionId)) -> Self {
        Self {
            key,
            version: Some(version),
        }
    }
}

/// How to read an object. The default: all of it, whatever it is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Read {
    /// `If-Match`: only if the ETag is this.
    pub if_match: Option<String>,
    /// `If-None-Match`: only if the ETag isn't this.
    pub if_none_match: Option<String>,
    /// `Range`: only the bytes from the one to the other place, both included and counted from 0.
    pub range: Option<RangeInclusive<u64>>,
}

impl Operations {
    /// GetObject.
    ///
    /// # Errors
    /// S3's own: nothing there, a marker, archived bytes, a condition that doesn't hold, a range that lies beyond the object.
    pub fn get<'w>(&self, which: impl Into<Which<'w>>, how: &Read) -> Result<(Vec<u8>, Head), ErrorCode> {
        let which = which.into();
        self.request("GetObject", which.key, which.version, |contents, _| {
            let (stored, object) = found(contents, which)?;
            is_allowed(object, how)?;
            is_readable(object)?;
            let bytes = bytes(&object.content, how.range.clone())?;
            Ok((bytes, Head::of(contents, stored, object)))
        })
    }

    /// HeadObject.
    ///
    /// # Errors
    /// S3's own. The answer to a HEAD has no body, so that a real client sees the status of the code only.
    pub fn head<'w>(&self, which: impl Into<Which<'w>>, how: &Read) -> Result<Head, ErrorCode> {
        let which = which.into();
        self.request("HeadObject", which.key, which.version, |contents, _| {
            let (stored, object) = found(contents, which)?;
            is_allowed(object, how)?;
            Ok(Head::of(contents, stored, object))
        })
    }
}

/// The data version that a request means: the visible one, or the one with this id. A marker is none.
pub(crate) fn found<'c>(
    contents: &'c Contents,
    which: Which<'_>,
) -> Result<(&'c StoredVersion, &'c Object), ErrorCode> {
    let (stored, nothing, of_marker) = match which.version {
        Some(id) => (
            contents.version(which.key, id),
            ErrorCode::NoSuchVersion,
            ErrorCode::MethodNotAllowed,
        ),
        None => (
            contents.current(which.key),
            ErrorCode::NoSuchKey,
            ErrorCode::NoSuchKey,
        ),
    };
    let stored = stored.ok_or(nothing)?;
    let object = stored.object.as_ref().ok_or(of_marker)?;
    Ok((stored, object))
}

/// Archived bytes can't be read or copied.
pub(crate) fn is_readable(object: &Object) -> Result<(), ErrorCode> {
    if object.is_archived() {
        Err(ErrorCode::InvalidObjectState)
    } else {
        Ok(())
    }
}

pub(super) fn is_same(etag: &str, other: &str) -> bool {
    other == "*" || etag.trim_matches('"') == other.trim_matches('"')
}

fn is_allowed(object: &Object, how: &Read) -> Result<(), ErrorCode> {
    if let Some(kind) = object.refusal {
        return Err(ErrorCode::of_kind(kind));
    }
    match (&how.if_match, &how.if_none_match) {
        (Some(etag), _) if !is_same(&object.etag, etag) => Err(ErrorCode::PreconditionFailed),
        (_, Some(etag)) if is_same(&object.etag, etag) => Err(ErrorCode::NotModified),
        _ => Ok(()),
    }
}

pub(super) fn bytes(content: &Content, range: Option<RangeInclusive<u64>>) -> Result<Vec<u8>, ErrorCode> {
    let size = content.len();
    let range = match range {
        None => 0..size,
        Some(range) if *range.start() >= size => return Err(ErrorCode::InvalidRange),
        Some(range) => *range.start()..range.end().saturating_add(1).min(size),
    };
    // More than this machine can hold is as if the connection broke.
    let (start, end) = match (usize::try_from(range.start), usize::try_from(range.end)) {
        (Ok(start), Ok(end)) => (start, end.max(start)),
        _ => return Err(ErrorCode::RequestTimeout),
    };
    match content {
        Content::Bytes(bytes) => Ok(bytes.get(start..end).unwrap_or_default().to_vec()),
        Content::Zeroes(_) => Ok(vec![0; end - start]),
        Content::Withheld(_) => Err(ErrorCode::InternalError),
    }
}
