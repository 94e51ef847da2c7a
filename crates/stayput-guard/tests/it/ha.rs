//! What an HA store names is running, whatever its age: the job of a ZooKeeper cluster whose store stayed at chk-9 while chk-10 was written.

use s3_model::{Content, Fault, Object};
use stayput_core::report::finding::FindingCode;
use stayput_core::root::{RootKind, Roots};
use stayput_core::verdict::LeaveReason;
use stayput_guard::port::PortErrorKind;

use crate::lab::{
    COPIED, HOUR, Lab, MINUTE, SETTLE, Who, done_about, message, notification, outcome_on, root, verdict_on,
    word,
};

const JOB: &str = "ha-run/348e45eca2d30d875a12b1e6f963aef8/";
const HA_OBJECT: &str = "ha/lab/completedCheckpoint010d740ab2ce";
/// Private files of chk-9, which HA names, and of chk-8, which nobody does.
const OF_CHK_9: &str = "chk-9/a4879690-5b67-45bc-bcbb-da1d42e65620";
const OF_CHK_8: &str = "chk-8/890e3aa0-8514-49f7-8613-ab8dd756f8f6";

/// Ten o'clock, everything visible.
fn store() -> Lab {
    let roots = vec![root("ha-run/", RootKind::Checkpoints), root("ha/", RootKind::Ha)];
    let (lab, with_bytes) = Lab::of_story("ha-names-an-older-checkpoint", roots);
    assert_eq!(with_bytes, 4, "the object of the store and three _metadata");
    lab
}

fn ha_bytes(lab: &Lab) -> Vec<u8> {
    let object = lab
        .bucket
        .current(HA_OBJECT)
        .and_then(|v| v.object)
        .expect("data");
    bytes_of(&object)
}

fn requests_for_ha(lab: &Lab) -> (usize, usize) {
    let calls = lab.model.take_calls();
    let of = |operation: &str| {
        calls
            .iter()
            .filter(|c| c.operation == operation && c.key.starts_with("ha/"))
            .count()
    };
    (of("ListObjectsV2"), of("GetObject"))
}

fn bytes_of(object: &Object) -> Vec<u8> {
    match &object.content {
        Content::Bytes(bytes) => bytes.to_vec(),
        Content::Zeroes(_) | Content::Withheld(_) => panic!("the story has its bytes"),
    }
}

fn key(of_job: &str) -> String {
    format!("{JOB}{of_job}")
}

#[tokio::test]
async fn what_the_store_names_comes_back_and_what_only_older_ones_name_is_left() {
    for who in [Who::Alice, Who::Rule] {
        let store = store();
        let messages = [
            store.delete(who, &key(OF_CHK_9)),
            store.delete(who, &key(OF_CHK_8)),
        ];
        store.model.advance(SETTLE + MINUTE);
        let report = store.guard().handle(&messages).await;
        assert_eq!(*done_about(&report, &key(OF_CHK_9)), COPIED, "{who:?}");
        assert_eq!(
            word(outcome_on(&report, &key(OF_CHK_8))),
            "leave: spare",
            "{who:?}"
        );
        let explained = verdict_on(&report, &key(OF_CHK_9));
        assert!(
            explained.named_by.is_some(),
            "the _metadata says which operator needs it"
        );
        assert!(report.findings.is_empty());
    }
}

#[tokio::test]
async fn without_an_ha_root_the_older_checkpoint_is_spare() {
    let mut store = store();
    let only = store
        .mandate
        .roots
        .iter()
        .find(|r| r.kind == RootKind::Checkpoints)
        .cloned();
    store.mandate.roots = Roots::new(only.into_iter().collect());
    let messages = [store.delete(Who::Alice, &key(OF_CHK_9))];
    store.model.advance(SETTLE + MINUTE);
    let report = store.guard().handle(&messages).await;
    assert_eq!(word(outcome_on(&report, &key(OF_CHK_9))), "leave: spare");
}

/// Flink removes the store's object first, then the checkpoint.
#[tokio::test]
async fn what_flink_subsumes_is_left_whether_messages_tell_of_the_store_or_not() {
    for told_of_the_store in [true, false] {
        let store = store();
        let mut guard = store.guard();
        let warm = [store.delete(Who::Flink, &key(OF_CHK_8))];
        assert_eq!(
            word(outcome_on(&guard.handle(&warm).await, &key(OF_CHK_8))),
            "leave: spare"
        );
        store.model.advance(MINUTE);
        let of_store = store.delete(Who::Flink, HA_OBJECT);
        let mut messages = vec![store.delete(Who::Flink, &key(OF_CHK_9))];
        if told_of_the_store {
            messages.push(of_store);
        }
        store.model.take_calls();
        let report = guard.handle(&messages).await;
        assert_eq!(word(outcome_on(&report, &key(OF_CHK_9))), "leave: spare");
        let (lists, gets) = requests_for_ha(&store);
        assert_eq!(
            (lists, gets),
            (usize::from(!told_of_the_store), 0),
            "asked only where nobody said that the store has moved on"
        );
        if told_of_the_store {
            assert_eq!(
                word(outcome_on(&report, HA_OBJECT)),
                word(&stayput_core::verdict::Outcome::Leave(LeaveReason::HaByFlink))
            );
        }
    }
}

