//! A running job writes checkpoint after checkpoint while the function waits, and each names the file that somebody deleted before it.

use s3_model::{Content, Object};
use stayput_core::class::Class;
use stayput_core::verdict::Outcome;
use stayput_guard::batch::Answer;

use crate::lab::{
    COPIED, DAY, HOUR, JOB_ID, Lab, MINUTE, ROOT, SETTLE, Who, at, done_about, metadata_key, outcome_on,
    outcomes, real_metadata, verdict_on, with_id, word,
};

#[tokio::test]
async fn what_only_newer_checkpoints_still_name_comes_back() {
    let lab = Lab::new();
    let needed = lab.shared_of_head()[0].clone();
    let told = lab.delete(Who::Alice, &needed);
    lab.model.advance(MINUTE);
    // Flink doesn't look whether a file is still there that it names again. The checkpoint that was the newest is gone when the verdict falls.
    lab.complete(9);
    for key in lab.own_of_head() {
        lab.delete(Who::Flink, &key);
    }
    lab.delete(Who::Flink, &metadata_key(8));
    lab.model.advance(SETTLE);
    let report = lab.guard().handle(&[told]).await;
    assert_eq!(
        *done_about(&report, &needed),
        COPIED,
        "{}",
        word(outcome_on(&report, &needed))
    );
    let verdict = &verdict_on(&report, &needed).verdict;
    assert_eq!(verdict.class, Some(Class::Running));
    assert_eq!(verdict.decided_by, Some(lab.bucket.at(&metadata_key(9))));
}

#[tokio::test]
async fn a_rule_dates_its_marker_at_midnight_and_a_checkpoint_of_the_night_needs_the_file() {
    let lab = Lab::new();
    let needed = lab.shared_of_head()[0].clone();
    lab.model.set_now(at("2026-11-28T02:30:00Z"));
    lab.complete(9);
    lab.delete(Who::Flink, &metadata_key(8));
    lab.model.set_now(at("2026-11-28T03:00:00Z"));
    let told = lab.delete(Who::Rule, &needed);
    let report = lab.guard().handle(&[told]).await;
    assert_eq!(
        *done_about(&report, &needed),
        COPIED,
        "{}",
        word(outcome_on(&report, &needed))
    );
}

#[tokio::test]
async fn after_a_store_that_failed_the_older_checkpoint_is_needed_though_nobody_remembers_who_hid_the_newer()
{
    let lab = Lab::new();
    lab.complete(9);
    let by_flink = lab.delete(Who::Flink, &metadata_key(9));
    let mut guard = lab.guard();
    guard.handle(&[by_flink]).await;
    lab.model.advance(10 * MINUTE);
    let needed = lab.own_of_head()[0].clone();
    let told = lab.delete(Who::Alice, &needed);
    lab.model.advance(SETTLE);
    let report = guard.handle(std::slice::from_ref(&told)).await;
    assert_eq!(
        *done_about(&report, &needed),
        COPIED,
        "{}",
        word(outcome_on(&report, &needed))
    );
}

#[tokio::test]
async fn what_a_job_takes_with_it_right_after_a_checkpoint_isnt_brought_back_for_the_one_before() {
    let lab = Lab::new();
    let mut guard = lab.guard();
    // Both are retained, and a warm process knows them.
    let created = lab.complete(9);
    guard.handle(&[created]).await;
    lab.model.advance(MINUTE / 4);
    let shared = lab.shared_of_head()[0].clone();
    for id in [8, 9] {
        lab.delete(Who::Flink, &metadata_key(id));
    }
    let told = lab.delete(Who::Flink, &shared);
    // A look at chk-9 finds it gone so soon after it was written that it could be a store that failed; then chk-8 counts, and is looked at too.
    let report = guard.handle(&[told]).await;
    let outcome = outcome_on(&report, &shared);
    assert!(!matches!(outcome, Outcome::Restore(_)), "{}", word(outcome));
    assert_eq!(lab.copied(), Vec::<String>::new());
}

/// A job that goes on elsewhere names the old directory's files in a directory of its own, which can be younger than the last look at the roots.
#[tokio::test]
async fn what_a_job_took_along_is_asked_of_a_directory_that_wasnt_there_at_the_last_look() {
    for who in [Who::Nobody, Who::Alice] {
        let lab = Lab::new();
        let mut guard = lab.guard();
        guard
            .handle(&[lab.delete(Who::Flink, &lab.named_by_nobody())])
            .await;
        let shared = lab.shared_of_head()[0].clone();
        lab.model.advance(MINUTE);
        // The new job's first checkpoint names the shared files of the old one.
        let elsewhere = "00000000000000000000000000000002";
        for own in lab.own_of_head() {
            let object = lab.bucket.current(&own).and_then(|v| v.object).expect("data");
            lab.bucket.put(&own.replace(JOB_ID, elsewhere), object);
        }
        lab.bucket
            .put(&metadata_key(8).replace(JOB_ID, elsewhere), real_metadata(8));
        lab.model.advance(MINUTE);
        let by = if who == Who::Nobody { who } else { Who::Flink };
        let mut gone = lab.delete_all(by, [metadata_key(7), metadata_key(8)]);
        gone.push(lab.delete(who, &shared));
        let report = guard.handle(&gone).await;
        assert!(
            matches!(report.answers[2].1, Answer::Again { .. }),
            "{who:?}: {:?}",
            outcomes(&report)
        );
        lab.model.advance(2 * SETTLE);
        guard.handle(&gone).await;
        assert_eq!(lab.copied(), [shared], "{who:?}");
    }
}

