//! Lifecycle rules and bucket settings: those of the stories, every kind of rule, and what is refused.

use std::path::PathBuf;

use s3_documents::bucket::{Versioning, parse_configuration, parse_versioning};
use s3_documents::lifecycle::{
    Expiration, LifecycleRule, NoncurrentExpiration, NoncurrentTransition, RuleFilter, Tag, Transition,
    TransitionTime, parse,
};

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

mod xml {
    use super::*;
    use proptest::prelude::*;
    use s3_documents::Problem;
    use s3_documents::lifecycle::{LifecycleConfiguration, MinimumTransitionSize};
    use time::OffsetDateTime;
    use time::format_description::well_known::Rfc3339;

    fn escaped(text: &str) -> String {
        text.replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
    }

    fn element(name: &str, inner: impl std::fmt::Display) -> String {
        format!("<{name}>{inner}</{name}>")
    }

    fn optional(name: &str, value: Option<impl std::fmt::Display>) -> String {
        value.map(|value| element(name, value)).unwrap_or_default()
    }

    fn date(millis: i64) -> String {
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(millis) * 1_000_000)
            .unwrap()
            .format(&Rfc3339)
            .unwrap()
    }

    fn when(when: TransitionTime) -> String {
        match when {
            TransitionTime::Days(days) => element("Days", days),
            TransitionTime::Date(at) => element("Date", date(at)),
        }
    }

    /// The rules as S3's API sends them.
    fn written(rules: &[LifecycleRule]) -> String {
        let mut text = String::from(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<LifecycleConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\n",
        );
        for rule in rules {
            text += "  <Rule>\n    ";
            text += &optional("ID", rule.id.as_deref().map(escaped));
            let filter = &rule.filter;
            text += &element(
                "Filter",
                element(
                    "And",
                    element("Prefix", escaped(&filter.prefix))
                        + &filter
                            .tags
                            .iter()
                            .map(|tag| {
                                element(
                                    "Tag",
                                    element("Key", escaped(&tag.key))
                                        + &element("Value", escaped(&tag.value)),
                                )
                            })
                            .collect::<String>()
                        + &optional("ObjectSizeGreaterThan", filter.size_greater_than)
                        + &optional("ObjectSizeLessThan", filter.size_less_than),
                ),
            );
            text += &element("Status", if rule.enabled { "Enabled" } else { "Disabled" });
            text += &match rule.expiration {
                None => String::new(),
                Some(Expiration::Days(days)) => element("Expiration", element("Days", days)),
                Some(Expiration::Date(at)) => element("Expiration", element("Date", date(at))),
                Some(Expiration::ExpiredObjectDeleteMarker) => {
                    element("Expiration", element("ExpiredObjectDeleteMarker", true))
                }
            };
            for t in &rule.transitions {
                text += &element(
                    "Transition",
                    when(t.when) + &element("StorageClass", &t.storage_class),
                );
            }
            for t in &rule.noncurrent_transitions {
                text += &element(
                    "NoncurrentVersionTransition",
                    element("NoncurrentDays", t.noncurrent_days)
                        + &optional("NewerNoncurrentVersions", t.newer_noncurrent_versions)
                        + &element("StorageClass", &t.storage_class),
                );
            }
            if let Some(n) = rule.noncurrent_expiration {
                text += &element(
                    "NoncurrentVersionExpiration",
                    element("NoncurrentDays", n.noncurrent_days)
                        + &optional("NewerNoncurrentVersions", n.newer_noncurrent_versions),
                );
            }
            if let Some(days) = rule.abort_incomplete_upload_days {
                text += &element(
                    "AbortIncompleteMultipartUpload",
                    element("DaysAfterInitiation", days),
                );
            }
            text += "\n  </Rule>\n";
        }
        text + "</LifecycleConfiguration>\n"
    }

    fn midnight() -> impl Strategy<Value = i64> {
        (0i64..40_000).prop_map(|day| day * 86_400_000)
    }

    fn any_class() -> impl Strategy<Value = String> {
        prop::sample::select(vec!["GLACIER", "DEEP_ARCHIVE", "STANDARD_IA", "GLACIER_IR"])
            .prop_map(str::to_owned)
    }

    fn any_rule() -> impl Strategy<Value = LifecycleRule> {
        let tag = ("[a-zäß&<> _:]{1,8}", "[a-z0-9\"']{0,8}").prop_map(|(key, value)| Tag { key, value });
        let filter = (
            "[a-z/ <&é*]{0,12}",
            prop::collection::vec(tag, 0..3),
            any::<Option<u64>>(),
            any::<Option<u64>>(),
        );
        let filter = filter.prop_map(|(prefix, tags, size_greater_than, size_less_than)| RuleFilter {
            prefix,
            tags,
            size_greater_than,
            size_less_than,
        });
        let expiration = prop_oneof![
            Just(None),
            (1u32..5_000).prop_map(|days| Some(Expiration::Days(days))),
            midnight().prop_map(|at| Some(Expiration::Date(at))),
            Just(Some(Expiration::ExpiredObjectDeleteMarker)),
        ];
        let when = prop_oneof![
            (0u32..5_000).prop_map(TransitionTime::Days),
            midnight().prop_map(TransitionTime::Date),
        ];
        let transition =
            (when, any_class()).prop_map(|(when, storage_class)| Transition { when, storage_class });
        let newer = prop::option::of(1u32..100);
        let noncurrent_transition = (0u32..5_000, newer.clone(), any_class()).prop_map(
            |(noncurrent_days, newer_noncurrent_versions, storage_class)| NoncurrentTransition {
                noncurrent_days,
                newer_noncurrent_versions,
                storage_class,
            },
        );
        let noncurrent = prop::option::of((1u32..5_000, newer)).prop_map(|n| {
            n.map(
                |(noncurrent_days, newer_noncurrent_versions)| NoncurrentExpiration {
                    noncurrent_days,
                    newer_noncurrent_versions,
                },
            )
        });
        (
            prop::option::of("[a-zA-Z0-9 <&-]{1,20}"),
            any::<bool>(),
            filter,
            expiration,
            noncurrent,
            prop::collection::vec(transition, 0..3),
            prop::collection::vec(noncurrent_transition, 0..3),
            prop::option::of(1u32..400),
        )
            .prop_map(
                |(id, enabled, filter, expiration, noncurrent_expiration, transitions, noncurrent, abort)| {
                    LifecycleRule {
                        id,
                        enabled,
                        filter,
                        expiration,
                        noncurrent_expiration,
                        transitions,
                        noncurrent_transitions: noncurrent,
                        abort_incomplete_upload_days: abort,
                    }
                },
            )
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn xml_and_json_of_the_same_rules_read_equal(rules in prop::collection::vec(any_rule(), 0..6)) {
            let rules = LifecycleConfiguration { rules, ..LifecycleConfiguration::default() };
            let xml = written(&rules.rules);
            prop_assert_eq!(parse(xml.as_bytes()).map_err(|e| e.to_string()), Ok(rules.clone()));
            let json = rules.to_json().unwrap();
            prop_assert_eq!(parse(json.as_bytes()).map_err(|e| e.to_string()), Ok(rules));
        }

        #[test]
        fn cut_or_changed_xml_is_read_or_refused(
            rules in prop::collection::vec(any_rule(), 1..3),
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let mut xml = written(&rules).into_bytes();
            let at = at.index(xml.len());
            if !xml[at..].trim_ascii_start().is_empty() && at > 1 {
                prop_assert!(parse(&xml[..xml.len() - 2]).is_err());
                prop_assert!(parse(&xml[..at]).is_err());
            }
            xml[at] = byte;
            if let Err(e) = parse(&xml) && let Problem::Xml { at, .. } = e.problem {
                prop_assert!(at <= xml.len());
            }
        }
    }

    #[test]
    fn the_old_form_comments_and_a_byte_order_mark_are_read() {
        let xml = "\u{feff}<!-- saved by hand --><LifecycleConfiguration><Rule><ID>old</ID><Prefix>cp<!-- -->/</Prefix><Status>Enabled</Status>\
                   <Expiration><Days> 30 </Days></Expiration></Rule></LifecycleConfiguration>";
        let read = parse(xml.as_bytes()).unwrap();
        let mut rule = LifecycleRule::new("old", RuleFilter::prefix("cp/"));
        rule.expiration = Some(Expiration::Days(30));
        assert_eq!(read.rules, [rule]);
        assert_eq!(read.minimum_transition_size, MinimumTransitionSize::NotSaid);
        assert_eq!(
            parse(b"<LifecycleConfiguration/>"),
            Ok(LifecycleConfiguration::default())
        );
    }

    #[test]
    fn what_is_wrong_is_named_with_its_byte() {
        let rule = |inner: &str| {
            format!(
                "<LifecycleConfiguration><Rule><ID>r</ID><Status>Enabled</Status>{inner}</Rule></LifecycleConfiguration>"
            )
        };
        let cases = [
            (
                rule("<Filter/><Evaporation/>"),
                "unknown element Evaporation in Rule",
                "<Evaporation",
            ),
            (
                rule("<Filter><Age>3</Age></Filter>"),
                "unknown element Age in Filter",
                "<Age",
            ),
            (
                rule("<Prefix/><Prefix/>"),
                "Prefix stands there twice",
                "<Prefix/></Rule",
            ),
            (
                rule("<Prefix/><Expiration><Days>-1</Days></Expiration>"),
                "Days is \"-1\"",
                "<Days",
            ),
            (
                rule("<Prefix/><Expiration><Days>many</Days></Expiration>"),
                "Days is \"many\"",
                "<Days",
            ),
            (
                rule("<Prefix/><Expiration><Date>soon</Date></Expiration>"),
                "Date is \"soon\"",
                "<Date",
            ),
            (
                rule("<Prefix/><Expiration/>"),
                "rule 1 (r): its Expiration is empty",
                "<Rule",
            ),
            (
                rule("<Filter><Tag><Key>k</Key></Tag></Filter>"),
                "Tag has no Value",
                "<Tag",
            ),
            (
                rule("<Prefix>a<b/></Prefix>"),
                "unknown element b in Prefix",
                "<b/",
            ),
            (rule("words<Prefix/>"), "text stands in Rule", "words"),
            (
                rule("<Prefix/><Transition><Days>1</Days></Transition>"),
                "Transition has no StorageClass",
                "<Transition",
            ),
            (
                "<LifecycleConfiguration><Rule><Prefix/></Rule></LifecycleConfiguration>".to_owned(),
                "Rule has no Status",
                "<Rule",
            ),
            (
                "<Lifecycle/>".to_owned(),
                "outermost element is Lifecycle",
                "<Lifecycle",
            ),
            ("\n é<!-- ü -->\n<Lifecycle/>".trim_start().to_owned(), "", ""),
        ];
        for (xml, reason, place) in &cases[..cases.len() - 1] {
            let e = parse(xml.as_bytes()).unwrap_err();
            let Problem::Xml { at, detail } = &e.problem else {
                panic!("{xml}: {e}")
            };
            assert!(detail.contains(reason), "{xml}: {e}");
            assert_eq!(*at, xml.find(place).unwrap(), "{xml}: {e}");
        }
        let broken = "<LifecycleConfiguration>\n<!-- ü --><Rule></Role></LifecycleConfiguration>";
        let e = parse(broken.as_bytes()).unwrap_err();
        let Problem::Xml { at, .. } = e.problem else {
            panic!("{e}")
        };
        assert!(
            broken[at..].starts_with("</Role") || broken[at..].starts_with("Role"),
            "byte {at}: {e}"
        );
    }

    #[test]
    fn entities_that_expand_and_deep_nesting_are_refused_in_little_memory() {
        let bomb = "<!DOCTYPE l [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\">]>\
                    <LifecycleConfiguration><Rule><ID>&b;</ID></Rule></LifecycleConfiguration>";
        let e = parse(bomb.as_bytes()).unwrap_err();
        assert!(matches!(e.problem, Problem::Xml { .. }), "{e}");
        for unit in [
            "<Rule>",
            "<a b='c'>",
            "<LifecycleConfiguration>",
            "<!--",
            "<a xmlns='u'>",
        ] {
            let deep = unit.repeat(200_000);
            assert!(parse(deep.as_bytes()).is_err(), "{unit}");
        }
        let closed = "<a>".repeat(100_000) + &"</a>".repeat(100_000);
        let inside = format!("<LifecycleConfiguration>{closed}</LifecycleConfiguration>");
        assert!(parse(inside.as_bytes()).is_err());
        let many = format!(
            "<LifecycleConfiguration>{}</LifecycleConfiguration>",
            "<Rule/>".repeat(600_000)
        );
        assert!(parse(many.as_bytes()).unwrap_err().to_string().contains("limit"));
    }
}

#[test]
fn json_of_the_put_command_and_the_minimum_size_are_read() {
    use s3_documents::lifecycle::MinimumTransitionSize;
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
