//! What ten thousand deletions cost without a network: their payloads read, and what the guard decides.

use s3_documents::bucket::Versioning;
use s3_documents::notification::{Delivery, parse_delivery};
use s3_model::{Model, ModelJournal};
use stayput_core::cause::Principals;
use stayput_core::metadata_limit::MetadataLimit;
use stayput_core::root::{Root, RootKind, Roots};
use stayput_core::timestamp::Timestamp;
use stayput_core::verdict::Policy;
use stayput_guard::batch::Message;
use stayput_guard::guard::Guard;
use stayput_guard::mandate::{Mandate, SIDECARS_FROM};
use std::time::Duration;

use crate::cpu;
use crate::flood::{BUCKET, DELETIONS, FLINK, JOBS, job, message, object, payloads};
use crate::record::Part;
use crate::series::{RUNS, Series};

const REFERENCES: usize = 100_000;

/// A guard in a world of ten jobs with one checkpoint each.
pub(crate) struct World {
    guard: Guard<Model, ModelJournal, Model>,
    /// Each call's time is later than the one before.
    round: usize,
}

pub(crate) fn mandate() -> Result<Mandate, String> {
    let root = Root::new(
        &format!("s3://{BUCKET}/checkpoints/"),
        RootKind::Checkpoints,
        None,
    );
    Ok(Mandate {
        control: None,
        roots: Roots::new(vec![root.map_err(|e| e.to_string())?]),
        principals: Principals {
            flink: vec![FLINK.to_owned()],
            ours: Vec::new(),
        },
        policy: Policy {
            settle: Duration::from_secs(300),
            dormant_after: Duration::from_secs(90 * 86_400),
        },
        catalogue_max_age: Duration::from_secs(300),
        metadata_limit: MetadataLimit::of_settings(1 << 28),
        sidecars_from: SIDECARS_FROM,
        protect_since: None,
        objects_per_day: 10_000,
        bytes_per_day: 1 << 40,
    })
}

/// The messages of all payloads.
pub(crate) fn read(payloads: &[Vec<u8>]) -> Result<Vec<Message>, String> {
    let mut messages = Vec::new();
    for payload in payloads {
        let Delivery::Queue(batch) = parse_delivery(payload).map_err(|e| e.to_string())? else {
            return Err("a payload is no batch of a queue".to_owned());
        };
        for message in batch {
            messages.push(Message {
                id: message.message_id,
                records: message.result.map_err(|e| e.to_string())?,
            });
        }
    }
    Ok(messages)
}

impl World {
    /// With so many references in each checkpoint.
    pub(crate) fn new(references: usize) -> Result<Self, String> {
        let model = Model::new(Timestamp::parse("2026-11-28T10:01:00Z").map_err(|e| e.to_string())?);
        let bucket = model.create_bucket(BUCKET, Versioning::Enabled);
        for number in 1..=JOBS {
            let directory = format!("s3://{BUCKET}/checkpoints/{}/shared/", job(number));
            let files: Vec<String> = (0..references)
                .map(|n| stayput_hostile::large::file(&directory, n))
                .collect();
            let key = format!("checkpoints/{}/chk-42/_metadata", job(number));
            bucket.put(&key, stayput_hostile::large::metadata(42, 0, &files));
        }
        let guard = Guard::observing(model.clone(), None, model, mandate()?);
        Ok(Self { guard, round: 0 })
    }

    /// Payloads that tell of so many deletions that weren't told of before.
    pub(crate) fn payloads(&mut self, deletions: u32) -> Vec<Vec<u8>> {
        self.round += 1;
        let keys = (0..deletions).map(|n| object(1 + n % JOBS, self.round, n));
        payloads(keys.enumerate().map(|(n, key)| message(&key, n)))
    }

    /// Judges them, as deletions that are left.
    pub(crate) fn decide(&mut self, messages: &[Message]) -> Result<(), String> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|e| e.to_string())?;
        let report = runtime.block_on(self.guard.handle(messages));
        let left: u64 = report.summary.left.values().sum();
        if left == messages.len() as u64 {
            Ok(())
        } else {
            Err(format!(
                "{left} of {} deletions are left: {:?}",
                messages.len(),
                report.summary
            ))
        }
    }
}

pub(crate) fn measure() -> Result<Part, String> {
    let mut part = Part::begin();
    let mut world = World::new(REFERENCES)?;
    let first = world.payloads(JOBS);
    world.decide(&read(&first)?)?;
    let (mut reading, mut deciding) = (Series::default(), Series::default());
    for _ in 0..RUNS {
        let payloads = world.payloads(DELETIONS);
        let (messages, took) = cpu::milliseconds(|| read(&payloads));
        let messages = messages?;
        reading.push(took);
        let (decided, took) = cpu::milliseconds(|| world.decide(&messages));
        decided?;
        deciding.push(took);
    }
    part.at_most(
        "10,000 deletions by Flink, deciding alone",
        deciding.median(),
        10.0,
        "ms CPU",
    );
    part.row("10,000 deletions: their payloads read", "ms CPU", reading);
    part.row("10,000 deletions: decided", "ms CPU", deciding);
    Ok(part.end())
}
