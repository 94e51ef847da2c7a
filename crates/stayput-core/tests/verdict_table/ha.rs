//! Objects of an HA store.

use crate::*;

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
