//! Tails of sinks: state of sinks is read only when a key was deleted that can be a tail, once for each `_metadata`.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::StreamExt;
use futures_util::stream;
use stayput_core::catalogue::SnapshotId;
use stayput_core::chain::NamedBy;
use stayput_core::layout::METADATA_FILE;
use stayput_core::location::ObjectLocation;
use stayput_core::metadata_limit::MetadataLimit;
use stayput_core::sinks::Sinks;
use stayput_core::snapshot::JobDirectory;
use stayput_core::timestamp::Timestamp;

use super::fetch::{Fetched, fetch};
use super::{Breadth, Eyes, Named, Survey};
use crate::port::{Journal, PortErrorKind, Reading};

/// So many blobs are read at once: each can be as long as is allowed here.
const AT_ONCE: usize = 4;
/// A merged file of Flink has up to 32 MB; a sink's own state has some kilobytes.
const BLOB_AT_MOST: u64 = 64 << 20;

/// What is known of the sinks of the snapshots in the catalogue, by `_metadata`.
#[derive(Default)]
pub(crate) struct SinkStates(BTreeMap<ObjectLocation, Known>);

struct Known {
    /// Of the bytes that name them.
    etag: String,
    sinks: Sinks,
    progress: Progress,
}

/// How much of the state of a snapshot's sinks was read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// A sidecar says that there is some.
    NoneOfIt,
    /// What lies in `_metadata` itself.
    WithoutObjects,
    /// What lies in objects too.
    Whole,
}

impl SinkStates {
    /// Takes in what a `_metadata` of this ETag says; the objects that it names are read when somebody asks for tails. What was read for the same
    /// bytes stays: a snapshot is looked at again in the middle of a judgement.
    pub(super) fn take(&mut self, metadata: &ObjectLocation, etag: &str, sinks: Sinks) {
        if sinks.is_empty() {
            self.0.remove(metadata);
        } else if self.progress_with(metadata, etag) != Progress::Whole {
            self.insert(metadata, etag, sinks, Progress::WithoutObjects);
        }
    }

    /// Takes in what the sidecar of a `_metadata` of this ETag says: whether it holds state of sinks.
    pub(super) fn take_kept(&mut self, metadata: &ObjectLocation, etag: &str, has_sinks: bool) {
        if !has_sinks {
            self.0.remove(metadata);
        } else if self.progress_with(metadata, etag) == Progress::NoneOfIt {
            self.insert(metadata, etag, Sinks::default(), Progress::NoneOfIt);
        }
    }

    fn insert(&mut self, metadata: &ObjectLocation, etag: &str, sinks: Sinks, progress: Progress) {
        let etag = etag.to_owned();
        let known = Known {
            etag,
            sinks,
            progress,
        };
        self.0.insert(metadata.clone(), known);
    }

    /// How much was read of the sinks of these bytes.
    fn progress_with(&self, metadata: &ObjectLocation, etag: &str) -> Progress {
        let known = self.0.get(metadata);
        let known = known.filter(|known| !etag.is_empty() && known.etag == etag);
        known.map_or(Progress::NoneOfIt, |known| known.progress)
    }

    /// The sink of this snapshot that names a tail.
    pub(crate) fn named_by(&self, metadata: &ObjectLocation, tail: &ObjectLocation) -> Option<NamedBy> {
        let known = self.0.get(metadata)?;
        let tails = known.sinks.tails();
        let (_, whose) = tails.get(tail)?;
        Some(NamedBy {
            operator_id: whose.operator_id.clone(),
            operator: whose.operator.clone(),
            uid: whose.uid.clone(),
            subtask: whose.subtask,
            role: "sink.tail".to_owned(),
            handles: 1,
            at_byte: whose.at_byte,
            etag: (!known.etag.is_empty()).then(|| known.etag.clone()),
        })
    }

