//! What is too large for one request comes back in parts; where the time ends first, the next look goes on.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream;
use stayput_core::restoring::Permit;
use stayput_core::restoring::parts::{PartRange, part_ranges};
use stayput_core::timestamp::Timestamp;
use stayput_core::version::{VersionEntry, is_archive_class};

use super::{Hand, Made};
use crate::memory::Memory;
use crate::port::{CopiedPart, CopyInParts, Journal, OwnUpload, PortError, PortErrorKind, Reading};
use crate::survey::Eyes;

/// So many parts of one object are copied at once.
const AT_ONCE: usize = 8;
/// An upload that nobody went on with for so long is abandoned.
const KEPT: Duration = Duration::from_secs(7 * 86_400);

/// Copies a large version, or goes on with what an earlier look began after `hidden_at`: an upload takes its place among the versions by its
/// beginning, so that an older one would stay below the marker.
pub(super) async fn copy<M: CopyInParts + Sync, J: Journal + Sync>(
    port: &M,
    permit: &Permit,
    memory: &Memory<J>,
    now: Timestamp,
    hidden_at: Option<Timestamp>,
) -> Result<Made, PortError> {
    let size = permit.source().size;
    if !port.has_time() {
        return Ok(Made::Unfinished { copied: 0 });
    }
    let (upload, mut there) = match under_way(port, permit, memory, hidden_at).await? {
        Some(found) => found,
        None => (begin(port, permit, memory, now).await?, BTreeMap::new()),
    };
    let ranges = part_ranges(size, upload.part()).into_iter().flatten();
    let missing: Vec<PartRange> = ranges
        .filter(|range| !there.contains_key(&range.number))
        .collect();
    let mut failure = None;
    let mut out_of_time = false;
    {
        let upload = &upload;
        let mut copies = stream::iter(missing)
            .map(|range| async move {
                if port.has_time() {
                    port.copy_part(permit, upload, &range).await.map(Some)
                } else {
                    Ok(None)
                }
            })
            .buffer_unordered(AT_ONCE);
        while let Some(copied) = copies.next().await {
            match copied {
                Ok(Some(part)) => {
                    there.insert(part.number, part);
                }
                Ok(None) => out_of_time = true,
                Err(e) => {
                    failure = Some(e);
                    break;
                }
            }
        }
    }
    if let Some(error) = failure {
        return Err(after(port, memory, &upload, error).await);
    }
    if out_of_time || !port.has_time() {
        // Without a memory nobody would know that it is ours; and another process may have written another one over what we wrote down.
        let known = memory.upload(permit.location()).await?;
        if known.as_ref() != Some(&upload) {
            port.abandon(&upload).await?;
            return Ok(Made::Unfinished { copied: 0 });
        }
        let copied = there.values().map(|part| part.size).sum();
        return Ok(Made::Unfinished { copied });
    }
    let parts: Vec<CopiedPart> = there.into_values().collect();
    match port.complete(permit, &upload, &parts).await {
        Ok(copied) => {
            memory.forget_upload(&upload).await?;
            Ok(Made::InParts(copied))
        }
        Err(error) => Err(after(port, memory, &upload, error).await),
    }
}

/// The upload that an earlier look began, and those of its parts that are as they should be.
async fn under_way<M: CopyInParts + Sync, J: Journal + Sync>(
    port: &M,
    permit: &Permit,
    memory: &Memory<J>,
    hidden_at: Option<Timestamp>,
) -> Result<Option<(OwnUpload, BTreeMap<u32, CopiedPart>)>, PortError> {
    let Some(upload) = memory.upload(permit.location()).await? else {
        return Ok(None);
    };
    let ranges = part_ranges(permit.source().size, upload.part());
    let in_time = hidden_at.is_none_or(|at| at <= upload.began_at());
    let Some(ranges) = ranges.filter(|_| upload.is_of(permit) && in_time) else {
        end(port, memory, &upload).await?;
        return Ok(None);
    };
    let parts = match port.parts(&upload).await {
        Ok(parts) => parts,
        // Somebody's rule for unfinished uploads took it.
        Err(e) if e.kind == PortErrorKind::NotFound => {
            memory.forget_upload(&upload).await?;
            return Ok(None);
        }
        Err(e) => return Err(e),
    };
    let mut there: BTreeMap<u32, CopiedPart> = parts.into_iter().map(|part| (part.number, part)).collect();
    let lengths: BTreeMap<u32, u64> = ranges.map(|range| (range.number, range.size())).collect();
    there.retain(|number, part| lengths.get(number) == Some(&part.size));
    Ok(Some((upload, there)))
}

