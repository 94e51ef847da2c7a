//! A file above 5 GiB, which no single request copies, comes back in parts: with what it carried, over several calls where time is short, whoever
//! comes between.

use s3_model::{Content, Fault, Object, Upload};
use stayput_core::restoring::parts::PartSizes;
use stayput_core::verdict::{LaterReason, Outcome};
use stayput_core::version::VersionId;
use stayput_guard::batch::{Answer, BatchReport, Done, Message};
use stayput_guard::guard::Guard;
use stayput_guard::port::PortErrorKind;

use crate::lab::{COPIED, DAY, HOUR, Lab, MINUTE, SETTLE, Who, done_about, metadata_key, outcome_on, word};

/// 6 GiB and a byte: 25 parts, of which the last has one byte.
const SIZE: u64 = (6 << 30) + 1;
const PARTS: usize = 25;

/// The job, one of whose shared files is large: so say the handle in chk-8 and the object.
struct Large {
    lab: Lab,
    key: String,
    version: VersionId,
}

/// Every handle of this file says another length. A handle has the length before the path (FileStateHandle, written by Flink's
/// MetadataV2V3SerializerBase since 1.11 at least: a long, then the path as modified UTF-8).
fn with_size(mut bytes: Vec<u8>, key: &str, old: u64, new: u64) -> Vec<u8> {
    let name = key.rsplit('/').next().expect("a name").as_bytes();
    let mut patched = 0;
    for n in 0..bytes.len() - name.len() {
        if !bytes[n..].starts_with(name) {
            continue;
        }
        let from = n.saturating_sub(300);
        let length = old.to_be_bytes();
        let at = (from..n).rev().find(|at| bytes[*at..].starts_with(&length));
        let at = at.expect("the length before the path");
        bytes[at..at + 8].copy_from_slice(&new.to_be_bytes());
        patched += 1;
    }
    assert!(patched >= 1, "{key} is named");
    bytes
}

/// What somebody else writes to the key.
const THEIRS: &[u8; 15] = b"somebody else's";

impl Large {
    fn new() -> Self {
        let lab = Lab::new();
        let key = lab.shared_of_head()[0].clone();
        let old = lab.bucket.current(&key).and_then(|v| v.object).expect("data");
        let original = Object::new(Content::Zeroes(SIZE))
            .with_metadata("team", "payments")
            .with_tag("cost-centre", "42")
            .in_class("STANDARD_IA");
        let written = crate::lab::at("2026-08-31T02:59:13Z");
        let version = lab.bucket.put_at(&key, original, written);
        for id in [7, 8] {
            let metadata = metadata_key(id);
            let current = lab.bucket.current(&metadata).expect("it is there");
            let Some(Content::Bytes(bytes)) = current.object.map(|o| o.content) else {
                panic!("{metadata} has bytes")
            };
            if !lab.named_by(id).contains(&key) {
                continue;
            }
            let bytes = with_size(bytes.to_vec(), &key, old.content.len(), SIZE);
            assert!(
                lab.bucket
                    .edit(&metadata, &current.id, |o| o.content = Content::from(bytes))
            );
        }
        Self { lab, key, version }
    }

    fn taken() -> (Self, [Message; 1]) {
        let large = Self::new();
        let messages = [large.lab.delete(Who::Rule, &large.key)];
        (large, messages)
    }

    async fn handle(&self, messages: &[Message]) -> BatchReport {
        self.lab.guard().handle(messages).await
    }

    fn calls(&self, operation: &str) -> usize {
        let calls = self.lab.model.calls();
        let of = calls
            .iter()
            .filter(|c| c.operation == operation && c.key == self.key && c.error.is_none());
        of.count()
    }

    fn uploads(&self) -> Vec<Upload> {
        self.lab.bucket.uploads()
    }

    /// What somebody else wrote meanwhile is visible, and no upload is left.
    fn is_theirs(&self) {
        let current = self.lab.bucket.current(&self.key).and_then(|v| v.object);
        assert_eq!(current.expect("it is visible").content, Content::from(THEIRS));
        assert_eq!(self.uploads(), []);
    }

    /// It is visible, whole, says where it comes from, and was copied once.
    fn is_back(&self) {
        let copy = self.lab.bucket.current(&self.key).and_then(|v| v.object);
        let copy = copy.expect("it is visible");
        assert_eq!(copy.content, Content::Zeroes(SIZE));
        let of = |name: &str| copy.metadata.get(name).map(String::as_str);
        assert_eq!(of("team"), Some("payments"));
        assert_eq!(of("stayput-count"), Some("1"));
        assert_eq!(of("stayput-source-version"), Some(self.version.as_str()));
        let first = of("stayput-source-last-modified").map(crate::lab::at);
        assert_eq!(first, Some(crate::lab::at("2026-08-31T02:59:13Z")));
        assert_eq!(copy.tags.get("cost-centre").map(String::as_str), Some("42"));
        assert_eq!(copy.storage_class, None, "copies go to STANDARD");
        // The story's own version, the large one above it, and the copy.
        assert_eq!(self.lab.data_versions(&self.key), 3);
    }
}

