//! Whether what a `_metadata` names may still be on its way here, since S3 replicated that from another bucket.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::guard::{Eyes, Journal, ObjectLocation, PortError, Reading, Timestamp};

/// What S3 replicates comes within a quarter of an hour where its Replication Time Control is on, and nearly always within an hour without.
const REPLICATED_WITHIN: Duration = Duration::from_secs(3600);

/// What was asked in this call: a checkpoint can have thousands of files that aren't here yet.
#[derive(Default)]
pub(super) struct Replicated(Mutex<BTreeMap<ObjectLocation, Option<Timestamp>>>);

impl Replicated {
    /// Until when the files of a `_metadata` may be on the way; `None`: it was written here, or long ago.
    pub(super) async fn until<R: Reading + Sync, J: Journal + Sync>(
        &self,
        eyes: &Eyes<'_, R, J>,
        metadata: &ObjectLocation,
    ) -> Result<Option<Timestamp>, PortError> {
        let known = self.asked().get(metadata).copied();
        if let Some(until) = known {
            return Ok(until);
        }
        let until = ask(eyes, metadata).await?;
        self.asked().insert(metadata.clone(), until);
        Ok(until)
    }

    fn asked(&self) -> std::sync::MutexGuard<'_, BTreeMap<ObjectLocation, Option<Timestamp>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn ask<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    metadata: &ObjectLocation,
) -> Result<Option<Timestamp>, PortError> {
    let history = eyes.history(metadata).await?;
    let Some(newest) = history.data_versions().next() else {
        return Ok(None);
    };
    let until = newest.last_modified.plus(REPLICATED_WITHIN);
    if until <= eyes.now {
        return Ok(None);
    }
    match eyes.reading.head(metadata, Some(&newest.id)).await {
        Ok(head) => Ok(head.replica.then_some(until)),
        Err(e) if e.is_transient() => Err(e),
        Err(_) => Ok(None),
    }
}
