//! Finding snapshots: all roots when nothing is known, then only what a call names, at most as often as needed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::StreamExt;
use futures_util::stream;
use stayput_core::catalogue::{Catalogue, SnapshotId};
use stayput_core::cause::Cause;
use stayput_core::class::Class;
use stayput_core::layout::{self, METADATA_FILE};
use stayput_core::location::ObjectLocation;
use stayput_core::root::RootKind;
use stayput_core::snapshot::{Contents, JobDirectory, Kept, Snapshot, SnapshotKind, Unreadable, identity_of};
use stayput_core::timestamp::Timestamp;
use stayput_core::version::KeyHistory;

use crate::memory::HiddenIds;
use crate::port::{Journal, Listing, PortError, Reading};
pub(crate) use eyes::Eyes;
use fetch::Fetched;
pub(crate) use fetch::first_written;
use sidecars::{Asked, ask, ask_all, ask_alone};

mod anew;
mod checked;
mod discover;
mod entering;
mod eyes;
mod fetch;
mod ha;
mod headless;
mod hidden;
mod sidecars;
mod sinks;

/// So many requests are under way at once.
const CONCURRENT: usize = 16;
/// Of one directory so many checkpoints are read at once; of the others only the newest by time.
const READ_PER_DIRECTORY: usize = 16;

/// Of one directory so many `_metadata` that somebody but Flink hid are looked at by a sweep.
const HIDDEN_PER_DIRECTORY: usize = 4;

/// What a call names, so that it must be looked at anew.
#[derive(Debug, Default)]
pub(crate) struct Named {
    /// Job directories, with the ids of checkpoints under which something was deleted.
    pub(crate) jobs: BTreeMap<JobDirectory, BTreeSet<u64>>,
    /// Those of them of which a rule or a stranger took something.
    pub(crate) taken_by_others: BTreeSet<JobDirectory>,
    /// Ids of jobs of whose changelog's log something was deleted, which lies elsewhere, and whether a rule or a stranger took any of it.
    pub(crate) logs_of: BTreeMap<String, bool>,
    /// Savepoint directories under which something was deleted.
    pub(crate) savepoints: BTreeSet<ObjectLocation>,
    /// `_metadata` that were deleted, and by whom.
    pub(crate) deleted: BTreeMap<ObjectLocation, Cause>,
    /// `_metadata` that were written.
    pub(crate) written: BTreeSet<ObjectLocation>,
    /// What the journal says of hidden `_metadata`.
    pub(crate) hidden: HiddenIds,
    /// Objects of HA stores that name checkpoints and were deleted, and by whom.
    pub(crate) ha_deleted: BTreeMap<ObjectLocation, Cause>,
}

impl Named {
    /// Whether a rule or a stranger took something of a job.
    fn lost_to_others(&self, job: &JobDirectory) -> bool {
        let of_its_logs = last_name(job).and_then(|id| self.logs_of.get(id));
        self.taken_by_others.contains(job) || of_its_logs == Some(&true)
    }

    fn anybody_lost_to_others(&self) -> bool {
        !self.taken_by_others.is_empty() || self.logs_of.values().any(|by_others| *by_others)
    }
}

fn last_name(job: &JobDirectory) -> Option<&str> {
    job.prefix.trim_end_matches('/').rsplit('/').next()
}

/// How much of the world a call looks at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Breadth {
    /// What the call names; everything that is visible if the catalogue is older than allowed.
    Named,
    /// Everything, hidden directories and spare checkpoints too.
    Everything,
}

