//! The ports of the guard on the model. Futures are ready at once; effects come with the first poll.

use std::sync::Arc;

use s3_documents::bucket::Versioning;
use s3_documents::lifecycle::LifecycleConfiguration;
use stayput_core::location::ObjectLocation;
use stayput_core::restoring::Permit;
use stayput_core::timestamp::Timestamp;
use stayput_core::version::VersionId;
use stayput_guard::port::{
    Clock, Copied, CopyIfAbsent, Listing, ObjectBody, ObjectHead, PortError, PortErrorKind, Reading,
    VersionListing, VersionsOf,
};

use crate::client::{Model, Refusal};
use crate::error::ErrorCode;
use crate::event::EventKind;
use crate::listing::pages_of;
use crate::object::{Content, Object, StoredVersion};
use crate::world::{BucketState, Contents, Hand};

impl Clock for Model {
    fn now(&self) -> Timestamp {
        self.world.now()
    }
}

impl Reading for Model {
    async fn list(&self, bucket: &str, prefix: &str, by_directory: bool) -> Result<Listing, PortError> {
        self.call("ListObjectsV2", bucket, prefix, None, |model| {
            let listing = model
                .existing(bucket)
                .map(|b| b.contents().visible(prefix, by_directory));
            let items = listing.as_ref().map_or(0, |l| l.objects.len() + l.prefixes.len());
            (listing, pages_of(items))
        })
    }

    async fn versions(&self, of: VersionsOf<'_>) -> Result<VersionListing, PortError> {
        self.call("ListObjectVersions", of.bucket, of.prefix, None, |model| {
            let listing = model.existing(of.bucket).map(|b| b.contents().versions(&of));
            let items = listing.as_ref().map_or(0, |l| l.entries.len() + l.prefixes.len());
            (listing, pages_of(items))
        })
    }

    async fn head(
        &self,
        location: &ObjectLocation,
        version: Option<&VersionId>,
    ) -> Result<ObjectHead, PortError> {
        self.call(
            "HeadObject",
            location.bucket(),
            location.key(),
            version,
            |model| (model.head_of(location, version), 1),
        )
    }

    async fn body(
        &self,
        location: &ObjectLocation,
        version: Option<&VersionId>,
        max_bytes: u64,
    ) -> Result<ObjectBody, PortError> {
        self.call("GetObject", location.bucket(), location.key(), version, |model| {
            (model.body_of(location, version, max_bytes), 1)
        })
    }

    async fn versioning(&self, bucket: &str) -> Result<Versioning, PortError> {
        self.call("GetBucketVersioning", bucket, "", None, |model| {
            (model.existing(bucket).map(|b| b.contents().versioning), 1)
        })
    }

    async fn lifecycle(&self, bucket: &str) -> Result<LifecycleConfiguration, PortError> {
        self.call("GetBucketLifecycleConfiguration", bucket, "", None, |model| {
            (model.existing(bucket).map(|b| b.contents().lifecycle.clone()), 1)
        })
    }
}

impl CopyIfAbsent for Model {
    async fn copy_if_absent(&self, permit: &Permit) -> Result<Copied, PortError> {
        let (location, source) = (permit.location(), &permit.source().version);
        self.call(
            "CopyObject",
            location.bucket(),
            location.key(),
            Some(source),
            |model| (model.copy(permit), 1),
        )
    }
}

impl Model {
    pub(crate) fn existing(&self, bucket: &str) -> Result<Arc<BucketState>, Refusal> {
        self.world
            .bucket(bucket)
            .ok_or_else(|| ErrorCode::NoSuchBucket.into())
    }

    fn head_of(&self, location: &ObjectLocation, version: Option<&VersionId>) -> Result<ObjectHead, Refusal> {
        let bucket = self.existing(location.bucket())?;
        let contents = bucket.contents();
        let (stored, object) = found(&contents, location.key(), version)?;
        refused_altogether(object)?;
        Ok(head(&contents, stored, object))
    }

