//! Carrying verdicts out: in order, one conditional copy each, `_metadata` only when everything else is there.

use std::future::Future;

use stayput_core::restoring::{Permit, copy_metadata};
use stayput_core::version::{KeyHistory, VersionKind};

use crate::batch::Done;
use crate::port::{Copied, CopyIfAbsent, Journal, PortError, PortErrorKind, Reading};
use crate::survey::Eyes;

/// A conflicting write is tried again so often.
const TRIES: usize = 3;

/// The hand of a guard: one that observes, or one that copies.
pub trait Hand {
    /// Whether this hand changes anything.
    const ACTS: bool;

    /// Copies, or tells that it would have.
    fn copy(&self, permit: &Permit) -> impl Future<Output = Result<Option<Copied>, PortError>> + Send;
}

/// The hand of an observing guard: it holds no port that writes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Observing;

/// The hand of an acting guard.
#[derive(Clone, Debug)]
pub struct Acting<M> {
    copies: M,
}

impl<M> Acting<M> {
    pub(crate) fn with(copies: M) -> Self {
        Self { copies }
    }
}

impl Hand for Observing {
    const ACTS: bool = false;

    async fn copy(&self, _: &Permit) -> Result<Option<Copied>, PortError> {
        Ok(None)
    }
}

impl<M: CopyIfAbsent + Sync> Hand for Acting<M> {
    const ACTS: bool = true;

    async fn copy(&self, permit: &Permit) -> Result<Option<Copied>, PortError> {
        self.copies.copy_if_absent(permit).await.map(Some)
    }
}

/// Copies one version back. What stands at the key afterwards is looked at whenever the answer leaves it open.
pub(crate) async fn put_back<R: Reading + Sync, J: Journal + Sync, H: Hand>(
    eyes: &Eyes<'_, R, J>,
    hand: &H,
    permit: &Permit,
) -> Done {
    let mut last = String::new();
    for _ in 0..TRIES {
        let error = match hand.copy(permit).await {
            Ok(None) => return Done::WouldCopy,
            Ok(Some(copied)) => {
                return Done::Copied {
                    condition_honoured: copied.condition_honoured,
                };
            }
            Err(error) => error,
        };
        match error.kind {
            // Somebody was first, or an answer of ours was lost.
            PortErrorKind::Precondition
            | PortErrorKind::Conflict
            | PortErrorKind::Transient
            | PortErrorKind::Throttled => {}
            _ => return Done::Failed(error.to_string()),
        }
        last = error.to_string();
        let history = match eyes.history(permit.location()).await {
            Ok(history) => history,
            Err(e) => return Done::Failed(e.to_string()),
        };
        if history.current().is_some() {
            return match is_ours(eyes, permit, &history).await {
                Ok(true) => Done::AlreadyCopied,
                Ok(false) => Done::WrittenByOthers,
                Err(e) => Done::Failed(e.to_string()),
            };
        }
        if matches!(error.kind, PortErrorKind::Throttled) {
            break;
        }
    }
    Done::Failed(last)
}

/// Whether what is visible is the copy that was asked for: it carries our metadata with this source, or has its bytes.
async fn is_ours<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    permit: &Permit,
    history: &KeyHistory,
) -> Result<bool, PortError> {
    let Some(current) = history.current() else {
        return Ok(false);
    };
    if let VersionKind::Data { size, etag, .. } = &current.kind
        && *size == permit.source().size
        && *etag == permit.source().etag
    {
        return Ok(true);
    }
    let head = eyes.reading.head(permit.location(), None).await?;
    Ok(head.metadata_value(copy_metadata::SOURCE_VERSION) == Some(permit.source().version.as_str()))
}