/// The catalogue and how fresh it is.
#[derive(Default)]
pub(crate) struct Survey {
    pub(crate) catalogue: Catalogue,
    surveyed_at: Option<Timestamp>,
    /// When directories of which nothing is visible were last looked for, but for sweeps.
    hidden_directories_at: Option<Timestamp>,
    /// What couldn't be read just now: no statement of absence holds while there is any.
    pub(crate) failed: Vec<String>,
    /// Sidecars that couldn't be written, until people are told.
    pub(crate) unkept: sidecars::Unkept,
    /// Directories of which something couldn't be read just now: nobody knows their heads, and they are looked at again at the next call.
    failing: BTreeSet<JobDirectory>,
    /// Directories of jobs that are gone, or have just begun.
    headless: headless::Headless,
    /// Whether the next call looks at all of them.
    looks_at_headless_next: AtomicBool,
    /// When a visible `_metadata` was last seen to be what was read, beyond what listings show.
    asked_about: BTreeMap<ObjectLocation, Timestamp>,
    /// Which checkpoints HA stores name.
    pub(crate) ha: ha::HaStores,
    /// What sinks keep outside state handles.
    pub(crate) sinks: sinks::SinkStates,
    checked: checked::CheckedJobs,
    /// Hidden `_metadata` that somebody needs, and their classes, until it is known what is left of them.
    not_visible: BTreeMap<ObjectLocation, Class>,
    /// `_metadata` that somebody needs and of which no version is left, and their classes, until people are told.
    gone_for_good: BTreeMap<ObjectLocation, Class>,
}

/// So many hidden checkpoints of a directory that may hold several jobs are looked at: those that the journal knows of.
const HIDDEN_OF_SEVERAL: usize = 8;

/// Whether reading it failed for a reason that somebody may have taken away since: a permission, a key, a thaw.
fn may_be_read_now(snapshot: &Snapshot) -> bool {
    matches!(
        snapshot.contents,
        Contents::Unreadable {
            why: Unreadable::Denied | Unreadable::OutOfReach(_),
            ..
        }
    )
}

impl Survey {
    /// Brings the catalogue up to date for a call: everything if it is older than allowed, else what the call names.
    pub(crate) async fn refresh<R: Reading + Sync, J: Journal + Sync>(
        &mut self,
        eyes: &Eyes<'_, R, J>,
        named: &Named,
        breadth: Breadth,
    ) {
        self.failed.clear();
        let stale = breadth == Breadth::Everything
            || self
                .surveyed_at
                .is_none_or(|at| eyes.now.since(at) >= eyes.mandate.catalogue_max_age);
        let mut jobs: BTreeSet<JobDirectory> = named.jobs.keys().cloned().collect();
        for id in named.logs_of.keys() {
            jobs.extend(self.directories_of_job(eyes, id));
        }
        let mut savepoints = named.savepoints.clone();
        for directory in std::mem::take(&mut self.failing) {
            self.forget_hidden(&directory);
            // What failed before may have been a savepoint's directory or a job's: asking for both is one request more.
            savepoints.insert(ObjectLocation::new(&*directory.bucket, &*directory.prefix));
            jobs.insert(directory);
        }
        // What a rule or a stranger took may be needed by a job that began an hour ago and completed its first checkpoint just now.
        let asked = std::mem::take(self.looks_at_headless_next.get_mut());
        let look_at_headless = breadth == Breadth::Named && (asked || named.anybody_lost_to_others());
        if look_at_headless {
            let unseen = self.headless.unseen_for(eyes.mandate.catalogue_max_age, eyes.now);
            jobs.extend(unseen.cloned());
        }
        if stale {
            let mut found = BTreeSet::new();
            let complete = self.discover(eyes, breadth, &mut found, &mut savepoints).await;
            found.extend(self.job_directories());
            if breadth == Breadth::Named {
                found.retain(|job| !self.headless.may_wait(job, eyes.now));
            }
            jobs.extend(found);
            self.asked_about
                .retain(|metadata, _| self.catalogue.at(metadata).is_some());
            // A full index would only refuse what comes next, and says so there.
            let _ = self.catalogue.index.compact();
            if complete {
                self.surveyed_at = Some(eyes.now);
            }
        }
        // Jobs that snapshots of the named ones point into are linked by the index and need no listing of their own.
        self.take_jobs(eyes, named, breadth, jobs).await;
        for directory in savepoints {
            self.take_savepoint(eyes, named, &directory.sibling(METADATA_FILE))
                .await;
        }
        self.told_of_ha(&named.ha_deleted);
        if stale
            || self.ha.are_unknown()
            || named
                .ha_deleted
                .values()
                .any(|cause| !cause.is_flink_or_unknown())
        {
            self.look_at_ha(eyes).await;
        }
        self.forget_what_only_ha_knew();
        for metadata in self.metadata_locations() {
            self.mark_kept(eyes, &metadata);
        }
    }

