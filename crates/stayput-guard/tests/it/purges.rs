//! What a noncurrent rule purges: thousands of messages that mean nothing, and the one that means a loss.

use stayput_core::report::finding::{Finding, FindingCode};
use stayput_core::verdict::Outcome;
use stayput_guard::batch::{Answer, BatchReport};

use crate::lab::{HOUR, JOB, Lab, SETTLE, Who, metadata_key, outcome_on, outcomes, word};

#[tokio::test]
async fn purges_of_what_nobody_needs_are_left_without_a_request_for_any_key() {
    let lab = Lab::new();
    let mut messages = Vec::new();
    for n in 0..500 {
        let key = format!("{JOB}shared/aaaaaaaa-0000-4000-8000-{n:012}");
        let old = lab.bucket.put(&key, b"subsumed long ago");
        let marker = lab.bucket.delete(&key).expect("versioned");
        messages.push(lab.purge(&key, &old));
        messages.push(lab.purge(&key, &marker));
    }
    // Of what only a spare names, too.
    let spare = lab.named_by_spare_only();
    let old = lab.newest_data(&spare);
    lab.bucket.delete(&spare);
    messages.push(lab.purge(&spare, &old));
    let report = lab.guard().handle(&messages).await;
    assert_eq!(report.summary.left.get("not referenced").copied(), Some(500));
    assert_eq!(word(outcome_on(&report, &spare)), "leave: spare");
    assert!(report.answers.iter().all(|(_, a)| *a == Answer::Done));
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    let of_keys: Vec<_> = lab
        .model
        .calls()
        .into_iter()
        .filter(|c| c.key.contains("/shared/"))
        .collect();
    assert_eq!(of_keys, []);
}

#[tokio::test]
async fn a_purge_below_a_visible_object_is_left() {
    let lab = Lab::new();
    let key = lab.shared_of_head()[0].clone();
    let old = lab.newest_data(&key);
    put_again(&lab, &key);
    let report = lab.guard().handle(&[lab.purge(&key, &old)]).await;
    assert!(
        matches!(outcome_on(&report, &key), Outcome::Leave(_)),
        "{:?}",
        outcomes(&report)
    );
    assert_eq!(lab.copied(), Vec::<String>::new());
}

#[tokio::test]
async fn the_purge_of_the_last_version_of_a_needed_object_is_a_loss_told_once_per_snapshot() {
    let lab = Lab::new();
    let shared = lab.shared_of_head();
    let mut messages = Vec::new();
    for key in &shared[..5] {
        let old = lab.newest_data(key);
        lab.delete(Who::Rule, key);
        messages.push(lab.purge(key, &old));
    }
    let report = lab.guard().handle(&messages).await;
    for key in &shared[..5] {
        assert_eq!(
            *outcome_on(&report, key),
            Outcome::Lost(FindingCode::PurgedVersion),
            "{key}"
        );
    }
    let lost: Vec<_> = report
        .findings
        .iter()
        .filter(|f| f.code == FindingCode::PurgedVersion)
        .collect();
    assert_eq!(lost.len(), 1);
    assert_eq!(lost[0].objects, 5);
    assert!(lost[0].about.ends_with("chk-8/_metadata"), "{}", lost[0].about);
}

/// Whoever only observes sees for a month what a rule hid, and then what is left of it is purged.
#[tokio::test]
async fn the_purge_of_a_hidden_metadata_that_somebody_needs_is_a_loss_told_once() {
    for by_sweep in [false, true] {
        let lab = Lab::new();
        let metadata = metadata_key(8);
        let (_, mut guard) = lab.observer();
        let hidden = lab.delete(Who::Rule, &metadata);
        lab.model.advance(HOUR);
        guard.handle(&[hidden]).await;
        let purged = lab.purge(&metadata, &lab.newest_data(&metadata));
        let report = if by_sweep {
            guard.sweep().await.judged
        } else {
            guard.handle(std::slice::from_ref(&purged)).await
        };
        let lost = |report: &BatchReport| {
            let about_it =
                |f: &&Finding| f.code == FindingCode::PurgedVersion && f.about.ends_with(&metadata);
            report.findings.iter().filter(about_it).count()
        };
        assert_eq!(lost(&report), 1, "by sweep: {by_sweep} {:?}", outcomes(&report));
        assert_eq!(lost(&guard.handle(&[purged]).await), 0);
    }
}

