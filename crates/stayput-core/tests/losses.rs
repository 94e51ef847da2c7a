//! When a deletion is whole, and what a bucket's rules do to one object.

use std::time::Duration;

use stayput_core::catalogue::{Catalogue, SnapshotId};
use stayput_core::cause::Cause;
use stayput_core::class::Moment;
use stayput_core::extent::Extent;
use stayput_core::location::ObjectLocation;
use stayput_core::loss::{DirectoryUse, Loss, MetadataState, MissingObject, fitting};
use stayput_core::snapshot::{Contents, Facts, Snapshot, identity_of};
use stayput_core::timestamp::Timestamp;
use stayput_core::version::{KeyHistory, VersionEntry, VersionId, VersionKind};

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

fn deleted() -> Timestamp {
    at("2026-11-28T10:00:00Z")
}

fn data(id: &str, size: u64) -> VersionEntry {
    VersionEntry {
        key: "k".into(),
        id: VersionId::new(id),
        is_latest: false,
        last_modified: at("2026-11-01T00:00:00Z"),
        kind: VersionKind::Data {
            size,
            etag: String::new(),
            storage_class: None,
        },
    }
}

fn marker(time: Timestamp) -> VersionEntry {
    VersionEntry {
        key: "k".into(),
        id: VersionId::new("m"),
        is_latest: true,
        last_modified: time,
        kind: VersionKind::Marker,
    }
}

fn add(catalogue: &mut Catalogue, directory: &str, names: &[&str]) -> SnapshotId {
    let metadata = ObjectLocation::new("b", format!("{directory}_metadata"));
    let names: Vec<_> = names.iter().map(|k| ObjectLocation::new("b", *k)).collect();
    let references = catalogue
        .enter_references(names.iter().map(|l| (l, Extent::Exact(1))))
        .unwrap();
    let (kind, job) = identity_of(&metadata);
    let facts = Facts {
        references,
        checkpoint_id: 8,
        operators: Box::new([[1; 16]]),
        backends: Box::default(),
        directories: Box::default(),
    };
    catalogue.insert(Snapshot {
        metadata,
        version: None,
        etag: String::new(),
        size: 1,
        kind,
        job,
        written: at("2026-11-28T09:00:00Z"),
        hidden: None,
        contents: Contents::Read(facts),
        kept: None,
    })
}

/// What a snapshot that names `names` has lost, when `missing` were hidden so many minutes after `_metadata`.
fn loss(names: &[&str], missing: &[(&str, i64)], beside: &[&str]) -> Loss {
    let missing: Vec<_> = missing
        .iter()
        .map(|(key, minutes)| (*key, *minutes, foreign()))
        .collect();
    loss_by(names, &missing, beside)
}

fn foreign() -> Cause {
    Cause::Foreign("alice".into())
}

/// The same, each hidden by somebody.
fn loss_by(names: &[&str], missing: &[(&str, i64, Cause)], beside: &[&str]) -> Loss {
    let mut catalogue = Catalogue::new();
    let id = add(&mut catalogue, "cp/j/chk-8/", names);
    add(&mut catalogue, "cp/j/chk-9/", beside);
    let missing = missing
        .iter()
        .map(|(key, minutes, cause)| {
            let location = ObjectLocation::new("b", *key);
            let time = Timestamp::from_millis(deleted().millis() + minutes * 60_000);
            MissingObject {
                object: catalogue.index.find(&location).unwrap(),
                exclusive: key.contains("/chk-8/"),
                location,
                history: KeyHistory::new(vec![marker(time), data("d", 1)]),
                cause: cause.clone(),
                told: true,
            }
        })
        .collect();
    let metadata = MetadataState::Hidden {
        at: deleted(),
        cause: foreign(),
    };
    Loss::of(&catalogue, id, metadata, missing, DirectoryUse::Quiet)
}