    /// Unfinished uploads that the sinks of this snapshot name, as far as their state was read: the object that each becomes, and its id.
    pub(crate) fn uploads(&self, metadata: &ObjectLocation) -> Vec<(ObjectLocation, &str)> {
        let known = self.0.get(metadata).into_iter();
        known
            .flat_map(|known| known.sinks.uploads().into_keys())
            .collect()
    }

    /// Snapshots with the state of a file sink that can't be read, and why: nobody knows what tails they need.
    pub(crate) fn unknown(&self) -> impl Iterator<Item = (&ObjectLocation, &str)> {
        self.0
            .iter()
            .filter_map(|(metadata, known)| Some((metadata, known.sinks.unknown.first()?.as_str())))
    }
}

impl Survey {
    /// The key of a tail tells no job: every directory is listed once more, and where a sink is or no checkpoint stands, what is hidden is looked for.
    /// Directories of which nothing is visible any more are looked for as often as the catalogue may be old.
    pub(crate) async fn look_everywhere_for_sinks<R: Reading + Sync, J: Journal + Sync>(
        &mut self,
        eyes: &Eyes<'_, R, J>,
    ) {
        let is_unlisted = |survey: &Self, job: &JobDirectory| {
            let record = survey.catalogue.job(job);
            record.is_none_or(|r| r.listed_at != Some(eyes.now))
        };
        let mut jobs: BTreeSet<JobDirectory> = self.job_directories().into_iter().collect();
        let mut savepoints = BTreeSet::new();
        let is_due = |at: Timestamp| eyes.now.since(at) >= eyes.mandate.catalogue_max_age;
        if self.hidden_directories_at.is_none_or(is_due)
            && self
                .discover(eyes, Breadth::Everything, &mut jobs, &mut savepoints)
                .await
        {
            self.hidden_directories_at = Some(eyes.now);
        }
        savepoints.retain(|directory| self.snapshot_at(&directory.sibling(METADATA_FILE)).is_none());
        for directory in savepoints {
            self.take_savepoint(eyes, &Named::default(), &directory.sibling(METADATA_FILE))
                .await;
        }
        let anew = jobs
            .iter()
            .filter(|job| is_unlisted(self, job))
            .cloned()
            .collect();
        self.take_jobs(eyes, &Named::default(), Breadth::Named, anew)
            .await;
        let with_sinks = self.directories_with_sinks();
        jobs.retain(|job| with_sinks.contains(job) || self.newest_visible(job).is_none());
        for job in jobs {
            self.look_for_hidden(eyes, &job).await;
        }
    }

    /// The directories of all snapshots with the state of a sink.
    pub(crate) fn directories_with_sinks(&self) -> BTreeSet<JobDirectory> {
        let metadata = self.sinks.0.keys();
        let snapshots = metadata.filter_map(|metadata| self.snapshot_at(metadata));
        snapshots.map(|s| s.job.clone()).collect()
    }

    /// Snapshots whose sinks' state wasn't read yet.
    pub(crate) fn with_unread_sinks(&self) -> Vec<ObjectLocation> {
        let unread = |known: &&Known| known.progress != Progress::Whole;
        self.sinks
            .0
            .iter()
            .filter(|(_, known)| unread(known))
            .map(|(metadata, _)| metadata.clone())
            .collect()
    }

