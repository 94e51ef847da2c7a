//! The verdict table of the design, one test per cell, named after what it says.

use std::time::Duration;

use s3_documents::bucket::Versioning;
use stayput_core::catalogue::Naming;
use stayput_core::cause::Cause;
use stayput_core::class::Class;
use stayput_core::location::ObjectLocation;
use stayput_core::loss::{DirectoryUse, Loss, MetadataState};
use stayput_core::report::finding::FindingCode;
use stayput_core::root::Protect;
use stayput_core::timestamp::Timestamp;
use stayput_core::verdict::{
    Candidate, Deletion, Evidence, LaterReason, LeaveReason, Look, Outcome, Policy, Proof, Referrer, Sources,
    Told, Verdict, Why, judge,
};
use stayput_core::version::{KeyHistory, VersionEntry, VersionId, VersionKind};

const POLICY: Policy = Policy {
    settle: Duration::from_secs(300),
    dormant_after: Duration::from_secs(90 * 86_400),
};

fn deleted_at() -> Timestamp {
    Timestamp::parse("2026-11-28T10:00:00Z").unwrap()
}

fn minutes(n: u64) -> Duration {
    Duration::from_secs(60 * n)
}

fn foreign() -> Cause {
    Cause::Foreign("AWS:AROAALICE:s".into())
}

/// One deleted object that one snapshot names, seen twenty minutes later; every test changes what it is about.
#[derive(Clone)]
struct Case {
    cause: Cause,
    class: Class,
    naming: Naming,
    claimed: bool,
    moved: bool,
    put_back_before: bool,
    left_to_flink: bool,
    reference_lost: bool,
    named_elsewhere: bool,
    loss: Loss,
    told: Told,
    visible: Option<bool>,
    protect: Protect,
    released: bool,
    versioning: Versioning,
    history: KeyHistory,
    fits: bool,
    restored_before: u32,
    rule_takes_copies: bool,
    after: Duration,
}

fn shared(cause: Cause, class: Class) -> Case {
    let mut loss = Loss::none();
    loss.newest_marker = Some(deleted_at());
    loss.oldest_unanswered = Some(deleted_at());
    Case {
        cause,
        class,
        naming: Naming::Exact { exclusive: false },
        claimed: false,
        moved: false,
        put_back_before: false,
        left_to_flink: false,
        reference_lost: false,
        named_elsewhere: false,
        loss,
        told: Told {
            deleted: true,
            purged: false,
        },
        visible: None,
        protect: Protect::Default,
        released: false,
        versioning: Versioning::Enabled,
        history: history(100, "STANDARD"),
        fits: true,
        restored_before: 0,
        rule_takes_copies: false,
        after: minutes(20),
    }
}

fn exclusive(cause: Cause, class: Class) -> Case {
    let mut case = shared(cause.clone(), class);
    case.naming = Naming::Exact { exclusive: true };
    case.loss.exclusive_missing_by_flink = cause.is_flink_or_unknown();
    case
}

fn whole(cause: Cause, class: Class) -> Case {
    let mut case = exclusive(cause.clone(), class);
    case.loss.metadata = MetadataState::Hidden {
        at: deleted_at(),
        cause,
    };
    case.loss.whole = true;
    case
}

fn metadata_alone(cause: Cause, class: Class) -> Case {
    let mut case = shared(cause.clone(), class);
    case.naming = Naming::ItsMetadata;
    case.loss.metadata = MetadataState::Hidden {
        at: deleted_at(),
        cause,
    };
    case
}

fn history(size: u64, class: &str) -> KeyHistory {
    let row = |id: &str, is_latest, kind| VersionEntry {
        key: "cp/j/shared/f".into(),
        id: VersionId::new(id),
        is_latest,
        last_modified: deleted_at(),
        kind,
    };
    KeyHistory::new(vec![
        row("marker", true, VersionKind::Marker),
        row(
            "data",
            false,
            VersionKind::Data {
                size,
                etag: "\"e\"".into(),
                storage_class: Some(class.into()),
            },
        ),
    ])
}

impl Case {
    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    fn seen(&self) -> Verdict {
        let referrer = Referrer {
            metadata: ObjectLocation::new("b", "cp/j/chk-8/_metadata"),
            naming: self.naming,
            class: self.class,
            written: deleted_at().minus(minutes(60)),
            claimed: self.claimed,
            loss: &self.loss,
            moved: self.moved,
            put_back_before: self.put_back_before,
            left_to_flink: self.left_to_flink,
            reference_lost: self.reference_lost,
            named_elsewhere: self.named_elsewhere,
        };
        self.judged(&Evidence::Referenced(vec![referrer]))
    }

