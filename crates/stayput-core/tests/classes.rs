//! Heads, classes and claims, one test per rule of the design.

use std::time::Duration;

use stayput_core::catalogue::{Catalogue, Naming, SnapshotId};
use stayput_core::cause::Cause;
use stayput_core::class::{Class, Moment};
use stayput_core::extent::Extent;
use stayput_core::location::ObjectLocation;
use stayput_core::snapshot::{Contents, Facts, HiddenBy, Kept, Snapshot, Unreadable, identity_of};
use stayput_core::timestamp::Timestamp;
use stayput_core::version::VersionId;

/// A job's directory in which no other job is, unlike `j`, whose name is no job id.
const ALONE: &str = "2be3cab7043c112ec2d02bfe50f0feb2";
const DORMANT_AFTER: Duration = Duration::from_secs(90 * 86_400);
const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

fn now() -> Timestamp {
    Timestamp::parse("2026-11-28T10:00:00Z").unwrap()
}

/// A snapshot to be entered; what a test doesn't say is ordinary.
#[derive(Clone)]
struct Entry {
    key: String,
    age: Duration,
    hidden: Option<(Duration, Cause)>,
    operators: u8,
    backends: Vec<&'static str>,
    names: Vec<String>,
    kept: Option<Kept>,
    unreadable: Option<Unreadable>,
}

fn entry(directory: &str, age: Duration) -> Entry {
    Entry {
        key: format!("cp/{directory}/_metadata"),
        age,
        hidden: None,
        operators: 1,
        backends: Vec::new(),
        names: Vec::new(),
        kept: None,
        unreadable: None,
    }
}

impl Entry {
    fn hidden(mut self, ago: Duration, cause: Cause) -> Self {
        self.hidden = Some((ago, cause));
        self
    }

    fn names(mut self, key: &str) -> Self {
        self.names.push(format!("cp/{key}"));
        self
    }
}

/// A catalogue of the entries, and their ids in the same order.
fn catalogue(entries: &[Entry]) -> (Catalogue, Vec<SnapshotId>) {
    let mut catalogue = Catalogue::new();
    let ids = entries
        .iter()
        .map(|e| {
            let metadata = ObjectLocation::new("b", &*e.key);
            let names: Vec<_> = e.names.iter().map(|k| ObjectLocation::new("b", &**k)).collect();
            let references = catalogue
                .enter_references(names.iter().map(|l| (l, Extent::Exact(1))))
                .unwrap();
            let (kind, job) = identity_of(&metadata);
            let contents = if let Some(why) = e.unreadable.clone() {
                Contents::Unreadable {
                    why,
                    names_at_least: Vec::new(),
                }
            } else {
                Contents::Read(Facts {
                    references,
                    checkpoint_id: e
                        .key
                        .split("chk-")
                        .nth(1)
                        .and_then(|r| r.split('/').next()?.parse().ok())
                        .unwrap_or(0),
                    operators: Box::new([[e.operators; 16]]),
                    backends: e.backends.iter().map(|b| Box::from(*b)).collect(),
                    directories: Box::default(),
                })
            };
            catalogue.insert(Snapshot {
                metadata,
                version: None,
                etag: String::new(),
                size: 1,
                kind,
                job,
                written: now().minus(e.age),
                hidden: e.hidden.as_ref().map(|(ago, cause)| HiddenBy {
                    at: now().minus(*ago),
                    marker: VersionId::new("m"),
                    cause: cause.clone(),
                }),
                contents,
                kept: e.kept,
            })
        })
        .collect();
    (catalogue, ids)
}

fn classes(entries: &[Entry]) -> Vec<Class> {
    let (catalogue, ids) = catalogue(entries);
    ids.into_iter()
        .map(|id| catalogue.class(id, Moment::Of(now()), DORMANT_AFTER))
        .collect()
}

fn foreign() -> Cause {
    Cause::Foreign("AWS:AROAALICE".into())
}

#[test]
fn the_newest_by_id_is_running_and_older_ones_are_spare() {
    let all = [entry("j/chk-9", 2 * HOUR), entry("j/chk-10", HOUR)];
    assert_eq!(
        classes(&all),
        [Class::Spare, Class::Running],
        "ids are numbers, not text"
    );
}

