//! Files that are younger than the `_metadata` beside them: a new run's, which destroys what it meets, or put there for that very checkpoint.

use s3_model::{Content, Fault, Object};
use stayput_core::report::finding::FindingCode;
use stayput_core::verdict::{LeaveReason, Outcome};
use stayput_guard::batch::Answer;
use stayput_guard::port::PortErrorKind;

use crate::lab::{HOUR, JOB, Lab, MINUTE, Who, metadata_key, outcomes, real_metadata, verdict_on};

#[tokio::test]
async fn a_new_run_that_deletes_the_checkpoint_that_it_meets_is_told_and_nothing_comes_back() {
    for who in [Who::Flink, Who::Nobody, Who::Alice] {
        let lab = Lab::new();
        lab.model.advance(HOUR);
        let of_the_new_run = format!("{JOB}chk-8/0a0b0c0d-1111-4222-8333-444455556666");
        lab.bucket.put(&of_the_new_run, Object::new(Content::Zeroes(10)));
        let mut gone = lab.own_of_head();
        gone.extend([metadata_key(8), of_the_new_run]);
        let messages = lab.delete_all(who, gone);
        lab.model.advance(2 * HOUR);
        let report = lab.guard().handle(&messages).await;
        let verdict = &verdict_on(&report, &metadata_key(8)).verdict;
        assert_eq!(
            verdict.outcome,
            Outcome::Leave(LeaveReason::NewRunInDirectory),
            "{who:?}"
        );
        let told: Vec<FindingCode> = report.findings.iter().map(|f| f.code).collect();
        assert_eq!(told, [FindingCode::DirectoryReused], "{who:?}");
        assert_eq!(lab.copied(), Vec::<String>::new(), "{who:?}");
    }
}

#[tokio::test]
async fn a_file_that_was_copied_into_the_place_where_the_checkpoint_names_it_is_no_new_run() {
    let lab = Lab::new();
    lab.model.advance(HOUR);
    // As after the repair of FLINK-39964: it never was there before.
    let own = lab.own_of_head()[0].clone();
    let object = lab.bucket.current(&own).and_then(|v| v.object).expect("there");
    assert!(lab.bucket.delete_version(&own, &lab.newest_data(&own)));
    lab.bucket.put(&own, object);
    lab.model.advance(HOUR);
    let messages = [lab.delete(Who::Alice, &metadata_key(8))];
    lab.model.advance(HOUR);
    lab.guard().handle(&messages).await;
    assert_eq!(lab.copied(), [metadata_key(8)]);
}

#[tokio::test]
async fn where_a_new_run_has_lower_ids_an_old_metadata_doesnt_come_back_in_its_way() {
    let lab = Lab::new();
    lab.model.advance(HOUR);
    // Deployed again without a restore: its ids begin again, and it will come to 8.
    lab.complete(2);
    lab.model.advance(HOUR);
    let old = [lab.delete(Who::Rule, &metadata_key(8))];
    let report = lab.guard().handle(&old).await;
    assert_eq!(
        verdict_on(&report, &metadata_key(8)).verdict.outcome,
        Outcome::Leave(LeaveReason::NewRunInDirectory)
    );
    assert_eq!(lab.copied(), Vec::<String>::new());
}

#[tokio::test]
async fn a_new_run_that_has_begun_where_a_metadata_was_hidden_doesnt_meet_it_again() {
    let beside = |name: &str| format!("{JOB}chk-8/{name}");
    let since = [
        (beside("0a0b0c0d-1111-4222-8333-444455556666"), false),
        // What a person puts there to mend the loss.
        (beside("_metadata.from-the-backup"), true),
    ];
    for (key, comes_back) in since {
        let lab = Lab::new();
        lab.model.advance(HOUR);
        let messages = [lab.delete(Who::Alice, &metadata_key(8))];
        lab.model.advance(MINUTE);
        lab.bucket.put(&key, Object::new(Content::Zeroes(10)));
        lab.model.advance(HOUR);
        let report = lab.guard().handle(&messages).await;
        assert_eq!(
            lab.copied() == [metadata_key(8)],
            comes_back,
            "{key}: {:?}",
            outcomes(&report)
        );
    }
}

