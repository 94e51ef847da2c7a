//! Bringing a version back: a copy of it onto its own key, if nothing is visible there, or if it is what is visible.

use std::time::Duration;

use aws_sdk_s3::Client;
use aws_sdk_s3::config::StalledStreamProtectionConfig;
use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::operation::head_object::HeadObjectOutput;
use aws_sdk_s3::types::{MetadataDirective, TaggingDirective};
use stayput_core::location::ObjectLocation;
use stayput_core::restoring::parts::PartSizes;
use stayput_core::restoring::{Permit, copy_metadata};
use stayput_core::thaw::ThawOrder;
use stayput_core::version::{KeyHistory, VersionEntry, VersionId, VersionKind};
use stayput_guard::port::{Copied, CopyOnCondition, PortError, PortErrorKind, Reading, VersionsOf};

use crate::connection::Connection;
use crate::deadline::Deadline;
use crate::failure::Call;
use crate::pacer::Pacer;
use crate::probe::{Habits, Kind, Probe};
use crate::s3::S3;

mod carried;
mod in_parts;
mod markers;
mod thawing;

/// So often a copy is tried in one call where each attempt needs a look; then it is left to the message that comes again.
const ATTEMPTS: u32 = 3;
const BEFORE_THE_SECOND: Duration = Duration::from_millis(200);