    pub(crate) fn body_of(
        &self,
        location: &ObjectLocation,
        version: Option<&VersionId>,
        max_bytes: u64,
    ) -> Result<ObjectBody, Refusal> {
        let bucket = self.existing(location.bucket())?;
        let contents = bucket.contents();
        let (stored, object) = found(&contents, location.key(), version)?;
        if let Some(kind) = object.refusal {
            return Err(kind.into());
        }
        not_archived(object)?;
        let size = object.content.len();
        let bytes = match (&object.content, usize::try_from(size)) {
            _ if size > max_bytes => return Err(PortErrorKind::TooLarge { size }.into()),
            (Content::Withheld(_), _) => {
                self.note_read_in_vain(location.clone(), stored.id.clone());
                return Err(Refusal::because(
                    PortErrorKind::NotFound,
                    "the model has no bytes for this version: nothing that is decided may depend on them",
                ));
            }
            (Content::Bytes(bytes), _) => bytes.to_vec(),
            (Content::Zeroes(_), Ok(length)) => vec![0; length],
            (Content::Zeroes(_), Err(_)) => return Err(PortErrorKind::TooLarge { size }.into()),
        };
        Ok(ObjectBody {
            bytes,
            head: head(&contents, stored, object),
        })
    }

    fn copy(&self, permit: &Permit) -> Result<Copied, Refusal> {
        let honours = !self.ignores_conditions();
        let key = permit.location().key();
        let bucket = self.existing(permit.location().bucket())?;
        let mut contents = bucket.contents();
        let (_, source) = found(&contents, key, Some(&permit.source().version))?;
        refused_altogether(source)?;
        not_archived(source)?;
        if honours && contents.current(key).is_some_and(|v| v.object.is_some()) {
            return Err(PortErrorKind::Precondition.into());
        }
        let mut copy = Object {
            storage_class: permit.storage_class().map(str::to_owned),
            refusal: None,
            thawed: false,
            retention: None,
            legal_hold: false,
            ..source.clone()
        };
        if !self.ignores_directives() {
            for (name, value) in permit.metadata() {
                copy.metadata.insert(name.to_owned(), value);
            }
        }
        let principal = self.principal();
        let hand = Hand {
            world: &self.world,
            principal: &principal,
        };
        let last_modified = self.world.last_modified();
        let id = contents.push(hand, key, Some(copy), last_modified, EventKind::Copied);
        Ok(Copied {
            version: contents.told_id(&id),
            condition_honoured: honours,
        })
    }
}

/// The data version that a request means: the visible one, or the one with this id. A marker is none.
fn found<'c>(
    contents: &'c Contents,
    key: &str,
    version: Option<&VersionId>,
) -> Result<(&'c StoredVersion, &'c Object), Refusal> {
    let (stored, nothing, of_marker) = match version {
        Some(id) => (
            contents.version(key, id),
            ErrorCode::NoSuchVersion,
            ErrorCode::MethodNotAllowed,
        ),
        None => (contents.current(key), ErrorCode::NoSuchKey, ErrorCode::NoSuchKey),
    };
    let stored = stored.ok_or(nothing)?;
    let object = stored.object.as_ref().ok_or(of_marker)?;
    Ok((stored, object))
}

/// Who may not read an object, or lacks its key, gets neither its head nor a copy.
fn refused_altogether(object: &Object) -> Result<(), Refusal> {
    match object.refusal {
        Some(kind @ (PortErrorKind::Denied | PortErrorKind::Unreadable)) => Err(kind.into()),
        _ => Ok(()),
    }
}

fn not_archived(object: &Object) -> Result<(), Refusal> {
    if object.is_archived() {
        return Err(ErrorCode::InvalidObjectState.into());
    }
    Ok(())
}

fn head(contents: &Contents, stored: &StoredVersion, object: &Object) -> ObjectHead {
    ObjectHead {
        version: contents.told_id(&stored.id),
        size: object.content.len(),
        etag: object.etag.clone(),
        last_modified: stored.last_modified,
        // HeadObject leaves STANDARD out, unlike listings.
        storage_class: object.storage_class.clone().filter(|c| c != "STANDARD"),
        metadata: object
            .metadata
            .iter()
            .map(|(n, v)| (n.clone(), v.clone()))
            .collect(),
    }
}
