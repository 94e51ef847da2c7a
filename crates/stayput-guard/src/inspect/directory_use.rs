//! What happened in a job's directory after a `_metadata` of it was hidden.

use stayput_core::catalogue::SnapshotId;
use stayput_core::class::FAILED_STORE_WITHIN;
use stayput_core::layout::{self, METADATA_FILE};
use stayput_core::location::ObjectLocation;
use stayput_core::loss::{DirectoryUse, WHOLE_WITHIN};
use stayput_core::snapshot::{Snapshot, SnapshotKind, identity_of};
use stayput_core::timestamp::Timestamp;
use stayput_core::version::{KeyHistory, VersionEntry, VersionKind};

use crate::port::{Journal, PortError, Reading, VersionsOf};
use crate::survey::{Eyes, Survey};

/// A run that isn't restored from anything begins with this checkpoint (`StandaloneCheckpointIDCounter` and its ZooKeeper and Kubernetes siblings, all
/// releases).
const FIRST_ID: u64 = 1;

/// Whether objects were written under other checkpoints of the directory after `_metadata` was hidden, or beside `_metadata` after it was
/// complete: a new run that meets an old `chk-N/_metadata` can't complete its own and deletes the old directory with its own files in it.
/// What Stayput or a person put back isn't new: it has an older version or a marker below, or the snapshot names it.
pub(super) async fn directory_use<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    survey: &Survey,
    id: SnapshotId,
    hidden_at: Timestamp,
) -> Result<DirectoryUse, PortError> {
    let Some((own, job, written)) = survey
        .catalogue
        .get(id)
        .and_then(|s| Some((s.directory_id()?, s.job.clone(), s.written)))
    else {
        return Ok(DirectoryUse::Quiet);
    };
    let own_prefix = format!("{}chk-{own}/", job.prefix);
    let rows = rows_below(eyes, &job.bucket, &own_prefix).await?;
    // What it names itself was put there for it: copies into the place that its relative handles mean (FLINK-39964).
    let is_named = |key: &str| {
        let catalogue = &survey.catalogue;
        let object = catalogue.index.find(&ObjectLocation::new(&*job.bucket, key));
        let facts = catalogue.get(id).and_then(Snapshot::facts);
        object
            .zip(facts)
            .is_some_and(|(object, facts)| catalogue.index.names(facts.references, object))
    };
    let is_data = |row: &&VersionEntry| matches!(row.kind, VersionKind::Data { .. });
    let met_by_a_new_run = rows.chunk_by(|a, b| a.key == b.key).any(|of_key| {
        let mut data = of_key.iter().filter(is_data);
        let (Some(row), None) = (data.next(), data.next()) else {
            return false;
        };
        !row.key.ends_with('/')
            && row.key != format!("{own_prefix}{METADATA_FILE}")
            && written < row.last_modified
            // What people put there since to mend the loss has any name.
            && (row.last_modified <= hidden_at || layout::is_state_file_name(file_name(&row.key)))
            && !is_named(&row.key)
    });
    if met_by_a_new_run {
        return Ok(DirectoryUse::NewRun { id: own });
    }
    // A checkpoint of a lower id that was complete later is a new run's, on its way to this id: it would fail where `_metadata` stands again.
    let operators = |s: &Snapshot| s.facts().map(|f| f.operators.clone());
    let its_operators = survey.catalogue.get(id).and_then(operators);
    let of_a_new_run = survey.catalogue.iter().filter_map(|(_, s)| {
        let other = s.directory_id().filter(|other| *other < own)?;
        // What Flink or nobody known hid is no sign of a run that goes on; what a rule or a stranger hid comes back.
        let counts = s.hidden.as_ref().is_none_or(|h| !h.cause.is_flink_or_unknown());
        let newer = s.job == job && counts && s.written > written;
        // Another job in the same directory has other operators.
        (newer && operators(s) == its_operators).then(|| (other, s.metadata.clone()))
    });
    for (id, metadata) in of_a_new_run.collect::<Vec<_>>() {
        if first_written_after(eyes, &metadata, written).await? {
            return Ok(DirectoryUse::NewRun { id });
        }
    }
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
        // Another job's in the same directory: one of its own, or the next after one of its own.
        let known = survey.catalogue.iter().filter(|(_, s)| s.job == job);
        let nearest = known
            .filter(|(_, s)| s.directory_id().is_some_and(|known| known <= other))
            .max_by_key(|(_, s)| s.directory_id());
        let whose = nearest.and_then(|(_, s)| operators(s));
        if whose.is_some() && its_operators.is_some() && whose != its_operators {
            continue;
        }
        let rows = rows_below(eyes, &job.bucket, &prefix).await?;
        let new = rows.chunk_by(|a, b| a.key == b.key).any(|of_key| {
            let newest = &of_key[0];
            // What came back once is no newer for that. Of a higher id it is enough that its bytes were first written later.
            let first_written = of_key.iter().rfind(is_data).map(|row| row.last_modified);
            let was_there = of_key.len() > 1 && (other < own || first_written <= Some(hidden_at));
            newest.is_latest
                && is_data(&newest)
                && !newest.key.ends_with('/')
                && newest.last_modified > hidden_at
                && !was_there
        });
        if new && other < own {
            return Ok(DirectoryUse::NewRun { id: other });
        }
        if new {
            // Another job in the same directory has other operators, and says nothing of this one.
            let metadata = ObjectLocation::new(&*job.bucket, format!("{prefix}{METADATA_FILE}"));
            let newer = survey
                .catalogue
                .at(&metadata)
                .and_then(|id| survey.catalogue.get(id));
            // What stood there before is an older run's, and the one that is under way there may never be complete.
            let is_complete = newer.is_some_and(|s| {
                s.hidden.is_none() && s.written > hidden_at && operators(s) == its_operators
            });
            used = DirectoryUse::SameRun {
                id: other,
                complete: is_complete || matches!(used, DirectoryUse::SameRun { complete: true, .. }),
            };
        }
    }
    // A run whose ids began again and that met an old `chk-1/_metadata` took all of that directory away, with its own files in it.
    if used == DirectoryUse::Quiet && own > FIRST_ID && !layout::may_hold_several_jobs(&job.prefix) {
        let prefix = format!("{}chk-{FIRST_ID}/", job.prefix);
        let rows = rows_below(eyes, &job.bucket, &prefix).await?;
        let is_new = |of_key: &[VersionEntry]| {
            let mut data = of_key.iter().filter(is_data);
            let once = data.next().filter(|_| data.next().is_none());
            once.is_some_and(|row| {
                row.last_modified > hidden_at && layout::is_state_file_name(file_name(&row.key))
            })
        };
        if rows.chunk_by(|a, b| a.key == b.key).any(is_new) {
            return Ok(DirectoryUse::NewRun { id: FIRST_ID });
        }
    }
    // One of a higher id that was complete after this was hidden shows it too, though somebody hid that since; but for one that Flink took back at once, as it
    // couldn't be stored.
    let newer_and_hidden = survey.catalogue.iter().filter_map(|(_, s)| {
        let other = s.directory_id().filter(|other| *other > own)?;
        let was_stored = s
            .hidden
            .as_ref()
            .is_some_and(|h| !h.cause.is_flink_or_unknown() || h.at.since(s.written) > FAILED_STORE_WITHIN);
        let newer = s.job == job && was_stored && s.written > hidden_at;
        (newer && operators(s) == its_operators).then_some(other)
    });
    Ok(match newer_and_hidden.max() {
        Some(id) => DirectoryUse::SameRun { id, complete: true },
        None => used,
    })
}

