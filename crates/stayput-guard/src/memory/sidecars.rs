//! Sidecars in the journal: where they lie, so that a job doesn't fill its bucket with those of checkpoints that are gone.

use stayput_core::location::ObjectLocation;
use stayput_core::snapshot::{SnapshotKind, identity_of};

use super::{Memory, hash, job_hash};
use crate::port::{Journal, PortError};

/// A job has so many places: its 65th checkpoint takes that of its first one. More are rarely retained, and then only cost a reading each.
const PLACES: u64 = 64;

impl<J: Journal> Memory<J> {
    /// The bytes in the place of the sidecar of this `_metadata`, which may be those of another one. One of more than `max_bytes` is an error.
    pub(crate) async fn sidecar(
        &self,
        metadata: &ObjectLocation,
        max_bytes: u64,
    ) -> Result<Option<Vec<u8>>, PortError> {
        match &self.journal {
            Some(journal) => journal.read(&place(metadata), max_bytes).await,
            None => Ok(None),
        }
    }

    /// Puts the sidecar of this `_metadata` into its place.
    pub(crate) async fn keep_sidecar(
        &self,
        metadata: &ObjectLocation,
        sidecar: Vec<u8>,
    ) -> Result<(), PortError> {
        match &self.journal {
            Some(journal) => journal.write(&place(metadata), sidecar).await,
            None => Ok(()),
        }
    }
}

fn place(metadata: &ObjectLocation) -> String {
    match identity_of(metadata) {
        (SnapshotKind::Checkpoint { id }, job) => format!("sidecar/{}/{}", job_hash(&job), id % PLACES),
        (SnapshotKind::Savepoint, _) => {
            format!("sidecar/{}", hash(&[metadata.bucket(), metadata.key()]))
        }
    }
}
