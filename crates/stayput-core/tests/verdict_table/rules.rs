//! What a lifecycle rule took.

use crate::*;

#[test]
fn running_or_resting_restore_now_without_waiting_for_quiet() {
    for class in [Class::Running, Class::Resting] {
        for case in [
            shared(Cause::Lifecycle, class),
            whole(Cause::Lifecycle, class),
            metadata_alone(Cause::Lifecycle, class),
        ] {
            case.with(|c| c.after = Duration::ZERO).restores();
        }
    }
}

#[test]
fn dormant_is_a_finding_unless_the_root_protects_all() {
    let case = shared(Cause::Lifecycle, Class::Dormant);
    case.reports(FindingCode::DormantExpired);
    case.with(|c| c.protect = Protect::All).restores();
}

#[test]
fn spare_is_left() {
    shared(Cause::Lifecycle, Class::Spare).leaves(&LeaveReason::Spare);
}

#[test]
fn a_spare_that_rules_alone_broke_is_made_whole_by_a_sweep_twice() {
    let case = shared(Cause::Lifecycle, Class::Spare).with(|c| {
        c.mendable = true;
        c.after = Duration::from_secs(25 * 3600);
    });
    case.restores();
    case.clone()
        .with(|c| c.restored_before = 1)
        .restores_with(FindingCode::RepeatOffence);
    case.with(|c| c.restored_before = 2).leaves(&LeaveReason::Spare);
}

#[test]
fn claimed_does_not_count() {
    shared(Cause::Lifecycle, Class::Resting)
        .with(|c| c.claimed = true)
        .restores();
}

#[test]
fn a_running_one_is_restored_again_with_an_alarm_and_at_most_once_a_day() {
    let again = shared(Cause::Lifecycle, Class::Running).with(|c| {
        c.restored_before = 1;
        c.after = Duration::from_secs(25 * 3600);
    });
    again.restores_with(FindingCode::RepeatOffence);
    again
        .with(|c| c.after = Duration::from_secs(23 * 3600))
        .waits(&LaterReason::OncePerDay, 24 * 60);
}

#[test]
fn a_dormant_one_is_held_from_the_third_time() {
    let case = shared(Cause::Lifecycle, Class::Dormant).with(|c| {
        c.protect = Protect::All;
        c.after = Duration::from_secs(25 * 3600);
    });
    case.clone().with(|c| c.restored_before = 1).restores();
    case.with(|c| c.restored_before = 2).reports(FindingCode::Held);
}

#[test]
fn a_rule_that_would_take_the_copy_is_named_before_the_first_copy() {
    shared(Cause::Lifecycle, Class::Running)
        .with(|c| c.rule_takes_copies = true)
        .restores_with(FindingCode::RuleTakesCopies);
}