    fn judged(&self, evidence: &Evidence<'_>) -> Verdict {
        let deletion = Deletion {
            location: ObjectLocation::new("b", "cp/j/shared/f"),
            told: self.told,
            cause: self.cause.clone(),
            at: deleted_at(),
        };
        let candidate = self
            .history
            .data_versions()
            .next()
            .filter(|_| self.fits)
            .map(|version| Candidate {
                version,
                restored_before: self.restored_before,
                first_written: version.last_modified,
            });
        let look = Look {
            visible: self.visible,
            sources: Sources {
                versioning: self.versioning,
                history: &self.history,
                candidate,
            },
            protect: self.protect,
            released: self.released,
            storage_class: None,
            rule: None,
            rule_takes_copies: self.rule_takes_copies,
        };
        judge(&deletion, evidence, &look, &POLICY, deleted_at().plus(self.after))
    }

    fn outcome(&self) -> Outcome {
        self.seen().outcome
    }

    fn restores(&self) {
        assert!(
            matches!(self.outcome(), Outcome::Restore(_)),
            "{:?}",
            self.outcome()
        );
    }

    fn restores_with(&self, code: FindingCode) {
        self.restores();
        assert!(
            self.seen().findings.iter().any(|(c, _)| *c == code),
            "{:?}",
            self.seen().findings
        );
    }

    fn waits(&self, why: &LaterReason, minutes_after: u64) {
        let expected = Outcome::Later {
            not_before: deleted_at().plus(minutes(minutes_after)),
            why: why.clone(),
        };
        assert_eq!(self.outcome(), expected);
    }

    fn reports(&self, code: FindingCode) {
        assert_eq!(self.outcome(), Outcome::Report(code));
    }

    fn leaves(&self, reason: &LeaveReason) {
        assert_eq!(self.outcome(), Outcome::Leave(reason.clone()));
    }
}

const NEEDED: [Class; 3] = [Class::Running, Class::Resting, Class::Dormant];

mod lifecycle {
    use super::*;

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
}

mod foreign_partial {
    use super::*;

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
    use super::*;

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
            .with(|c| c.loss.directory_use = DirectoryUse::SameRun { id: 9 })
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

mod flink_shared_only {
    use super::*;

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
    use super::*;

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
    use super::*;

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

mod unknown_otherwise {
    use super::*;

    #[test]
    fn shared_only_is_as_flink_with_a_code_that_blames_nobody() {
        for class in [Class::Running, Class::Resting] {
            shared(Cause::Unknown, class)
                .with(|c| c.after = minutes(1))
                .waits(&LaterReason::Quiet, 5);
            shared(Cause::Unknown, class).restores_with(FindingCode::DeletedNeeded);
        }
    }

    #[test]
    fn exclusive_gone_and_metadata_standing_at_the_last_look_restores() {
        for class in [Class::Running, Class::Resting] {
            let case = exclusive(Cause::Unknown, class);
            case.clone()
                .with(|c| c.after = minutes(16))
                .waits(&LaterReason::MayBeADiscard, 60);
            case.with(|c| c.after = minutes(61))
                .restores_with(FindingCode::DeletedNeeded);
        }
    }

    #[test]
    fn unless_a_verdict_once_left_it_to_flink() {
        let case = exclusive(Cause::Unknown, Class::Running).with(|c| {
            c.left_to_flink = true;
            c.after = minutes(61);
        });
        case.reports(FindingCode::DiscardCutShort);
    }

    #[test]
    fn dormant_is_a_finding() {
        shared(Cause::Unknown, Class::Dormant).reports(FindingCode::DeletedNeeded);
        exclusive(Cause::Unknown, Class::Dormant).reports(FindingCode::DeletedNeeded);
    }
}

mod nobody_can_say {
    use super::*;

    fn permanently() -> Evidence<'static> {
        let metadata = ObjectLocation::new("b", "cp/x/chk-1/_metadata");
        Evidence::Unknown(vec![Why::Permanent {
            metadata,
            because: "format 8".into(),
        }])
    }

    #[test]
    fn lifecycle_or_foreign_restores() {
        for cause in [Cause::Lifecycle, foreign()] {
            let verdict = shared(cause, Class::Running).judged(&permanently());
            assert!(
                matches!(verdict.outcome, Outcome::Restore(_)),
                "{:?}",
                verdict.outcome
            );
        }
    }

    #[test]
    fn flink_or_unknown_is_a_finding() {
        for cause in [Cause::Flink, Cause::Unknown] {
            let verdict = shared(cause, Class::Running).judged(&permanently());
            assert_eq!(verdict.outcome, Outcome::Report(FindingCode::CannotJudge));
        }
    }

    #[test]
    fn what_could_not_be_read_just_now_waits_whatever_the_cause() {
        for cause in [Cause::Lifecycle, foreign(), Cause::Flink, Cause::Unknown] {
            let verdict = shared(cause, Class::Running)
                .judged(&Evidence::Unknown(vec![Why::Transient("SlowDown".into())]));
            assert!(matches!(
                verdict.outcome,
                Outcome::Later {
                    why: LaterReason::Transient(_),
                    ..
                }
            ));
        }
    }
}

mod ha_objects {
    use super::*;

