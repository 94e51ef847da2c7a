//! What the newest checkpoints need when a recording ends is deleted by a stranger: it comes back, and nothing else is written. What is
//! needed is told by Flink's own reading of each `_metadata`, not by ours.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use stayput_core::timestamp::Timestamp;
use stayput_guard::batch::Message;

use super::play::{Said, Stage, Telling, hear};
use super::recording::{Happening, Recording, is_large, recordings};
use crate::lab::{Dice, MINUTE, SETTLE, Who};

/// So many random subsets per snapshot.
const SUBSETS: u64 = 4;
/// At least so many deletions by strangers must be played, over the recordings of the repository and over the large corpus.
const AT_LEAST: (usize, usize) = (200, 5000);

/// A snapshot that stands at the end and that somebody needs: a job's newest checkpoint, or a savepoint.
struct Needed {
    metadata: String,
    checkpoint: bool,
    id: u64,
    written: Timestamp,
    operators: BTreeSet<String>,
    /// Everything that it names, as keys; without directories.
    names: BTreeSet<String>,
}

impl Needed {
    fn directory(&self) -> &str {
        self.metadata.trim_end_matches("_metadata")
    }

    /// The directory above `chk-N/`.
    fn job(&self) -> &str {
        let above = self.directory().trim_end_matches('/').rsplit_once('/');
        above.map_or("", |(job, _)| job)
    }

    /// It and what it names.
    fn all(&self) -> BTreeSet<String> {
        self.names
            .iter()
            .cloned()
            .chain([self.metadata.clone()])
            .collect()
    }

    /// Whether with these `_metadata` and all of its own files are gone; if it has none, all of its job's directory that nobody else names; if it has
    /// none there, all that nobody else names. What Flink deleted before counts: a
    /// recording takes less than an hour.
    fn is_whole(&self, deleted: &BTreeSet<String>, others: &[Standing], stage: &Stage<'_>) -> bool {
        let gone = |k: &String| deleted.contains(k) || !stage.bucket.is_visible(k);
        let own: Vec<&String> = self
            .names
            .iter()
            .filter(|k| k.starts_with(self.directory()))
            .collect();
        let named = |k: &&String| {
            others
                .iter()
                .any(|o| o.metadata != self.metadata && o.names.contains(*k))
        };
        deleted.contains(&self.metadata)
            && if own.is_empty() {
                let its: Vec<&String> = self.names.iter().filter(|k| !named(k)).collect();
                let below_job = format!("{}/", self.job());
                let in_job: Vec<&String> = its.iter().copied().filter(|k| k.contains(&below_job)).collect();
                let counted = if in_job.is_empty() { its } else { in_job };
                counted.into_iter().all(gone)
            } else {
                own.into_iter().all(gone)
            }
    }

    /// Whether its job went on elsewhere: a newer checkpoint of another directory has its operators and a higher id.
    fn has_moved(&self, standing: &[Standing]) -> bool {
        standing.iter().any(|o| {
            o.job() != self.job()
                && o.written > self.written
                && o.operators == self.operators
                && o.id > self.id
        })
    }

    /// Whether a run that began again at id 1 in the same directory hasn't reached this id yet: a checkpoint of a lower id was complete later.
    fn awaits_another_run(&self, standing: &[Standing]) -> bool {
        standing.iter().any(|o| {
            o.checkpoint
                && o.job() == self.job()
                && o.written > self.written
                && o.operators == self.operators
                && o.id < self.id
        })
    }
}

type Standing = Needed;

fn read(metadata: &str, oracle: &Value, bucket: &str, written: Timestamp) -> Needed {
    let start = format!("s3://{bucket}/");
    let files = oracle["files"].as_array().expect("files");
    let uri = |f: &Value| f["uri"].as_str().expect("a uri").to_owned();
    let file = files.iter().filter(|f| f["kind"] != "directory").map(uri);
    let names = file.map(|uri| uri.strip_prefix(&start).expect("the same bucket").to_owned());
    let operators = oracle["operators"].as_array().expect("operators").iter();
    let directory = metadata
        .trim_end_matches("/_metadata")
        .rsplit('/')
        .next()
        .unwrap_or_default();
    Needed {
        metadata: metadata.to_owned(),
        checkpoint: directory.starts_with("chk-"),
        id: oracle["checkpoint_id"].as_u64().expect("an id"),
        written,
        operators: operators
            .map(|o| o["operator_id"].as_str().expect("an id").to_owned())
            .collect(),
        names: names.collect(),
    }
}