#[tokio::test]
async fn a_stranger_who_takes_the_stores_object_too_doesnt_make_it_forgotten() {
    let store = store();
    let messages = [
        store.delete(Who::Alice, HA_OBJECT),
        store.delete(Who::Alice, &key(OF_CHK_9)),
    ];
    store.model.advance(SETTLE + MINUTE);
    let report = store.guard().handle(&messages).await;
    assert_eq!(*done_about(&report, HA_OBJECT), COPIED);
    assert_eq!(*done_about(&report, &key(OF_CHK_9)), COPIED);
}

/// Recovery never reads `_metadata`, so a checkpoint whose `_metadata` is lost or damaged is needed all the same.
#[tokio::test]
async fn the_store_stands_for_a_metadata_that_cant_be_read() {
    for damaged in [true, false] {
        let store = store();
        let metadata = key("chk-9/_metadata");
        let version = store.bucket.current(&metadata).expect("visible").id;
        if damaged {
            assert!(store.bucket.edit(&metadata, &version, |o| o.content =
                Content::from(b"no metadata".to_vec())));
        } else {
            assert!(store.bucket.delete_version(&metadata, &version));
        }
        let messages = [
            store.delete(Who::Alice, &key(OF_CHK_9)),
            store.delete(Who::Alice, &key(OF_CHK_8)),
        ];
        store.model.advance(SETTLE + MINUTE);
        let report = store.guard().handle(&messages).await;
        assert_eq!(*done_about(&report, &key(OF_CHK_9)), COPIED, "damaged: {damaged}");
        assert_eq!(word(outcome_on(&report, &key(OF_CHK_8))), "leave: spare");
    }
}

#[tokio::test]
async fn a_checkpoint_that_only_the_store_knew_is_forgotten_with_it() {
    let store = store();
    let metadata = key("chk-9/_metadata");
    let version = store.bucket.current(&metadata).expect("visible").id;
    assert!(store.bucket.delete_version(&metadata, &version));
    let mut guard = store.guard();
    let warm = [store.delete(Who::Flink, &key(OF_CHK_8))];
    assert_eq!(guard.handle(&warm).await.summary.snapshots, 3);
    let of_store = store.delete(Who::Flink, HA_OBJECT);
    store.model.advance(MINUTE);
    let report = guard.handle(&[of_store]).await;
    assert_eq!(report.summary.snapshots, 2);
}

/// A relative handle of `_metadata` can name a file that never was (FLINK-39964); the store's object has the right path.
#[tokio::test]
async fn what_the_store_names_and_metadata_does_not_is_needed_too() {
    let store = store();
    let (old, new) = (
        "a4879690-5b67-45bc-bcbb-da1d42e65620",
        "0a0b0c0d-1111-4222-8333-444455556666",
    );
    let mut bytes = ha_bytes(&store);
    let mut changed = 0;
    for at in 0..bytes.len() - old.len() {
        if bytes[at..].starts_with(old.as_bytes()) {
            bytes[at..at + old.len()].copy_from_slice(new.as_bytes());
            changed += 1;
        }
    }
    assert!(changed > 0);
    store.bucket.put(HA_OBJECT, bytes);
    let only_in_store = key(&format!("chk-9/{new}"));
    let data = store
        .bucket
        .current(&key(OF_CHK_9))
        .and_then(|v| v.object)
        .expect("data");
    store.bucket.put(&only_in_store, data);
    let mut guard = store.guard();
    for _ in 0..2 {
        let messages = [
            store.delete(Who::Alice, &only_in_store),
            store.delete(Who::Alice, &key(OF_CHK_9)),
        ];
        store.model.advance(SETTLE + MINUTE);
        let report = guard.handle(&messages).await;
        assert_eq!(*done_about(&report, &only_in_store), COPIED);
        assert_eq!(
            *done_about(&report, &key(OF_CHK_9)),
            COPIED,
            "_metadata names it, and a person may restore from that"
        );
        // Read again: what the store says besides isn't lost with the old reading.
        let metadata = key("chk-9/_metadata");
        let again = store
            .bucket
            .current(&metadata)
            .and_then(|v| v.object)
            .expect("data");
        store.bucket.put(&metadata, again);
    }
}

#[tokio::test]
async fn a_named_checkpoint_is_read_however_many_newer_ones_are_retained() {
    let store = store();
    let newest = store
        .bucket
        .current(&key("chk-10/_metadata"))
        .and_then(|v| v.object)
        .expect("data");
    for id in 11..40_u64 {
        let mut bytes = bytes_of(&newest);
        bytes[8..16].copy_from_slice(&id.to_be_bytes());
        store.bucket.put(&key(&format!("chk-{id}/_metadata")), bytes);
    }
    let messages = [store.delete(Who::Alice, &key(OF_CHK_9))];
    store.model.advance(SETTLE + MINUTE);
    let report = store.guard().handle(&messages).await;
    assert_eq!(*done_about(&report, &key(OF_CHK_9)), COPIED);
}

