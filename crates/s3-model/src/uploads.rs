//! Multipart uploads: begun, filled part by part, and completed or aborted.

use std::collections::BTreeMap;

use md5::{Digest, Md5};
use s3_documents::bucket::Versioning;
use stayput_core::timestamp::Timestamp;

use crate::bucket::ModelBucket;
use crate::error::ErrorCode;
use crate::event::EventKind;
use crate::object::{Content, Object, quoted_hex};
use crate::operations::Written;
use crate::world::{Contents, Hand};

/// All parts but the last have so many bytes at least: 5 MiB.
const SMALLEST_PART: u64 = 5 << 20;
/// Parts are numbered from 1 to this.
const PARTS: u32 = 10_000;

/// An upload that is neither completed nor aborted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Upload {
    /// Its id.
    pub id: String,
    /// The key that it will be.
    pub key: String,
    /// When it was begun, to the second.
    pub begun: Timestamp,
    /// The number of each part that is there, and its length in bytes.
    pub parts: BTreeMap<u32, u64>,
}

#[derive(Debug)]
pub(crate) struct OpenUpload {
    key: String,
    begun: Timestamp,
    /// Metadata, tags and class of what it will be.
    as_object: Object,
    parts: BTreeMap<u32, Content>,
}

impl ModelBucket {
    /// CreateMultipartUpload. The object says metadata, tags and storage class; its content isn't used. Gives the upload's id.
    pub fn begin_upload(&self, key: &str, object: Object) -> String {
        self.state.contents().begin_upload(self.hand(), key, object)
    }

    /// UploadPart: the part of this number, 1 to 10,000, in place of one that was there. Gives its ETag.
    ///
    /// # Errors
    /// No such upload; no such number.
    pub fn upload_part(
        &self,
        id: &str,
        number: u32,
        content: impl Into<Content>,
    ) -> Result<String, ErrorCode> {
        self.state.contents().upload_part(id, number, content.into())
    }

    /// CompleteMultipartUpload, with these parts by number and ETag.
    ///
    /// # Errors
    /// No such upload; a part that isn't there or has another ETag; parts out of order; a part that isn't the last and is smaller than 5 MiB.
    pub fn complete_upload(&self, id: &str, parts: &[(u32, String)]) -> Result<Written, ErrorCode> {
        self.state.contents().complete_upload(self.hand(), id, parts)
    }

    /// AbortMultipartUpload. Whether there was one of this id.
    pub fn abort_upload(&self, id: &str) -> bool {
        self.state.contents().uploads.remove(id).is_some()
    }

    /// The uploads that are neither completed nor aborted, by key, of each key the oldest first.
    pub fn uploads(&self) -> Vec<Upload> {
        self.state.contents().open_uploads()
    }
}

impl OpenUpload {
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    pub(crate) fn begun(&self) -> Timestamp {
        self.begun
    }

    /// The parts that are there, by number.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (u32, &Content)> {
        self.parts.iter().map(|(number, part)| (*number, part))
    }
}

impl Contents {
    pub(crate) fn begin_upload(&mut self, hand: Hand<'_>, key: &str, object: Object) -> String {
        let id = format!("upload-{}", hand.world.fresh_id().as_str());
        let upload = OpenUpload {
            key: key.to_owned(),
            begun: hand.world.last_modified(),
            as_object: object,
            parts: BTreeMap::new(),
        };
        self.uploads.insert(id.clone(), upload);
        id
    }

    pub(crate) fn upload_part(
        &mut self,
        id: &str,
        number: u32,
        content: Content,
    ) -> Result<String, ErrorCode> {
        let upload = self.uploads.get_mut(id).ok_or(ErrorCode::NoSuchUpload)?;
        if !(1..=PARTS).contains(&number) {
            return Err(ErrorCode::InvalidArgument);
        }
        let etag = content.etag();
        upload.parts.insert(number, content);
        Ok(etag)
    }

    /// The upload of this id, if it is one of this key.
    pub(crate) fn upload_of(&self, key: &str, id: &str) -> Result<&OpenUpload, ErrorCode> {
        let upload = self.uploads.get(id).filter(|upload| upload.key == key);
        upload.ok_or(ErrorCode::NoSuchUpload)
    }

    /// The object is as old as the upload: S3 dates it when it was begun, and where versions are kept it takes the place of that age among
    /// them. What was written or deleted since then stays on top.
    pub(crate) fn complete_upload(
        &mut self,
        hand: Hand<'_>,
        id: &str,
        parts: &[(u32, String)],
    ) -> Result<Written, ErrorCode> {
        let upload = self.uploads.get(id).ok_or(ErrorCode::NoSuchUpload)?;
        if parts.is_empty() {
            return Err(ErrorCode::MalformedXml);
        }
        if !parts.is_sorted_by(|a, b| a.0 < b.0) {
            return Err(ErrorCode::InvalidPartOrder);
        }
        let mut contents = Vec::with_capacity(parts.len());
        let mut digests = Md5::new();
        for (number, etag) in parts {
            let part = upload
                .parts
                .get(number)
                .filter(|part| part.etag().trim_matches('"') == etag.trim_matches('"'));
            let part = part.ok_or(ErrorCode::InvalidPart)?;
            digests.update(part.digest());
            contents.push(part);
        }
        let but_the_last = contents.split_last().map_or(&[][..], |(_, others)| others);
        if but_the_last.iter().any(|part| part.len() < SMALLEST_PART) {
            return Err(ErrorCode::EntityTooSmall);
        }
        let content = Content::joined(&contents);
        let etag = quoted_hex(digests.finalize().into(), Some(parts.len()));
        let object = Object {
            content,
            etag,
            ..upload.as_object.clone()
        };
        let (key, begun) = (upload.key.clone(), upload.begun);
        let written = self.write_at(hand, &key, object, begun, EventKind::UploadCompleted)?;
        self.uploads.remove(id);
        if self.versioning == Versioning::Enabled
            && let Some(stack) = self.keys.get_mut(&key)
            && let Some(version) = stack.pop()
        {
            let below = stack.iter().rposition(|v| v.last_modified <= begun);
            stack.insert(below.map_or(0, |place| place + 1), version);
        }
        Ok(written)
    }

    pub(crate) fn open_uploads(&self) -> Vec<Upload> {
        let uploads = self.uploads.iter().map(|(id, upload)| Upload {
            id: id.clone(),
            key: upload.key.clone(),
            begun: upload.begun,
            parts: upload.parts.iter().map(|(n, part)| (*n, part.len())).collect(),
        });
        let mut uploads: Vec<Upload> = uploads.collect();
        uploads.sort_by(|a, b| (&a.key, a.begun).cmp(&(&b.key, b.begun)));
        uploads
    }
}