/// The snapshots that stand at the end and that Flink's classes could read.
fn standing(recording: &Recording, stage: &Stage<'_>) -> Vec<Standing> {
    let oracles = recording.oracles.iter();
    oracles
        .filter_map(|(key, oracle)| {
            let version = stage.bucket.current(key)?;
            Some(read(key, oracle, &recording.bucket, version.last_modified))
        })
        .collect()
}

/// What stands at the end, by who needs it.
struct Sorted<'s> {
    /// Of each job directory the newest checkpoint that was ever complete, if it stands, and the newest by time, if that is another one; and
    /// all savepoints.
    needed: Vec<&'s Standing>,
    /// The other checkpoints. Where Flink hid the newest, the job went on elsewhere, and these are all that is left.
    spares: Vec<&'s Standing>,
    /// Job directories whose heads nobody can tell from what was recorded: the newest checkpoint was hidden and its bytes weren't kept. What
    /// strangers delete there comes back.
    unread: BTreeSet<String>,
}

fn sort<'s>(recording: &Recording, stage: &Stage<'_>, standing: &'s [Standing]) -> Sorted<'s> {
    let mut complete: BTreeMap<&str, Vec<(u64, Timestamp, &Happening)>> = BTreeMap::new();
    for happening in recording.happenings.iter().filter(|h| h.completes()) {
        let directory = happening.key.strip_suffix("/_metadata").unwrap_or_default();
        if let Some((job, id)) = directory.rsplit_once("chk-") {
            let id = id.parse().expect("a checkpoint id");
            let written = happening.version.last_modified;
            complete.entry(job).or_default().push((id, written, happening));
        }
    }
    let is_visible = |h: &Happening| stage.bucket.is_visible(&h.key);
    let (mut needed, mut unread, mut shared) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let jobs = complete.len();
    for (job, mut checkpoints) in complete {
        checkpoints.sort_by_key(|(id, written, _)| (*id, *written));
        // Hidden within a minute, nobody to claim it, and an older one stands: it couldn't be stored, or its id was taken.
        let failed = |h: &Happening| {
            let hidden = recording
                .happenings
                .iter()
                .rev()
                .find(|o| o.key == h.key && o.hides());
            jobs == 1 && hidden.is_some_and(|o| o.at.since(h.at) < MINUTE)
        };
        let first_standing = checkpoints.iter().position(|(_, _, h)| is_visible(h));
        while checkpoints
            .last()
            .is_some_and(|(_, _, h)| !is_visible(h) && failed(h))
            && first_standing.is_some_and(|n| n + 1 < checkpoints.len())
        {
            checkpoints.pop();
        }
        let Some((_, newest_written, newest)) = checkpoints.last().copied() else {
            continue;
        };
        let recorded = |h: &Happening| h.version.object.as_ref().is_some_and(|o| o.refusal.is_none());
        if !is_visible(newest) && !recorded(newest) {
            unread.insert(job.to_owned());
            continue;
        }
        let of_job = standing
            .iter()
            .filter(|s| s.checkpoint && s.metadata.starts_with(job));
        if of_job.map(|s| &s.operators).collect::<BTreeSet<_>>().len() > 1 {
            // Two jobs at once in one directory: of those that were hidden nobody read which job's they were.
            shared.insert(job.to_owned());
            continue;
        }
        needed.extend(is_visible(newest).then(|| newest.key.clone()));
        let standing = checkpoints.iter().filter(|(_, _, h)| is_visible(h));
        let by_time = standing.max_by_key(|(id, written, _)| (*written, *id));
        let by_time = by_time.filter(|(_, written, _)| *written > newest_written);
        needed.extend(by_time.map(|(_, _, h)| h.key.clone()));
    }
    for metadata in &needed {
        let has_oracle = standing.iter().any(|s| s.metadata == *metadata);
        assert!(has_oracle, "{}: no oracle of {metadata}", recording.name);
    }
    let known = |s: &&Standing| {
        !unread
            .iter()
            .chain(&shared)
            .any(|job| s.metadata.starts_with(job.as_str()))
    };
    let (needed, spares) = standing
        .iter()
        .filter(known)
        .partition(|s| !s.checkpoint || needed.contains(&s.metadata));
    Sorted {
        needed,
        spares,
        unread,
    }
}

