//! Lifecycle rules in JSON and bucket settings: those of the stories, every kind of rule, and what is refused. `xml`: rules in XML.

use std::path::PathBuf;

use s3_documents::bucket::{Versioning, parse_configuration, parse_versioning};
use s3_documents::lifecycle::{
    Expiration, LifecycleRule, MinimumTransitionSize, NoncurrentExpiration, NoncurrentTransition, RuleFilter,
    Tag, Transition, TransitionTime, parse,
};

mod xml;

fn one_rule(rule: &str) -> Result<LifecycleRule, String> {
    let document = format!("{{\"Rules\": [{rule}]}}");
    match parse(document.as_bytes()) {
        Ok(mut configuration) => {
            assert_eq!(configuration.rules.len(), 1);
            Ok(configuration.rules.remove(0))
        }
        Err(e) => Err(e.to_string()),
    }
}

#[test]
fn every_bucket_of_the_stories_is_read() {
    let stories: PathBuf = [
        env!("CARGO_MANIFEST_DIR"),
        "..",
        "..",
        "tests",
        "corpus",
        "stories",
    ]
    .iter()
    .collect();
    let (mut buckets, mut rules, mut without_versions) = (0, 0, 0);
    for story in std::fs::read_dir(stories).unwrap() {
        let path = story.unwrap().path().join("bucket-config.json");
        if !path.exists() {
            continue;
        }
        let configuration = parse_configuration(&std::fs::read(&path).unwrap());
        let configuration = configuration.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert_eq!(configuration.bucket, "flink-lab");
        assert_eq!(configuration.account.as_deref(), Some("111122223333"));
        assert!(
            configuration
                .lifecycle
                .rules
                .iter()
                .all(|rule| rule.enabled && rule.expiration.is_some())
        );
        rules += configuration.lifecycle.rules.len();
        without_versions += usize::from(configuration.versioning != Versioning::Enabled);
        buckets += 1;
    }
    assert!(
        buckets >= 110 && rules >= 20 && without_versions >= 2,
        "{buckets} {rules} {without_versions}"
    );
}

#[test]
fn the_rule_that_expires_a_checkpoint_prefix() {
    let rule = one_rule(
        r#"{"ID": "expire-old", "Filter": {"Prefix": "cp/"}, "Status": "Enabled", "Expiration": {"Days": 30},
            "NoncurrentVersionExpiration": {"NoncurrentDays": 7, "NewerNoncurrentVersions": 2}}"#,
    );
    let expected = LifecycleRule {
        expiration: Some(Expiration::Days(30)),
        noncurrent_expiration: Some(NoncurrentExpiration {
            noncurrent_days: 7,
            newer_noncurrent_versions: Some(2),
        }),
        ..LifecycleRule::new("expire-old", RuleFilter::prefix("cp/"))
    };
    assert_eq!(rule, Ok(expected));
}

#[test]
fn all_conditions_of_an_and_hold_together() {
    let rule = one_rule(
        r#"{"Status": "Disabled", "Filter": {"And": {"Prefix": "cp/", "Tags": [{"Key": "a", "Value": "1"}, {"Key": "b", "Value": ""}],
            "ObjectSizeGreaterThan": 500, "ObjectSizeLessThan": 64000}}, "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 7}}"#,
    )
    .unwrap();
    let tag = |key: &str, value: &str| Tag {
        key: key.into(),
        value: value.into(),
    };
    assert_eq!(
        rule.filter,
        RuleFilter {
            prefix: "cp/".into(),
            tags: vec![tag("a", "1"), tag("b", "")],
            size_greater_than: Some(500),
            size_less_than: Some(64_000),
        }
    );
    assert_eq!(
        (rule.enabled, rule.abort_incomplete_upload_days, rule.name()),
        (false, Some(7), "(unnamed)")
    );
}

