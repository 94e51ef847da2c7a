//! Filling a bucket from a listing.

use s3_documents::listing::{Row, VersionListing};
use stayput_core::timestamp::Timestamp;
use stayput_core::version::VersionId;

use crate::bucket::ModelBucket;
use crate::object::{Content, Object, StoredVersion};

/// The listing ends before the bucket does, so the model would lack what follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TruncatedListing;

impl std::fmt::Display for TruncatedListing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(
            "the listing was cut off (IsTruncated), so the bucket wasn't loaded: list it again without a limit of items",
        )
    }
}

impl std::error::Error for TruncatedListing {}

impl ModelBucket {
    /// Makes the bucket hold what the listing says and nothing else. Every data version becomes so many zeroes; [`Self::edit`] gives one its
    /// bytes, metadata and tags.
    ///
    /// # Errors
    /// The listing was cut off. Then the bucket is as before.
    pub fn load(&self, listing: &VersionListing) -> Result<(), TruncatedListing> {
        if listing.truncated {
            return Err(TruncatedListing);
        }
        let mut contents = self.state.contents();
        contents.keys.clear();
        // Rows come with the newest first, stacks have the oldest first.
        for row in listing.rows().into_iter().rev() {
            let object = match row {
                Row::Marker(_) => None,
                Row::Version(version) => {
                    let mut object = Object::new(Content::Zeroes(version.size));
                    if let Some(etag) = &version.etag {
                        object.etag.clone_from(etag);
                    }
                    object.storage_class.clone_from(&version.storage_class);
                    Some(object)
                }
            };
            contents
                .keys
                .entry(row.key().to_owned())
                .or_default()
                .push(StoredVersion {
                    id: VersionId::new(row.version_id()),
                    last_modified: Timestamp::from_millis(row.last_modified()),
                    object,
                });
        }
        Ok(())
    }
}