#[test]
fn whole_is_metadata_and_every_own_file_within_an_hour() {
    let names = ["cp/j/chk-8/a", "cp/j/chk-8/b", "cp/j/shared/s"];
    assert!(
        loss(&names, &[("cp/j/chk-8/a", 59), ("cp/j/chk-8/b", -59)], &[]).whole,
        "shared files may stand"
    );
    assert!(
        !loss(&names, &[("cp/j/chk-8/a", 0)], &[]).whole,
        "one of its own stands"
    );
    assert!(
        !loss(&names, &[("cp/j/chk-8/a", 0), ("cp/j/chk-8/b", 61)], &[]).whole,
        "too late"
    );
}

#[test]
fn what_a_rule_takes_at_midnight_is_no_part_of_what_a_person_deleted_just_before() {
    let names = ["cp/j/chk-8/a", "cp/j/chk-8/b"];
    let rest_by = |cause: Cause| {
        let rest = [("cp/j/chk-8/a", 20, foreign()), ("cp/j/chk-8/b", 20, cause)];
        loss_by(&names, &rest, &[]).whole
    };
    assert!(rest_by(foreign()));
    assert!(!rest_by(Cause::Lifecycle));
}

#[test]
fn what_flink_had_taken_before_cant_go_with_the_rest() {
    // With files of its own, and with shared ones alone.
    for names in [
        ["cp/j/chk-8/a", "cp/j/chk-8/b"],
        ["cp/j/shared/a", "cp/j/shared/b"],
    ] {
        let [a, b] = names;
        let taken_before = |cause: Cause| loss_by(&names, &[(a, 0, foreign()), (b, -300, cause)], &[]).whole;
        assert!(taken_before(Cause::Flink));
        assert!(taken_before(Cause::Unknown));
        assert!(!taken_before(foreign()), "two deletions of a stranger");
        let later = [(a, 0, foreign()), (b, 300, Cause::Flink)];
        assert!(!loss_by(&names, &later, &[]).whole, "it stood when the rest went");
    }
}

#[test]
fn without_own_files_it_is_every_reference_that_no_other_visible_snapshot_names() {
    let names = ["cp/j/shared/s", "cp/j/shared/t"];
    assert!(loss(&names, &[("cp/j/shared/s", 1)], &["cp/j/shared/t"]).whole);
    assert!(!loss(&names, &[("cp/j/shared/s", 1)], &[]).whole);
    assert!(loss(&[], &[], &[]).whole, "nothing but _metadata is a whole too");
}

#[test]
fn without_own_files_the_log_of_a_changelog_may_stand_where_the_jobs_directory_is_gone() {
    for own in ["cp/j/taskowned/t", "x7Qa/cp/j/taskowned/t"] {
        let names = [own, "dstl/j/dstl/a", "dstl/j/dstl/b"];
        assert!(loss(&names, &[(own, 0)], &[]).whole, "{own}");
        let a_part_of_the_log = loss(&names, &[("dstl/j/dstl/a", 0)], &[]);
        assert!(!a_part_of_the_log.whole, "{own} stands");
    }
    let two = ["cp/j/taskowned/t", "cp/j/taskowned/u", "dstl/j/dstl/a"];
    assert!(!loss(&two, &[("cp/j/taskowned/t", 0)], &[]).whole);
}

#[test]
fn with_entropy_own_files_are_told_by_the_end_of_their_path() {
    let names = ["x7Qa/cp/j/chk-8/a", "9fGh/cp/j/chk-8/b"];
    assert!(loss(&names, &[("x7Qa/cp/j/chk-8/a", 0), ("9fGh/cp/j/chk-8/b", 0)], &[]).whole);
    assert!(!loss(&names, &[("x7Qa/cp/j/chk-8/a", 0)], &[]).whole);
}

#[test]
fn its_own_deletion_began_with_the_first_marker_of_the_hour() {
    let l = loss(
        &["cp/j/chk-8/a", "cp/j/chk-8/b"],
        &[("cp/j/chk-8/a", -30), ("cp/j/chk-8/b", -300)],
        &[],
    );
    let Moment::BeforeItsOwn(first) = l.moment(deleted(), at("2026-11-28T09:00:00Z"), deleted()) else {
        panic!("it is hidden itself")
    };
    assert_eq!(
        first,
        at("2026-11-28T09:30:00Z"),
        "what went five hours before belongs to another story"
    );
}

