//! Copies in parts: an upload onto the key whose parts are ranges of the version.

use aws_sdk_s3::config::{RequestChecksumCalculation, StalledStreamProtectionConfig};
use aws_sdk_s3::types::{CompletedMultipartUpload, CompletedPart};
use s3_documents::encoding::encode_percent;
use stayput_core::restoring::Permit;
use stayput_core::restoring::parts::{PartRange, PartSizes};
use stayput_core::version::VersionId;
use stayput_guard::port::{Copied, CopiedPart, CopyInParts, OwnUpload, PortError, PortErrorKind};

use super::{Copies, carried};
use crate::failure::Call;
use crate::paging::Pages;
use crate::probe::Kind;

impl CopyInParts for Copies {
    fn sizes(&self) -> PartSizes {
        self.sizes
    }

    fn has_time(&self) -> bool {
        !self.deadline.is_near()
    }

    async fn begin(&self, permit: &Permit) -> Result<String, PortError> {
        let at = permit.location();
        let head = self.head_of_source(permit).await?;
        let tagged = head.tag_count().is_some_and(|n| n > 0);
        let tags = match self.probe.kind() {
            Kind::Aws if !tagged => None,
            // Heads of other servers may not count tags.
            Kind::Aws | Kind::Other => self.tags(permit).await?,
        };
        let call = Call::on("CreateMultipartUpload", at.bucket(), at.key());
        let request = self
            .client
            .create_multipart_upload()
            .bucket(at.bucket())
            .key(at.key())
            .set_tagging(tags);
        let begun = carried::upload_with_metadata(request, permit, &head)
            .customize()
            // An upload with a checksum of the client's choice must name that of each part when it is completed. S3 makes its own.
            .config_override(
                aws_sdk_s3::config::Builder::default()
                    .request_checksum_calculation(RequestChecksumCalculation::WhenRequired),
            )
            .send()
            .await
            .map_err(|e| call.failed(&e));
        let begun = self.heed(begun).await?;
        let id = begun.upload_id().filter(|id| !id.is_empty()).map(str::to_owned);
        id.ok_or_else(|| call.nonsense("the answer doesn't name the upload"))
    }

    async fn copy_part(
        &self,
        permit: &Permit,
        upload: &OwnUpload,
        part: &PartRange,
    ) -> Result<CopiedPart, PortError> {
        let at = permit.location();
        let call = Call::on("UploadPartCopy", at.bucket(), at.key());
        self.pacer.turn().await;
        let answer = self
            .client
            .upload_part_copy()
            .bucket(at.bucket())
            .key(at.key())
            .upload_id(upload.id())
            .part_number(number(call, part.number)?)
            .copy_source(carried::copy_source(permit))
            .copy_source_range(format!("bytes={}-{}", part.bytes.start(), part.bytes.end()))
            .customize()
            .config_override(long())
            .send()
            .await
            .map_err(|e| call.failed(&e));
        let answer = self.heed(answer).await?;
        let etag = answer.copy_part_result().and_then(|r| r.e_tag());
        // An answer of 200 whose body broke off before the result says nothing.
        let etag = etag.ok_or_else(|| call.nonsense("the answer doesn't say that the part was copied"))?;
        Ok(CopiedPart {
            number: part.number,
            size: part.size(),
            etag: etag.to_owned(),
        })
    }

    async fn parts(&self, upload: &OwnUpload) -> Result<Vec<CopiedPart>, PortError> {
        let at = upload.location();
        let call = Call::on("ListParts", at.bucket(), at.key());
        let mut parts = Vec::new();
        let mut pages = Pages::default();
        let mut marker: Option<String> = None;
        loop {
            let page = self
                .client
                .list_parts()
                .bucket(at.bucket())
                .key(at.key())
                .upload_id(upload.id())
                .set_part_number_marker(marker.take())
                .send()
                .await
                .map_err(|e| call.failed(&e))?;
            for part in page.parts() {
                let number = part.part_number().and_then(|n| u32::try_from(n).ok());
                let size = part.size().and_then(|size| u64::try_from(size).ok());
                let (Some(number), Some(size), Some(etag)) = (number, size, part.e_tag()) else {
                    return Err(call.nonsense("a part without number, length or ETag"));
                };
                parts.push(CopiedPart {
                    number,
                    size,
                    etag: etag.to_owned(),
                });
            }
            if page.is_truncated() != Some(true) {
                return Ok(parts);
            }
            marker = page.next_part_number_marker().map(str::to_owned);
            pages.next(call, marker.as_deref(), None)?;
        }
    }

