//! Tails of exactly-once sinks: small objects that only the operator state of a checkpoint names, of a real job on S3.

use std::path::PathBuf;

use s3_documents::bucket::Versioning;
use s3_documents::listing::parse_versions;
use s3_model::{Content, Fault, Model, ModelBucket};
use stayput_core::root::{Root, RootKind, Roots};
use stayput_guard::batch::Message;
use stayput_guard::guard::Guard;
use stayput_guard::mandate::Mandate;
use stayput_guard::port::PortErrorKind;

use crate::lab::{
    ActingGuard, BUCKET, COPIED, MINUTE, SETTLE, Who, at, done_about, mandate, outcome_on, told, verdict_on,
    word,
};

const ROOT: &str = "2.3.0/filesink-tail/";
const JOB: &str = "2.3.0/filesink-tail/90f8809cd741c0f72b6bf1e7d762ce72/";
const TAIL: &str = "2.3.0/filesink-tail/sinkout/2026-11-29--14/_part-6343987d-03f8-491b-ad05-22d7beb5f163-0_tmp_11240053-3bc0-4659-8e2e-eb1fe442cf57";
const ANOTHER_TAIL: &str = "2.3.0/filesink-tail/sinkout/2026-11-29--14/_part-fcc6af10-18e3-422e-a353-3486610c52ad-0_tmp_f920aa19-8fd9-4e20-891d-4bf9d3566dea";
/// As a tail is named, but no state names it.
const NOBODYS: &str = "2.3.0/filesink-tail/sinkout/2026-11-29--14/_part-6343987d-03f8-491b-ad05-22d7beb5f163-0_tmp_00000000-3bc0-4659-8e2e-eb1fe442cf57";

struct Sink {
    model: Model,
    bucket: ModelBucket,
    mandate: Mandate,
}

