//! Looking for `_metadata` that isn't visible: by whom it was hidden, and what it said.

use std::collections::BTreeSet;

use stayput_core::class::{Class, FAILED_STORE_WITHIN, Moment};
use stayput_core::layout::{self, METADATA_FILE};
use stayput_core::location::ObjectLocation;
use stayput_core::snapshot::{HiddenBy, JobDirectory, Snapshot, identity_of};
use stayput_core::timestamp::Timestamp;
use stayput_core::version::{VersionEntry, VersionKind};

use super::fetch::{Fetched, has_id, parses};
use super::sidecars::{Asked, ask};
use super::{Eyes, Survey, may_be_read_now};
use crate::port::{Journal, PortError, Reading, VersionsOf};

/// So many versions of one `_metadata`, and so many hidden checkpoints of one directory, are tried.
const TRIES: usize = 4;

impl Survey {
    /// Looks a `_metadata` up by its versions: visible, or hidden and by whom. Where there is none to be read, what an HA store says stands for it.
    pub(crate) async fn look_up<R: Reading + Sync, J: Journal + Sync>(
        &mut self,
        eyes: &Eyes<'_, R, J>,
        metadata: &ObjectLocation,
    ) {
        self.look_up_without_ha(eyes, metadata).await;
        if self.ha.names(metadata) && self.snapshot_at(metadata).and_then(Snapshot::facts).is_none() {
            self.absent(eyes, metadata).await;
        }
    }

    pub(super) async fn look_up_without_ha<R: Reading + Sync, J: Journal + Sync>(
        &mut self,
        eyes: &Eyes<'_, R, J>,
        metadata: &ObjectLocation,
    ) {
        let history = match eyes.history(metadata).await {
            Ok(history) => history,
            Err(e) => return self.fail(identity_of(metadata).1, e.to_string()),
        };
        let hidden = match history.hidden() {
            None => None,
            Some(hidden) if !eyes.mandate.counts(hidden.above_data.last_modified) => {
                return self.catalogue.remove(metadata);
            }
            Some(hidden) => {
                let cause = match eyes.cause_of(metadata, &history, true).await {
                    Ok(cause) => cause,
                    Err(e) => return self.fail(identity_of(metadata).1, e.to_string()),
                };
                Some(HiddenBy {
                    at: hidden.above_data.last_modified,
                    marker: hidden.above_data.id.clone(),
                    cause,
                })
            }
        };
        let mut entered = false;
        // Of a visible one, what lies below it without a marker between is what somebody wrote over.
        let tries = match hidden {
            Some(_) => TRIES,
            None => history.newest_without_marker().take(TRIES).count(),
        };
        for version in history.data_versions().take(tries) {
            let asked = ask(eyes, metadata, Some(&version.id)).await;
            let usable = match &asked {
                Asked::Itself(Fetched::Absent) => continue,
                Asked::Itself(Fetched::Body(body)) => parses(body, metadata, eyes.mandate),
                Asked::Itself(Fetched::Unreadable(..)) => false,
                Asked::Itself(Fetched::Failed(_)) => true,
                Asked::Kept(kept) => has_id(metadata, kept.sidecar.checkpoint_id()),
            };
            if usable {
                self.enter(eyes, metadata, asked, hidden).await;
                return self.know_age(metadata, &history);
            }
            // The newest version that parses to its end is the one that would come back. If none does, what was found first stands; it is
            // taken in at once, so that its bytes don't lie beside those of the next.
            if !entered {
                self.enter(eyes, metadata, asked, hidden.clone()).await;
                entered = true;
            }
        }
        if entered {
            self.know_age(metadata, &history);
        } else {
            let missed = self.would_be_missed(eyes, metadata);
            if let Some(class) = missed.or(self.not_visible.remove(metadata)) {
                self.gone_for_good.insert(metadata.clone(), class);
            }
            self.catalogue.remove(metadata);
        }
    }

    /// The class of a `_metadata` that a rule or a stranger hid, if somebody needs it still: when no version of it is left, people must hear of that.
    pub(super) fn would_be_missed<R, J>(
        &self,
        eyes: &Eyes<'_, R, J>,
        metadata: &ObjectLocation,
    ) -> Option<Class> {
        let id = self.catalogue.at(metadata)?;
        self.catalogue.get(id).filter(|s| is_hidden_by_others(s))?;
        let moment = Moment::BeforeItsOwn(eyes.now);
        let class = self
            .catalogue
            .class(id, moment, eyes.mandate.policy.dormant_after);
        (class >= Class::Resting && self.catalogue.claimed_by(id).is_none()).then_some(class)
    }

