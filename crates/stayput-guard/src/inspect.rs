//! Looking at one snapshot: is its `_metadata` visible, what of all that it names isn't, and who hid it.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::StreamExt;
use futures_util::stream;
use stayput_core::catalogue::SnapshotId;
use stayput_core::layout;
use stayput_core::location::ObjectLocation;
use stayput_core::loss::{DirectoryUse, Loss, MetadataState, MissingObject};
use stayput_core::reference_index::ObjectNo;
use stayput_core::timestamp::Timestamp;
use stayput_core::version::{KeyHistory, VersionKind};

use crate::port::{Journal, PortError, Reading, VersionsOf};
use crate::survey::{Eyes, Survey};

const CONCURRENT: usize = 16;
/// Fewer references than this in one directory are looked up one by one instead of listing it.
const LIST_FROM: usize = 4;
/// More missing objects than this in one directory are found by listing all its versions.
const LIST_VERSIONS_FROM: usize = 64;

/// What was seen of one snapshot.
pub(crate) struct Inspected {
    pub(crate) loss: Loss,
    /// Visible objects whose length fits no handle.
    pub(crate) overwritten: BTreeSet<ObjectLocation>,
}

/// Looks at a snapshot. What it says may have changed since it was read; then it is read again first.
pub(crate) async fn inspect<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    survey: &mut Survey,
    metadata: &ObjectLocation,
    told: &BTreeSet<ObjectLocation>,
) -> Result<Option<(SnapshotId, Inspected)>, PortError> {
    let history = eyes.history(metadata).await?;
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
    survey.know_age(metadata, &history);
    let Some(id) = survey.catalogue.at(metadata) else {
        return Ok(None);
    };
    let state = metadata_state(eyes, metadata, &history).await?;
    let (missing, overwritten) = missing_objects(eyes, survey, id, told).await?;
    let directory_use = match &state {
        MetadataState::Hidden { at, .. } => directory_use(eyes, survey, id, *at).await?,
        MetadataState::Stands | MetadataState::Gone => DirectoryUse::Quiet,
    };
    let loss = Loss::of(&survey.catalogue, id, state, missing, directory_use);
    Ok(Some((id, Inspected { loss, overwritten })))
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
    told: &BTreeSet<ObjectLocation>,
) -> Result<(Vec<MissingObject>, BTreeSet<ObjectLocation>), PortError> {
    let catalogue = &survey.catalogue;
    let Some(snapshot) = catalogue.get(id) else {
        return Ok(Default::default());
    };
    let Some(facts) = snapshot.facts() else {
        return Ok(Default::default());
    };
    let mut by_directory: BTreeMap<(String, String), Vec<(ObjectNo, ObjectLocation)>> = BTreeMap::new();
    for object in catalogue.index.objects_of(facts.references) {
        let location = catalogue.index.location(object);
        let directory = (location.bucket().to_owned(), location.directory().to_owned());
        by_directory
            .entry(directory)
            .or_default()
            .push((object, location));
    }
    let seen: Vec<Result<SeenObjects, PortError>> = stream::iter(by_directory)
        .map(|((bucket, directory), objects)| see_directory(eyes, bucket, directory, objects))
        .buffer_unordered(CONCURRENT)
        .collect()
        .await;
    let mut missing = Vec::new();
    let mut overwritten = BTreeSet::new();
    for directory in seen {
        for (object, location, seen) in directory? {
            match seen {
                Seen::Visible { size } => {
                    if !catalogue.index.extents(object).iter().all(|e| e.allows(size)) {
                        overwritten.insert(location);
                    }
                }
                Seen::Missing(history) => {
                    let cause = eyes.cause_of(&location, &history, false).await?;
                    let plain = eyes
                        .mandate
                        .roots
                        .find(&location)
                        .map(|(_, plain)| plain.into_owned());
                    let exclusive =
                        snapshot.owns(location.bucket(), plain.as_deref().unwrap_or(location.key()));
                    let told = told.contains(&location);
                    missing.push(MissingObject {
                        object,
                        location,
                        exclusive,
                        history,
                        cause,
                        told,
                    });
                }
            }
        }
    }
    missing.sort_by(|a, b| a.location.cmp(&b.location));
    Ok((missing, overwritten))
}

/// What was seen of the objects of one directory.
type SeenObjects = Vec<(ObjectNo, ObjectLocation, Seen)>;

enum Seen {
    Visible { size: u64 },
    Missing(KeyHistory),
}

async fn see_directory<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    bucket: String,
    directory: String,
    objects: Vec<(ObjectNo, ObjectLocation)>,
) -> Result<SeenObjects, PortError> {
    let mut seen = Vec::with_capacity(objects.len());
    let mut unseen = Vec::new();
    if objects.len() < LIST_FROM {
        unseen = objects;
    } else {
        let listing = eyes.reading.list(&bucket, &directory, true).await?;
        let sizes: BTreeMap<&str, u64> = listing.objects.iter().map(|o| (o.key.as_str(), o.size)).collect();
        for (object, location) in objects {
            match sizes.get(location.key()) {
                Some(size) => seen.push((object, location, Seen::Visible { size: *size })),
                None => unseen.push((object, location)),
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
        let state = match history
            .current()
            .and_then(stayput_core::version::VersionEntry::size)
        {
            Some(size) => Seen::Visible { size },
            None => Seen::Missing(history),
        };
        seen.push((object, location, state));
    }
    Ok(seen)
}

/// Whether objects were written under other checkpoints of the directory after `_metadata` was hidden.
/// What Stayput or a person put back isn't new: it has an older version or a marker below.
async fn directory_use<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    survey: &Survey,
    id: SnapshotId,
    hidden_at: Timestamp,
) -> Result<DirectoryUse, PortError> {
    let Some((own, job)) = survey
        .catalogue
        .get(id)
        .and_then(|s| Some((s.directory_id()?, s.job.clone())))
    else {
        return Ok(DirectoryUse::Quiet);
    };
    let listing = eyes
        .reading
        .list(&job.bucket, &format!("{}chk-", job.prefix), true)
        .await?;
    let mut others: Vec<(u64, String)> = listing
        .prefixes
        .into_iter()
        .filter_map(|p| {
            let other = layout::checkpoint_id(p.strip_prefix(job.prefix.as_str())?.trim_end_matches('/'))?;
            (other != own).then_some((other, p))
        })
        .collect();
    others.sort_unstable();
    let mut used = DirectoryUse::Quiet;
    for (other, prefix) in others {
        let of = VersionsOf {
            bucket: &job.bucket,
            prefix: &prefix,
            by_directory: false,
            after_key: None,
            pages: None,
        };
        let rows = eyes.reading.versions(of).await?.entries;
        let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
        for row in &rows {
            *counts.entry(row.key.as_str()).or_default() += 1;
        }
        let new = rows.iter().any(|row| {
            row.is_latest
                && matches!(row.kind, VersionKind::Data { .. })
                && !row.key.ends_with('/')
                && row.last_modified > hidden_at
                && counts.get(row.key.as_str()) == Some(&1)
        });
        if new && other < own {
            return Ok(DirectoryUse::NewRun { id: other });
        }
        if new {
            used = DirectoryUse::SameRun { id: other };
        }
    }
    Ok(used)
}
