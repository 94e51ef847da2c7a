//! What was written, heard and said so far.

use std::collections::{BTreeMap, BTreeSet};

use crate::actors::Checkpoint;
use crate::clock::{DAY, HOUR, Millis, midnight};
use crate::function::{Called, Did};

/// What copies cost.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Spent {
    pub(super) objects: u64,
    pub(super) bytes: u64,
}

/// A word about a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Word {
    pub(super) at: Millis,
    pub(super) did: Did,
    pub(super) why: String,
    pub(super) about: Option<String>,
}

/// What was written, heard and said.
#[derive(Default)]
pub struct Ledger {
    /// Every snapshot that was ever complete, by the key of its `_metadata`.
    written: BTreeMap<String, Vec<Checkpoint>>,
    /// When a `_metadata` came from another bucket, by its key and ETag.
    arrived: BTreeMap<(String, String), Millis>,
    /// When each event was first heard by a call that lived.
    heard: BTreeMap<u64, Millis>,
    /// Whose messages became dead letters.
    unheard: BTreeSet<u64>,
    /// When the last message about each event was done.
    answered: BTreeMap<u64, Millis>,
    words: BTreeMap<String, Vec<Word>>,
    told: Vec<(Millis, &'static str, String)>,
    sweeps: Vec<Millis>,
    copied: BTreeMap<Millis, Spent>,
    restored: BTreeMap<String, Vec<Millis>>,
    /// When what lay in an archive was last copied onto itself.
    repaired: BTreeMap<String, Millis>,
    /// Directories that their owner deleted, when, and how many keys that were.
    purposes: Vec<(String, Millis, usize)>,
    /// When restoring was last resumed.
    pub resumed_at: Millis,
    /// From when to when the bucket kept no versions; the last may still last.
    unversioned: Vec<(Millis, Option<Millis>)>,
    /// Copies.
    pub copies: u64,
    /// Copies that nobody needs.
    pub unneeded: Vec<String>,
    /// Copies of what a job would have deleted, had nobody hidden it before.
    pub ended_unseen: u64,
    /// Copies of what a dying JobManager began to discard.
    pub cut_short: u64,
    /// Copies of merged files, or files of a live database, that are in use no more, in directories that are.
    pub by_directory: u64,
    /// Copies of what a rule or a person took beside a `_metadata` that nobody could read, so that nobody knew who needs it.
    pub beside_unreadable: u64,
    /// Copies of what somebody hid at the midnight at which a rule would have hidden it.
    pub as_a_rule: u64,
    /// Copies of what a job deleted itself, while the settings named another's role.
    pub as_a_stranger: u64,
    /// Copies in a replica of what stands there or is the newest there, and in the origin is neither.
    pub as_replicated: u64,
    /// The keys of every `_metadata` that came back like that.
    pub discarded_and_back: BTreeSet<String>,
    /// Directories in which one of them is whole again.
    pub(super) jobs_brought_back: BTreeSet<String>,
    /// Proofs that a second reader checked.
    pub proofs: u64,
    /// Those of tails among them.
    pub tails: u64,
    /// What the dearest call took, in thousandths of what it might have.
    pub dearest: u64,
}

impl Ledger {
    /// A snapshot is complete.
    pub fn learn(&mut self, snapshot: &Checkpoint) {
        let of_key = self.written.entry(snapshot.metadata.clone()).or_default();
        of_key.push(snapshot.clone());
    }

    /// The `_metadata` of a snapshot came from another bucket.
    pub fn learn_as_it_arrives(&mut self, snapshot: &Checkpoint, now: Millis) {
        let which = (snapshot.metadata.clone(), snapshot.etag.clone());
        self.arrived.insert(which, now);
        self.learn(snapshot);
    }

    /// Since when the `_metadata` of a snapshot is in this bucket.
    pub(super) fn is_here_since(&self, snapshot: &Checkpoint) -> Millis {
        if self.arrived.is_empty() {
            return snapshot.completed;
        }
        let which = (snapshot.metadata.clone(), snapshot.etag.clone());
        self.arrived.get(&which).copied().unwrap_or(snapshot.completed)
    }

    /// Somebody suspends versioning, or enables it again.
    pub fn keeps_versions(&mut self, on: bool, now: Millis) {
        match (on, self.unversioned.last_mut()) {
            (true, Some((_, to @ None))) => {
                *to = Some(now);
                self.resumed_at = now;
            }
            (false, None | Some((_, Some(_)))) => self.unversioned.push((now, None)),
            _ => {}
        }
    }