#[test]
fn a_file_that_went_before_the_snapshot_was_complete_doesnt_put_its_class_back_to_then() {
    let l = loss(&["cp/j/chk-8/a"], &[("cp/j/chk-8/a", -30)], &[]);
    let written = at("2026-11-28T09:45:00Z");
    let Moment::BeforeItsOwn(first) = l.moment(deleted(), written, deleted()) else {
        panic!("it is hidden itself")
    };
    assert_eq!(
        first, written,
        "before that there was no snapshot to be of any class"
    );
}

#[test]
fn what_was_complete_only_after_the_key_was_hidden_counts_as_it_is_at_the_look() {
    let l = Loss::none();
    let (marker, look) = (deleted(), deleted().plus(Duration::from_secs(600)));
    let moment = |written: i64| l.moment(marker, Timestamp::from_millis(marker.millis() + written), look);
    let of = |moment: Moment| match moment {
        Moment::Of(at) => at,
        Moment::BeforeItsOwn(_) => panic!("it isn't hidden"),
    };
    assert_eq!(of(moment(-1)), marker, "it named the key when that was hidden");
    assert_eq!(of(moment(0)), marker);
    assert_eq!(of(moment(1)), look, "it names the key all the same");
}

#[test]
fn the_newest_version_that_fits_every_handle_comes_back() {
    let history = KeyHistory::new(vec![
        marker(deleted()),
        data("short", 17),
        data("right", 100),
        data("older", 100),
    ]);
    let chosen = |extents: &[Extent]| fitting(&history, extents).map(|v| v.id.to_string());
    assert_eq!(chosen(&[Extent::Exact(100)]).as_deref(), Some("right"));
    assert_eq!(
        chosen(&[Extent::AtLeast(50), Extent::AtLeast(90)]).as_deref(),
        Some("right")
    );
    let no_handle_says =
        "where the length is left open it is what Flink wrote, not what somebody put over it";
    assert_eq!(
        chosen(&[Extent::Unknown]).as_deref(),
        Some("right"),
        "{no_handle_says}"
    );
    assert_eq!(chosen(&[]).as_deref(), Some("right"), "{no_handle_says}");
    assert_eq!(
        chosen(&[Extent::AtLeast(10)]).as_deref(),
        Some("right"),
        "{no_handle_says}"
    );
    assert_eq!(chosen(&[Extent::Exact(17)]).as_deref(), Some("short"));
    assert_eq!(
        chosen(&[Extent::Exact(100), Extent::Exact(17)]),
        None,
        "handles that disagree fit nothing"
    );
    assert_eq!(
        chosen(&[Extent::Changelog(99)]).as_deref(),
        Some("right"),
        "a plain changelog file is one byte longer"
    );
    assert_eq!(
        chosen(&[Extent::Changelog(5_000)]).as_deref(),
        Some("right"),
        "else it is a compressed one, as it was first written"
    );
}

mod rules {
    use super::*;
    use s3_documents::lifecycle::{
        Expiration, LifecycleConfiguration, LifecycleRule, NoncurrentExpiration, RuleFilter, Tag,
    };
    use stayput_core::lifecycle_rules::{RuledObject, explains, hides, purges};

    fn expiring(prefix: &str, days: u32) -> LifecycleRule {
        let mut rule = LifecycleRule::new("r", RuleFilter::prefix(prefix));
        rule.expiration = Some(Expiration::Days(days));
        rule
    }

    fn of(rule: LifecycleRule) -> LifecycleConfiguration {
        LifecycleConfiguration {
            rules: vec![rule],
            ..LifecycleConfiguration::default()
        }
    }

