//! HA stores: which checkpoints a JobManager would restore. One listing for each HA root, one GET for each new object.

use std::collections::BTreeMap;

use stayput_core::cause::Cause;
use stayput_core::extent::Extent;
use stayput_core::ha::{NamedByHa, is_completed_checkpoint, take};
use stayput_core::location::ObjectLocation;
use stayput_core::report::finding::{Finding, FindingCode};
use stayput_core::root::RootKind;
use stayput_core::snapshot::{Contents, Facts, Kept, Snapshot, Unreadable, identity_of};
use stayput_core::timestamp::Timestamp;
use stayput_core::version::VersionId;

use super::fetch::{Fetched, fetch, fetch_all, first_written};
use super::sidecars::{Asked, ask};
use super::{Eyes, Survey};
use crate::port::{Journal, Reading};

/// What is known of the HA stores.
#[derive(Default)]
pub(crate) struct HaStores {
    objects: BTreeMap<ObjectLocation, HaObject>,
    /// The object that names the checkpoint with this `_metadata`.
    by_metadata: BTreeMap<ObjectLocation, ObjectLocation>,
    listed_at: Option<Timestamp>,
    /// Objects of which messages of this call say that somebody but Flink deleted them: they still count, as a hidden head does.
    taken_away: Vec<ObjectLocation>,
    /// Objects that were found unreadable since people were last told.
    unreadable: Vec<(ObjectLocation, Unreadable)>,
}

/// One `completedCheckpoint…` object.
#[derive(Clone)]
struct HaObject {
    etag: String,
    size: u64,
    says: Says,
}

#[derive(Clone)]
enum Says {
    Names {
        metadata: ObjectLocation,
        /// What it names and the `_metadata` that was read doesn't: normally nothing (flink-format: FLINK-39964 makes a difference).
        more: Vec<(ObjectLocation, Extent)>,
    },
    /// Its checkpoint lies on another file system.
    Elsewhere,
    Unreadable,
}

impl HaStores {
    /// Whether an HA store names the checkpoint with this `_metadata`.
    pub(super) fn names(&self, metadata: &ObjectLocation) -> bool {
        self.by_metadata.contains_key(metadata)
    }

    /// What an HA store names besides the `_metadata` that was read.
    pub(super) fn names_more(&self, metadata: &ObjectLocation) -> &[(ObjectLocation, Extent)] {
        let object = self.by_metadata.get(metadata).and_then(|o| self.objects.get(o));
        match object.map(|o| &o.says) {
            Some(Says::Names { more, .. }) => more,
            _ => &[],
        }
    }

    /// Whether they were never listed and read to the end, or not since something there couldn't be.
    pub(super) fn are_unknown(&self) -> bool {
        self.listed_at.is_none()
    }

    /// Whether they name any checkpoint at all.
    pub(crate) fn name_nothing(&self) -> bool {
        self.by_metadata.is_empty()
    }

    /// Objects that can't be read: nobody knows what they name.
    pub(crate) fn unreadable(&self) -> impl Iterator<Item = &ObjectLocation> {
        let unreadable = |o: &HaObject| matches!(o.says, Says::Unreadable);
        self.objects
            .iter()
            .filter(move |(_, o)| unreadable(o))
            .map(|(location, _)| location)
    }

    /// A finding for each object that was found unreadable since the last call.
    pub(crate) fn findings(&mut self) -> Vec<Finding> {
        let tell = |(location, why): (ObjectLocation, Unreadable)| {
            let mut finding = Finding::new(FindingCode::HaUnreadable, location.to_string());
            finding.meaning = format!("{} Why: {why}.", finding.meaning);
            finding
        };
        std::mem::take(&mut self.unreadable)
            .into_iter()
            .map(tell)
            .collect()
    }

    fn index(&mut self) {
        self.by_metadata = self
            .objects
            .iter()
            .filter_map(|(object, o)| match &o.says {
                Says::Names { metadata, .. } => Some((metadata.clone(), object.clone())),
                Says::Elsewhere | Says::Unreadable => None,
            })
            .collect();
    }
}

impl Survey {
    /// Takes in what the messages say of HA objects. Flink removes an object before anything of the checkpoint that it names.
    pub(super) fn told_of_ha(&mut self, deleted: &BTreeMap<ObjectLocation, Cause>) {
        self.ha.taken_away.clear();
        for (object, cause) in deleted {
            if cause.is_flink_or_unknown() {
                self.ha.objects.remove(object);
            } else {
                self.ha.taken_away.push(object.clone());
            }
        }
        self.ha.index();
    }

