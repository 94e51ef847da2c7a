//! Real chains of CLAIM restores: what the new job deleted of the old one's files stays deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use s3_documents::bucket::Versioning;
use s3_documents::notification::parse_body;
use s3_model::{Content, Model, ModelBucket, Object};
use stayput_core::cause::Principals;
use stayput_core::location::{Location, ObjectLocation};
use stayput_core::metadata::take;
use stayput_core::metadata_limit::MetadataLimit;
use stayput_core::root::{Root, RootKind, Roots};
use stayput_core::timestamp::Timestamp;
use stayput_core::verdict::{Outcome, Policy};
use stayput_guard::batch::Message;
use stayput_guard::guard::Guard;
use stayput_guard::mandate::{Mandate, SIDECARS_FROM};

/// Corpus cases are written to `file:/checkpoints/...`; this bucket's name makes an S3 path of the same length, so that bytes can be replaced in place.
const FILES: &[u8] = b"file:/checkpoints/";
const AS_S3: &[u8] = b"s3://checkpoints0/";

struct Case {
    name: String,
    folder: PathBuf,
    toml: toml::Table,
}

impl Case {
    fn text(&self, field: &str) -> &str {
        self.toml
            .get(field)
            .and_then(toml::Value::as_str)
            .unwrap_or_default()
    }

    fn list(&self, field: &str) -> Vec<&str> {
        let list = self.toml.get(field).and_then(toml::Value::as_array);
        list.into_iter()
            .flatten()
            .filter_map(toml::Value::as_str)
            .collect()
    }

    /// Bucket and key prefix of the case's root.
    fn root(&self) -> ObjectLocation {
        let root = self
            .text("root")
            .replace("file:///checkpoints/", "s3://checkpoints0/");
        match Location::parse_flink_path(&format!("{root}/x")) {
            Ok(Location::S3(at)) => ObjectLocation::new(at.bucket(), at.directory()),
            other => panic!("{}: root {root}: {other:?}", self.name),
        }
    }

    fn metadata(&self) -> Vec<u8> {
        let mut bytes = std::fs::read(self.folder.join("_metadata")).expect("a case has _metadata");
        while let Some(at) = bytes.windows(FILES.len()).position(|w| w == FILES) {
            bytes[at..at + FILES.len()].copy_from_slice(AS_S3);
        }
        bytes
    }

    fn is_of_a_claimed_chain(&self) -> bool {
        let name = &self.name;
        let chains = [
            "-rescale-j",
            "merge-rocks-j",
            "forst-chain-j",
            "changelog-rocks-j",
            "claim-chain-j",
            "rocks-inc-chain-j",
        ];
        chains.iter().any(|c| name.contains(c)) && self.text("script").contains("mode=CLAIM")
    }
}

fn corpus() -> (PathBuf, bool) {
    match std::env::var_os("STAYPUT_CORPUS") {
        Some(folder) => (PathBuf::from(folder), true),
        None => (
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus"),
            false,
        ),
    }
}

fn cases(folder: &Path) -> Vec<Case> {
    let mut cases: Vec<Case> = std::fs::read_dir(folder)
        .expect("the corpus is there")
        .map(|e| e.expect("a folder can be listed").path())
        .filter_map(|folder| {
            let toml = std::fs::read_to_string(folder.join("case.toml"))
                .ok()?
                .parse()
                .ok()?;
            let name = folder.file_name()?.to_string_lossy().into_owned();
            folder
                .join("_metadata")
                .is_file()
                .then_some(Case { name, folder, toml })
        })
        .filter(Case::is_of_a_claimed_chain)
        .collect();
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    cases
}

/// Of each job that was claimed, the id of the checkpoint that was: how many the script had taken until then.
fn claimed_ids(script: &str) -> Vec<(usize, u64)> {
    let (mut claimed, mut taken, mut job) = (Vec::new(), 0, 0);
    for step in script.split(';') {
        let words: Vec<&str> = step.split_whitespace().collect();
        match words[..] {
            ["ckpt", n] => taken += n.parse::<u64>().expect("a number"),
            ["sp", ..] => taken += 1,
            ["start", ..] => {
                job += 1;
                if step.contains("mode=CLAIM") && step.contains("from=last") {
                    claimed.push((job - 2, taken));
                }
            }
            _ => {}
        }
    }
    claimed
}

fn put_tree(bucket: &ModelBucket, cases: &[&Case], start: Timestamp) -> BTreeSet<String> {
    let root = cases[0].root();
    let listing = std::fs::read_to_string(cases[0].folder.join("listing.tsv")).expect("a case has a listing");
    let listed: BTreeMap<String, u64> = listing
        .lines()
        .filter_map(|l| l.split_once('\t'))
        .filter(|(key, _)| !key.ends_with('/') && !key.ends_with("/_metadata"))
        .map(|(key, size)| (format!("{}{key}", root.key()), size.parse().unwrap_or(0)))
        .collect();
    for (key, size) in &listed {
        bucket.put_at(key, Object::new(Content::Zeroes(*size)), start);
    }
    let mut missing = BTreeSet::new();
    for case in cases {
        for key in case.list("missing") {
            let key = format!("{}{key}", root.key());
            if !bucket.is_visible(&key) {
                bucket.put_at(&key, Object::new(Content::Zeroes(1)), start);
            }
            missing.insert(key);
        }
    }
    missing
}

