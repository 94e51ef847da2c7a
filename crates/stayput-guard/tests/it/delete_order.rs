//! Flink's own clean-up, in the orders in which real releases do it, cut off at every deletion: never a restore.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use s3_documents::bucket::Versioning;
use s3_documents::notification::parse_body;
use s3_model::{Content, Model, ModelBucket, Object};
use stayput_core::cause::Principals;
use stayput_core::metadata_limit::MetadataLimit;
use stayput_core::report::finding::FindingCode;
use stayput_core::root::{Root, RootKind, Roots};
use stayput_core::timestamp::Timestamp;
use stayput_core::verdict::{Outcome, Policy};
use stayput_guard::batch::Message;
use stayput_guard::guard::Guard;
use stayput_guard::mandate::{Mandate, SIDECARS_FROM};

/// At least so many recordings, of so many deletions of files, must be there.
const RECORDINGS: usize = 26;
const DELETIONS: usize = 900;

const FLINK: &str = "AROAFLINK";
const BUCKET: &str = "state";

#[derive(Debug, PartialEq, Eq)]
enum Step {
    Completed(String),
    Deleted(String),
}

struct Recording {
    name: String,
    steps: Vec<Step>,
}

fn recordings() -> Vec<Recording> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/delete-order");
    let mut found: Vec<Recording> = std::fs::read_dir(folder)
        .expect("the recordings are part of the repository")
        .map(|entry| entry.expect("a folder can be listed").path())
        .filter(|path| path.extension().is_some_and(|e| e == "txt"))
        .map(|path| Recording {
            name: path.file_stem().expect("a name").to_string_lossy().into_owned(),
            steps: steps(&std::fs::read_to_string(&path).expect("a recording is text")),
        })
        .collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

fn steps(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        let Some((what, key)) = line.split_once('\t') else {
            continue;
        };
        let key = format!("cp/{key}");
        let metadata = key.ends_with("/_metadata");
        match what {
            "MOVED_TO" | "CLOSE_WRITE,CLOSE" if metadata => steps.push(Step::Completed(key)),
            "DELETE" if !key.contains(".inprogress.") => steps.push(Step::Deleted(key)),
            _ => {}
        }
    }
    // Up to 1.14 `_metadata` is written in place, later it is moved there: either way it is complete once.
    steps.dedup();
    steps
}

/// What the checkpoint whose completion is step `at` names: what was deleted between the completions of its two successors.
fn references(steps: &[Step], at: usize) -> BTreeSet<String> {
    let mut after = steps
        .iter()
        .enumerate()
        .skip(at + 1)
        .filter(|(_, s)| matches!(s, Step::Completed(_)))
        .map(|(n, _)| n);
    let (Some(from), to) = (after.next(), after.next()) else {
        return BTreeSet::new();
    };
    steps[from..to.unwrap_or(steps.len())]
        .iter()
        .filter_map(|s| match s {
            Step::Deleted(key) if !key.ends_with("/_metadata") => Some(key.clone()),
            _ => None,
        })
        .collect()
}

/// A `_metadata` of format 3 that names these keys, as heap or as incremental state.
fn metadata(id: u64, keys: &BTreeSet<String>, incremental: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let int = |bytes: &mut Vec<u8>, n: usize| bytes.extend(u32::try_from(n).expect("small").to_be_bytes());
    let text = |bytes: &mut Vec<u8>, t: &str| {
        bytes.extend(u16::try_from(t.len()).expect("short").to_be_bytes());
        bytes.extend(t.as_bytes());
    };
    let file = |bytes: &mut Vec<u8>, key: &str| {
        bytes.push(2);
        bytes.extend(10u64.to_be_bytes());
        text(bytes, &format!("s3://{BUCKET}/{key}"));
    };
    bytes.extend([0x49, 0x60, 0x67, 0x2d]);
    int(&mut bytes, 3);
    bytes.extend(id.to_be_bytes());
    int(&mut bytes, 0);
    int(&mut bytes, 1);
    bytes.extend([7; 16]);
    int(&mut bytes, keys.len().max(1));
    int(&mut bytes, 128);
    bytes.push(0);
    let end = |bytes: &mut Vec<u8>| {
        bytes.push(0);
        bytes.extend([0; 8]);
    };
    if incremental {
        int(&mut bytes, 1);
        bytes.extend([0; 12]);
        bytes.push(5);
        bytes.extend(id.to_be_bytes());
        text(&mut bytes, "11111111-2222-3333-4444-555555555555");
        int(&mut bytes, 0);
        int(&mut bytes, 128);
        bytes.push(0);
        int(&mut bytes, keys.len());
        for key in keys {
            text(&mut bytes, "000001.sst");
            file(&mut bytes, key);
        }
        int(&mut bytes, 0);
        end(&mut bytes);
    } else {
        int(&mut bytes, keys.len());
        for (n, key) in keys.iter().enumerate() {
            int(&mut bytes, n);
            bytes.extend([0; 8]);
            bytes.push(3);
            int(&mut bytes, 0);
            int(&mut bytes, 0);
            file(&mut bytes, key);
            end(&mut bytes);
        }
    }
    bytes
}

fn checkpoint_id(metadata_key: &str) -> u64 {
    let directory = metadata_key.trim_end_matches("/_metadata");
    directory
        .rsplit("chk-")
        .next()
        .and_then(|n| n.parse().ok())
        .expect("chk-N/_metadata")
}