#[test]
fn a_head_grows_from_running_to_resting_to_dormant() {
    let pair = |age: Duration| [entry("j/chk-1", age + HOUR), entry("j/chk-2", age)];
    assert_eq!(classes(&pair(23 * HOUR))[1], Class::Running);
    assert_eq!(classes(&pair(25 * HOUR))[1], Class::Resting);
    assert_eq!(classes(&pair(89 * DAY))[1], Class::Resting);
    assert_eq!(classes(&pair(91 * DAY))[1], Class::Dormant);
}

#[test]
fn with_a_long_interval_a_head_is_running_for_ten_of_them() {
    let all = |age: Duration| [entry("j/chk-1", age + 12 * HOUR), entry("j/chk-2", age)];
    assert_eq!(classes(&all(4 * DAY))[1], Class::Running);
    assert_eq!(classes(&all(6 * DAY))[1], Class::Resting);
}

#[test]
fn a_job_that_stood_still_for_weeks_isnt_running_for_months() {
    let all = |age: Duration| [entry("j/chk-1", age + 30 * DAY), entry("j/chk-2", age)];
    assert_eq!(classes(&all(9 * DAY))[1], Class::Running);
    assert_eq!(classes(&all(11 * DAY))[1], Class::Resting);
}

#[test]
fn a_single_checkpoint_counts_as_one_a_day() {
    assert_eq!(classes(&[entry("j/chk-1", 9 * DAY)]), [Class::Running]);
    assert_eq!(classes(&[entry("j/chk-1", 11 * DAY)]), [Class::Resting]);
}

#[test]
fn hidden_by_a_rule_or_a_stranger_it_stays_the_head() {
    for cause in [Cause::Lifecycle, foreign()] {
        let all = [
            entry("j/chk-1", 2 * HOUR),
            entry("j/chk-2", HOUR).hidden(HOUR / 2, cause),
        ];
        assert_eq!(classes(&all), [Class::Spare, Class::Running]);
    }
}

#[test]
fn hidden_by_flink_or_nobody_known_there_is_no_head() {
    for cause in [Cause::Flink, Cause::Unknown] {
        let all = [
            entry("j/chk-1", 3 * HOUR),
            entry("j/chk-2", 2 * HOUR).hidden(HOUR, cause),
        ];
        assert_eq!(classes(&all), [Class::Spare, Class::Spare]);
    }
}

#[test]
fn a_store_that_failed_does_not_count() {
    let failed_by = |cause| entry("j/chk-2", 2 * HOUR).hidden(2 * HOUR - Duration::from_secs(20), cause);
    // Only its message tells that it was Flink, and a later call doesn't have that.
    for cause in [Cause::Flink, Cause::Unknown] {
        assert_eq!(
            classes(&[entry("j/chk-1", 3 * HOUR), failed_by(cause)])[0],
            Class::Running
        );
    }
    let failed = failed_by(Cause::Flink);
    assert_eq!(
        classes(std::slice::from_ref(&failed)),
        [Class::Spare],
        "no older one stands"
    );
    let with_claimer = |age| {
        let claimer = entry("k/chk-3", age).names("j/shared/a");
        let failed = failed_by(Cause::Flink).names("j/shared/a");
        classes(&[entry("j/chk-1", 3 * HOUR), failed, claimer])[0]
    };
    assert_eq!(
        with_claimer(2 * HOUR - Duration::from_secs(10)),
        Class::Spare,
        "somebody claimed it and deleted it then: the job went on elsewhere"
    );
    assert_eq!(
        with_claimer(HOUR),
        Class::Running,
        "hidden before there was a checkpoint of a claimer: its own job did that"
    );
}

#[test]
fn a_higher_checkpoint_under_way_shows_that_the_job_lives() {
    let all = [
        entry("j/chk-1", 3 * HOUR),
        entry("j/chk-2", 2 * HOUR).hidden(HOUR, Cause::Flink),
    ];
    let (mut catalogue, ids) = catalogue(&all);
    let job = catalogue.get(ids[0]).unwrap().job.clone();
    catalogue.job_mut(&job).unfinished = vec![3];
    assert_eq!(
        catalogue.class(ids[0], Moment::Of(now()), DORMANT_AFTER),
        Class::Running
    );
}

