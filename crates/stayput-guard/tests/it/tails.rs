//! Tails of exactly-once sinks: small objects that only the operator state of a checkpoint names, of a real job on S3.

use s3_model::{Content, Fault};
use stayput_core::report::finding::FindingCode;
use stayput_core::root::{Root, RootKind};
use stayput_guard::port::PortErrorKind;

use crate::lab::{
    ActingGuard, COPIED, DAY, Lab, MINUTE, SETTLE, Who, at, done_about, outcome_on, root, verdict_on, word,
};

const ROOT: &str = "2.3.0/filesink-tail/";
const JOB: &str = "2.3.0/filesink-tail/90f8809cd741c0f72b6bf1e7d762ce72/";
pub(crate) const TAIL: &str = "2.3.0/filesink-tail/sinkout/2026-11-29--14/_part-6343987d-03f8-491b-ad05-22d7beb5f163-0_tmp_11240053-3bc0-4659-8e2e-eb1fe442cf57";
const ANOTHER_TAIL: &str = "2.3.0/filesink-tail/sinkout/2026-11-29--14/_part-fcc6af10-18e3-422e-a353-3486610c52ad-0_tmp_f920aa19-8fd9-4e20-891d-4bf9d3566dea";
/// As a tail is named, but no state names it.
const NOBODYS: &str = "2.3.0/filesink-tail/sinkout/2026-11-29--14/_part-6343987d-03f8-491b-ad05-22d7beb5f163-0_tmp_00000000-3bc0-4659-8e2e-eb1fe442cf57";

/// The open uploads of this job stand in the state of its sink alone: no listing of objects shows them.
#[tokio::test]
async fn a_rule_that_will_abort_uploads_of_the_newest_checkpoint_is_told_with_the_latest_day_at_no_request_more()
 {
    let rule = |prefix: &str| {
        let rule = format!(
            r#"{{"Rules": [{{"ID": "uploads", "Status": "Enabled", "Filter": {{"Prefix": "{prefix}"}},
            "AbortIncompleteMultipartUpload": {{"DaysAfterInitiation": 3}}}}]}}"#
        );
        s3_documents::lifecycle::parse(rule.as_bytes()).expect("rules")
    };
    let swept = |prefix: &'static str, days| async move {
        let lab = sink();
        lab.bucket.set_lifecycle(rule(prefix));
        lab.model.advance(DAY * days);
        let report = lab.guard().sweep().await;
        let told: Vec<_> = report
            .judged
            .findings
            .into_iter()
            .filter(|f| f.code == FindingCode::RuleWillAbortUploads)
            .collect();
        // In the journal it is looked up whether people were told.
        let of_state = |c: &&s3_model::Call| c.bucket == lab.bucket.name();
        (told, lab.model.take_calls().iter().filter(of_state).count())
    };
    const OUTPUT: &str = "2.3.0/filesink-tail/sinkout/";
    // A job that goes on completes them long before.
    assert!(swept(OUTPUT, 0).await.0.is_empty());
    let (told, calls) = swept(OUTPUT, 3).await;
    let [finding] = told.as_slice() else {
        panic!("{told:?}");
    };
    assert!(finding.objects >= 2, "one upload of each subtask: {finding:?}");
    assert!(finding.examples.iter().all(|e| e.contains("/sinkout/")));
    assert_eq!(finding.broken.len(), 1);
    assert!(finding.broken[0].ends_with("/chk-3/_metadata"));
    // The store wrote it on the 28th: three days later, at the next midnight.
    assert_eq!(finding.deadline, Some(at("2026-12-02T00:00:00Z")));
    assert!(finding.meaning.contains("or earlier"), "{}", finding.meaning);

    let (told, calls_elsewhere) = swept("another/place/", 3).await;
    assert!(told.is_empty(), "{told:?}");
    assert_eq!(calls, calls_elsewhere);
}

/// Only the checkpoints are under a root: what the sink writes lies outside.
fn sink() -> Lab {
    under(vec![root(JOB, RootKind::Checkpoints)])
}

pub(crate) fn sink_under_a_root() -> Lab {
    under(vec![
        root(ROOT, RootKind::Checkpoints),
        root(&format!("{ROOT}sinkout/"), RootKind::Sink),
    ])
}

