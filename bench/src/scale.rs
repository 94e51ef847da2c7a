//! What a storm of deletions, many jobs and many dead directories cost: CPU, requests to S3, memory.

use std::collections::BTreeMap;
use std::time::Duration;

use s3_documents::bucket::Versioning;
use s3_model::{Model, ModelBucket, ModelJournal};
use stayput_core::timestamp::Timestamp;
use stayput_guard::batch::BatchReport;
use stayput_guard::guard::Guard;

use crate::cpu;
use crate::deciding::{mandate, read};
use crate::flood::{BUCKET, Told, message_of, payloads};
use crate::record::Part;
use crate::series::Series;

/// Objects that Flink deletes in the storm.
const STORM: usize = 100_000;
/// Messages that the queue hands to one call.
const A_CALL: usize = 4_000;
const LIVE: usize = 500;
const DEAD: usize = 5_000;
/// Files that each live job's checkpoints name.
const FILES: usize = 1_000;
/// Files that lie in each dead directory.
const LEFTOVERS: usize = 3;
/// Calls in a day, so far apart that each finds the catalogue older than allowed.
const A_DAY: usize = 288;
/// How often each measurement is made, each in a world of its own.
const TIMES: usize = 3;

fn job(number: usize) -> String {
    format!("{number:032x}")
}

/// A bucket with living and dead jobs, and who looks at it.
struct World {
    model: Model,
    runtime: tokio::runtime::Runtime,
    guard: Guard<Model, ModelJournal, Model>,
}

/// A file that a job's checkpoints name.
fn named(number: usize, n: usize) -> String {
    // No two jobs of Flink share a name.
    stayput_hostile::large::file(
        &format!("checkpoints/{}/shared/", job(number)),
        number * 1_000_000 + n,
    )
}

/// A job that lives: two checkpoints that name the same files.
fn live(bucket: &ModelBucket, number: usize, now: Timestamp) {
    for n in 0..FILES {
        bucket.put_at(&named(number, n), vec![1], now.minus(Duration::from_secs(3_600)));
    }
    let files: Vec<String> = (0..FILES)
        .map(|n| format!("s3://{BUCKET}/{}", named(number, n)))
        .collect();
    for (id, age) in [(41, 120), (42, 60)] {
        bucket.put_at(
            &format!("checkpoints/{}/chk-{id}/_metadata", job(number)),
            stayput_hostile::large::metadata(id, 0, &files),
            now.minus(Duration::from_secs(age)),
        );
    }
}

/// A job that is no more: files that nobody took away, and no `_metadata`.
fn dead(bucket: &ModelBucket, number: usize, now: Timestamp) {
    for n in 0..LEFTOVERS {
        bucket.put_at(
            &named(number, n),
            vec![1],
            now.minus(Duration::from_secs(200 * 86_400)),
        );
    }
}

impl World {
    fn new(lives: usize, dies: usize) -> Result<Self, String> {
        let now = Timestamp::parse("2026-11-28T10:01:00Z").map_err(|e| e.to_string())?;
        let model = Model::new(now);
        let bucket = model.create_bucket(BUCKET, Versioning::Enabled);
        for number in 0..lives {
            live(&bucket, number, now);
        }
        for number in lives..lives + dies {
            dead(&bucket, number, now);
        }
        let guard = Guard::observing(model.clone(), None, model.clone(), mandate()?);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|e| e.to_string())?;
        model.take_calls();
        Ok(Self {
            model,
            runtime,
            guard,
        })
    }

    /// Judges what a queue hands over in one call.
    fn call(&mut self, bodies: impl Iterator<Item = String>) -> Result<(), String> {
        for payload in payloads(bodies) {
            let messages = read(&[payload])?;
            let report = self.runtime.block_on(self.guard.handle(&messages));
            nothing_to_do(&report)?;
        }
        Ok(())
    }

    /// Requests to S3 since the last question, by kind.
    fn requests(&self) -> BTreeMap<&'static str, u64> {
        let mut kinds = BTreeMap::new();
        for call in self.model.take_calls() {
            *kinds.entry(call.operation).or_default() += u64::from(call.pages);
        }
        kinds
    }
}

fn nothing_to_do(report: &BatchReport) -> Result<(), String> {
    let s = &report.summary;
    if s.restored + s.later + s.reported + s.lost + s.failed == 0 && report.findings.is_empty() {
        Ok(())
    } else {
        Err(format!("something was to be done: {s:?} {:?}", report.findings))
    }
}