#[test]
fn restarted_ids_make_two_heads() {
    let all = [
        entry("j/chk-7", 10 * DAY),
        entry("j/chk-8", 9 * DAY),
        entry("j/chk-2", HOUR),
    ];
    assert_eq!(classes(&all), [Class::Spare, Class::Running, Class::Running]);
    let (catalogue, ids) = catalogue(&all);
    assert_eq!(
        catalogue.heads_beside(ids[0], now()),
        (Some(ids[1]), Some(ids[2]))
    );
}

#[test]
fn jobs_with_other_operators_in_one_directory_have_heads_of_their_own() {
    let mut other = entry("j/chk-3", HOUR);
    other.operators = 2;
    assert_eq!(
        classes(&[entry("j/chk-8", HOUR), other, entry("j/chk-7", 2 * HOUR)]),
        [Class::Running, Class::Running, Class::Spare]
    );
}

/// For the seconds for which a checkpoint stood that couldn't be stored, the one before it was what the job would have come back from.
#[test]
fn a_store_that_failed_never_was_the_newest_one_that_was_subsumed_was() {
    let ago = |seconds: u64| Duration::from_secs(3_600 + seconds);
    let older = || entry(&format!("{ALONE}/chk-7"), 2 * HOUR);
    let newer = || entry(&format!("{ALONE}/chk-8"), ago(40)).hidden(ago(10), Cause::Flink);
    let between = Moment::Of(now().minus(ago(20)));
    let class = |others: &[Entry]| {
        let (catalogue, ids) = catalogue(others);
        [ids[0], ids[1]].map(|id| catalogue.class(id, between, DORMANT_AFTER))
    };
    assert_eq!(class(&[older(), newer()]), [Class::Running, Class::Spare]);
    let next = entry(&format!("{ALONE}/chk-9"), ago(11));
    assert_eq!(class(&[older(), newer(), next]), [Class::Spare, Class::Running]);
}

#[test]
fn savepoints_are_never_spare_and_never_running_by_themselves() {
    let all = [
        entry("savepoint-2be3ca-1", HOUR),
        entry("savepoint-2be3ca-2", 100 * DAY),
    ];
    assert_eq!(classes(&all), [Class::Resting, Class::Dormant]);
}

#[test]
fn what_is_kept_is_running_whatever_its_age_and_place() {
    for kept in [Kept::Pinned, Kept::NamedByHa] {
        let mut old = entry("j/chk-1", 200 * DAY);
        old.kept = Some(kept);
        assert_eq!(classes(&[old, entry("j/chk-2", HOUR)])[0], Class::Running);
    }
}

/// One that can't be read beside one that can, the newer of them second.
fn unread_beside_read(directory: &str, why: Unreadable, unread_is_newer: bool) -> Vec<Class> {
    let mut both = [
        entry(&format!("{directory}/chk-8"), 2 * HOUR),
        entry(&format!("{directory}/chk-9"), HOUR),
    ];
    both[usize::from(unread_is_newer)].unreadable = Some(why);
    classes(&both)
}

#[test]
fn a_newer_one_that_cannot_be_read_may_be_the_head() {
    let newer_format = || Unreadable::NewerFormat(8);
    assert_eq!(unread_beside_read(ALONE, newer_format(), true)[0], Class::Spare);
    let [older, newer] = unread_beside_read(ALONE, newer_format(), false)[..] else {
        panic!("two snapshots");
    };
    // An unread one counts by its age.
    assert_eq!((older, newer), (Class::Spare, Class::Running));
}

/// What a rule or a stranger hid is what the job comes back from all the same; what Flink hid isn't.
#[test]
fn an_older_one_that_cannot_be_read_is_overtaken_by_a_newer_one_that_others_hid() {
    let class_beside = |cause: Cause| {
        let mut older = entry(&format!("{ALONE}/chk-8"), 3 * DAY);
        older.unreadable = Some(Unreadable::NewerFormat(8));
        let newer = entry(&format!("{ALONE}/chk-9"), 2 * DAY).hidden(DAY, cause);
        classes(&[older, newer])[0]
    };
    assert_eq!(class_beside(Cause::Lifecycle), Class::Spare);
    assert_eq!(class_beside(Cause::Foreign("alice".to_owned())), Class::Spare);
    assert_eq!(class_beside(Cause::Flink), Class::Resting);
    assert_eq!(class_beside(Cause::Unknown), Class::Resting);
}

