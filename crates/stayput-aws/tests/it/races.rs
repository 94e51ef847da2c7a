//! Somebody writes a key at the moment in which the guard copies onto it; and two guards at once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use s3_documents::bucket::Versioning;
use s3_documents::lifecycle::LifecycleConfiguration;
use stayput_aws::clock::SystemClock;
use stayput_aws::s3::S3;
use stayput_core::location::ObjectLocation;
use stayput_core::restoring::copy_metadata;
use stayput_core::timestamp::Timestamp;
use stayput_core::verdict::{LeaveReason, Outcome};
use stayput_core::version::{VersionEntry, VersionId};
use stayput_guard::batch::Done;
use stayput_guard::guard::Guard;
use stayput_guard::port::{
    Clock, Listing, ObjectBody, ObjectHead, PortError, Reading, VersionListing, VersionsOf,
};
use tokio::sync::{RwLock, watch};

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

/// A world whose every file is there, and a file that the newest checkpoint needs.
async fn ready(url: &str) -> (Arc<World>, String) {
    let world = World::at(url).await;
    let uploaded = world.upload(|_| true).await;
    assert!(uploaded > 50, "{uploaded} files");
    let named = world.named_by("chk-5");
    let key = named
        .into_iter()
        .find(|k| k.starts_with(&format!("{JOB}shared/")));
    (Arc::new(world), key.expect("a shared file"))
}

/// S3 as the guard reads it, and a test that knows when the guard has looked at the key, and can hold the answer back.
struct Observed {
    s3: S3,
    key: String,
    looks: watch::Sender<u32>,
    /// Whoever holds it for writing holds the answers back.
    answers: Arc<RwLock<()>>,
}

impl Reading for Observed {
    async fn list(&self, bucket: &str, prefix: &str, by_directory: bool) -> Result<Listing, PortError> {
        self.s3.list(bucket, prefix, by_directory).await
    }

    async fn versions(&self, of: VersionsOf<'_>) -> Result<VersionListing, PortError> {
        let listing = self.s3.versions(of).await?;
        if listing.entries.iter().any(|entry| entry.key == self.key) {
            self.looks.send_modify(|count| *count += 1);
            drop(self.answers.read().await);
        }
        Ok(listing)
    }

    async fn head(&self, at: &ObjectLocation, version: Option<&VersionId>) -> Result<ObjectHead, PortError> {
        self.s3.head(at, version).await
    }

    async fn body(
        &self,
        at: &ObjectLocation,
        version: Option<&VersionId>,
        max_bytes: u64,
    ) -> Result<ObjectBody, PortError> {
        self.s3.body(at, version, max_bytes).await
    }

    async fn versioning(&self, bucket: &str) -> Result<Versioning, PortError> {
        self.s3.versioning(bucket).await
    }

    async fn lifecycle(&self, bucket: &str) -> Result<LifecycleConfiguration, PortError> {
        self.s3.lifecycle(bucket).await
    }
}

/// When the writer of a round comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Comes {
    /// So long after the guard was told, wherever it is then.
    AfterTheMessage(Duration),
    /// So long after the guard has looked.
    AfterTheLook(Duration),
    /// When the guard has looked; and until the writer is done, it doesn't hear what it saw. The copy is too late, however slow the machine.
    BeforeTheCopy,
}

impl Comes {
    async fn wait(self, mut looks: watch::Receiver<u32>) {
        let (after_the_look, delay) = match self {
            Self::AfterTheMessage(delay) => (false, delay),
            Self::AfterTheLook(delay) => (true, delay),
            Self::BeforeTheCopy => (true, Duration::ZERO),
        };
        if after_the_look {
            let looked = tokio::time::timeout(Duration::from_secs(60), looks.changed()).await;
            looked.expect("the guard never looked").expect("the guard lives");
        }
        tokio::time::sleep(delay).await;
    }
}

/// A writer that aims at the copy: later after each round in which it came first, earlier after the others, and never quite as before.
struct Aim {
    delay: Duration,
    jitter: u64,
}

impl Aim {
    fn at(delay: Duration) -> Self {
        Self {
            delay,
            jitter: 0x9e37_79b9_7f4a_7c15,
        }
    }

