//! The real function under AWS's emulator, against a local S3.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::json;
use stayput_tests::cloud::{Cloud, REGION};
use stayput_tests::emulator::{Called, Emulator};
use stayput_tests::recorder::Recorder;

use crate::cpu;
use crate::flink::Flink;
use crate::flood::{BUCKET, DELETIONS, FLINK, JOBS, job, message, object, payloads};
use crate::parser::HUNDRED_THOUSAND;
use crate::record::Part;
use crate::series::{RUNS, Series};

/// The job that the generator writes; of the other jobs only the id and the files' names differ.
const JOB: &str = "00000000000000000000000000000001";

/// What the function is run with.
pub(crate) struct Deployed {
    emulator: PathBuf,
    bootstrap: PathBuf,
    recorder: Recorder,
}

impl Deployed {
    /// From what xtask has built and started, with the buckets that the function asks for.
    pub(crate) fn here() -> Result<Self, String> {
        let missing = |what| format!("{what} isn't here: run this by `cargo xtask bench`");
        let url = stayput_tests::system::ministack().ok_or_else(|| missing("MiniStack"))?;
        let emulator = stayput_tests::system::emulator().ok_or_else(|| missing("AWS's emulator"))?;
        let bootstrap = stayput_tests::system::bootstrap("rie").ok_or_else(|| missing("the Lambda"))?;
        Ok(Self {
            emulator,
            bootstrap,
            recorder: Recorder::before(&url),
        })
    }

    fn start(&self) -> Emulator {
        let settings = json!({
            "mode": "restore",
            "control": format!("s3://{BUCKET}/stayput/"),
            "roots": [{"uri": format!("s3://{BUCKET}/checkpoints/"), "kind": "checkpoints"}],
            "flink": {"principals": [FLINK]},
        });
        let (settings, url) = (settings.to_string(), self.recorder.url().to_owned());
        Emulator::start(
            &self.emulator,
            &self.bootstrap,
            &[
                ("STAYPUT_CONFIG", settings.as_str()),
                ("AWS_ENDPOINT_URL", url.as_str()),
                ("AWS_REGION", REGION),
                ("AWS_ACCESS_KEY_ID", "test"),
                ("AWS_SECRET_ACCESS_KEY", "test"),
                ("AWS_LAMBDA_FUNCTION_TIMEOUT", "300"),
            ],
        )
    }
}

/// The file of another job: its id in all paths, and other names of shared files, so that no two jobs name one.
fn of_job(template: &[u8], number: u32) -> Vec<u8> {
    let mut bytes = template.to_vec();
    let id = job(number);
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(JOB.len()).position(|w| w == JOB.as_bytes()) {
        at += found;
        bytes[at..at + id.len()].copy_from_slice(id.as_bytes());
        at += id.len();
        if bytes[at..].starts_with(b"/shared/") {
            for digit in &mut bytes[at + 8..at + 16] {
                let value = (*digit as char).to_digit(16).unwrap_or(0);
                *digit = b"0123456789abcdef"[((value + number) % 16) as usize];
            }
        }
    }
    bytes
}

/// What the summaries of a call say of its deletions: judged, left.
fn judged(called: &Called) -> Result<(u64, u64), String> {
    if let Some(error) = called.error() {
        return Err(format!("the function ended with {error}: {}", called.answer));
    }
    let summaries = called.log.iter().filter_map(|line| line.get("summary"));
    let mut sum = (0, 0);
    for summary in summaries {
        sum.0 += summary["deletions"].as_u64().unwrap_or(0);
        let left = summary["left"]
            .as_object()
            .into_iter()
            .flat_map(|left| left.values());
        sum.1 += left.filter_map(serde_json::Value::as_u64).sum::<u64>();
    }
    Ok(sum)
}

fn by_kind(recorder: &Recorder) -> String {
    let mut kinds = std::collections::BTreeMap::new();
    for request in recorder.take() {
        *kinds.entry(request.operation()).or_insert(0u32) += 1;
    }
    let words: Vec<String> = kinds.into_iter().map(|(kind, n)| format!("{n} {kind}")).collect();
    if words.is_empty() {
        "none".to_owned()
    } else {
        words.join(", ")
    }
}

fn bucket(url: &str) -> Cloud {
    let cloud = Cloud::at(url);
    cloud.make_versioned_bucket(BUCKET);
    cloud
}

