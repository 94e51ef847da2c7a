//! `stayput audit`: what rules will take of real checkpoints, from files alone.

mod command;

use std::path::PathBuf;

use command::{Said, corpus, stayput, stayput_reading};
use serde_json::{Value, json};

const STORY: &str = "stories/lifecycle-running";
const JOB: &str = "2.3.0/events-retained2/2be3cab7043c112ec2d02bfe50f0feb2";

fn story(file: &str) -> Value {
    serde_json::from_slice(&std::fs::read(corpus().join(STORY).join(file)).unwrap()).unwrap()
}

/// The rules of the story: 30 days, and 30 more before a hidden version is purged.
fn rules() -> Vec<u8> {
    serde_json::to_vec(&story("bucket-config.json")["Lifecycle"]).unwrap()
}

/// Stories keep each version of a `_metadata` under its version id.
fn metadata(checkpoint: &str) -> String {
    let folder = format!("{STORY}/metadata/{JOB}/{checkpoint}");
    let mut files = std::fs::read_dir(corpus().join(&folder)).unwrap();
    let name = files.next().unwrap().unwrap().file_name();
    format!("{folder}/{}", name.to_str().unwrap())
}

/// A file for the command, named after the test that needs it.
fn written(name: &str, bytes: &[u8]) -> String {
    // All tests of this package share the folder.
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("audit-{name}"));
    std::fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The bucket as it was the minute before the rule took anything: no markers, and what they hide on top.
fn the_evening_before() -> Value {
    let mut listing = story("bucket.json");
    listing["DeleteMarkers"] = json!([]);
    for version in listing["Versions"].as_array_mut().unwrap() {
        version["IsLatest"] = true.into();
    }
    listing
}

fn audit(arguments: &[&str], rules: &[u8]) -> Said {
    stayput_reading(&[&["audit", "--rules", "-"], arguments].concat(), rules)
}

/// Audits the newest checkpoint with the listing of that evening, a minute before midnight.
fn audit_the_evening_before(file: &str, more: &[&str], rules: &[u8]) -> Said {
    let listing = written(file, &serde_json::to_vec(&the_evening_before()).unwrap());
    let chk = metadata("chk-8");
    let arguments = [
        "--snapshot",
        &chk,
        "--listing",
        &listing,
        "--now",
        "2026-11-27T23:59:00Z",
    ];
    audit(&[&arguments[..], more].concat(), rules)
}

