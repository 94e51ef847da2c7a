//! The port by which archived versions are asked for, on the model.

use std::time::Duration;

use stayput_core::restoring::Permit;
use stayput_core::thaw::{Readability, ThawOrder, ThawTier, is_deep};
use stayput_guard::port::{PortError, Thaw};

use crate::client::Model;
use crate::error::ErrorCode;
use crate::object::Object;
use crate::operations::{Which, found};
use crate::ports::refused_altogether;
use crate::thaw::Tier;
use crate::world::{DAY, Hand};

impl Thaw for Model {
    fn order(&self) -> ThawOrder {
        ThawOrder::default()
    }

    async fn thaw(&self, permit: &Permit) -> Result<Duration, PortError> {
        let at = permit.location();
        let order = self.order();
        let version = Some(&permit.source().version);
        let which = Which {
            key: at.key(),
            version,
        };
        let head = self.call("HeadObject", at.bucket(), at.key(), version, |model| {
            let head = model.existing(at.bucket()).and_then(|bucket| {
                let contents = bucket.contents();
                let (_, object) = found(&contents, which)?;
                refused_altogether(object)?;
                let deep = is_deep(object.archive());
                Ok((readability(object), deep))
            });
            (head, 1)
        });
        let (readability, deep) = head?;
        match readability {
            Readability::Now => return Ok(Duration::ZERO),
            Readability::Thawing => return Ok(order.tier.takes(deep)),
            Readability::Archived => {}
        }
        self.call("RestoreObject", at.bucket(), at.key(), version, |model| {
            let asked = model.existing(at.bucket()).and_then(|bucket| {
                let principal = model.principal();
                let hand = Hand {
                    world: &model.world,
                    principal: &principal,
                };
                let tier = match order.tier.in_archive(deep) {
                    ThawTier::Expedited => Tier::Expedited,
                    ThawTier::Standard => Tier::Standard,
                    ThawTier::Bulk => Tier::Bulk,
                };
                let span = DAY.saturating_mul(order.days.into());
                match bucket.contents().thaw(hand, which, span, tier) {
                    Ok(_) | Err(ErrorCode::RestoreAlreadyInProgress) => Ok(()),
                    Err(code) => Err(code.into()),
                }
            });
            (asked, 1)
        })?;
        Ok(order.tier.takes(deep))
    }
}

/// What its head says of the bytes.
pub(crate) fn readability(object: &Object) -> Readability {
    let restore = object.thaw.map(|thaw| thaw.header(object.thawed));
    if object.thawed {
        Readability::Now
    } else {
        let (class, status) = (object.storage_class.as_deref(), object.archive_status.as_deref());
        Readability::of_head(class, status, restore.as_deref())
    }
}
