//! A process that begins anew reads sidecars instead of large `_metadata`, and decides as if it had read those.

use s3_model::Fault;
use stayput_core::metadata_limit::MetadataLimit;
use stayput_guard::mandate::SIDECARS_FROM;
use stayput_guard::port::{Journal, PortErrorKind};

use crate::lab::{
    COPIED, Dice, Lab, MINUTE, SETTLE, Who, done_about, metadata_key, outcome_on, outcomes, real_metadata,
    verdict_on, with_id, word,
};
use crate::mixes::random_world;
use crate::tails::{TAIL, sink_under_a_root};

const LONGEST: u64 = 1 << 20;

/// The real checkpoints have some kilobytes: every one gets a sidecar.
fn lab() -> Lab {
    let mut lab = Lab::new();
    lab.mandate.sidecars_from = 1;
    lab
}

/// How often `_metadata` were read to their end, and how often sidecars were asked for.
fn read(lab: &Lab) -> (usize, usize) {
    let calls = lab.model.take_calls();
    let got = |what: &str| {
        calls
            .iter()
            .filter(|c| c.operation == "GetObject" && c.error.is_none() && c.key.contains(what))
            .count()
    };
    (got("/_metadata"), got("/sidecar/"))
}

fn sidecars(lab: &Lab) -> Vec<String> {
    let mut keys = lab.control.keys();
    keys.retain(|k| k.starts_with("stayput/sidecar/"));
    keys
}

/// Deletes a file that the newest checkpoint needs, asks a new process, and says what it did and read.
async fn deletion_of_a_needed_file(lab: &Lab) -> (usize, usize) {
    let needed = &lab.shared_of_head()[0];
    let told = lab.delete(Who::Alice, needed);
    lab.model.advance(SETTLE + MINUTE);
    lab.model.take_calls();
    let report = lab.guard().handle(&[told]).await;
    assert_eq!(*done_about(&report, needed), COPIED);
    read(lab)
}

#[tokio::test]
async fn what_one_process_read_the_next_one_reads_by_its_sidecar() {
    let lab = lab();
    // What a person reads who wants the proof comes from the `_metadata` itself, each time.
    let first = deletion_of_a_needed_file(&lab).await;
    assert_eq!(first, (3, 2), "chk-7, chk-8, and the proof");
    assert_eq!(sidecars(&lab).len(), 2);
    assert_eq!(deletion_of_a_needed_file(&lab).await, (1, 2));
    assert_eq!(
        deletion_of_a_needed_file(&lab).await,
        (1, 2),
        "nothing was written again"
    );
}

#[tokio::test]
async fn sidecars_that_cant_be_written_are_told_of_once_a_call_with_what_helps() {
    let lab = lab();
    let needed = &lab.shared_of_head()[0];
    let told = lab.delete(Who::Alice, needed);
    lab.model.advance(SETTLE + MINUTE);
    lab.model.plan(
        Fault::answers(PortErrorKind::Denied)
            .on("PutObject")
            .key("/sidecar/")
            .always(),
    );
    let report = lab.guard().handle(&[told]).await;
    assert_eq!(*done_about(&report, needed), COPIED, "it is no less safe");
    let [warning] = report.warnings.as_slice() else {
        panic!("{:?}", report.warnings)
    };
    for part in [
        "2 sidecars couldn't be written",
        "Nothing is less safe",
        "slower",
        "s3:PutObject below the control prefix",
    ] {
        assert!(warning.contains(part), "{part}: {warning}");
    }
    // Where all is well there is nothing to say.
    let lab = self::lab();
    let told = lab.delete(Who::Alice, needed);
    lab.model.advance(SETTLE + MINUTE);
    assert_eq!(lab.guard().handle(&[told]).await.warnings, [""; 0]);
}

#[tokio::test]
async fn a_small_metadata_has_none_and_costs_no_request_more() {
    let mut lab = lab();
    lab.mandate.sidecars_from = 1 + real_metadata(7).len().max(real_metadata(8).len()) as u64;
    assert_eq!(deletion_of_a_needed_file(&lab).await, (3, 0));
    assert_eq!(sidecars(&lab), [""; 0]);
    assert_eq!(Lab::new().mandate.sidecars_from, SIDECARS_FROM);
}

/// So long that it must be asked for alone: nothing is asked for twice, and its sidecar is read though it doesn't fit beside others either.
#[tokio::test]
async fn what_fits_beside_no_other_is_asked_for_once_and_its_sidecar_too() {
    let mut lab = lab();
    let longest = real_metadata(7).len().max(real_metadata(8).len()) as u64;
    lab.mandate.metadata_limit = MetadataLimit::of_settings(longest);
    let heads = |lab: &Lab| {
        let calls = lab.model.calls();
        let of_metadata = calls
            .iter()
            .filter(|c| c.operation == "HeadObject" && c.key.ends_with("/_metadata"));
        of_metadata.count()
    };
    let needed = &lab.shared_of_head()[0];
    for (itself, sidecars, asked) in [(3, 2, 2), (1, 4, 4)] {
        let told = lab.delete(Who::Alice, needed);
        lab.model.advance(SETTLE + MINUTE);
        lab.model.take_calls();
        let report = lab.guard().handle(&[told]).await;
        assert_eq!(*done_about(&report, needed), COPIED);
        assert_eq!(heads(&lab), asked);
        let calls = lab.model.take_calls();
        let got = |what: &str, refused: bool| {
            let gets = calls
                .iter()
                .filter(|c| c.operation == "GetObject" && c.key.contains(what));
            gets.filter(|c| refused || c.error.is_none()).count()
        };
        assert_eq!(
            (got("/_metadata", false), got("/sidecar/", true)),
            (itself, sidecars)
        );
    }
}

