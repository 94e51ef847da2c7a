//! Rules in XML, as S3's API sends them: they mean what those in JSON mean, and what is refused is named with its byte.

use proptest::prelude::*;
use s3_documents::Problem;
use s3_documents::lifecycle::{
    Expiration, LifecycleConfiguration, LifecycleRule, MinimumTransitionSize, NoncurrentExpiration,
    NoncurrentTransition, RuleFilter, Tag, Transition, TransitionTime, parse,
};
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
                                element("Key", escaped(&tag.key)) + &element("Value", escaped(&tag.value)),
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
    prop::sample::select(vec!["GLACIER", "DEEP_ARCHIVE", "STANDARD_IA", "GLACIER_IR"]).prop_map(str::to_owned)
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
    let transition = (when, any_class()).prop_map(|(when, storage_class)| Transition { when, storage_class });
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
        (
            "<!-- ü -->\n<Lifecycle/>".to_owned(),
            "outermost element is Lifecycle",
            "<Lifecycle",
        ),
    ];
    for (xml, reason, place) in &cases {
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