#[tokio::test]
async fn a_file_above_five_gibibytes_comes_back_in_parts_with_what_it_carried() {
    let (large, messages) = Large::taken();
    const { assert!(SIZE > PartSizes::S3.single) };
    let report = large.handle(&messages).await;
    assert_eq!(*done_about(&report, &large.key), COPIED);
    assert_eq!(report.answers[0].1, Answer::Done);
    large.is_back();
    assert_eq!(large.calls("UploadPartCopy"), PARTS);
    assert_eq!(large.calls("CopyObject"), 0);
    assert_eq!(large.uploads(), []);
    // What was spent today counts it as any other.
    let spent = large.lab.guard().memory().spent(large.lab.model.now()).await;
    assert_eq!(spent.expect("the journal").bytes, SIZE);
    // Told again, it is there.
    let report = large.handle(&messages).await;
    assert_eq!(word(outcome_on(&report, &large.key)), "leave: visible");
}

#[tokio::test]
async fn where_time_runs_short_the_next_call_goes_on_with_the_parts_that_are_there() {
    let (large, messages) = Large::taken();
    large.lab.model.set_time_for_parts(Some(10));
    let report = large.handle(&messages).await;
    let Done::Unfinished { copied, of } = done_about(&report, &large.key) else {
        panic!("{:?}", report.verdicts)
    };
    assert_eq!((*copied, *of), (10 * PartSizes::S3.part, SIZE));
    assert!(
        matches!(
            &report.answers[0].1,
            Answer::Again {
                why: LaterReason::CopyUnderWay,
                ..
            }
        ),
        "{:?}",
        report.answers
    );
    assert_eq!((report.summary.later, report.summary.failed), (1, 0));
    assert!(!large.lab.is_visible(&large.key));
    assert_eq!(large.uploads().len(), 1);
    // No time at all asks for nothing.
    let report = large.handle(&messages).await;
    assert!(matches!(done_about(&report, &large.key), Done::Unfinished { .. }));
    assert_eq!(large.calls("UploadPartCopy"), 10);
    // The sweep doesn't take it for left over; later it goes on where the call ended.
    large.lab.model.advance(HOUR);
    large.lab.model.set_time_for_parts(Some(3));
    large.lab.guard().sweep().await;
    assert_eq!(large.uploads()[0].parts.len(), 13);
    large.lab.model.set_time_for_parts(None);
    let report = large.handle(&messages).await;
    assert_eq!(*done_about(&report, &large.key), COPIED);
    large.is_back();
    assert_eq!(large.calls("UploadPartCopy"), PARTS, "no part is copied twice");
    assert_eq!(large.calls("CreateMultipartUpload"), 1);
    assert_eq!(large.uploads(), []);
}

#[tokio::test]
async fn a_part_of_another_length_is_copied_anew() {
    let (large, messages) = Large::taken();
    large.lab.model.set_time_for_parts(Some(10));
    large.handle(&messages).await;
    let upload = large.uploads()[0].id.clone();
    let odd = large.lab.bucket.upload_part(&upload, 4, Content::Zeroes(7));
    odd.expect("the upload is there");
    large.lab.model.set_time_for_parts(None);
    large.handle(&messages).await;
    large.is_back();
    assert_eq!(large.calls("UploadPartCopy"), PARTS + 1);
}

#[tokio::test]
async fn a_process_that_dies_at_any_call_leaves_nothing_that_the_next_ones_dont_finish_or_abandon() {
    let (clean, messages) = Large::taken();
    clean.handle(&messages).await;
    let calls = u32::try_from(clean.lab.model.calls().len()).expect("few");
    assert!(calls > 30, "{calls}");
    for n in 1..=calls {
        for fault in [
            Fault::crash().from_nth(n),
            Fault::crash().from_nth(n).after_the_effect(),
        ] {
            let (large, messages) = Large::taken();
            large.lab.model.plan(fault.clone());
            large.handle(&messages).await;
            assert!(large.lab.model.has_crashed(), "{fault:?}");
            large.lab.model.revive();
            let report = large.handle(&messages).await;
            assert_eq!(report.answers[0].1, Answer::Done, "{fault:?}");
            large.is_back();
            large.lab.model.advance(DAY);
            large.lab.guard().sweep().await;
            // Only what it died before writing down can be left, and that has no bytes.
            let left = large.uploads();
            assert!(
                left.iter().all(|upload| upload.parts.is_empty()),
                "{fault:?}: {left:?}"
            );
        }
    }
    println!("died at each of {calls} calls, before and after its effect");
}

