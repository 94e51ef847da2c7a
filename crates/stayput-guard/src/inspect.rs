//! Looking at one snapshot: is its `_metadata` visible, what of all that it names isn't, and who hid it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream;
use stayput_core::catalogue::{Catalogue, SnapshotId};
use stayput_core::cause::Cause;
use stayput_core::location::ObjectLocation;
use stayput_core::loss::{DirectoryUse, Loss, MetadataState, MissingObject, WHOLE_WITHIN};
use stayput_core::reference_index::{ObjectNo, SnapshotNo};
use stayput_core::snapshot::Snapshot;
use stayput_core::timestamp::Timestamp;
use stayput_core::version::{KeyHistory, VersionEntry, VersionKind, is_archive_class};

use crate::port::{Journal, PortError, Reading, VersionsOf};
use crate::survey::{Eyes, Survey};
use directory_use::{directory_use, went_with_all_beside_it};

mod directory_use;

const CONCURRENT: usize = 16;
/// Fewer references than this in one directory are looked up one by one instead of listing it.
const LIST_FROM: usize = 4;
/// S3 bills a page of a listing as much as so many heads.
const HEADS_FOR_A_PAGE: usize = 12;
/// A page shows so many objects.
const ON_A_PAGE: usize = 1000;
/// More missing objects than this in one directory are found by listing all its versions.
const LIST_VERSIONS_FROM: usize = 64;

/// Intelligent-Tiering moves nothing that is smaller. Bytes.
const TIERED_FROM: u64 = 128 * 1024;
/// And nothing to an archive tier that was read or written within so long.
const ARCHIVED_BY_TIERING_AFTER: Duration = Duration::from_secs(90 * 86_400);

/// What was seen of one snapshot.
pub(crate) struct Inspected {
    pub(crate) loss: Loss,
    /// Visible objects whose length fits no handle.
    pub(crate) overwritten: BTreeSet<ObjectLocation>,
}

/// The objects that some snapshots name, as they were just seen: every directory is looked at once, whoever names what lies there.
pub(crate) struct SeenObjects(BTreeMap<ObjectNo, (ObjectLocation, Seen)>);

/// One object, as it was just seen.
pub(crate) enum Seen {
    Visible(VisibleObject),
    Missing(KeyHistory),
}

/// What a listing says of a visible object.
pub(crate) struct VisibleObject {
    pub(crate) size: u64,
    /// Last-Modified of this version: of a copy, when it was copied.
    pub(crate) written: Timestamp,
    /// `None`: STANDARD.
    pub(crate) storage_class: Option<String>,
}

impl VisibleObject {
    pub(crate) fn of(version: &VersionEntry) -> Option<Self> {
        match &version.kind {
            VersionKind::Data {
                size, storage_class, ..
            } => Some(Self {
                size: *size,
                written: version.last_modified,
                storage_class: storage_class.clone().filter(|c| c != "STANDARD"),
            }),
            VersionKind::Marker => None,
        }
    }

    /// Whether it was moved to an archive. A listing doesn't say whether somebody thawed it since.
    pub(crate) fn is_in_archive_class(&self) -> bool {
        self.storage_class.as_deref().is_some_and(is_archive_class)
    }

    /// Whether it lies in an archive, or can: a listing doesn't show the archive tiers of Intelligent-Tiering, nor whether somebody thawed it.
    pub(crate) fn may_be_archived(&self, now: Timestamp) -> bool {
        match self.storage_class.as_deref() {
            Some("INTELLIGENT_TIERING") => {
                self.size >= TIERED_FROM && now.since(self.written) >= ARCHIVED_BY_TIERING_AFTER
            }
            class => class.is_some_and(is_archive_class),
        }
    }
}

impl SeenObjects {
    pub(crate) fn get(&self, object: ObjectNo) -> Option<(&ObjectLocation, &Seen)> {
        self.0.get(&object).map(|(location, seen)| (location, seen))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&ObjectLocation, &Seen)> {
        self.0.values().map(|(location, seen)| (location, seen))
    }
}