    async fn complete(
        &self,
        permit: &Permit,
        upload: &OwnUpload,
        parts: &[CopiedPart],
    ) -> Result<Copied, PortError> {
        self.pacer.turn().await;
        let habits = self.probe.habits(&self.client).await;
        let completed = if self.checks_and_writes_in_one(habits) {
            self.complete_now(permit, upload, parts).await
        } else {
            let write = self.complete_now(permit, upload, parts);
            self.between_two_looks(permit, "CompleteMultipartUpload", write)
                .await
        };
        self.heed(completed.map(|version| Copied {
            version,
            condition_honoured: habits.honours_condition,
        }))
        .await
    }

    async fn abandon(&self, upload: &OwnUpload) -> Result<(), PortError> {
        let at = upload.location();
        let call = Call::on("AbortMultipartUpload", at.bucket(), at.key());
        let answer = self
            .client
            .abort_multipart_upload()
            .bucket(at.bucket())
            .key(at.key())
            .upload_id(upload.id())
            .send()
            .await;
        match answer.map_err(|e| call.failed(&e)) {
            Err(e) if e.kind != PortErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }
}

impl Copies {
    /// The tags of the source, as the header has them; `None`: it has none, or the server knows of no tags.
    async fn tags(&self, permit: &Permit) -> Result<Option<String>, PortError> {
        let at = permit.location();
        let call = Call::on("GetObjectTagging", at.bucket(), at.key());
        let answer = self
            .client
            .get_object_tagging()
            .bucket(at.bucket())
            .key(at.key())
            .version_id(permit.source().version.as_str())
            .send()
            .await;
        let answer = match answer.map_err(|e| call.failed(&e)) {
            Ok(answer) => answer,
            Err(e) if matches!(e.kind, PortErrorKind::NotFound | PortErrorKind::Unsupported) => {
                return Ok(None);
            }
            Err(e) => return Err(e),
        };
        let pairs = answer
            .tag_set()
            .iter()
            .map(|tag| format!("{}={}", encode_percent(tag.key()), encode_percent(tag.value())));
        let tags = pairs.collect::<Vec<_>>().join("&");
        Ok(Some(tags).filter(|tags| !tags.is_empty()))
    }

    async fn complete_now(
        &self,
        permit: &Permit,
        upload: &OwnUpload,
        parts: &[CopiedPart],
    ) -> Result<Option<VersionId>, PortError> {
        let at = permit.location();
        let call = Call::on("CompleteMultipartUpload", at.bucket(), at.key());
        let mut all = Vec::with_capacity(parts.len());
        for part in parts {
            let completed = CompletedPart::builder()
                .part_number(number(call, part.number)?)
                .e_tag(&part.etag);
            all.push(completed.build());
        }
        let all = CompletedMultipartUpload::builder().set_parts(Some(all)).build();
        let answer = self
            .client
            .complete_multipart_upload()
            .bucket(at.bucket())
            .key(at.key())
            .upload_id(upload.id())
            .multipart_upload(all)
            .set_if_none_match(carried::if_none_match(permit))
            .set_if_match(carried::if_match(permit))
            .customize()
            .config_override(long())
            .send()
            .await;
        match answer.map_err(|e| call.failed(&e)) {
            Ok(answer) if answer.e_tag().is_some() => Ok(answer.version_id().map(VersionId::new)),
            Ok(_) => Err(call.nonsense("the answer doesn't say that the upload was completed")),
            // An earlier answer may have been lost: whoever asked looks again.
            Err(e) if e.kind == PortErrorKind::NotFound => Err(PortError {
                kind: PortErrorKind::Conflict,
                ..e
            }),
            Err(e) => Err(e),
        }
    }
}

/// A long copy says nothing for minutes before it says how it went.
fn long() -> aws_sdk_s3::config::Builder {
    aws_sdk_s3::config::Builder::default()
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
}

fn number(call: Call<'_>, number: u32) -> Result<i32, PortError> {
    i32::try_from(number).map_err(|_| call.error(PortErrorKind::Unsupported))
}
