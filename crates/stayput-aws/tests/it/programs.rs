//! The programs that people and AWS run, on a server that carries lifecycle rules out: the `stayput` command and the Lambda.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use stayput_aws::s3::S3;
use stayput_core::timestamp::Timestamp;
use stayput_core::version::VersionId;
use stayput_guard::port::Reading;
use stayput_tests::emulator::Emulator;
use stayput_tests::system::{bootstrap, emulator, given};

use crate::server::{REGION, Server, on_servers};
use crate::world::{JOB, OLD_JOB, ROOT, Who, World};

on_servers! {
    [Ceph]
    what_a_rule_took_comes_back_by_the_command_and_by_the_lambda_once;
}

/// The rule takes what is so many of the server's days old: 48 seconds.
const DAYS: u32 = 12;

/// Variables that connect a program with the server.
pub(crate) fn connection(url: &str) -> [(&'static str, &str); 4] {
    [
        ("AWS_ENDPOINT_URL", url),
        ("AWS_REGION", REGION),
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
    ]
}

/// S3's messages about these markers, each a body as a queue brings it.
fn bodies(world: &World, taken: &[(String, VersionId, Timestamp)], below: &str) -> Vec<String> {
    let of = taken.iter().filter(|(key, ..)| key.starts_with(below));
    let bodies = of.map(|(key, marker, at)| world.body(Who::Rule, key, marker, *at).to_string());
    bodies.collect()
}

/// Runs `stayput guard --apply` on these messages; returns its verdicts.
fn guard(command: &Path, url: &str, folder: &Path, settings: &str, bodies: &[String]) -> Vec<Value> {
    let (config, events) = (folder.join("stayput.toml"), folder.join("events"));
    std::fs::write(&config, settings).expect("the settings");
    std::fs::write(&events, bodies.join("\n")).expect("the messages");
    let mut run = Command::new(command);
    run.args(["guard", "--apply", "--output", "ndjson", "--config"])
        .arg(&config)
        .arg("--events")
        .arg(&events)
        .envs(connection(url));
    let output = run
        .output()
        .unwrap_or_else(|e| panic!("{}: {e}", command.display()));
    let text = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    let verdicts: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}\n{said}")))
        .filter_map(|line: Value| line.get("verdict").cloned())
        .collect();
    assert_eq!(
        verdicts.len(),
        bodies.len(),
        "a verdict on each: {}: {text}{said}",
        output.status
    );
    verdicts
}

/// An invocation from SQS with these messages.
pub(crate) fn from_queue(bodies: &[String]) -> Vec<u8> {
    let records = bodies.iter().enumerate().map(|(n, body)| {
        json!({
            "messageId": format!("00000000-0000-4000-8000-{n:012}"), "receiptHandle": "handle", "body": body,
            "attributes": {"ApproximateReceiveCount": "1", "SentTimestamp": "0", "SenderId": "AIDA", "ApproximateFirstReceiveTimestamp": "0"},
            "messageAttributes": {}, "md5OfBody": "", "eventSource": "aws:sqs",
            "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:deletions", "awsRegion": REGION
        })
    });
    let records: Vec<Value> = records.collect();
    json!({ "Records": records }).to_string().into_bytes()
}

async fn what_a_rule_took_comes_back_by_the_command_and_by_the_lambda_once(server: Server) {
    let Some(url) = server.url() else { return };
    let (Some(command), Some(emulator), Some(bootstrap)) =
        (given("STAYPUT_COMMAND", "ceph"), emulator(), bootstrap("ceph"))
    else {
        return;
    };
    let command = PathBuf::from(command);
    let world = World::at(&url).await;
    world.upload(|_| true).await;
    let (shared, of_old_job) = (format!("{JOB}shared/"), format!("{OLD_JOB}shared/"));
    let rules = [
        ("save-money", shared.as_str()),
        ("tidy-old-jobs", of_old_job.as_str()),
    ];
    world.bucket.expire(&rules, DAYS).await;
    let mut needed = world.named_by("chk-5");
    needed.retain(|key| key.contains("/shared/"));
    let below = |prefix: &str| needed.iter().filter(|key| key.starts_with(prefix)).count();
    assert!(below(&shared) > 0 && below(&of_old_job) > 0);
    let settings = format!(
        "mode = \"restore\"\ncontrol = \"s3://{0}/stayput/\"\nsettle = \"1s\"\n[[roots]]\nuri = \"s3://{0}/{ROOT}\"\n\
         kind = \"checkpoints\"\n[stayput]\nrole = \"AROASTAYPUT\"\n",
        world.bucket.name
    );
    let folder = std::env::temp_dir().join(&world.bucket.name);
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut variables = connection(&url).to_vec();
    variables.push(("STAYPUT_CONFIG", &settings));
    let mut lambda = Emulator::start(&emulator, &bootstrap, &variables);

    let mut told = BTreeSet::new();
    let taken = world.wait_until_taken(&needed, &mut told).await;
    assert!(taken.len() > needed.len(), "nothing was taken that nobody needs");
    let (to_command, to_lambda) = (bodies(&world, &taken, OLD_JOB), bodies(&world, &taken, JOB));
    let copied = |verdicts: &[Value]| verdicts.iter().filter(|v| v["done"] == "copied").count();
    let verdicts = guard(&command, &url, &folder, &settings, &to_command);
    assert_eq!(copied(&verdicts), below(&of_old_job), "{verdicts:#?}");
    let called = lambda.call(&from_queue(&to_lambda));
    assert_eq!(called.failed(), Some(Vec::new()), "{}", called.answer);
    assert_eq!(
        world.copies_of(&needed).await,
        needed.len(),
        "{}",
        lambda.output()
    );
    let reading = S3::new(&world.bucket.connection);
    for key in &needed {
        let body = reading.body(&world.bucket.at(key), None, 1 << 20).await.unwrap();
        assert_eq!(body.bytes, world.files[key], "{key}");
    }

    // Everything is delivered a second time, to both.
    let all: Vec<String> = to_command.iter().chain(&to_lambda).cloned().collect();
    let verdicts = guard(&command, &url, &folder, &settings, &all);
    assert_eq!(copied(&verdicts), 0, "{verdicts:#?}");
    assert_eq!(lambda.call(&from_queue(&all)).failed(), Some(Vec::new()));
    assert_eq!(world.copies_of(&needed).await, needed.len());

    // The rule takes the copies too. By the programs' clock that is the same day: once in 24 hours is enough.
    let again = world.wait_until_taken(&needed, &mut told).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let verdicts = guard(&command, &url, &folder, &settings, &bodies(&world, &again, ROOT));
    let waiting = verdicts.iter().filter(|v| v["outcome"] == "later").count();
    assert_eq!((waiting, copied(&verdicts)), (needed.len(), 0), "{verdicts:#?}");
    assert_eq!(world.copies_of(&needed).await, needed.len());
    world.bucket.without_lifecycle().await;
    let _ = std::fs::remove_dir_all(&folder);
}
