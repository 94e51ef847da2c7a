//! Large `_metadata` by their sidecars: a process that begins anew reads a fraction of the bytes.

use futures_util::{Stream, StreamExt, stream};
use stayput_core::location::ObjectLocation;
use stayput_core::sidecar::{Of, Recorder, Sidecar};
use stayput_core::version::VersionId;

use super::fetch::{Fetched, Longer, fetch, fetch_at_most, part_of};
use super::{CONCURRENT, Eyes};
use crate::port::{Journal, ObjectBody, ObjectHead, PortError, PortErrorKind, Reading};

/// What came of asking for one `_metadata`.
pub(super) enum Asked {
    /// It itself, or why there is nothing.
    Itself(Fetched),
    /// What is kept of it.
    Kept(Box<Kept>),
}

/// Sidecars that couldn't be written in a call.
#[derive(Debug, Default)]
pub(crate) struct Unkept {
    count: u64,
    first: Option<PortError>,
}

impl Unkept {
    pub(super) fn add(&mut self, error: PortError) {
        self.count += 1;
        self.first.get_or_insert(error);
    }

    /// What people are told of all of them together, and what helps; `None`: there are none.
    pub(crate) fn warning(&mut self) -> Option<String> {
        let Self { count, first } = std::mem::take(self);
        let first = first?;
        let (sidecars, those) = match count {
            1 => ("1 sidecar".to_owned(), "that _metadata"),
            n => (format!("{n} sidecars"), "those _metadata"),
        };
        let mut text = format!(
            "{sidecars} couldn't be written: {first}. Nothing is less safe by it; whoever begins anew reads {those} whole, which is slower"
        );
        if first.kind == PortErrorKind::Denied {
            text.push_str(". Allow s3:PutObject below the control prefix");
        }
        Some(text)
    }
}

/// The sidecar of a `_metadata` that is there.
pub(super) struct Kept {
    /// Of the `_metadata`.
    pub(super) head: ObjectHead,
    pub(super) sidecar: Sidecar,
}

/// Asks for one `_metadata`, but for none that is longer than the limit: a small one itself, a large one by its sidecar if there is one.
pub(super) async fn ask<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    metadata: &ObjectLocation,
    version: Option<&VersionId>,
) -> Asked {
    let limit = eyes.mandate.metadata_limit.bytes();
    match ask_at_most(eyes, metadata, version, limit).await {
        Ok(asked) => asked,
        Err(left) => ask_alone(eyes, metadata, version, left).await,
    }
}

/// What is left to be asked for alone, when nothing else is under way.
#[derive(Clone, Copy)]
pub(super) enum Left {
    /// There is no sidecar, or none that may be believed.
    Itself,
    /// There is one, but for its length nobody looked at it.
    Sidecar,
}

/// Asks for what was too long to be asked for beside others.
pub(super) async fn ask_alone<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    metadata: &ObjectLocation,
    version: Option<&VersionId>,
    left: Left,
) -> Asked {
    if let Left::Sidecar = left {
        let limit = eyes.mandate.metadata_limit.bytes();
        if let Ok(Some(kept)) = kept(eyes, metadata, version, limit).await {
            return Asked::Kept(Box::new(kept));
        }
    }
    Asked::Itself(fetch(eyes, metadata, version).await)
}

/// Asks for several, each of which comes as soon as it is there, so that its bytes are free again before the next. However many there are, what is
/// under way together takes no more memory than one may. An error: it must be asked for alone, when these are done.
pub(super) fn ask_all<'e, R: Reading + Sync, J: Journal + Sync>(
    eyes: &'e Eyes<'e, R, J>,
    wanted: Vec<ObjectLocation>,
) -> impl Stream<Item = (ObjectLocation, Result<Asked, Left>)> + 'e {
    let part = part_of(eyes.mandate.metadata_limit);
    stream::iter(wanted)
        .map(move |metadata| async move {
            let asked = ask_at_most(eyes, &metadata, None, part).await;
            (metadata, asked)
        })
        .buffer_unordered(CONCURRENT)
}

/// Nothing of more than so many bytes is taken into memory.
async fn ask_at_most<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    metadata: &ObjectLocation,
    version: Option<&VersionId>,
    most: u64,
) -> Result<Asked, Left> {
    let mut left = Left::Itself;
    if eyes.memory.is_there() {
        let small = eyes.mandate.sidecars_from.saturating_sub(1);
        match fetch_at_most(eyes, metadata, version, most.min(small)).await {
            Ok(fetched) => return Ok(Asked::Itself(fetched)),
            Err(Longer { size }) if size > small => match kept(eyes, metadata, version, most).await {
                Ok(Some(kept)) => return Ok(Asked::Kept(Box::new(kept))),
                Ok(None) => {}
                Err(SidecarTooLong) => left = Left::Sidecar,
            },
            Err(_) => {}
        }
    }
    match fetch_at_most(eyes, metadata, version, most).await {
        Ok(fetched) => Ok(Asked::Itself(fetched)),
        Err(Longer { .. }) => Err(left),
    }
}

/// Longer than asked for.
struct SidecarTooLong;

/// The sidecar, if there is one of these very bytes. Whatever keeps it from being read, the `_metadata` itself is asked for then.
async fn kept<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    metadata: &ObjectLocation,
    version: Option<&VersionId>,
    most: u64,
) -> Result<Option<Kept>, SidecarTooLong> {
    let Ok(head) = eyes.reading.head(metadata, version).await else {
        return Ok(None);
    };
    let Some(of) = identity(metadata, &head) else {
        return Ok(None);
    };
    let bytes = match eyes.memory.sidecar(metadata, most).await {
        Ok(Some(bytes)) => bytes,
        Err(e) if matches!(e.kind, PortErrorKind::TooLarge { .. }) => return Err(SidecarTooLong),
        Ok(None) | Err(_) => return Ok(None),
    };
    let sidecar = Sidecar::open(bytes, of).ok();
    Ok(sidecar.map(|sidecar| Kept { head, sidecar }))
}

/// Takes down a `_metadata` while it is read, if it is one that gets a sidecar.
pub(super) fn recorder<R, J: Journal>(
    eyes: &Eyes<'_, R, J>,
    metadata: &ObjectLocation,
    body: &ObjectBody,
    has_sinks: bool,
) -> Option<Recorder> {
    let is_large = body.bytes.len() as u64 >= eyes.mandate.sidecars_from;
    (is_large && eyes.memory.is_there())
        .then(|| identity(metadata, &body.head))
        .flatten()
        .map(|of| Recorder::of(of, has_sinks))
}

/// Bytes without an ETag can't be told from others.
fn identity<'a>(metadata: &'a ObjectLocation, head: &'a ObjectHead) -> Option<Of<'a>> {
    (!head.etag.is_empty()).then_some(Of {
        metadata,
        etag: &head.etag,
        size: head.size,
    })
}