    /// Lists the HA roots and reads what is new there, unless that was done in this call.
    pub(crate) async fn look_at_ha<R: Reading + Sync, J: Journal + Sync>(&mut self, eyes: &Eyes<'_, R, J>) {
        if self.ha.listed_at == Some(eyes.now) {
            return;
        }
        let failed_before = self.failed.len();
        self.ha.listed_at = None;
        let Some(visible) = self.list_ha(eyes).await else {
            return;
        };
        let mut wanted: Vec<(ObjectLocation, Option<VersionId>)> = Vec::new();
        let mut objects = BTreeMap::new();
        for (location, etag, size) in visible {
            match self.ha.objects.remove(&location) {
                Some(known) if known.etag == etag && known.size == size => {
                    objects.insert(location, known);
                }
                _ => wanted.push((location, None)),
            }
        }
        for location in std::mem::take(&mut self.ha.taken_away) {
            if objects.contains_key(&location) || wanted.iter().any(|(w, _)| *w == location) {
                continue;
            }
            if let Some(known) = self.ha.objects.remove(&location) {
                objects.insert(location.clone(), known);
                self.ha.taken_away.push(location);
                continue;
            }
            match eyes.history(&location).await {
                Ok(history) => {
                    let newest = history.data_versions().next().map(|v| v.id.clone());
                    wanted.extend(newest.map(|version| (location.clone(), Some(version))));
                }
                Err(e) => self.failed.push(e.to_string()),
            }
            self.ha.taken_away.push(location);
        }
        let mut new = Vec::new();
        fetch_all(eyes, wanted, |location, fetched| {
            let (etag, size, said) = match fetched {
                // Removed since it was listed, as Flink does at each checkpoint.
                Fetched::Absent => return,
                Fetched::Failed(why) => return self.failed.push(why),
                Fetched::Unreadable(why, _) => (String::new(), 0, Err(why)),
                Fetched::Body(body) => {
                    let said = take(&body.bytes, &eyes.mandate.roots);
                    let written = first_written(&body.head);
                    (
                        body.head.etag,
                        body.head.size,
                        said.map(|named| named.map(|n| (n, written))),
                    )
                }
            };
            let says = match said {
                Ok(Some((named, written))) => {
                    let metadata = named.metadata.clone();
                    new.push((location.clone(), named, written));
                    Says::Names {
                        metadata,
                        more: Vec::new(),
                    }
                }
                Ok(None) => Says::Elsewhere,
                Err(why) => {
                    self.ha.unreadable.push((location.clone(), why));
                    Says::Unreadable
                }
            };
            objects.insert(location, HaObject { etag, size, says });
        })
        .await;
        self.ha.objects = objects;
        self.ha.index();
        for (object, named, written) in new {
            self.meet(eyes, &object, named, written).await;
        }
        // What couldn't be read just now is asked for at the next call again.
        self.ha.listed_at = (self.failed.len() == failed_before).then_some(eyes.now);
        self.forget_what_only_ha_knew();
        for metadata in self.metadata_locations() {
            self.mark_kept(eyes, &metadata);
        }
    }

    /// Checkpoints without `_metadata` that no HA store names any more.
    pub(super) fn forget_what_only_ha_knew(&mut self) {
        let only_by_ha =
            |s: &Snapshot| s.kept == Some(Kept::NamedByHa) && s.etag.is_empty() && s.facts().is_some();
        let forgotten: Vec<ObjectLocation> = self
            .catalogue
            .iter()
            .filter(|(_, s)| only_by_ha(s) && !self.ha.names(&s.metadata))
            .map(|(_, s)| s.metadata.clone())
            .collect();
        for metadata in forgotten {
            self.catalogue.remove(&metadata);
        }
    }

    /// All visible objects of checkpoints below the HA roots: key, ETag, length. `None` if a listing failed.
    async fn list_ha<R: Reading + Sync, J: Journal + Sync>(
        &mut self,
        eyes: &Eyes<'_, R, J>,
    ) -> Option<Vec<(ObjectLocation, String, u64)>> {
        let mut visible = Vec::new();
        for root in eyes.mandate.roots.iter().filter(|r| r.kind == RootKind::Ha) {
            match eyes
                .reading
                .list(root.bucket(), &root.metadata_prefix(), false)
                .await
            {
                Ok(listing) => visible.extend(
                    listing
                        .objects
                        .into_iter()
                        .filter(|o| is_completed_checkpoint(&o.key))
                        .map(|o| (ObjectLocation::new(root.bucket(), o.key), o.etag, o.size)),
                ),
                Err(e) => {
                    self.failed.push(e.to_string());
                    return None;
                }
            }
        }
        Some(visible)
    }

