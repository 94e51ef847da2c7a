//! Bringing a version back: a copy of it onto its own key, if nothing is visible there.

use aws_sdk_s3::Client;
use aws_sdk_s3::config::StalledStreamProtectionConfig;
use aws_sdk_s3::operation::copy_object::builders::CopyObjectFluentBuilder;
use aws_sdk_s3::operation::head_object::HeadObjectOutput;
use aws_sdk_s3::types::{MetadataDirective, ServerSideEncryption, StorageClass, TaggingDirective};
use s3_documents::encoding::encode_percent;
use stayput_core::location::ObjectLocation;
use stayput_core::restoring::{MAX_SINGLE_COPY_BYTES, Permit, copy_metadata};
use stayput_core::version::{KeyHistory, VersionEntry, VersionId, VersionKind};
use stayput_guard::port::{Copied, CopyIfAbsent, PortError, PortErrorKind, Reading, VersionsOf};

use crate::connection::Connection;
use crate::failure::Call;
use crate::pacer::Pacer;
use crate::probe::{Habits, Kind, Probe};
use crate::s3::{S3, user_metadata};

/// User metadata of one object is at most so long, names and values in bytes (S3's limit of 2 KB).
const LONGEST_METADATA: usize = 2048;

/// The hand that copies.
#[derive(Debug)]
pub struct Copies {
    client: Client,
    reading: S3,
    probe: Probe,
    pacer: Pacer,
}

impl Copies {
    /// Copies through this connection, at most `per_second` a second. Below `control` the server is asked, before the first copy, whether it
    /// honours the condition; without that prefix, and on servers other than AWS's, every copy is made between two listings.
    pub fn new(connection: &Connection, control: Option<ObjectLocation>, per_second: u32) -> Self {
        let kind = if connection.is_foreign() {
            Kind::Other
        } else {
            Kind::Aws
        };
        Self::with(connection.s3(), kind, control, per_second)
    }

    pub(crate) fn with(client: Client, kind: Kind, control: Option<ObjectLocation>, per_second: u32) -> Self {
        Self {
            reading: S3::with(client.clone()),
            client,
            probe: Probe::below(control, kind),
            pacer: Pacer::new(per_second),
        }
    }

    async fn copy(&self, permit: &Permit, habits: Habits) -> Result<Option<VersionId>, PortError> {
        let at = permit.location();
        let source = permit.source();
        let call = Call::on("HeadObject", at.bucket(), at.key());
        let head = self
            .client
            .head_object()
            .bucket(at.bucket())
            .key(at.key())
            .version_id(source.version.as_str())
            .send()
            .await
            .map_err(|e| call.failed(&e))?;
        let kms = matches!(
            head.server_side_encryption(),
            Some(ServerSideEncryption::AwsKms | ServerSideEncryption::AwsKmsDsse)
        );
        let call = Call::on("CopyObject", at.bucket(), at.key());
        let mut request = self
            .client
            .copy_object()
            .bucket(at.bucket())
            .key(at.key())
            .copy_source(format!(
                "{}/{}?versionId={}",
                at.bucket(),
                encode_percent(at.key()),
                encode_percent(source.version.as_str())
            ))
            .if_none_match("*")
            .tagging_directive(TaggingDirective::Copy)
            .storage_class(StorageClass::from(permit.storage_class().unwrap_or("STANDARD")))
            .set_server_side_encryption(head.server_side_encryption().cloned());
        if kms {
            request = request
                .set_ssekms_key_id(head.ssekms_key_id().map(str::to_owned))
                .set_bucket_key_enabled(head.bucket_key_enabled());
        }
        let tagged = head.tag_count().is_some_and(|n| n > 0);
        request = if tagged && !habits.keeps_tags {
            // Tags decide what a rule takes next. Without our metadata, the versions of the key tell how often it came back.
            request.metadata_directive(MetadataDirective::Copy)
        } else {
            with_metadata(request, permit, &head)
        };
        let answer = request
            .customize()
            // A long copy says nothing for minutes before it says how it went.
            .config_override(
                aws_sdk_s3::config::Builder::default()
                    .stalled_stream_protection(StalledStreamProtectionConfig::disabled()),
            )
            .send()
            .await
            .map_err(|e| call.failed(&e))?;
        // An answer of 200 whose body broke off before the result says nothing.
        if answer.copy_object_result().and_then(|r| r.e_tag()).is_none() {
            return Err(call.nonsense("the answer doesn't say that the copy was made"));
        }
        Ok(answer.version_id().map(VersionId::new))
    }