/// Looks at a snapshot. What it says may have changed since it was read; then it is read again first.
pub(crate) async fn inspect<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    survey: &mut Survey,
    metadata: &ObjectLocation,
    told: &BTreeSet<ObjectLocation>,
) -> Result<Option<(SnapshotId, Inspected)>, PortError> {
    let Some(looked_at) = look_at_metadata(eyes, survey, metadata).await? else {
        return Ok(None);
    };
    let id = looked_at.id;
    let seen = see_objects(eyes, &survey.catalogue, &references_of(&survey.catalogue, id)).await?;
    let mut inspected = put_together(eyes, survey, id, looked_at.state, &seen, told).await?;
    if looked_at.spoilt {
        inspected.overwritten.insert(metadata.clone());
    }
    Ok(Some((id, inspected)))
}

/// A `_metadata`, as it was just seen.
pub(crate) struct LookedAt {
    pub(crate) id: SnapshotId,
    pub(crate) state: MetadataState,
    /// The version that is visible.
    pub(crate) visible: Option<VisibleObject>,
    /// Somebody wrote over it what can't be read: what it named was told by the version below.
    pub(crate) spoilt: bool,
}

/// Whether a `_metadata` is visible; read again if it isn't the one that was read.
pub(crate) async fn look_at_metadata<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    survey: &mut Survey,
    metadata: &ObjectLocation,
) -> Result<Option<LookedAt>, PortError> {
    let history = eyes.history(metadata).await?;
    held_against(eyes, survey, metadata, &history).await
}

/// A `_metadata` whose versions were just listed.
pub(crate) async fn held_against<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    survey: &mut Survey,
    metadata: &ObjectLocation,
    history: &KeyHistory,
) -> Result<Option<LookedAt>, PortError> {
    let Some(id) = survey.catalogue.at(metadata) else {
        return Ok(None);
    };
    let changed = survey.catalogue.get(id).is_some_and(|s| {
        let visible = history.current();
        let same_bytes = visible.is_none_or(|v| match (&v.kind, &s.version) {
            (_, Some(version)) => v.id == *version,
            (VersionKind::Data { etag, .. }, None) => *etag == s.etag,
            (VersionKind::Marker, None) => false,
        });
        !same_bytes || visible.is_some() != s.hidden.is_none()
    });
    if changed {
        survey.look_up(eyes, metadata).await;
    }
    survey.know_age(metadata, history);
    let Some(id) = survey.catalogue.at(metadata) else {
        return Ok(None);
    };
    let read = survey.catalogue.get(id).and_then(|s| s.version.clone());
    let spoilt = history
        .current()
        .zip(read)
        .is_some_and(|(visible, read)| visible.id != read);
    Ok(Some(LookedAt {
        id,
        state: metadata_state(eyes, metadata, history).await?,
        visible: history.current().and_then(VisibleObject::of),
        spoilt,
    }))
}

/// Everything that the state handles of a snapshot name exactly.
pub(crate) fn references_of(catalogue: &Catalogue, id: SnapshotId) -> BTreeSet<ObjectNo> {
    let facts = catalogue.get(id).and_then(Snapshot::facts);
    facts
        .map(|facts| catalogue.index.objects_of(facts.references).collect())
        .unwrap_or_default()
}

/// Objects by where they lie: bucket and key prefix.
type ByDirectory = BTreeMap<(String, String), Objects>;
/// Objects of one directory.
type Objects = Vec<(ObjectNo, ObjectLocation)>;

fn by_directory(catalogue: &Catalogue, objects: impl IntoIterator<Item = ObjectNo>) -> ByDirectory {
    let mut found = ByDirectory::new();
    for object in objects {
        let location = catalogue.index.location(object);
        let directory = (location.bucket().to_owned(), location.directory().to_owned());
        found.entry(directory).or_default().push((object, location));
    }
    found
}