#[test]
fn each_single_condition_and_the_old_prefix() {
    let filter = |text: &str| {
        one_rule(&format!("{{\"Status\": \"Enabled\", {text}}}"))
            .unwrap()
            .filter
    };
    assert_eq!(filter(r#""Filter": {}"#), RuleFilter::default());
    assert_eq!(filter(r#""Filter": {"Prefix": ""}"#), RuleFilter::default());
    assert_eq!(filter(r#""Prefix": "logs/""#), RuleFilter::prefix("logs/"));
    assert_eq!(
        filter(r#""Filter": {"ObjectSizeLessThan": 9}"#).size_less_than,
        Some(9)
    );
    assert_eq!(
        filter(r#""Filter": {"ObjectSizeGreaterThan": 9}"#).size_greater_than,
        Some(9)
    );
    assert_eq!(
        filter(r#""Filter": {"Tag": {"Key": "k", "Value": "v"}}"#)
            .tags
            .len(),
        1
    );
}

#[test]
fn expirations_by_date_and_of_markers_and_transitions() {
    let rule =
        |text: &str| one_rule(&format!("{{\"Status\": \"Enabled\", \"Prefix\": \"\", {text}}}")).unwrap();
    assert_eq!(
        rule(r#""Expiration": {"Date": "2026-11-20T00:00:00+00:00"}"#).expiration,
        Some(Expiration::Date(1_795_132_800_000))
    );
    assert_eq!(
        rule(r#""Expiration": {"ExpiredObjectDeleteMarker": true}"#).expiration,
        Some(Expiration::ExpiredObjectDeleteMarker)
    );
    assert_eq!(
        rule(r#""Expiration": {"ExpiredObjectDeleteMarker": false}"#).expiration,
        None
    );
    let moves = rule(
        r#""Transitions": [{"Days": 0, "StorageClass": "INTELLIGENT_TIERING"}, {"Date": "2026-11-20T00:00:00Z", "StorageClass": "GLACIER"}],
           "NoncurrentVersionTransitions": [{"NoncurrentDays": 3, "NewerNoncurrentVersions": 1, "StorageClass": "DEEP_ARCHIVE"}]"#,
    );
    let transition = |when, class: &str| Transition {
        when,
        storage_class: class.into(),
    };
    assert_eq!(
        moves.transitions,
        [
            transition(TransitionTime::Days(0), "INTELLIGENT_TIERING"),
            transition(TransitionTime::Date(1_795_132_800_000), "GLACIER")
        ]
    );
    assert_eq!(
        moves.noncurrent_transitions,
        [NoncurrentTransition {
            noncurrent_days: 3,
            newer_noncurrent_versions: Some(1),
            storage_class: "DEEP_ARCHIVE".into()
        }]
    );
}

#[test]
fn a_rule_that_is_not_understood_is_refused_with_its_name_and_reason() {
    let cases = [
        (
            r#""Filter": {"Prefix": "a"}, "Prefix": "a""#,
            "both Filter and Prefix",
        ),
        (r#""Expiration": {"Days": 1}"#, "neither Filter nor Prefix"),
        (
            r#""Filter": {"Prefix": "a", "ObjectSizeLessThan": 1}"#,
            "two conditions without And",
        ),
        (
            r#""Filter": {"And": {}, "Prefix": "a"}"#,
            "And beside another condition",
        ),
        (
            r#""Prefix": "", "Expiration": {"Days": 1, "Date": "2026-11-20T00:00:00Z"}"#,
            "more than one of Days, Date",
        ),
        (r#""Prefix": "", "Expiration": {}"#, "Expiration is empty"),
        (r#""Prefix": "", "Expiration": {"Days": 0}"#, "Days is 0"),
        (
            r#""Prefix": "", "NoncurrentVersionExpiration": {"NoncurrentDays": 0}"#,
            "NoncurrentDays is 0",
        ),
        (
            r#""Prefix": "", "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 0}"#,
            "DaysAfterInitiation is 0",
        ),
        (
            r#""Prefix": "", "Transitions": [{"StorageClass": "GLACIER"}]"#,
            "neither Days nor Date",
        ),
    ];
    for (text, reason) in cases {
        let e = one_rule(&format!(
            "{{\"ID\": \"the-rule\", \"Status\": \"Enabled\", {text}}}"
        ))
        .unwrap_err();
        assert!(
            e.contains(reason) && e.contains("rule 1 (the-rule)"),
            "{text}: {e}"
        );
    }
    for (text, reason) in [
        (
            r#"{"Status": "Enabled", "Filter": {"ObjectAgeGreaterThan": 1}}"#,
            "unknown field `ObjectAgeGreaterThan`",
        ),
        (
            r#"{"Status": "Enabled", "Filter": {}, "Evaporation": {}}"#,
            "unknown field `Evaporation`",
        ),
        (
            r#"{"Status": "Sometimes", "Filter": {}}"#,
            "unknown variant `Sometimes`",
        ),
        (r#"{"Filter": {}}"#, "missing field `Status`"),
        (
            r#"{"Status": "Enabled", "Prefix": "", "Expiration": {"Days": -1}}"#,
            "`-1`",
        ),
        (
            r#"{"Status": "Enabled", "Prefix": "", "Expiration": {"Date": "soon"}}"#,
            "\"soon\"",
        ),
    ] {
        let e = one_rule(text).unwrap_err();
        assert!(
            e.contains(reason) && e.contains("get-bucket-lifecycle-configuration"),
            "{text}: {e}"
        );
    }
    assert!(
        parse(b"{}")
            .unwrap_err()
            .to_string()
            .contains("missing field `Rules`")
    );
    // What stands beside the rules is about other things.
    assert_eq!(
        parse(br#"{"TransitionDefaultMinimumObjectSize": "all_storage_classes_128K", "Rules": []}"#)
            .unwrap()
            .rules,
        []
    );
}

#[test]
fn versioning_is_enabled_suspended_or_was_never_enabled() {
    let of = |text: &str| parse_versioning(text.as_bytes());
    assert_eq!(
        of(r#"{"Status": "Enabled", "MFADelete": "Disabled"}"#),
        Ok(Versioning::Enabled)
    );
    assert_eq!(of(r#"{"Status": "Suspended"}"#), Ok(Versioning::Suspended));
    assert_eq!(of("{}"), Ok(Versioning::Never));
    assert_eq!(of("\n"), Ok(Versioning::Never));
    assert!(
        of(r#"{"Status": "enabled"}"#)
            .unwrap_err()
            .to_string()
            .contains("unknown variant `enabled`")
    );
    assert!(
        parse_configuration(br#"{"Bucket": "b"}"#)
            .unwrap_err()
            .to_string()
            .contains("missing field `Versioning`")
    );
}

#[test]
fn json_of_the_put_command_and_the_minimum_size_are_read() {
    let read = parse(
        br#"{"Bucket": "b", "LifecycleConfiguration": {"Rules": [{"Status": "Enabled", "Filter": {}}]},
            "TransitionDefaultMinimumObjectSize": "varies_by_storage_class"}"#,
    )
    .unwrap();
    assert_eq!(read.rules.len(), 1);
    assert_eq!(read.minimum_transition_size, MinimumTransitionSize::VariesByClass);
    let both = parse(br#"{"Rules": [], "LifecycleConfiguration": {"Rules": []}}"#).unwrap_err();
    assert!(both.to_string().contains("it isn't known which counts"), "{both}");
}
