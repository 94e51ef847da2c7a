//! No message came: the scheduled call finds what is missing.

use serde_json::Value;
use stayput_tests::cloud::{Cloud, REGION};
use stayput_tests::embedded_metrics::{Measured, measured};
use stayput_tests::emulator::Emulator;
use stayput_tests::system::{bootstrap, emulator, ministack};
use stayput_tests::tree::Tree;

const BUCKET: &str = "sweep";
const JOB: &str = "dcece6f052f11be38b0597169690f7b8/";
const SCHEDULE: &[u8] = br#"{"version": "0", "id": "53dc4d37", "detail-type": "Scheduled Event", "source": "aws.scheduler",
    "account": "111122223333", "time": "2026-11-28T10:00:00Z", "region": "us-east-1", "resources": [], "detail": {}}"#;

#[test]
fn the_scheduled_call_puts_back_what_no_message_told_of() {
    let (Some(emulator), Some(url), Some(bootstrap)) = (emulator(), ministack(), bootstrap("rie")) else {
        return;
    };
    let cloud = Cloud::at(&url);
    cloud.make_versioned_bucket(BUCKET);
    let mut files = Tree::load("2.3.0-cross-job").rebased(&format!("s3://{BUCKET}/flink"));
    files.retain(|key, _| key.starts_with(JOB));
    // `_metadata` last, as Flink writes it.
    let (metadata, state): (Vec<_>, Vec<_>) = files.iter().partition(|(key, _)| key.ends_with("/_metadata"));
    for (key, bytes) in state.iter().chain(&metadata) {
        cloud.put(BUCKET, &format!("flink/{key}"), bytes);
    }
    let settings = format!(
        "mode = \"restore\"\ncontrol = \"s3://{BUCKET}/stayput/\"\nsettle = \"1s\"\n\
         [[roots]]\nuri = \"s3://{BUCKET}/flink/\"\nkind = \"checkpoints\"\n\
         [[roots]]\nuri = \"s3://{BUCKET}/savepoints/\"\nkind = \"savepoints\"\n"
    );
    let variables = [
        ("STAYPUT_CONFIG", settings.as_str()),
        ("AWS_ENDPOINT_URL", url.as_str()),
        ("AWS_REGION", REGION),
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
        ("STAYPUT_METRICS_NAMESPACE", "Stayput/of-this-test"),
    ];
    let mut function = Emulator::start(&emulator, &bootstrap, &variables);
    let shared = Tree::load("2.3.0-cross-job")
        .references()
        .into_iter()
        .find(|(key, by)| key.starts_with(&format!("{JOB}shared/")) && by.contains(&format!("{JOB}chk-3")))
        .map(|(key, _)| key)
        .expect("chk-3 names shared files");
    cloud.delete(BUCKET, &format!("flink/{shared}"));
    std::thread::sleep(std::time::Duration::from_secs(2));

    let called = function.call(SCHEDULE);
    assert_eq!(called.error(), None, "{}", called.answer);
    assert_eq!(
        cloud.get(BUCKET, &format!("flink/{shared}")).as_ref(),
        Some(&files[&shared])
    );
    let summary = |log: &[serde_json::Value]| {
        let mut summaries = log.iter().filter_map(|l| l.get("summary")).cloned();
        summaries.next().expect("a summary")
    };
    let first = summary(&called.log);
    assert_eq!(
        (&first["way"], &first["restored"]),
        (&"scheduled".into(), &1.into()),
        "{first}"
    );
    let codes: Vec<&str> = called
        .log
        .iter()
        .filter_map(|l| l["finding"]["code"].as_str())
        .collect();
    assert!(
        codes.contains(&"deleted_needed") && codes.contains(&"root_empty"),
        "{codes:?}"
    );

    what_it_measured(&called.log, files[&shared].len());

    // Once more: nothing is missing, and nobody is told the same again.
    let called = function.call(SCHEDULE);
    let second = summary(&called.log);
    assert_eq!(second["restored"], 0, "{second}");
    assert_eq!(second["sweep"]["whole"]["running"], 1, "{second}");
    assert!(called.log.iter().all(|l| l.get("finding").is_none()));
    // What there is nothing of is in no metric, and the job's are there again.
    let names: Vec<String> = measured(&called.log).into_iter().map(|m| m.name).collect();
    assert!(
        !names
            .iter()
            .any(|name| name == "Restored" || name == "TimeToRestore"),
        "{names:?}"
    );
    assert!(
        names.iter().any(|name| name == "HoursSinceCheckpoint"),
        "{names:?}"
    );
}

/// One object of so many bytes came back, of one job that runs.
fn what_it_measured(log: &[Value], bytes: usize) {
    let metrics = measured(log);
    assert!(metrics.iter().all(|m| m.namespace == "Stayput/of-this-test"));
    let of = |name: &str, job: Option<&str>| -> Vec<f64> {
        let fits = |m: &&Measured| m.name == name && m.dimensions.get("Job").map(String::as_str) == job;
        metrics
            .iter()
            .filter(fits)
            .flat_map(|m| m.values.clone())
            .collect()
    };
    for (name, count) in [
        ("Sweeps", 1),
        ("Restored", 1),
        ("DeletedByUnknown", 1),
        ("Jobs", 1),
        ("RestoredBytes", bytes),
    ] {
        assert_eq!(of(name, None), [count as f64], "{name}");
    }
    // The kinds that a sweep which restores can't do without.
    for name in [
        "ListRequests",
        "GetRequests",
        "HeadRequests",
        "CopyRequests",
        "PutRequests",
        "SettingsRequests",
        "Findings",
    ] {
        assert!(of(name, None).iter().sum::<f64>() >= 1.0, "{name}: {metrics:?}");
    }
    let minute = 60_000.0;
    assert!(
        matches!(of("TimeToRestore", None)[..], [millis] if (1000.0..minute).contains(&millis)),
        "{metrics:?}"
    );
    let job = format!("s3://{BUCKET}/flink/{JOB}");
    for (name, most) in [("OldestNeededAge", 600.0), ("HoursSinceCheckpoint", 0.2)] {
        for job in [None, Some(job.as_str())] {
            assert!(
                matches!(of(name, job)[..], [age] if (0.0..most).contains(&age)),
                "{name}: {metrics:?}"
            );
        }
    }
}