    async fn history(&self, at: &ObjectLocation) -> Result<KeyHistory, PortError> {
        let of = VersionsOf {
            bucket: at.bucket(),
            prefix: at.key(),
            by_directory: false,
            after_key: None,
            pages: None,
        };
        let mut entries = self.reading.versions(of).await?.entries;
        entries.retain(|e| e.key == at.key());
        Ok(KeyHistory::new(entries))
    }

    /// A copy by a server that may overwrite what is there: looked at before and after.
    async fn copy_between_two_looks(
        &self,
        permit: &Permit,
        habits: Habits,
    ) -> Result<Option<VersionId>, PortError> {
        let at = permit.location();
        let call = Call::on("CopyObject", at.bucket(), at.key());
        let before = self.history(at).await?;
        if before.current().is_some() {
            return Err(call
                .error(PortErrorKind::Precondition)
                .because("something is visible at the key, so nothing was sent"));
        }
        let made = self.copy(permit, habits).await?;
        let after = self.history(at).await?;
        let mut ours_above = false;
        for new in after
            .data_versions()
            .filter(|e| !before.entries().iter().any(|b| b.id == e.id))
        {
            // Copies of ours can be several: an answer was lost, and the SDK asked again; or another Stayput was at work.
            if Some(&new.id) == made.as_ref() || self.is_a_copy(permit, new).await? {
                ours_above = true;
                continue;
            }
            let id = &new.id;
            return Err(if ours_above {
                call.error(PortErrorKind::Unsupported).because(format!(
                    "somebody else wrote the key at the same moment (version {id}), and the copy lies on top of it: \
                     If-None-Match didn't keep the server from that. Look which of the two is wanted"
                ))
            } else {
                call.error(PortErrorKind::Precondition).because(format!(
                    "somebody else wrote the key at the same moment (version {id}), and that is on top: it stays"
                ))
            });
        }
        Ok(made)
    }

    /// Whether a version has the bytes of what was to be copied, or says that it is a copy of it.
    async fn is_a_copy(&self, permit: &Permit, version: &VersionEntry) -> Result<bool, PortError> {
        if let VersionKind::Data { size, etag, .. } = &version.kind
            && *size == permit.source().size
            && *etag == permit.source().etag
        {
            return Ok(true);
        }
        match self.reading.head(permit.location(), Some(&version.id)).await {
            Ok(head) => {
                Ok(head.metadata_value(copy_metadata::SOURCE_VERSION)
                    == Some(permit.source().version.as_str()))
            }
            // Whoever wrote it has taken it away for good.
            Err(e) if e.kind == PortErrorKind::NotFound => Ok(false),
            Err(e) => Err(e),
        }
    }
}

impl CopyIfAbsent for Copies {
    async fn copy_if_absent(&self, permit: &Permit) -> Result<Copied, PortError> {
        let at = permit.location();
        let size = permit.source().size;
        if size > MAX_SINGLE_COPY_BYTES {
            let call = Call::on("CopyObject", at.bucket(), at.key());
            return Err(call
                .error(PortErrorKind::TooLarge { size })
                .because("one request copies at most 5 GiB; copies in parts aren't made yet"));
        }
        self.pacer.turn().await;
        let habits = self.probe.habits(&self.client).await;
        let condition_honoured = habits.honours_condition;
        // SeaweedFS 4.48 refuses a copy onto what is visible, and takes one while somebody's write is under way: only AWS promises that the
        // check and the write are one.
        let copied = if condition_honoured && self.probe.kind() == Kind::Aws {
            self.copy(permit, habits).await
        } else {
            self.copy_between_two_looks(permit, habits).await
        };
        match copied {
            Ok(version) => Ok(Copied {
                version,
                condition_honoured,
            }),
            Err(e) => {
                if e.kind == PortErrorKind::Throttled {
                    self.pacer.slow_down().await;
                }
                Err(e)
            }
        }
    }
}

/// The copy says of itself what its source said, and that it is ours.
fn with_metadata(
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
    use stayput_core::restoring::Source;
    use stayput_core::timestamp::Timestamp;

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