#[test]
fn where_several_jobs_may_be_what_cannot_be_read_may_be_anothers() {
    let newer_format = || Unreadable::NewerFormat(8);
    for shared in ["j", "00000000000000000000000000000000"] {
        for unread_is_newer in [false, true] {
            let classes = unread_beside_read(shared, newer_format(), unread_is_newer);
            let unread = usize::from(unread_is_newer);
            assert_eq!(classes[unread], Class::Resting, "{shared}");
            assert_eq!(classes[1 - unread], Class::Running, "{shared}");
        }
        // From what is damaged no job is restored.
        let damaged = || Unreadable::Damaged("it ends early".to_owned());
        assert_eq!(unread_beside_read(shared, damaged(), false)[0], Class::Spare);
    }
}

#[test]
fn for_its_own_deletion_it_has_the_class_of_the_moment_before() {
    let all = [
        entry("j/chk-1", 3 * HOUR),
        entry("j/chk-2", 2 * HOUR).hidden(HOUR, Cause::Flink),
    ];
    let (catalogue, ids) = catalogue(&all);
    let before = Moment::BeforeItsOwn(now().minus(HOUR));
    assert_eq!(catalogue.class(ids[1], before, DORMANT_AFTER), Class::Running);
}

#[test]
fn for_another_key_the_state_at_its_marker_counts() {
    let all = [entry("j/chk-1", 3 * HOUR), entry("j/chk-2", HOUR)];
    let (catalogue, ids) = catalogue(&all);
    assert_eq!(
        catalogue.class(ids[0], Moment::Of(now().minus(2 * HOUR)), DORMANT_AFTER),
        Class::Running
    );
    assert_eq!(
        catalogue.class(ids[0], Moment::Of(now()), DORMANT_AFTER),
        Class::Spare
    );
}

mod claims {
    use super::*;

    fn claimed(all: &[Entry]) -> bool {
        let (catalogue, ids) = catalogue(all);
        catalogue.claimed_by(ids[0]).is_some()
    }

    #[test]
    fn by_naming_a_file_of_the_other_directory() {
        let old = entry("j/chk-4", 3 * HOUR).names("j/shared/a");
        assert!(
            claimed(&[old.clone(), entry("k/chk-1", HOUR).names("j/shared/a")]),
            "a lower id claims too"
        );
        assert!(
            !claimed(&[old.clone(), entry("k/chk-9", 4 * HOUR).names("j/shared/a")]),
            "an older one doesn't"
        );
        assert!(
            !claimed(&[old, entry("j/chk-5", HOUR).names("j/shared/a")]),
            "one of the same directory doesn't"
        );
    }

    #[test]
    fn by_carrying_a_keyed_backend_id() {
        let with = |mut e: Entry| {
            e.backends = vec!["backend-1"];
            e
        };
        assert!(claimed(&[
            with(entry("j/chk-4", 3 * HOUR)),
            with(entry("k/chk-5", HOUR))
        ]));
    }

    #[test]
    fn equal_operators_prove_nothing() {
        assert!(!claimed(&[entry("j/chk-4", 3 * HOUR), entry("k/chk-5", HOUR)]));
    }

    #[test]
    fn two_jobs_that_both_name_files_of_a_third_have_not_claimed_each_other() {
        let all = [
            entry("j/chk-4", 3 * HOUR).names("old/shared/a"),
            entry("k/chk-5", HOUR).names("old/shared/a"),
        ];
        assert!(!claimed(&all));
    }

    #[test]
    fn a_savepoint_never_claims_and_the_job_it_was_taken_from_has_not_claimed_it() {
        const JOB: &str = "2be3cab7043c112ec2d02bfe50f0feb2";
        let with = |mut e: Entry| {
            e.backends = vec!["backend-1"];
            e
        };
        let checkpoint = with(entry(&format!("{JOB}/chk-4"), 3 * HOUR));
        let savepoint = with(entry("savepoint-2be3ca-0123456789ab", 2 * HOUR));
        assert!(!claimed(&[checkpoint, savepoint.clone()]));
        let later = with(entry(&format!("{JOB}/chk-5"), HOUR));
        assert!(!claimed(&[savepoint.clone(), later]), "its own job goes on");
        let other = with(entry("7e1af4f337df33263ae026ef866a8533/chk-5", HOUR));
        assert!(claimed(&[savepoint, other]), "another job was restored from it");
    }
}

