//! What is configured on a bucket beside versioning and rules: notifications, lock, encryption, replication.

use std::sync::{Arc, Mutex, PoisonError};

use aws_sdk_s3::Client;
use aws_sdk_s3::config::interceptors::{
    AfterDeserializationInterceptorContextRef, BeforeTransmitInterceptorContextMut,
};
use aws_sdk_s3::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_s3::error::{BoxError, ProvideErrorMetadata, SdkError};
use aws_sdk_s3::primitives::SdkBody;
use aws_sdk_s3::types::{
    DeleteMarkerReplicationStatus, MfaDeleteStatus, NotificationConfiguration, ReplicationConfiguration,
    ReplicationRuleStatus, ServerSideEncryption, ServerSideEncryptionConfiguration,
};
use stayput_guard::doctor::{BucketEncryption, DefaultRetention, LockMode, Replica};
use stayput_guard::port::PortError;

use crate::connection::Connection;
use crate::failure::Call;

/// Reads the settings of buckets, and writes one of them: the notification configuration.
#[derive(Clone, Debug)]
pub struct BucketSettings {
    client: Client,
}

impl BucketSettings {
    /// Asks through this connection.
    pub fn new(connection: &Connection) -> Self {
        Self {
            client: connection.s3(),
        }
    }

    /// GetBucketNotificationConfiguration: the document as the server sent it, since the SDK's types drop what they don't know.
    ///
    /// # Errors
    /// As the server says.
    pub async fn notifications(&self, bucket: &str) -> Result<Vec<u8>, PortError> {
        let call = Call::on("GetBucketNotificationConfiguration", bucket, "");
        let answer = Answer::default();
        self.client
            .get_bucket_notification_configuration()
            .bucket(bucket)
            .customize()
            .interceptor(answer.clone())
            .send()
            .await
            .map_err(|e| call.failed(&e))?;
        answer
            .take()
            .ok_or_else(|| call.nonsense("the answer has no body"))
    }

    /// PutBucketNotificationConfiguration with exactly this document: it replaces what is there as a whole.
    ///
    /// # Errors
    /// As the server says: it refuses overlapping configurations, and targets that don't take messages from the bucket.
    pub async fn put_notifications(&self, bucket: &str, document: &str) -> Result<(), PortError> {
        let call = Call::on("PutBucketNotificationConfiguration", bucket, "");
        self.client
            .put_bucket_notification_configuration()
            .bucket(bucket)
            .notification_configuration(NotificationConfiguration::builder().build())
            .customize()
            .interceptor(Instead(Arc::from(document)))
            .send()
            .await
            .map(drop)
            .map_err(|e| call.failed(&e))
    }

    /// Whether versions can be deleted only with a device (MFA delete), as GetBucketVersioning says.
    ///
    /// # Errors
    /// As the server says.
    pub async fn mfa_delete(&self, bucket: &str) -> Result<bool, PortError> {
        let call = Call::on("GetBucketVersioning", bucket, "");
        let answer = self.client.get_bucket_versioning().bucket(bucket).send().await;
        let answer = answer.map_err(|e| call.failed(&e))?;
        Ok(answer.mfa_delete() == Some(&MfaDeleteStatus::Enabled))
    }

    /// The retention that every new version gets (GetObjectLockConfiguration). `None`: there is none, or no lock at all.
    ///
    /// # Errors
    /// As the server says.
    pub async fn default_retention(&self, bucket: &str) -> Result<Option<DefaultRetention>, PortError> {
        let call = Call::on("GetObjectLockConfiguration", bucket, "");
        let answer = self
            .client
            .get_object_lock_configuration()
            .bucket(bucket)
            .send()
            .await;
        let answer = match answer {
            Err(e)
                if says(
                    &e,
                    &[
                        "ObjectLockConfigurationNotFoundError",
                        "NoSuchObjectLockConfiguration",
                    ],
                ) =>
            {
                return Ok(None);
            }
            answer => answer.map_err(|e| call.failed(&e))?,
        };
        let configuration = answer.object_lock_configuration();
        let rule = configuration
            .and_then(|c| c.rule())
            .and_then(|r| r.default_retention());
        Ok(rule.map(|rule| DefaultRetention {
            mode: match rule
                .mode()
                .map(aws_sdk_s3::types::ObjectLockRetentionMode::as_str)
            {
                Some("COMPLIANCE") => LockMode::Compliance,
                _ => LockMode::Governance,
            },
            days: match (rule.days(), rule.years()) {
                (Some(days), _) => u32::try_from(days).unwrap_or(0),
                (None, years) => u32::try_from(years.unwrap_or(0)).unwrap_or(0).saturating_mul(365),
            },
        }))
    }

