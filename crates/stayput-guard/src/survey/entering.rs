//! What was read of a `_metadata`, entered into the catalogue.

use stayput_core::location::ObjectLocation;
use stayput_core::metadata::{NotEntered, NotTaken, enter};
use stayput_core::snapshot::{Contents, HiddenBy, Snapshot, identity_of};

use super::fetch::{Fetched, Known};
use super::sidecars::{Asked, Kept, recorder};
use super::{Eyes, Survey};
use crate::port::{Journal, ObjectBody, Reading};

impl Survey {
    /// Enters a snapshot by what came of asking for its `_metadata`, and keeps the sidecar of a large one that was read itself.
    pub(super) async fn enter<R: Reading + Sync, J: Journal + Sync>(
        &mut self,
        eyes: &Eyes<'_, R, J>,
        metadata: &ObjectLocation,
        asked: Asked,
        hidden: Option<HiddenBy>,
    ) {
        let mut sidecar = None;
        let entered = match asked {
            Asked::Itself(Fetched::Failed(why)) => return self.fail(identity_of(metadata).1, why),
            Asked::Itself(Fetched::Absent) => return self.catalogue.remove(metadata),
            Asked::Itself(Fetched::Unreadable(why, seen)) => {
                let names_at_least = Vec::new();
                let known = seen.as_ref().map(Known::from).unwrap_or_default();
                Ok((known, Contents::Unreadable { why, names_at_least }))
            }
            Asked::Itself(Fetched::Body(body)) => {
                let read = self.read_body(eyes, metadata, &body);
                read.map(|(contents, recorded)| {
                    sidecar = recorded;
                    (Known::from(&body.head), contents)
                })
            }
            Asked::Kept(kept) => self.read_kept(eyes, metadata, *kept),
        };
        let (kind, job) = identity_of(metadata);
        let (known, contents) = match entered {
            Ok(entered) => entered,
            Err(full) => return self.fail(job, full),
        };
        let id = self.catalogue.insert(Snapshot {
            metadata: metadata.clone(),
            version: known.version,
            etag: known.etag,
            size: known.size,
            kind,
            job,
            written: known.written.unwrap_or(eyes.now),
            hidden,
            contents,
            kept: None,
        });
        self.enter_tails(id, metadata);
        self.mark_kept(eyes, metadata);
        if let Some(sidecar) = sidecar {
            // Without it the next process that begins reads the `_metadata` itself, and tries again.
            if let Err(e) = eyes.memory.keep_sidecar(metadata, sidecar).await {
                self.unkept.add(e);
            }
        }
    }

    /// Contents and sidecar, or that the index has no room.
    fn read_body<R, J: Journal>(
        &mut self,
        eyes: &Eyes<'_, R, J>,
        metadata: &ObjectLocation,
        body: &ObjectBody,
    ) -> Result<(Contents, Option<Vec<u8>>), String> {
        let sinks = stayput_core::sinks::find(&body.bytes, Some(metadata));
        let recorder = recorder(eyes, metadata, body, !sinks.is_empty());
        self.sinks.take(metadata, &body.head.etag, sinks);
        let more = self.ha.names_more(metadata).iter().map(|(l, e)| (l, *e));
        let roots = &eyes.mandate.roots;
        let index = &mut self.catalogue.index;
        match enter(&body.bytes, metadata, roots, more, index, recorder) {
            Ok(entered) => Ok((Contents::Read(entered.facts), entered.sidecar)),
            Err(NotEntered::Full(full)) => Err(full.to_string()),
            Err(NotEntered::NotTaken(NotTaken { why, names_at_least })) => {
                Ok((Contents::Unreadable { why, names_at_least }, None))
            }
        }
    }

    fn read_kept<R, J>(
        &mut self,
        eyes: &Eyes<'_, R, J>,
        metadata: &ObjectLocation,
        kept: Kept,
    ) -> Result<(Known, Contents), String> {
        let Kept { head, sidecar } = kept;
        self.sinks.take_kept(metadata, &head.etag, sidecar.has_sinks());
        let more = self.ha.names_more(metadata).iter().map(|(l, e)| (l, *e));
        let facts = sidecar.enter(&eyes.mandate.roots, more, &mut self.catalogue.index);
        let facts = facts.map_err(|full| full.to_string())?;
        Ok((Known::from(&head), Contents::Read(facts)))
    }
}
