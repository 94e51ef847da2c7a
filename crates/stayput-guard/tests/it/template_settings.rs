//! The settings that infra/template.yaml makes are read, and none of its parameters is lost on the way.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use stayput_core::root::{Protect, Root, RootKind, Strategy};
use stayput_guard::settings::{Mode, Settings};
use stayput_guard::topic::TopicArn;

/// What the template makes of its parameters; infra/checks compares it with the template.
fn made(of: &str) -> Settings {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../infra/checks/settings.json");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let all: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    Settings::parse(&all[of].to_string()).unwrap_or_else(|e| panic!("{of}: {e}"))
}

#[test]
fn a_stack_with_nothing_but_a_bucket_observes_with_the_defaults() {
    let made = made("least");
    let default = Settings::from_short("s3://flink-state/checkpoints/", None).unwrap();
    assert_eq!(made.mode, Mode::Observe);
    assert_eq!(made.copies_per_second, default.copies_per_second);
    assert_eq!(made.findings_topic, None);
    let (m, d) = (&made.mandate, &default.mandate);
    assert_eq!(
        (&m.control, m.protect_since, m.objects_per_day, m.bytes_per_day),
        (&d.control, d.protect_since, d.objects_per_day, d.bytes_per_day)
    );
    assert_eq!(
        (m.policy.settle, m.policy.dormant_after),
        (d.policy.settle, d.policy.dormant_after)
    );
    assert_eq!(
        (m.catalogue_max_age, m.metadata_limit),
        (d.catalogue_max_age, d.metadata_limit)
    );
    assert_eq!(m.principals.ours, ["AROAOURS"]);
    assert!(m.principals.flink.is_empty() && made.doubts().is_empty());
    let roots: Vec<_> = m.roots.iter().collect();
    assert_eq!(roots.len(), 1);
    assert_eq!(
        (roots[0].kind, roots[0].protect, roots[0].strategy),
        (RootKind::Checkpoints, Protect::Default, Strategy::Copy)
    );
}

#[test]
fn every_parameter_reaches_the_setting_that_it_is_for() {
    let made = made("everything");
    assert_eq!((made.mode, made.copies_per_second), (Mode::Restore, 9));
    assert_eq!(
        made.findings_topic.as_ref().map(TopicArn::as_str),
        Some("arn:aws:sns:eu-west-1:111122223333:findings")
    );
    let m = &made.mandate;
    assert_eq!(
        m.control.as_ref().map(ToString::to_string).as_deref(),
        Some("s3://ops/watch/")
    );
    assert_eq!(
        m.protect_since.map(|t| t.to_string()).as_deref(),
        Some("2026-11-29T00:00:00Z")
    );
    assert_eq!(m.policy.settle, Duration::from_secs(120));
    assert_eq!(m.policy.dormant_after, Duration::from_secs(30 * 86_400));
    assert_eq!(m.catalogue_max_age, Duration::from_secs(600));
    assert_eq!(m.metadata_limit.bytes(), 64 << 20);
    assert_eq!((m.objects_per_day, m.bytes_per_day), (7, 5_000_000_000));
    assert_eq!(m.principals.flink, ["AROAFLINKONE", "AROAFLINKTWO"]);
    assert_eq!(m.principals.ours, ["AROAOTHER", "AROAOURS"]);
    let mut roots: Vec<_> = m
        .roots
        .iter()
        .map(|r| {
            (
                r.bucket(),
                r.prefix(),
                r.kind,
                r.protect,
                r.storage_class.as_deref(),
            )
        })
        .collect();
    roots.sort_unstable_by_key(|root| (root.0, root.1));
    let class = Some("STANDARD_IA");
    assert_eq!(
        roots,
        [
            (
                "flink-state",
                "_entropy_/checkpoints/",
                RootKind::Checkpoints,
                Protect::All,
                class
            ),
            ("flink-state", "ha/", RootKind::Ha, Protect::All, class),
            (
                "flink-state",
                "savepoints/",
                RootKind::Savepoints,
                Protect::All,
                class
            ),
            ("other", "cp/", RootKind::Checkpoints, Protect::Default, None),
            ("other", "out/", RootKind::Sink, Protect::Default, None),
        ]
    );
    assert!(m.roots.iter().any(Root::has_entropy));
    for root in m.roots.iter() {
        let unhides = root.bucket() == "flink-state";
        assert_eq!(root.strategy == Strategy::Unhide, unhides, "{}", root.prefix());
    }
}
