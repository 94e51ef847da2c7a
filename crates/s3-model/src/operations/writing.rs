//! PutObject, and what writes have in common.

use stayput_core::restoring::{self, Permit};

use super::reading::is_same;
use super::{Operations, Written};
use crate::error::ErrorCode;
use crate::event::EventKind;
use crate::object::{Object, Retention};
use crate::world::{Contents, Hand};

/// What must be so at the key for a write to happen.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Condition {
    /// Nothing.
    #[default]
    Always,
    /// `If-None-Match: *`: nothing is visible.
    Absent,
    /// `If-Match`: what is visible has this ETag.
    Matches(String),
}

impl Condition {
    /// What a permit of the guard asks for.
    pub(crate) fn of(permit: &Permit) -> Self {
        match permit.condition() {
            restoring::Condition::NothingVisible => Self::Absent,
            restoring::Condition::StillItself(etag) => Self::Matches(etag.to_owned()),
        }
    }
}

/// What to put, and when.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Put {
    /// The object, with its metadata, tags, class, retention and legal hold.
    pub object: Object,
    /// The condition.
    pub condition: Condition,
}

impl<O: Into<Object>> From<O> for Put {
    fn from(object: O) -> Self {
        Self {
            object: object.into(),
            condition: Condition::Always,
        }
    }
}

impl Put {
    /// Only under this condition.
    #[must_use]
    pub fn if_key(mut self, condition: Condition) -> Self {
        self.condition = condition;
        self
    }
}

impl Operations {
    /// PutObject.
    ///
    /// # Errors
    /// S3's own: the condition doesn't hold; a retention or legal hold in a bucket without object lock.
    pub fn put(&self, key: &str, put: impl Into<Put>) -> Result<Written, ErrorCode> {
        let put = put.into();
        self.request("PutObject", key, None, |contents, hand| {
            contents.holds(key, &put.condition)?;
            contents.write(hand, key, put.object, EventKind::Put)
        })
    }
}

impl Contents {
    pub(crate) fn holds(&self, key: &str, condition: &Condition) -> Result<(), ErrorCode> {
        let visible = self.current(key).and_then(|v| v.object.as_ref());
        match (condition, visible) {
            (Condition::Always, _) | (Condition::Absent, None) => Ok(()),
            (Condition::Matches(etag), Some(object)) if is_same(&object.etag, etag) => Ok(()),
            (Condition::Absent | Condition::Matches(_), Some(_)) => Err(ErrorCode::PreconditionFailed),
            (Condition::Matches(_), None) => Err(ErrorCode::NoSuchKey),
        }
    }

    /// A new version, now, with the bucket's retention unless it has one of its own.
    pub(crate) fn write(
        &mut self,
        hand: Hand<'_>,
        key: &str,
        object: Object,
        kind: EventKind,
    ) -> Result<Written, ErrorCode> {
        let last_modified = hand.world.last_modified();
        self.write_at(hand, key, object, last_modified, kind)
    }

    pub(crate) fn write_at(
        &mut self,
        hand: Hand<'_>,
        key: &str,
        mut object: Object,
        last_modified: stayput_core::timestamp::Timestamp,
        kind: EventKind,
    ) -> Result<Written, ErrorCode> {
        match self.object_lock {
            None if object.retention.is_some() || object.legal_hold => {
                return Err(ErrorCode::InvalidRequest);
            }
            Some(Some((mode, span))) if object.retention.is_none() => {
                object.retention = Some(Retention {
                    mode,
                    until: hand.world.now().plus(span),
                });
            }
            _ => {}
        }
        let etag = object.etag.clone();
        let id = self.push(hand, key, Some(object), last_modified, kind);
        Ok(Written {
            version: self.told_id(&id),
            etag,
        })
    }
}