/// Looks at these objects, directory by directory.
pub(crate) async fn see_objects<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    catalogue: &Catalogue,
    objects: &BTreeSet<ObjectNo>,
) -> Result<SeenObjects, PortError> {
    let looks = by_directory(catalogue, objects.iter().copied())
        .into_iter()
        .map(|(directory, objects)| {
            let by = if objects.len() < LIST_FROM {
                By::Versions
            } else {
                By::Listing
            };
            (directory, objects, by)
        });
    see_directories(eyes, looks.collect()).await
}

/// Looks at some of all the objects that these snapshots name: one by one, but where a listing of the directory is cheaper.
pub(crate) async fn see_some<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    catalogue: &Catalogue,
    snapshots: &[SnapshotNo],
    some: Vec<ObjectNo>,
) -> Result<SeenObjects, PortError> {
    let looks = {
        let all = catalogue.index.named_by_directory(snapshots);
        let cheapest = |((bucket, directory), objects): ((String, String), Objects)| {
            let there = all
                .get(&(bucket.as_str(), directory.as_str()))
                .copied()
                .unwrap_or_default();
            let by = if objects.len() <= HEADS_FOR_A_PAGE * (1 + there / ON_A_PAGE) {
                By::Heads
            } else {
                By::Listing
            };
            ((bucket, directory), objects, by)
        };
        by_directory(catalogue, some).into_iter().map(cheapest).collect()
    };
    see_directories(eyes, looks).await
}

/// How the objects of a directory are looked at first. Of what isn't visible then the versions are listed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Listing,
    Heads,
    Versions,
}

async fn see_directories<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    looks: Vec<((String, String), Objects, By)>,
) -> Result<SeenObjects, PortError> {
    let looked: Vec<Result<SeenDirectory, PortError>> = stream::iter(looks)
        .map(|((bucket, directory), objects, by)| see_directory(eyes, bucket, directory, objects, by))
        .buffer_unordered(CONCURRENT)
        .collect()
        .await;
    let mut seen = BTreeMap::new();
    for directory in looked {
        seen.extend(
            directory?
                .into_iter()
                .map(|(no, location, s)| (no, (location, s))),
        );
    }
    Ok(SeenObjects(seen))
}

/// What a snapshot has lost, by what was seen.
pub(crate) async fn put_together<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    survey: &Survey,
    id: SnapshotId,
    state: MetadataState,
    seen: &SeenObjects,
    told: &BTreeSet<ObjectLocation>,
) -> Result<Inspected, PortError> {
    let (mut missing, overwritten) = missing_objects(eyes, survey, id, seen, told).await?;
    ask_who_took_what_went_before(eyes, &state, &mut missing).await?;
    let directory_use = match &state {
        MetadataState::Hidden { at, .. } => directory_use(eyes, survey, id, *at).await?,
        MetadataState::Stands | MetadataState::Gone => DirectoryUse::Quiet,
    };
    let state = doubt_the_rule(eyes, survey, id, state, &missing).await?;
    let mut loss = Loss::of(&survey.catalogue, id, state, missing, directory_use);
    if let (
        MetadataState::Hidden {
            at,
            cause: Cause::Foreign(_),
        },
        Some(snapshot),
    ) = (&loss.metadata, survey.catalogue.get(id))
        && snapshot.facts().is_none()
    {
        loss.whole = went_with_all_beside_it(eyes, &snapshot.metadata, *at).await?;
    }
    Ok(Inspected { loss, overwritten })
}

async fn metadata_state<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    metadata: &ObjectLocation,
    history: &KeyHistory,
) -> Result<MetadataState, PortError> {
    if history.current().is_some() {
        return Ok(MetadataState::Stands);
    }
    Ok(match history.hidden() {
        Some(hidden) if history.data_versions().next().is_some() => MetadataState::Hidden {
            at: hidden.above_data.last_modified,
            cause: eyes.cause_of(metadata, history, true).await?,
        },
        _ => MetadataState::Gone,
    })
}

