//! Bringing back what is too large for one request: an upload onto its own key, whose parts are ranges of the version.

use std::future::Future;

use serde::{Deserialize, Serialize};
use stayput_core::location::ObjectLocation;
use stayput_core::restoring::Permit;
use stayput_core::restoring::parts::{PartRange, PartSizes};
use stayput_core::timestamp::Timestamp;
use stayput_core::version::VersionId;

use super::{Copied, PortError};

/// An upload that a Stayput began, and that is neither completed nor abandoned as far as is known.
///
/// Only the guard makes one: from the answer to [`CopyInParts::begin`], or from its memory of such an answer. So nobody can complete or abandon
/// an upload of Flink's or somebody else's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OwnUpload(Remembered);

/// An upload as the memory has it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Remembered {
    pub(crate) bucket: String,
    pub(crate) key: String,
    pub(crate) upload: String,
    pub(crate) source: VersionId,
    pub(crate) size: u64,
    pub(crate) part: u64,
    pub(crate) begun: Timestamp,
    /// It was completed or abandoned.
    pub(crate) ended: bool,
}

impl OwnUpload {
    pub(crate) fn begun(permit: &Permit, upload: String, part: u64, begun: Timestamp) -> Self {
        Self(Remembered {
            bucket: permit.location().bucket().to_owned(),
            key: permit.location().key().to_owned(),
            upload,
            source: permit.source().version.clone(),
            size: permit.source().size,
            part,
            begun,
            ended: false,
        })
    }

    /// As the memory has it; `None`: it has ended.
    pub(crate) fn remembered(document: Remembered) -> Option<Self> {
        (!document.ended).then_some(Self(document))
    }

    pub(crate) fn document(&self, ended: bool) -> Remembered {
        Remembered {
            ended,
            ..self.0.clone()
        }
    }

    /// The id that S3 gave it.
    pub fn id(&self) -> &str {
        &self.0.upload
    }

    /// The object that it will be.
    pub fn location(&self) -> ObjectLocation {
        ObjectLocation::new(&*self.0.bucket, &*self.0.key)
    }

    /// The version that its parts are of.
    pub fn source(&self) -> &VersionId {
        &self.0.source
    }

    /// How long its parts are, in bytes, but for the last.
    pub fn part(&self) -> u64 {
        self.0.part
    }

    /// When it was begun.
    pub fn began_at(&self) -> Timestamp {
        self.0.begun
    }

    /// Whether it makes what this permit allows.
    pub fn is_of(&self, permit: &Permit) -> bool {
        self.location() == *permit.location()
            && self.0.source == permit.source().version
            && self.0.size == permit.source().size
    }
}

/// A part that is there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CopiedPart {
    /// Its number, from 1 on.
    pub number: u32,
    /// Length in bytes.
    pub size: u64,
    /// Its ETag, which completing the upload must name.
    pub etag: String,
}

/// Copying a version in parts. Nothing of it is visible before it is complete, and completing it writes only under the condition of its permit.
pub trait CopyInParts {
    /// What is longer than one request copies, and how long parts are.
    fn sizes(&self) -> PartSizes;

    /// Whether there is time for another part before the program must end.
    fn has_time(&self) -> bool;

    /// CreateMultipartUpload, with all that the copy shall carry: see [`super::CopyOnCondition::copy_on_condition`]. The upload's id.
    fn begin(&self, permit: &Permit) -> impl Future<Output = Result<String, PortError>> + Send;

    /// UploadPartCopy of a range of the permit's version.
    fn copy_part(
        &self,
        permit: &Permit,
        upload: &OwnUpload,
        part: &PartRange,
    ) -> impl Future<Output = Result<CopiedPart, PortError>> + Send;

    /// ListParts. [`super::PortErrorKind::NotFound`]: there is no such upload any more.
    fn parts(&self, upload: &OwnUpload) -> impl Future<Output = Result<Vec<CopiedPart>, PortError>> + Send;

    /// CompleteMultipartUpload under the permit's condition. [`super::PortErrorKind::Precondition`]: it doesn't hold; nothing was written.
    fn complete(
        &self,
        permit: &Permit,
        upload: &OwnUpload,
        parts: &[CopiedPart],
    ) -> impl Future<Output = Result<Copied, PortError>> + Send;

    /// AbortMultipartUpload: its parts are gone, which nobody could read. One that isn't there any more is no failure.
    fn abandon(&self, upload: &OwnUpload) -> impl Future<Output = Result<(), PortError>> + Send;
}