    /// A checkpoint that an HA store was found to name: it is read even if there are many newer ones. What the store names besides counts too,
    /// since a JobManager that recovers restores from the store's object and never reads `_metadata`.
    async fn meet<R: Reading + Sync, J: Journal + Sync>(
        &mut self,
        eyes: &Eyes<'_, R, J>,
        object: &ObjectLocation,
        named: NamedByHa,
        written: Timestamp,
    ) {
        let metadata = named.metadata.clone();
        if self.snapshot_at(&metadata).is_none() {
            match ask(eyes, &metadata, None).await {
                Asked::Itself(Fetched::Absent) => self.look_up_without_ha(eyes, &metadata).await,
                Asked::Itself(Fetched::Failed(why)) => {
                    // Met again at the next listing.
                    self.ha.objects.remove(object);
                    self.ha.index();
                    return self.fail(identity_of(&metadata).1, why);
                }
                asked => self.enter(eyes, &metadata, asked, None).await,
            }
        }
        let Some(facts) = self.snapshot_at(&metadata).and_then(Snapshot::facts).cloned() else {
            return self.enter_from_ha(eyes, named, written);
        };
        let more: Vec<(ObjectLocation, Extent)> = named
            .references
            .into_iter()
            .filter(|(location, _)| {
                let known = self.catalogue.index.find(location);
                !known.is_some_and(|o| self.catalogue.index.names(facts.references, o))
            })
            .collect();
        if more.is_empty() {
            return;
        }
        let added = self
            .catalogue
            .index
            .add_more(facts.references, more.iter().map(|(l, e)| (l, *e)));
        if let Err(full) = added {
            return self.fail(identity_of(&metadata).1, full.to_string());
        }
        if let Some(HaObject {
            says: Says::Names { more: kept, .. },
            ..
        }) = self.ha.objects.get_mut(object)
        {
            *kept = more;
        }
    }

    /// A `_metadata` that is gone, or can't be read: what an HA store says of the checkpoint stands for it; without one it is forgotten.
    pub(super) async fn absent<R: Reading + Sync, J: Journal + Sync>(
        &mut self,
        eyes: &Eyes<'_, R, J>,
        metadata: &ObjectLocation,
    ) {
        let Some(object) = self.ha.by_metadata.get(metadata).cloned() else {
            return self.catalogue.remove(metadata);
        };
        match fetch(eyes, &object, None).await {
            Fetched::Body(body) => match take(&body.bytes, &eyes.mandate.roots) {
                Ok(Some(named)) => self.enter_from_ha(eyes, named, first_written(&body.head)),
                Ok(None) | Err(_) => self.catalogue.remove(metadata),
            },
            Fetched::Failed(why) => self.fail(identity_of(metadata).1, why),
            Fetched::Absent | Fetched::Unreadable(..) => self.catalogue.remove(metadata),
        }
    }

    /// Enters a checkpoint by what an HA store says. One whose `_metadata` can't be read keeps what is known of that object.
    fn enter_from_ha<R, J>(&mut self, eyes: &Eyes<'_, R, J>, named: NamedByHa, written: Timestamp) {
        let metadata = named.metadata;
        let (kind, job) = identity_of(&metadata);
        let references = named.references.iter().map(|(l, e)| (l, *e));
        let references = match self.catalogue.enter_references(references) {
            Ok(references) => references,
            Err(full) => return self.fail(job, full.to_string()),
        };
        let contents = Contents::Read(Facts {
            references,
            checkpoint_id: named.checkpoint_id,
            operators: named.operators,
            backends: named.backends,
            directories: named.directories,
        });
        let snapshot = match self.snapshot_at(&metadata) {
            Some(unreadable) => Snapshot {
                contents,
                ..unreadable.clone()
            },
            None => Snapshot {
                metadata: metadata.clone(),
                version: None,
                etag: String::new(),
                size: 0,
                kind,
                job,
                written,
                hidden: None,
                contents,
                kept: Some(Kept::NamedByHa),
            },
        };
        self.catalogue.insert(snapshot);
        self.mark_kept(eyes, &metadata);
    }
}