/// What must come back of what was deleted of one snapshot: of a spare nothing but what others need.
fn must_come_back(
    of: &Needed,
    deleted: &BTreeSet<String>,
    Sorted { needed, unread, .. }: &Sorted<'_>,
    standing: &[Standing],
    stage: &Stage<'_>,
) -> BTreeSet<String> {
    let is_needed = needed.iter().any(|o| o.metadata == of.metadata);
    let others = |key: &String| {
        let named = needed
            .iter()
            .any(|o| o.metadata != of.metadata && o.names.contains(key));
        named || unread.iter().any(|job| key.starts_with(job.as_str()))
    };
    let named_elsewhere: BTreeSet<String> = deleted.iter().filter(|k| others(k)).cloned().collect();
    let intent = of.is_whole(deleted, standing, stage) && (!of.checkpoint || of.has_moved(standing));
    if intent || !is_needed {
        return named_elsewhere;
    }
    let metadata_goes = deleted.contains(&of.metadata);
    let lost = of
        .names
        .iter()
        .any(|k| stage.bucket.history(k).data_versions().next().is_none());
    // It would only look complete; or the run that is on its way to this id would fail where `_metadata` stands again.
    if metadata_goes && (lost || of.awaits_another_run(standing)) {
        return named_elsewhere;
    }
    let mut back = deleted.clone();
    let stays_away = of
        .names
        .iter()
        .any(|k| !stage.bucket.is_visible(k) && !deleted.contains(k));
    if metadata_goes && stays_away {
        back.remove(&of.metadata);
    }
    back
}

/// A stranger deletes, the guard looks until every look is due; the keys that were copied, each once.
async fn copied(stage: &mut Stage<'_>, deleted: &BTreeSet<String>) -> (BTreeSet<String>, Said) {
    let end = stage.recording.happenings.len();
    stage.reset();
    stage.set(end);
    stage.model.take_calls();
    let told: Vec<Message> = stage.messages(0, end);
    let mut guard = stage.guard();
    guard.handle(&told).await;
    assert_eq!(stage.copies(), BTreeSet::new(), "before anything happened");
    stage.model.advance(MINUTE);
    let messages: Vec<Message> = deleted.iter().map(|key| stage.delete(Who::Alice, key)).collect();
    let mut said = Said::new();
    for wait in [SETTLE + MINUTE, 2 * SETTLE, 12 * SETTLE] {
        stage.model.advance(wait);
        said.extend(hear(&mut guard, &messages, usize::MAX).await);
    }
    (stage.copies(), said)
}

/// What is deleted together: each object alone, all but each, random subsets, all at once.
fn deletions(of: &Needed, stage: &Stage<'_>, seed: u64) -> Vec<BTreeSet<String>> {
    let all: Vec<String> = of
        .all()
        .into_iter()
        .filter(|k| stage.bucket.is_visible(k))
        .collect();
    let mut found: Vec<BTreeSet<String>> = Vec::new();
    for key in &all {
        found.push(BTreeSet::from([key.clone()]));
        found.push(all.iter().filter(|k| *k != key).cloned().collect());
    }
    for n in 0..SUBSETS {
        let mut dice = Dice::new(seed.wrapping_mul(SUBSETS) + n);
        found.push(all.iter().filter(|_| dice.below(2) == 0).cloned().collect());
    }
    found.push(all.into_iter().collect());
    found.retain(|d| !d.is_empty());
    found
}

#[tokio::test]
async fn what_the_newest_checkpoints_need_comes_back_and_nothing_else() {
    let (mut snapshots, mut played, mut objects, mut back) = (0, 0, 0, 0);
    let mut wrong: Vec<String> = Vec::new();
    for recording in &recordings() {
        let mut stage = Stage::new(recording, Telling::Role);
        stage.set(recording.happenings.len());
        let standing = standing(recording, &stage);
        let sorted = sort(recording, &stage, &standing);
        for of in sorted.needed.iter().chain(&sorted.spares) {
            snapshots += 1;
            for deleted in deletions(of, &stage, snapshots) {
                stage.reset();
                stage.set(recording.happenings.len());
                let expected = must_come_back(of, &deleted, &sorted, &standing, &stage);
                let (copied, said) = copied(&mut stage, &deleted).await;
                let words = |key: &String| format!("{key}: {:?}", said.get(key));
                let missing: Vec<String> = expected.difference(&copied).map(words).collect();
                let too_many: Vec<String> = copied.difference(&expected).map(words).collect();
                if !missing.is_empty() || !too_many.is_empty() {
                    let (name, about, n) = (&recording.name, &of.metadata, deleted.len());
                    wrong.push(format!(
                        "{name} {about}: of {n} deleted, missing {missing:#?}, too many {too_many:#?}"
                    ));
                }
                played += 1;
                objects += deleted.len();
                back += copied.len();
            }
        }
    }
    println!("{snapshots} snapshots, {played} deletions of {objects} objects, {back} came back");
    assert!(
        wrong.is_empty(),
        "{} are wrong: {}",
        wrong.len(),
        wrong.join("\n")
    );
    let at_least = if is_large() { AT_LEAST.1 } else { AT_LEAST.0 };
    assert!(played >= at_least, "only {played} deletions");
}