    /// Gives a snapshot the age of what it was copied from, where its copy itself doesn't say it: what came back after it had been hidden
    /// must not look as if somebody had just written it.
    pub(crate) fn know_age(&mut self, metadata: &ObjectLocation, history: &KeyHistory) {
        let Some(id) = self.catalogue.at(metadata) else {
            return;
        };
        if let Some(snapshot) = self.catalogue.get_mut(id)
            && let Some(returns) = snapshot.version.as_ref().and_then(|v| history.returns(v))
        {
            snapshot.written = snapshot.written.min(returns.first_written);
        }
    }

    /// `_metadata` that somebody needs and of which the last version was purged since this was asked before.
    pub(crate) fn take_gone_for_good(&mut self) -> BTreeMap<ObjectLocation, Class> {
        std::mem::take(&mut self.gone_for_good)
    }

    /// Forgets the hidden checkpoints of a directory of which something couldn't be read: beside a gap an old one may pass for the newest.
    fn forget_hidden(&mut self, directory: &JobDirectory) {
        for (metadata, _) in self.snapshots_of(directory) {
            let is_to_go = |s: &Snapshot| s.hidden.is_some() && s.kept.is_none();
            if self.snapshot_at(&metadata).is_some_and(is_to_go) {
                self.catalogue.remove(&metadata);
            }
        }
    }

    fn fail(&mut self, directory: JobDirectory, why: String) {
        self.failed.push(why);
        self.failing.insert(directory);
    }

    /// Whether something of this directory couldn't be read just now.
    pub(crate) fn is_failing(&self, directory: &JobDirectory) -> bool {
        self.failing.contains(directory)
    }

    fn metadata_locations(&self) -> Vec<ObjectLocation> {
        self.catalogue.iter().map(|(_, s)| s.metadata.clone()).collect()
    }

    fn mark_kept<R, J>(&mut self, eyes: &Eyes<'_, R, J>, metadata: &ObjectLocation) {
        let pinned = eyes.switches.pins(metadata);
        if let Some(snapshot) = self
            .catalogue
            .at(metadata)
            .and_then(|id| self.catalogue.get_mut(id))
        {
            let by_ha = self.ha.names(metadata).then_some(Kept::NamedByHa);
            snapshot.kept = pinned.then_some(Kept::Pinned).or(by_ha);
        }
    }

    /// Has the next call look at directories in which no checkpoint was found for long. Whether there are any that weren't looked at just now.
    pub(crate) fn look_at_headless_next<R, J>(&self, eyes: &Eyes<'_, R, J>) -> bool {
        let mut unseen = self.headless.unseen_for(eyes.mandate.catalogue_max_age, eyes.now);
        let any = unseen.next().is_some();
        self.looks_at_headless_next.fetch_or(any, Ordering::Relaxed);
        any
    }

    /// The known directories of a job by its id.
    pub(crate) fn known_directories_of_job(&self, id: &str) -> Vec<JobDirectory> {
        let known = self.catalogue.jobs().map(|(job, _)| job);
        known.filter(|job| last_name(job) == Some(id)).cloned().collect()
    }

    /// The directories of a job by its id: those that are known, or where one that began since the last look lies, or one of which nothing was visible.
    fn directories_of_job<R, J>(&self, eyes: &Eyes<'_, R, J>, id: &str) -> Vec<JobDirectory> {
        let its = self.known_directories_of_job(id);
        if !its.is_empty() {
            return its;
        }
        let of_checkpoints = eyes
            .mandate
            .roots
            .iter()
            .filter(|r| r.kind == RootKind::Checkpoints);
        let below = of_checkpoints.map(|root| JobDirectory {
            bucket: root.bucket().to_owned(),
            prefix: format!("{}{id}/", root.metadata_prefix()),
        });
        below.collect()
    }

