//! When a loss may stand: which finding is the truth about it, and when not even one is asked.

use super::{Kind, Need, Oracle, Scene, ToldAs};
use crate::actors::{Checkpoint, File, Job, Place};
use crate::clock::{DAY, HOUR, Millis, SECOND};
use crate::scenario::Faults;
use crate::store::Hiding;

/// A head or savepoint older than this is forgotten.
pub(super) const FORGOTTEN: i64 = 90 * DAY;
/// A newest checkpoint younger than this runs, as far as anybody can see.
const SURELY_RUNNING: i64 = 24 * HOUR - SECOND;

impl Oracle<'_> {
    /// Why the loss of this key is a fault of the guard; `None`: it may stand.
    pub(super) fn without_excuse(
        &self,
        scene: &Scene<'_>,
        need: &Need<'_>,
        key: &str,
        hiding: &Hiding,
    ) -> Option<String> {
        let said = self.ledger.reported(key, hiding.at);
        let silent = || Some("nothing was restored and no finding says why".to_owned());
        // Who only observed told people while there was time, also of what was gone for good when it began to restore.
        let is_gone = || {
            let length = need.snapshot.length_of(key);
            length.is_some_and(|length| !scene.store.has_version(key, length))
        };
        if self.ledger.would_restore(key, hiding.at) && (!self.acting || is_gone()) {
            return None;
        }
        // What a `_metadata` in an archive names, an observer doesn't say: it never thaws that.
        let metadata = &need.snapshot.metadata;
        if !self.acting && scene.store.is_out_of_reach(metadata) && self.ledger.would_restore(metadata, 0) {
            return None;
        }
        if self.passes_for_the_sink_itself(need, key, hiding) {
            return None;
        }
        let length = need.snapshot.length_of(key)?;
        let written_over = || need.snapshot.files.iter().any(|f| scene.store.was_spoilt(&f.key));
        // When the first of it went.
        let first = scene.store.hiding(&need.snapshot.metadata);
        let first = first.map_or(hiding.at, |m| m.at.min(hiding.at));
        let told_overwritten = || {
            let metadata = &need.snapshot.metadata;
            self.ledger.was_told_about("overwritten", metadata, first - DAY)
        };
        // Of a dead letter an alarm tells, and where the message about `_metadata` is one nobody may know of the rest.
        let dead_letter = || {
            let metadata = scene.store.hiding(&need.snapshot.metadata);
            self.ledger.is_dead_letter(hiding.event)
                || metadata.is_some_and(|m| self.ledger.is_dead_letter(m.event))
        };
        let told_paused = || {
            self.ledger
                .was_told_about("paused", &need.snapshot.metadata, first)
        };
        // Which only another run in the same directory can make true, or a checkpoint that passes for one, since nobody can know how old it is.
        let told_reused = || {
            let directory = need.snapshot.job_directory();
            let there = |j: &&Job| j.directory == directory;
            let of_unknown_age =
                |c: &Checkpoint| c.job_directory() == directory && scene.store.is_of_unknown_age(&c.metadata);
            self.ledger
                .was_told_about("directory_reused", &need.snapshot.metadata, first - DAY)
                && (scene.jobs.iter().filter(there).count() > 1 || self.ledger.all().any(of_unknown_age))
        };
        if self.passes_for_a_spare(scene, need) {
            return None;
        }
        // While it may not read the function says so at every call, and an alarm tells of that; of what went for good meanwhile nothing is left that says what it was.
        let could_not_read = |key: &str| {
            let why = self.ledger.last_why(key);
            why.is_some_and(|why| why.starts_with("couldn't be read just now"))
        };
        let resumed_at = self.ledger.resumed_at;
        let of_metadata = &need.snapshot.metadata;
        if (could_not_read(key) || could_not_read(of_metadata))
            && scene
                .store
                .was_gone_for_good(of_metadata, &need.snapshot.etag, resumed_at)
        {
            return None;
        }
        // What a `_metadata` named that was gone for good before nobody can read any more, and nobody can be restored from: whether that loss is
        // excused decides for both.
        let metadata = &need.snapshot.metadata;
        let heard = hiding.at.max(need.since).max(self.ledger.resumed_at);
        if key != metadata
            && scene
                .store
                .was_gone_for_good(metadata, &need.snapshot.etag, heard)
        {
            let of_metadata = scene.store.hiding(metadata)?;
            return self.without_excuse(scene, need, metadata, &of_metadata);
        }
        let as_told = |h: &Hiding| {
            let heard = self.ledger.heard_at(h.event).is_some() && self.world.journal;
            match self.told_as(h) {
                ToldAs::Rule => ToldAs::Rule,
                told if heard => told,
                _ => ToldAs::Nobody,
            }
        };
        // Flink's discard of what nobody used for so long, as the process knows that heard of it, without a journal too.
        let discard_of_what_nobody_used = || {
            hiding.at - need.snapshot.completed > FORGOTTEN
                && need.snapshot.is_own(key)
                && self.told_as(hiding) == ToldAs::Flink
                && self.ledger.last_why(key) == Some("dormant")
        };
        // In the night in which its `_metadata` goes for good it may go first: nobody can be restored from that any more, and whether people know of that loss
        // decides for both.
        if key != metadata
            && let Some(of_metadata) = scene.store.hiding(metadata)
            && scene
                .store
                .was_gone_for_good(metadata, &need.snapshot.etag, scene.store.now())
            && self
                .ledger
                .was_told_about("purged_version", metadata, of_metadata.at)
        {
            return None;
        }
        if !scene.store.has_version(key, length) {
            // It went while nothing in the settings said that anything lies there, or before the first sweep after that.
            if self.went_unwatched(scene, need, key, hiding) {
                return None;
            }
            // Nobody can bring it back; people must know.
            let hidden = scene.store.hiding(&need.snapshot.metadata);
            let may_be_discarded =
                hidden.is_some_and(|h| matches!(as_told(&h), ToldAs::Flink | ToldAs::Nobody));
            // The key of a tail tells no job: while its `_metadata` couldn't be read nobody knew that it was needed, and then it was gone.
            let is_tail = |f: &File| f.key == key && f.place == Place::Tail;
            let unread_tail = hiding.at <= self.ledger.resumed_at && need.snapshot.files.iter().any(is_tail);
            // Flink deletes a pointer at each checkpoint, and nobody heard of another hand.
            let is_pointer = |f: &File| f.key == key && f.place == Place::Pointer;
            let pointer_of_flinks = need.snapshot.files.iter().any(is_pointer)
                && matches!(as_told(hiding), ToldAs::Flink | ToldAs::Nobody);
            // Of what nobody used for so long and a rule took, people are told once, of the snapshot.
            let expired = || {
                self.told_as(hiding) == ToldAs::Rule
                    && hiding.at - need.snapshot.completed > FORGOTTEN
                    && self
                        .ledger
                        .was_told_about("dormant_expired", metadata, hiding.at - DAY)
            };
            // While it waited for the budget people were told day by day.
            let told_budget = || {
                let told = |about| self.ledger.was_told_about("budget_spent", about, hiding.at);
                told(key) || told(metadata)
            };
            return if said.is_some()
                || told_budget()
                || expired()
                || may_be_discarded
                || pointer_of_flinks
                || unread_tail
                || discard_of_what_nobody_used()
                || told_paused()
                || told_overwritten()
                || told_reused()
                || dead_letter()
            {
                None
            } else {
                silent()
            };
        }
        let sweeps_last = self.sweeps_last();
        let since = scene.store.now() - sweeps_last;
        // A sweep that died tells nobody: what the last one told that lived still stands.
        let since = self.ledger.last_sweep().map_or(since, |lived| since.min(lived));
        if self.ledger.was_told("budget_spent", since) && self.may_be_spent(since) {
            return None;
        }
        let metadata = scene.store.hiding(&need.snapshot.metadata);
        let metadata_as = metadata.as_ref().map(as_told);
        let by_flink_or_nobody = |told| matches!(told, ToldAs::Flink | ToldAs::Nobody);
        let own = || {
            need.snapshot
                .files
                .iter()
                .filter(|f| need.snapshot.is_own(&f.key))
        };
        let together = |key: &str| {
            let own = scene
                .store
                .hiding(key)
                .or_else(|| scene.store.came_back_after(key));
            own.zip(metadata)
                .is_some_and(|(own, m)| (own.at - m.at).abs() <= HOUR)
        };
        // Of what went long before nobody remembers who took it where its message never came: Flink, for all that anybody knows, and that can't go with
        // the rest. Whom the guard heard of it remembers, and that was a part.
        let went_before = |key: &str| {
            scene
                .store
                .hiding(key)
                .zip(metadata)
                .is_some_and(|(own, m)| own.at < m.at && by_flink_or_nobody(as_told(&own)))
        };
        let whole = metadata.is_some() && own().all(|f| together(&f.key) || went_before(&f.key));
        // Of a snapshot that was hidden itself the moment before counts.
        let counts = metadata.map_or(hiding.at, |m| m.at.max(hiding.at));
        // Of what was hidden before the snapshot was complete, the look counts.
        let counts = if counts < need.snapshot.completed {
            scene.store.now()
        } else {
            counts
        };
        let forgotten = counts - need.snapshot.completed > FORGOTTEN;
        // A whole deletion has the cause of its `_metadata`.
        let told = match metadata_as {
            Some(told) if whole || by_flink_or_nobody(told) => told,
            _ => as_told(hiding),
        };
        let restored_today = self
            .ledger
            .restored_before(key, hiding.at)
            .is_some_and(|at| scene.store.now() - at < DAY + 2 * HOUR);
        let other_is_lost = || {
            need.missing(scene.store).iter().any(|(k, _)| {
                need.snapshot
                    .length_of(k)
                    .is_some_and(|l| !scene.store.has_version(k, l))
            })
        };
        if said == Some("reference_lost") && other_is_lost() {
            return None;
        }
        if written_over() && (said == Some("overwritten") || told_overwritten()) {
            return None;
        }
        // `_metadata` never comes back before what it names, and people know of that.
        let reported_other = || {
            need.missing(scene.store)
                .iter()
                .any(|(k, h)| k != key && self.ledger.reported(k, h.at).is_some())
        };
        if key == need.snapshot.metadata && self.ledger.waits_for_files(key, hiding.at) && reported_other() {
            return None;
        }
        // Told once, when `_metadata` went; what goes after it is told of with it.
        let told_whole = || {
            self.ledger
                .was_told_about("deleted_as_a_whole", &need.snapshot.metadata, first - DAY)
        };
        let another_was_restored_today = || {
            need.missing(scene.store).iter().any(|(k, h)| {
                let before = self.ledger.restored_before(k, h.at);
                before.is_some_and(|at| scene.store.now() - at < DAY + 2 * HOUR)
            })
        };
        // While it was paused people were told, and of a dead letter an alarm tells; where another checkpoint of the directory stands, the sweep
        // needn't find what is hidden beside it.
        let beside_another = || {
            self.ledger.all().any(|c| {
                c.job_directory() == need.snapshot.job_directory()
                    && c.metadata != need.snapshot.metadata
                    && scene.store.is_visible(&c.metadata)
            })
        };
        // No message ever said that `_metadata` went.
        let untold = || {
            scene
                .store
                .hiding(&need.snapshot.metadata)
                .is_some_and(|m| self.ledger.heard_at(m.event).is_none())
        };
        if (told_paused() || dead_letter() || untold()) && beside_another() {
            return None;
        }
        // Where a new run writes nothing comes back, and people know.
        if told_reused() {
            return None;
        }
        // Its `_metadata` waits for files that don't come back, and people know. Once they are there the next sweep brings it, if it doesn't die.
        let waits_for_others = key != need.snapshot.metadata || need.missing(scene.store).len() > 1;
        let told_since = if waits_for_others {
            first - DAY
        } else {
            scene.store.now() - sweeps_last
        };
        if self
            .ledger
            .was_told_about("metadata_hidden", &need.snapshot.metadata, told_since)
        {
            return None;
        }
        // A discard that Flink had begun doesn't come back, and people know.
        let flink_took = |f: &File| {
            let hiding = scene.store.hiding(&f.key);
            hiding.is_some_and(|h| self.may_be_told_as_flink(&h))
        };
        let heard_late = |f: &File| {
            let hiding = scene.store.hiding(&f.key);
            let hiding = hiding.or_else(|| scene.store.came_back_after(&f.key));
            let heard = hiding.map(|h| self.ledger.heard_at(h.event));
            heard.is_some_and(|at| at.is_none_or(|at| scene.store.now() - at < self.sweeps_last()))
        };
        if self
            .ledger
            .was_told_about("discard_cut_short", &need.snapshot.metadata, first - DAY)
            && metadata_as == Some(ToldAs::Foreign)
            && own().any(flink_took)
        {
            return None;
        }
        let is_pointer = |f: &&File| f.key == key && f.place == Place::Pointer;
        if need.snapshot.files.iter().any(|f| is_pointer(&f)) {
            // Flink deletes one at each checkpoint.
            return match as_told(hiding) {
                ToldAs::Flink | ToldAs::Nobody => None,
                _ if restored_today => None,
                told => Some(format!(
                    "told as {told:?}, and the answer for the pointer was {said:?}"
                )),
            };
        }
        // In the first minutes after midnight a checkpoint was under way: the next sweep asks again.
        let left_for_the_sweep = || {
            self.ledger.last_why(key) == Some("same run went on")
                && scene.store.now() - hiding.at < DAY + 2 * HOUR
        };
        match (told, said) {
            (ToldAs::Rule, _) if left_for_the_sweep() => None,
            (ToldAs::Rule, _) if restored_today => None,
            // A rule that takes the same file again within a day waits for the next, and `_metadata` with it.
            (ToldAs::Rule, _)
                if self.ledger.waits_for_files(key, hiding.at) && another_was_restored_today() =>
            {
                None
            }
            (ToldAs::Rule, Some("dormant_expired" | "held")) if forgotten => None,
            // Told of the snapshot, though not of this file.
            (ToldAs::Rule, _)
                if forgotten
                    && self.ledger.was_told_about(
                        "dormant_expired",
                        &need.snapshot.metadata,
                        hiding.at - DAY,
                    ) =>
            {
                None
            }
            (ToldAs::Rule, _) => Some(format!("a rule took it, and the answer was {said:?}")),
            (ToldAs::Foreign, _)
                if whole && told_whole() && !self.must_run(need, metadata.as_ref().unwrap_or(hiding)) =>
            {
                None
            }
            (ToldAs::Foreign, Some(_)) if whole && forgotten => None,
            (ToldAs::Foreign, _) if whole => Some(format!(
                "a person deleted it as a whole, and the answer was {said:?}"
            )),
            (ToldAs::Foreign, _) => Some(format!("a person deleted a part, and the answer was {said:?}")),
            // Of what somebody wrote over nobody can read what it names.
            (ToldAs::Flink | ToldAs::Nobody, None) if scene.store.was_spoilt(&need.snapshot.metadata) => None,
            // Nobody can tell a job's end from a person's hand.
            (ToldAs::Flink | ToldAs::Nobody, _) if metadata_as.is_some_and(by_flink_or_nobody) => None,
            // Shared files that Flink deletes by mistake come back; told alone are those that nobody used for so long.
            (ToldAs::Flink | ToldAs::Nobody, Some("flink_deleted_needed" | "deleted_needed"))
                if !forgotten =>
            {
                Some(format!("told as {told:?}, it was only told as {said:?}"))
            }
            // When people were told no message had said who took a private file, and one that Flink took another. If one says so since, the next sweep knows.
            (ToldAs::Flink | ToldAs::Nobody, Some("discard_cut_short"))
                if own().any(heard_late) && need.snapshot.files.iter().any(flink_took) =>
            {
                None
            }
            // A discard takes private files, and that it was Flink's hand messages must have said.
            (ToldAs::Flink | ToldAs::Nobody, Some("discard_cut_short")) if !own().any(flink_took) => {
                Some(format!("told as {told:?}, it was taken for a discard"))
            }
            (ToldAs::Flink | ToldAs::Nobody, Some(_)) => None,
            (ToldAs::Flink | ToldAs::Nobody, None) if discard_of_what_nobody_used() => None,
            (ToldAs::Flink | ToldAs::Nobody, None) if self.was_claimed(need) => None,
            (ToldAs::Flink | ToldAs::Nobody, None) => silent(),
        }
    }

    /// Whether nobody can see that it is the newest.
    pub(super) fn passes_for_a_spare(&self, scene: &Scene<'_>, need: &Need<'_>) -> bool {
        // A job that was restored and has completed nothing leaves no trace; where a newer checkpoint of that directory was completed, it is a spare.
        let superseded = || {
            self.ledger.all().any(|c| {
                c.job_directory() == need.snapshot.job_directory() && c.completed > need.snapshot.completed
            })
        };
        if need.since > need.snapshot.completed && superseded() {
            return true;
        }
        // A store that failed and whose discard a dying JobManager cut short stands whole: nobody sees that it failed, and it is the newest.
        let stands_whole = |c: &Checkpoint| {
            let mut keys = c.files.iter().map(|f| &f.key).chain([&c.metadata]);
            keys.all(|key| scene.store.is_visible(key))
        };
        // Another job's in the same directory is none: that job has it among its own.
        let failed = |c: &Checkpoint| {
            let mut stored = scene.jobs.iter().flat_map(Job::checkpoints);
            !stored.any(|s| s.metadata == c.metadata && s.completed == c.completed)
        };
        // Nor whether one counts whose hidden `_metadata` lies in an archive; people are told of one of the job's that can't be read.
        let out_of_reach = |c: &Checkpoint| {
            scene.store.is_out_of_reach(&c.metadata)
                && !scene.store.is_visible(&c.metadata)
                && self
                    .ledger
                    .was_told_of_job("cannot_judge", c.job_directory(), c.completed)
        };
        // Nor, where it lies in an archive itself, whether it is the same job's as a newer one in a directory of several.
        let nobody_knows_whose = scene.store.is_out_of_reach(&need.snapshot.metadata);
        self.ledger.all().any(|c| {
            let beside = c.job_directory() == need.snapshot.job_directory();
            let is_newer = beside && c.completed > need.snapshot.completed;
            is_newer && (nobody_knows_whose || (failed(c) && (stands_whole(c) || out_of_reach(c))))
        })
    }

    /// What a sweep left to the next one is asked for again within this, if that doesn't die.
    pub(super) fn sweeps_last(&self) -> Millis {
        if self.world.faults.crashing > 0 {
            5 * DAY
        } else {
            50 * HOUR
        }
    }

    /// Whether the budget can have been spent since then, by what was copied on one day: the longest file that any snapshot ever had doesn't fit any more. What
    /// fails on the way is asked for all the same, and who observes copies nothing.
    pub(super) fn may_be_spent(&self, since: Millis) -> bool {
        let copies = self.acting && self.world.acting;
        let most = self.ledger.most_copied_since(since);
        !copies
            || self.world.faults != Faults::NONE
            || most.objects >= self.world.objects_per_day
            || self
                .world
                .bytes_per_day
                .is_some_and(|bytes| most.bytes + self.ledger.longest() > bytes)
    }

    /// Whether a whole deletion by a person must be undone: the job runs and its newest checkpoint is young. Once: who deletes the same directory
    /// again means it.
    fn must_run(&self, need: &Need<'_>, hiding: &Hiding) -> bool {
        let once = !self.ledger.was_put_back(need.snapshot.job_directory(), hiding.at);
        let elsewhere = self.ledger.all().any(|c| {
            c.job_directory() != need.snapshot.job_directory()
                && c.completed > need.snapshot.completed
                && c.id > need.snapshot.id
        });
        // That a job runs which completed nothing since it was restored, nobody sees.
        need.kind == Kind::Running
            && need.snapshot.metadata.contains("/chk-")
            && hiding.at - need.snapshot.completed < SURELY_RUNNING
            && once
            && !elsewhere
    }

    /// Whether a checkpoint of another job was made from it.
    fn was_claimed(&self, need: &Need<'_>) -> bool {
        self.ledger.all().any(|c| {
            c.completed > need.snapshot.completed
                && c.job_directory() != need.snapshot.job_directory()
                && c.is_made_from(need.snapshot)
        })
    }
}