fn written(start: Timestamp, id: u64) -> Timestamp {
    start.plus(Duration::from_secs(60 * (id + 1)))
}

async fn play(cases: &[&Case]) -> (usize, Vec<String>) {
    let start = Timestamp::parse("2026-11-28T10:00:00Z").expect("a time");
    let model = Model::new(start);
    let root = cases[0].root();
    let bucket = model.create_bucket(root.bucket(), Versioning::Enabled);
    let control = model.create_bucket("ops", Versioning::Never);
    let missing = put_tree(&bucket, cases, start);
    let jobs = cases[0].list("jobs");
    let mut newest = 0;
    for case in cases {
        let key = format!("{}{}", root.key(), case.text("metadata_key"));
        let bytes = case.metadata();
        let at = ObjectLocation::new(root.bucket(), &*key);
        let id = take(&bytes, &at, &Roots::default())
            .expect("a case parses")
            .complete
            .checkpoint_id;
        newest = newest.max(id);
        bucket.put_at(&key, Object::new(bytes.as_slice()), written(start, id));
    }
    let deleted_at = written(start, newest + 1);
    for (job, id) in claimed_ids(cases[0].text("script")) {
        // The claimed checkpoint itself is Flink's to delete, and counts as deleted. Where the corpus no longer has its bytes, a
        // sibling's under its id will do: what is judged here are the siblings.
        let key = format!("{}{}/chk-{id}/_metadata", root.key(), jobs[job]);
        if !bucket.is_visible(&key) {
            let sibling = cases
                .iter()
                .find(|c| c.text("metadata_key").starts_with(jobs[job]));
            let Some(sibling) = sibling else { continue };
            let mut bytes = sibling.metadata();
            bytes[8..16].copy_from_slice(&id.to_be_bytes());
            bucket.put_at(&key, Object::new(bytes.as_slice()), written(start, id));
        }
        bucket.delete_at(&key, deleted_at);
    }
    let mut messages = Vec::new();
    for (n, key) in missing.iter().enumerate() {
        let marker = bucket.delete_at(key, deleted_at).expect("a versioned bucket");
        let body = format!(
            r#"{{"Records":[{{"eventVersion":"2.1","eventSource":"aws:s3","eventName":"ObjectRemoved:DeleteMarkerCreated","userIdentity":{{"principalId":"AWS:AROAFLINK:j"}},"s3":{{"bucket":{{"name":"{}"}},"object":{{"key":"{key}","versionId":"{marker}"}}}}}}]}}"#,
            root.bucket()
        );
        messages.push(Message {
            id: n.to_string(),
            records: parse_body(body.as_bytes()).expect("a notification"),
        });
    }
    let mut wrong = Vec::new();
    for after in [10, 400, 3_700] {
        model.set_now(deleted_at.plus(Duration::from_secs(after)));
        let mandate = Mandate {
            control: None,
            roots: Roots::new(vec![
                Root::new(&root.to_string(), RootKind::Checkpoints, None).expect("a root"),
            ]),
            principals: Principals {
                flink: vec!["AROAFLINK".to_owned()],
                ours: Vec::new(),
            },
            policy: Policy {
                settle: Duration::from_secs(300),
                dormant_after: Duration::from_secs(90 * 86_400),
            },
            catalogue_max_age: Duration::from_secs(300),
            metadata_limit: MetadataLimit::of_settings(1 << 24),
            sidecars_from: SIDECARS_FROM,
            protect_since: None,
            objects_per_day: 10_000,
            bytes_per_day: 1 << 40,
        };
        let journal = model.journal(&control, &format!("{after}/"));
        let mut guard = Guard::acting(
            model.clone(),
            Some(journal),
            model.clone(),
            model.clone(),
            mandate,
        );
        for acted in guard.handle(&messages).await.verdicts {
            if !matches!(acted.verdict.outcome, Outcome::Leave(_)) {
                wrong.push(format!(
                    "{} after {after} s: {:?}",
                    acted.verdict.location, acted.verdict.outcome
                ));
            }
        }
    }
    (missing.len(), wrong)
}

#[tokio::test]
async fn what_a_claiming_job_deleted_of_the_old_jobs_files_is_left() {
    let (folder, whole) = corpus();
    let cases = cases(&folder);
    let mut chains: BTreeMap<String, Vec<&Case>> = BTreeMap::new();
    for case in &cases {
        chains.entry(case.root().to_string()).or_default().push(case);
    }
    let (mut played, mut keys) = (0, 0);
    for (root, cases) in chains {
        let with_holes = cases.iter().any(|c| !c.list("missing").is_empty());
        let jobs: BTreeSet<_> = cases
            .iter()
            .filter_map(|c| c.text("metadata_key").split('/').next())
            .collect();
        if !with_holes || jobs.len() < 2 {
            continue;
        }
        let (missing, wrong) = play(&cases).await;
        assert_eq!(wrong, Vec::<String>::new(), "{root}");
        played += 1;
        keys += missing;
    }
    println!("{played} chains, {keys} objects that Flink deleted");
    let at_least = if whole { (16, 200) } else { (1, 20) };
    assert!(
        played >= at_least.0 && keys >= at_least.1,
        "only {played} chains and {keys} objects"
    );
}