fn story(file: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/corpus/stories/sink-tails-foreign")
        .join(file);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

impl Sink {
    fn new() -> Self {
        let model = Model::new(at("2026-11-28T10:00:00Z"));
        let bucket = model.create_bucket(BUCKET, Versioning::Enabled);
        let mut listing = parse_versions(&story("bucket.json")).expect("a listing");
        listing.delete_markers.clear();
        for version in &mut listing.versions {
            version.is_latest = true;
        }
        bucket.load(&listing).expect("a whole listing");
        let mut blobs = 0;
        for version in &listing.versions {
            let bytes = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
                .join("../../tests/corpus/stories/sink-tails-foreign/metadata")
                .join(format!("{}@{}", version.key, version.version_id));
            if let Ok(bytes) = std::fs::read(bytes) {
                let current = bucket.current(&version.key).expect("it is there").id;
                assert!(bucket.edit(&version.key, &current, |o| o.content = Content::from(bytes)));
                blobs += 1;
            }
        }
        assert_eq!(
            blobs, 5,
            "_metadata, and the state of writer and committer of two subtasks"
        );
        // Only the checkpoints are under a root: what the sink writes lies outside.
        let root = Root::new(&format!("s3://{BUCKET}/{JOB}"), RootKind::Checkpoints, None).expect("a root");
        Self {
            model,
            bucket,
            mandate: Mandate {
                roots: Roots::new(vec![root]),
                ..mandate()
            },
        }
    }

    fn with_sink_root(mut self) -> Self {
        let root =
            |uri: String, kind| Root::new(&format!("s3://{BUCKET}/{uri}"), kind, None).expect("a root");
        self.mandate.roots = Roots::new(vec![
            root(ROOT.to_owned(), RootKind::Checkpoints),
            root(format!("{ROOT}sinkout/"), RootKind::Sink),
        ]);
        self
    }

    fn guard(&self) -> ActingGuard {
        let control = self
            .model
            .bucket("ops")
            .unwrap_or_else(|| self.model.create_bucket("ops", Versioning::Never));
        let journal = self.model.journal(&control, "stayput/");
        let m = || self.model.clone();
        Guard::acting(m(), Some(journal), m(), m(), self.mandate.clone())
    }

    fn delete(&self, who: Who, key: &str) -> Message {
        let marker = match who {
            Who::Rule => self.bucket.expire(key),
            _ => self.bucket.delete(key),
        };
        told(who, key, marker.as_ref(), self.model.now())
    }

    /// How many objects of state were read besides `_metadata`.
    fn state_read(&self) -> usize {
        let of_state = |c: &&s3_model::Call| {
            c.operation == "GetObject" && c.key.contains("/chk-3/") && !c.key.ends_with("_metadata")
        };
        self.model.take_calls().iter().filter(of_state).count()
    }
}

#[tokio::test]
async fn tails_that_a_stranger_or_a_rule_took_come_back_and_say_which_sink_needs_them() {
    for who in [Who::Alice, Who::Rule] {
        for sink in [Sink::new(), Sink::new().with_sink_root()] {
            // Rules work at midnight, and what they take is older than that.
            sink.model.set_now(at("2026-11-29T00:02:00Z"));
            let messages = [sink.delete(who, TAIL), sink.delete(who, ANOTHER_TAIL)];
            sink.model.advance(SETTLE + MINUTE);
            let report = sink.guard().handle(&messages).await;
            for tail in [TAIL, ANOTHER_TAIL] {
                assert_eq!(*done_about(&report, tail), COPIED, "{who:?}");
                let named = verdict_on(&report, tail).named_by.as_ref().expect("the sink");
                assert_eq!(named.role, "sink.tail");
                assert!(named.uid.is_some() && named.subtask.is_some());
            }
        }
    }
}

#[tokio::test]
async fn what_no_state_names_is_left_to_whoever_took_it() {
    let sink = Sink::new().with_sink_root();
    sink.bucket.put(NOBODYS, vec![1, 2, 3]);
    let messages = [sink.delete(Who::Alice, NOBODYS)];
    sink.model.advance(SETTLE + MINUTE);
    let report = sink.guard().handle(&messages).await;
    assert_eq!(word(outcome_on(&report, NOBODYS)), "leave: not referenced");
}

/// A sink deletes a tail at every checkpoint, so nothing is read for it.
#[tokio::test]
async fn a_tail_that_flink_deleted_is_left_and_costs_no_look() {
    let sink = Sink::new().with_sink_root();
    let mut guard = sink.guard();
    let messages = [
        sink.delete(Who::Flink, TAIL),
        sink.delete(Who::Flink, ANOTHER_TAIL),
    ];
    sink.model.advance(SETTLE + MINUTE);
    let report = guard.handle(&messages).await;
    assert_eq!(word(outcome_on(&report, TAIL)), "leave: tail of a sink");
    assert_eq!(sink.state_read(), 0);
    // Known from a stranger's deletion or not, Flink's is left.
    let by_alice = [sink.delete(Who::Alice, NOBODYS)];
    sink.bucket.put(TAIL, vec![1; 13549]);
    guard.handle(&by_alice).await;
    let messages = [
        sink.delete(Who::Flink, TAIL),
        sink.delete(Who::Nobody, ANOTHER_TAIL),
    ];
    sink.model.advance(SETTLE + MINUTE);
    let report = guard.handle(&messages).await;
    assert_eq!(word(outcome_on(&report, TAIL)), "leave: tail of a sink");
    assert_eq!(word(outcome_on(&report, ANOTHER_TAIL)), "leave: tail of a sink");
}

#[tokio::test]
async fn a_strangers_tail_waits_until_it_is_quiet() {
    let sink = Sink::new();
    let messages = [sink.delete(Who::Alice, TAIL)];
    sink.model.advance(MINUTE);
    let mut guard = sink.guard();
    let report = guard.handle(&messages).await;
    assert_eq!(word(outcome_on(&report, TAIL)), "later: not quiet yet");
    sink.model.advance(SETTLE);
    let report = guard.handle(&messages).await;
    assert_eq!(*done_about(&report, TAIL), COPIED);
}

#[tokio::test]
async fn the_state_is_read_once_and_only_for_what_can_be_a_tail() {
    let sink = Sink::new().with_sink_root();
    let mut guard = sink.guard();
    let other = format!("{ROOT}sinkout/2026-11-29--14/part-0");
    sink.bucket.put(&other, vec![1]);
    guard.handle(&[sink.delete(Who::Alice, &other)]).await;
    assert_eq!(sink.state_read(), 0, "no tail has such a name");
    guard.handle(&[sink.delete(Who::Alice, TAIL)]).await;
    assert_eq!(sink.state_read(), 4, "writer and committer, two subtasks each");
    sink.model.advance(SETTLE + MINUTE);
    guard.handle(&[sink.delete(Who::Alice, ANOTHER_TAIL)]).await;
    assert_eq!(sink.state_read(), 0);
}

#[tokio::test]
async fn state_that_cant_be_read_just_now_makes_the_verdict_wait() {
    let sink = Sink::new();
    let mut guard = sink.guard();
    sink.model.plan(
        Fault::answers(PortErrorKind::Throttled)
            .on("GetObject")
            .key("chk-3/7c9b8f74")
            .always(),
    );
    let messages = [
        sink.delete(Who::Alice, TAIL),
        sink.delete(Who::Alice, ANOTHER_TAIL),
    ];
    sink.model.advance(SETTLE + MINUTE);
    let report = guard.handle(&messages).await;
    assert!(
        report
            .verdicts
            .iter()
            .all(|v| word(&v.verdict.outcome).starts_with("later"))
    );
    sink.model.forget_faults();
    sink.model.advance(MINUTE);
    let report = guard.handle(&messages).await;
    assert_eq!(*done_about(&report, TAIL), COPIED);
    assert_eq!(*done_about(&report, ANOTHER_TAIL), COPIED);
}

/// A serializer of a later release: nobody knows which tails it names, so what a stranger took comes back.
#[tokio::test]
async fn state_of_an_unknown_version_makes_tails_unknown() {
    let sink = Sink::new().with_sink_root();
    for key in sink.bucket.keys() {
        let Some(current) = sink.bucket.current(&key).filter(|_| key.starts_with(JOB)) else {
            continue;
        };
        let object = current.object.expect("data");
        let Content::Bytes(bytes) = &object.content else {
            continue;
        };
        // `0x1e764b79`, the state of a writer's bucket, in version 3.
        let mut bytes = bytes.to_vec();
        let Some(magic) = bytes.windows(4).position(|w| w == [0x1e, 0x76, 0x4b, 0x79]) else {
            continue;
        };
        bytes[magic - 5] = 9;
        assert!(
            sink.bucket
                .edit(&key, &current.id, |o| o.content = Content::from(bytes))
        );
    }
    sink.bucket.put(NOBODYS, vec![1, 2, 3]);
    let messages = [sink.delete(Who::Alice, TAIL), sink.delete(Who::Alice, NOBODYS)];
    sink.model.advance(SETTLE + MINUTE);
    let report = sink.guard().handle(&messages).await;
    assert_eq!(*done_about(&report, TAIL), COPIED);
    let document = verdict_on(&report, NOBODYS).document();
    assert_eq!((document.outcome, document.class), ("restore", Some("unknown")));
}

#[tokio::test]
async fn a_sweep_finds_tails_that_a_rule_took_and_leaves_those_of_which_nobody_knows() {
    let sink = Sink::new().with_sink_root();
    sink.model.set_now(at("2026-11-29T00:02:00Z"));
    let rule = br#"{"Rules": [{"ID": "tidy-output", "Status": "Enabled",
        "Filter": {"Prefix": "2.3.0/filesink-tail/sinkout/"}, "Expiration": {"Date": "2026-11-29T00:00:00Z"}}]}"#;
    sink.bucket
        .set_lifecycle(s3_documents::lifecycle::parse(rule).expect("rules"));
    drop(sink.delete(Who::Rule, TAIL));
    sink.model.advance(MINUTE);
    drop(sink.delete(Who::Nobody, ANOTHER_TAIL));
    sink.model.advance(SETTLE + MINUTE);
    let report = sink.guard().sweep().await;
    assert_eq!(*done_about(&report.judged, TAIL), COPIED);
    assert!(sink.bucket.is_visible(TAIL) && !sink.bucket.is_visible(ANOTHER_TAIL));
    assert_eq!(report.judged.verdicts.len(), 1);
}
