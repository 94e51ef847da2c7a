//! What nobody known took, and what nobody can judge.

mod unknown_otherwise {
    use crate::*;

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
    use crate::*;

    fn permanently() -> Evidence<'static> {
        beside(&[Taken::No])
    }

    /// Beside so many `_metadata` that can't be read, and how each went.
    fn beside(taken: &[Taken]) -> Evidence<'static> {
        let unreadable = |taken: &Taken| Why::Permanent {
            metadata: ObjectLocation::new("b", "cp/x/chk-1/_metadata"),
            because: "format 8".into(),
            taken: *taken,
        };
        Evidence::Unknown(taken.iter().map(unreadable).collect())
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
    fn a_strangers_deletion_waits_until_it_shows_whether_the_rest_went_too() {
        let case = shared(foreign(), Class::Running);
        let young = case.clone().with(|c| c.after = minutes(4));
        assert!(matches!(
            young.judged(&permanently()).outcome,
            Outcome::Later {
                why: LaterReason::Quiet,
                ..
            }
        ));
        let whole = case.judged(&beside(&[Taken::AsAWhole]));
        assert_eq!(whole.outcome, Outcome::Report(FindingCode::DeletedAsAWhole));
        let beside_a_subsumed_one = case.judged(&beside(&[Taken::Discarded, Taken::AsAWhole]));
        assert_eq!(
            beside_a_subsumed_one.outcome,
            Outcome::Report(FindingCode::DeletedAsAWhole)
        );
        let discarded = case.judged(&beside(&[Taken::Discarded]));
        assert!(matches!(discarded.outcome, Outcome::Restore(_)));
        // Of two that can't be read, and of which one stands, nobody knows which names it.
        let beside_another = case.judged(&beside(&[Taken::AsAWhole, Taken::No]));
        assert!(matches!(beside_another.outcome, Outcome::Restore(_)));
        let by_rule = shared(Cause::Lifecycle, Class::Running).judged(&beside(&[Taken::AsAWhole]));
        assert!(matches!(by_rule.outcome, Outcome::Restore(_)));
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
