//! Carrying verdicts out: in order, one conditional copy each, `_metadata` only when everything else is there.

use std::future::Future;
use std::time::Duration;

use stayput_core::restoring::{Marker, Permit, copy_metadata};
use stayput_core::timestamp::Timestamp;
use stayput_core::version::{KeyHistory, VersionKind};

use crate::batch::Done;
use crate::memory::Memory;
use crate::port::{Copied, Journal, OwnUpload, PortError, PortErrorKind, Reading, Restoring};
use crate::survey::Eyes;

mod parts;
mod unhiding;

pub(crate) use parts::abandon_unneeded;

/// A conflicting write is tried again so often.
const TRIES: usize = 3;

/// What a hand made of a permit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Made {
    /// Nothing: it only observes.
    Nothing,
    /// A copy.
    Whole(Copied),
    /// A copy in parts. It took its place among the versions by the moment in which it was begun.
    InParts(Copied),
    /// Some of the parts; there was no time for all.
    Unfinished {
        /// So many bytes are there.
        copied: u64,
    },
}

/// The hand of a guard: one that observes, or one that copies.
pub trait Hand {
    /// Whether this hand changes anything.
    const ACTS: bool;

    /// What is longer isn't copied by one request. Bytes.
    fn single(&self) -> u64;

    /// Copies, or tells that it would have. `hidden_at`: the date of the newest marker on the key, asked for what is copied in parts.
    fn copy<J: Journal + Sync>(
        &self,
        permit: &Permit,
        memory: &Memory<J>,
        now: Timestamp,
        hidden_at: Option<Timestamp>,
    ) -> impl Future<Output = Result<Made, PortError>> + Send;

    /// Asks for archived bytes. How long that takes at the most; `None`: it only observes.
    fn thaw(&self, permit: &Permit) -> impl Future<Output = Result<Option<Duration>, PortError>> + Send;

    /// Removes a delete marker; nothing if it only observes.
    fn remove_marker(&self, marker: &Marker) -> impl Future<Output = Result<(), PortError>> + Send;

    /// Abandons an upload of ours.
    fn abandon(&self, upload: &OwnUpload) -> impl Future<Output = Result<(), PortError>> + Send;
}

/// The hand of an observing guard: it holds no port that writes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Observing;

/// The hand of an acting guard.
#[derive(Clone, Debug)]
pub struct Acting<M> {
    port: M,
}

impl<M> Acting<M> {
    /// A hand that does by this port what permits allow.
    pub fn with(port: M) -> Self {
        Self { port }
    }
}

impl Hand for Observing {
    const ACTS: bool = false;

    fn single(&self) -> u64 {
        u64::MAX
    }

    async fn copy<J: Journal + Sync>(
        &self,
        _: &Permit,
        _: &Memory<J>,
        _: Timestamp,
        _: Option<Timestamp>,
    ) -> Result<Made, PortError> {
        Ok(Made::Nothing)
    }

    async fn thaw(&self, _: &Permit) -> Result<Option<Duration>, PortError> {
        Ok(None)
    }

    async fn remove_marker(&self, _: &Marker) -> Result<(), PortError> {
        Ok(())
    }

    async fn abandon(&self, _: &OwnUpload) -> Result<(), PortError> {
        Ok(())
    }
}

impl<M: Restoring + Sync> Hand for Acting<M> {
    const ACTS: bool = true;

    fn single(&self) -> u64 {
        self.port.sizes().single
    }

    async fn copy<J: Journal + Sync>(
        &self,
        permit: &Permit,
        memory: &Memory<J>,
        now: Timestamp,
        hidden_at: Option<Timestamp>,
    ) -> Result<Made, PortError> {
        if permit.source().size > self.single() {
            parts::copy(&self.port, permit, memory, now, hidden_at).await
        } else {
            self.port.copy_on_condition(permit).await.map(Made::Whole)
        }
    }

    async fn thaw(&self, permit: &Permit) -> Result<Option<Duration>, PortError> {
        self.port.thaw(permit).await.map(Some)
    }

    async fn remove_marker(&self, marker: &Marker) -> Result<(), PortError> {
        self.port.remove_marker(marker).await
    }