#[tokio::test]
async fn the_purge_of_a_metadata_that_flink_hid_or_a_newer_checkpoint_follows_is_none() {
    // Subsumed while a newer one stands.
    let lab = Lab::new();
    let (_, mut guard) = lab.observer();
    let subsumed = lab.delete(Who::Flink, &metadata_key(7));
    guard.handle(&[subsumed]).await;
    let purged = lab.purge(&metadata_key(7), &lab.newest_data(&metadata_key(7)));
    assert_eq!(guard.handle(&[purged]).await.findings, []);

    // A rule hid it, and the job went on.
    let hidden = lab.delete(Who::Rule, &metadata_key(8));
    guard.handle(&[hidden]).await;
    lab.model.advance(HOUR);
    let completed = lab.complete(9);
    guard.handle(&[completed]).await;
    let purged = lab.purge(&metadata_key(8), &lab.newest_data(&metadata_key(8)));
    let report = guard.handle(&[purged]).await;
    let lost = report
        .findings
        .iter()
        .find(|f| f.code == FindingCode::PurgedVersion);
    assert_eq!(lost, None);
}

#[tokio::test]
async fn the_purge_of_one_version_while_another_that_fits_is_left_is_no_loss() {
    let lab = Lab::new();
    let key = lab.shared_of_head()[0].clone();
    let first = lab.newest_data(&key);
    let second = put_again(&lab, &key);
    let deleted = lab.delete(Who::Alice, &key);
    let purged = lab.purge(&key, &first);
    lab.model.advance(SETTLE);
    let report = lab.guard().handle(&[purged, deleted]).await;
    let Outcome::Restore(permit) = outcome_on(&report, &key) else {
        panic!("{:?}", outcomes(&report))
    };
    assert_eq!(permit.source().version, second);
}

/// A second version of the same length on top.
fn put_again(lab: &Lab, key: &str) -> stayput_core::version::VersionId {
    let before = lab.bucket.current(key).and_then(|v| v.object).expect("data");
    lab.bucket.put(
        key,
        s3_model::Object::new(s3_model::Content::Zeroes(before.content.len())),
    )
}

/// Hides and purges a key, and returns the finding that tells of it.
async fn lost(lab: &Lab, key: &str) -> stayput_core::report::finding::Finding {
    let old = lab.newest_data(key);
    let messages = [lab.delete(Who::Rule, key), lab.purge(key, &old)];
    let report = lab.guard().handle(&messages).await;
    let mut told = report
        .findings
        .into_iter()
        .filter(|f| f.code == FindingCode::PurgedVersion);
    told.next().expect("a loss is told")
}

#[tokio::test]
async fn a_loss_names_every_broken_checkpoint_and_the_newest_that_still_works() {
    let url = |id| format!("s3://{}/{}", crate::lab::BUCKET, crate::lab::metadata_key(id));
    let lab = Lab::new();
    let (newest, before) = (lab.named_by(8), lab.named_by(7));
    let only_newest = newest
        .difference(&before)
        .find(|k| k.contains("/shared/"))
        .expect("a new file");
    let loss = lost(&lab, only_newest).await;
    assert_eq!(loss.broken, [url(8)]);
    assert_eq!(loss.newest_that_works, Some(url(7)));
    assert!(
        loss.to_string().contains("The newest that still works: "),
        "{loss}"
    );

    let lab = Lab::new();
    let both = newest
        .intersection(&before)
        .next()
        .expect("checkpoints share files");
    let mut loss = lost(&lab, both).await;
    loss.broken.sort();
    assert_eq!(loss.broken, [url(7), url(8)]);
    assert_eq!(loss.newest_that_works, None);
    assert!(
        loss.to_string()
            .contains("No checkpoint of this directory is known to work."),
        "{loss}"
    );
}
