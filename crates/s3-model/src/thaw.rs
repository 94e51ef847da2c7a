//! Archived versions whose bytes can be read for a while.

use std::sync::Arc;
use std::time::Duration;

use stayput_core::timestamp::Timestamp;
use stayput_core::version::VersionId;

use crate::error::ErrorCode;
use crate::event::{EventKind, Told};
use crate::operations::{Which, found};
use crate::world::{Contents, DAY, Hand, S3_ITSELF, World};

/// How fast a RestoreObject shall be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tier {
    /// Five minutes; not from DEEP_ARCHIVE.
    Expedited,
    /// Five hours, from DEEP_ARCHIVE twelve.
    Standard,
    /// Twelve hours, from DEEP_ARCHIVE 48.
    Bulk,
}

impl Tier {
    /// The longest that S3 says it takes.
    fn takes(self, class: &str) -> Option<Duration> {
        let minutes = match (self, class) {
            (Self::Expedited, "GLACIER") => 5,
            (Self::Standard, "GLACIER") => 5 * 60,
            (Self::Bulk, "GLACIER") | (Self::Standard, "DEEP_ARCHIVE") => 12 * 60,
            (Self::Bulk, "DEEP_ARCHIVE") => 48 * 60,
            _ => return None,
        };
        Some(Duration::from_secs(60 * minutes))
    }
}

/// A RestoreObject that was accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Thaw {
    /// From when on the bytes can be read.
    pub ready: Timestamp,
    /// Until when, a midnight UTC.
    pub until: Timestamp,
}

impl Thaw {
    /// The value of `x-amz-restore`.
    pub(crate) fn header(self, is_ready: bool) -> String {
        if is_ready {
            format!(r#"ongoing-request="false", expiry-date="{}""#, self.until)
        } else {
            r#"ongoing-request="true""#.to_owned()
        }
    }
}

/// A version that thaws, or that is archived again, at its time.
#[derive(Clone, Debug)]
pub(crate) struct ThawTimer {
    key: String,
    version: VersionId,
}

/// Days are added and the sum is rounded up to midnight UTC.
fn end(ready: Timestamp, span: Duration) -> Timestamp {
    let sum = ready.plus(span);
    if sum.is_midnight() {
        sum
    } else {
        sum.midnight().plus(DAY)
    }
}

impl Contents {
    /// Whether it was thawed already.
    pub(crate) fn thaw(
        &mut self,
        hand: Hand<'_>,
        which: Which<'_>,
        span: Duration,
        tier: Tier,
    ) -> Result<bool, ErrorCode> {
        let now = hand.world.now();
        let (stored, object) = found(self, which)?;
        let class = object.storage_class.clone().unwrap_or_default();
        let (archive, for_good) = (object.archive().to_owned(), object.archive_status.is_some());
        if !matches!(archive.as_str(), "GLACIER" | "DEEP_ARCHIVE") {
            return Err(ErrorCode::InvalidObjectState);
        }
        let (ready, was_thawed) = match object.thaw {
            Some(_) if !object.thawed => return Err(ErrorCode::RestoreAlreadyInProgress),
            Some(thaw) => (thaw.ready, true),
            None => {
                let takes = tier.takes(&archive).ok_or(ErrorCode::InvalidArgument)?;
                (now.plus(takes), false)
            }
        };
        let thaw = Thaw {
            ready,
            until: end(ready.max(now), span),
        };
        let timer = ThawTimer {
            key: which.key.to_owned(),
            version: stored.id.clone(),
        };
        if !was_thawed {
            self.timers.entry(thaw.ready).or_default().push(timer.clone());
        }
        // Intelligent-Tiering moves the bytes for good.
        if !for_good {
            self.timers.entry(thaw.until).or_default().push(timer);
        }
        hand.world.let_clock_act();
        let kind = (!was_thawed).then_some(EventKind::ThawBegun(class));
        self.change(hand, which, kind, |object| {
            object.thaw = Some(thaw);
            Ok(())
        })?;
        Ok(was_thawed)
    }

    /// Lets the thaws of this moment be done, and those that end now.
    pub(crate) fn turn_timers(&mut self, world: &World) {
        let principal = Arc::from(S3_ITSELF);
        let hand = Hand {
            world,
            principal: &principal,
        };
        let now = world.now();
        while let Some(first) = self.timers.first_entry()
            && *first.key() <= now
        {
            for timer in first.remove() {
                self.turn_timer(hand, &timer, now);
            }
        }
    }

    fn turn_timer(&mut self, hand: Hand<'_>, timer: &ThawTimer, now: Timestamp) {
        let told_id = self.told_id(&timer.version);
        // It may be gone, or have a later end by now.
        let Some(object) = self
            .version_mut(&timer.key, &timer.version)
            .and_then(|version| version.object.as_mut())
        else {
            return;
        };
        let class = object.storage_class.clone().unwrap_or_default();
        let kind = match object.thaw {
            Some(thaw) if thaw.until <= now && object.archive_status.is_none() => {
                (object.thaw, object.thawed) = (None, false);
                EventKind::ThawEnded(class)
            }
            Some(thaw) if thaw.ready <= now && object.archive_status.is_some() => {
                (object.thaw, object.archive_status) = (None, None);
                EventKind::ThawCompleted(class, thaw.until)
            }
            Some(thaw) if thaw.ready <= now && !object.thawed => {
                object.thawed = true;
                EventKind::ThawCompleted(class, thaw.until)
            }
            _ => return,
        };
        let told = Told::of(kind, &timer.key, told_id, Some(object));
        self.tell(hand, told);
    }
}