    fn object(written: &str) -> RuledObject<'static> {
        RuledObject {
            key: "cp/j/shared/f",
            size: 100,
            written: at(written),
            tags: None,
        }
    }

    fn hidden_from(rules: &LifecycleConfiguration, written: &str) -> Option<String> {
        hides(rules, object(written)).map(|(_, from)| from.to_string())
    }

    #[test]
    fn days_are_added_and_rounded_up_to_midnight() {
        let rules = of(expiring("cp/", 3));
        assert_eq!(
            hidden_from(&rules, "2014-01-15T10:30:00Z").as_deref(),
            Some("2014-01-19T00:00:00Z")
        );
        assert_eq!(
            hidden_from(&rules, "2014-01-15T00:00:00Z").as_deref(),
            Some("2014-01-18T00:00:00Z")
        );
    }

    #[test]
    fn a_filter_that_does_not_match_hides_nothing() {
        assert_eq!(
            hidden_from(&of(expiring("logs/", 3)), "2014-01-15T10:30:00Z"),
            None
        );
        let mut disabled = expiring("cp/", 3);
        disabled.enabled = false;
        assert_eq!(hidden_from(&of(disabled), "2014-01-15T10:30:00Z"), None);
        let mut large = expiring("cp/", 3);
        large.filter.size_greater_than = Some(100);
        assert_eq!(
            hidden_from(&of(large), "2014-01-15T10:30:00Z"),
            None,
            "greater than, not at least"
        );
        let mut tagged = expiring("cp/", 3);
        tagged.filter.tags = vec![Tag {
            key: "class".into(),
            value: "scratch".into(),
        }];
        assert_eq!(
            hidden_from(&of(tagged.clone()), "2014-01-15T10:30:00Z"),
            None,
            "unknown tags match nothing"
        );
        let tags = tagged.filter.tags.clone();
        let with_tags = RuledObject {
            tags: Some(&tags),
            ..object("2014-01-15T10:30:00Z")
        };
        assert!(hides(&of(tagged), with_tags).is_some());
    }

    #[test]
    fn the_earliest_of_several_rules_counts_and_a_date_spares_nobody() {
        let mut dated = LifecycleRule::new("dated", RuleFilter::prefix("cp/"));
        dated.expiration = Some(Expiration::Date(at("2026-11-20T00:00:00Z").millis()));
        let rules = LifecycleConfiguration {
            rules: vec![expiring("cp/", 30), dated],
            ..LifecycleConfiguration::default()
        };
        let (rule, from) = hides(&rules, object("2026-11-28T09:00:00Z")).unwrap();
        assert_eq!((rule.name(), from), ("dated", at("2026-11-20T00:00:00Z")));
    }

    #[test]
    fn a_marker_is_a_rules_only_at_midnight_and_if_the_object_was_old_enough() {
        let rules = of(expiring("cp/", 30));
        let old = object("2026-10-01T00:00:00Z");
        assert!(explains(&rules, old, at("2026-11-28T00:00:00Z")).is_some());
        assert!(explains(&rules, old, at("2026-11-28T00:00:01Z")).is_none());
        assert!(explains(&rules, object("2026-11-20T00:00:00Z"), at("2026-11-28T00:00:00Z")).is_none());
    }

    #[test]
    fn the_deadline_is_when_the_first_rule_may_purge() {
        let mut slow = LifecycleRule::new("slow", RuleFilter::prefix("cp/"));
        slow.noncurrent_expiration = Some(NoncurrentExpiration {
            noncurrent_days: 30,
            newer_noncurrent_versions: None,
        });
        let mut fast = slow.clone();
        fast.filter.tags = vec![Tag {
            key: "a".into(),
            value: "b".into(),
        }];
        fast.noncurrent_expiration = Some(NoncurrentExpiration {
            noncurrent_days: 7,
            newer_noncurrent_versions: Some(3),
        });
        let since = at("2026-11-28T00:00:00Z");
        let o = object("2026-10-01T00:00:00Z");
        assert_eq!(
            purges(&of(slow.clone()), o, since),
            Some(since.plus(Duration::from_secs(30 * 86_400)))
        );
        let both = LifecycleConfiguration {
            rules: vec![slow, fast],
            ..LifecycleConfiguration::default()
        };
        assert_eq!(
            purges(&both, o, since),
            Some(at("2026-12-05T00:00:00Z")),
            "never too late, whatever the tags"
        );
        assert_eq!(purges(&LifecycleConfiguration::default(), o, since), None);
    }
}
