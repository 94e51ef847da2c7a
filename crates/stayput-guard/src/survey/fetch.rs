//! Asking for one `_metadata`: its bytes, or why there are none.

use stayput_core::location::ObjectLocation;
use stayput_core::metadata::take;
use stayput_core::restoring::copy_metadata;
use stayput_core::snapshot::{Unreadable, identity_of};
use stayput_core::timestamp::Timestamp;
use stayput_core::version::VersionId;

use super::eyes::Eyes;
use crate::mandate::Mandate;
use crate::port::{ObjectBody, ObjectHead, PortErrorKind, Reading};

/// One `_metadata` that was asked for.
pub(super) enum Fetched {
    Body(ObjectBody),
    Absent,
    Unreadable(Unreadable),
    Failed(String),
}

pub(super) async fn fetch<R: Reading + Sync, J>(
    eyes: &Eyes<'_, R, J>,
    metadata: &ObjectLocation,
    version: Option<&VersionId>,
) -> Fetched {
    let limit = eyes.mandate.max_metadata_bytes;
    match eyes.reading.body(metadata, version, limit).await {
        Ok(body) => Fetched::Body(body),
        Err(e) => match e.kind {
            PortErrorKind::NotFound => Fetched::Absent,
            PortErrorKind::Denied => Fetched::Unreadable(Unreadable::Denied),
            PortErrorKind::TooLarge { size } => Fetched::Unreadable(Unreadable::TooLarge { size, limit }),
            PortErrorKind::Archived | PortErrorKind::Unreadable | PortErrorKind::Unsupported => {
                Fetched::Unreadable(Unreadable::OutOfReach(e.to_string()))
            }
            PortErrorKind::Throttled
            | PortErrorKind::Conflict
            | PortErrorKind::Precondition
            | PortErrorKind::Transient => Fetched::Failed(e.to_string()),
        },
    }
}

pub(super) fn parses(body: &ObjectBody, metadata: &ObjectLocation, mandate: &Mandate) -> bool {
    let (kind, _) = identity_of(metadata);
    take(&body.bytes, metadata, &mandate.roots)
        .is_ok_and(|taken| kind.id().is_none_or(|id| id == taken.complete.checkpoint_id))
}

/// When the bytes were first written: a copy made by Stayput says when its source was.
pub(crate) fn first_written(head: &ObjectHead) -> Timestamp {
    head.metadata_value(copy_metadata::SOURCE_LAST_MODIFIED)
        .and_then(|text| Timestamp::parse(text).ok())
        .unwrap_or(head.last_modified)
}
