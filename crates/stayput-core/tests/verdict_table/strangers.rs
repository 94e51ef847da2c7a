//! What a foreign principal took, in part or as a whole.

mod foreign_partial {
    use crate::*;

    #[test]
    fn running_resting_or_dormant_restore() {
        for class in NEEDED {
            shared(foreign(), class).restores();
            exclusive(foreign(), class).restores();
            metadata_alone(foreign(), class).restores();
        }
    }

    #[test]
    fn spare_is_left() {
        shared(foreign(), Class::Spare).leaves(&LeaveReason::Spare);
    }

    #[test]
    fn waits_until_it_is_quiet() {
        let case = shared(foreign(), Class::Resting);
        case.clone()
            .with(|c| c.after = minutes(1))
            .waits(&LaterReason::Quiet, 5);
        case.with(|c| c.loss.newest_marker = Some(deleted_at().plus(minutes(19))))
            .waits(&LaterReason::Quiet, 24);
    }

    #[test]
    fn a_running_one_waits_no_longer_than_three_settle_delays() {
        let busy = shared(foreign(), Class::Running).with(|c| {
            c.after = minutes(16);
            c.loss.newest_marker = Some(deleted_at().plus(minutes(15)));
        });
        busy.restores();
        busy.clone()
            .with(|c| c.after = minutes(14))
            .waits(&LaterReason::Quiet, 20);
        busy.with(|c| c.loss.oldest_unanswered = None)
            .waits(&LaterReason::Quiet, 20);
    }

    #[test]
    fn while_nobody_knows_who_hid_metadata_its_message_may_be_on_the_way() {
        for cause in [foreign(), Cause::Lifecycle] {
            let case = shared(cause, Class::Running).with(|c| {
                c.loss.metadata = MetadataState::Hidden {
                    at: deleted_at(),
                    cause: Cause::Unknown,
                };
            });
            for naming in [
                Naming::Exact { exclusive: false },
                Naming::Tail,
                Naming::Directory,
            ] {
                case.clone()
                    .with(|c| (c.naming, c.after) = (naming, minutes(4)))
                    .waits(&LaterReason::Quiet, 5);
            }
            case.clone()
                .with(|c| (c.naming, c.after) = (Naming::Tail, minutes(6)))
                .leaves(&LeaveReason::SinkTail);
            case.with(|c| c.after = minutes(6))
                .leaves(&LeaveReason::DiscardedByFlink);
        }
    }

    #[test]
    fn a_metadata_of_which_flink_took_private_files_is_looked_at_three_times_then_told() {
        let case = metadata_alone(foreign(), Class::Running).with(|c| c.loss = without_a_file_of_flinks());
        for (after, look) in [(1, 5), (6, 15), (16, 60)] {
            case.clone()
                .with(|c| c.after = minutes(after))
                .waits(&LaterReason::MayBeADiscard, look);
        }
        case.clone()
            .with(|c| c.after = minutes(60))
            .reports(FindingCode::DiscardCutShort);
        // Of a whole deletion the cause of `_metadata` counts for all.
        case.with(|c| c.loss.whole = true).restores();
    }

    fn without_a_file_of_flinks() -> Loss {
        let mut catalogue = Catalogue::new();
        let location = ObjectLocation::new("b", "cp/j/chk-8/f");
        let references = catalogue.enter_references([(&location, Extent::Exact(100))]);
        references.expect("there is room");
        let mut loss = metadata_alone(foreign(), Class::Running).loss;
        loss.missing.push(MissingObject {
            object: catalogue.index.find(&location).expect("it was entered"),
            location,
            exclusive: true,
            history: history(100, "STANDARD"),
            cause: Cause::Flink,
            told: false,
        });
        loss
    }

    #[test]
    fn directory_references_and_live_databases_count() {
        for naming in [Naming::Directory, Naming::LiveDatabase] {
            shared(foreign(), Class::Running)
                .with(|c| c.naming = naming)
                .restores();
        }
    }

    #[test]
    fn claimed_does_not_count() {
        shared(foreign(), Class::Resting)
            .with(|c| c.claimed = true)
            .restores();
    }
}

mod foreign_whole {
    use crate::*;

    #[test]
    fn running_restores_once_per_directory_and_principal() {
        whole(foreign(), Class::Running).restores();
        whole(foreign(), Class::Running)
            .with(|c| c.put_back_before = true)
            .reports(FindingCode::DeletedAsAWhole);
    }

    #[test]
    fn running_but_moved_elsewhere_is_a_finding_until_its_own_directory_lives_on() {
        let moved = whole(foreign(), Class::Running).with(|c| c.moved = true);
        moved.reports(FindingCode::DeletedAsAWhole);
        moved
            .with(|c| {
                c.loss.directory_use = DirectoryUse::SameRun {
                    id: 9,
                    complete: false,
                }
            })
            .restores();
    }

    #[test]
    fn resting_or_dormant_is_a_finding() {
        for class in [Class::Resting, Class::Dormant] {
            whole(foreign(), class).reports(FindingCode::DeletedAsAWhole);
        }
    }

    #[test]
    fn spare_is_left() {
        whole(foreign(), Class::Spare).leaves(&LeaveReason::Spare);
    }
}