/// 10,000 deletions by Flink in ten jobs, by a function that knows their checkpoints.
pub(crate) fn deletions(flink: &Flink, work: &Path) -> Result<Part, String> {
    let mut part = Part::begin();
    let deployed = Deployed::here()?;
    let cloud = bucket(deployed.recorder.url());
    let file = flink.generate(HUNDRED_THOUSAND, JOB, work)?;
    let template = std::fs::read(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    for number in 1..=JOBS {
        let key = format!("checkpoints/{}/chk-42/_metadata", job(number));
        cloud.put(BUCKET, &key, &of_job(&template, number));
    }
    deployed.recorder.take();
    let mut function = deployed.start();
    let one = |number: u32| message(&object(number, 0xffff, number), 0);
    for payload in payloads((1..=JOBS).map(one)) {
        let called = function.call(&payload);
        if judged(&called)?.0 != u64::from(JOBS) {
            return Err(format!("the function judged something else: {}", called.answer));
        }
    }
    let cold = by_kind(&deployed.recorder);
    let pid = function
        .function_process()
        .ok_or("the function's process isn't found")?;
    let cold_cpu = cpu::of_process(pid)?;
    let mut took = Series::default();
    let (mut requests, mut calls, mut bytes) = (String::new(), 0, 0);
    for round in 0..RUNS {
        let keys = (0..DELETIONS).map(|n| object(1 + n % JOBS, round, n));
        let payloads = payloads(keys.enumerate().map(|(n, key)| message(&key, n)));
        (calls, bytes) = (payloads.len(), payloads.iter().map(Vec::len).sum());
        let before = cpu::of_process(pid)?;
        let mut sum = (0, 0);
        for payload in &payloads {
            let (all, left) = judged(&function.call(payload))?;
            sum = (sum.0 + all, sum.1 + left);
        }
        took.push(cpu::of_process(pid)? - before);
        if sum != (u64::from(DELETIONS), u64::from(DELETIONS)) {
            return Err(format!("{sum:?} judged and left instead of {DELETIONS} each"));
        }
        requests = by_kind(&deployed.recorder);
    }
    part.at_most(
        "10,000 deletions by Flink, whole function process",
        took.median(),
        100.0,
        "ms CPU",
    );
    part.row("10,000 deletions, warm", "ms CPU", took);
    part.facts.push(format!(
        "{calls} calls with {bytes} bytes in all; requests in all of them: {requests}"
    ));
    part.facts.push(format!(
        "before that, once: the start and {JOBS} snapshots of 100,000 references each cost {cold_cpu:.0} ms CPU; requests: {cold}"
    ));
    part.facts.push(format!(
        "peak memory of the process: {:.0} MB",
        cpu::peak_memory(&pid.to_string())? / 1e6
    ));
    Ok(part.end())
}

/// How long a new process needs until it can be called, and until its first verdict.
pub(crate) fn start() -> Result<Part, String> {
    let mut part = Part::begin();
    let deployed = Deployed::here()?;
    bucket(deployed.recorder.url());
    let (mut init, mut first, mut cpu_time) = (Series::default(), Series::default(), Series::default());
    for round in 0..RUNS {
        deployed.recorder.take();
        let mut function = deployed.start();
        let payload = payloads(std::iter::once(message(&object(1, round, 1), round))).concat();
        let began = Instant::now();
        let called = function.call(&payload);
        first.push(began.elapsed().as_secs_f64() * 1e3);
        if judged(&called)? != (1, 1) {
            return Err(format!("no verdict: {}", called.answer));
        }
        let output = function.output();
        let line = output
            .lines()
            .find(|line| line.contains("INIT REPORT"))
            .unwrap_or_default();
        let duration = line
            .split_once("durationMs: ")
            .and_then(|(_, rest)| rest.split(')').next()?.parse::<f64>().ok());
        init.push(duration.ok_or_else(|| format!("no INIT REPORT in:\n{output}"))?);
        let pid = function
            .function_process()
            .ok_or("the function's process isn't found")?;
        cpu_time.push(cpu::of_process(pid)?);
    }
    part.at_most(
        "`INIT REPORT` of the emulator, median",
        init.median(),
        15.0,
        "ms wall",
    );
    part.at_most("start to first verdict, median", first.median(), 60.0, "ms wall");
    part.row("`INIT REPORT`", "ms wall", init);
    part.row("call of a new process to its first verdict", "ms wall", first);
    part.row("the process until then", "ms CPU", cpu_time);
    part.facts.push(format!(
        "requests of the last start and verdict: {}",
        by_kind(&deployed.recorder)
    ));
    let bytes = |file: &Path| std::fs::metadata(file).map(|m| m.len() as f64 / 1e6);
    let zip = deployed.bootstrap.with_file_name("stayput-lambda.zip");
    let (binary, zip) = (bytes(&deployed.bootstrap), bytes(&zip));
    let (Ok(binary), Ok(zip)) = (binary, zip) else {
        return Err("the Lambda's zip isn't beside its bootstrap".to_owned());
    };
    part.at_most(
        &format!("binary, zipped (unzipped {binary:.1} MB)"),
        zip,
        6.0,
        "MB",
    );
    Ok(part.end())
}