    /// Lists these job directories, and takes in what they hold.
    async fn take_jobs<R: Reading + Sync, J: Journal + Sync>(
        &mut self,
        eyes: &Eyes<'_, R, J>,
        named: &Named,
        breadth: Breadth,
        jobs: BTreeSet<JobDirectory>,
    ) {
        let listings: Vec<(JobDirectory, Result<Listing, PortError>)> = stream::iter(jobs)
            .map(|job| async move {
                let listing = eyes
                    .reading
                    .list(&job.bucket, &format!("{}chk-", job.prefix), true)
                    .await;
                (job, listing)
            })
            .buffer_unordered(CONCURRENT)
            .collect()
            .await;
        for (job, listing) in listings {
            match listing {
                Ok(listing) => {
                    self.take_listing(eyes, named, breadth, job.clone(), &listing)
                        .await;
                    let holds_checkpoints = !self.snapshots_of(&job).is_empty();
                    self.headless.saw(&job, holds_checkpoints, eyes.now);
                    // Where nothing is visible the message about `_metadata` may be on the way, and what the others tell of may be its.
                    let may_be_hidden = || named.lost_to_others(&job) && self.newest_visible(&job).is_none();
                    if breadth == Breadth::Everything || may_be_hidden() {
                        self.look_for_hidden(eyes, &job).await;
                    }
                }
                Err(e) => self.fail(job, e.to_string()),
            }
        }
    }

    /// Takes in the listing of the `chk-*` directories of one job directory.
    async fn take_listing<R: Reading + Sync, J: Journal + Sync>(
        &mut self,
        eyes: &Eyes<'_, R, J>,
        named: &Named,
        breadth: Breadth,
        job: JobDirectory,
        listing: &Listing,
    ) {
        let mut listed: Vec<(u64, ObjectLocation)> = listing
            .prefixes
            .iter()
            .filter_map(|p| {
                let id = layout::checkpoint_id(p.strip_prefix(job.prefix.as_str())?.trim_end_matches('/'))?;
                Some((
                    id,
                    ObjectLocation::new(&*job.bucket, format!("{p}{METADATA_FILE}")),
                ))
            })
            .collect();
        listed.sort_by_key(|(id, _)| std::cmp::Reverse(*id));

        let before: Vec<(ObjectLocation, Option<u64>)> = self.snapshots_of(&job);
        let unread: Vec<(u64, ObjectLocation)> = listed
            .iter()
            .filter(|(_, at)| self.must_be_read(at, named))
            .cloned()
            .collect();
        let unfinished = self.read_all(eyes, &unread, breadth).await;

        // Who is gone from the listing, or was said to be deleted: hidden if it mattered, else forgotten.
        let newest_visible = self.newest_visible(&job);
        let mut ask: BTreeSet<(u64, ObjectLocation)> = BTreeSet::new();
        for (metadata, id) in before {
            let stands =
                listed.iter().any(|(_, at)| *at == metadata) && !named.deleted.contains_key(&metadata);
            let known_hidden = self.snapshot_at(&metadata).is_none_or(|s| s.hidden.is_some());
            let Some(id) = id else { continue };
            if stands {
                continue;
            }
            let unread = self.snapshot_at(&metadata).is_some_and(may_be_read_now);
            if known_hidden && !unread && !named.deleted.contains_key(&metadata) {
                // A newer one stands: nobody asks for this one's class any more.
                let kept = self.snapshot_at(&metadata).is_some_and(|s| s.kept.is_some());
                if Some(id) < newest_visible && !kept && !self.was_head(&metadata, eyes.now) {
                    self.catalogue.remove(&metadata);
                }
                continue;
            }
            let told_by_other = named
                .deleted
                .get(&metadata)
                .is_some_and(|c| !c.is_flink_or_unknown());
            let kept = self.snapshot_at(&metadata).is_some_and(|s| s.kept.is_some());
            if told_by_other || kept || self.was_head(&metadata, eyes.now) || Some(id) > newest_visible {
                ask.insert((id, metadata));
            } else {
                self.catalogue.remove(&metadata);
            }
        }
        // Ids above the newest visible one that the call or the journal names, and whatever a stranger or a rule hid.
        let mut ids = named.jobs.get(&job).cloned().unwrap_or_default();
        // A run whose ids began again has its newest below: the sweep looks there too. And of several jobs in one directory the newest one of
        // another says nothing about this one's.
        let of_several = layout::may_hold_several_jobs(&job.prefix);
        let below = match breadth {
            _ if of_several => HIDDEN_OF_SEVERAL,
            Breadth::Named => 1,
            Breadth::Everything => HIDDEN_PER_DIRECTORY,
        };
        let hidden_by_others: BTreeSet<u64> = named.hidden.of(&job).take(below).collect();
        ids.extend(hidden_by_others.iter().copied());
        let mut below_newest: BTreeSet<ObjectLocation> = BTreeSet::new();
        for id in ids {
            let metadata =
                ObjectLocation::new(&*job.bucket, format!("{}chk-{id}/{METADATA_FILE}", job.prefix));
            let told_by_other = named
                .deleted
                .get(&metadata)
                .is_some_and(|c| !c.is_flink_or_unknown());
            let looks_below =
                (of_several || breadth == Breadth::Everything) && hidden_by_others.contains(&id);
            let unseen = self.catalogue.at(&metadata).is_none();
            if unseen && (Some(id) > newest_visible || told_by_other) {
                ask.insert((id, metadata));
            } else if unseen && looks_below {
                below_newest.insert(metadata.clone());
                ask.insert((id, metadata));
            }
        }
        for (_, metadata) in ask.into_iter().rev() {
            self.look_up(eyes, &metadata).await;
            // A stranger or a rule hid it once; since then it came back, and Flink subsumed it or its job ended.
            let by_flink = |s: &Snapshot| s.hidden.as_ref().is_some_and(|h| h.cause.is_flink_or_unknown());
            if below_newest.contains(&metadata) && self.snapshot_at(&metadata).is_some_and(by_flink) {
                self.catalogue.remove(&metadata);
            }
        }
        self.not_visible.clear();
        let record = self.catalogue.job_mut(&job);
        record.unfinished = unfinished;
        record.listed_at = Some(eyes.now);
    }

