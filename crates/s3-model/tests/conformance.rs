//! What S3 does, asked of the model: it does all of it. Servers are asked the same in `stayput-aws`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use s3_documents::bucket::Versioning;
use s3_model::operations::{Condition, Copy, Head, Operations, Page, PageItem, Put, Read, Which, Written};
use s3_model::{ErrorCode, Model, ModelBucket, Object, Retention, RetentionMode, Tier};
use stayput_conformance::{self as conformance, Answer, BatchAnswer, Item, ItemKind, Request, Server, Setup};
use stayput_core::timestamp::Timestamp;
use stayput_core::version::{VersionId, VersionKind};

/// The model as one of the servers.
struct OnModel {
    model: Model,
    buckets: AtomicU32,
}

struct Bucket {
    operations: Operations,
    state: ModelBucket,
    now: Box<dyn Fn() -> Timestamp>,
}

impl Server for OnModel {
    type Bucket = Bucket;

    async fn bucket(&self, setup: Setup) -> Bucket {
        let name = format!("bucket-{}", self.buckets.fetch_add(1, Ordering::Relaxed));
        let versioning = match setup {
            Setup::Unversioned => Versioning::Never,
            Setup::Versioned | Setup::Locked => Versioning::Enabled,
        };
        let state = self.model.create_bucket(&name, versioning);
        if setup == Setup::Locked {
            state.enable_object_lock(None);
        }
        let model = self.model.clone();
        Bucket {
            operations: self.model.on_bucket(&name),
            state,
            now: Box::new(move || model.now()),
        }
    }

    async fn call(&self, bucket: &Bucket, request: Request) -> Answer {
        let is_head = matches!(request, Request::Head { .. });
        bucket.answer(request).unwrap_or_else(|failed| {
            // The answer to a HEAD has no body, and so no code.
            let code = if is_head { "" } else { failed.code.as_str() };
            Answer {
                error: Some((failed.code.status(), code.to_owned())),
                is_marker: failed.is_marker.then_some(true),
                ..Answer::default()
            }
        })
    }

    async fn wait(&self, span: Duration) {
        self.model.advance(span);
    }
}

struct Failed {
    code: ErrorCode,
    is_marker: bool,
}

impl From<ErrorCode> for Failed {
    fn from(code: ErrorCode) -> Self {
        Self {
            code,
            is_marker: false,
        }
    }
}

/// A version's id out of a request.
fn ids(which: &conformance::Which) -> (String, Option<VersionId>) {
    (which.key.clone(), which.version.as_deref().map(VersionId::new))
}

fn of<'w>((key, version): &'w (String, Option<VersionId>)) -> Which<'w> {
    Which {
        key,
        version: version.as_ref(),
    }
}

