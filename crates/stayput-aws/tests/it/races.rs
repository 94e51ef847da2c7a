//! Somebody writes a key at the moment in which the guard copies onto it; and two guards at once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use stayput_aws::clock::SystemClock;
use stayput_aws::s3::S3;
use stayput_core::restoring::copy_metadata;
use stayput_core::timestamp::Timestamp;
use stayput_core::verdict::{LeaveReason, Outcome};
use stayput_core::version::{VersionEntry, VersionId};
use stayput_guard::batch::Done;
use stayput_guard::port::{Clock, Reading};

use crate::server::{Bucket, Server, on_servers};
use crate::world::{JOB, RealGuard, Who, World, verdict_on};

on_servers! {
    [MiniStack, Ceph, SeaweedFs]
    a_writer_who_comes_while_the_guard_copies;
    two_guards_bring_a_file_back_once_or_both_see_that_it_is_there;
}

/// Rounds of a race; each is a deletion, looks, and copies and writes at once. More where the condition decides.
fn rounds(server: Server) -> u32 {
    if server.honours_the_condition() { 60 } else { 20 }
}

/// Nothing is waited for: somebody's deletion is judged at once.
const AT_ONCE: Duration = Duration::ZERO;

fn now() -> Timestamp {
    SystemClock.now()
}

/// A world whose every file is there, a warm guard, and a file that the newest checkpoint needs.
async fn ready(url: &str) -> (Arc<World>, RealGuard, String) {
    let world = World::at(url).await;
    let uploaded = world.upload(|_| true).await;
    assert!(uploaded > 50, "{uploaded} files");
    let named = world.named_by("chk-5");
    let key = named
        .into_iter()
        .find(|k| k.starts_with(&format!("{JOB}shared/")));
    let guard = world.guard(AT_ONCE);
    (Arc::new(world), guard, key.expect("a shared file"))
}

/// The data versions that came since, the newest first, and which of them are the guard's.
async fn since(bucket: &Bucket, key: &str, known: &[VersionId]) -> Vec<(VersionId, bool)> {
    let reading = S3::new(&bucket.connection);
    let history = bucket.history(&reading, key).await;
    let new: Vec<&VersionEntry> = history
        .data_versions()
        .filter(|v| !known.contains(&v.id))
        .collect();
    let mut whose = Vec::new();
    for version in new {
        let head = reading.head(&bucket.at(key), Some(&version.id)).await.unwrap();
        let ours = head.metadata_value(copy_metadata::SOURCE_VERSION).is_some();
        whose.push((version.id.clone(), ours));
    }
    whose
}

async fn ids(bucket: &Bucket, key: &str) -> Vec<VersionId> {
    let history = bucket.history(&S3::new(&bucket.connection), key).await;
    history.entries().iter().map(|e| e.id.clone()).collect()
}

/// How the rounds went.
#[derive(Debug, Default)]
struct Count {
    /// The guard's copy came first and the writer's version lies on it.
    copied_first: u32,
    /// The writer came between look and copy: the copy was refused, or seen to be too late before it was sent.
    written_between: u32,
    /// The writer came before the look.
    written_before: u32,
    /// On a server that ignores the condition: the copy lies on the writer's version, and the guard said so.
    on_top_and_told: u32,
}