/// The keys that the story says must come back after the rule ran: needed by the newest checkpoint, and expired.
fn taken_in_the_story() -> Vec<String> {
    let expected = std::fs::read_to_string(corpus().join(STORY).join("expected.tsv")).unwrap();
    let mut keys: Vec<String> = expected
        .lines()
        .filter(|line| line.split('\t').any(|cell| cell == "restore"))
        .filter_map(|line| line.split('\t').find(|cell| cell.starts_with("2.3.0/")))
        .map(|key| format!("s3://flink-lab/{key}"))
        .collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

#[test]
fn the_night_that_the_rule_runs_is_foretold_object_by_object() {
    let said = audit_the_evening_before("night.json", &["--json"], &rules());
    assert_eq!((said.err.as_str(), said.status), ("", 1), "{}", said.out);
    let answer: Value = serde_json::from_str(&said.out).unwrap();
    let bucket = &answer["buckets"][0];
    assert_eq!(bucket["bucket"], "flink-lab");
    assert_eq!(bucket["unlisted"], 0, "{bucket}");
    let harm = &bucket["harms"][0];
    assert_eq!(harm["kind"], "hide");
    // What the rule took at midnight was old enough before: somebody had just set it.
    let tonight = usize::try_from(harm["due"].as_u64().unwrap()).unwrap();
    let taken = taken_in_the_story();
    assert!(taken.len() >= 3, "{taken:?}");
    assert_eq!(tonight, taken.len(), "{harm}");
    let mut foretold: Vec<&str> = harm["examples"].as_array().unwrap()[..tonight]
        .iter()
        .map(|url| url.as_str().unwrap())
        .collect();
    foretold.sort_unstable();
    assert_eq!(foretold, taken);
    assert_eq!(harm["put_back"]["days"], 30);
    assert_eq!(answer["findings"][0]["code"], "rule_will_hide_needed");

    let text = audit_the_evening_before("night.json", &[], &rules());
    assert_eq!(text.status, 1);
    for part in [
        "TAKE WHAT IS NEEDED",
        "rule \"expire-old\" hides",
        "from now on",
        "any moment  s3://flink-lab/",
        "no number is safe",
        "aws s3api put-bucket-lifecycle-configuration --bucket flink-lab",
    ] {
        assert!(text.out.contains(part), "{part}:\n{}", text.out);
    }
}

#[test]
fn the_rules_that_it_prints_pass_its_own_audit() {
    let printed = |more: &[&str], rules: &[u8]| audit_the_evening_before("printed.json", more, rules);
    let answer: Value = serde_json::from_str(&printed(&["--json"], &rules()).out).unwrap();
    let corrected = answer["buckets"][0]["correction"]["configuration"]
        .as_str()
        .unwrap();
    let again = printed(&["--json"], corrected.as_bytes());
    assert_eq!((again.err.as_str(), again.status), ("", 0), "{}", again.out);
    // Of the text, what stands between the braces can be pasted.
    let text = printed(&[], &rules()).out;
    let pasted = &text[text.find("\n{").unwrap()..=text.rfind("\n}").unwrap() + 1];
    assert_eq!(printed(&["--json"], pasted.as_bytes()).status, 0);
}

#[test]
fn what_is_hidden_already_is_told_as_well() {
    let chk = metadata("chk-8");
    let listing = format!("{STORY}/bucket.json");
    let said = audit(
        &[
            "--snapshot",
            &chk,
            "--listing",
            &listing,
            "--now",
            "2026-11-28T00:02:00Z",
        ],
        &rules(),
    );
    assert_eq!(said.status, 1);
    let hidden = format!(
        "{} needed objects are hidden by a delete marker already",
        taken_in_the_story().len()
    );
    assert!(said.out.contains(&hidden), "{hidden}:\n{}", said.out);
}

#[test]
fn without_a_listing_the_days_are_named_and_xml_does_too() {
    let xml =
        b"<LifecycleConfiguration><Rule><ID>save-money</ID><Prefix>2.3.0/</Prefix><Status>Enabled</Status>\
                <Expiration><Days>30</Days></Expiration></Rule></LifecycleConfiguration>";
    let (seven, eight) = (metadata("chk-7"), metadata("chk-8"));
    let said = audit(&["--snapshot", &seven, &eight], xml);
    assert_eq!((said.err.as_str(), said.status), ("", 1), "{}", said.out);
    for part in [
        "once they are 30 days old",
        "of 2 snapshots",
        "Without a listing no day can be named",
        "Versioning is taken to be enabled",
    ] {
        assert!(said.out.contains(part), "{part}:\n{}", said.out);
    }
}

#[test]
fn a_rule_for_another_prefix_takes_nothing() {
    let other = br#"{"Rules": [{"ID": "logs", "Status": "Enabled", "Filter": {"Prefix": "logs/"}, "Expiration": {"Days": 1}}]}"#;
    let said = audit(&["--snapshot", &metadata("chk-8")], other);
    assert_eq!((said.err.as_str(), said.status), ("", 0), "{}", said.out);
    assert!(said.out.contains("take nothing that is needed"), "{}", said.out);
}

#[test]
fn an_uploads_rule_is_named_as_a_risk() {
    let uploads = br#"{"Rules": [{"ID": "uploads", "Status": "Enabled", "Filter": {"Prefix": ""}, "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 7}}]}"#;
    let said = audit(&["--snapshot", &metadata("chk-8")], uploads);
    assert_eq!(said.status, 0);
    assert!(said.out.contains("aborts unfinished uploads"), "{}", said.out);
}

#[test]
fn relative_files_resolve_against_where_the_snapshot_lies() {
    // A native savepoint names its files relative to itself: only --at says where.
    let savepoint = "s3-1.20.5-s3a-rocks-inc-sp1";
    let without = audit(&["--snapshot", savepoint], &rules());
    assert_eq!(without.status, 2, "{}", without.out);
    assert!(without.err.contains("Say it with --at"), "{}", without.err);
    let with = audit(
        &[
            "--snapshot",
            savepoint,
            "--at",
            "s3a://flink-lab/2.3.0/events-retained2/savepoint-1",
            "--json",
        ],
        &rules(),
    );
    assert_eq!((with.err.as_str(), with.status), ("", 1), "{}", with.out);
    let answer: Value = serde_json::from_str(&with.out).unwrap();
    let examples = answer["buckets"][0]["harms"][0]["examples"].as_array().unwrap();
    assert!(!examples.is_empty());
    for example in examples {
        assert!(
            example
                .as_str()
                .unwrap()
                .starts_with("s3://flink-lab/2.3.0/events-retained2/savepoint-1/"),
            "{example}"
        );
    }
    let elsewhere = audit(
        &[
            "--snapshot",
            savepoint,
            "--at",
            "s3://a/b/savepoint-1",
            "--bucket",
            "other",
        ],
        &rules(),
    );
    assert_eq!(elsewhere.status, 3, "the rules were held against nothing");
    assert!(
        elsewhere.out.contains("in the bucket a, whose rules aren't here"),
        "{}",
        elsewhere.out
    );
}

#[test]
fn wrong_files_get_sentences() {
    let chk = metadata("chk-8");
    let listing = format!("{STORY}/bucket.json");
    let cut = written("cut", &command::metadata("2.3.0-rocks-inc-chk8")[..200]);
    let good = String::from_utf8(rules()).unwrap();
    let cases: [(&[&str], &str, i32, &str); 7] = [
        (
            &["--snapshot", &chk],
            "nonsense",
            2,
            "isn't the JSON that belongs here",
        ),
        (
            &["--snapshot", &chk],
            "<LifecycleConfiguration><Rule/>",
            2,
            "byte",
        ),
        (&["--snapshot", &listing], &good, 3, "it looks like a JSON"),
        (
            &["--snapshot", &cut, "--at", "s3://b/cp/j/chk-8"],
            &good,
            3,
            "no snapshot could be read",
        ),
        (&["--snapshot", "nowhere"], &good, 2, "there is no such file"),
        (
            &["--snapshot", &chk, "--listing", &cut],
            &good,
            2,
            "aws s3 ls --recursive",
        ),
        (
            &["--snapshot", &chk, "--listing", "nowhere"],
            &good,
            2,
            "a listing",
        ),
    ];
    for (arguments, rules, status, reason) in cases {
        let said = audit(arguments, rules.as_bytes());
        assert_eq!(said.status, status, "{arguments:?}: {}{}", said.err, said.out);
        assert!(said.err.contains(reason), "{reason}: {}", said.err);
    }
    let beside = audit(&["--snapshot", &chk, &listing], good.as_bytes());
    assert_eq!(beside.status, 3);
    assert!(
        beside.out.contains("What it needs isn't part of this answer"),
        "{}",
        beside.out
    );
    assert_eq!(stayput(&["audit", "--snapshot", &chk]).status, 2, "no rules");
    assert_eq!(
        stayput(&["audit", "--rules", "nowhere", "--snapshot", &chk]).status,
        2
    );
}

#[test]
fn rules_that_were_held_against_nothing_are_never_called_harmless() {
    let said = audit(
        &["--snapshot", &metadata("chk-8"), "--bucket", "flink-labb"],
        &rules(),
    );
    assert_eq!(said.status, 3, "{}", said.out);
    assert!(said.out.contains("lies in s3://flink-labb"), "{}", said.out);
    let said = audit(&["--snapshot", &metadata("chk-8"), "--bucket", ""], &rules());
    assert_eq!(said.status, 2, "{}", said.err);
}

#[test]
fn a_class_that_s3_doesnt_have_is_no_harmless_one() {
    for class in ["glacier", "MOON"] {
        let rules = json!({"Rules": [{"ID": "cold", "Status": "Enabled", "Filter": {"Prefix": ""},
            "Transitions": [{"Days": 10, "StorageClass": class}]}]});
        let said = audit(&["--snapshot", &metadata("chk-8")], rules.to_string().as_bytes());
        assert_eq!(said.status, 3, "{class}: {}", said.out);
        assert!(said.out.contains("isn't a class of S3"), "{class}: {}", said.out);
    }
}

#[test]
fn what_isnt_a_listing_isnt_taken_for_that_of_an_empty_bucket() {
    let harmless = json!({"Rules": [{"ID": "logs", "Status": "Enabled", "Filter": {"Prefix": "logs/"}, "Expiration": {"Days": 1}}]});
    let audited = |name: &str, listing: &[u8]| {
        let listing = written(name, listing);
        let arguments = ["--snapshot", &metadata("chk-8"), "--listing", &listing];
        audit(&arguments, harmless.to_string().as_bytes())
    };
    for (n, other) in ["{}", r#"{"Rules": []}"#, r#"{"Versioning": "Enabled"}"#]
        .into_iter()
        .enumerate()
    {
        let said = audited(&format!("no-listing-{n}"), other.as_bytes());
        assert_eq!(said.status, 2, "{other}: {}", said.out);
        assert!(said.err.contains("none of a listing's fields"), "{}", said.err);
    }
    // That of a bucket which holds nothing that is needed is one, and worth a look.
    let said = audited("empty-bucket", br#"{"RequestCharged": null}"#);
    assert_eq!(said.status, 1, "{}", said.out);
    assert!(said.out.contains("No listing shows"), "{}", said.out);
}

#[test]
fn uploads_that_the_sink_of_a_snapshot_names_are_told_with_the_rule_that_aborts_them() {
    let chk = corpus().join("s3-1.14.6-filesink-inline-chk2/_metadata");
    let rules = |prefix: &str| {
        json!({"Rules": [{"ID": "uploads", "Status": "Enabled", "Filter": {"Prefix": prefix},
            "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 3}}]})
    };
    let arguments = [
        "--snapshot",
        chk.to_str().unwrap(),
        "--at",
        "s3://flink-lab/1.14.6/filesink-inline/d7aa52d807c12e1b813fd6f1d237fc81/chk-2",
        "--versioning",
        "enabled",
        "--json",
    ];
    let everywhere = serde_json::to_vec(&rules("")).unwrap();
    let for_people = audit(&arguments[..6], &everywhere).out;
    let first_line = for_people.lines().next().unwrap_or_default();
    assert!(
        first_line.contains("ABORT UPLOADS THAT ARE NEEDED"),
        "{for_people}"
    );
    let asked = |prefix: &str| {
        let rules = serde_json::to_vec(&rules(prefix)).unwrap();
        let said = audit(&arguments, &rules);
        let document: Value = serde_json::from_str(&said.out).unwrap();
        (said.status, document)
    };
    let (code, document) = asked("1.14.6/filesink-inline/sinkout/");
    assert_eq!(code, 1);
    let finding = &document["findings"][0];
    assert_eq!(finding["code"], "rule_will_abort_uploads");
    assert!(finding["objects"].as_u64().unwrap() > 0);
    // No listing, so no day.
    assert_eq!(document["buckets"][0]["aborts"][0]["first"], Value::Null);
    let (code, document) = asked("elsewhere/");
    assert_eq!((code, &document["findings"]), (0, &json!([])));
}
