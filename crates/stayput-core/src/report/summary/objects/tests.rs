//! Places and lengths on made references: what the corpus doesn't show.

use flink_checkpoint::{JavaStr, OperatorNo, Part as RolePart, Role, Span, StateKind, Target};

use super::*;
use crate::location::Location;

const JOB: &str = "s3://b/cp/0123456789abcdef0123456789abcdef";

fn collected(at: Option<&str>, named: &[(Target<'_>, Extent)]) -> Objects {
    let at = at.map(|at| Home::of(&Location::parse_flink_path(at).unwrap()));
    // A file of handles: tag, what is fixed, and the path with its length.
    let mut file = Vec::new();
    let mut spans = Vec::new();
    for (target, extent) in named {
        let before = match (target, extent) {
            (Target::Exclusive(_), _) => 1,
            (Target::Directory(_), _) => 0,
            (Target::Absolute(_), Extent::AtLeast(_)) => 21,
            (Target::Absolute(_), _) => 9,
        };
        let start = file.len();
        file.resize(start + before, 0);
        file.extend(u16::try_from(target.path().len()).unwrap().to_be_bytes());
        file.extend_from_slice(target.path().as_bytes());
        spans.push(Span {
            start,
            end: file.len(),
        });
    }
    let mut collector = Collector::new(&file, at.as_ref());
    for ((target, extent), span) in named.iter().zip(spans) {
        collector.tell(&Reference {
            target: *target,
            extent: *extent,
            span,
            role: Role {
                state: StateKind::ManagedKeyed,
                materialized: false,
                part: RolePart::Shared,
            },
            operator: OperatorNo(0),
            subtask: None,
            key_groups: None,
        });
    }
    collector.finish()
}

fn absolute(path: &str) -> (Target<'_>, Extent) {
    (
        Target::Absolute(JavaStr::from_bytes(path.as_bytes())),
        Extent::Exact(10),
    )
}

fn places(objects: &Objects) -> Vec<(Whose, Part, u64)> {
    let rows = objects.by_place.iter();
    rows.map(|row| (row.whose, row.part, row.amount.objects))
        .collect()
}

#[test]
fn two_spellings_of_one_object_are_one_object() {
    let other = "s3a://b//cp/0123456789abcdef0123456789abcdef/shared/x";
    let same = format!("{JOB}/shared/x");
    let exclusive = format!("{JOB}/chk-8/e");
    let relative = (Target::Exclusive(JavaStr::from_bytes(b"e")), Extent::Exact(10));
    let objects = collected(
        Some(&format!("{JOB}/chk-8")),
        &[absolute(other), absolute(&same), absolute(&exclusive), relative],
    );
    assert_eq!(
        (objects.total.objects, objects.total.bytes, objects.handles),
        (2, 20, 4)
    );
    assert_eq!(
        places(&objects),
        [(Whose::Own, Part::Exclusive, 1), (Whose::Own, Part::Shared, 1)]
    );
}

#[test]
fn every_place_is_told_from_where_the_snapshot_lies() {
    let named = [
        format!("{JOB}/shared/x"),
        format!("{JOB}/chk-3/x"),
        // Entropy injection puts random directories before the job's.
        "s3://b/x7Qa/cp/0123456789abcdef0123456789abcdef/shared/y".to_owned(),
        "s3://b/cp/fedcba9876543210fedcba9876543210/taskowned/x".to_owned(),
        "s3://b/cp/savepoint-012345-0123456789ab/x".to_owned(),
        "s3://b/dstl/x".to_owned(),
        "s3://other/cp/0123456789abcdef0123456789abcdef/shared/x".to_owned(),
        "hdfs://name-node:8020/cp/shared/x".to_owned(),
    ];
    let named: Vec<_> = named.iter().map(|path| absolute(path)).collect();
    let objects = collected(Some(&format!("{JOB}/chk-8/_metadata")), &named);
    assert_eq!(
        places(&objects),
        [
            (Whose::Own, Part::Checkpoint, 1),
            (Whose::Own, Part::Shared, 2),
            (Whose::OtherJob, Part::Taskowned, 1),
            (Whose::OtherJob, Part::Savepoint, 1),
            (Whose::Outside, Part::Elsewhere, 1),
            (Whose::OtherBucket, Part::Shared, 1),
            (Whose::OtherFileSystem, Part::Shared, 1),
        ]
    );
    assert!(!objects.none_at_home);
    assert!(collected(Some("file:/copied/chk-8"), &named).none_at_home);
    assert!(
        collected(None, &named)
            .by_place
            .iter()
            .all(|row| row.whose == Whose::Unknown)
    );
}

#[test]
fn of_several_lengths_the_one_that_says_most_counts() {
    let path = format!("{JOB}/shared/x");
    let (target, _) = absolute(&path);
    let objects = collected(
        None,
        &[
            (target, Extent::AtLeast(70)),
            (target, Extent::AtLeast(30)),
            (target, Extent::Unknown),
        ],
    );
    assert_eq!((objects.total.bytes, objects.total.at_least), (70, 1));
    let objects = collected(None, &[(target, Extent::Unknown), (target, Extent::Changelog(5))]);
    assert_eq!((objects.total.bytes, objects.total.changelog), (5, 1));
    let objects = collected(None, &[(target, Extent::Unknown)]);
    assert_eq!((objects.total.bytes, objects.total.of_unknown_length), (0, 1));
}

#[test]
fn what_can_be_no_name_of_an_object_counts_in_the_total_only() {
    let lone = (
        Target::Absolute(JavaStr::from_bytes(b"s3://b/cp/\xED\xA0\xBE")),
        Extent::Exact(1),
    );
    let objects = collected(None, &[lone, absolute("s3:///no-bucket/x"), absolute("s3://b/x")]);
    assert_eq!((objects.total.objects, objects.unnameable), (3, 2));
    assert_eq!(places(&objects), [(Whose::Unknown, Part::Elsewhere, 1)]);
}

#[test]
fn directories_that_can_be_no_location_are_counted_as_such() {
    let directory = |path: &'static [u8]| (Target::Directory(JavaStr::from_bytes(path)), Extent::Unknown);
    let objects = collected(
        None,
        &[
            directory(b"s3://b/cp/taskowned"),
            directory(b"s3://b/cp/\xED\xA0\xBE"),
            directory(b"s3:///no-bucket"),
            directory(b"s3:///no-bucket"),
        ],
    );
    assert_eq!(
        (objects.named_directory_count, objects.unnameable_directories),
        (3, 2)
    );
    assert_eq!((objects.total.objects, objects.unnameable), (0, 0));
}