async fn a_writer_who_comes_while_the_guard_copies(server: Server) {
    let Some(url) = server.url() else { return };
    let (world, mut guard, key) = ready(&url).await;
    let at = world.bucket.at(&key);
    let state = &world.files[&key];
    // The first call reads the bucket and asks the server; the races begin with a guard that knows all that. The second shows how long one takes.
    let mut took = Duration::ZERO;
    for _ in 0..2 {
        let marker = world.bucket.delete(&key).await;
        let began = Instant::now();
        let report = guard
            .handle(&[world.told(Who::Somebody, &key, &marker, now())])
            .await;
        took = began.elapsed();
        let acted = verdict_on(&report, &at);
        let condition_honoured = server.honours_the_condition();
        assert_eq!(acted.done, Done::Copied { condition_honoured }, "{acted:?}");
    }

    let mut count = Count::default();
    // The writer aims at the copy: later after each round in which it came first, earlier after the others, and never quite as before.
    let mut delay = took.mul_f64(0.7);
    let mut jitter = 0x9e37_79b9_7f4a_7c15_u64;
    for round in 0..rounds(server) {
        // What the writer of the last round left fits the handle; it is what comes back in this one.
        let marker = world.bucket.delete(&key).await;
        let known = ids(&world.bucket, &key).await;
        jitter = jitter.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let aim =
            delay.mul_f64(0.8 + f64::from(u32::try_from(jitter >> 40).unwrap()) / f64::from(1 << 24) * 0.4);
        let theirs: Vec<u8> = state
            .iter()
            .map(|b| b ^ u8::try_from(round % 255 + 1).unwrap())
            .collect();
        let writer = tokio::spawn({
            let (world, key) = (world.clone(), key.clone());
            async move {
                tokio::time::sleep(aim).await;
                world.bucket.put(&key, &theirs).await
            }
        });
        let message = world.told(Who::Somebody, &key, &marker, now());
        let report = guard.handle(&[message]).await;
        let written = writer.await.unwrap();

        let acted = verdict_on(&report, &at);
        let new = since(&world.bucket, &key, &known).await;
        let place = new.iter().position(|(id, _)| *id == written);
        let place = place.unwrap_or_else(|| panic!("round {round}: the writer's version is gone: {new:?}"));
        let (above, below) = (&new[..place], &new[place + 1..]);
        assert!(above.iter().chain(below).all(|(_, ours)| *ours), "{new:?}");
        let told = format!("round {round}: {acted:?} {new:?}");
        match (above.len(), below.len()) {
            (0, 0) => match (&acted.verdict.outcome, &acted.done) {
                (Outcome::Leave(LeaveReason::Visible), Done::Nothing) => count.written_before += 1,
                (Outcome::Restore(_), Done::WrittenByOthers) => count.written_between += 1,
                _ => panic!("{told}"),
            },
            (0, 1) => {
                match &acted.done {
                    Done::Copied { condition_honoured } => {
                        assert_eq!(*condition_honoured, server.honours_the_condition(), "{told}");
                    }
                    // It was seen after the copy that the writer's is on top.
                    Done::WrittenByOthers if !server.honours_the_condition() => {}
                    _ => panic!("{told}"),
                }
                count.copied_first += 1;
            }
            (1, 0) if !server.honours_the_condition() => {
                let Done::Failed(why) = &acted.done else {
                    panic!("the copy lies on the writer's version and nobody is told: {told}")
                };
                assert!(why.contains(written.as_str()), "{why}");
                count.on_top_and_told += 1;
            }
            _ => panic!("{told}"),
        }
        delay = if below.is_empty() {
            delay.mul_f64(1.15)
        } else {
            delay.mul_f64(0.85)
        };
    }
    println!("{server:?}: {count:?} of {} rounds", rounds(server));
    let writer_first = count.written_before + count.written_between + count.on_top_and_told;
    assert!(count.copied_first > 0 && writer_first > 0, "no race: {count:?}");
    if server.honours_the_condition() {
        assert!(
            count.written_between > 0,
            "the condition never decided: {count:?}"
        );
    }
}

async fn two_guards_bring_a_file_back_once_or_both_see_that_it_is_there(server: Server) {
    let Some(url) = server.url() else { return };
    let (world, mut one, key) = ready(&url).await;
    let mut other = world.guard(AT_ONCE).of_instance("the other");
    let at = world.bucket.at(&key);
    let (mut at_once, mut one_after_the_other, mut twice) = (0, 0, 0);
    let began = Instant::now();
    for round in 0..rounds(server) / 2 {
        let marker = world.bucket.delete(&key).await;
        let known = ids(&world.bucket, &key).await;
        let message = [world.told(Who::Somebody, &key, &marker, now())];
        let (a, b) = tokio::join!(one.handle(&message), other.handle(&message));
        let new = since(&world.bucket, &key, &known).await;
        let done = [&verdict_on(&a, &at).done, &verdict_on(&b, &at).done];
        let told = format!("round {round}: {done:?} {new:?}");
        let copied = done.iter().filter(|d| matches!(d, Done::Copied { .. })).count();
        for done in done {
            match done {
                Done::Copied { .. } | Done::Nothing => {}
                Done::AlreadyCopied => at_once += 1,
                Done::Failed(_) | Done::WrittenByOthers | Done::WouldCopy => panic!("{told}"),
            }
        }
        one_after_the_other += usize::from(done.contains(&&Done::Nothing));
        if server.honours_the_condition() {
            assert_eq!((new.len(), copied), (1, 1), "{told}");
        } else {
            assert!(matches!(new.len(), 1 | 2) && copied <= new.len(), "{told}");
            twice += usize::from(new.len() == 2);
        }
        let reading = S3::new(&world.bucket.connection);
        let body = reading.body(&at, None, 1 << 20).await.unwrap();
        assert_eq!(body.bytes, world.files[&key]);
    }
    println!(
        "{server:?}: {} rounds in {:?}; {at_once} copies refused or known as done, {one_after_the_other} times visible at the look, {twice} copied twice",
        rounds(server) / 2,
        began.elapsed()
    );
    assert!(at_once + twice > 0, "the guards never met");
}