mod namings {
    use super::*;

    fn of(all: &[Entry], key: &str) -> Vec<Naming> {
        let (catalogue, _) = catalogue(all);
        catalogue
            .namings(&ObjectLocation::new("b", key), key)
            .into_iter()
            .map(|r| r.naming)
            .collect()
    }

    #[test]
    fn own_files_are_exclusive_and_others_shared() {
        let all = [entry("j/chk-4", HOUR).names("j/chk-4/u").names("j/shared/a")];
        assert_eq!(of(&all, "cp/j/chk-4/u"), [Naming::Exact { exclusive: true }]);
        assert_eq!(of(&all, "cp/j/shared/a"), [Naming::Exact { exclusive: false }]);
        assert_eq!(of(&all, "cp/j/chk-4/_metadata"), [Naming::ItsMetadata]);
        assert_eq!(of(&all, "cp/j/shared/b"), []);
    }

    #[test]
    fn an_unnamed_file_is_found_by_the_name_of_a_relative_handle_and_only_then() {
        let relative = entry("j/chk-4", HOUR).names("j/chk-4/048639c5-3829-4f26-872e-f96c0c7bc7fc");
        let elsewhere = "cp/savepoint-2be3ca-1/048639c5-3829-4f26-872e-f96c0c7bc7fc";
        assert!(matches!(
            of(std::slice::from_ref(&relative), elsewhere)[..],
            [Naming::ByName { .. }]
        ));
        let named_there_too =
            entry("k/chk-1", HOUR).names("savepoint-2be3ca-1/048639c5-3829-4f26-872e-f96c0c7bc7fc");
        assert_eq!(
            of(&[relative, named_there_too], elsewhere),
            [Naming::Exact { exclusive: false }]
        );
        let absolute = entry("j/chk-4", HOUR).names("j/shared/048639c5-3829-4f26-872e-f96c0c7bc7fc");
        assert_eq!(
            of(&[absolute], elsewhere),
            [],
            "a shared file is no relative handle"
        );
    }
}

#[test]
fn one_that_may_not_be_read_may_be_older_than_its_copy_and_so_the_head_before_it_was_copied() {
    let rule_was_here = 10 * HOUR;
    let newer = |why: Unreadable| Entry {
        unreadable: Some(why),
        // Copied after the rule had taken both.
        ..entry(&format!("{ALONE}/chk-2"), 9 * HOUR).hidden(HOUR, Cause::Flink)
    };
    let class_beside = |newer: Entry| {
        let older = entry(&format!("{ALONE}/chk-1"), 2 * DAY).hidden(rule_was_here, Cause::Lifecycle);
        let (catalogue, ids) = catalogue(&[older, newer]);
        let moment = Moment::BeforeItsOwn(now().minus(rule_was_here));
        catalogue.class(ids[0], moment, DORMANT_AFTER)
    };
    assert_eq!(class_beside(newer(Unreadable::Denied)), Class::Spare);
    // Its age is known, and it was written later.
    assert_eq!(class_beside(newer(Unreadable::NewerFormat(8))), Class::Running);
}

#[test]
fn of_several_that_may_not_be_read_only_the_newest_is_a_head() {
    let denied = |directory: &str, age: Duration| Entry {
        unreadable: Some(Unreadable::Denied),
        ..entry(directory, age)
    };
    let older = denied("j/chk-1", 3 * DAY);
    let all = |newer: Entry| classes(&[older.clone(), newer]);
    let newer = || denied("j/chk-2", 2 * DAY);
    assert_eq!(all(newer()), [Class::Spare, Class::Resting]);
    assert_eq!(all(newer().hidden(HOUR, Cause::Flink))[0], Class::Spare);
    // It couldn't be stored: the older one is what the job has.
    let not_stored = newer().hidden(2 * DAY - Duration::from_secs(5), Cause::Flink);
    assert_eq!(all(not_stored)[0], Class::Resting);
    // Of a newer one that is damaged nobody can be restored.
    let damaged = Entry {
        unreadable: Some(Unreadable::Damaged("it ends early".to_owned())),
        ..newer()
    };
    assert_eq!(all(damaged)[0], Class::Resting);
}