    #[test]
    fn lifecycle_or_foreign_restores_at_once() {
        for cause in [Cause::Lifecycle, foreign()] {
            let verdict = shared(cause, Class::Running)
                .with(|c| c.after = Duration::ZERO)
                .judged(&Evidence::HaObject);
            assert!(matches!(verdict.outcome, Outcome::Restore(_)));
        }
    }

    #[test]
    fn flink_or_unknown_is_left() {
        for cause in [Cause::Flink, Cause::Unknown] {
            let verdict = shared(cause, Class::Running).judged(&Evidence::HaObject);
            assert_eq!(verdict.outcome, Outcome::Leave(LeaveReason::HaByFlink));
        }
    }
}

mod never_happens_that {
    use super::*;

    #[test]
    fn a_metadata_comes_back_into_a_directory_that_lives_on() {
        let case =
            whole(foreign(), Class::Running).with(|c| c.loss.directory_use = DirectoryUse::SameRun { id: 9 });
        case.restores();
        case.with(|c| c.naming = Naming::ItsMetadata)
            .leaves(&LeaveReason::SameRunWentOn);
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
}

mod what_can_be_copied {
    use super::*;

    #[test]
    fn an_archived_version_waits_and_people_are_told() {
        let case = shared(foreign(), Class::Running).with(|c| c.history = history(100, "DEEP_ARCHIVE"));
        assert!(matches!(
            case.outcome(),
            Outcome::Later {
                why: LaterReason::Thaw,
                ..
            }
        ));
        assert_eq!(case.seen().findings[0].0, FindingCode::Archived);
    }

    #[test]
    fn a_version_above_five_gibibytes_is_for_a_person() {
        shared(foreign(), Class::Running)
            .with(|c| c.history = history((5 << 30) + 1, "STANDARD"))
            .reports(FindingCode::TooLargeToCopy);
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
}

#[test]
fn a_key_that_ends_in_a_slash_means_nothing_even_if_everything_is_unknown() {
    let deletion = Deletion {
        location: ObjectLocation::new("b", "cp/j/chk-8/"),
        told: Told {
            deleted: true,
            purged: false,
        },
        cause: foreign(),
        at: deleted_at(),
    };
    let case = shared(foreign(), Class::Running);
    let look = Look {
        visible: None,
        sources: Sources {
            versioning: Versioning::Enabled,
            history: &case.history,
            candidate: None,
        },
        protect: Protect::Default,
        released: false,
        storage_class: None,
        rule: None,
        rule_takes_copies: false,
    };
    let evidence = Evidence::Unknown(vec![Why::Transient("SlowDown".into())]);
    let verdict = judge(&deletion, &evidence, &look, &POLICY, deleted_at());
    assert_eq!(verdict.outcome, Outcome::Leave(LeaveReason::DirectoryMarker));
}

#[test]
fn nobody_names_it_and_the_proof_says_what_it_rests_on() {
    let proof = Proof {
        oldest_listing: Some(deleted_at()),
        snapshots: 7,
        except: vec![ObjectLocation::new("b", "cp/x/chk-1/_metadata")],
    };
    let verdict = shared(foreign(), Class::Running).judged(&Evidence::NotReferenced(proof.clone()));
    assert_eq!(verdict.outcome, Outcome::Leave(LeaveReason::NotReferenced(proof)));
}

#[test]
fn the_strongest_wish_of_several_referrers_wins() {
    let spare = shared(Cause::Flink, Class::Spare);
    let running = shared(Cause::Flink, Class::Running);
    let claimed = shared(Cause::Flink, Class::Running).with(|c| c.claimed = true);
    let referrer = |case: &'static Case, name: &str, age: u64| Referrer {
        metadata: ObjectLocation::new("b", name),
        naming: case.naming,
        class: case.class,
        written: deleted_at().minus(minutes(age)),
        claimed: case.claimed,
        loss: &case.loss,
        moved: false,
        put_back_before: false,
        left_to_flink: false,
        reference_lost: false,
        named_elsewhere: false,
    };
    let [spare, running, claimed] = [spare, running, claimed].map(|c| &*Box::leak(Box::new(c)));
    let all = vec![
        referrer(spare, "spare", 1),
        referrer(claimed, "claimed", 2),
        referrer(running, "running", 3),
        referrer(running, "older", 4),
    ];
    let verdict = spare.judged(&Evidence::Referenced(all));
    assert!(matches!(verdict.outcome, Outcome::Restore(_)));
    assert_eq!(verdict.decided_by, Some(ObjectLocation::new("b", "running")));
    assert_eq!(verdict.class, Some(Class::Running));
}