    /// Looks for hidden `_metadata` above the newest visible id. Ids aren't padded, so those of more digits sort elsewhere.
    pub(crate) async fn look_for_hidden<R: Reading + Sync, J: Journal + Sync>(
        &mut self,
        eyes: &Eyes<'_, R, J>,
        job: &JobDirectory,
    ) {
        let newest = self.newest_visible(job);
        let prefix = format!("{}chk-", job.prefix);
        let mut after: Vec<Option<String>> = vec![newest.map(|n| format!("{prefix}{n}/"))];
        if let Some(power) = newest.and_then(next_power_of_ten) {
            after.push(Some(format!("{prefix}{power}")));
        }
        let mut found: BTreeSet<u64> = BTreeSet::new();
        for after in after {
            let of = VersionsOf {
                bucket: &job.bucket,
                prefix: &prefix,
                by_directory: true,
                after_key: after.as_deref(),
                pages: Some(1),
            };
            match eyes.reading.versions(of).await {
                Ok(listing) => found.extend(listing.prefixes.iter().filter_map(|p| {
                    layout::checkpoint_id(p.strip_prefix(job.prefix.as_str())?.trim_end_matches('/'))
                })),
                Err(e) => self.fail(job.clone(), e.to_string()),
            }
        }
        let mut looks_further = true;
        for id in found
            .iter()
            .rev()
            .copied()
            .filter(|id| Some(*id) > newest)
            .take(TRIES)
        {
            let metadata = ObjectLocation::new(&*job.bucket, format!("{prefix}{id}/{METADATA_FILE}"));
            if self.snapshot_at(&metadata).is_none_or(may_be_read_now)
                || found.last() == Some(&id) && self.is_another_by_now(eyes, &metadata).await
            {
                self.look_up(eyes, &metadata).await;
            }
            // Beside one that couldn't be read just now an older one would pass for the newest, also at the next call.
            if self.is_failing(job) {
                return;
            }
            // The newest that was ever complete decides; older ones matter only if Flink failed to store this one. And a run whose ids began
            // again hides the old checkpoint whose id it comes to: then its own newest is the one before.
            let Some(snapshot) = self.snapshot_at(&metadata) else {
                continue;
            };
            match &snapshot.hidden {
                Some(h) if h.cause.is_flink_or_unknown() => {
                    if h.at.since(snapshot.written) > FAILED_STORE_WITHIN
                        && !std::mem::take(&mut looks_further)
                    {
                        break;
                    }
                }
                Some(_) | None => break,
            }
        }
        // A listing more is asked for only where it can tell something.
        let newest_hidden = (newest.is_none() && found.len() > 1)
            .then(|| self.newest_hidden(job))
            .flatten();
        let several = layout::may_hold_several_jobs(&job.prefix);
        if newest_hidden.is_none() && !several {
            return;
        }
        let listed = match list_metadata(eyes, job).await {
            Ok(listed) => listed,
            Err(e) => return self.fail(job.clone(), e.to_string()),
        };
        if let Some(written) = newest_hidden {
            self.look_for_newer(eyes, job, &listed, written).await;
        }
        if several && !self.is_failing(job) {
            self.look_for_what_rules_hid(eyes, job, &listed).await;
        }
    }

    /// Whether a run whose ids began again wrote another `_metadata` where this one was known, and that was hidden too.
    async fn is_another_by_now<R: Reading + Sync, J: Journal + Sync>(
        &mut self,
        eyes: &Eyes<'_, R, J>,
        metadata: &ObjectLocation,
    ) -> bool {
        let Some(marker) = self
            .snapshot_at(metadata)
            .and_then(|s| s.hidden.as_ref())
            .map(|h| h.marker.clone())
        else {
            return false;
        };
        match eyes.history(metadata).await {
            Ok(history) => history.hidden().is_some_and(|h| h.above_data.id != marker),
            Err(e) => {
                self.fail(identity_of(metadata).1, e.to_string());
                false
            }
        }
    }

    /// When the newest was written of those that are hidden.
    fn newest_hidden(&self, job: &JobDirectory) -> Option<Timestamp> {
        let known = self.snapshots_of(job);
        let known = known.iter().filter_map(|(at, _)| self.snapshot_at(at));
        known.filter(|s| s.hidden.is_some()).map(|s| s.written).max()
    }