    /// Reads the state of the sinks of one snapshot, and enters the tails that it names.
    pub(crate) async fn read_sinks<R: Reading + Sync, J: Journal + Sync>(
        &mut self,
        eyes: &Eyes<'_, R, J>,
        metadata: &ObjectLocation,
    ) {
        let Some(id) = self.catalogue.at(metadata) else {
            self.sinks.0.remove(metadata);
            return;
        };
        if self
            .sinks
            .0
            .get(metadata)
            .is_some_and(|k| k.progress == Progress::NoneOfIt)
        {
            self.read_whole_for_sinks(eyes, metadata, id).await;
        }
        let found = self.sinks.0.get_mut(metadata);
        let Some(known) = found.filter(|k| k.progress == Progress::WithoutObjects) else {
            return;
        };
        let mut sinks = known.sinks.clone();
        // As many at once as together are no longer than one `_metadata` may be; each is dropped when it is read.
        let limit = eyes.mandate.metadata_limit.at_most(BLOB_AT_MOST);
        let fit = eyes.mandate.metadata_limit.bytes() / limit.bytes().max(1);
        let at_once = usize::try_from(fit).unwrap_or(AT_ONCE).clamp(1, AT_ONCE);
        let mut fetched = stream::iter(std::mem::take(&mut sinks.blobs))
            .map(|blob| async move {
                let fetched = fetch_blob(eyes, &blob.location, limit).await;
                (blob, fetched)
            })
            .buffer_unordered(at_once);
        while let Some((blob, fetched)) = fetched.next().await {
            match fetched {
                // It is missing: then the snapshot has lost state, which is told elsewhere; what it named isn't known.
                Fetched::Absent => sinks.unknown.push(format!("{} is gone", blob.location)),
                Fetched::Unreadable(why, _) => sinks.unknown.push(format!("{}: {why}", blob.location)),
                Fetched::Failed(why) => {
                    self.failed.push(why);
                    return;
                }
                Fetched::Body(body) => match blob.bytes_of(&body.bytes) {
                    Some(bytes) => sinks.take_blob(&blob.whose, &blob.states, bytes),
                    None => sinks.unknown.push(format!("{} is too short", blob.location)),
                },
            }
        }
        known.sinks = sinks;
        known.progress = Progress::Whole;
        self.enter_tails(id, metadata);
    }

    /// Reads a `_metadata` of which only the sidecar was read: what its sinks keep stands there alone.
    async fn read_whole_for_sinks<R: Reading + Sync, J: Journal + Sync>(
        &mut self,
        eyes: &Eyes<'_, R, J>,
        metadata: &ObjectLocation,
        id: SnapshotId,
    ) {
        let Some(snapshot) = self.catalogue.get(id) else {
            return;
        };
        let (etag, mut found) = (snapshot.etag.clone(), Sinks::default());
        match fetch(eyes, metadata, snapshot.version.as_ref()).await {
            Fetched::Body(body) if body.head.etag == etag => {
                found = stayput_core::sinks::find(&body.bytes, Some(metadata));
            }
            Fetched::Body(_) => {
                return self.failed.push(format!("{metadata} was written again just now"));
            }
            Fetched::Failed(why) => return self.failed.push(why),
            Fetched::Absent => found.unknown.push(format!("{metadata} is gone")),
            Fetched::Unreadable(why, _) => found.unknown.push(format!("{metadata}: {why}")),
        }
        self.sinks.take(metadata, &etag, found);
    }

    /// Enters the tails of a snapshot that was entered anew, if they are known.
    pub(super) fn enter_tails(&mut self, id: SnapshotId, metadata: &ObjectLocation) {
        let Some(known) = self
            .sinks
            .0
            .get(metadata)
            .filter(|k| k.progress == Progress::Whole)
        else {
            return;
        };
        let tails = known.sinks.references();
        if let Err(full) = self.catalogue.enter_tails(id, tails.iter().map(|(l, e)| (l, *e))) {
            self.failed.push(full.to_string());
        }
    }
}

/// The visible object; of one that was deleted, its newest version, since what it says hasn't changed.
async fn fetch_blob<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    location: &ObjectLocation,
    limit: MetadataLimit,
) -> Fetched {
    let version = match eyes.reading.body(location, None, limit.bytes()).await {
        Err(e) if e.kind == PortErrorKind::NotFound => match eyes.history(location).await {
            Ok(history) => history.data_versions().next().map(|v| v.id.clone()),
            Err(e) => return Fetched::Failed(e.to_string()),
        },
        other => return Fetched::from(other, limit),
    };
    match version {
        Some(version) => Fetched::from(
            eyes.reading.body(location, Some(&version), limit.bytes()).await,
            limit,
        ),
        None => Fetched::Absent,
    }
}