/// Whatever lies in its place: the `_metadata` is read, and the sidecar is made again.
#[tokio::test]
async fn a_sidecar_that_is_damaged_or_of_other_bytes_is_made_again() {
    let lab = lab();
    deletion_of_a_needed_file(&lab).await;
    let places = sidecars(&lab);
    let journal = lab.model.journal(&lab.control, "");
    let mut right = Vec::new();
    for place in &places {
        right.push(journal.read(place, LONGEST).await.unwrap().unwrap());
    }
    let mut wrong: Vec<(String, Vec<u8>)> = vec![
        ("empty".to_owned(), Vec::new()),
        ("anything".to_owned(), b"{\"paused\": true}".to_vec()),
        ("truncated".to_owned(), right[0][..right[0].len() - 1].to_vec()),
        ("of another checkpoint".to_owned(), right[1].clone()),
    ];
    for at in [0, 8, 9, 60, 300, right[0].len() - 1] {
        let mut changed = right[0].clone();
        changed[at] ^= 1;
        wrong.push((format!("changed at {at}"), changed));
    }
    for (what, bytes) in wrong {
        journal.write(&places[0], bytes).await.unwrap();
        assert_eq!(deletion_of_a_needed_file(&lab).await, (2, 2), "{what}");
        let again = journal.read(&places[0], LONGEST).await.unwrap().unwrap();
        assert!(again == right[0], "{what} is still there");
        assert_eq!(deletion_of_a_needed_file(&lab).await, (1, 2), "{what}");
    }
}

/// A run whose ids began again writes the same key, and its files aren't those of the old one.
#[tokio::test]
async fn a_metadata_that_was_written_again_is_not_read_by_its_old_sidecar() {
    let lab = lab();
    deletion_of_a_needed_file(&lab).await;
    let spare = lab.named_by_spare_only();
    let told = lab.delete(Who::Alice, &spare);
    // What chk-7 says is what chk-8 says now: nobody names the file any more, whatever the sidecar of the old one says.
    let bytes = with_id(real_metadata(8), 7);
    lab.bucket.put(&metadata_key(7), bytes);
    lab.model.advance(SETTLE + MINUTE);
    let report = lab.guard().handle(&[told]).await;
    assert_eq!(word(outcome_on(&report, &spare)), "leave: not referenced");
}

/// No answer about a sidecar is none about the snapshot.
#[tokio::test]
async fn where_the_control_prefix_or_the_head_fails_the_metadata_itself_is_read() {
    for kind in [
        PortErrorKind::Denied,
        PortErrorKind::Throttled,
        PortErrorKind::Transient,
    ] {
        for (operation, on) in [
            ("HeadObject", "_metadata"),
            ("GetObject", "/sidecar/"),
            ("PutObject", "/sidecar/"),
        ] {
            let lab = lab();
            if operation != "PutObject" {
                deletion_of_a_needed_file(&lab).await;
            }
            lab.model
                .plan(Fault::answers(kind).on(operation).key(on).always());
            let (itself, _) = deletion_of_a_needed_file(&lab).await;
            assert_eq!(itself, 3, "{kind:?} at {operation}");
        }
    }
}

#[tokio::test]
async fn of_sinks_a_sidecar_says_only_that_they_are_there_and_who_needs_their_tails_reads_on() {
    let mut sink = sink_under_a_root();
    sink.mandate.sidecars_from = 1;
    let by_flink = sink.delete(Who::Flink, TAIL);
    sink.model.advance(SETTLE + MINUTE);
    for itself in [1, 0] {
        sink.model.take_calls();
        let report = sink.guard().handle(std::slice::from_ref(&by_flink)).await;
        assert_eq!(word(outcome_on(&report, TAIL)), "leave: tail of a sink");
        assert_eq!(
            read(&sink),
            (itself, 1),
            "Flink deletes a tail at every checkpoint"
        );
    }
    sink.bucket.put(TAIL, vec![1; 13549]);
    let by_alice = sink.delete(Who::Alice, TAIL);
    sink.model.advance(SETTLE + MINUTE);
    let report = sink.guard().handle(&[by_alice]).await;
    assert_eq!(*done_about(&report, TAIL), COPIED);
    let named = verdict_on(&report, TAIL).named_by.as_ref().expect("the sink");
    assert_eq!(named.role, "sink.tail");
}

/// The same mixes of deletions, to a process that finds sidecars of an earlier one and to one that doesn't.
#[tokio::test]
async fn in_random_mixes_a_process_with_sidecars_decides_as_one_without() {
    let (mut by_sidecar, mut told_apart) = (0, std::collections::BTreeSet::new());
    for seed in 0..300 {
        let mut seen = Vec::new();
        for sidecars_from in [u64::MAX, 1] {
            let (mut lab, messages) = random_world(&mut Dice::new(seed));
            lab.mandate.sidecars_from = sidecars_from;
            lab.observer().1.handle(&messages).await;
            let (client, mut second) = lab.observer();
            seen.push(outcomes(&second.handle(&messages).await));
            let kept = |c: &&s3_model::Call| c.key.contains("/sidecar/") && c.error.is_none();
            let kept = client.calls().iter().filter(kept).count();
            assert!(sidecars_from == 1 || kept == 0);
            by_sidecar += kept;
        }
        assert_eq!(seen[0], seen[1], "seed {seed}");
        told_apart.extend(seen.remove(0).into_iter().map(|(_, outcome)| outcome));
    }
    assert!(by_sidecar > 300, "{by_sidecar}");
    assert!(told_apart.len() > 8, "{told_apart:?}");
}
