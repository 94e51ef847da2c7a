//! Multipart uploads.

use std::ops::RangeInclusive;

use super::reading::{bytes, found, is_readable};
use super::{Condition, Operations, Which, Written};
use crate::error::ErrorCode;
use crate::object::{Content, Object};
use crate::uploads::Upload;
use crate::world::Contents;

impl Operations {
    /// CreateMultipartUpload. The object says metadata, tags and storage class; its content isn't used. Gives the upload's id.
    ///
    /// # Errors
    /// S3's own: no such bucket.
    pub fn begin_upload(&self, key: &str, object: Object) -> Result<String, ErrorCode> {
        self.request("CreateMultipartUpload", key, None, |contents, hand| {
            Ok(contents.begin_upload(hand, key, object))
        })
    }

    /// UploadPart. Gives the part's ETag.
    ///
    /// # Errors
    /// S3's own: no such upload of this key; a number that isn't between 1 and 10,000.
    pub fn upload_part(
        &self,
        key: &str,
        upload: &str,
        number: u32,
        content: impl Into<Content>,
    ) -> Result<String, ErrorCode> {
        let content = content.into();
        self.request("UploadPart", key, None, |contents, _| {
            contents.upload_of(key, upload)?;
            contents.upload_part(upload, number, content)
        })
    }

    /// UploadPartCopy: a part that is an object of the bucket, or some bytes of it, both ends included. Gives the part's ETag.
    ///
    /// # Errors
    /// As [`Self::upload_part`] and [`Self::copy`].
    pub fn upload_part_copy(
        &self,
        key: &str,
        upload: &str,
        number: u32,
        from: Which<'_>,
        range: Option<RangeInclusive<u64>>,
    ) -> Result<String, ErrorCode> {
        self.request("UploadPartCopy", key, None, |contents, _| {
            contents.upload_of(key, upload)?;
            let content = contents.part_of(from, range)?;
            contents.upload_part(upload, number, content)
        })
    }

    /// CompleteMultipartUpload with these parts, by number and ETag.
    ///
    /// # Errors
    /// S3's own: no such upload of this key; a part that isn't there or has another ETag; parts out of order; a part that isn't the last and is
    /// smaller than 5 MiB; the condition doesn't hold, after which the upload is still there.
    pub fn complete_upload(
        &self,
        key: &str,
        upload: &str,
        parts: &[(u32, String)],
        condition: &Condition,
    ) -> Result<Written, ErrorCode> {
        self.request("CompleteMultipartUpload", key, None, |contents, hand| {
            contents.upload_of(key, upload)?;
            contents.holds(key, condition)?;
            contents.complete_upload(hand, upload, parts)
        })
    }

    /// AbortMultipartUpload.
    ///
    /// # Errors
    /// S3's own: no such upload of this key.
    pub fn abort_upload(&self, key: &str, upload: &str) -> Result<(), ErrorCode> {
        self.request("AbortMultipartUpload", key, None, |contents, _| {
            contents.upload_of(key, upload)?;
            contents.uploads.remove(upload);
            Ok(())
        })
    }

    /// ListMultipartUploads below a prefix, with the parts that ListParts tells.
    ///
    /// # Errors
    /// S3's own: no such bucket.
    pub fn uploads(&self, prefix: &str) -> Result<Vec<Upload>, ErrorCode> {
        self.request("ListMultipartUploads", prefix, None, |contents, _| {
            let mut uploads = contents.open_uploads();
            uploads.retain(|upload| upload.key.starts_with(prefix));
            Ok(uploads)
        })
    }
}

impl Contents {
    /// What a part would be that is copied.
    pub(crate) fn part_of(
        &self,
        from: Which<'_>,
        range: Option<RangeInclusive<u64>>,
    ) -> Result<Content, ErrorCode> {
        let (_, source) = found(self, from).map_err(|code| match code {
            ErrorCode::MethodNotAllowed => ErrorCode::InvalidRequest,
            code => code,
        })?;
        is_readable(source)?;
        match (&source.content, range) {
            (content, None) => Ok(content.clone()),
            (content, Some(range)) if *range.end() >= content.len() => Err(ErrorCode::InvalidRange),
            (Content::Bytes(_), range) => Ok(bytes(&source.content, range)?.into()),
            (Content::Zeroes(_), Some(range)) => Ok(Content::Zeroes(length(&range))),
            (Content::Withheld(_), Some(range)) => Ok(Content::Withheld(length(&range))),
        }
    }
}

fn length(range: &RangeInclusive<u64>) -> u64 {
    (range.end() + 1).saturating_sub(*range.start())
}