    fn next(&mut self) -> Duration {
        self.jitter = self
            .jitter
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let part = f64::from(u32::try_from(self.jitter >> 40).unwrap()) / f64::from(1 << 24);
        self.delay.mul_f64(0.8 + part * 0.4)
    }

    fn correct(&mut self, came_first: bool) {
        self.delay = self.delay.mul_f64(if came_first { 1.25 } else { 0.75 });
    }
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
    /// The server ignores the condition, or doesn't check it against writes under way: the copy lies on the writer's version, and the guard said so.
    on_top_and_told: u32,
}

async fn a_writer_who_comes_while_the_guard_copies(server: Server) {
    let Some(url) = server.url() else { return };
    let (world, key) = ready(&url).await;
    let at = world.bucket.at(&key);
    let state = &world.files[&key];
    let (looks, answers) = (watch::Sender::new(0), Arc::new(RwLock::new(())));
    let reading = Observed {
        s3: S3::new(&world.bucket.connection),
        key: key.clone(),
        looks: looks.clone(),
        answers: answers.clone(),
    };
    let mandate = world.mandate(AT_ONCE);
    let mut guard: RealGuard<_, _> = Guard::acting(
        reading,
        Some(world.journal()),
        SystemClock,
        world.copies(),
        mandate,
    );
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
    let mut after_the_message = Aim::at(took.mul_f64(0.7));
    let mut after_the_look = Aim::at(took.mul_f64(0.3));
    for round in 0..rounds(server) {
        // What the writer of the last round left fits the handle; it is what comes back in this one.
        let marker = world.bucket.delete(&key).await;
        let known = ids(&world.bucket, &key).await;
        let comes = match round % 5 {
            0 => Comes::BeforeTheCopy,
            1 | 2 => Comes::AfterTheMessage(after_the_message.next()),
            _ => Comes::AfterTheLook(after_the_look.next()),
        };
        let held_back = if comes == Comes::BeforeTheCopy {
            Some(answers.clone().write_owned().await)
        } else {
            None
        };
        let theirs: Vec<u8> = state
            .iter()
            .map(|b| b ^ u8::try_from(round % 255 + 1).unwrap())
            .collect();
        let writer = tokio::spawn({
            let (world, key, looks) = (world.clone(), key.clone(), looks.subscribe());
            async move {
                comes.wait(looks).await;
                let written = world.bucket.put(&key, &theirs).await;
                drop(held_back);
                written
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
        let visible = S3::new(&world.bucket.connection).head(&at, None).await.unwrap();
        assert_eq!(
            visible.version.as_ref(),
            Some(&new[0].0),
            "the server shows another one: {new:?}"
        );
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
                    Done::WrittenByOthers => {}
                    // Here another can be called the latest for a moment than the one that stays on top: people are told to look, and find nothing lost.
                    Done::Failed(why) if server == Server::SeaweedFs && why.contains(written.as_str()) => {}
                    _ => panic!("{told}"),
                }
                count.copied_first += 1;
            }
            (1, 0) => {
                let Done::Failed(why) = &acted.done else {
                    panic!("the copy lies on the writer's version and nobody is told: {told}")
                };
                assert!(why.contains(written.as_str()), "{why}");
                count.on_top_and_told += 1;
            }
            _ => panic!("{told}"),
        }
        match comes {
            Comes::BeforeTheCopy => assert_eq!(acted.done, Done::WrittenByOthers, "{told}"),
            Comes::AfterTheMessage(_) => after_the_message.correct(below.is_empty()),
            Comes::AfterTheLook(_) => after_the_look.correct(below.is_empty()),
        }
    }
    println!("{server:?}: {count:?} of {} rounds", rounds(server));
    let aimed_and_first = rounds(server) * 4 / 5 - count.copied_first;
    assert!(
        count.copied_first > 0 && aimed_and_first > 0,
        "no race: {count:?}"
    );
}

async fn two_guards_bring_a_file_back_once_or_both_see_that_it_is_there(server: Server) {
    let Some(url) = server.url() else { return };
    let (world, key) = ready(&url).await;
    let mut one = world.guard(AT_ONCE);
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
                Done::Failed(_)
                | Done::WrittenByOthers
                | Done::WouldCopy
                | Done::Unhidden { .. }
                | Done::Unfinished { .. }
                | Done::ThawAsked { .. } => panic!("{told}"),
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