/// It is written down before the first part: what nobody knows of has no bytes, and costs nothing.
async fn begin<M: CopyInParts + Sync, J: Journal + Sync>(
    port: &M,
    permit: &Permit,
    memory: &Memory<J>,
    now: Timestamp,
) -> Result<OwnUpload, PortError> {
    let part = port.sizes().part_of(permit.source().size);
    let id = port.begin(permit).await?;
    let upload = OwnUpload::begun(permit, id, part, now);
    if let Err(e) = memory.remember_upload(&upload).await {
        port.abandon(&upload).await?;
        return Err(e);
    }
    Ok(upload)
}

/// After a failure that passes, the next look goes on; after any other the upload is of no use.
async fn after<M: CopyInParts + Sync, J: Journal + Sync>(
    port: &M,
    memory: &Memory<J>,
    upload: &OwnUpload,
    error: PortError,
) -> PortError {
    let goes_on = error.is_transient() && error.kind != PortErrorKind::Conflict;
    if !(goes_on && memory.is_there())
        && let Err(left) = end(port, memory, upload).await
    {
        let said = error.detail.clone().unwrap_or_default();
        return error.because(format!(
            "{said}; and the upload {} couldn't be abandoned: {left}",
            upload.id()
        ));
    }
    error
}

async fn end<M: CopyInParts + Sync, J: Journal + Sync>(
    port: &M,
    memory: &Memory<J>,
    upload: &OwnUpload,
) -> Result<(), PortError> {
    port.abandon(upload).await?;
    memory.forget_upload(upload).await
}

/// Abandons uploads of ours that nobody needs any more: the key is visible, the version is gone, or nobody went on for a week. Returns what
/// couldn't be asked or done.
pub(crate) async fn abandon_unneeded<R: Reading + Sync, J: Journal + Sync, H: Hand>(
    eyes: &Eyes<'_, R, J>,
    hand: &H,
) -> Vec<String> {
    if !H::ACTS {
        return Vec::new();
    }
    let uploads = match eyes.memory.uploads().await {
        Ok(uploads) => uploads,
        Err(e) => return vec![e.to_string()],
    };
    let mut failed = Vec::new();
    for upload in uploads {
        if let Err(e) = abandon_if_unneeded(eyes, hand, &upload).await {
            failed.push(e.to_string());
        }
    }
    failed
}

async fn abandon_if_unneeded<R: Reading + Sync, J: Journal + Sync, H: Hand>(
    eyes: &Eyes<'_, R, J>,
    hand: &H,
    upload: &OwnUpload,
) -> Result<(), PortError> {
    let history = eyes.history(&upload.location()).await?;
    let hidden_since = history
        .hidden()
        .is_some_and(|hidden| hidden.newest.last_modified > upload.began_at());
    // What is visible in an archive is copied onto itself.
    let repairs =
        |v: &VersionEntry| v.id == *upload.source() && v.storage_class().is_some_and(is_archive_class);
    let needed = history.current().is_none_or(repairs)
        && !hidden_since
        && history.data_versions().any(|v| v.id == *upload.source())
        && eyes.now.since(upload.began_at()) < KEPT;
    if needed {
        return Ok(());
    }
    hand.abandon(upload).await?;
    eyes.memory.forget_upload(upload).await
}