    /// How new objects are encrypted (GetBucketEncryption).
    ///
    /// # Errors
    /// As the server says.
    pub async fn encryption(&self, bucket: &str) -> Result<BucketEncryption, PortError> {
        let call = Call::on("GetBucketEncryption", bucket, "");
        let answer = match self.client.get_bucket_encryption().bucket(bucket).send().await {
            Err(e) if says(&e, &["ServerSideEncryptionConfigurationNotFoundError"]) => {
                return Ok(BucketEncryption::OfS3);
            }
            answer => answer.map_err(|e| call.failed(&e))?,
        };
        let rules = answer
            .server_side_encryption_configuration()
            .map(ServerSideEncryptionConfiguration::rules);
        let by_default = rules
            .unwrap_or_default()
            .iter()
            .find_map(|rule| rule.apply_server_side_encryption_by_default());
        Ok(match by_default {
            Some(rule)
                if matches!(
                    rule.sse_algorithm(),
                    ServerSideEncryption::AwsKms | ServerSideEncryption::AwsKmsDsse
                ) =>
            {
                BucketEncryption::ByKms(rule.kms_master_key_id().map(str::to_owned))
            }
            _ => BucketEncryption::OfS3,
        })
    }

    /// Where the bucket is replicated to (GetBucketReplication): its enabled rules.
    ///
    /// # Errors
    /// As the server says.
    pub async fn replicas(&self, bucket: &str) -> Result<Vec<Replica>, PortError> {
        let call = Call::on("GetBucketReplication", bucket, "");
        let answer = match self.client.get_bucket_replication().bucket(bucket).send().await {
            Err(e) if says(&e, &["ReplicationConfigurationNotFoundError"]) => return Ok(Vec::new()),
            answer => answer.map_err(|e| call.failed(&e))?,
        };
        let rules = answer
            .replication_configuration()
            .map(ReplicationConfiguration::rules)
            .unwrap_or_default();
        let enabled = rules
            .iter()
            .filter(|rule| *rule.status() == ReplicationRuleStatus::Enabled);
        Ok(enabled
            .map(|rule| {
                let filter = rule.filter();
                let of_filter = filter
                    .and_then(|f| f.prefix())
                    .or_else(|| filter.and_then(|f| f.and()).and_then(|and| and.prefix()));
                #[expect(deprecated, reason = "rules of this form are still in use")]
                let prefix = of_filter.or(rule.prefix());
                Replica {
                    rule: rule.id().unwrap_or_default().to_owned(),
                    prefix: prefix.unwrap_or_default().to_owned(),
                    destination: rule
                        .destination()
                        .map(|d| d.bucket().to_owned())
                        .unwrap_or_default(),
                    // A rule of the old form, without a filter, replicates markers too.
                    with_markers: match rule.delete_marker_replication().and_then(|d| d.status()) {
                        Some(status) => *status == DeleteMarkerReplicationStatus::Enabled,
                        None => filter.is_none(),
                    },
                }
            })
            .collect())
    }
}

fn says<E: ProvideErrorMetadata, R>(error: &SdkError<E, R>, codes: &[&str]) -> bool {
    let code = error.as_service_error().and_then(ProvideErrorMetadata::code);
    code.is_some_and(|code| codes.contains(&code))
}

/// Keeps the body of the last answer.
#[derive(Clone, Debug, Default)]
struct Answer(Arc<Mutex<Option<Vec<u8>>>>);

impl Answer {
    fn take(&self) -> Option<Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[aws_smithy_runtime_api::client::interceptors::dyn_dispatch_hint]
impl Intercept for Answer {
    fn name(&self) -> &'static str {
        "Answer"
    }

    fn read_after_deserialization(
        &self,
        context: &AfterDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let body = context.response().body().bytes().map(<[u8]>::to_vec);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = body;
        Ok(())
    }
}

/// Sends this document in place of the one that the SDK has made of its own types.
#[derive(Clone, Debug)]
struct Instead(Arc<str>);

#[aws_smithy_runtime_api::client::interceptors::dyn_dispatch_hint]
impl Intercept for Instead {
    fn name(&self) -> &'static str {
        "Instead"
    }

    fn modify_before_signing(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let request = context.request_mut();
        *request.body_mut() = SdkBody::from(self.0.as_bytes());
        request
            .headers_mut()
            .insert("content-length", self.0.len().to_string());
        Ok(())
    }
}
