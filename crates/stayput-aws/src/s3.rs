//! Looking at buckets.

use std::collections::HashMap;

use aws_sdk_s3::Client;
use aws_sdk_s3::operation::head_object::HeadObjectOutput;
use aws_sdk_s3::types::{
    ArchiveStatus, BucketVersioningStatus, EncodingType, ReplicationStatus, StorageClass,
};
use aws_smithy_types::DateTime;
use s3_documents::bucket::Versioning;
use s3_documents::lifecycle::LifecycleConfiguration;
use stayput_core::location::ObjectLocation;
use stayput_core::thaw::Readability;
use stayput_core::timestamp::Timestamp;
use stayput_core::version::{VersionEntry, VersionId, VersionKind};
use stayput_guard::port::{
    ListedObject, Listing, ObjectBody, ObjectHead, PortError, PortErrorKind, Reading, VersionListing,
    VersionsOf,
};

use crate::body;
use crate::connection::Connection;
use crate::failure::Call;
use crate::lifecycle::{self, NotUnderstood};
use crate::page_order::{PageOrder, Row};
use crate::paging::{Pages, decoded};

/// A reader of S3.
#[derive(Clone, Debug)]
pub struct S3 {
    client: Client,
}

impl S3 {
    /// A reader that asks through this connection.
    pub fn new(connection: &Connection) -> Self {
        Self::with(connection.s3())
    }

    pub(crate) fn with(client: Client) -> Self {
        Self { client }
    }
}

impl Reading for S3 {
    async fn list(&self, bucket: &str, prefix: &str, by_directory: bool) -> Result<Listing, PortError> {
        let call = Call::on("ListObjectsV2", bucket, prefix);
        let mut listing = Listing::default();
        let mut pages = Pages::default();
        let mut token: Option<String> = None;
        loop {
            let page = self
                .client
                .list_objects_v2()
                .bucket(bucket)
                .prefix(prefix)
                .set_delimiter(by_directory.then(|| "/".to_owned()))
                // XML has no way to write some of the characters that keys may have.
                .encoding_type(EncodingType::Url)
                .set_continuation_token(token.take())
                .send()
                .await
                .map_err(|e| call.failed(&e))?;
            let encoded = page.encoding_type() == Some(&EncodingType::Url);
            for object in page.contents() {
                let key = object
                    .key()
                    .ok_or_else(|| call.nonsense("an object without a key"))?;
                listing.objects.push(ListedObject {
                    key: decoded(call, encoded, key)?,
                    size: length(call, object.size())?,
                    etag: object.e_tag().unwrap_or_default().to_owned(),
                    last_modified: time(call, object.last_modified())?,
                    storage_class: object
                        .storage_class()
                        .map(|c| c.as_str().to_owned())
                        .filter(|c| c != "STANDARD"),
                });
            }
            for prefix in page.common_prefixes().iter().filter_map(|p| p.prefix()) {
                listing.prefixes.push(decoded(call, encoded, prefix)?);
            }
            if page.is_truncated() != Some(true) {
                return Ok(listing);
            }
            token = page.next_continuation_token().map(str::to_owned);
            pages.next(call, token.as_deref(), None)?;
        }
    }

    async fn versions(&self, of: VersionsOf<'_>) -> Result<VersionListing, PortError> {
        let call = Call::on("ListObjectVersions", of.bucket, of.prefix);
        let mut listing = VersionListing::default();
        let mut pages = Pages::default();
        let mut key_marker = of.after_key.map(str::to_owned);
        let mut version_marker: Option<String> = None;
        let mut read = 0;
        loop {
            let order = PageOrder::default();
            let page = self
                .client
                .list_object_versions()
                .bucket(of.bucket)
                .prefix(of.prefix)
                .set_delimiter(of.by_directory.then(|| "/".to_owned()))
                .encoding_type(EncodingType::Url)
                .set_key_marker(key_marker.take())
                .set_version_id_marker(version_marker.take())
                .customize()
                .interceptor(order.clone())
                .send()
                .await
                .map_err(|e| call.failed(&e))?;
            let encoded = page.encoding_type() == Some(&EncodingType::Url);
            let rows = order.take();
            if rows.len() != page.versions().len() + page.delete_markers().len() {
                return Err(call.nonsense("the rows of the page can't be put in order"));
            }
            let (mut versions, mut markers) = (page.versions().iter(), page.delete_markers().iter());
            for row in rows {
                let (key, id, is_latest, last_modified, kind) = match row {
                    Row::Version => {
                        let v = versions
                            .next()
                            .ok_or_else(|| call.nonsense("a version is missing"))?;
                        let kind = VersionKind::Data {
                            size: length(call, v.size())?,
                            etag: v.e_tag().unwrap_or_default().to_owned(),
                            storage_class: v.storage_class().map(|c| c.as_str().to_owned()),
                        };
                        (v.key(), v.version_id(), v.is_latest(), v.last_modified(), kind)
                    }
                    Row::Marker => {
                        let m = markers
                            .next()
                            .ok_or_else(|| call.nonsense("a marker is missing"))?;
                        (
                            m.key(),
                            m.version_id(),
                            m.is_latest(),
                            m.last_modified(),
                            VersionKind::Marker,
                        )
                    }
                };
                let key = decoded(
                    call,
                    encoded,
                    key.ok_or_else(|| call.nonsense("a version without a key"))?,
                )?;
                if before(&of, &key) {
                    continue;
                }
                listing.entries.push(VersionEntry {
                    key,
                    // Where versioning was never enabled the one version has this id.
                    id: VersionId::new(id.filter(|id| !id.is_empty()).unwrap_or("null")),
                    is_latest: is_latest == Some(true),
                    last_modified: time(call, last_modified)?,
                    kind,
                });
            }
            for prefix in page.common_prefixes().iter().filter_map(|p| p.prefix()) {
                let prefix = decoded(call, encoded, prefix)?;
                if !before(&of, &prefix) {
                    listing.prefixes.push(prefix);
                }
            }
            if page.is_truncated() != Some(true) {
                return Ok(listing);
            }
            read += 1;
            if of.pages.is_some_and(|limit| read >= limit) {
                listing.truncated = true;
                return Ok(listing);
            }
            key_marker = page
                .next_key_marker()
                .map(|key| decoded(call, encoded, key))
                .transpose()?;
            version_marker = page
                .next_version_id_marker()
                .filter(|id| !id.is_empty())
                .map(str::to_owned);
            pages.next(call, key_marker.as_deref(), version_marker.as_deref())?;
        }
    }

