//! The port by which large versions are copied in parts, on the model.

use stayput_core::restoring::Permit;
use stayput_core::restoring::parts::{PartRange, PartSizes};
use stayput_guard::port::{Copied, CopiedPart, CopyInParts, OwnUpload, PortError, PortErrorKind};

use crate::client::{Model, Refusal};
use crate::operations::{Condition, Which, found};
use crate::ports::refused_altogether;
use crate::world::{Contents, Hand};

impl CopyInParts for Model {
    fn sizes(&self) -> PartSizes {
        PartSizes::S3
    }

    fn has_time(&self) -> bool {
        self.time_for_parts() != Some(0)
    }

    async fn begin(&self, permit: &Permit) -> Result<String, PortError> {
        self.on_upload("CreateMultipartUpload", permit, |contents, hand| {
            let version = Some(&permit.source().version);
            let key = permit.location().key();
            let (_, source) = found(contents, Which { key, version })?;
            refused_altogether(source)?;
            let mut object = source.copied();
            object.storage_class = permit.storage_class().map(str::to_owned);
            for (name, value) in permit.metadata() {
                object.metadata.insert(name.to_owned(), value);
            }
            Ok(contents.begin_upload(hand, key, object))
        })
    }

    async fn copy_part(
        &self,
        permit: &Permit,
        upload: &OwnUpload,
        part: &PartRange,
    ) -> Result<CopiedPart, PortError> {
        let copied = self.on_upload("UploadPartCopy", permit, |contents, _| {
            let key = permit.location().key();
            let from = Which {
                key,
                version: Some(&permit.source().version),
            };
            refused_altogether(found(contents, from)?.1)?;
            let content = contents.part_of(from, Some(part.bytes.clone()))?;
            contents.upload_of(key, upload.id())?;
            Ok(CopiedPart {
                number: part.number,
                size: content.len(),
                etag: contents.upload_part(upload.id(), part.number, content)?,
            })
        });
        if copied.is_ok() {
            self.spend_time_for_a_part();
        }
        copied
    }

    async fn parts(&self, upload: &OwnUpload) -> Result<Vec<CopiedPart>, PortError> {
        let at = upload.location();
        self.call("ListParts", at.bucket(), at.key(), None, |model| {
            let parts = model.existing(at.bucket()).and_then(|bucket| {
                let contents = bucket.contents();
                let parts = contents.upload_of(at.key(), upload.id())?.parts();
                Ok(parts
                    .map(|(number, content)| CopiedPart {
                        number,
                        size: content.len(),
                        etag: content.etag(),
                    })
                    .collect())
            });
            (parts, 1)
        })
    }

    async fn complete(
        &self,
        permit: &Permit,
        upload: &OwnUpload,
        parts: &[CopiedPart],
    ) -> Result<Copied, PortError> {
        let honours = !self.ignores_conditions();
        let completed = self.on_upload("CompleteMultipartUpload", permit, |contents, hand| {
            let key = permit.location().key();
            contents.upload_of(key, upload.id())?;
            if honours {
                contents.holds(key, &Condition::of(permit))?;
            }
            let parts: Vec<(u32, String)> = parts.iter().map(|p| (p.number, p.etag.clone())).collect();
            let written = contents.complete_upload(hand, upload.id(), &parts)?;
            Ok(written.version)
        });
        match completed {
            Ok(version) => Ok(Copied {
                version,
                condition_honoured: honours,
            }),
            // An earlier answer may have been lost: whoever asked looks again.
            Err(e) if e.kind == PortErrorKind::NotFound => Err(PortError {
                kind: PortErrorKind::Conflict,
                ..e
            }),
            Err(e) => Err(e),
        }
    }

    async fn abandon(&self, upload: &OwnUpload) -> Result<(), PortError> {
        let at = upload.location();
        self.call("AbortMultipartUpload", at.bucket(), at.key(), None, |model| {
            let aborted = model.existing(at.bucket()).map(|bucket| {
                let mut contents = bucket.contents();
                if contents.upload_of(at.key(), upload.id()).is_ok() {
                    contents.uploads.remove(upload.id());
                }
            });
            (aborted, 1)
        })
    }
}

impl Model {
    fn on_upload<T>(
        &self,
        operation: &'static str,
        permit: &Permit,
        work: impl FnOnce(&mut Contents, Hand<'_>) -> Result<T, Refusal>,
    ) -> Result<T, PortError> {
        let at = permit.location();
        self.call(operation, at.bucket(), at.key(), None, |model| {
            let answer = model.existing(at.bucket()).and_then(|bucket| {
                let principal = model.principal();
                let hand = Hand {
                    world: &model.world,
                    principal: &principal,
                };
                work(&mut bucket.contents(), hand)
            });
            (answer, 1)
        })
    }
}