/// A rule takes the newer checkpoint too and it comes back: it is no older for that, and the job has gone on all the same.
#[tokio::test]
async fn a_newer_checkpoint_that_was_put_back_still_says_that_the_job_went_on() {
    let lab = Lab::new();
    let mut guard = lab.guard();
    let mut messages = vec![lab.delete(Who::Alice, &metadata_key(8))];
    lab.model.advance(MINUTE);
    messages.push(lab.complete(9));
    lab.model.advance(HOUR);
    guard.handle(&messages).await;
    assert_eq!(lab.copied(), Vec::<String>::new());

    lab.model.advance(24 * HOUR);
    let mut newer = lab.own_of_head();
    for key in &mut newer {
        *key = key.replace("/chk-8/", "/chk-9/");
    }
    newer.push(metadata_key(9));
    let gone = lab.delete_all(Who::Rule, &newer);
    lab.model.advance(HOUR);
    guard.handle(&gone).await;
    assert_eq!(lab.copied().len(), newer.len());

    lab.model.advance(HOUR);
    guard.sweep().await;
    lab.guard().sweep().await;
    assert!(!lab.is_visible(&metadata_key(8)), "{:?}", lab.copied());
    assert_eq!(lab.copied().len(), newer.len());
}

/// Its next checkpoint never becomes complete, and a savepoint is nothing that its JobManager goes on from.
#[tokio::test]
async fn a_savepoint_of_its_own_doesnt_say_that_a_job_moved() {
    let lab = Lab::new();
    lab.model.advance(MINUTE);
    let savepoint = format!("{ROOT}savepoint-{}-0123456789ab/_metadata", &JOB_ID[..6]);
    lab.bucket.put(&savepoint, with_id(real_metadata(8), 9));
    lab.model.advance(MINUTE);
    let gone = [lab.delete(Who::Alice, &metadata_key(8))];
    lab.model.advance(MINUTE);
    let under_way = lab.own_of_head()[0].replace("/chk-8/", "/chk-10/");
    lab.bucket.put(&under_way, Object::new(Content::Zeroes(10)));
    lab.model.advance(HOUR);
    let report = lab.guard().handle(&gone).await;
    assert_eq!(lab.copied(), [metadata_key(8)], "{:?}", outcomes(&report));
}

/// A person deleted the newest `_metadata` of a running job, which went on and ended; months later its owner deletes the rest. What went then shows still
/// that the older one isn't wanted.
#[tokio::test]
async fn what_was_left_since_the_job_went_on_stays_away_when_the_newer_checkpoint_is_deleted_too() {
    let lab = Lab::new();
    let mut guard = lab.guard();
    let by_alice = lab.delete(Who::Alice, &metadata_key(8));
    lab.model.advance(MINUTE);
    let complete = lab.complete(9);
    lab.model.advance(SETTLE);
    let report = guard.handle(&[by_alice, complete]).await;
    assert_eq!(
        word(outcome_on(&report, &metadata_key(8))),
        "leave: same run went on"
    );
    lab.model.advance(100 * DAY);
    let rest: Vec<String> = lab.all_keys().into_iter().filter(|k| lab.is_visible(k)).collect();
    let by_owner = lab.delete_all(Who::Alice, &rest);
    lab.model.advance(SETTLE + MINUTE);
    guard.handle(&by_owner).await;
    for _ in 0..2 {
        lab.model.advance(HOUR);
        guard.sweep().await;
    }
    assert_eq!(lab.copied(), [""; 0]);
}

#[tokio::test]
async fn a_metadata_whose_message_was_lost_comes_back_with_its_files() {
    let lab = Lab::new();
    let own = lab.own_of_head();
    let rule = r#"{"Rules": [{"ID": "wipe", "Status": "Enabled", "Filter": {"Prefix": ""}, "Expiration": {"Date": "2026-11-28T00:00:00Z"}}]}"#;
    lab.bucket
        .set_lifecycle(s3_documents::lifecycle::parse(rule.as_bytes()).expect("rules"));
    lab.model.advance(DAY);
    lab.delete(Who::Rule, &metadata_key(8));
    let told: Vec<_> = own.iter().map(|key| lab.delete(Who::Rule, key)).collect();
    lab.model.advance(SETTLE);
    let report = lab.guard().handle(&told[..1]).await;
    for key in own.iter().chain([&metadata_key(8)]) {
        assert_eq!(
            *done_about(&report, key),
            COPIED,
            "{key}: {}",
            word(outcome_on(&report, key))
        );
    }
}

/// Who hid the old one is remembered, and that newer ones had overtaken it before Flink discarded those.
#[tokio::test]
async fn a_spare_that_a_stranger_hid_is_no_head_after_its_job_went_on_and_ended() {
    let lab = Lab::new();
    let mut guard = lab.guard();
    guard.handle(&[lab.delete(Who::Alice, &metadata_key(7))]).await;
    let mut by_flink = Vec::new();
    for id in 9..=11 {
        lab.model.advance(10 * MINUTE);
        lab.complete(id);
        by_flink.push(lab.delete(Who::Flink, &metadata_key(id - 1)));
    }
    lab.model.advance(HOUR);
    by_flink.push(lab.delete(Who::Flink, &metadata_key(11)));
    guard.handle(&by_flink).await;
    lab.model.advance(3 * HOUR);
    lab.guard().sweep().await;
    assert_eq!(lab.copied(), [""; 0]);
}