/// Everything that a snapshot names and that isn't visible, and what is visible with a wrong length.
async fn missing_objects<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    survey: &Survey,
    id: SnapshotId,
    seen: &SeenObjects,
    told: &BTreeSet<ObjectLocation>,
) -> Result<(Vec<MissingObject>, BTreeSet<ObjectLocation>), PortError> {
    let catalogue = &survey.catalogue;
    let mut missing = Vec::new();
    let mut overwritten = BTreeSet::new();
    let Some((snapshot, facts)) = catalogue.get(id).and_then(|s| Some((s, s.facts()?))) else {
        return Ok((missing, overwritten));
    };
    for object in catalogue.index.objects_of(facts.references) {
        match seen.get(object) {
            None => {}
            Some((location, Seen::Visible(visible))) => {
                let fits = catalogue
                    .index
                    .extents(object)
                    .iter()
                    .all(|e| e.allows(visible.size));
                overwritten.extend((!fits).then(|| location.clone()));
            }
            Some((location, Seen::Missing(history))) => {
                let cause = eyes.cause_of(location, history, false).await?;
                let plain = eyes
                    .mandate
                    .roots
                    .find(location)
                    .map(|(_, plain)| plain.into_owned());
                let exclusive = snapshot.owns(location.bucket(), plain.as_deref().unwrap_or(location.key()));
                missing.push(MissingObject {
                    object,
                    location: location.clone(),
                    exclusive,
                    history: history.clone(),
                    cause,
                    told: told.contains(location),
                });
            }
        }
    }
    missing.sort_by(|a, b| a.location.cmp(&b.location));
    Ok((missing, overwritten))
}

/// Whether a deletion was whole hangs on who took those of the snapshot's own files that went long before `_metadata`: what Flink had taken can't go
/// with the rest, what a stranger had taken and nobody has put back since makes it a part. The journal may know whom this process didn't hear of.
async fn ask_who_took_what_went_before<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    metadata: &MetadataState,
    missing: &mut [MissingObject],
) -> Result<(), PortError> {
    let (at, cause) = match metadata {
        MetadataState::Hidden { at, cause } => (at, cause),
        MetadataState::Stands => return ask_who_took_private_files(eyes, missing).await,
        MetadataState::Gone => return Ok(()),
    };
    if cause.is_flink_or_unknown() {
        return Ok(());
    }
    for m in missing
        .iter_mut()
        .filter(|m| m.exclusive && m.cause == Cause::Unknown)
    {
        let marker = m.history.hidden().map(|h| h.above_data.last_modified);
        if marker.is_some_and(|marker| at.since(marker) > WHOLE_WITHIN) {
            m.cause = eyes.cause_of(&m.location, &m.history, true).await?;
        }
    }
    Ok(())
}

/// Whether Flink has begun to discard a checkpoint whose `_metadata` stands hangs on who took its private files. One of which nobody knows is enough for that, so
/// no more than one is asked for in vain.
async fn ask_who_took_private_files<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    missing: &mut [MissingObject],
) -> Result<(), PortError> {
    for m in missing.iter_mut().filter(|m| m.exclusive) {
        if m.cause == Cause::Unknown {
            m.cause = eyes.cause_of(&m.location, &m.history, true).await?;
        }
        if m.cause.is_flink_or_unknown() {
            break;
        }
    }
    Ok(())
}