#[tokio::test]
async fn an_object_of_the_store_is_read_once_and_a_root_listed_once() {
    let store = store();
    let more = 200;
    for n in 0..more {
        store.bucket.put(
            &format!("ha/other-{n}/completedCheckpoint{n:012x}"),
            ha_bytes(&store),
        );
        store.bucket.put(
            &format!("ha/other-{n}/blob/job_x/blob_p-{n}"),
            Object::new(Content::Zeroes(9)),
        );
    }
    let mut guard = store.guard();
    store.model.take_calls();
    guard.handle(&[store.delete(Who::Flink, &key(OF_CHK_8))]).await;
    assert_eq!(
        requests_for_ha(&store),
        (1, more + 1),
        "cold: one listing, one GET an object"
    );
    store.model.advance(MINUTE);
    guard
        .handle(&[store.delete(Who::Flink, &key("shared/0f0e0d0c-1111-4222-8333-444455556666"))])
        .await;
    assert_eq!(
        requests_for_ha(&store),
        (0, 0),
        "warm: nothing that the store names was deleted"
    );
    store.model.advance(HOUR);
    guard
        .handle(&[store.delete(Who::Flink, &key("shared/0f0e0d0c-1111-4222-8333-444455556666"))])
        .await;
    assert_eq!(
        requests_for_ha(&store),
        (1, 0),
        "an hour later: listed again, nothing new to read"
    );
}

#[tokio::test]
async fn an_unreadable_object_is_told_once_and_holds_nothing_up() {
    let store = store();
    let garbage: [&[u8]; 4] = [
        b"",
        b"<Error/>",
        &[0xAC, 0xED, 0, 5, 0x73],
        &ha_bytes(&store)[..2000],
    ];
    for (n, bytes) in garbage.iter().enumerate() {
        store
            .bucket
            .put(&format!("ha/lab/completedCheckpoint{n:012x}"), bytes.to_vec());
    }
    let mut guard = store.guard();
    let mut told_of = Vec::new();
    for round in 0..3 {
        let messages = [
            store.delete(Who::Alice, &key(OF_CHK_9)),
            store.delete(Who::Alice, &key(OF_CHK_8)),
        ];
        store.model.advance(SETTLE + MINUTE);
        let report = guard.handle(&messages).await;
        assert_eq!(*done_about(&report, &key(OF_CHK_9)), COPIED, "round {round}");
        guard.findings_sent(&report.findings).await.expect("a journal");
        told_of.extend(report.findings);
        if round == 1 {
            // A new process finds them again, and remembers that people know.
            guard = store.guard();
        }
    }
    assert_eq!(told_of.len(), garbage.len());
    assert!(
        told_of
            .iter()
            .all(|f| f.code == FindingCode::HaUnreadable && f.meaning.contains("Why:"))
    );
}

#[tokio::test]
async fn a_store_that_cant_be_read_just_now_makes_everybody_wait() {
    for operation in ["ListObjectsV2", "GetObject"] {
        let store = store();
        let mut guard = store.guard();
        store.model.plan(
            Fault::answers(PortErrorKind::Throttled)
                .on(operation)
                .key("ha/")
                .always(),
        );
        let messages = [store.delete(Who::Alice, &key(OF_CHK_9))];
        store.model.advance(SETTLE + MINUTE);
        let report = guard.handle(&messages).await;
        assert!(
            word(outcome_on(&report, &key(OF_CHK_9))).starts_with("later"),
            "{operation}"
        );
        store.model.forget_faults();
        store.model.advance(MINUTE);
        let report = guard.handle(&messages).await;
        assert_eq!(*done_about(&report, &key(OF_CHK_9)), COPIED, "{operation}");
    }
}

#[tokio::test]
async fn an_object_of_the_store_that_was_moved_to_an_archive_comes_out_of_it_at_the_message_of_its_thaw() {
    let store = store();
    let version = store.newest_data(HA_OBJECT);
    let moved = |o: &mut Object| o.storage_class = Some("GLACIER".to_owned());
    assert!(store.bucket.edit(HA_OBJECT, &version, moved));
    store.guard().sweep().await;
    store.model.advance(6 * HOUR);
    let name = "ObjectRestore:Completed";
    let body = notification(
        name,
        "s3.amazonaws.com",
        HA_OBJECT,
        Some(&version),
        store.model.now(),
    );
    let report = store.guard().handle(&[message("thawed".to_owned(), &body)]).await;
    assert_eq!(*done_about(&report, HA_OBJECT), COPIED);
    let current = store.bucket.current(HA_OBJECT).and_then(|v| v.object);
    assert_eq!(current.expect("data").storage_class, None);
}
