//! Asking for one `_metadata`: its bytes, or why there are none.

use futures_util::{StreamExt, stream};
use stayput_core::location::ObjectLocation;
use stayput_core::metadata::take;
use stayput_core::metadata_limit::MetadataLimit;
use stayput_core::restoring::copy_metadata;
use stayput_core::snapshot::{Unreadable, identity_of};
use stayput_core::timestamp::Timestamp;
use stayput_core::version::{VersionEntry, VersionId, VersionKind};

use super::CONCURRENT;
use super::eyes::Eyes;
use crate::mandate::Mandate;
use crate::port::{Journal, ObjectBody, ObjectHead, PortError, PortErrorKind, Reading};

/// One `_metadata` that was asked for.
pub(super) enum Fetched {
    Body(ObjectBody),
    Absent,
    /// It is there, but its bytes aren't to be had; what a listing says of that version.
    Unreadable(Unreadable, Option<VersionEntry>),
    Failed(String),
}

impl Fetched {
    /// What came of asking for a body of at most so many bytes.
    pub(super) fn from(answer: Result<ObjectBody, PortError>, limit: MetadataLimit) -> Self {
        match answer {
            Ok(body) => Self::Body(body),
            Err(e) => match e.kind {
                PortErrorKind::NotFound => Self::Absent,
                PortErrorKind::Denied => Self::Unreadable(Unreadable::Denied, None),
                PortErrorKind::TooLarge { size } => {
                    Self::Unreadable(Unreadable::TooLarge { size, limit }, None)
                }
                PortErrorKind::Archived | PortErrorKind::Unreadable | PortErrorKind::Unsupported => {
                    Self::Unreadable(Unreadable::OutOfReach(e.to_string()), None)
                }
                PortErrorKind::Throttled
                | PortErrorKind::Conflict
                | PortErrorKind::Precondition
                | PortErrorKind::Transient
                | PortErrorKind::Unreachable
                | PortErrorKind::NotSetUp => Self::Failed(e.to_string()),
            },
        }
    }
}

/// Asks for one `_metadata`, but for none that is longer than the limit.
pub(super) async fn fetch<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    metadata: &ObjectLocation,
    version: Option<&VersionId>,
) -> Fetched {
    let limit = eyes.mandate.metadata_limit;
    let answer = eyes.reading.body(metadata, version, limit.bytes()).await;
    taken(eyes, metadata, version, answer).await
}

/// Asks for several files, and hands each over as it comes, so that its bytes are free again. However many there are, their bytes take no
/// more memory at a time than one file may: those that are under way together have a part of it each, and those that need more come alone,
/// one after the other, when these are done. Each of those costs a request more, whose answer's head alone is read.
pub(super) async fn fetch_all<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    wanted: Vec<(ObjectLocation, Option<VersionId>)>,
    mut each: impl FnMut(ObjectLocation, Fetched),
) {
    let part = part_of(eyes.mandate.metadata_limit);
    let mut large = Vec::new();
    let mut answers = stream::iter(wanted)
        .map(|(location, version)| async move {
            let fetched = fetch_at_most(eyes, &location, version.as_ref(), part).await.ok();
            (location, version, fetched)
        })
        .buffer_unordered(CONCURRENT);
    while let Some((location, version, fetched)) = answers.next().await {
        match fetched {
            Some(fetched) => each(location, fetched),
            None => large.push((location, version)),
        }
    }
    for (location, version) in large {
        let fetched = fetch(eyes, &location, version.as_ref()).await;
        each(location, fetched);
    }
}

/// So many bytes may each of those be that are under way together.
pub(super) fn part_of(limit: MetadataLimit) -> u64 {
    limit.bytes() / CONCURRENT as u64
}

/// Longer than asked for, though not longer than the limit.
pub(super) struct Longer {
    /// Its length in bytes.
    pub(super) size: u64,
}

/// Asks for one file, but for none of more than so many bytes.
pub(super) async fn fetch_at_most<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    location: &ObjectLocation,
    version: Option<&VersionId>,
    most: u64,
) -> Result<Fetched, Longer> {
    let limit = eyes.mandate.metadata_limit.bytes();
    let answer = eyes.reading.body(location, version, most.min(limit)).await;
    match &answer {
        Err(PortError {
            kind: PortErrorKind::TooLarge { size },
            ..
        }) if *size <= limit => Err(Longer { size: *size }),
        _ => Ok(taken(eyes, location, version, answer).await),
    }
}

async fn taken<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    metadata: &ObjectLocation,
    version: Option<&VersionId>,
    answer: Result<ObjectBody, PortError>,
) -> Fetched {
    let why = match Fetched::from(answer, eyes.mandate.metadata_limit) {
        Fetched::Unreadable(why, _) => why,
        other => return other,
    };
    // Who may not read it may list it: without its age nobody could tell what it is newer than.
    match eyes.history(metadata).await {
        Ok(history) => {
            let seen = history
                .data_versions()
                .find(|v| version.is_none_or(|id| *id == v.id))
                .cloned();
            Fetched::Unreadable(why, seen)
        }
        Err(e) if e.is_transient() => Fetched::Failed(e.to_string()),
        Err(_) => Fetched::Unreadable(why, None),
    }
}

pub(super) fn parses(body: &ObjectBody, metadata: &ObjectLocation, mandate: &Mandate) -> bool {
    take(&body.bytes, metadata, &mandate.roots)
        .is_ok_and(|taken| has_id(metadata, taken.complete.checkpoint_id))
}

/// Whether a `_metadata` of this checkpoint id may lie there.
pub(super) fn has_id(metadata: &ObjectLocation, checkpoint_id: u64) -> bool {
    let (kind, _) = identity_of(metadata);
    kind.id().is_none_or(|id| id == checkpoint_id)
}

/// When the bytes were first written: a copy made by Stayput says when its source was.
pub(crate) fn first_written(head: &ObjectHead) -> Timestamp {
    head.metadata_value(copy_metadata::SOURCE_LAST_MODIFIED)
        .and_then(|text| Timestamp::parse(text).ok())
        .unwrap_or(head.last_modified)
}

/// What is known of a version besides its bytes.
#[derive(Default)]
pub(super) struct Known {
    pub(super) version: Option<VersionId>,
    pub(super) etag: String,
    pub(super) size: u64,
    /// When its bytes were first written.
    pub(super) written: Option<Timestamp>,
}

impl From<&ObjectHead> for Known {
    fn from(head: &ObjectHead) -> Self {
        Self {
            version: head.version.clone(),
            etag: head.etag.clone(),
            size: head.size,
            written: Some(first_written(head)),
        }
    }
}

impl From<&VersionEntry> for Known {
    fn from(entry: &VersionEntry) -> Self {
        let (etag, size) = match &entry.kind {
            VersionKind::Data { size, etag, .. } => (etag.clone(), *size),
            VersionKind::Marker => Default::default(),
        };
        Self {
            version: Some(entry.id.clone()),
            etag,
            size,
            written: Some(entry.last_modified),
        }
    }
}
