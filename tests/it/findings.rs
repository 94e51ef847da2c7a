//! Findings as messages: published, filtered by their attributes, and a topic that isn't there fails no call.

use serde_json::{Value, json};
use stayput_tests::cloud::{Cloud, Queue, REGION};
use stayput_tests::embedded_metrics::measured;
use stayput_tests::emulator::Emulator;
use stayput_tests::system::{bootstrap, emulator, ministack};
use stayput_tests::tree::Tree;

const BUCKET: &str = "findings";
const JOB: &str = "dcece6f052f11be38b0597169690f7b8/";
const SCHEDULE: &[u8] = br#"{"source": "aws.scheduler", "detail-type": "Scheduled Event"}"#;

/// The findings that a queue got, as they were published, with the attributes that filters saw.
fn received(cloud: &Cloud, queue: &Queue) -> Vec<(Value, String, String)> {
    let mut all = Vec::new();
    loop {
        let messages = cloud.receive(queue, 1);
        if messages.is_empty() {
            return all;
        }
        for message in messages {
            let envelope: Value = serde_json::from_str(&message.body).expect("SNS's envelope");
            let attribute = |name: &str| {
                let value = &envelope["MessageAttributes"][name]["Value"];
                value
                    .as_str()
                    .unwrap_or_else(|| panic!("{name}: {envelope}"))
                    .to_owned()
            };
            let finding = envelope["Message"].as_str().expect("a message");
            let finding = serde_json::from_str(finding).expect("a finding");
            all.push((finding, attribute("code"), attribute("severity")));
            cloud.done(queue, &message);
        }
    }
}

#[test]
fn findings_reach_those_who_filter_for_them_and_a_topic_that_is_not_there_fails_no_call() {
    let (Some(emulator), Some(url), Some(bootstrap)) = (emulator(), ministack(), bootstrap("rie")) else {
        return;
    };
    let cloud = Cloud::at(&url);
    cloud.make_versioned_bucket(BUCKET);
    let mut files = Tree::load("2.3.0-cross-job").rebased(&format!("s3://{BUCKET}/flink"));
    files.retain(|key, _| key.starts_with(JOB));
    let (metadata, state): (Vec<_>, Vec<_>) = files.iter().partition(|(key, _)| key.ends_with("/_metadata"));
    for (key, bytes) in state.iter().chain(&metadata) {
        cloud.put(BUCKET, &format!("flink/{key}"), bytes);
    }
    let absent = format!("arn:aws:sns:{REGION}:000000000000:nobody-made-this");
    let topic = cloud.make_topic("findings");
    let (everything, root_empty) = (
        cloud.make_queue("findings-everything", &json!({})),
        cloud.make_queue("findings-root-empty", &json!({})),
    );
    let severities = json!({"severity": ["notice", "warning", "urgent", "lost"]});
    cloud.subscribe(&topic, &everything, &severities);
    cloud.subscribe(&topic, &root_empty, &json!({"code": ["root_empty"]}));
    let function = |topic: &str| {
        let settings = format!(
            "mode = \"restore\"\ncontrol = \"s3://{BUCKET}/stayput/\"\nsettle = \"1s\"\nfindings_topic = \"{topic}\"\n\
             [[roots]]\nuri = \"s3://{BUCKET}/flink/\"\nkind = \"checkpoints\"\n\
             [[roots]]\nuri = \"s3://{BUCKET}/savepoints/\"\nkind = \"savepoints\"\n"
        );
        let variables = [
            ("STAYPUT_CONFIG", settings.as_str()),
            ("AWS_ENDPOINT_URL", url.as_str()),
            ("AWS_REGION", REGION),
            ("AWS_ACCESS_KEY_ID", "test"),
            ("AWS_SECRET_ACCESS_KEY", "test"),
        ];
        Emulator::start(&emulator, &bootstrap, &variables)
    };
    let codes_in_log = |log: &[Value]| -> Vec<String> {
        let codes = log.iter().filter_map(|l| l["finding"]["code"].as_str());
        let mut codes: Vec<String> = codes.map(str::to_owned).collect();
        codes.sort_unstable();
        codes
    };

    // Nobody can be told: the sweep is done all the same, and says so.
    let called = function(&absent).call(SCHEDULE);
    assert_eq!(called.error(), None, "{}", called.answer);
    let found = codes_in_log(&called.log);
    assert_eq!(found, ["root_empty"]);
    let untold: f64 = measured(&called.log)
        .iter()
        .filter(|m| m.name == "Untold")
        .flat_map(|m| &m.values)
        .sum();
    assert_eq!(untold, 1.0);
    assert!(received(&cloud, &everything).is_empty());

    // As nobody was told, it is news for a process that reaches the topic, with what happened meanwhile.
    let shared = Tree::load("2.3.0-cross-job")
        .references()
        .into_iter()
        .find(|(key, by)| key.starts_with(&format!("{JOB}shared/")) && by.contains(&format!("{JOB}chk-3")))
        .map(|(key, _)| key)
        .expect("chk-3 names shared files");
    cloud.delete(BUCKET, &format!("flink/{shared}"));
    std::thread::sleep(std::time::Duration::from_secs(2));
    let mut reaching = function(&topic);
    let called = reaching.call(SCHEDULE);
    assert_eq!(called.error(), None, "{}", called.answer);
    let found = codes_in_log(&called.log);
    assert!(
        found.contains(&"deleted_needed".to_owned()) && found.contains(&"root_empty".to_owned()),
        "{found:?}"
    );
    let told = received(&cloud, &everything);
    let mut codes: Vec<String> = told.iter().map(|(_, code, _)| code.clone()).collect();
    codes.sort_unstable();
    assert_eq!(codes, found);
    for (finding, code, severity) in &told {
        assert_eq!(
            (&finding["code"], &finding["severity"]),
            (&json!(code), &json!(severity))
        );
        assert_eq!(finding["form"], "stayput.finding.1");
        // What the log has is what was published.
        let logged = called
            .log
            .iter()
            .map(|l| &l["finding"])
            .find(|f| f["code"] == finding["code"]);
        assert_eq!(logged.expect("in the log")["about"], finding["about"]);
    }
    let filtered = received(&cloud, &root_empty);
    assert_eq!(filtered.len(), 1);
    assert_eq!(filtered[0].1, "root_empty");

    // Told once.
    assert!(codes_in_log(&reaching.call(SCHEDULE).log).is_empty());
    assert!(received(&cloud, &everything).is_empty());
}
