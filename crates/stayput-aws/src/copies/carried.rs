//! What a copy carries beside the bytes: what its source said of itself, and that it is ours.

use aws_sdk_s3::operation::copy_object::builders::CopyObjectFluentBuilder;
use aws_sdk_s3::operation::create_multipart_upload::builders::CreateMultipartUploadFluentBuilder;
use aws_sdk_s3::operation::head_object::HeadObjectOutput;
use aws_sdk_s3::types::{MetadataDirective, ServerSideEncryption, StorageClass};
use s3_documents::encoding::encode_percent;
use stayput_core::restoring::{Condition, Permit, copy_metadata};

use crate::s3::user_metadata;

/// User metadata of one object is at most so long, names and values in bytes (S3's limit of 2 KB).
const LONGEST_METADATA: usize = 2048;

/// The source of a copy, as the header names it.
pub(super) fn copy_source(permit: &Permit) -> String {
    let at = permit.location();
    format!(
        "{}/{}?versionId={}",
        at.bucket(),
        encode_percent(at.key()),
        encode_percent(permit.source().version.as_str())
    )
}

/// `If-None-Match`, where nothing may be visible.
pub(super) fn if_none_match(permit: &Permit) -> Option<String> {
    (permit.condition() == Condition::NothingVisible).then(|| "*".to_owned())
}

/// `If-Match`, where a visible version is copied onto itself.
pub(super) fn if_match(permit: &Permit) -> Option<String> {
    match permit.condition() {
        Condition::NothingVisible => None,
        Condition::StillItself(etag) => Some(etag.to_owned()),
    }
}

pub(super) fn storage_class(permit: &Permit) -> StorageClass {
    StorageClass::from(permit.storage_class().unwrap_or("STANDARD"))
}

pub(super) fn is_kms(head: &HeadObjectOutput) -> bool {
    matches!(
        head.server_side_encryption(),
        Some(ServerSideEncryption::AwsKms | ServerSideEncryption::AwsKmsDsse)
    )
}

/// A copy says of itself what its source said, and that it is ours.
pub(super) fn with_metadata(
    request: CopyObjectFluentBuilder,
    permit: &Permit,
    head: &HeadObjectOutput,
) -> CopyObjectFluentBuilder {
    let request = request
        .metadata_directive(MetadataDirective::Replace)
        .set_metadata(Some(metadata(permit, head).into_iter().collect()))
        // REPLACE takes these away too, unless they are said again.
        .set_cache_control(head.cache_control().map(str::to_owned))
        .set_content_disposition(head.content_disposition().map(str::to_owned))
        .set_content_encoding(head.content_encoding().map(str::to_owned))
        .set_content_language(head.content_language().map(str::to_owned))
        .set_content_type(head.content_type().map(str::to_owned))
        .set_website_redirect_location(head.website_redirect_location().map(str::to_owned));
    #[expect(deprecated, reason = "the header itself isn't, and it must be kept")]
    request.set_expires(head.expires().copied())
}

/// An upload knows no source: everything is said anew.
pub(super) fn upload_with_metadata(
    request: CreateMultipartUploadFluentBuilder,
    permit: &Permit,
    head: &HeadObjectOutput,
) -> CreateMultipartUploadFluentBuilder {
    let mut request = request
        .storage_class(storage_class(permit))
        .set_server_side_encryption(head.server_side_encryption().cloned())
        .set_metadata(Some(metadata(permit, head).into_iter().collect()))
        .set_cache_control(head.cache_control().map(str::to_owned))
        .set_content_disposition(head.content_disposition().map(str::to_owned))
        .set_content_encoding(head.content_encoding().map(str::to_owned))
        .set_content_language(head.content_language().map(str::to_owned))
        .set_content_type(head.content_type().map(str::to_owned))
        .set_website_redirect_location(head.website_redirect_location().map(str::to_owned));
    if is_kms(head) {
        request = request
            .set_ssekms_key_id(head.ssekms_key_id().map(str::to_owned))
            .set_bucket_key_enabled(head.bucket_key_enabled());
    }
    #[expect(deprecated, reason = "the header itself isn't, and it must be kept")]
    request.set_expires(head.expires().copied())
}

/// The object's own user metadata and ours. Where both don't fit, the name of the rule is left out: the finding has it too.
fn metadata(permit: &Permit, head: &HeadObjectOutput) -> Vec<(String, String)> {
    let ours: Vec<(String, String)> = permit
        .metadata()
        .into_iter()
        .map(|(name, value)| (name.to_owned(), header_value(&value)))
        .collect();
    let mut all = user_metadata(head.metadata());
    all.retain(|(name, _)| !ours.iter().any(|(own, _)| own == name));
    all.extend(ours);
    let length: usize = all.iter().map(|(name, value)| name.len() + value.len()).sum();
    if length > LONGEST_METADATA {
        all.retain(|(name, _)| name != copy_metadata::RULE);
    }
    all
}

/// Headers hold ASCII that can be seen; a rule may be named with anything.
fn header_value(text: &str) -> String {
    if text.bytes().all(|b| (0x20..0x7f).contains(&b)) {
        text.to_owned()
    } else {
        encode_percent(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stayput_core::location::ObjectLocation;
    use stayput_core::restoring::Source;
    use stayput_core::timestamp::Timestamp;
    use stayput_core::version::VersionId;

    fn permit() -> Permit {
        Permit::by_a_person(
            ObjectLocation::new("b", "k"),
            Source {
                version: VersionId::new("v1"),
                size: 3,
                etag: "\"e\"".to_owned(),
                first_written: Timestamp::from_millis(0),
                restored_before: 1,
            },
        )
    }

    #[test]
    fn a_copy_carries_its_own_metadata_and_ours_once() {
        let head = HeadObjectOutput::builder()
            .metadata("Owner", "flink")
            .metadata(copy_metadata::COUNT, "1")
            .build();
        let all = metadata(&permit(), &head);
        let value = |name: &str| {
            let values: Vec<&str> = all
                .iter()
                .filter(|(n, _)| n == name)
                .map(|(_, v)| v.as_str())
                .collect();
            values.join("|")
        };
        assert_eq!(value("owner"), "flink");
        assert_eq!(value(copy_metadata::COUNT), "2");
        assert_eq!(value(copy_metadata::SOURCE_VERSION), "v1");
        assert_eq!(value(copy_metadata::SOURCE_LAST_MODIFIED), "1970-01-01T00:00:00Z");
    }

    #[test]
    fn names_that_no_header_takes_are_written_in_ascii() {
        assert_eq!(header_value("expire after 30 days"), "expire after 30 days");
        assert_eq!(header_value("lösche\n"), "l%C3%B6sche%0A");
    }
}
