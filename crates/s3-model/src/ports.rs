//! The ports of the guard on the model. Futures are ready at once; effects come with the first poll.

use std::sync::Arc;

use s3_documents::bucket::Versioning;
use s3_documents::lifecycle::LifecycleConfiguration;
use stayput_core::location::ObjectLocation;
use stayput_core::restoring::{MAX_SINGLE_COPY_BYTES, Marker, Permit};
use stayput_core::timestamp::Timestamp;
use stayput_core::version::VersionId;
use stayput_guard::port::{
    Clock, Copied, CopyOnCondition, Listing, ObjectBody, ObjectHead, PortError, PortErrorKind, Reading,
    RemoveMarker, VersionListing, VersionsOf,
};

use crate::client::{Model, Refusal};
use crate::error::ErrorCode;
use crate::event::EventKind;
use crate::listing::pages_of;
use crate::object::{Content, Object, StoredVersion};
use crate::operations::{Condition, Which, found, is_readable};
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

impl CopyOnCondition for Model {
    async fn copy_on_condition(&self, permit: &Permit) -> Result<Copied, PortError> {
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

impl RemoveMarker for Model {
    async fn remove_marker(&self, marker: &Marker) -> Result<(), PortError> {
        let at = marker.location();
        self.call(
            "DeleteObject",
            at.bucket(),
            at.key(),
            Some(marker.id()),
            |model| {
                let removed = model.existing(at.bucket()).map(|bucket| {
                    let principal = model.principal();
                    let hand = Hand {
                        world: &model.world,
                        principal: &principal,
                    };
                    bucket
                        .contents()
                        .delete_version(hand, at.key(), marker.id(), EventKind::Deleted);
                });
                (removed, 1)
            },
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
        let (stored, object) = found(&contents, which(location, version))?;
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
        let (stored, object) = found(&contents, which(location, version))?;
        if let Some(kind) = object.refusal {
            return Err(kind.into());
        }
        is_readable(object)?;
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
        let (_, source) = found(
            &contents,
            which(permit.location(), Some(&permit.source().version)),
        )?;
        refused_altogether(source)?;
        is_readable(source)?;
        if source.content.len() > MAX_SINGLE_COPY_BYTES {
            return Err(ErrorCode::InvalidRequest.into());
        }
        if honours {
            contents.holds(key, &Condition::of(permit))?;
        }
        let mut copy = source.copied();
        copy.storage_class = permit.storage_class().map(str::to_owned);
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
        let written = contents.write(hand, key, copy, EventKind::Copied)?;
        Ok(Copied {
            version: written.version,
            condition_honoured: honours,
        })
    }
}

fn which<'w>(location: &'w ObjectLocation, version: Option<&'w VersionId>) -> Which<'w> {
    Which {
        key: location.key(),
        version,
    }
}

/// Who may not read an object, or lacks its key, gets neither its head nor a copy.
pub(crate) fn refused_altogether(object: &Object) -> Result<(), Refusal> {
    match object.refusal {
        Some(kind @ (PortErrorKind::Denied | PortErrorKind::Unreadable)) => Err(kind.into()),
        _ => Ok(()),
    }
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
        readability: crate::thawing::readability(object),
        replica: object.replica,
    }
}
