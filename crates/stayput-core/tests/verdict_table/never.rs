//! What is never done.

use crate::*;

#[test]
fn a_metadata_comes_back_into_a_directory_that_lives_on() {
    let beside = |complete| {
        whole(foreign(), Class::Running)
            .with(|c| c.loss.directory_use = DirectoryUse::SameRun { id: 9, complete })
    };
    let metadata = |case: Case| case.with(|c| c.naming = Naming::ItsMetadata);
    // The newer one is complete: nobody needs this one any more.
    beside(true).leaves(&LeaveReason::SameRunWentOn);
    metadata(beside(true)).leaves(&LeaveReason::SameRunWentOn);
    // It is under way: the state files come back, and `_metadata` if the newer one isn't complete after three settle delays.
    beside(false).restores();
    let waiting = metadata(beside(false));
    let after = |case: Case, n| case.with(|c| c.after = minutes(n));
    after(waiting.clone(), 14).waits(&LaterReason::NewerUnderWay, 15);
    after(waiting, 15).restores();
    // A program that is deployed twice has the same operators elsewhere: that its own directory goes on says that this one may be needed, so
    // people are asked, once.
    let moved = metadata(beside(false)).with(|c| c.moved = true);
    after(moved.clone(), 14).waits(&LaterReason::NewerUnderWay, 15);
    after(moved.clone(), 20).reports(FindingCode::DeletedAsAWhole);
    let told = moved.clone().with(|c| c.told_as_a_whole = true);
    after(told, 20).leaves(&LeaveReason::SameRunWentOn);
    after(moved.with(|c| c.loss.whole = false), 20).reports(FindingCode::MetadataHidden);
    // A rule's marker is dated midnight: the sweep looks again.
    let by_rule = metadata(beside(false)).with(|c| {
        c.cause = Cause::Lifecycle;
        c.loss.metadata = MetadataState::Hidden {
            at: deleted_at(),
            cause: Cause::Lifecycle,
        };
    });
    after(by_rule.clone(), 14).leaves(&LeaveReason::SameRunWentOn);
    after(by_rule, 15).restores();
}

#[test]
fn anything_of_an_old_snapshot_comes_back_under_a_new_run() {
    for cause in [foreign(), Cause::Lifecycle] {
        let case =
            whole(cause, Class::Running).with(|c| c.loss.directory_use = DirectoryUse::NewRun { id: 1 });
        case.leaves(&LeaveReason::NewRunInDirectory);
        assert_eq!(
            case.seen().findings[0].0,
            FindingCode::DirectoryReused,
            "people are told all the same"
        );
    }
}

#[test]
fn anything_is_copied_where_versioning_is_off_or_suspended() {
    let case = shared(foreign(), Class::Running);
    case.clone()
        .with(|c| c.versioning = Versioning::Suspended)
        .reports(FindingCode::VersioningSuspended);
    let unversioned = case.with(|c| c.versioning = Versioning::Never);
    assert_eq!(
        unversioned.outcome(),
        Outcome::Lost(FindingCode::UnversionedBucket)
    );
}

#[test]
fn anything_released_visible_or_deleted_by_a_stayput_is_touched() {
    let case = shared(foreign(), Class::Running);
    case.clone()
        .with(|c| c.released = true)
        .leaves(&LeaveReason::Released);
    case.clone()
        .with(|c| c.visible = Some(true))
        .leaves(&LeaveReason::Visible);
    case.with(|c| c.cause = Cause::Ours).leaves(&LeaveReason::Ours);
}

#[test]
fn a_visible_object_of_a_wrong_size_is_touched() {
    shared(foreign(), Class::Running)
        .with(|c| c.visible = Some(false))
        .reports(FindingCode::Overwritten);
}

#[test]
fn anything_is_copied_where_the_root_says_report() {
    shared(foreign(), Class::Running)
        .with(|c| c.protect = Protect::Report)
        .reports(FindingCode::ReportOnly);
}

#[test]
fn anything_of_a_snapshot_whose_metadata_is_gone_for_good_unless_its_job_runs() {
    for cause in [foreign(), Cause::Lifecycle] {
        for class in [Class::Resting, Class::Dormant] {
            let case = exclusive(cause.clone(), class).with(|c| c.loss.metadata = MetadataState::Gone);
            case.leaves(&LeaveReason::MetadataGone);
        }
        // Its JobManager remembers the checkpoint and needs no `_metadata`.
        let running = exclusive(cause, Class::Running).with(|c| c.loss.metadata = MetadataState::Gone);
        running.restores();
    }
}
