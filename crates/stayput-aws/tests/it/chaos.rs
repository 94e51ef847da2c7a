//! The network loses requests and answers, the function is killed in the middle of a batch, a hundred thousand messages come at once: in
//! the end the bucket of a real server is what the model says.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use s3_documents::bucket::Versioning;
use s3_model::Model;
use stayput_aws::clock::SystemClock;
use stayput_aws::connection::Connection;
use stayput_aws::copies::Copies;
use stayput_aws::journal::S3Journal;
use stayput_aws::s3::S3;
use stayput_core::version::VersionId;
use stayput_guard::batch::{Answer, Message};
use stayput_guard::guard::Guard;
use stayput_guard::port::{Clock, Reading};
use stayput_tests::emulator::Emulator;
use stayput_tests::recorder::{Fate, Recorder};
use stayput_tests::system::{bootstrap, emulator};

use crate::programs::{connection, from_queue};
use crate::server::{REGION, Server, on_servers};
use crate::world::{ROOT, Who, World};

on_servers! {
    [MiniStack, Ceph, SeaweedFs]
    whatever_the_network_loses_all_that_is_needed_is_back_once_in_the_end;
}

on_servers! {
    [MiniStack]
    however_often_the_function_is_killed_in_a_batch_all_that_is_needed_is_back_once;
    needed_ones_among_a_hundred_thousand_messages_come_back;
}

/// A rule has hidden every file of the job but the `_metadata` of its checkpoints: what the newest needs, and what it doesn't.
struct Storm {
    world: World,
    markers: BTreeMap<String, VersionId>,
}

impl Storm {
    async fn at(url: &str) -> Self {
        let world = World::at(url).await;
        assert!(world.upload(|_| true).await > 50);
        let mut markers = BTreeMap::new();
        for key in world.files.keys().filter(|key| !key.ends_with("/_metadata")) {
            markers.insert(key.clone(), world.bucket.delete(key).await);
        }
        assert!(markers.len() > 50, "{} are hidden", markers.len());
        Self { world, markers }
    }

    fn messages(&self) -> Vec<Message> {
        let now = SystemClock.now();
        let told = |(key, marker): (&String, &VersionId)| self.world.told(Who::Rule, key, marker, now);
        self.markers.iter().map(told).collect()
    }

    fn bodies(&self) -> Vec<String> {
        let now = SystemClock.now();
        let body = |(key, marker): (&String, &VersionId)| self.world.body(Who::Rule, key, marker, now);
        self.markers.iter().map(|told| body(told).to_string()).collect()
    }

    /// What is visible below the root in the end, by the model of S3 and a guard that nothing befalls.
    async fn as_the_model_says(&self) -> BTreeSet<String> {
        let model = Model::new(SystemClock.now());
        let bucket = model.create_bucket(&self.world.bucket.name, Versioning::Enabled);
        for (key, bytes) in &self.world.files {
            bucket.put(key, bytes.clone());
        }
        let deleted = self.markers.keys().map(|key| {
            let marker = bucket.delete(key).expect("it was there");
            self.world.told(Who::Rule, key, &marker, model.now())
        });
        let messages: Vec<Message> = deleted.collect();
        let control = model.create_bucket("ops", Versioning::Never);
        let journal = model.journal(&control, "stayput/");
        let mandate = self.world.mandate(Duration::ZERO);
        let mut guard = Guard::acting(
            model.clone(),
            Some(journal),
            model.clone(),
            model.clone(),
            mandate,
        );
        let report = guard.handle(&messages).await;
        assert!(
            report.answers.iter().all(|(_, answer)| *answer == Answer::Done),
            "{:?}",
            report.summary
        );
        bucket
            .visible_keys()
            .into_iter()
            .filter(|k| k.starts_with(ROOT))
            .collect()
    }

