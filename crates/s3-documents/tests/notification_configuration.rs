//! A bucket's notification configuration is read, and something put into it, without losing what is there.

use s3_documents::notification_configuration::{
    CREATIONS, Change, EXPIRATIONS, NotificationConfiguration, REMOVALS, Target, Wanted,
};

/// As AWS answers, with what people have configured: a filter, a function, a topic, and an element of some later year.
const BUSY: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<NotificationConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><QueueConfiguration><Id>thumbnails</Id><Queue>arn:aws:sqs:eu-west-1:111122223333:thumbs</Queue><Event>s3:ObjectCreated:*</Event><Event>s3:ObjectRemoved:Delete</Event><Filter><S3Key><FilterRule><Name>Prefix</Name><Value>images/</Value></FilterRule><FilterRule><Name>Suffix</Name><Value>.jpg</Value></FilterRule></S3Key></Filter></QueueConfiguration>
  <!-- of the data team -->
  <CloudFunctionConfiguration><Id>índice &amp; more</Id><CloudFunction>arn:aws:lambda:eu-west-1:111122223333:function:index</CloudFunction><Event>s3:ObjectCreated:Put</Event></CloudFunctionConfiguration>
  <TopicConfiguration><Id>audit</Id><Topic>arn:aws:sns:eu-west-1:111122223333:audit</Topic><Event>s3:ObjectAcl:Put</Event></TopicConfiguration>
  <VectorConfiguration mode="x"><Id>new</Id></VectorConfiguration>
</NotificationConfiguration>"#;

/// Ceph's own way: a prefix of the namespace in front, an empty filter, and one by metadata.
const CEPH: &str = r#"<NotificationConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><TopicConfiguration><Id>mine</Id><Topic>arn:aws:sns:default::t</Topic><Event>s3:ObjectRemoved:DeleteMarkerCreated</Event><Filter><S3Metadata><FilterRule><Name>x-amz-meta-a</Name><Value>b</Value></FilterRule></S3Metadata><S3Tags></S3Tags></Filter></TopicConfiguration></NotificationConfiguration>"#;

const EMPTY: [&str; 4] = [
    r#"<NotificationConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"/>"#,
    r#"<?xml version="1.0"?><NotificationConfiguration  xmlns="http://s3.amazonaws.com/doc/2006-03-01/" />"#,
    "<NotificationConfiguration></NotificationConfiguration>\n",
    r#"<s3:NotificationConfiguration xmlns:s3="http://s3.amazonaws.com/doc/2006-03-01/"/>"#,
];

fn queue(id: &str, event: &str, prefix: &str) -> Wanted {
    Wanted {
        id: id.to_owned(),
        target: Target::Queue,
        arn: format!("arn:aws:sqs:eu-west-1:111122223333:{id}"),
        events: vec![event.to_owned()],
        prefix: prefix.to_owned(),
        suffix: String::new(),
    }
}

/// New checkpoints, by the end of their keys.
fn checkpoints(prefix: &str) -> Wanted {
    Wanted {
        suffix: "_metadata".to_owned(),
        ..queue("stayput-checkpoints", CREATIONS, prefix)
    }
}

fn ours(prefix: &str) -> Vec<Wanted> {
    vec![
        queue("stayput-lifecycle", EXPIRATIONS, prefix),
        queue("stayput-removals", REMOVALS, prefix),
    ]
}

fn read(text: &str) -> NotificationConfiguration {
    NotificationConfiguration::parse(text.as_bytes()).unwrap_or_else(|e| panic!("{e}: {text}"))
}

#[test]
fn what_is_there_is_read_and_what_is_unknown_is_named() {
    let there = read(BUSY);
    let lines: Vec<String> = there.sendings.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "thumbnails: s3:ObjectCreated:*, s3:ObjectRemoved:Delete to the queue arn:aws:sqs:eu-west-1:111122223333:thumbs, keys images/*, keys *.jpg",
            "índice & more: s3:ObjectCreated:Put to the function arn:aws:lambda:eu-west-1:111122223333:function:index",
            "audit: s3:ObjectAcl:Put to the topic arn:aws:sns:eu-west-1:111122223333:audit",
        ]
    );
    assert_eq!(there.not_understood, ["VectorConfiguration"]);
    assert!(!there.to_event_bridge);
    let ceph = read(CEPH);
    assert!(ceph.sendings[0].filter_says_more);
    assert!(!ceph.sendings[0].takes_keys_below("a/"));
    assert!(read(EMPTY[0]).sendings.is_empty());
}