/// A script that copies every object onto itself, to encrypt it or to change its class, makes old checkpoints look new.
#[tokio::test]
async fn an_old_checkpoint_that_somebody_copied_onto_itself_doesnt_pass_for_the_newest() {
    for warm in [true, false] {
        let lab = Lab::new();
        lab.model.advance(HOUR);
        let written = lab.complete(2);
        let mut guard = lab.guard();
        if warm {
            guard.handle(&[written]).await;
        }
        lab.model.advance(MINUTE);
        for id in [7, 8] {
            lab.bucket.put(&metadata_key(id), real_metadata(id));
        }
        lab.model.advance(MINUTE);
        let own = lab.own_of_head()[0].replace("/chk-8/", "/chk-2/");
        let gone = [lab.delete(Who::Alice, &own)];
        lab.model.advance(HOUR);
        let report = guard.handle(&gone).await;
        let copied = lab.copied();
        assert!(
            copied == *std::slice::from_ref(&own),
            "warm {warm}: {copied:?} {:?}",
            outcomes(&report)
        );

        // And a sweep, which no message tells of it.
        lab.bucket.delete(&own);
        lab.model.advance(HOUR);
        lab.guard().sweep().await;
        assert_eq!(lab.copied(), [own.clone(), own], "warm {warm}");
    }
}

/// A run whose ids began again writes the keys of old checkpoints, also of one that is neither the newest by id nor, for all that a warm process knows,
/// by time.
#[tokio::test]
async fn a_checkpoint_that_a_new_run_wrote_over_an_old_one_is_read_again_also_if_that_fails_once() {
    for throttled in [false, true] {
        let lab = Lab::new();
        lab.model.advance(HOUR);
        let mut guard = lab.guard();
        guard
            .handle(&[lab.delete(Who::Flink, &lab.named_by_nobody())])
            .await;
        lab.bucket.delete(&metadata_key(7));
        lab.complete(7);
        lab.model.advance(HOUR);
        let own = lab.own_of_head()[0].replace("/chk-8/", "/chk-7/");
        let gone = [lab.delete(Who::Alice, &own)];
        lab.model.advance(HOUR);
        if throttled {
            let fault = Fault::answers(PortErrorKind::Throttled).on("GetObject");
            lab.model.plan(fault.key(metadata_key(7)).always());
            let report = guard.handle(&gone).await;
            assert!(
                matches!(report.answers[0].1, Answer::Again { .. }),
                "{:?}",
                outcomes(&report)
            );
            lab.model.forget_faults();
            lab.model.advance(MINUTE);
        }
        let report = guard.handle(&gone).await;
        assert!(
            lab.copied() == *std::slice::from_ref(&own),
            "throttled {throttled}: {:?}",
            outcomes(&report)
        );
    }
}

#[tokio::test]
async fn an_old_metadata_in_the_directory_of_the_checkpoint_under_way_doesnt_make_that_complete() {
    let lab = Lab::new();
    lab.model.advance(HOUR);
    lab.complete(3);
    lab.model.advance(HOUR);
    // Deployed again without a restore: its ids begin again.
    lab.complete(2);
    lab.model.advance(MINUTE);
    let told = [lab.delete(Who::Alice, &metadata_key(2))];
    lab.model.advance(MINUTE);
    let under_way = format!("{JOB}chk-3/0a0b0c0d-1111-4222-8333-444455556666");
    lab.bucket.put(&under_way, Object::new(Content::Zeroes(10)));
    lab.model.advance(MINUTE);
    let mut guard = lab.guard();
    let report = guard.handle(&told).await;
    assert!(
        matches!(report.answers[0].1, Answer::Again { .. }),
        "{:?}",
        report.answers
    );
    lab.model.advance(HOUR);
    guard.handle(&told).await;
    assert_eq!(lab.copied(), [metadata_key(2)]);
}
