//! What S3 does, asked of servers. Where one does something else, docs/s3-servers.md says so, and says no more than that.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime};

use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::primitives::{ByteStream, DateTime};
use aws_sdk_s3::types::{
    BucketVersioningStatus, Delete, GlacierJobParameters, MetadataDirective, ObjectIdentifier,
    ObjectLockLegalHold, ObjectLockLegalHoldStatus, ObjectLockRetention, ObjectLockRetentionMode,
    RestoreRequest, StorageClass, Tag, Tagging, TaggingDirective, Tier,
};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use s3_documents::encoding::encode_percent;
use stayput_conformance::{
    self as conformance, Answer, BatchAnswer, Condition, Pairs, Request, Setup, Which,
};

use crate::server::{Bucket, Server, on_servers};

mod listings;
mod uploads;

on_servers! {
    [MiniStack, Ceph, SeaweedFs]
    what_a_server_does_is_what_s3_does_or_what_the_table_says;
}

/// A server as the SDK reaches it.
struct Asked {
    url: String,
}

type Failed<E> = SdkError<E, HttpResponse>;

fn error<E: ProvideErrorMetadata>(failed: &Failed<E>) -> Answer {
    let Some(response) = failed.raw_response() else {
        return Answer {
            error: Some((0, "no answer".to_owned())),
            ..Answer::default()
        };
    };
    let header = |name| response.headers().get(name);
    Answer {
        // What the SDK says of an error without a body isn't the server's word.
        error: Some((response.status().as_u16(), code(failed, response))),
        is_marker: header("x-amz-delete-marker").map(|value| value == "true"),
        version: header("x-amz-version-id").map(str::to_owned),
        ..Answer::default()
    }
}

fn code<E: ProvideErrorMetadata>(failed: &Failed<E>, response: &HttpResponse) -> String {
    let has_body = response.body().bytes().is_some_and(|body| !body.is_empty());
    let code = if has_body { failed.code() } else { None };
    code.unwrap_or_default().to_owned()
}

/// The answer that was made of what was sent, or that of the error.
fn answer<T, E: ProvideErrorMetadata>(sent: Result<T, Failed<E>>, make: impl FnOnce(T) -> Answer) -> Answer {
    match sent {
        Ok(output) => make(output),
        Err(failed) => error(&failed),
    }
}

fn done<T>(_: T) -> Answer {
    Answer::default()
}

fn absent(condition: &Condition) -> Option<String> {
    match condition {
        Condition::Absent => Some("*".to_owned()),
        Condition::Differs(etag) => Some(etag.clone()),
        Condition::None | Condition::Matches(_) => None,
    }
}

fn matches(condition: &Condition) -> Option<String> {
    match condition {
        Condition::Matches(etag) => Some(etag.clone()),
        _ => None,
    }
}