#[tokio::test]
async fn whoever_writes_the_key_meanwhile_keeps_it_and_the_upload_is_abandoned() {
    let (large, messages) = Large::taken();
    let (bucket, of) = (large.lab.bucket.clone(), large.key.clone());
    large.lab.model.on_call(move |_, call| {
        if call.operation == "CompleteMultipartUpload" && !bucket.is_visible(&of) {
            bucket.put(&of, THEIRS);
        }
    });
    let report = large.handle(&messages).await;
    assert_eq!(*done_about(&report, &large.key), Done::WrittenByOthers);
    large.is_theirs();
}

#[tokio::test]
async fn what_is_hidden_again_while_it_is_copied_comes_back_by_an_upload_that_is_newer() {
    let (large, messages) = Large::taken();
    large.lab.model.set_time_for_parts(Some(10));
    large.handle(&messages).await;
    // Somebody puts it back and a person deletes it: what the old upload makes would lie below that marker.
    large.lab.model.advance(MINUTE);
    let object = large.lab.bucket.version(&large.key, &large.version);
    large
        .lab
        .bucket
        .put(&large.key, object.and_then(|v| v.object).expect("data"));
    let messages = [large.lab.delete(Who::Alice, &large.key)];
    large.lab.model.advance(SETTLE + MINUTE);
    large.lab.model.set_time_for_parts(None);
    let report = large.handle(&messages).await;
    assert_eq!(*done_about(&report, &large.key), COPIED);
    assert!(large.lab.is_visible(&large.key));
    assert_eq!(large.calls("AbortMultipartUpload"), 1);
    assert_eq!(large.uploads(), []);
}

#[tokio::test]
async fn a_marker_that_comes_while_parts_are_copied_is_seen_and_the_copy_made_again() {
    let (large, messages) = Large::taken();
    let (bucket, of) = (large.lab.bucket.clone(), large.key.clone());
    large.lab.model.on_call(move |model, call| {
        if call.operation == "CompleteMultipartUpload" && bucket.history(&of).entries().len() == 3 {
            model.advance(MINUTE);
            bucket.delete(&of);
        }
    });
    let report = large.handle(&messages).await;
    assert_eq!(*done_about(&report, &large.key), COPIED);
    assert!(large.lab.is_visible(&large.key));
    assert_eq!(large.calls("CreateMultipartUpload"), 2);
    assert_eq!(large.uploads(), []);
}

#[tokio::test]
async fn a_failure_that_doesnt_pass_abandons_the_upload_and_one_that_does_keeps_it() {
    for (kind, kept) in [
        (PortErrorKind::Denied, 0),
        (PortErrorKind::Throttled, 1),
        (PortErrorKind::Transient, 1),
    ] {
        let (large, messages) = Large::taken();
        let fault = Fault::answers(kind).on("UploadPartCopy").from_nth(5).always();
        large.lab.model.plan(fault);
        let report = large.handle(&messages).await;
        let Done::Failed(why) = done_about(&report, &large.key) else {
            panic!("{kind}: {:?}", report.verdicts)
        };
        assert!(
            why.contains("UploadPartCopy") && why.contains(&large.key),
            "{why}"
        );
        assert_eq!(large.uploads().len(), kept, "{kind}");
        assert!(matches!(&report.answers[0].1, Answer::Again { .. }), "{kind}");
        large.lab.model.forget_faults();
        let report = large.handle(&messages).await;
        assert_eq!(*done_about(&report, &large.key), COPIED, "{kind}");
        large.is_back();
        assert_eq!(large.uploads(), [], "{kind}");
    }
}

#[tokio::test]
async fn without_a_memory_nothing_is_left_open() {
    let (large, messages) = Large::taken();
    let m = || large.lab.model.clone();
    let mut guard = Guard::acting(
        m(),
        None::<s3_model::ModelJournal>,
        m(),
        m(),
        large.lab.mandate.clone(),
    );
    large.lab.model.set_time_for_parts(Some(10));
    let report = guard.handle(&messages).await;
    assert!(matches!(
        done_about(&report, &large.key),
        Done::Unfinished { copied: 0, .. }
    ));
    assert_eq!(large.uploads(), []);
    large.lab.model.set_time_for_parts(None);
    let report = guard.handle(&messages).await;
    assert_eq!(*done_about(&report, &large.key), COPIED);
    large.is_back();
}

