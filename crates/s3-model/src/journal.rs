//! Stayput's memory, as objects below the control prefix of a model's bucket.

use stayput_core::location::ObjectLocation;
use stayput_guard::port::{Journal, PortError};

use crate::client::Model;
use crate::event::EventKind;
use crate::listing::pages_of;
use crate::object::Object;
use crate::world::Hand;

/// A journal that can be looked at: each document is the object `<prefix><name>` of a [`ModelBucket`](crate::ModelBucket). Its
/// calls are those of the client that made it, and meet its faults.
#[derive(Clone, Debug)]
pub struct ModelJournal {
    pub(crate) client: Model,
    pub(crate) bucket: String,
    pub(crate) prefix: String,
}

impl ModelJournal {
    fn key(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }
}

impl Journal for ModelJournal {
    async fn read(&self, name: &str, max_bytes: u64) -> Result<Option<Vec<u8>>, PortError> {
        let location = ObjectLocation::new(self.bucket.as_str(), self.key(name));
        let answer = self
            .client
            .call("GetObject", location.bucket(), location.key(), None, |model| {
                // A bucket that is missing is an error, a document that is missing is an answer.
                let body = model.existing(&self.bucket).and_then(|bucket| {
                    let there = bucket
                        .contents()
                        .current(location.key())
                        .is_some_and(|v| v.object.is_some());
                    if there {
                        model.body_of(&location, None, max_bytes).map(Some)
                    } else {
                        Ok(None)
                    }
                });
                (body, 1)
            })?;
        Ok(answer.map(|body| body.bytes))
    }

    async fn write(&self, name: &str, document: Vec<u8>) -> Result<(), PortError> {
        let key = self.key(name);
        self.client.call("PutObject", &self.bucket, &key, None, |model| {
            let written = model.existing(&self.bucket).map(|bucket| {
                let object = Some(Object::new(document));
                let last_modified = model.world.last_modified();
                let principal = model.principal();
                let hand = Hand {
                    world: &model.world,
                    principal: &principal,
                };
                bucket
                    .contents()
                    .push(hand, &key, object, last_modified, EventKind::Put);
            });
            (written, 1)
        })
    }

    async fn names(&self, prefix: &str) -> Result<Vec<String>, PortError> {
        let full = self.key(prefix);
        let listing = self
            .client
            .call("ListObjectsV2", &self.bucket, &full, None, |model| {
                let listing = model
                    .existing(&self.bucket)
                    .map(|b| b.contents().visible(&full, false));
                let items = listing.as_ref().map_or(0, |l| l.objects.len());
                (listing, pages_of(items))
            })?;
        Ok(listing
            .objects
            .into_iter()
            .filter_map(|o| o.key.strip_prefix(&self.prefix).map(str::to_owned))
            .collect())
    }
}