    async fn head(
        &self,
        location: &ObjectLocation,
        version: Option<&VersionId>,
    ) -> Result<ObjectHead, PortError> {
        let call = Call::on("HeadObject", location.bucket(), location.key());
        let head = self
            .client
            .head_object()
            .bucket(location.bucket())
            .key(location.key())
            .set_version_id(version.map(|v| v.as_str().to_owned()))
            .send()
            .await
            .map_err(|e| call.failed(&e))?;
        Ok(ObjectHead {
            version: head.version_id().map(VersionId::new),
            size: length(call, head.content_length())?,
            etag: head.e_tag().unwrap_or_default().to_owned(),
            last_modified: time(call, head.last_modified())?,
            storage_class: head.storage_class().map(|c| c.as_str().to_owned()),
            metadata: user_metadata(head.metadata()),
            readability: readability(&head),
            replica: head.replication_status() == Some(&ReplicationStatus::Replica),
        })
    }

    async fn body(
        &self,
        location: &ObjectLocation,
        version: Option<&VersionId>,
        max_bytes: u64,
    ) -> Result<ObjectBody, PortError> {
        let call = Call::on("GetObject", location.bucket(), location.key());
        let answer = self
            .client
            .get_object()
            .bucket(location.bucket())
            .key(location.key())
            .set_version_id(version.map(|v| v.as_str().to_owned()))
            .send()
            .await
            .map_err(|e| call.failed(&e))?;
        let mut head = ObjectHead {
            version: answer.version_id().map(VersionId::new),
            size: 0,
            etag: answer.e_tag().unwrap_or_default().to_owned(),
            last_modified: time(call, answer.last_modified())?,
            storage_class: answer.storage_class().map(|c| c.as_str().to_owned()),
            metadata: user_metadata(answer.metadata()),
            // These bytes were just read.
            readability: Readability::Now,
            replica: answer.replication_status() == Some(&ReplicationStatus::Replica),
        };
        let length = answer.content_length();
        let bytes = body::collect(call, answer.body, length, max_bytes).await?;
        head.size = bytes.len() as u64;
        Ok(ObjectBody { bytes, head })
    }

    async fn versioning(&self, bucket: &str) -> Result<Versioning, PortError> {
        let call = Call::on("GetBucketVersioning", bucket, "");
        let answer = self
            .client
            .get_bucket_versioning()
            .bucket(bucket)
            .send()
            .await
            .map_err(|e| call.failed(&e))?;
        match answer.status() {
            None => Ok(Versioning::Never),
            Some(BucketVersioningStatus::Enabled) => Ok(Versioning::Enabled),
            Some(BucketVersioningStatus::Suspended) => Ok(Versioning::Suspended),
            Some(other) => Err(call
                .error(PortErrorKind::Unsupported)
                .because(format!("versioning is {other}"))),
        }
    }

    async fn lifecycle(&self, bucket: &str) -> Result<LifecycleConfiguration, PortError> {
        let call = Call::on("GetBucketLifecycleConfiguration", bucket, "");
        let answer = self
            .client
            .get_bucket_lifecycle_configuration()
            .bucket(bucket)
            .send()
            .await;
        match answer {
            Ok(answer) => {
                lifecycle::configuration(answer.rules(), answer.transition_default_minimum_object_size())
                    .map_err(|NotUnderstood(what)| call.error(PortErrorKind::Unsupported).because(what))
            }
            Err(e)
                if e.as_service_error().and_then(|e| e.meta().code())
                    == Some("NoSuchLifecycleConfiguration") =>
            {
                Ok(LifecycleConfiguration::default())
            }
            Err(e) => Err(call.failed(&e)),
        }
    }
}

/// What a head says of the bytes.
pub(crate) fn readability(head: &HeadObjectOutput) -> Readability {
    Readability::of_head(
        head.storage_class().map(StorageClass::as_str),
        head.archive_status().map(ArchiveStatus::as_str),
        head.restore(),
    )
}

fn time(call: Call<'_>, time: Option<&DateTime>) -> Result<Timestamp, PortError> {
    time.and_then(|t| t.to_millis().ok())
        .map(Timestamp::from_millis)
        .ok_or_else(|| call.nonsense("there is no Last-Modified that can be read"))
}

/// Whether a listing shouldn't hold this. Ceph begins with the key of the marker itself.
fn before(of: &VersionsOf<'_>, key: &str) -> bool {
    of.after_key.is_some_and(|after| key <= after)
}

fn length(call: Call<'_>, size: Option<i64>) -> Result<u64, PortError> {
    size.and_then(|size| u64::try_from(size).ok())
        .ok_or_else(|| call.nonsense("there is no length that can be read"))
}

/// In the order of the names, as a map has none.
pub(crate) fn user_metadata(map: Option<&HashMap<String, String>>) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = map
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.to_ascii_lowercase(), value.clone()))
        .collect();
    all.sort_unstable();
    all
}