#[test]
fn what_was_there_keeps_its_bytes_and_doing_it_twice_changes_nothing() {
    let cases = [BUSY, CEPH].iter().chain(&EMPTY);
    let mut merges = 0;
    for text in cases {
        let there = read(text);
        // Ceph's takes markers of every key, so there only what rules do is free.
        let wanted = if *text == CEPH {
            ours("")[..1].to_vec()
        } else {
            ours("checkpoints/")
        };
        for bridge in [false, true] {
            let merged = there.merged(&wanted, bridge).unwrap();
            assert!(!merged.changes_nothing());
            // Take out what was added, and the document is the one that was read.
            let after = read(&merged.text);
            assert_eq!(after.to_event_bridge, bridge, "{}", merged.text);
            assert_eq!(after.sendings.len(), there.sendings.len() + wanted.len());
            assert_eq!(after.not_understood, there.not_understood);
            let common = there
                .text()
                .bytes()
                .zip(merged.text.bytes())
                .take_while(|(a, b)| a == b)
                .count();
            let (head, tail) = there.text().split_at(common);
            assert!(merged.text.starts_with(head));
            if !text.contains("/>") {
                assert!(merged.text.ends_with(tail), "{}", merged.text);
                let added = merged.text.len() - text.len();
                assert_eq!(format!("{head}{tail}"), *text);
                assert!(added > 100);
            }
            let again = after.merged(&wanted, bridge).unwrap();
            assert!(again.changes_nothing(), "{:?}", again.changes);
            assert_eq!(again.text, merged.text);
            merges += 1;
        }
    }
    assert_eq!(merges, 12);
}

#[test]
fn one_of_our_name_that_differs_is_replaced_and_nothing_else() {
    let first = read(BUSY).merged(&ours(""), false).map_err(drop);
    assert!(first.is_err(), "images/ overlaps with every key");
    let before = read(&read(BUSY).merged(&ours("checkpoints/"), false).unwrap().text);
    let mut wanted = ours("checkpoints/");
    wanted[1].arn.push_str("-of-the-new-stack");
    let merged = before.merged(&wanted, false).unwrap();
    let removed = merged
        .changes
        .iter()
        .filter(|c| matches!(c, Change::Removed(s) if s.id.as_deref() == Some("stayput-removals")));
    let added = merged
        .changes
        .iter()
        .filter(|c| matches!(c, Change::Added(w) if w.id == "stayput-removals"));
    assert_eq!((removed.count(), added.count(), merged.changes.len()), (1, 1, 6));
    let after = read(&merged.text);
    assert_eq!(after.sendings.len(), 5);
    for part in [
        "<!-- of the data team -->",
        r#"<VectorConfiguration mode="x"><Id>new</Id></VectorConfiguration>"#,
        "índice &amp; more",
    ] {
        assert!(merged.text.contains(part), "{part}");
    }
}

#[test]
fn s3_would_refuse_what_overlaps_so_it_is_named_before() {
    let there = read(BUSY);
    let overlaps = there.merged(&ours(""), false).unwrap_err();
    let [only] = overlaps.as_slice() else {
        panic!("{overlaps:?}")
    };
    assert_eq!(only.there.id.as_deref(), Some("thumbnails"));
    assert_eq!(
        (only.event.as_str(), only.wanted.id.as_str()),
        ("s3:ObjectRemoved:Delete", "stayput-removals")
    );
    // Another prefix, another event, or a narrower one of ours: no overlap.
    for (event, prefix, overlaps) in [
        (REMOVALS, "images/2026/", true),
        (REMOVALS, "ima", true),
        (REMOVALS, "flink/", false),
        ("s3:ObjectRemoved:DeleteMarkerCreated", "", false),
        ("s3:ObjectRemoved:Delete", "", true),
        (EXPIRATIONS, "", false),
        ("s3:ObjectAcl:*", "", true),
    ] {
        let merged = there.merged(&[queue("stayput-x", event, prefix)], false);
        assert_eq!(merged.is_err(), overlaps, "{event} {prefix}");
    }
    let everything = "<NotificationConfiguration><QueueConfiguration><Id>a</Id><Queue>q</Queue><Event>s3:*</Event></QueueConfiguration></NotificationConfiguration>";
    assert_eq!(read(everything).merged(&ours(""), false).unwrap_err().len(), 2);
}