fn file_name(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or_default()
}

/// Whether the bytes that a `_metadata` has now were first written after that: a file that somebody copied onto itself is as old as before.
async fn first_written_after<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    metadata: &ObjectLocation,
    after: Timestamp,
) -> Result<bool, PortError> {
    let history = eyes.history(metadata).await?;
    let etag = |v: &VersionEntry| match &v.kind {
        VersionKind::Data { etag, .. } => Some(etag.clone()),
        VersionKind::Marker => None,
    };
    let now = history.data_versions().next().and_then(etag);
    let first = history
        .data_versions()
        .filter(|v| etag(v) == now)
        .map(|v| v.last_modified)
        .min();
    Ok(first.is_some_and(|first| first > after))
}

async fn rows_below<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    bucket: &str,
    prefix: &str,
) -> Result<Vec<VersionEntry>, PortError> {
    let of = VersionsOf {
        bucket,
        prefix,
        by_directory: false,
        after_key: None,
        pages: None,
    };
    Ok(eyes.reading.versions(of).await?.entries)
}

/// Whether everything that lay beside a `_metadata` in its own directory went with it. Of a snapshot that can't be read nobody knows what it names; what lay
/// there does say whether somebody deleted a part of it or all. Where nothing ever lay beside it, what lies in its job's directory says so, as far as one page
/// shows that.
pub(super) async fn went_with_all_beside_it<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    metadata: &ObjectLocation,
    hidden_at: Timestamp,
) -> Result<bool, PortError> {
    let near = |at: &Timestamp| at.since(hidden_at) <= WHOLE_WITHIN && hidden_at.since(*at) <= WHOLE_WITHIN;
    let rows = rows_below(eyes, metadata.bucket(), metadata.directory()).await?;
    let beside = others_hidden_at(&rows, metadata);
    if !beside.is_empty() {
        return Ok(beside.iter().all(|at| at.as_ref().is_some_and(near)));
    }
    let (kind, job) = identity_of(metadata);
    if kind == SnapshotKind::Savepoint {
        return Ok(false);
    }
    let of = VersionsOf {
        bucket: &job.bucket,
        prefix: &job.prefix,
        by_directory: false,
        after_key: None,
        pages: Some(1),
    };
    let others = others_hidden_at(&eyes.reading.versions(of).await?.entries, metadata);
    // What went long before Flink had subsumed.
    let went_before = |at: &Timestamp| hidden_at.since(*at) > WHOLE_WITHIN;
    let mut of_that_time = others
        .iter()
        .filter(|at| !at.as_ref().is_some_and(went_before))
        .peekable();
    Ok(of_that_time.peek().is_some() && of_that_time.all(|at| at.as_ref().is_some_and(near)))
}

/// When each key but that of this `_metadata` was hidden; `None`: it is visible.
fn others_hidden_at(rows: &[VersionEntry], metadata: &ObjectLocation) -> Vec<Option<Timestamp>> {
    rows.chunk_by(|a, b| a.key == b.key)
        .filter(|of_key| of_key[0].key != metadata.key() && !of_key[0].key.ends_with('/'))
        .map(|of_key| {
            let history = KeyHistory::new(of_key.to_vec());
            history.hidden().map(|h| h.above_data.last_modified)
        })
        .collect()
}