#[tokio::test]
async fn the_sweep_abandons_uploads_of_ours_that_nobody_needs_and_never_anybody_elses() {
    let (large, messages) = Large::taken();
    // Flink's own upload onto the same key, and one elsewhere.
    let flink = large.lab.bucket.acting_as("AWS:AROAFLINK:taskmanager-1");
    let theirs =
        [&large.key, &large.lab.own_of_head()[0]].map(|key| flink.begin_upload(key, Object::new(b"")));
    large.lab.model.set_time_for_parts(Some(10));
    large.handle(&messages).await;
    assert_eq!(large.uploads().len(), 3);
    let object = large.lab.bucket.version(&large.key, &large.version);
    let object = object.and_then(|v| v.object).expect("data");
    large.lab.bucket.put(&large.key, object);
    large.lab.model.advance(HOUR);
    large.lab.guard().sweep().await;
    let mut left: Vec<String> = large.uploads().into_iter().map(|upload| upload.id).collect();
    left.sort();
    let mut theirs = theirs.to_vec();
    theirs.sort();
    assert_eq!(left, theirs);
    assert_eq!(large.calls("AbortMultipartUpload"), 1);
    // Once is enough.
    large.lab.guard().sweep().await;
    assert_eq!(large.calls("AbortMultipartUpload"), 1);
}

#[tokio::test]
async fn an_observing_guard_says_that_it_would_and_begins_nothing() {
    let (large, messages) = Large::taken();
    let (client, mut observer) = large.lab.observer();
    let report = observer.handle(&messages).await;
    assert_eq!(*done_about(&report, &large.key), Done::WouldCopy);
    assert!(matches!(outcome_on(&report, &large.key), Outcome::Restore(_)));
    assert!(client.calls().iter().all(|c| !c.operation.contains("Upload")));
    assert_eq!(large.uploads(), []);
}

#[tokio::test]
async fn a_large_file_in_an_archive_is_copied_onto_itself_in_parts_over_several_sweeps() {
    let large = Large::new();
    let moved = |o: &mut Object| {
        o.storage_class = Some("GLACIER".to_owned());
        o.thawed = true;
    };
    assert!(large.lab.bucket.edit(&large.key, &large.version, moved));
    large.lab.model.set_time_for_parts(Some(10));
    let report = large.lab.guard().sweep().await;
    assert!(matches!(
        done_about(&report.judged, &large.key),
        Done::Unfinished { .. }
    ));
    assert_eq!(
        large.uploads()[0].parts.len(),
        10,
        "no sweep takes it for left over"
    );
    let current = large.lab.bucket.current(&large.key).expect("it is visible");
    assert_eq!(current.id, large.version);
    large.lab.model.set_time_for_parts(None);
    large.lab.model.advance(HOUR);
    let report = large.lab.guard().sweep().await;
    assert_eq!(*done_about(&report.judged, &large.key), COPIED);
    large.is_back();
    assert_eq!((large.calls("UploadPartCopy"), large.uploads()), (PARTS, vec![]));
}

#[tokio::test]
async fn who_writes_while_a_large_file_is_copied_onto_itself_keeps_what_they_wrote() {
    let large = Large::new();
    let moved = |o: &mut Object| {
        o.storage_class = Some("GLACIER".to_owned());
        o.thawed = true;
    };
    assert!(large.lab.bucket.edit(&large.key, &large.version, moved));
    let (bucket, key, version) = (large.lab.bucket.clone(), large.key.clone(), large.version.clone());
    large.lab.model.on_call(move |_, call| {
        if call.operation == "CompleteMultipartUpload"
            && bucket.current(&key).is_some_and(|v| v.id == version)
        {
            bucket.put(&key, THEIRS);
        }
    });
    let report = large.lab.guard().sweep().await;
    assert_eq!(*done_about(&report.judged, &large.key), Done::WrittenByOthers);
    large.is_theirs();
}

#[tokio::test]
async fn what_intelligent_tiering_archived_is_asked_for_and_needs_no_copy() {
    let large = Large::new();
    let tiered = |o: &mut Object| {
        o.storage_class = Some("INTELLIGENT_TIERING".to_owned());
        o.archive_status = Some("ARCHIVE_ACCESS".to_owned());
    };
    assert!(large.lab.bucket.edit(&large.key, &large.version, tiered));
    // Nothing is archived before it is ninety days old, so that nobody asks for its head.
    large.lab.guard().sweep().await;
    assert_eq!((large.calls("HeadObject"), large.calls("RestoreObject")), (0, 0));
    large.lab.model.advance(3 * DAY);
    let report = large.lab.guard().sweep().await;
    assert!(matches!(
        done_about(&report.judged, &large.key),
        Done::ThawAsked { .. }
    ));
    large.lab.model.advance(6 * HOUR);
    let report = large.lab.guard().sweep().await;
    assert!(report.judged.verdicts.is_empty(), "{:?}", report.judged.verdicts);
    assert_eq!(
        (large.calls("RestoreObject"), large.calls("CreateMultipartUpload")),
        (1, 0)
    );
    let current = large.lab.bucket.current(&large.key).expect("it is visible");
    assert_eq!(current.id, large.version);
}