/// The hand that copies.
#[derive(Debug)]
pub struct Copies {
    client: Client,
    reading: S3,
    probe: Probe,
    pacer: Pacer,
    sizes: PartSizes,
    deadline: Deadline,
    thaw: ThawOrder,
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
            sizes: PartSizes::S3,
            deadline: Deadline::default(),
            thaw: ThawOrder::default(),
        }
    }

    /// Copies what is larger than `sizes.single` in parts of `sizes.part`, which no server takes below 5 MiB.
    #[must_use]
    pub fn in_parts_of(mut self, sizes: PartSizes) -> Self {
        self.sizes = sizes;
        self
    }

    /// Asks for archived versions so.
    #[must_use]
    pub fn thawing(mut self, order: ThawOrder) -> Self {
        self.thaw = order;
        self
    }

    /// Leaves a copy in parts to a later call when this is near.
    #[must_use]
    pub fn until(mut self, deadline: Deadline) -> Self {
        self.deadline = deadline;
        self
    }

    /// What the version that is copied says of itself.
    async fn head_of_source(&self, permit: &Permit) -> Result<HeadObjectOutput, PortError> {
        let at = permit.location();
        let call = Call::on("HeadObject", at.bucket(), at.key());
        self.client
            .head_object()
            .bucket(at.bucket())
            .key(at.key())
            .version_id(permit.source().version.as_str())
            .send()
            .await
            .map_err(|e| call.failed(&e))
    }

    async fn copy(
        &self,
        permit: &Permit,
        habits: Habits,
        retries: RetryConfig,
    ) -> Result<Option<VersionId>, PortError> {
        let at = permit.location();
        let head = self.head_of_source(permit).await?;
        let call = Call::on("CopyObject", at.bucket(), at.key());
        let mut request = self
            .client
            .copy_object()
            .bucket(at.bucket())
            .key(at.key())
            .copy_source(carried::copy_source(permit))
            .set_if_none_match(carried::if_none_match(permit))
            .set_if_match(carried::if_match(permit))
            .tagging_directive(TaggingDirective::Copy)
            .storage_class(carried::storage_class(permit))
            .set_server_side_encryption(head.server_side_encryption().cloned());
        if carried::is_kms(&head) {
            request = request
                .set_ssekms_key_id(head.ssekms_key_id().map(str::to_owned))
                .set_bucket_key_enabled(head.bucket_key_enabled());
        }
        let tagged = head.tag_count().is_some_and(|n| n > 0);
        request = if tagged && !habits.keeps_tags {
            // Tags decide what a rule takes next. Without our metadata, the versions of the key tell how often it came back.
            request.metadata_directive(MetadataDirective::Copy)
        } else {
            carried::with_metadata(request, permit, &head)
        };
        let answer = request
            .customize()
            // A long copy says nothing for minutes before it says how it went.
            .config_override(
                aws_sdk_s3::config::Builder::default()
                    .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
                    .retry_config(retries),
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

    /// A copy whose condition alone doesn't keep it from overwriting what is there: one whose answer was lost may have been made, and somebody may
    /// have come since, so that each attempt has a look of its own before it.
    async fn with_a_look_before_each_attempt(
        &self,
        permit: &Permit,
        habits: Habits,
    ) -> Result<Option<VersionId>, PortError> {
        let mut attempt = 1;
        loop {
            let copy = self.copy(permit, habits, RetryConfig::disabled());
            let copied = self.between_two_looks(permit, "CopyObject", copy).await;
            match self.heed(copied).await {
                Err(e) if e.retry_helps() && attempt < ATTEMPTS => {
                    tokio::time::sleep(BEFORE_THE_SECOND * attempt).await;
                    self.pacer.turn().await;
                    attempt += 1;
                }
                settled => return settled,
            }
        }
    }

    /// A write by a server that may overwrite what is there: looked at before and after.
    async fn between_two_looks(
        &self,
        permit: &Permit,
        operation: &'static str,
        write: impl Future<Output = Result<Option<VersionId>, PortError>>,
    ) -> Result<Option<VersionId>, PortError> {
        let at = permit.location();
        let call = Call::on(operation, at.bucket(), at.key());
        let before = self.history(at).await?;
        let visible = before.current().map(|v| &v.id);
        let expected = permit.is_repair().then_some(&permit.source().version);
        if visible != expected {
            return Err(call
                .error(PortErrorKind::Precondition)
                .because("what is visible at the key isn't what was looked at, so nothing was sent"));
        }
        let made = write.await?;
        let after = self.history(at).await?;
        let mut ours_above = false;
        for new in after
            .data_versions()
            .filter(|e| !before.entries().iter().any(|b| b.id == e.id))
        {
            // Copies of ours can be several: another Stayput was at work.
            if Some(&new.id) == made.as_ref() || self.is_a_copy(permit, new).await? {
                ours_above = true;
                continue;
            }
            let id = &new.id;
            return Err(if ours_above {
                call.error(PortErrorKind::Unsupported).because(format!(
                    "somebody else wrote the key at the same moment (version {id}), and the copy lies on top of it: \
                     the condition didn't keep the server from that. Look which of the two is wanted"
                ))
            } else {
                call.error(PortErrorKind::Precondition).because(format!(
                    "somebody else wrote the key at the same moment (version {id}), and that is on top: it stays"
                ))
            });
        }
        Ok(made)
    }

    /// SeaweedFS 4.48 refuses a copy onto what is visible, and takes one while somebody's write is under way: only AWS promises that the check
    /// and the write are one.
    fn checks_and_writes_in_one(&self, habits: Habits) -> bool {
        habits.honours_condition && self.probe.kind() == Kind::Aws
    }

    /// Goes slower from now on if the server asked for that.
    async fn heed<T>(&self, answer: Result<T, PortError>) -> Result<T, PortError> {
        if answer.as_ref().is_err_and(|e| e.kind == PortErrorKind::Throttled) {
            self.pacer.slow_down().await;
        }
        answer
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

impl CopyOnCondition for Copies {
    async fn copy_on_condition(&self, permit: &Permit) -> Result<Copied, PortError> {
        let at = permit.location();
        let size = permit.source().size;
        if size > self.sizes.single {
            let call = Call::on("CopyObject", at.bucket(), at.key());
            return Err(call
                .error(PortErrorKind::TooLarge { size })
                .because("one request doesn't copy that much: it takes an upload in parts"));
        }
        self.pacer.turn().await;
        let habits = self.probe.habits(&self.client).await;
        let condition_honoured = habits.honours_condition;
        // A copy onto itself has the ETag of its source: to a second attempt the condition says nothing of the first.
        let copied = if self.checks_and_writes_in_one(habits) && !permit.is_repair() {
            let by_the_sdk = self.client.config().retry_config().cloned();
            let copied = self.copy(permit, habits, by_the_sdk.unwrap_or_else(RetryConfig::standard));
            self.heed(copied.await).await
        } else {
            self.with_a_look_before_each_attempt(permit, habits).await
        };
        copied.map(|version| Copied {
            version,
            condition_honoured,
        })
    }
}
