//! A `_metadata` of 500 MB before a function of 512 MB, which really has no more: it is too large to be read, and says so; what else came in
//! the same call is judged.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stayput_hostile::large;
use stayput_tests::cloud::{Cloud, REGION};
use stayput_tests::emulator::{Called, Emulator};
use stayput_tests::system::{bootstrap, emulator, ministack, time_for_all};

const MEGABYTES: u64 = 512;
const BUCKET: &str = "large-metadata";
/// One that is too large, one that just isn't, and one as most are.
const TOO_LARGE: &str = "flink/00000000000000000000000000000001/";
const NEARLY: &str = "flink/00000000000000000000000000000002/";
const USUAL: &str = "flink/00000000000000000000000000000003/";

/// The function, with as much address space as its memory has, and its number written down. The program itself is small beside that.
fn bounded(bootstrap: &Path) -> (PathBuf, PathBuf) {
    let folder = std::env::temp_dir().join(format!("stayput-large-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let (script, number) = (folder.join("bootstrap"), folder.join("pid"));
    let text = format!(
        "#!/bin/sh\nulimit -v {} || exit 1\necho $$ > '{}'\nexec '{}'\n",
        MEGABYTES * 1024,
        number.display(),
        bootstrap.display()
    );
    fs::write(&script, text).expect("a script");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("a script that can be run");
    (script, number)
}

/// The most memory that the function had in use, in bytes.
fn peak(number: &Path) -> u64 {
    let pid = fs::read_to_string(number).expect("the function's number");
    let status = fs::read_to_string(format!("/proc/{}/status", pid.trim())).expect("the function runs");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .expect("Linux says it");
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kilobytes * 1024
}

/// Puts a job's only checkpoint there, with so many bytes of state inlined, and three files that it names. Gives the first one's key.
fn put_job(cloud: &Cloud, directory: &str, inlined: usize) -> String {
    let shared = format!("{directory}shared/");
    let paths: Vec<String> = (0..3)
        .map(|n| large::file(&format!("s3://{BUCKET}/{shared}"), n))
        .collect();
    for n in 0..3 {
        cloud.put(BUCKET, &large::file(&shared, n), b"x");
    }
    cloud.put_in_parts(
        BUCKET,
        &format!("{directory}chk-5/_metadata"),
        &large::metadata(5, inlined, &paths),
    );
    large::file(&shared, 0)
}

fn event(key: &str, by: &str, number: usize) -> Value {
    let body = json!({"Records": [{
        "eventVersion": "2.1", "eventSource": "aws:s3", "eventName": "ObjectRemoved:DeleteMarkerCreated",
        "eventTime": "2026-11-28T10:00:00Z", "awsRegion": REGION,
        "userIdentity": {"principalId": format!("AWS:{by}:x")},
        "s3": {"bucket": {"name": BUCKET}, "object": {"key": key}},
    }]});
    json!({"eventSource": "aws:sqs", "messageId": format!("m{number}"), "body": body.to_string()})
}

/// Calls until no message has to come again, as a queue would. Gives the lines of all calls.
fn until_done(function: &mut Emulator, payload: &Value) -> Vec<Value> {
    let began = Instant::now();
    let mut lines = Vec::new();
    loop {
        let Called { answer, log } = function.call(payload.to_string().as_bytes());
        lines.extend(log);
        let answer: Value = serde_json::from_str(&answer).unwrap_or_else(|e| panic!("{e}: {answer}"));
        let failures = answer["batchItemFailures"]
            .as_array()
            .unwrap_or_else(|| panic!("{answer}"));
        if failures.is_empty() {
            return lines;
        }
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "still {answer}: {lines:#?}"
        );
        std::thread::sleep(Duration::from_millis(500));
    }
}

#[test]
fn a_metadata_larger_than_the_functions_memory_ends_nobody() {
    // Half a gigabyte through the local servers takes a minute or two.
    if !time_for_all() {
        return;
    }
    let (Some(emulator), Some(url), Some(bootstrap)) = (emulator(), ministack(), bootstrap("rie")) else {
        return;
    };
    let cloud = Cloud::at(&url);
    cloud.make_versioned_bucket(BUCKET);
    let of_too_large = put_job(&cloud, TOO_LARGE, 500_000_000);
    let of_nearly = put_job(&cloud, NEARLY, 66_000_000);
    let of_usual = put_job(&cloud, USUAL, 1_000);
    let keys = [&of_too_large, &of_nearly, &of_usual];
    for key in keys {
        cloud.delete(BUCKET, key);
    }

    let (script, number) = bounded(&bootstrap);
    let settings = format!(
        "mode = \"restore\"\nsettle = \"1s\"\n[[roots]]\nuri = \"s3://{BUCKET}/flink/\"\nkind = \"checkpoints\"\n\
         [flink]\nprincipals = [\"AROAFLINK\"]\n"
    );
    let memory = MEGABYTES.to_string();
    let variables = [
        ("STAYPUT_CONFIG", settings.as_str()),
        ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", memory.as_str()),
        ("AWS_ENDPOINT_URL", url.as_str()),
        ("AWS_REGION", REGION),
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
    ];
    let mut function = Emulator::start(&emulator, &script, &variables);
    // Of what Flink itself deleted, nobody can tell whether it is needed; what somebody else deleted of the others comes back.
    let payload = json!({"Records": [
        event(&of_too_large, "AROAFLINK", 1),
        event(&of_nearly, "AROASOMEBODY", 2),
        event(&of_usual, "AROASOMEBODY", 3),
    ]});
    let lines = until_done(&mut function, &payload);
    let used = peak(&number);

    assert_eq!(
        cloud.get(BUCKET, &of_too_large),
        None,
        "nobody knows whether it is needed"
    );
    assert_eq!(
        cloud.get(BUCKET, &of_nearly).as_deref(),
        Some(&b"x"[..]),
        "{lines:#?}"
    );
    assert_eq!(
        cloud.get(BUCKET, &of_usual).as_deref(),
        Some(&b"x"[..]),
        "{lines:#?}"
    );
    let finding = lines
        .iter()
        .map(|line| &line["finding"])
        .find(|finding| finding["code"] == "cannot_judge")
        .unwrap_or_else(|| panic!("no finding: {lines:#?}"));
    let because = finding["because"].as_str().expect("a reason");
    assert!(
        because.contains("a function with 512 MB of memory reads"),
        "{because}"
    );
    let next = finding["next_step"].as_str().expect("what to do");
    assert!(next.contains("Give the function 3815 MB of memory"), "{next}");
    assert!(
        finding["about"]
            .as_str()
            .is_some_and(|about| about.contains(TOO_LARGE)),
        "{finding}"
    );
    println!(
        "the function had {} MB of its {MEGABYTES} MB in use at most",
        used >> 20
    );
    assert!(used < (MEGABYTES << 20) / 2, "{used} bytes");
    drop(function);
    let _ = fs::remove_dir_all(script.parent().expect("its folder"));
}