    async fn abandon(&self, upload: &OwnUpload) -> Result<(), PortError> {
        self.port.abandon(upload).await
    }
}

/// By what a version comes back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Means {
    /// By a copy.
    Copy,
    /// Its markers go, where that lasts.
    Unhide {
        /// Whether it may be copied where it doesn't.
        or_copy: bool,
    },
}

/// Why a version didn't come back, though nothing failed that another try could mend.
#[derive(Clone, Debug)]
pub(crate) enum NotPutBack {
    /// No try will ever succeed before a person does something about the key of its encryption.
    KeyUnusable(PortError),
    /// It would have to be copied, and for that no bytes are left today.
    NoRoomForACopy {
        /// When that was seen.
        at: Timestamp,
    },
}

/// Brings one version back. What stands at the key afterwards is looked at whenever the answer leaves it open.
///
/// # Errors
/// See [`NotPutBack`]; every other failure is [`Done::Failed`], and is tried again.
pub(crate) async fn put_back<R: Reading + Sync, J: Journal + Sync, H: Hand>(
    eyes: &Eyes<'_, R, J>,
    hand: &H,
    permit: &Permit,
    means: Means,
) -> Result<Done, NotPutBack> {
    if let (true, Means::Unhide { or_copy }) = (H::ACTS, means) {
        if let Some(done) = unhiding::unhide(eyes, hand, permit).await {
            return Ok(done);
        }
        if !or_copy {
            return Err(NotPutBack::NoRoomForACopy { at: eyes.now });
        }
    }
    let mut last = String::new();
    for _ in 0..TRIES {
        let hidden_at = if permit.source().size > hand.single() && !permit.is_repair() {
            match eyes.history(permit.location()).await {
                Ok(history) => history.hidden().map(|hidden| hidden.newest.last_modified),
                Err(e) => return Ok(Done::Failed(e.to_string())),
            }
        } else {
            None
        };
        let (in_parts, throttled) = match hand.copy(permit, eyes.memory, eyes.now, hidden_at).await {
            Ok(Made::Nothing) => return Ok(Done::WouldCopy),
            Ok(Made::Whole(Copied {
                condition_honoured, ..
            })) => return Ok(Done::Copied { condition_honoured }),
            Ok(Made::Unfinished { copied }) => {
                return Ok(Done::Unfinished {
                    copied,
                    of: permit.source().size,
                });
            }
            Ok(Made::InParts(copied)) => {
                "it was hidden again while it was copied".clone_into(&mut last);
                (Some(copied.condition_honoured), false)
            }
            Err(error) => {
                last = error.to_string();
                match error.kind {
                    // Somebody was first, or an answer of ours was lost.
                    PortErrorKind::Precondition
                    | PortErrorKind::Conflict
                    | PortErrorKind::Transient
                    | PortErrorKind::Unreachable => (None, false),
                    // Nothing is visible any more.
                    PortErrorKind::NotFound if permit.is_repair() => (None, false),
                    PortErrorKind::Throttled => (None, true),
                    PortErrorKind::Unreadable => return Err(NotPutBack::KeyUnusable(error)),
                    _ => return Ok(Done::Failed(last)),
                }
            }
        };
        let history = match eyes.history(permit.location()).await {
            Ok(history) => history,
            Err(e) => return Ok(Done::Failed(e.to_string())),
        };
        if permit.is_repair() && history.current().is_none() {
            let hidden = "somebody deleted it meanwhile, which is judged for itself";
            return Ok(Done::Failed(hidden.to_owned()));
        }
        if history.current().is_some() && !is_as_before(permit, &history) {
            return Ok(match (is_ours(eyes, permit, &history).await, in_parts) {
                (Ok(true), Some(condition_honoured)) => Done::Copied { condition_honoured },
                (Ok(true), None) => Done::AlreadyCopied,
                (Ok(false), _) => Done::WrittenByOthers,
                (Err(e), _) => Done::Failed(e.to_string()),
            });
        }
        if throttled {
            break;
        }
    }
    Ok(Done::Failed(last))
}

/// Whether the version that a repair copies is still the visible one.
fn is_as_before(permit: &Permit, history: &KeyHistory) -> bool {
    let current = history.current();
    permit.is_repair() && current.is_some_and(|v| v.id == permit.source().version)
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