fn under(roots: Vec<Root>) -> Lab {
    let (lab, with_bytes) = Lab::of_story("sink-tails-foreign", roots);
    assert_eq!(
        with_bytes, 5,
        "_metadata, and the state of writer and committer of two subtasks"
    );
    lab
}

fn tidied_by_a_rule(lab: &Lab) {
    let rule = br#"{"Rules": [{"ID": "tidy", "Status": "Enabled",
        "Filter": {"Prefix": "2.3.0/filesink-tail/"}, "Expiration": {"Date": "2026-11-29T00:00:00Z"}}]}"#;
    lab.bucket
        .set_lifecycle(s3_documents::lifecycle::parse(rule).expect("rules"));
}

/// How many objects of state were read besides `_metadata`.
fn state_read(lab: &Lab) -> usize {
    let of_state = |c: &&s3_model::Call| {
        c.operation == "GetObject" && c.key.contains("/chk-3/") && !c.key.ends_with("_metadata")
    };
    lab.model.take_calls().iter().filter(of_state).count()
}

#[tokio::test]
async fn tails_that_a_stranger_or_a_rule_took_come_back_and_say_which_sink_needs_them() {
    for who in [Who::Alice, Who::Rule] {
        for sink in [sink(), sink_under_a_root()] {
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
    let sink = sink_under_a_root();
    sink.bucket.put(NOBODYS, vec![1, 2, 3]);
    let messages = [sink.delete(Who::Alice, NOBODYS)];
    sink.model.advance(SETTLE + MINUTE);
    let report = sink.guard().handle(&messages).await;
    assert_eq!(word(outcome_on(&report, NOBODYS)), "leave: not referenced");
}

/// Its key tells no job: what nobody may read may name it. As any other file of such a checkpoint, it comes back.
#[tokio::test]
async fn beside_a_checkpoint_that_cant_be_read_nobody_knows_who_needs_a_tail() {
    for (who, said) in [
        (Who::Alice, "restore"),
        (Who::Rule, "restore"),
        (Who::Flink, "leave: tail of a sink"),
    ] {
        let sink = sink_under_a_root();
        sink.model.set_now(at("2026-11-29T00:02:00Z"));
        let of_metadata = Fault::answers(PortErrorKind::Denied).on("GetObject").always();
        sink.model.plan(of_metadata);
        let messages = [sink.delete(who, TAIL)];
        sink.model.advance(SETTLE + MINUTE);
        let report = sink.guard().handle(&messages).await;
        let outcome = word(outcome_on(&report, TAIL));
        assert!(outcome.starts_with(said), "{who:?}: {outcome}");
    }
}

/// A sink deletes a tail at every checkpoint, so nothing is read for it.
#[tokio::test]
async fn a_tail_that_flink_deleted_is_left_and_costs_no_look() {
    let sink = sink_under_a_root();
    let mut guard = sink.guard();
    let messages = [
        sink.delete(Who::Flink, TAIL),
        sink.delete(Who::Flink, ANOTHER_TAIL),
    ];
    sink.model.advance(SETTLE + MINUTE);
    let report = guard.handle(&messages).await;
    assert_eq!(word(outcome_on(&report, TAIL)), "leave: tail of a sink");
    assert_eq!(state_read(&sink), 0);
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
    let sink = sink();
    waits_until_it_is_quiet(&sink, &mut sink.guard()).await;
}

/// A stranger deletes the tail, and it comes back once it is quiet.
async fn waits_until_it_is_quiet(sink: &Lab, guard: &mut ActingGuard) {
    let messages = [sink.delete(Who::Alice, TAIL)];
    sink.model.advance(MINUTE);
    let report = guard.handle(&messages).await;
    assert_eq!(word(outcome_on(&report, TAIL)), "later: not quiet yet");
    sink.model.advance(SETTLE);
    let report = guard.handle(&messages).await;
    assert_eq!(*done_about(&report, TAIL), COPIED);
}

#[tokio::test]
async fn the_state_is_read_once_and_only_for_what_can_be_a_tail() {
    let sink = sink_under_a_root();
    let mut guard = sink.guard();
    let other = format!("{ROOT}sinkout/2026-11-29--14/part-0");
    sink.bucket.put(&other, vec![1]);
    guard.handle(&[sink.delete(Who::Alice, &other)]).await;
    assert_eq!(state_read(&sink), 0, "no tail has such a name");
    guard.handle(&[sink.delete(Who::Alice, TAIL)]).await;
    assert_eq!(state_read(&sink), 4, "writer and committer, two subtasks each");
    sink.model.advance(SETTLE + MINUTE);
    guard.handle(&[sink.delete(Who::Alice, ANOTHER_TAIL)]).await;
    assert_eq!(state_read(&sink), 0);
}

#[tokio::test]
async fn state_that_cant_be_read_just_now_makes_the_verdict_wait() {
    let sink = sink();
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
    let sink = sink_under_a_root();
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
    let sink = sink_under_a_root();
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

/// Looking at a checkpoint again in the middle of a judgement reads its `_metadata`, and what its sinks keep in other objects isn't read with it.
#[tokio::test]
async fn a_tail_stays_known_when_its_checkpoint_is_looked_at_again() {
    let sink = sink();
    let metadata = format!("{JOB}chk-3/_metadata");
    let mut guard = sink.guard();
    let first = [sink.delete(Who::Alice, TAIL)];
    guard.handle(&first).await;
    // Somebody copies it onto itself: another version with the same bytes.
    let object = sink.bucket.current(&metadata).and_then(|v| v.object);
    sink.bucket.put(&metadata, object.expect("data"));
    let second = [sink.delete(Who::Alice, ANOTHER_TAIL)];
    sink.model.advance(SETTLE + MINUTE);
    for (messages, tail) in [(first, TAIL), (second, ANOTHER_TAIL)] {
        let report = guard.handle(&messages).await;
        assert_eq!(*done_about(&report, tail), COPIED);
        let named = verdict_on(&report, tail).named_by.as_ref().expect("the sink");
        assert_eq!(named.role, "sink.tail");
    }
}

/// A job went on in a directory that wasn't there yet when the roots were last listed.
#[tokio::test]
async fn a_tail_that_only_a_new_directory_names_waits_for_quiet_and_comes_back() {
    let sink = sink_under_a_root();
    let of_job: Vec<_> = sink
        .bucket
        .keys()
        .into_iter()
        .filter(|k| k.starts_with(JOB))
        .collect();
    let taken: Vec<_> = of_job
        .into_iter()
        .map(|key| {
            let current = sink.bucket.current(&key).expect("visible");
            assert!(sink.bucket.delete_version(&key, &current.id));
            (key, current.object.expect("data"))
        })
        .collect();
    let mut guard = sink.guard();
    sink.bucket.put(NOBODYS, vec![1, 2, 3]);
    guard.handle(&[sink.delete(Who::Alice, NOBODYS)]).await;
    sink.model.advance(MINUTE);
    for (key, object) in taken {
        sink.bucket.put(&key, object);
    }
    waits_until_it_is_quiet(&sink, &mut guard).await;
}

/// Else the job would be restored from it in vain until the next sweep.
#[tokio::test]
async fn a_sweep_brings_back_the_tails_of_a_checkpoint_together_with_its_metadata() {
    let sink = sink_under_a_root();
    let metadata = format!("{JOB}chk-3/_metadata");
    sink.model.set_now(at("2026-11-29T00:02:00Z"));
    tidied_by_a_rule(&sink);
    for key in [TAIL, ANOTHER_TAIL, &metadata] {
        drop(sink.delete(Who::Rule, key));
    }
    sink.model.advance(SETTLE + MINUTE);
    let report = sink.guard().sweep().await;
    for key in [TAIL, ANOTHER_TAIL, &metadata] {
        assert_eq!(*done_about(&report.judged, key), COPIED, "{key}");
    }
}

/// Nothing in the key of a tail says whose it is, and the only checkpoint that does is hidden too.
#[tokio::test]
async fn a_tail_whose_checkpoint_the_same_rule_took_comes_back_whoever_hears_of_it() {
    let sink = sink_under_a_root();
    let metadata = format!("{JOB}chk-3/_metadata");
    sink.model.set_now(at("2026-11-29T00:02:00Z"));
    tidied_by_a_rule(&sink);
    drop(sink.delete(Who::Rule, &metadata));
    let messages = [sink.delete(Who::Rule, TAIL)];
    sink.model.advance(MINUTE);
    let report = sink.guard().handle(&messages).await;
    assert_eq!(*done_about(&report, TAIL), COPIED);
}

/// Else what the record says of a tail could be of any bytes that ever stood there.
#[tokio::test]
async fn the_record_of_a_tail_says_which_bytes_named_it_also_if_they_cant_be_read_again() {
    let sink = sink();
    let mut guard = sink.guard();
    let messages = [sink.delete(Who::Alice, TAIL)];
    guard.handle(&messages).await;
    let metadata = format!("{JOB}chk-3/_metadata");
    let denied = Fault::answers(PortErrorKind::Denied)
        .on("GetObject")
        .key("_metadata");
    sink.model.plan(denied.always());
    sink.model.advance(SETTLE + MINUTE);
    let report = guard.handle(&messages).await;
    assert_eq!(*done_about(&report, TAIL), COPIED);
    let named = verdict_on(&report, TAIL).named_by.as_ref().expect("the sink");
    let object = sink.bucket.current(&metadata).and_then(|v| v.object);
    assert_eq!(named.etag, object.map(|o| o.etag));
}

/// Messages come in any order: while nobody knew of the hidden `_metadata`, nobody named the tail, and its message was answered.
#[tokio::test]
async fn a_tail_that_nobody_named_comes_back_with_the_metadata_that_does() {
    let sink = sink_under_a_root();
    tidied_by_a_rule(&sink);
    sink.model.set_now(at("2026-11-29T00:02:00Z"));
    let metadata = format!("{JOB}chk-3/_metadata");
    let keys: Vec<String> = sink
        .bucket
        .visible_keys()
        .into_iter()
        .filter(|key| key.contains("/chk-3/") || key == TAIL)
        .collect();
    let told = sink.delete_all(Who::Rule, &keys);
    let of = |key: &str| {
        let place = keys.iter().position(|k| k == key).expect("deleted");
        told[place].clone()
    };
    sink.model.advance(SETTLE + MINUTE);
    let mut guard = sink.guard();
    guard.handle(&[of(&metadata)]).await;
    for key in &keys {
        assert!(sink.is_visible(key), "{key}: {:?}", sink.copied());
    }
}

/// Nothing of the job is visible any more when the message about its tail comes, to a process that knows nothing.
#[tokio::test]
async fn a_tail_whose_whole_job_the_same_rule_took_is_known_to_whoever_hears_of_it_first() {
    let sink = sink_under_a_root();
    sink.model.set_now(at("2026-11-29T00:02:00Z"));
    tidied_by_a_rule(&sink);
    let visible = sink.bucket.visible_keys();
    drop(sink.delete_all(Who::Rule, visible.iter().filter(|key| *key != TAIL)));
    let messages = [sink.delete(Who::Rule, TAIL)];
    assert_eq!(sink.bucket.visible_keys(), [""; 0]);
    sink.model.advance(MINUTE);
    let report = sink.guard().handle(&messages).await;
    assert_eq!(*done_about(&report, TAIL), COPIED);
}

/// A tail is there before the checkpoint that names it: who took it is remembered, though nobody needs it yet.
#[tokio::test]
async fn a_tail_that_a_stranger_took_before_its_checkpoint_was_complete_comes_back_by_the_sweep() {
    let sink = sink_under_a_root();
    let metadata = format!("{JOB}chk-3/_metadata");
    let version = sink.bucket.current(&metadata).expect("it is there");
    assert!(sink.bucket.delete_version(&metadata, &version.id));
    let messages = [sink.delete(Who::Alice, TAIL)];
    sink.model.advance(SETTLE + MINUTE);
    let report = sink.guard().handle(&messages).await;
    assert_eq!(word(outcome_on(&report, TAIL)), "leave: not referenced");
    sink.bucket.put(&metadata, version.object.expect("data"));
    sink.model.advance(SETTLE + MINUTE);
    sink.guard().sweep().await;
    assert!(sink.is_visible(TAIL), "{:?}", sink.copied());
}
