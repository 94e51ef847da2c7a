//! S3's operations on one bucket, as any client calls them.

mod answer;
mod copying;
mod deleting;
mod pages;
mod parts;
mod reading;
mod settings;
mod writing;

pub use answer::{Deleted, Head, Page, PageItem, Written};
pub use copying::Copy;
pub use pages::Listed;
pub use reading::{Read, Which};
pub(crate) use reading::{found, is_readable};
pub use writing::{Condition, Put};

use stayput_core::version::VersionId;

use crate::call::Call;
use crate::client::{Model, Refusal};
use crate::error::ErrorCode;
use crate::world::{Contents, Hand};

/// A bucket as a client of the model calls it: what Flink, scripts and people do through S3's API. Every call is recorded and counted as one
/// request, and meets the client's faults, hooks and crashes. Answers and errors are S3's own.
#[derive(Clone, Debug)]
pub struct Operations {
    client: Model,
    bucket: String,
}

impl Model {
    /// The operations of this client on the bucket of this name, which need not exist.
    pub fn on_bucket(&self, bucket: &str) -> Operations {
        Operations {
            client: self.clone(),
            bucket: bucket.to_owned(),
        }
    }
}

impl Operations {
    /// One request.
    fn request<T>(
        &self,
        operation: &'static str,
        key: &str,
        version: Option<&VersionId>,
        work: impl FnOnce(&mut Contents, Hand<'_>) -> Result<T, ErrorCode>,
    ) -> Result<T, ErrorCode> {
        let answer = self.client.attempt(self.call(operation, key, version), |client| {
            let bucket = match client.existing(&self.bucket) {
                Ok(bucket) => bucket,
                Err(refusal) => return (Err(refusal), 1),
            };
            let principal = client.principal();
            let hand = Hand {
                world: &client.world,
                principal: &principal,
            };
            let answer = work(&mut bucket.contents(), hand);
            (answer.map_err(Refusal::from), 1)
        });
        answer.map_err(|refusal| refusal.code)
    }

    fn call(&self, operation: &'static str, key: &str, version: Option<&VersionId>) -> Call {
        Call {
            operation,
            bucket: self.bucket.clone(),
            key: key.to_owned(),
            version: version.cloned(),
            pages: 0,
            error: None,
            crashed: false,
        }
    }
}