fn map(pairs: Vec<(&str, &str)>) -> BTreeMap<String, String> {
    pairs
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn condition(of: conformance::Condition) -> Condition {
    match of {
        conformance::Condition::None | conformance::Condition::Differs(_) => Condition::Always,
        conformance::Condition::Absent => Condition::Absent,
        conformance::Condition::Matches(etag) => Condition::Matches(etag),
    }
}

fn read(of: conformance::Condition, range: Option<(u64, u64)>) -> Read {
    let (if_match, if_none_match) = match of {
        conformance::Condition::Matches(etag) => (Some(etag), None),
        conformance::Condition::Differs(etag) => (None, Some(etag)),
        conformance::Condition::None | conformance::Condition::Absent => (None, None),
    };
    Read {
        if_match,
        if_none_match,
        range: range.map(|(first, last)| first..=last),
    }
}

fn written(written: Written) -> Answer {
    Answer {
        version: written.version.map(|id| id.to_string()),
        etag: Some(written.etag),
        ..Answer::default()
    }
}

fn head(head: Head) -> Answer {
    Answer {
        version: head.version.map(|id| id.to_string()),
        etag: Some(head.etag),
        size: Some(head.size),
        last_modified: Some(head.last_modified.millis() / 1000),
        metadata: head.metadata,
        tag_count: u32::try_from(head.tag_count).ok(),
        class: head.storage_class,
        restore: head.restore,
        ..Answer::default()
    }
}

fn page<Row>(page: Page<Row>, mut item: impl FnMut(Row) -> Item) -> Answer {
    let items = page.items.into_iter().map(|row| match row {
        PageItem::Row(row) => item(row),
        PageItem::Prefix(prefix) => Item {
            kind: ItemKind::Prefix,
            key: prefix,
            version: None,
            is_latest: false,
            size: 0,
            class: None,
        },
    });
    Answer {
        items: items.collect(),
        next: page
            .next
            .map(|(key, version)| (key, version.map(|id| id.to_string()))),
        ..Answer::default()
    }
}

impl Bucket {
    /// Whether a marker is what was asked for: the answer says so, and it is no part of the code.
    fn is_marker(&self, which: &Which<'_>) -> bool {
        match which.version {
            Some(id) => self
                .state
                .version(which.key, id)
                .is_some_and(|v| v.object.is_none()),
            None => self.state.history(which.key).hidden().is_some(),
        }
    }

    fn answer(&self, request: Request) -> Result<Answer, Failed> {
        let on = &self.operations;
        Ok(match request {
            Request::Put {
                key,
                body,
                condition: wanted,
                metadata,
                tags,
                class,
            } => {
                let mut object = Object::new(body);
                object.metadata = map(metadata);
                object.tags = map(tags);
                object.storage_class = class.map(str::to_owned);
                written(on.put(&key, Put::from(object).if_key(condition(wanted)))?)
            }
            Request::Get {
                which,
                condition,
                range,
            } => {
                let ids = ids(&which);
                let which = of(&ids);
                let is_marker = self.is_marker(&which);
                let got = on.get(which, &read(condition, range));
                let (body, of_it) = got.map_err(|code| Failed { code, is_marker })?;
                Answer {
                    body: Some(body),
                    ..head(of_it)
                }
            }
            Request::Head { which, condition } => {
                let ids = ids(&which);
                head(on.head(of(&ids), &read(condition, None))?)
            }
            Request::Delete {
                which,
                if_match,
                bypass,
            } => {
                let ids = ids(&which);
                let deleted = match (if_match, &ids.1) {
                    (Some(etag), _) => on.delete_if_match(&ids.0, &etag)?,
                    (None, Some(id)) if bypass => on.delete_bypassing_governance(&ids.0, id)?,
                    _ => on.delete(of(&ids))?,
                };
                Answer {
                    version: deleted.version.map(|id| id.to_string()),
                    is_marker: Some(deleted.is_marker),
                    ..Answer::default()
                }
            }
            Request::DeleteAll { all, quiet } => {
                let ids: Vec<_> = all.iter().map(ids).collect();
                let which: Vec<_> = ids.iter().map(of).collect();
                let answers = on.delete_all(&which)?;
                let told = ids
                    .iter()
                    .zip(answers)
                    .filter(|(_, answer)| !quiet || answer.is_err());
                let batch = told.map(|((key, version), answer)| {
                    let deleted = answer.as_ref().ok().cloned().unwrap_or_default();
                    BatchAnswer {
                        key: key.clone(),
                        version: version.as_ref().map(ToString::to_string),
                        is_marker: deleted.is_marker,
                        marker: deleted
                            .version
                            .filter(|_| deleted.is_marker)
                            .map(|id| id.to_string()),
                        error: answer.err().map(|code| code.as_str().to_owned()),
                    }
                });
                Answer {
                    batch: batch.collect(),
                    ..Answer::default()
                }
            }
            Request::Copy {
                from,
                key,
                condition: wanted,
                source_if_match,
                metadata,
                tags,
                class,
            } => {
                let (from, version) = ids(&from);
                let copy = Copy {
                    from,
                    version,
                    condition: condition(wanted),
                    source_if_match,
                    metadata: metadata.map(map),
                    tags: tags.map(map),
                    storage_class: class.map(str::to_owned),
                };
                written(on.copy(&key, &copy)?)
            }
            Request::List { .. } | Request::ListVersions { .. } => self.list(request)?,
            Request::BeginUpload { .. }
            | Request::UploadPart { .. }
            | Request::UploadPartCopy { .. }
            | Request::CompleteUpload { .. }
            | Request::AbortUpload { .. }
            | Request::ListUploads => self.upload(request)?,
            other => self.settings(other)?,
        })
    }

    fn list(&self, request: Request) -> Result<Answer, Failed> {
        Ok(match request {
            Request::List {
                prefix,
                by_directory,
                after,
                at_most,
            } => {
                let listed = self
                    .operations
                    .list(&prefix, by_directory, after.as_deref(), at_most.into())?;
                page(listed, |row| Item {
                    kind: ItemKind::Data,
                    key: row.key,
                    version: None,
                    is_latest: true,
                    size: row.size,
                    class: Some(row.storage_class),
                })
            }
            Request::ListVersions {
                prefix,
                by_directory,
                after,
                at_most,
            } => {
                let after = after.map(|(key, id)| (key, id.map(VersionId::new)));
                let after = after.as_ref().map(|(key, id)| (key.as_str(), id.as_ref()));
                let listed = self
                    .operations
                    .list_versions(&prefix, by_directory, after, at_most.into())?;
                page(listed, |row| {
                    let (kind, size, class) = match row.kind {
                        VersionKind::Marker => (ItemKind::Marker, 0, None),
                        VersionKind::Data {
                            size, storage_class, ..
                        } => (ItemKind::Data, size, storage_class),
                    };
                    Item {
                        kind,
                        key: row.key,
                        version: Some(row.id.to_string()),
                        is_latest: row.is_latest,
                        size,
                        class,
                    }
                })
            }
            other => panic!("{other:?} is no listing"),
        })
    }

    fn upload(&self, request: Request) -> Result<Answer, Failed> {
        let on = &self.operations;
        let part = |etag: String| Answer {
            etag: Some(etag),
            ..Answer::default()
        };
        Ok(match request {
            Request::BeginUpload { key, metadata, tags } => {
                let mut object = Object::new(b"");
                object.metadata = map(metadata);
                object.tags = map(tags);
                Answer {
                    upload: Some(on.begin_upload(&key, object)?),
                    ..Answer::default()
                }
            }
            Request::UploadPart {
                key,
                upload,
                number,
                body,
            } => part(on.upload_part(&key, &upload, number.into(), body)?),
            Request::UploadPartCopy {
                key,
                upload,
                number,
                from,
                range,
            } => {
                let ids = ids(&from);
                let range = range.map(|(first, last)| first..=last);
                part(on.upload_part_copy(&key, &upload, number.into(), of(&ids), range)?)
            }
            Request::CompleteUpload {
                key,
                upload,
                parts,
                condition: wanted,
            } => {
                let parts: Vec<_> = parts.into_iter().map(|(n, etag)| (n.into(), etag)).collect();
                written(on.complete_upload(&key, &upload, &parts, &condition(wanted))?)
            }
            Request::AbortUpload { key, upload } => {
                on.abort_upload(&key, &upload)?;
                Answer::default()
            }
            Request::ListUploads => {
                let uploads = on.uploads("")?.into_iter();
                Answer {
                    uploads: uploads.map(|u| (u.key, u.id)).collect(),
                    ..Answer::default()
                }
            }
            other => panic!("{other:?} is about no upload"),
        })
    }

    fn settings(&self, request: Request) -> Result<Answer, Failed> {
        let on = &self.operations;
        let status = |status: &str| Answer {
            status: Some(status.to_owned()),
            ..Answer::default()
        };
        let done = |()| Answer::default();
        Ok(match request {
            Request::Tags(which) => Answer {
                tags: on.tags(of(&ids(&which)))?,
                ..Answer::default()
            },
            Request::PutTags(which, tags) => done(on.put_tags(of(&ids(&which)), map(tags))?),
            Request::DeleteTags(which) => done(on.delete_tags(of(&ids(&which)))?),
            Request::PutRetention { which, lock, bypass } => {
                let mode = if lock.compliance {
                    RetentionMode::Compliance
                } else {
                    RetentionMode::Governance
                };
                let until = (self.now)().plus(Duration::from_secs(lock.seconds.into()));
                done(on.put_retention(of(&ids(&which)), Retention { mode, until }, bypass)?)
            }
            Request::Retention(which) => match on.retention(of(&ids(&which)))?.mode {
                RetentionMode::Governance => status("GOVERNANCE"),
                RetentionMode::Compliance => status("COMPLIANCE"),
            },
            Request::PutLegalHold(which, hold) => done(on.put_legal_hold(of(&ids(&which)), hold)?),
            Request::LegalHold(which) => status(if on.legal_hold(of(&ids(&which)))? {
                "ON"
            } else {
                "OFF"
            }),
            Request::Restore(which) => {
                on.restore(of(&ids(&which)), 1, Tier::Standard)?;
                Answer::default()
            }
            Request::SetVersioning { enabled } => {
                let versioning = if enabled {
                    Versioning::Enabled
                } else {
                    Versioning::Suspended
                };
                self.state.set_versioning(versioning);
                Answer::default()
            }
            Request::Versioning => match self.state.versioning() {
                Versioning::Enabled => status("Enabled"),
                Versioning::Suspended => status("Suspended"),
                Versioning::Never => Answer::default(),
            },
            other => panic!("{other:?} isn't about what is kept beside a version"),
        })
    }
}

#[tokio::test]
async fn the_model_does_all_that_s3_does() {
    let server = OnModel {
        model: Model::new(Timestamp::parse("2026-11-28T10:00:00Z").unwrap()),
        buckets: AtomicU32::new(0),
    };
    let facts = conformance::run(&server).await;
    let wrong = conformance::compare("the model", &facts, &[]);
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        facts.len(),
        wrong.join("\n")
    );
    assert!(
        conformance::STORIES.len() >= 42 && facts.len() >= 200,
        "{} stories, {} facts",
        conformance::STORIES.len(),
        facts.len()
    );
    println!("{} stories, {} facts", conformance::STORIES.len(), facts.len());
}

/// The table that servers are held against is about servers that are asked, and about facts that the model has.
#[test]
fn the_table_of_differences_names_servers_that_are_asked() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/s3-servers.md");
    let document = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let rows = conformance::differences(&document);
    assert!(rows.len() >= 10, "only {} rows were read", rows.len());
    for row in rows {
        assert!(
            ["MiniStack", "Ceph", "SeaweedFS"].contains(&row.server.as_str()),
            "{row:?}"
        );
    }
}
