//! Multipart uploads as the SDK asks for them.

use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{CompletedMultipartUpload, CompletedPart};
use stayput_conformance::{Answer, Request};

use super::{absent, answer, done, header_of, map, matches, range_of, source};
use crate::server::Bucket;

pub(super) async fn upload(bucket: &Bucket, request: Request) -> Answer {
    let (client, name) = (&bucket.client, &bucket.name);
    match request {
        Request::BeginUpload { key, metadata, tags } => {
            let begin = client.create_multipart_upload().bucket(name).key(key);
            let begin = begin
                .set_metadata(Some(map(metadata)))
                .set_tagging(header_of(&tags));
            answer(begin.send().await, |output| Answer {
                upload: output.upload_id,
                ..Answer::default()
            })
        }
        Request::UploadPart {
            key,
            upload,
            number,
            body,
        } => {
            let part = client.upload_part().bucket(name).key(key).upload_id(upload);
            let part = part.part_number(number.into()).body(ByteStream::from(body));
            answer(part.send().await, |output| Answer {
                etag: output.e_tag,
                ..Answer::default()
            })
        }
        Request::UploadPartCopy {
            key,
            upload,
            number,
            from,
            range,
        } => {
            let part = client.upload_part_copy().bucket(name).key(key).upload_id(upload);
            let part = part
                .part_number(number.into())
                .copy_source(source(bucket, &from))
                .set_copy_source_range(range_of(range));
            answer(part.send().await, |output| Answer {
                etag: output
                    .copy_part_result()
                    .and_then(|r| r.e_tag())
                    .map(str::to_owned),
                ..Answer::default()
            })
        }
        Request::CompleteUpload {
            key,
            upload,
            parts,
            condition,
        } => {
            let parts = parts.into_iter().map(|(number, etag)| {
                CompletedPart::builder()
                    .part_number(number.into())
                    .e_tag(etag)
                    .build()
            });
            let parts = CompletedMultipartUpload::builder()
                .set_parts(Some(parts.collect()))
                .build();
            let complete = client
                .complete_multipart_upload()
                .bucket(name)
                .key(key)
                .upload_id(upload);
            let complete = complete
                .multipart_upload(parts)
                .set_if_none_match(absent(&condition))
                .set_if_match(matches(&condition));
            answer(complete.send().await, |output| Answer {
                version: output.version_id,
                etag: output.e_tag,
                ..Answer::default()
            })
        }
        Request::AbortUpload { key, upload } => {
            let abort = client
                .abort_multipart_upload()
                .bucket(name)
                .key(key)
                .upload_id(upload);
            answer(abort.send().await, done)
        }
        Request::ListUploads => {
            let list = client.list_multipart_uploads().bucket(name);
            answer(list.send().await, |output| {
                let uploads = output.uploads().iter().map(|upload| {
                    let text = |part: Option<&str>| part.unwrap_or_default().to_owned();
                    (text(upload.key()), text(upload.upload_id()))
                });
                Answer {
                    uploads: uploads.collect(),
                    ..Answer::default()
                }
            })
        }
        other => panic!("{other:?} is about no upload"),
    }
}