fn map(pairs: Pairs) -> std::collections::HashMap<String, String> {
    pairs
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Tags as a header has them; none at all: no header.
fn header_of(tags: &Pairs) -> Option<String> {
    let tags: Vec<String> = tags
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    (!tags.is_empty()).then(|| tags.join("&"))
}

fn tagging(tags: Pairs) -> Tagging {
    let tags = tags
        .into_iter()
        .map(|(key, value)| Tag::builder().key(key).value(value).build().unwrap());
    Tagging::builder()
        .set_tag_set(Some(tags.collect()))
        .build()
        .unwrap()
}

fn range_of(range: Option<(u64, u64)>) -> Option<String> {
    range.map(|(first, last)| format!("bytes={first}-{last}"))
}

fn source(bucket: &Bucket, which: &Which) -> String {
    let source = format!("{}/{}", bucket.name, encode_percent(&which.key));
    match &which.version {
        Some(id) => format!("{source}?versionId={}", encode_percent(id)),
        None => source,
    }
}

fn metadata_of(metadata: Option<&std::collections::HashMap<String, String>>) -> BTreeMap<String, String> {
    let metadata = metadata.into_iter().flatten();
    metadata
        .map(|(name, value)| (name.to_ascii_lowercase(), value.clone()))
        .collect()
}

fn size(length: Option<i64>) -> u64 {
    u64::try_from(length.unwrap_or(0)).unwrap()
}

impl conformance::Server for Asked {
    type Bucket = Bucket;

    async fn bucket(&self, setup: Setup) -> Bucket {
        match setup {
            Setup::Unversioned => Bucket::unversioned(&self.url).await,
            Setup::Versioned => Bucket::versioned(&self.url).await,
            Setup::Locked => Bucket::locked(&self.url).await,
        }
    }

    async fn call(&self, bucket: &Bucket, request: Request) -> Answer {
        match request {
            Request::List { .. } | Request::ListVersions { .. } => listings::list(bucket, request).await,
            Request::BeginUpload { .. }
            | Request::UploadPart { .. }
            | Request::UploadPartCopy { .. }
            | Request::CompleteUpload { .. }
            | Request::AbortUpload { .. }
            | Request::ListUploads => uploads::upload(bucket, request).await,
            Request::Put { .. }
            | Request::Get { .. }
            | Request::Head { .. }
            | Request::Delete { .. }
            | Request::DeleteAll { .. }
            | Request::Copy { .. } => object(bucket, request).await,
            other => settings(bucket, other).await,
        }
    }

    async fn wait(&self, span: Duration) {
        tokio::time::sleep(span).await;
    }
}

async fn object(bucket: &Bucket, request: Request) -> Answer {
    let (client, name) = (&bucket.client, &bucket.name);
    match request {
        Request::Put {
            key,
            body,
            condition,
            metadata,
            tags,
            class,
        } => {
            let put = client
                .put_object()
                .bucket(name)
                .key(key)
                .body(ByteStream::from(body));
            let put = put
                .set_if_none_match(absent(&condition))
                .set_if_match(matches(&condition))
                .set_metadata(Some(map(metadata)))
                .set_tagging(header_of(&tags))
                .set_storage_class(class.map(StorageClass::from));
            answer(put.send().await, |output| Answer {
                version: output.version_id,
                etag: output.e_tag,
                ..Answer::default()
            })
        }
        Request::Get {
            which,
            condition,
            range,
        } => {
            let get = client
                .get_object()
                .bucket(name)
                .key(which.key)
                .set_version_id(which.version);
            let get = get
                .set_if_match(matches(&condition))
                .set_if_none_match(absent(&condition))
                .set_range(range_of(range));
            match get.send().await {
                Err(failed) => error(&failed),
                Ok(output) => match output.body.collect().await {
                    Ok(body) => Answer {
                        version: output.version_id,
                        body: Some(body.to_vec()),
                        ..Answer::default()
                    },
                    Err(broken) => Answer {
                        error: Some((0, broken.to_string())),
                        ..Answer::default()
                    },
                },
            }
        }
        Request::Head { which, condition } => {
            let head = client
                .head_object()
                .bucket(name)
                .key(which.key)
                .set_version_id(which.version);
            let head = head
                .set_if_match(matches(&condition))
                .set_if_none_match(absent(&condition));
            answer(head.send().await, |output| Answer {
                metadata: metadata_of(output.metadata()),
                size: output.content_length().map(|n| size(Some(n))),
                last_modified: output.last_modified().map(DateTime::secs),
                tag_count: output.tag_count().and_then(|n| u32::try_from(n).ok()),
                class: output.storage_class().map(|class| class.as_str().to_owned()),
                version: output.version_id,
                etag: output.e_tag,
                restore: output.restore,
                ..Answer::default()
            })
        }
        Request::Delete {
            which,
            if_match,
            bypass,
        } => {
            let delete = client
                .delete_object()
                .bucket(name)
                .key(which.key)
                .set_version_id(which.version);
            let delete = delete
                .set_if_match(if_match)
                .set_bypass_governance_retention(bypass.then_some(true));
            answer(delete.send().await, |output| Answer {
                version: output.version_id,
                is_marker: output.delete_marker,
                ..Answer::default()
            })
        }
        Request::DeleteAll { all, quiet } => {
            let all = all.into_iter().map(|which| {
                let which = ObjectIdentifier::builder()
                    .key(which.key)
                    .set_version_id(which.version);
                which.build().unwrap()
            });
            let delete = Delete::builder()
                .set_objects(Some(all.collect()))
                .quiet(quiet)
                .build()
                .unwrap();
            let sent = client.delete_objects().bucket(name).delete(delete).send().await;
            answer(sent, |output| {
                let deleted = output.deleted().iter().map(|of| BatchAnswer {
                    key: of.key().unwrap_or_default().to_owned(),
                    version: of.version_id().map(str::to_owned),
                    is_marker: of.delete_marker().unwrap_or(false),
                    marker: of.delete_marker_version_id().map(str::to_owned),
                    error: None,
                });
                let failed = output.errors().iter().map(|of| BatchAnswer {
                    key: of.key().unwrap_or_default().to_owned(),
                    version: of.version_id().map(str::to_owned),
                    error: Some(of.code().unwrap_or("no code").to_owned()),
                    ..BatchAnswer::default()
                });
                Answer {
                    batch: deleted.chain(failed).collect(),
                    ..Answer::default()
                }
            })
        }
        Request::Copy {
            from,
            key,
            condition,
            source_if_match,
            metadata,
            tags,
            class,
        } => {
            let copy = client
                .copy_object()
                .bucket(name)
                .key(key)
                .copy_source(source(bucket, &from));
            let copy = copy
                .set_if_none_match(absent(&condition))
                .set_if_match(matches(&condition))
                .set_copy_source_if_match(source_if_match)
                .set_metadata_directive(metadata.is_some().then_some(MetadataDirective::Replace))
                .set_metadata(metadata.map(map))
                .set_tagging_directive(tags.is_some().then_some(TaggingDirective::Replace))
                .set_tagging(tags.as_ref().and_then(header_of))
                .set_storage_class(class.map(StorageClass::from));
            answer(copy.send().await, |output| Answer {
                etag: output
                    .copy_object_result()
                    .and_then(|r| r.e_tag())
                    .map(str::to_owned),
                version: output.version_id,
                ..Answer::default()
            })
        }
        other => panic!("{other:?} is about no object"),
    }
}

async fn settings(bucket: &Bucket, request: Request) -> Answer {
    let (client, name) = (&bucket.client, &bucket.name);
    let status = |status: Option<&str>| Answer {
        status: status.map(str::to_owned),
        ..Answer::default()
    };
    match request {
        Request::Tags(which) => {
            let get = client
                .get_object_tagging()
                .bucket(name)
                .key(which.key)
                .set_version_id(which.version);
            answer(get.send().await, |output| {
                let tags = output
                    .tag_set()
                    .iter()
                    .map(|tag| (tag.key().to_owned(), tag.value().to_owned()));
                Answer {
                    tags: tags.collect(),
                    ..Answer::default()
                }
            })
        }
        Request::PutTags(which, tags) => {
            let put = client
                .put_object_tagging()
                .bucket(name)
                .key(which.key)
                .set_version_id(which.version);
            answer(put.tagging(tagging(tags)).send().await, done)
        }
        Request::DeleteTags(which) => {
            let delete = client
                .delete_object_tagging()
                .bucket(name)
                .key(which.key)
                .set_version_id(which.version);
            answer(delete.send().await, done)
        }
        Request::PutRetention { which, lock, bypass } => {
            let mode = if lock.compliance {
                ObjectLockRetentionMode::Compliance
            } else {
                ObjectLockRetentionMode::Governance
            };
            let until = SystemTime::now() + Duration::from_secs(lock.seconds.into());
            let retention = ObjectLockRetention::builder()
                .mode(mode)
                .retain_until_date(DateTime::from(until));
            let put = client
                .put_object_retention()
                .bucket(name)
                .key(which.key)
                .set_version_id(which.version);
            let put = put
                .retention(retention.build())
                .set_bypass_governance_retention(bypass.then_some(true));
            answer(put.send().await, done)
        }
        Request::Retention(which) => {
            let get = client
                .get_object_retention()
                .bucket(name)
                .key(which.key)
                .set_version_id(which.version);
            answer(get.send().await, |output| {
                status(
                    output
                        .retention()
                        .and_then(|r| r.mode())
                        .map(ObjectLockRetentionMode::as_str),
                )
            })
        }
        Request::PutLegalHold(which, on) => {
            let hold = if on {
                ObjectLockLegalHoldStatus::On
            } else {
                ObjectLockLegalHoldStatus::Off
            };
            let put = client
                .put_object_legal_hold()
                .bucket(name)
                .key(which.key)
                .set_version_id(which.version);
            let put = put.legal_hold(ObjectLockLegalHold::builder().status(hold).build());
            answer(put.send().await, done)
        }
        Request::LegalHold(which) => {
            let get = client
                .get_object_legal_hold()
                .bucket(name)
                .key(which.key)
                .set_version_id(which.version);
            answer(get.send().await, |output| {
                status(
                    output
                        .legal_hold()
                        .and_then(|h| h.status())
                        .map(ObjectLockLegalHoldStatus::as_str),
                )
            })
        }
        Request::Restore(which) => {
            let tier = GlacierJobParameters::builder()
                .tier(Tier::Standard)
                .build()
                .unwrap();
            let wanted = RestoreRequest::builder()
                .days(1)
                .glacier_job_parameters(tier)
                .build();
            let restore = client
                .restore_object()
                .bucket(name)
                .key(which.key)
                .set_version_id(which.version);
            answer(restore.restore_request(wanted).send().await, done)
        }
        Request::SetVersioning { enabled } => {
            bucket
                .set_versioning(if enabled {
                    BucketVersioningStatus::Enabled
                } else {
                    BucketVersioningStatus::Suspended
                })
                .await;
            Answer::default()
        }
        Request::Versioning => {
            let get = client.get_bucket_versioning().bucket(name);
            answer(get.send().await, |output| {
                status(output.status().map(BucketVersioningStatus::as_str))
            })
        }
        other => panic!("{other:?} isn't about what is kept beside a version"),
    }
}

async fn what_a_server_does_is_what_s3_does_or_what_the_table_says(server: Server) {
    let Some(url) = server.url() else { return };
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/s3-servers.md");
    let document = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let table = conformance::differences(&document);
    let name = match server {
        Server::MiniStack => "MiniStack",
        Server::Ceph => "Ceph",
        Server::SeaweedFs => "SeaweedFS",
    };
    let facts = conformance::run(&Asked { url }).await;
    assert!(facts.len() >= 200, "only {} facts", facts.len());
    let wrong = conformance::compare(name, &facts, &table);
    let differences = facts.iter().filter(|fact| fact.seen != fact.expected).count();
    println!("{name}: {} facts, {differences} of them differ", facts.len());
    assert!(wrong.is_empty(), "{}:\n{}", file.display(), wrong.join("\n"));
}
