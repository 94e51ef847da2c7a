//! DeleteObject and DeleteObjects.

use stayput_core::version::VersionId;

use super::reading::is_same;
use super::{Deleted, Operations, Which};
use crate::client::Model;
use crate::error::ErrorCode;
use crate::event::EventKind;
use crate::fault::{Answer, IN_BATCH};
use crate::object::{Object, RetentionMode};
use crate::world::{Contents, Hand};

/// DeleteObjects takes so many keys at most.
const BATCH: usize = 1000;

impl Operations {
    /// DeleteObject. Without a version id a marker hides the key, also where nothing is; with one the version is gone for good.
    ///
    /// # Errors
    /// S3's own: object lock keeps the version. That nothing is there is no error.
    pub fn delete<'w>(&self, which: impl Into<Which<'w>>) -> Result<Deleted, ErrorCode> {
        let which = which.into();
        self.request("DeleteObject", which.key, which.version, |contents, hand| {
            contents.delete_which(hand, which, false)
        })
    }

    /// DeleteObject of a version, going past a retention in governance mode.
    ///
    /// # Errors
    /// As [`Self::delete`].
    pub fn delete_bypassing_governance(&self, key: &str, version: &VersionId) -> Result<Deleted, ErrorCode> {
        self.request("DeleteObject", key, Some(version), |contents, hand| {
            contents.delete_which(hand, (key, version).into(), true)
        })
    }

    /// DeleteObject with `If-Match`: only if what is visible has this ETag.
    ///
    /// # Errors
    /// As [`Self::delete`], and that it has another.
    pub fn delete_if_match(&self, key: &str, etag: &str) -> Result<Deleted, ErrorCode> {
        self.request("DeleteObject", key, None, |contents, hand| {
            let visible = contents.current(key).and_then(|v| v.object.as_ref());
            match visible {
                Some(object) if is_same(&object.etag, etag) => contents.delete_which(hand, key.into(), false),
                Some(_) => Err(ErrorCode::PreconditionFailed),
                None => Err(ErrorCode::NoSuchKey),
            }
        })
    }

    /// DeleteObjects: an answer to each of up to 1,000, in their order. The request goes well even if none of them does.
    ///
    /// # Errors
    /// Of the whole request: too many, or none.
    pub fn delete_all(&self, all: &[Which<'_>]) -> Result<Vec<Result<Deleted, ErrorCode>>, ErrorCode> {
        let client = &self.client;
        self.request("DeleteObjects", "", None, |contents, hand| {
            if all.is_empty() || all.len() > BATCH {
                return Err(ErrorCode::MalformedXml);
            }
            let mut answers = Vec::with_capacity(all.len());
            for which in all {
                match self.delete_in_batch(client, contents, hand, *which) {
                    Some(answer) => answers.push(answer),
                    None => break,
                }
            }
            Ok(answers)
        })
    }

    /// `None`: the caller dies here, and what follows in the batch isn't done.
    fn delete_in_batch(
        &self,
        client: &Model,
        contents: &mut Contents,
        hand: Hand<'_>,
        which: Which<'_>,
    ) -> Option<Result<Deleted, ErrorCode>> {
        let hit = client.hit_in_batch(&self.call(IN_BATCH, which.key, which.version));
        let mut done = None;
        if hit.is_none_or(|hit| hit.after_the_effect) {
            done = Some(contents.delete_which(hand, which, false));
        }
        match hit.map(|hit| hit.answer) {
            Some(Answer::Error(kind)) => Some(Err(ErrorCode::of_kind(kind))),
            Some(Answer::Code(code)) => Some(Err(code)),
            Some(Answer::Crash) => {
                client.crash();
                None
            }
            None => done,
        }
    }
}

impl Contents {
    fn delete_which(&mut self, hand: Hand<'_>, which: Which<'_>, bypass: bool) -> Result<Deleted, ErrorCode> {
        let Some(id) = which.version else {
            let last_modified = hand.world.last_modified();
            let marker = self.delete(hand, which.key, last_modified);
            return Ok(Deleted {
                is_marker: marker.is_some(),
                version: marker,
            });
        };
        let object = self.version(which.key, id).and_then(|v| v.object.as_ref());
        if object.is_some_and(|object| keeps(object, hand, bypass)) {
            return Err(ErrorCode::AccessDenied);
        }
        let removed = self.delete_version(hand, which.key, id, EventKind::Deleted);
        Ok(Deleted {
            version: Some(id.clone()),
            is_marker: removed.is_some_and(|removed| removed.object.is_none()),
        })
    }
}

/// Whether object lock keeps a version from being removed.
fn keeps(object: &Object, hand: Hand<'_>, bypass: bool) -> bool {
    let governed = object
        .retention
        .is_some_and(|retention| retention.mode == RetentionMode::Governance);
    object.is_locked(hand.world.now()) && (object.legal_hold || !(bypass && governed))
}
