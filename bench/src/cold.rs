//! A process that begins anew before large `_metadata`: what it reads, and its CPU, with sidecars and without.

use s3_documents::bucket::Versioning;
use s3_model::{Model, ModelBucket};
use stayput_core::timestamp::Timestamp;
use stayput_guard::guard::Guard;

use crate::cpu;
use crate::deciding::{mandate, read};
use crate::flood::{BUCKET, job, message, object, payloads};
use crate::record::Part;
use crate::series::Series;

/// Jobs with one checkpoint each.
const LARGE: u32 = 30;
/// Files that each checkpoint names: a `_metadata` of some 120 MB.
const REFERENCES: usize = 1_000_000;
/// How often each is measured.
const TIMES: usize = 3;
const MEGABYTE: f64 = 1e6;

struct World {
    model: Model,
    bucket: ModelBucket,
    control: ModelBucket,
    runtime: tokio::runtime::Runtime,
    /// Each call is told of a deletion that nobody told of before.
    calls: usize,
}

impl World {
    fn new() -> Result<Self, String> {
        let model = Model::new(Timestamp::parse("2026-11-28T10:01:00Z").map_err(|e| e.to_string())?);
        let bucket = model.create_bucket(BUCKET, Versioning::Enabled);
        for number in 1..=LARGE {
            let directory = format!("s3://{BUCKET}/checkpoints/{}/shared/", job(number));
            let files: Vec<String> = (0..REFERENCES)
                .map(|n| stayput_hostile::large::file(&directory, n))
                .collect();
            let key = format!("checkpoints/{}/chk-42/_metadata", job(number));
            bucket.put(&key, stayput_hostile::large::metadata(42, 0, &files));
        }
        let control = model.create_bucket("ops", Versioning::Never);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|e| e.to_string())?;
        Ok(Self {
            model,
            bucket,
            control,
            runtime,
            calls: 0,
        })
    }

    /// The first call of a new process: its CPU in milliseconds, and the bytes that it read.
    fn begin(&mut self, with_control: bool) -> Result<(f64, u64), String> {
        self.calls += 1;
        let told = payloads([message(&object(1, self.calls, 0), 0)].into_iter());
        let messages = read(&told)?;
        let client = self.model.another_client();
        let journal = with_control.then(|| client.journal(&self.control, "stayput/"));
        let mut guard = Guard::observing(client.clone(), journal, client.clone(), mandate()?);
        let (report, took) = cpu::milliseconds(|| self.runtime.block_on(guard.handle(&messages)));
        if report.summary.left.values().sum::<u64>() != 1 {
            return Err(format!("it isn't left: {:?}", report.summary));
        }
        let read = client.calls();
        let read = read
            .iter()
            .filter(|c| c.operation == "GetObject" && c.error.is_none());
        let bytes = read.map(|call| {
            let bucket = if call.bucket == BUCKET {
                &self.bucket
            } else {
                &self.control
            };
            let object = bucket.current(&call.key).and_then(|version| version.object);
            object.map_or(0, |object| object.content.len())
        });
        Ok((took, bytes.sum()))
    }
}

pub(crate) fn measure() -> Result<Part, String> {
    let mut part = Part::begin();
    let mut world = World::new()?;
    let (mut plain, mut writing, mut kept) = (Series::default(), Series::default(), Series::default());
    let (mut plain_bytes, mut kept_bytes) = (0, 0);
    for _ in 0..TIMES {
        let (took, bytes) = world.begin(false)?;
        plain.push(took);
        plain_bytes = bytes;
        world.control.clear();
        let (took, _) = world.begin(true)?;
        writing.push(took);
        let (took, bytes) = world.begin(true)?;
        kept.push(took);
        kept_bytes = bytes;
    }
    let megabytes = |bytes: u64| bytes as f64 / MEGABYTE;
    part.facts.push(format!(
        "{LARGE} `_metadata` with {REFERENCES} references each: {:.0} MB read without sidecars, {:.0} MB with them",
        megabytes(plain_bytes),
        megabytes(kept_bytes)
    ));
    part.at_most(
        "A new process reads, of the bytes of large `_metadata`",
        kept_bytes as f64 / plain_bytes as f64 * 100.0,
        20.0,
        "%",
    );
    part.row("first call, no control prefix", "ms CPU", plain);
    part.row("first call, sidecars are written", "ms CPU", writing);
    part.row("first call, sidecars are there", "ms CPU", kept);
    Ok(part.end())
}
