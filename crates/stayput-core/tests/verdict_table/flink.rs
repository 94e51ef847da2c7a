//! What Flink took, and what it or nobody known took as a whole.

mod flink_shared_only {
    use crate::*;

    #[test]
    fn running_or_resting_looks_again_after_the_settle_delay_then_restores_with_a_finding() {
        for class in [Class::Running, Class::Resting] {
            let case = shared(Cause::Flink, class);
            case.clone()
                .with(|c| c.after = minutes(1))
                .waits(&LaterReason::Quiet, 5);
            case.restores_with(FindingCode::FlinkDeletedNeeded);
        }
    }

    #[test]
    fn where_the_job_may_have_moved_a_slow_clean_up_is_waited_for() {
        for class in [Class::Running, Class::Resting] {
            let case = shared(Cause::Flink, class).with(|c| c.moved = true);
            let after = |n| case.clone().with(|c| c.after = minutes(n));
            after(16).waits(&LaterReason::MayBeADiscard, 60);
            after(61).restores_with(FindingCode::FlinkDeletedNeeded);
        }
        // Nobody is known to clean up.
        shared(Cause::Unknown, Class::Running)
            .with(|c| c.moved = true)
            .restores_with(FindingCode::DeletedNeeded);
    }

    #[test]
    fn dormant_is_a_finding() {
        shared(Cause::Flink, Class::Dormant).reports(FindingCode::FlinkDeletedNeeded);
    }

    #[test]
    fn spare_is_left() {
        shared(Cause::Flink, Class::Spare).leaves(&LeaveReason::Spare);
    }

    #[test]
    fn claimed_is_left_at_once() {
        for class in NEEDED {
            let case = shared(Cause::Flink, class).with(|c| {
                c.claimed = true;
                c.after = Duration::ZERO;
            });
            case.leaves(&LeaveReason::Claimed);
        }
    }

    #[test]
    fn directory_references_do_not_count() {
        for naming in [Naming::Directory, Naming::LiveDatabase] {
            shared(Cause::Flink, Class::Running)
                .with(|c| c.naming = naming)
                .leaves(&LeaveReason::NamedByDirectoryOnly);
        }
    }
}

mod flink_exclusive_gone {
    use crate::*;

    #[test]
    fn running_or_resting_is_looked_at_three_times_then_told_and_not_restored() {
        for class in [Class::Running, Class::Resting] {
            let case = exclusive(Cause::Flink, class);
            let why = LaterReason::MayBeADiscard;
            case.clone().with(|c| c.after = minutes(1)).waits(&why, 5);
            case.clone().with(|c| c.after = minutes(6)).waits(&why, 15);
            case.clone().with(|c| c.after = minutes(16)).waits(&why, 60);
            case.with(|c| c.after = minutes(61))
                .reports(FindingCode::DiscardCutShort);
        }
    }

    #[test]
    fn dormant_or_spare_is_left() {
        exclusive(Cause::Flink, Class::Dormant).leaves(&LeaveReason::Dormant);
        exclusive(Cause::Flink, Class::Spare).leaves(&LeaveReason::Spare);
    }

    #[test]
    fn shared_files_that_went_with_private_ones_share_their_fate() {
        let case = shared(Cause::Flink, Class::Running).with(|c| c.loss.exclusive_missing_by_flink = true);
        case.with(|c| c.after = minutes(61))
            .reports(FindingCode::DiscardCutShort);
    }
}

mod flink_or_unknown_whole_or_metadata_hidden {
    use crate::*;

    #[test]
    fn running_is_left() {
        for cause in [Cause::Flink, Cause::Unknown] {
            whole(cause.clone(), Class::Running).leaves(&LeaveReason::DiscardedByFlink);
            metadata_alone(cause, Class::Running).leaves(&LeaveReason::DiscardedByFlink);
        }
    }

    #[test]
    fn resting_or_dormant_is_a_finding() {
        for cause in [Cause::Flink, Cause::Unknown] {
            for class in [Class::Resting, Class::Dormant] {
                whole(cause.clone(), class).reports(FindingCode::DeletedAsAWhole);
                metadata_alone(cause.clone(), class).reports(FindingCode::MetadataHidden);
            }
        }
    }

    #[test]
    fn spare_or_claimed_is_left() {
        for cause in [Cause::Flink, Cause::Unknown] {
            whole(cause.clone(), Class::Spare).leaves(&LeaveReason::Spare);
            whole(cause, Class::Resting)
                .with(|c| c.claimed = true)
                .leaves(&LeaveReason::Claimed);
        }
    }

    #[test]
    fn what_a_stranger_or_a_rule_took_of_a_discarded_snapshot_is_judged_as_flinks() {
        for key in [foreign(), Cause::Lifecycle] {
            let case = whole(Cause::Flink, Class::Running).with(|c| c.cause = key);
            case.leaves(&LeaveReason::DiscardedByFlink);
        }
    }

    #[test]
    fn a_metadata_that_a_rule_hid_comes_back_so_flinks_share_of_the_loss_is_judged_as_if_it_stood() {
        let case = shared(Cause::Flink, Class::Resting).with(|c| {
            c.loss.metadata = MetadataState::Hidden {
                at: deleted_at(),
                cause: Cause::Lifecycle,
            }
        });
        case.restores_with(FindingCode::FlinkDeletedNeeded);
    }
}
