//! Archived versions are asked for before they can be copied.

use std::time::Duration;

use aws_sdk_s3::error::ProvideErrorMetadata;
use aws_sdk_s3::operation::head_object::HeadObjectOutput;
use aws_sdk_s3::types::{ArchiveStatus, GlacierJobParameters, RestoreRequest, StorageClass, Tier};
use stayput_core::restoring::Permit;
use stayput_core::thaw::{Readability, ThawOrder, ThawTier, is_deep};
use stayput_guard::port::{PortError, Thaw};

use super::Copies;
use crate::failure::Call;
use crate::s3::readability;

impl Thaw for Copies {
    fn order(&self) -> ThawOrder {
        self.thaw
    }

    async fn thaw(&self, permit: &Permit) -> Result<Duration, PortError> {
        let at = permit.location();
        let head = self.head_of_source(permit).await?;
        let takes = match readability(&head) {
            Readability::Now => return Ok(Duration::ZERO),
            Readability::Thawing => return Ok(self.thaw.tier.takes(is_deep_archive(&head))),
            Readability::Archived => self.thaw.tier.takes(is_deep_archive(&head)),
        };
        let call = Call::on("RestoreObject", at.bucket(), at.key());
        self.pacer.turn().await;
        let asked = self
            .client
            .restore_object()
            .bucket(at.bucket())
            .key(at.key())
            .version_id(permit.source().version.as_str())
            .restore_request(request(self.thaw, &head, call)?)
            .send()
            .await;
        let asked = match asked {
            // Somebody was first.
            Err(e) if e.code() == Some("RestoreAlreadyInProgress") => Ok(()),
            answer => answer.map(drop).map_err(|e| call.failed(&e)),
        };
        self.heed(asked).await.map(|()| takes)
    }
}

/// Intelligent-Tiering moves the bytes back for good: there a number of days is refused.
fn request(order: ThawOrder, head: &HeadObjectOutput, call: Call<'_>) -> Result<RestoreRequest, PortError> {
    let tier = match order.tier.in_archive(is_deep_archive(head)) {
        ThawTier::Expedited => Tier::Expedited,
        ThawTier::Standard => Tier::Standard,
        ThawTier::Bulk => Tier::Bulk,
    };
    let parameters = GlacierJobParameters::builder()
        .tier(tier)
        .build()
        .map_err(|e| call.nonsense(e.to_string()))?;
    let for_a_while = head.archive_status().is_none();
    Ok(RestoreRequest::builder()
        .set_days(for_a_while.then(|| i32::from(order.days)))
        .glacier_job_parameters(parameters)
        .build())
}

fn is_deep_archive(head: &HeadObjectOutput) -> bool {
    head.archive_status()
        .map(ArchiveStatus::as_str)
        .or(head.storage_class().map(StorageClass::as_str))
        .is_some_and(is_deep)
}