    /// Since when the bucket keeps no versions; if it does keep them, a time that never comes.
    pub(super) fn keeps_no_versions_since(&self) -> Millis {
        match self.unversioned.last() {
            Some((from, None)) => *from,
            _ => Millis::MAX / 2,
        }
    }

    /// Whether the bucket kept no versions then. What was deleted there is gone, or looks like it.
    pub(super) fn kept_no_versions(&self, at: Millis) -> bool {
        // S3 dates to the second.
        let during =
            |(from, to): &(Millis, Option<Millis>)| at + 1000 >= *from && to.is_none_or(|to| at <= to);
        self.unversioned.iter().any(during)
    }

    /// An owner deletes a directory.
    pub fn deleted_on_purpose(&mut self, directory: &str, at: Millis, keys: usize) {
        self.purposes.push((directory.to_owned(), at, keys));
    }

    /// Whether a key that was hidden then went with a directory that its owner deleted. That takes him less than an hour: what anybody does there later, where
    /// the job was perhaps deployed again, isn't his purpose.
    pub(super) fn was_deleted_on_purpose(&self, key: &str, hidden: Millis) -> bool {
        self.keys_of_purpose(key, hidden).is_some()
    }

    /// How many keys the owner deleted then; `None`: it wasn't the owner.
    pub(super) fn keys_of_purpose(&self, key: &str, hidden: Millis) -> Option<usize> {
        let its = |directory: &str, at: Millis| key.contains(directory) && (at..at + HOUR).contains(&hidden);
        let mut purposes = self
            .purposes
            .iter()
            .filter(|(directory, at, _)| its(directory, *at));
        purposes.next().map(|(_, _, keys)| *keys)
    }

    pub(super) fn naming(&self, key: &str) -> Vec<&Checkpoint> {
        self.written.values().flatten().filter(|c| c.needs(key)).collect()
    }

    /// How many `_metadata` there ever were.
    pub(super) fn snapshots(&self) -> usize {
        self.written.len()
    }

    /// Every snapshot that was ever complete.
    pub fn all(&self) -> impl Iterator<Item = &Checkpoint> {
        self.written.values().flatten()
    }

    /// The length of the longest file or `_metadata` of them, in bytes.
    pub(super) fn longest(&self) -> u64 {
        self.all().map(Checkpoint::longest).max().unwrap_or_default()
    }

    pub(super) fn hear(&mut self, now: Millis, called: &Called, spent: Spent) {
        if !called.disturbed {
            for event in &called.events {
                self.heard.entry(*event).or_insert(now);
            }
            if called.sweep {
                self.sweeps.push(now);
            }
        }
        // Of a dead letter nobody hears again: the sweep must find what it told of.
        for event in &called.dropped {
            self.unheard.insert(*event);
        }
        for event in &called.done {
            self.answered.insert(*event, now);
        }
        for (key, _) in called.brought_back() {
            self.restored.entry(key.clone()).or_default().push(now);
        }
        for (key, _) in &called.repaired {
            self.repaired.insert(key.clone(), now);
        }
        // What a call copied before it died isn't in its books.
        if !called.disturbed {
            let of_day = self.copied.entry(midnight(now)).or_default();
            of_day.objects += spent.objects;
            of_day.bytes += spent.bytes;
        }
        for said in &called.said {
            let word = Word {
                at: now,
                did: said.did,
                why: said.why.clone(),
                about: said.about.clone(),
            };
            self.words.entry(said.key.clone()).or_default().push(word);
        }
        for told in &called.told {
            self.told.push((now, told.code, told.about.clone()));
        }
    }

    pub(super) fn heard_at(&self, event: u64) -> Option<Millis> {
        self.heard
            .get(&event)
            .copied()
            .filter(|_| !self.unheard.contains(&event))
    }

    /// Whether the message about an event became a dead letter.
    pub(super) fn is_dead_letter(&self, event: u64) -> bool {
        self.unheard.contains(&event)
    }

    /// When the last message about an event was done; `None`: somebody still looks.
    pub(super) fn answered_at(&self, event: u64) -> Option<Millis> {
        self.answered.get(&event).copied()
    }

    /// Whether a `_metadata` of this job directory was put back before.
    pub(super) fn was_put_back(&self, job: &str, before: Millis) -> bool {
        self.restored.iter().any(|(key, times)| {
            key.starts_with(job) && key.ends_with("/_metadata") && times.iter().any(|t| *t <= before)
        })
    }

    pub(super) fn sweeps_since(&self, at: Millis) -> usize {
        self.sweeps.iter().filter(|s| **s >= at).count()
    }

    /// When the last sweep was that lived to its end.
    pub(super) fn last_sweep(&self) -> Option<Millis> {
        self.sweeps.last().copied()
    }

