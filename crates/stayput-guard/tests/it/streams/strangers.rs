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
const AT_LEAST: (usize, usize) = (200, 1500);

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

    /// Whether with these `_metadata` and all of its own files are gone; if it has none, all that nobody else names. What Flink deleted before
    /// counts: a recording takes less than an hour.
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
                self.names.iter().filter(|k| !named(k)).all(gone)
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

/// The newest checkpoint of each job directory by id, the newest by time, and the savepoints.
fn needed<'s>(recording: &Recording, stage: &Stage<'_>, standing: &'s [Standing]) -> Vec<&'s Standing> {
    let mut newest: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut visible: BTreeMap<String, Vec<(u64, Timestamp, String)>> = BTreeMap::new();
    for key in stage.bucket.visible_keys() {
        let Some((job, id)) = key.strip_suffix("/_metadata").and_then(|d| d.rsplit_once("chk-")) else {
            continue;
        };
        let written = stage.bucket.current(&key).expect("it is visible").last_modified;
        let id = id.parse().expect("a checkpoint id");
        visible
            .entry(job.to_owned())
            .or_default()
            .push((id, written, key));
    }
    for (job, checkpoints) in visible {
        // Of a job whose newest checkpoint was hidden and not recorded nobody can tell the head.
        let newest_ever = recording
            .happenings
            .iter()
            .filter(|h| h.completes())
            .filter_map(|h| {
                let (of, id) = h.key.strip_suffix("/_metadata")?.rsplit_once("chk-")?;
                (of == job).then(|| (id.parse::<u64>().ok(), h))
            });
        let newest_ever = newest_ever.max_by_key(|(id, _)| *id).map(|(_, h)| h);
        let unread = |h: &Happening| h.version.object.as_ref().is_some_and(|o| o.refusal.is_some());
        if newest_ever.is_some_and(unread) {
            continue;
        }
        let by_id = checkpoints.iter().max_by_key(|(id, ..)| *id);
        let by_time = checkpoints.iter().max_by_key(|(id, written, _)| (*written, *id));
        let both = by_id.into_iter().chain(by_time).map(|(.., key)| key.clone());
        newest.insert(job, both.collect());
    }
    let wanted: BTreeSet<String> = newest.into_values().flatten().collect();
    for metadata in &wanted {
        assert!(
            standing.iter().any(|s| s.metadata == *metadata),
            "{}: no oracle of {metadata}",
            recording.name
        );
    }
    standing
        .iter()
        .filter(|s| !s.checkpoint || wanted.contains(&s.metadata))
        .collect()
}

/// What must come back of what was deleted of one snapshot.
fn must_come_back(
    of: &Needed,
    deleted: &BTreeSet<String>,
    needed: &[&Standing],
    standing: &[Standing],
    stage: &Stage<'_>,
) -> BTreeSet<String> {
    let others = |key: &String| {
        needed
            .iter()
            .any(|o| o.metadata != of.metadata && o.names.contains(key))
    };
    let named_elsewhere: BTreeSet<String> = deleted.iter().filter(|k| others(k)).cloned().collect();
    let intent = of.is_whole(deleted, standing, stage) && (!of.checkpoint || of.has_moved(standing));
    if intent {
        return named_elsewhere;
    }
    let metadata_goes = deleted.contains(&of.metadata);
    let lost = of
        .names
        .iter()
        .any(|k| stage.bucket.history(k).data_versions().next().is_none());
    if metadata_goes && lost {
        // It would only look complete.
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
    for recording in &recordings() {
        let mut stage = Stage::new(recording, Telling::Role);
        stage.set(recording.happenings.len());
        let standing = standing(recording, &stage);
        let needed = needed(recording, &stage, &standing);
        for of in &needed {
            snapshots += 1;
            for deleted in deletions(of, &stage, snapshots) {
                stage.reset();
                stage.set(recording.happenings.len());
                let expected = must_come_back(of, &deleted, &needed, &standing, &stage);
                let (copied, said) = copied(&mut stage, &deleted).await;
                let words = |key: &String| format!("{key}: {:?}", said.get(key));
                let missing: Vec<String> = expected.difference(&copied).map(words).collect();
                let too_many: Vec<String> = copied.difference(&expected).map(words).collect();
                assert!(
                    missing.is_empty() && too_many.is_empty(),
                    "{} {}: of {} deleted, missing {missing:#?}, too many {too_many:#?}",
                    recording.name,
                    of.metadata,
                    deleted.len()
                );
                played += 1;
                objects += deleted.len();
                back += copied.len();
            }
        }
    }
    println!("{snapshots} snapshots, {played} deletions of {objects} objects, {back} came back");
    let at_least = if is_large() { AT_LEAST.1 } else { AT_LEAST.0 };
    assert!(played >= at_least, "only {played} deletions");
}