fn mandate(flink: bool) -> Mandate {
    Mandate {
        control: None,
        roots: Roots::new(vec![
            Root::new(&format!("s3://{BUCKET}/cp/"), RootKind::Checkpoints, None).expect("a root"),
        ]),
        principals: Principals {
            flink: if flink { vec![FLINK.to_owned()] } else { Vec::new() },
            ours: Vec::new(),
        },
        policy: Policy {
            settle: Duration::from_secs(300),
            dormant_after: Duration::from_secs(90 * 86_400),
        },
        catalogue_max_age: Duration::from_secs(300),
        metadata_limit: MetadataLimit::of_settings(1 << 20),
        sidecars_from: SIDECARS_FROM,
        protect_since: None,
        objects_per_day: 1_000,
        bytes_per_day: 1 << 30,
    }
}

fn message(n: usize, key: &str, marker: &str, at: Timestamp) -> Message {
    let body = format!(
        r#"{{"Records":[{{"eventVersion":"2.1","eventSource":"aws:s3","eventTime":"{at}","eventName":"ObjectRemoved:DeleteMarkerCreated","userIdentity":{{"principalId":"AWS:{FLINK}:job"}},"s3":{{"bucket":{{"name":"{BUCKET}"}},"object":{{"key":"{key}","versionId":"{marker}"}}}}}}]}}"#
    );
    Message {
        id: n.to_string(),
        records: parse_body(body.as_bytes()).expect("a notification"),
    }
}

/// What happened after each deletion, and what an hour later, if everything stopped there.
struct Seen {
    restores: Vec<String>,
    findings: BTreeSet<(FindingCode, String)>,
    deletions: usize,
}

async fn play(recording: &Recording, flink: bool) -> Seen {
    let incremental = !recording.name.contains("heap");
    let model = Model::new(Timestamp::parse("2026-11-28T10:00:00Z").expect("a time"));
    let bucket = model.create_bucket(BUCKET, Versioning::Enabled);
    let control = model.create_bucket("ops", Versioning::Never);
    let guard_at = |model: &Model, control: &ModelBucket, name: &str| {
        let journal = model.journal(control, &format!("{name}/"));
        Guard::acting(
            model.clone(),
            Some(journal),
            model.clone(),
            model.clone(),
            mandate(flink),
        )
    };
    let mut warm = guard_at(&model, &control, "warm");
    let mut seen = Seen {
        restores: Vec::new(),
        findings: BTreeSet::new(),
        deletions: 0,
    };
    let mut all: Vec<Message> = Vec::new();
    for (n, step) in recording.steps.iter().enumerate() {
        match step {
            Step::Completed(key) => {
                model.advance(Duration::from_secs(10));
                let names = references(&recording.steps, n);
                for name in &names {
                    if bucket.history(name).is_empty() {
                        bucket.put(name, Object::new(Content::Zeroes(10)));
                    }
                }
                bucket.put(
                    key,
                    Object::new(metadata(checkpoint_id(key), &names, incremental).as_slice()),
                );
            }
            Step::Deleted(key) => {
                model.advance(Duration::from_millis(20));
                if !bucket.is_visible(key) {
                    continue;
                }
                seen.deletions += 1;
                let marker = bucket.delete(key).expect("a versioned bucket");
                let told = message(n, key, marker.as_str(), model.now());
                all.push(told.clone());
                look(&mut warm, &[told], &format!("{key} at once"), &mut seen).await;
                // Everything stops here, and somebody looks an hour later, knowing only what the journal of this moment says.
                let now = model.now();
                model.advance(Duration::from_secs(3_700));
                let mut later = guard_at(&model.another_client(), &control, &format!("frozen-{n}"));
                look(&mut later, &all, &format!("an hour after {key}"), &mut seen).await;
                model.set_now(now);
            }
        }
    }
    seen
}

async fn look<H: stayput_guard::guard::Hand + Sync>(
    guard: &mut Guard<Model, s3_model::ModelJournal, Model, H>,
    messages: &[Message],
    when: &str,
    seen: &mut Seen,
) {
    let report = guard.handle(messages).await;
    for acted in report.verdicts {
        match acted.verdict.outcome {
            Outcome::Restore(_) | Outcome::Lost(_) => {
                seen.restores.push(format!("{} ({when})", acted.verdict.location));
            }
            Outcome::Report(code) => {
                let about = acted.verdict.decided_by.unwrap_or(acted.verdict.location);
                seen.findings.insert((code, about.to_string()));
            }
            Outcome::Leave(_) | Outcome::Later { .. } => {}
        }
    }
}

#[tokio::test]
async fn what_flink_deletes_is_never_restored_wherever_its_clean_up_stops() {
    let recordings = recordings();
    assert!(
        recordings.len() >= RECORDINGS,
        "only {} recordings",
        recordings.len()
    );
    let mut deletions = 0;
    for recording in &recordings {
        let seen = play(recording, true).await;
        assert_eq!(seen.restores, Vec::<String>::new(), "{}", recording.name);
        deletions += seen.deletions;
        // Heap state carries no backend id and the claiming job names none of the old files, so that nothing tells that
        // the first job's last checkpoint was claimed: a discard cut short there is told to people, and nothing is done.
        let silent = !recording.name.contains("heap");
        if silent {
            assert_eq!(seen.findings, BTreeSet::new(), "{}", recording.name);
        }
        for (code, about) in seen.findings {
            assert_eq!(code, FindingCode::DiscardCutShort, "{}: {about}", recording.name);
        }
    }
    println!(
        "{} recordings, {deletions} deletions, each looked at at once and an hour later",
        recordings.len()
    );
    assert!(deletions >= DELETIONS, "only {deletions} deletions");
}

#[tokio::test]
async fn nobody_known_deleted_it_and_incremental_state_still_tells_that_it_was_claimed() {
    for recording in recordings().iter().filter(|r| !r.name.contains("heap")) {
        let seen = play(recording, false).await;
        assert_eq!(seen.restores, Vec::<String>::new(), "{}", recording.name);
    }
}