    /// Whether there was a sweep between these times.
    pub(super) fn swept_between(&self, from: Millis, to: Millis) -> bool {
        self.sweeps.iter().any(|sweep| (from..to).contains(sweep))
    }

    /// How many sweeps there were since then, each at least so long after the one before.
    pub(super) fn sweeps_apart(&self, since: Millis, apart: Millis) -> usize {
        let mut from = since;
        let mut count = 0;
        for sweep in &self.sweeps {
            if *sweep >= from {
                count += 1;
                from = *sweep + apart;
            }
        }
        count
    }

    /// When what lay in an archive at a key was last copied onto itself.
    pub(super) fn repaired_at(&self, key: &str) -> Option<Millis> {
        self.repaired.get(key).copied()
    }

    /// The most that was copied on one day since then, that day as a whole: in objects, and in bytes.
    pub(super) fn most_copied_since(&self, at: Millis) -> Spent {
        let days = || self.copied.range(midnight(at)..).map(|(_, copied)| *copied);
        Spent {
            objects: days().map(|d| d.objects).max().unwrap_or(0),
            bytes: days().map(|d| d.bytes).max().unwrap_or(0),
        }
    }

    pub(super) fn copied_on_day(&self, at: Millis) -> Spent {
        self.copied.get(&midnight(at)).copied().unwrap_or_default()
    }

    /// Whether a key was put back after this moment.
    pub fn restored_after(&self, key: &str, at: Millis) -> bool {
        self.restored
            .get(key)
            .is_some_and(|times| times.iter().any(|t| *t > at))
    }

    /// When a key was put back, the last time before that.
    pub fn restored_before(&self, key: &str, at: Millis) -> Option<Millis> {
        let times = self.restored.get(key)?;
        times.iter().copied().filter(|t| *t <= at).max()
    }

    /// The reason that was given last for a key.
    pub(super) fn last_why(&self, key: &str) -> Option<&str> {
        let words = self.words.get(key)?;
        words.last().map(|w| w.why.as_str())
    }

    /// The last thing that was said of a key.
    pub fn last_word(&self, key: &str) -> String {
        match self.words.get(key).and_then(|w| w.last()) {
            Some(word) => format!("{:?} ({}) for {:?}", word.did, word.why, word.about),
            None => "none".to_owned(),
        }
    }

    /// The findings that were the answer for a key since it was hidden, and that people got: the code.
    pub(super) fn reported(&self, key: &str, since: Millis) -> Option<&str> {
        let words = self.words.get(key)?;
        let told = |word: &&Word| {
            let about = word.about.as_deref().unwrap_or(key);
            self.told
                .iter()
                .any(|(at, code, of)| *at >= since - DAY && *code == word.why && of == about)
        };
        words
            .iter()
            .rev()
            .filter(|w| w.at >= since && matches!(w.did, Did::Reported | Did::Lost))
            .find(told)
            .map(|w| w.why.as_str())
    }

    /// Whether people got this finding about a snapshot since then.
    pub(super) fn was_told_about(&self, code: &str, about: &str, since: Millis) -> bool {
        self.told
            .iter()
            .any(|(at, c, of)| *at >= since && *c == code && of == about)
    }

    /// Whether people got this finding about some snapshot of a job's directory since then.
    pub(super) fn was_told_of_job(&self, code: &str, directory: &str, since: Millis) -> bool {
        self.told
            .iter()
            .any(|(at, c, of)| *at >= since && *c == code && of.starts_with(directory))
    }

    /// Whether it was said of a key since then that it would be put back, or that it waits for what isn't put back since nothing is.
    pub(super) fn would_restore(&self, key: &str, since: Millis) -> bool {
        let words = self.words.get(key).map(Vec::as_slice).unwrap_or_default();
        let would = |why: &str| {
            matches!(
                why,
                "WouldCopy" | "must be thawed first" | "_metadata waits for its files"
            )
        };
        words.iter().any(|w| w.at >= since && would(&w.why))
    }

    /// Whether it was said of a `_metadata` since then that it waits for what it names.
    pub(super) fn waits_for_files(&self, key: &str, since: Millis) -> bool {
        let words = self.words.get(key).map(Vec::as_slice).unwrap_or_default();
        words
            .iter()
            .any(|w| w.at >= since && w.why == "_metadata waits for its files")
    }

    /// Whether people were told this code since then, about whatever.
    pub(super) fn was_told(&self, code: &str, since: Millis) -> bool {
        self.told.iter().any(|(at, c, _)| *at >= since && *c == code)
    }
}