    /// Where nothing is visible, and whoever hid the newest by id, written then: whether one of a lower id was written later, by a run whose ids
    /// began again.
    async fn look_for_newer<R: Reading + Sync, J: Journal + Sync>(
        &mut self,
        eyes: &Eyes<'_, R, J>,
        job: &JobDirectory,
        listed: &[ListedMetadata],
        written: Timestamp,
    ) {
        for metadata in self.unknown_among(listed, |m| m.written > written) {
            self.look_up(eyes, &metadata).await;
            if self.is_failing(job) {
                return;
            }
            // What Flink hid of a lower id was subsumed, or its job ended; and a copy is as old as its bytes.
            let is_newer = |s: &Snapshot| is_hidden_by_others(s) && s.written > written;
            if self.snapshot_at(&metadata).is_some_and(is_newer) {
                break;
            }
            self.catalogue.remove(&metadata);
        }
    }

    /// Where several jobs may write, the newest of one lies below another's, and the journal knows of it only if a message came: rules date their markers
    /// midnight.
    async fn look_for_what_rules_hid<R: Reading + Sync, J: Journal + Sync>(
        &mut self,
        eyes: &Eyes<'_, R, J>,
        job: &JobDirectory,
        listed: &[ListedMetadata],
    ) {
        for metadata in self.unknown_among(listed, |m| m.hidden_at_midnight) {
            self.look_up(eyes, &metadata).await;
            if self.is_failing(job) {
                return;
            }
            if !self.snapshot_at(&metadata).is_some_and(is_hidden_by_others) {
                self.catalogue.remove(&metadata);
            }
        }
    }

    /// Those that the catalogue doesn't know and of which that holds, the newest first, and no more than are tried.
    fn unknown_among(
        &self,
        listed: &[ListedMetadata],
        holds: impl Fn(&ListedMetadata) -> bool,
    ) -> Vec<ObjectLocation> {
        let mut unknown: Vec<&ListedMetadata> = listed
            .iter()
            .filter(|m| holds(m) && self.snapshot_at(&m.location).is_none())
            .collect();
        unknown.sort_by_key(|m| std::cmp::Reverse((m.written, &m.location)));
        unknown
            .into_iter()
            .take(TRIES)
            .map(|m| m.location.clone())
            .collect()
    }
}

/// What a listing of versions says of a checkpoint's `_metadata`.
struct ListedMetadata {
    location: ObjectLocation,
    /// Last-Modified of the newest data version: of a copy, when it was copied.
    written: Timestamp,
    /// A marker lies on top that is dated as those of rules are.
    hidden_at_midnight: bool,
}

/// The `_metadata` of a job's checkpoints, visible or not, as far as one page shows them.
async fn list_metadata<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    job: &JobDirectory,
) -> Result<Vec<ListedMetadata>, PortError> {
    let of = VersionsOf {
        bucket: &job.bucket,
        prefix: &format!("{}chk-", job.prefix),
        by_directory: false,
        after_key: None,
        pages: Some(1),
    };
    let is_metadata = |key: &str| {
        let directory = key.strip_suffix(METADATA_FILE).and_then(|d| d.strip_suffix('/'));
        directory
            .and_then(|d| d.strip_prefix(job.prefix.as_str()))
            .is_some_and(|d| layout::checkpoint_id(d).is_some())
    };
    let is_data = |row: &&VersionEntry| matches!(row.kind, VersionKind::Data { .. });
    let listing = eyes.reading.versions(of).await?;
    let of_keys = listing.entries.chunk_by(|a, b| a.key == b.key);
    Ok(of_keys
        .filter(|of_key| is_metadata(&of_key[0].key))
        .filter_map(|of_key| {
            let top = &of_key[0];
            Some(ListedMetadata {
                location: ObjectLocation::new(&*job.bucket, &*top.key),
                written: of_key.iter().find(is_data)?.last_modified,
                hidden_at_midnight: top.kind == VersionKind::Marker
                    && top.last_modified == top.last_modified.midnight(),
            })
        })
        .collect())
}

/// Whether a rule or a stranger hid it.
fn is_hidden_by_others(snapshot: &Snapshot) -> bool {
    let hidden = snapshot.hidden.as_ref();
    hidden.is_some_and(|h| !h.cause.is_flink_or_unknown())
}

fn next_power_of_ten(id: u64) -> Option<u64> {
    let mut power: u64 = 10;
    while power <= id {
        power = power.checked_mul(10)?;
    }
    Some(power)
}

#[cfg(test)]
mod tests {
    use super::next_power_of_ten;

    #[test]
    fn ids_of_more_digits_begin_at_the_next_power_of_ten() {
        assert_eq!(next_power_of_ten(0), Some(10));
        assert_eq!(next_power_of_ten(9), Some(10));
        assert_eq!(next_power_of_ten(10), Some(100));
        assert_eq!(next_power_of_ten(u64::MAX), None);
    }
}