#[test]
fn an_end_of_keys_is_a_filter_as_well() {
    // Pictures end otherwise, and a function without a filter takes all of `s3:ObjectCreated:Put`.
    let there = read(BUSY);
    let overlaps = there.merged(&[checkpoints("")], false).unwrap_err();
    let theirs: Vec<_> = overlaps
        .iter()
        .map(|o| (o.there.target, o.event.as_str()))
        .collect();
    assert_eq!(theirs, [(Target::Function, "s3:ObjectCreated:Put")]);
    for (theirs, overlaps) in [
        (".jpg", false),
        ("data", true),
        ("x_metadata", true),
        ("", true),
        ("_metadata.bak", false),
    ] {
        let filter = format!(
            "<Filter><S3Key><FilterRule><Name>Suffix</Name><Value>{theirs}</Value></FilterRule></S3Key></Filter>"
        );
        let text = format!(
            "<NotificationConfiguration><QueueConfiguration><Id>a</Id><Queue>q</Queue><Event>{CREATIONS}</Event>{filter}</QueueConfiguration></NotificationConfiguration>"
        );
        let merged = read(&text).merged(&[checkpoints("flink/")], false);
        assert_eq!(merged.is_err(), overlaps, "{theirs:?}");
    }
    for prefix in ["", "flink/"] {
        let mut all = ours(prefix);
        all.push(checkpoints(prefix));
        let merged = read(EMPTY[0]).merged(&all, false).unwrap();
        let after = read(&merged.text);
        assert_eq!(
            (
                after.sendings[2].prefix.as_str(),
                after.sendings[2].suffix.as_str()
            ),
            (prefix, "_metadata")
        );
        assert!(after.sendings[2].to_string().ends_with(", keys *_metadata"));
        assert!(after.merged(&all, false).unwrap().changes_nothing());
        // Another filter is another configuration.
        all[2].suffix.clear();
        assert!(!after.merged(&all, false).unwrap().changes_nothing());
    }
}

#[test]
fn names_of_others_are_written_so_that_they_are_read_as_they_are() {
    let mut odd = queue("stayput-<&>\"'", REMOVALS, " a\tb<c>/ ");
    odd.arn = "arn:&".to_owned();
    let merged = read(EMPTY[0]).merged(std::slice::from_ref(&odd), false).unwrap();
    let after = read(&merged.text);
    assert_eq!(after.sendings[0].id.as_deref(), Some(odd.id.as_str()));
    assert_eq!(after.sendings[0].prefix, odd.prefix);
    assert!(after.merged(&[odd], false).unwrap().changes_nothing());
}

#[test]
fn what_cant_be_read_is_refused_with_its_place() {
    for (text, at) in [
        ("<Other/>", "Other"),
        (
            "<NotificationConfiguration><QueueConfiguration><Event>x</Event></QueueConfiguration></NotificationConfiguration>",
            "names no target",
        ),
        (
            "<NotificationConfiguration><QueueConfiguration><Queue>q</Queue></QueueConfiguration></NotificationConfiguration>",
            "has no Event",
        ),
        ("<NotificationConfiguration>", "byte"),
        (
            "<!DOCTYPE a [<!ENTITY b \"c\">]><NotificationConfiguration>&b;</NotificationConfiguration>",
            "byte",
        ),
    ] {
        let error = NotificationConfiguration::parse(text.as_bytes())
            .unwrap_err()
            .to_string();
        assert!(error.contains(at), "{error}");
    }
}