fn words(requests: &BTreeMap<&'static str, u64>) -> String {
    let words: Vec<String> = requests.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
    if words.is_empty() {
        "none".to_owned()
    } else {
        words.join(", ")
    }
}

/// A hundred thousand objects that ten jobs delete, with all that S3 tells of them.
fn storm(part: &mut Part) -> Result<(), String> {
    let mut series: [Series; 3] = Default::default();
    let mut told = Vec::new();
    for _ in 0..TIMES {
        let mut world = World::new(10, 0)?;
        // The catalogue is read before.
        world.call(std::iter::once(message_of(Told::Hidden, &named(0, FILES), 0)))?;
        world.requests();
        told.clear();
        for (wave, series) in Told::ALL.into_iter().zip(&mut series) {
            let all: Vec<usize> = (0..STORM).collect();
            let mut took = 0.0;
            for (n, some) in all.chunks(A_CALL).enumerate() {
                // What came in one call is answered before the next is there: some seconds.
                world
                    .model
                    .advance(Duration::from_secs(if n == 0 { 86_400 } else { 5 }));
                let bodies: Vec<String> = some
                    .iter()
                    .map(|n| message_of(wave, &named(n % 10, FILES + 1 + n), *n))
                    .collect();
                let (done, milliseconds) = cpu::milliseconds(|| world.call(bodies.into_iter()));
                done?;
                took += milliseconds;
            }
            series.push(took);
            told.push(words(&world.requests()));
        }
    }
    let names = [
        "hidden by Flink",
        "their versions taken by the rule",
        "their markers taken by the rule",
    ];
    for ((name, series), requests) in names.iter().zip(series).zip(told) {
        part.row(&format!("{STORM} objects, {name}"), "ms CPU", series);
        part.facts.push(format!(
            "{STORM} objects, {name}: {} calls of {A_CALL} messages; requests: {requests}",
            STORM.div_ceil(A_CALL)
        ));
    }
    Ok(())
}

/// Five hundred jobs beside five thousand directories of the dead.
fn many(part: &mut Part) -> Result<(), String> {
    let mut series: [Series; 4] = Default::default();
    let [first, all, day, sweep] = &mut series;
    let mut told = Vec::new();
    for _ in 0..TIMES {
        let mut world = World::new(LIVE, DEAD)?;
        told.clear();
        let one = message_of(Told::Hidden, &named(7, FILES), 0);
        let (done, took) = cpu::milliseconds(|| world.call(std::iter::once(one)));
        done?;
        first.push(took);
        told.push(("one deletion, a new process", words(&world.requests())));
        let each: Vec<String> = (0..LIVE)
            .map(|number| message_of(Told::Hidden, &named(number, FILES + 1), number))
            .collect();
        world.model.advance(Duration::from_secs(400));
        let (done, took) = cpu::milliseconds(|| world.call(each.into_iter()));
        done?;
        all.push(took);
        told.push(("then one deletion in each job", words(&world.requests())));
        let mut of_day = 0.0;
        for n in 0..A_DAY {
            let one = message_of(Told::Hidden, &named(7, FILES + 2 + n), n);
            world.model.advance(Duration::from_secs(300));
            let (done, took) = cpu::milliseconds(|| world.call(std::iter::once(one)));
            done?;
            of_day += took;
        }
        day.push(of_day);
        told.push(("a day with a call each five minutes", words(&world.requests())));
        let mut world = World::new(LIVE, DEAD)?;
        let (report, took) = cpu::milliseconds(|| world.runtime.block_on(world.guard.sweep()));
        nothing_to_do(&report.judged)?;
        let whole: u64 = report.seen.whole.values().sum();
        if whole != 2 * LIVE as u64 {
            return Err(format!("the sweep saw {:?}", report.seen));
        }
        sweep.push(took);
        told.push(("a sweep, a new process", words(&world.requests())));
    }
    for ((what, requests), series) in told.into_iter().zip(series) {
        part.row(
            &format!("{LIVE} jobs, {DEAD} dead directories: {what}"),
            "ms CPU",
            series,
        );
        part.facts.push(format!("{what}: {requests}"));
    }
    let peak = cpu::peak_memory("self")? / 1e6;
    part.facts.push(format!(
        "peak memory of the process with the bucket itself in it ({} files): {peak:.0} MB",
        LIVE * FILES + DEAD * LEFTOVERS
    ));
    Ok(())
}

pub(crate) fn measure() -> Result<Part, String> {
    let mut part = Part::begin();
    storm(&mut part)?;
    many(&mut part)?;
    Ok(part.end())
}
