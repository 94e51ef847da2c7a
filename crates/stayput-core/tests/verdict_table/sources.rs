//! What can be copied, and what is lost.

use crate::*;

#[test]
fn an_archived_version_waits_and_people_are_told() {
    let case = shared(foreign(), Class::Running).with(|c| c.history = history(100, "DEEP_ARCHIVE"));
    assert!(matches!(
        case.outcome(),
        Outcome::Later {
            why: LaterReason::Thaw(Some(_)),
            ..
        }
    ));
    assert_eq!(case.seen().findings[0].0, FindingCode::Archived);
    let thawing = case.clone().with(|c| c.readability = Some(Readability::Thawing));
    assert!(matches!(
        thawing.outcome(),
        Outcome::Later {
            why: LaterReason::Thaw(None),
            ..
        }
    ));
    case.clone()
        .with(|c| c.readability = Some(Readability::Now))
        .restores();
    case.with(|c| c.protect = Protect::Report)
        .reports(FindingCode::ReportOnly);
}

#[test]
fn a_version_above_five_gibibytes_is_restored_as_any() {
    shared(foreign(), Class::Running)
        .with(|c| c.history = history((5 << 30) + 1, "STANDARD"))
        .restores();
}

#[test]
fn no_version_that_fits_is_lost() {
    let case = shared(foreign(), Class::Running).with(|c| c.fits = false);
    assert_eq!(case.outcome(), Outcome::Lost(FindingCode::NoVersionFits));
}

#[test]
fn a_purged_version_is_lost_and_one_that_was_never_there_is_told() {
    let gone = shared(foreign(), Class::Running).with(|c| {
        c.history = KeyHistory::default();
        c.fits = false;
    });
    gone.reports(FindingCode::NeverThere);
    let purged = gone.with(|c| c.told.purged = true);
    assert_eq!(purged.outcome(), Outcome::Lost(FindingCode::PurgedVersion));
}

#[test]
fn what_was_never_there_is_told_at_once_since_no_wait_shows_anything_new() {
    for case in [
        exclusive(Cause::Unknown, Class::Running),
        shared(foreign(), Class::Resting),
    ] {
        let waiting = case.with(|c| c.after = minutes(1));
        assert!(
            matches!(waiting.outcome(), Outcome::Later { .. }),
            "{:?}",
            waiting.outcome()
        );
        let never = waiting.with(|c| {
            c.history = KeyHistory::default();
            c.fits = false;
        });
        never.reports(FindingCode::NeverThere);
        // Nobody deleted it.
        let codes: Vec<_> = never.seen().findings.iter().map(|(code, _)| *code).collect();
        assert_eq!(codes, [FindingCode::NeverThere]);
        // Where nothing is kept, nobody can tell.
        let unkept = never.with(|c| c.versioning = Versioning::Never);
        assert!(
            matches!(unkept.outcome(), Outcome::Later { .. }),
            "{:?}",
            unkept.outcome()
        );
    }
}

#[test]
fn a_purge_alone_is_left_unless_a_running_or_resting_unclaimed_snapshot_lost_its_last_version() {
    let purge = |cause, class| {
        shared(cause, class).with(|c| {
            c.told = Told {
                deleted: false,
                purged: true,
            };
            c.fits = false;
            c.history = KeyHistory::default();
        })
    };
    for class in [Class::Running, Class::Resting] {
        assert_eq!(
            purge(Cause::Unknown, class).outcome(),
            Outcome::Lost(FindingCode::PurgedVersion)
        );
    }
    purge(Cause::Unknown, Class::Running)
        .with(|c| c.claimed = true)
        .leaves(&LeaveReason::Purge);
    purge(Cause::Unknown, Class::Dormant).leaves(&LeaveReason::Purge);
    purge(Cause::Unknown, Class::Spare).leaves(&LeaveReason::Purge);
    let another_version_left = purge(Cause::Unknown, Class::Running).with(|c| {
        c.fits = true;
        c.history = history(100, "STANDARD");
    });
    another_version_left.leaves(&LeaveReason::Purge);
}

#[test]
fn a_metadata_stays_hidden_when_something_it_names_is_lost() {
    let case = whole(foreign(), Class::Running).with(|c| c.reference_lost = true);
    assert_eq!(
        case.clone().with(|c| c.naming = Naming::ItsMetadata).outcome(),
        Outcome::Lost(FindingCode::ReferenceLost)
    );
    case.reports(FindingCode::ReferenceLost);
    case.with(|c| c.named_elsewhere = true).restores();
}

#[test]
fn the_permit_names_the_version_and_counts_the_copy() {
    let case = shared(Cause::Lifecycle, Class::Running).with(|c| {
        c.restored_before = 3;
        c.after = Duration::from_secs(25 * 3600);
    });
    let Outcome::Restore(permit) = case.outcome() else {
        panic!("{:?}", case.outcome())
    };
    assert_eq!(permit.source().version, VersionId::new("data"));
    assert_eq!(permit.copy_number(), 4);
    assert!(
        permit
            .metadata()
            .contains(&("stayput-source-version", "data".to_owned()))
    );
}

#[test]
fn what_may_be_on_its_way_from_another_bucket_is_waited_for_and_then_told() {
    let never = shared(Cause::Unknown, Class::Running).with(|c| {
        c.history = KeyHistory::default();
        c.fits = false;
        c.after = minutes(20);
    });
    let until = deleted_at().plus(minutes(60));
    let coming = never.clone().with(|c| c.on_its_way_until = Some(until));
    let waits = Outcome::Later {
        not_before: until,
        why: LaterReason::OnItsWay,
    };
    assert_eq!(coming.outcome(), waits);
    assert_eq!(coming.seen().findings, []);
    // Somebody hid the key here before anything came.
    let only_hidden = KeyHistory::new(history(100, "STANDARD").entries()[..1].to_vec());
    assert_eq!(coming.clone().with(|c| c.history = only_hidden).outcome(), waits);
    coming
        .with(|c| c.on_its_way_until = Some(deleted_at().plus(c.after)))
        .reports(FindingCode::NeverThere);
    // What nobody wants isn't waited for, and what was here is no matter of replication.
    let spare = never.with(|c| c.on_its_way_until = Some(until));
    let spare = spare.clone().with(|c| c.class = Class::Spare);
    assert!(
        matches!(spare.outcome(), Outcome::Leave(_)),
        "{:?}",
        spare.outcome()
    );
    shared(foreign(), Class::Running)
        .with(|c| c.on_its_way_until = Some(until))
        .restores();
}