    /// Directories that hold checkpoints, or did; not those of savepoints.
    fn job_directories(&self) -> Vec<JobDirectory> {
        let of_checkpoints = |id: &SnapshotId| {
            self.catalogue
                .get(*id)
                .is_some_and(|s| s.kind != SnapshotKind::Savepoint)
        };
        self.catalogue
            .jobs()
            .filter(|(_, r)| {
                r.listed_at.is_some() && (r.snapshots.is_empty() || r.snapshots.iter().any(of_checkpoints))
            })
            .map(|(job, _)| job.clone())
            .collect()
    }

    fn snapshots_of(&self, job: &JobDirectory) -> Vec<(ObjectLocation, Option<u64>)> {
        let record = self.catalogue.job(job);
        let ids = record.map(|r| r.snapshots.as_slice()).unwrap_or_default();
        ids.iter()
            .filter_map(|id| self.catalogue.get(*id))
            .map(|s| (s.metadata.clone(), s.directory_id()))
            .collect()
    }

    fn snapshot_at(&self, metadata: &ObjectLocation) -> Option<&Snapshot> {
        self.catalogue.at(metadata).and_then(|id| self.catalogue.get(id))
    }

    fn must_be_read(&self, metadata: &ObjectLocation, named: &Named) -> bool {
        if named.deleted.contains_key(metadata) {
            return false;
        }
        self.snapshot_at(metadata)
            .is_none_or(|s| s.hidden.is_some() || may_be_read_now(s) || named.written.contains(metadata))
    }

    fn newest_visible(&self, job: &JobDirectory) -> Option<u64> {
        let record = self.catalogue.job(job)?;
        record
            .snapshots
            .iter()
            .filter_map(|id| self.catalogue.get(*id))
            .filter(|s| s.hidden.is_none() && s.facts().is_some())
            .filter_map(Snapshot::directory_id)
            .max()
    }

    fn was_head(&self, metadata: &ObjectLocation, now: Timestamp) -> bool {
        let Some(id) = self.catalogue.at(metadata) else {
            return false;
        };
        let (by_id, by_time) = self.catalogue.heads_beside(id, now);
        by_id == Some(id) || by_time == Some(id)
    }

