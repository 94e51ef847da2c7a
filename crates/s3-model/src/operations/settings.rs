//! What S3 keeps beside a version: tags, retention, legal hold, and whether archived bytes can be read for a while.

use std::collections::BTreeMap;
use std::time::Duration;

use super::reading::found;
use super::{Operations, Which};
use crate::error::ErrorCode;
use crate::event::{EventKind, Told};
use crate::object::{Object, Retention, RetentionMode};
use crate::thaw::Tier;
use crate::world::{Contents, Hand};

impl Operations {
    /// GetObjectTagging.
    ///
    /// # Errors
    /// S3's own: nothing there, a marker.
    pub fn tags<'w>(&self, which: impl Into<Which<'w>>) -> Result<BTreeMap<String, String>, ErrorCode> {
        let which = which.into();
        self.request("GetObjectTagging", which.key, which.version, |contents, _| {
            Ok(found(contents, which)?.1.tags.clone())
        })
    }

    /// PutObjectTagging: these tags in place of what was there.
    ///
    /// # Errors
    /// S3's own: nothing there, a marker.
    pub fn put_tags<'w>(
        &self,
        which: impl Into<Which<'w>>,
        tags: BTreeMap<String, String>,
    ) -> Result<(), ErrorCode> {
        let which = which.into();
        self.request("PutObjectTagging", which.key, which.version, |contents, hand| {
            contents.change(hand, which, Some(EventKind::TagsPut), |object| {
                object.tags = tags;
                Ok(())
            })
        })
    }

    /// DeleteObjectTagging.
    ///
    /// # Errors
    /// S3's own: nothing there, a marker.
    pub fn delete_tags<'w>(&self, which: impl Into<Which<'w>>) -> Result<(), ErrorCode> {
        let which = which.into();
        self.request(
            "DeleteObjectTagging",
            which.key,
            which.version,
            |contents, hand| {
                contents.change(hand, which, Some(EventKind::TagsDeleted), |object| {
                    object.tags.clear();
                    Ok(())
                })
            },
        )
    }

    /// GetObjectRetention.
    ///
    /// # Errors
    /// S3's own: nothing there, a marker, no retention, a bucket without object lock.
    pub fn retention<'w>(&self, which: impl Into<Which<'w>>) -> Result<Retention, ErrorCode> {
        let which = which.into();
        self.request("GetObjectRetention", which.key, which.version, |contents, _| {
            contents.has_object_lock()?;
            found(contents, which)?
                .1
                .retention
                .ok_or(ErrorCode::NoSuchObjectLockConfiguration)
        })
    }

    /// PutObjectRetention. `bypass`: going past one in governance mode.
    ///
    /// # Errors
    /// S3's own: nothing there, a marker, a bucket without object lock, an end that has passed, a period that may only become longer.
    pub fn put_retention<'w>(
        &self,
        which: impl Into<Which<'w>>,
        retention: Retention,
        bypass: bool,
    ) -> Result<(), ErrorCode> {
        let which = which.into();
        self.request(
            "PutObjectRetention",
            which.key,
            which.version,
            |contents, hand| {
                contents.has_object_lock()?;
                let now = hand.world.now();
                if retention.until <= now {
                    return Err(ErrorCode::InvalidArgument);
                }
                contents.change(hand, which, None, |object| {
                    let weaker = object.retention.is_some_and(|old| {
                        let laxer = old.mode == RetentionMode::Compliance && retention.mode != old.mode;
                        let may = bypass && old.mode == RetentionMode::Governance;
                        now < old.until && !may && (laxer || retention.until < old.until)
                    });
                    if weaker {
                        return Err(ErrorCode::AccessDenied);
                    }
                    object.retention = Some(retention);
                    Ok(())
                })
            },
        )
    }

    /// GetObjectLegalHold.
    ///
    /// # Errors
    /// S3's own: nothing there, a marker, a bucket without object lock.
    pub fn legal_hold<'w>(&self, which: impl Into<Which<'w>>) -> Result<bool, ErrorCode> {
        let which = which.into();
        self.request("GetObjectLegalHold", which.key, which.version, |contents, _| {
            contents.has_object_lock()?;
            Ok(found(contents, which)?.1.legal_hold)
        })
    }

    /// PutObjectLegalHold.
    ///
    /// # Errors
    /// S3's own: nothing there, a marker, a bucket without object lock.
    pub fn put_legal_hold<'w>(&self, which: impl Into<Which<'w>>, hold: bool) -> Result<(), ErrorCode> {
        let which = which.into();
        self.request(
            "PutObjectLegalHold",
            which.key,
            which.version,
            |contents, hand| {
                contents.has_object_lock()?;
                contents.change(hand, which, None, |object| {
                    object.legal_hold = hold;
                    Ok(())
                })
            },
        )
    }

    /// RestoreObject: the bytes of an archived version can be read after some hours, for so many days. Whether it is thawed already, so
    /// that only the end was moved (200); else it has begun (202).
    ///
    /// # Errors
    /// S3's own: nothing there, a marker, a class that needs no thawing, a thaw that is under way, a tier that the class doesn't have.
    pub fn restore<'w>(&self, which: impl Into<Which<'w>>, days: u32, tier: Tier) -> Result<bool, ErrorCode> {
        let which = which.into();
        self.request("RestoreObject", which.key, which.version, |contents, hand| {
            let span = Duration::from_secs(86_400).saturating_mul(days);
            contents.thaw(hand, which, span, tier)
        })
    }
}

impl Contents {
    fn has_object_lock(&self) -> Result<(), ErrorCode> {
        self.object_lock.map(|_| ()).ok_or(ErrorCode::InvalidRequest)
    }

    /// Changes what is kept beside a version.
    pub(crate) fn change(
        &mut self,
        hand: Hand<'_>,
        which: Which<'_>,
        kind: Option<EventKind>,
        change: impl FnOnce(&mut Object) -> Result<(), ErrorCode>,
    ) -> Result<(), ErrorCode> {
        let id = found(self, which)?.0.id.clone();
        let told_id = self.told_id(&id);
        let version = self.version_mut(which.key, &id).ok_or(ErrorCode::NoSuchVersion)?;
        let object = version.object.as_mut().ok_or(ErrorCode::MethodNotAllowed)?;
        change(object)?;
        if let Some(kind) = kind {
            let told = Told::of(kind, which.key, told_id, Some(object));
            self.tell(hand, told);
        }
        Ok(())
    }
}