    /// The bucket is what the model says: the same keys, each with its bytes, each copied once.
    async fn check(&self) {
        let expected = self.as_the_model_says().await;
        let needed = self.world.named_by("chk-5");
        assert!(
            needed.iter().all(|key| expected.contains(key)),
            "the model lost something"
        );
        assert!(
            self.markers.keys().any(|key| !expected.contains(key)),
            "nothing was left"
        );
        let histories = self.world.histories().await;
        let visible = histories
            .iter()
            .filter(|(_, history)| history.current().is_some());
        let visible: BTreeSet<String> = visible.map(|(key, _)| key.clone()).collect();
        assert_eq!(visible, expected);
        let back: BTreeSet<String> = expected
            .into_iter()
            .filter(|key| self.markers.contains_key(key))
            .collect();
        assert_eq!(self.world.copies_of(&back).await, back.len());
        let reading = S3::new(&self.world.bucket.connection);
        for key in &back {
            let body = reading
                .body(&self.world.bucket.at(key), None, 1 << 24)
                .await
                .unwrap();
            assert_eq!(body.bytes, self.world.files[key], "{key}");
        }
    }
}

/// The same sequence from the same seed.
fn dice(seed: u64) -> impl Fn() -> u64 + Send + Sync + 'static {
    let state = AtomicU64::new(seed);
    move || {
        // SplitMix64.
        let mut z = state.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

async fn whatever_the_network_loses_all_that_is_needed_is_back_once_in_the_end(server: Server) {
    let Some(url) = server.url() else { return };
    let storm = Storm::at(&url).await;
    let (roll, copies) = (dice(7), AtomicU64::new(0));
    let counts: Arc<Mutex<BTreeMap<String, u32>>> = Arc::default();
    let counted = counts.clone();
    let network = Recorder::with_fates(&url, move |request| {
        // Of copies every fate must come, whatever the order in which requests arrive.
        let number = if request.is_copy() {
            copies.fetch_add(1, Ordering::SeqCst)
        } else {
            roll()
        };
        let fate = match number % 10 {
            0 => Fate::Unheard,
            1 => Fate::Lost,
            2 => Fate::Refused,
            _ => Fate::Answered,
        };
        *counted
            .lock()
            .unwrap()
            .entry(format!("{} {fate:?}", request.operation()))
            .or_default() += 1;
        fate
    });
    let through = Connection::to_server(network.url(), REGION, "test", "test").await;
    let control = storm.world.bucket.at("stayput/");
    let mut guard = Guard::acting(
        S3::new(&through),
        Some(S3Journal::new(&through, control.clone())),
        SystemClock,
        Copies::new(&through, Some(control), 1_000),
        storm.world.mandate(Duration::ZERO),
    );
    let mut waiting = storm.messages();
    let mut rounds = 0;
    while !waiting.is_empty() {
        rounds += 1;
        assert!(rounds <= 60, "{} messages are never done", waiting.len());
        let report = guard.handle(&waiting).await;
        let done: BTreeSet<String> = report
            .answers
            .into_iter()
            .filter(|(_, answer)| *answer == Answer::Done)
            .map(|(id, _)| id)
            .collect();
        waiting.retain(|message| !done.contains(&message.id));
    }
    let counts = counts.lock().unwrap().clone();
    println!("{rounds} rounds; {counts:?}");
    for fate in ["CopyObject Refused", "CopyObject Lost", "CopyObject Unheard"] {
        assert!(counts.contains_key(fate), "no {fate}: {counts:?}");
    }
    storm.check().await;
}

/// The settings of a function that restores at once.
fn settings(storm: &Storm) -> String {
    let bucket = &storm.world.bucket.name;
    format!(
        "mode = \"restore\"\ncontrol = \"s3://{bucket}/stayput/\"\nsettle = \"0s\"\n[[roots]]\nuri = \"s3://{bucket}/{ROOT}\"\n\
         kind = \"checkpoints\"\n[stayput]\nrole = \"AROASTAYPUT\"\n"
    )
}

async fn however_often_the_function_is_killed_in_a_batch_all_that_is_needed_is_back_once(server: Server) {
    let Some(url) = server.url() else { return };
    let (Some(emulator), Some(bootstrap)) = (emulator(), bootstrap("rie")) else {
        return;
    };
    let storm = Storm::at(&url).await;
    let (settings, payload) = (settings(&storm), from_queue(&storm.bodies()));
    let seen = Arc::new(AtomicUsize::new(0));
    let kill_at = Arc::new(AtomicUsize::new(usize::MAX));
    type Killer = Box<dyn Fn() + Send + Sync>;
    let killer: Arc<Mutex<Option<Killer>>> = Arc::default();
    let network = {
        let (seen, kill_at, killer) = (seen.clone(), kill_at.clone(), killer.clone());
        Recorder::with_fates(&url, move |_| {
            let n = seen.fetch_add(1, Ordering::SeqCst) + 1;
            if n == kill_at.load(Ordering::SeqCst) {
                if let Some(kill) = &*killer.lock().unwrap() {
                    kill();
                }
                // Half of the time the server does what the dead one asked for.
                return if n % 2 == 0 { Fate::Unheard } else { Fate::Lost };
            }
            Fate::Answered
        })
    };
    let mut variables = connection(network.url()).to_vec();
    variables.push(("STAYPUT_CONFIG", &settings));
    let mut deaths = 0;
    // It dies at its fourth request, then at its ninth, and so on, until it lives to the end of the batch.
    for n in 0.. {
        assert!(n < 200, "it never comes to an end");
        let mut lambda = Emulator::start(&emulator, &bootstrap, &variables);
        *killer.lock().unwrap() = Some(Box::new(lambda.killer()));
        seen.store(0, Ordering::SeqCst);
        kill_at.store(4 + 5 * n, Ordering::SeqCst);
        let Some(called) = lambda.call_or_death(&payload) else {
            deaths += 1;
            continue;
        };
        assert!(
            seen.load(Ordering::SeqCst) < kill_at.load(Ordering::SeqCst),
            "it lives on"
        );
        assert_eq!(called.failed(), Some(Vec::new()), "{}", called.answer);
        break;
    }
    println!("killed {deaths} times");
    assert!(deaths >= 5, "killed {deaths} times");
    storm.check().await;
}

async fn needed_ones_among_a_hundred_thousand_messages_come_back(server: Server) {
    /// Messages of one call: what SQS hands over within 6 MB.
    const A_CALL: usize = 4_000;
    const MESSAGES: usize = 100_000;
    let Some(url) = server.url() else { return };
    let (Some(emulator), Some(bootstrap)) = (emulator(), bootstrap("rie")) else {
        return;
    };
    let storm = Storm::at(&url).await;
    let settings = settings(&storm);
    let mut variables = connection(&url).to_vec();
    variables.push(("STAYPUT_CONFIG", &settings));
    variables.push(("AWS_LAMBDA_FUNCTION_TIMEOUT", "300"));
    let needed = storm.bodies();
    let every = MESSAGES / needed.len();
    let now = SystemClock.now();
    let bodies: Vec<String> = (0..MESSAGES)
        .map(|n| match needed.get(n / every).filter(|_| n % every == 0) {
            Some(body) => body.clone(),
            None => {
                let key = format!("{ROOT}{:032x}/shared/{n:08x}-0000-4000-8000-000000000000", n % 10);
                let marker = VersionId::new(format!("marker-{n}"));
                storm.world.body(Who::Rule, &key, &marker, now).to_string()
            }
        })
        .collect();
    let mut lambda = Emulator::start(&emulator, &bootstrap, &variables);
    let began = std::time::Instant::now();
    for some in bodies.chunks(A_CALL) {
        let called = lambda.call(&from_queue(some));
        assert_eq!(called.failed(), Some(Vec::new()), "{}", called.answer);
    }
    println!("{MESSAGES} messages in {} ms", began.elapsed().as_millis());
    storm.check().await;
}