/// That a rule explains a marker is no evidence where another hand is known to have been at work beside it in that very second: then nobody knows until
/// a message says so.
async fn doubt_the_rule<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    survey: &Survey,
    id: SnapshotId,
    state: MetadataState,
    missing: &[MissingObject],
) -> Result<MetadataState, PortError> {
    let MetadataState::Hidden {
        at,
        cause: Cause::Lifecycle,
    } = state
    else {
        return Ok(state);
    };
    let by_another_hand = |m: &MissingObject| {
        let marker = m.history.hidden().map(|h| h.above_data.last_modified);
        matches!(m.cause, Cause::Flink | Cause::Foreign(_)) && marker == Some(at)
    };
    let hidden = survey
        .catalogue
        .get(id)
        .and_then(|s| Some((&s.metadata, s.hidden.as_ref()?)));
    let Some((metadata, hidden)) = hidden.filter(|_| missing.iter().any(by_another_hand)) else {
        return Ok(state);
    };
    let heard = eyes.heard_who_hid(metadata, &hidden.marker).await?;
    Ok(if heard.is_some() {
        state
    } else {
        MetadataState::Hidden {
            at,
            cause: Cause::Unknown,
        }
    })
}

/// What was seen of the objects of one directory.
type SeenDirectory = Vec<(ObjectNo, ObjectLocation, Seen)>;

async fn see_directory<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    bucket: String,
    directory: String,
    objects: Objects,
    by: By,
) -> Result<SeenDirectory, PortError> {
    let mut seen = Vec::with_capacity(objects.len());
    let mut unseen = Vec::new();
    match by {
        By::Versions => unseen = objects,
        By::Heads => {
            let looked: Vec<_> = stream::iter(objects)
                .map(|(object, location)| async move {
                    let head = eyes.reading.head(&location, None).await;
                    (object, location, head)
                })
                .buffer_unordered(CONCURRENT)
                .collect()
                .await;
            for (object, location, head) in looked {
                match head {
                    Ok(head) => {
                        let visible = VisibleObject {
                            size: head.size,
                            written: head.last_modified,
                            storage_class: head.storage_class.filter(|c| c != "STANDARD"),
                        };
                        seen.push((object, location, Seen::Visible(visible)));
                    }
                    // A head tells nothing of what is encrypted with somebody's own key or may not be read; its versions do.
                    Err(e) if !e.is_transient() => {
                        unseen.push((object, location));
                    }
                    Err(e) => return Err(e),
                }
            }
        }
        By::Listing => {
            let listing = eyes.reading.list(&bucket, &directory, true).await?;
            for (object, location) in objects {
                // A listing is in the order of keys.
                let place = listing
                    .objects
                    .binary_search_by(|o| o.key.as_str().cmp(location.key()));
                match place.ok().map(|n| &listing.objects[n]) {
                    Some(o) => {
                        let visible = VisibleObject {
                            size: o.size,
                            written: o.last_modified,
                            storage_class: o.storage_class.clone(),
                        };
                        seen.push((object, location, Seen::Visible(visible)));
                    }
                    None => unseen.push((object, location)),
                }
            }
        }
    }
    let mut histories: BTreeMap<String, KeyHistory> = BTreeMap::new();
    if unseen.len() > LIST_VERSIONS_FROM {
        let of = VersionsOf {
            bucket: &bucket,
            prefix: &directory,
            by_directory: true,
            after_key: None,
            pages: None,
        };
        let mut rows: BTreeMap<String, Vec<_>> = BTreeMap::new();
        for entry in eyes.reading.versions(of).await?.entries {
            rows.entry(entry.key.clone()).or_default().push(entry);
        }
        histories = rows
            .into_iter()
            .map(|(key, rows)| (key, KeyHistory::new(rows)))
            .collect();
    } else {
        let looked: Vec<_> = stream::iter(unseen.iter().map(|(_, l)| l.clone()))
            .map(|l| async move { (l.key().to_owned(), eyes.history(&l).await) })
            .buffer_unordered(CONCURRENT)
            .collect()
            .await;
        for (key, history) in looked {
            histories.insert(key, history?);
        }
    }
    for (object, location) in unseen {
        let history = histories.remove(location.key()).unwrap_or_default();
        let visible = history.current().and_then(VisibleObject::of);
        let state = visible.map_or(Seen::Missing(history), Seen::Visible);
        seen.push((object, location, state));
    }
    Ok(seen)
}
