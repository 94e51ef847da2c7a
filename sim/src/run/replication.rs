//! What jobs do in one bucket comes to another, late and in another order.

use std::collections::BTreeMap;

use s3_model::Model;

use super::{Later, Run};
use crate::actors::Checkpoint;
use crate::clock::{HOUR, MINUTE, Millis};
use crate::dice::Dice;
use crate::oracle::Replica;
use crate::scenario::Replication;
use crate::store::{Happened, Store};
use crate::trace::Lane;

/// The bucket that jobs write to, and what has come of it.
pub(super) struct Origin {
    store: Store,
    how: Replication,
    /// When the last change of a key comes: the next one of that key comes no sooner.
    comes: BTreeMap<String, Millis>,
    /// Snapshots whose `_metadata` is on the way.
    complete: Vec<Checkpoint>,
    pub(super) replica: Replica,
}

impl Origin {
    pub(super) fn new(model: &Model, how: Replication) -> Self {
        Self {
            store: Store::origin(model),
            how,
            comes: BTreeMap::new(),
            complete: Vec::new(),
            replica: Replica::default(),
        }
    }
}

/// The bucket that jobs write to and read.
pub(super) fn flinks<'r>(origin: &'r mut Option<Origin>, store: &'r mut Store) -> &'r mut Store {
    match origin {
        Some(origin) => &mut origin.store,
        None => store,
    }
}

impl Run<'_> {
    /// A snapshot is complete where its job wrote it.
    pub(super) fn learn(&mut self, snapshot: &Checkpoint) {
        match &mut self.origin {
            Some(origin) => origin.complete.push(snapshot.clone()),
            None => self.oracle.ledger.learn(snapshot),
        }
    }

    /// What was done in the origin since the last time comes here some time later. What rules do there would never come; there are none.
    pub(super) fn replicate_later(&mut self) {
        let Some(origin) = &mut self.origin else { return };
        let mut coming = Vec::new();
        for event in origin.store.take_events() {
            let version = match event.what {
                Happened::Written(version) => version,
                Happened::Hidden(marker) if origin.how.markers => marker,
                Happened::Hidden(_) | Happened::Purged(_) | Happened::Thawed(_) => continue,
            };
            let mut dice = Dice::for_purpose(self.scenario.seed, 3_000_000 + event.number);
            let delay = if dice.per_mille(origin.how.late) {
                dice.between(15 * MINUTE, 5 * HOUR)
            } else {
                dice.between(500, origin.how.delay.max(1000))
            };
            let last = origin.comes.get(&event.key).copied().unwrap_or(0);
            let at = (event.at + delay).max(last + 1);
            origin.comes.insert(event.key.clone(), at);
            coming.push((at, Later::Replicates(event.key, version)));
        }
        for (at, what) in coming {
            self.later(at, what);
        }
    }

    /// A version or marker comes from the origin.
    pub(super) fn replicate(&mut self, key: &str, version: &str) {
        let now = self.now();
        let Some(origin) = &mut self.origin else { return };
        let is_data = self.store.replicate(&origin.store, key, version);
        if is_data {
            let newest = self.store.newest_bytes(key);
            let is_it = |c: &Checkpoint| c.metadata == key && newest.as_ref() == Some(&c.etag);
            if let Some(place) = origin.complete.iter().position(is_it) {
                let snapshot = origin.complete.remove(place);
                self.oracle.ledger.learn_as_it_arrives(&snapshot, now);
                origin.replica.learn(snapshot);
            }
            self.happened("objects that came by replication");
        } else {
            self.happened("markers that came by replication");
        }
        self.note(Lane::Replication, || {
            let what = if is_data { "data" } else { "a marker" };
            format!("{what} of {key}")
        });
    }
}