    /// Reads visible `_metadata`, the highest ids first; returns the ids of directories that hold none.
    async fn read_all<R: Reading + Sync, J: Journal + Sync>(
        &mut self,
        eyes: &Eyes<'_, R, J>,
        unread: &[(u64, ObjectLocation)],
        breadth: Breadth,
    ) -> Vec<u64> {
        let at_once = match breadth {
            Breadth::Named => READ_PER_DIRECTORY,
            Breadth::Everything => usize::MAX,
        };
        let (first, rest) = unread.split_at(unread.len().min(at_once));
        let mut wanted: Vec<(u64, ObjectLocation)> = first.to_vec();
        if !rest.is_empty() {
            // More are retained than are worth reading: of the others only the newest by time can be a head, or a pinned one.
            let heads: Vec<_> = stream::iter(rest.to_vec())
                .map(|(id, at)| async move { (id, eyes.reading.head(&at, None).await, at) })
                .buffer_unordered(CONCURRENT)
                .collect()
                .await;
            let newest = heads
                .iter()
                .filter_map(|(id, head, at)| head.as_ref().ok().map(|h| (first_written(h), *id, at.clone())))
                .max_by_key(|(written, ..)| *written);
            wanted.extend(newest.map(|(_, id, at)| (id, at)));
            wanted.extend(rest.iter().filter(|(_, at)| eyes.switches.pins(at)).cloned());
        }
        let ids: BTreeMap<ObjectLocation, u64> = wanted.into_iter().map(|(id, at)| (at, id)).collect();
        let mut unfinished = Vec::new();
        let mut large = Vec::new();
        let mut answers = ask_all(eyes, ids.keys().cloned().collect());
        while let Some((at, asked)) = answers.next().await {
            match asked {
                Ok(asked) => self.take_visible(eyes, &at, asked, &ids, &mut unfinished).await,
                Err(left) => large.push((at, left)),
            }
        }
        for (at, left) in large {
            let asked = ask_alone(eyes, &at, None, left).await;
            self.take_visible(eyes, &at, asked, &ids, &mut unfinished).await;
        }
        // Where it can't be read, what somebody wrote over may be.
        for at in ids.keys() {
            let unreadable = |s: &Snapshot| matches!(s.contents, Contents::Unreadable { .. });
            if self.snapshot_at(at).is_some_and(unreadable) {
                self.look_up(eyes, at).await;
            }
        }
        unfinished
    }

    /// Enters one that was asked for, or takes down that its directory holds none.
    async fn take_visible<R: Reading + Sync, J: Journal + Sync>(
        &mut self,
        eyes: &Eyes<'_, R, J>,
        metadata: &ObjectLocation,
        asked: Asked,
        ids: &BTreeMap<ObjectLocation, u64>,
        unfinished: &mut Vec<u64>,
    ) {
        if matches!(asked, Asked::Itself(Fetched::Absent)) {
            let missed = self.would_be_missed(eyes, metadata);
            self.not_visible
                .extend(missed.map(|class| (metadata.clone(), class)));
            self.catalogue.remove(metadata);
            unfinished.extend(ids.get(metadata));
        } else {
            self.enter(eyes, metadata, asked, None).await;
        }
    }

    async fn take_savepoint<R: Reading + Sync, J: Journal + Sync>(
        &mut self,
        eyes: &Eyes<'_, R, J>,
        named: &Named,
        metadata: &ObjectLocation,
    ) {
        let told = named.deleted.contains_key(metadata);
        let known = self
            .snapshot_at(metadata)
            .is_some_and(|s| s.hidden.is_none() && !may_be_read_now(s));
        if known && !told && !named.written.contains(metadata) {
            let job = identity_of(metadata).1;
            self.catalogue.job_mut(&job).listed_at = Some(eyes.now);
            return;
        }
        if told {
            return self.look_up(eyes, metadata).await;
        }
        match ask(eyes, metadata, None).await {
            Asked::Itself(Fetched::Absent) => self.look_up(eyes, metadata).await,
            other => self.enter(eyes, metadata, other, None).await,
        }
        let unreadable = |s: &Snapshot| matches!(s.contents, Contents::Unreadable { .. });
        if self.snapshot_at(metadata).is_some_and(unreadable) {
            self.look_up(eyes, metadata).await;
        }
        let job = identity_of(metadata).1;
        self.catalogue.job_mut(&job).listed_at = Some(eyes.now);
    }
}
