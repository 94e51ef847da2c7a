//! The verdict table: what one referrer asks for, by cause, class and what was lost.

use crate::catalogue::Naming;
use crate::cause::Cause;
use crate::class::Class;
use crate::loss::{DirectoryUse, Loss, MetadataState, MissingObject};
use crate::report::finding::FindingCode;
use crate::root::Protect;
use crate::timestamp::Timestamp;
use crate::verdict::{Deletion, LaterReason, LeaveReason, Look, Policy, Referrer};

/// What one referrer asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Wish {
    Leave(LeaveReason),
    Report(FindingCode),
    Later { not_before: Timestamp, why: LaterReason },
    Restore(Option<FindingCode>),
}

impl Wish {
    pub(super) fn rank(&self) -> u8 {
        match self {
            Self::Leave(_) => 0,
            Self::Report(_) => 1,
            Self::Later { .. } => 2,
            Self::Restore(_) => 3,
        }
    }
}

pub(super) fn new_run(referrer: &Referrer<'_>) -> bool {
    referrer.loss.metadata != MetadataState::Stands
        && matches!(referrer.loss.directory_use, DirectoryUse::NewRun { .. })
}

/// One cell of the verdict table.
pub(super) fn wish(
    deletion: &Deletion,
    referrer: &Referrer<'_>,
    look: &Look<'_>,
    policy: &Policy,
    now: Timestamp,
) -> Wish {
    let loss = referrer.loss;
    let cause = loss.cause_for(&deletion.cause);
    let class = referrer.class;
    if class == Class::Spare {
        // More than twice is a rule that means it, as for the forgotten.
        let mend = referrer.mendable && look.sources.restored_before() < 2;
        return if mend {
            by_rule(look)
        } else {
            Wish::Leave(LeaveReason::Spare)
        };
    }
    // People were told when it was purged. A running job may still come back from what its JobManager remembers, and needs the files for that.
    if loss.metadata == MetadataState::Gone
        && class < Class::Running
        && referrer.naming != Naming::ItsMetadata
    {
        return Wish::Leave(LeaveReason::MetadataGone);
    }
    if let Some(not_before) = unheard(deletion, loss, policy).filter(|at| now < *at) {
        return Wish::Later {
            not_before,
            why: LaterReason::Quiet,
        };
    }
    if cause.is_flink_or_unknown() && !referrer.naming.counts_against_flink() {
        return Wish::Leave(match referrer.naming {
            Naming::Tail => LeaveReason::SinkTail,
            _ => LeaveReason::NamedByDirectoryOnly,
        });
    }
    if cause.is_flink_or_unknown() && referrer.claimed {
        return Wish::Leave(LeaveReason::Claimed);
    }
    if new_run(referrer) {
        return Wish::Leave(LeaveReason::NewRunInDirectory);
    }
    let went_on =
        loss.metadata != MetadataState::Stands && matches!(loss.directory_use, DirectoryUse::SameRun { .. });
    if went_on {
        // A checkpoint under way may never be complete, and then this one is still what the job comes back from.
        let may_complete_until = deletion.at.plus(policy.settle.saturating_mul(3));
        let is_metadata = referrer.naming == Naming::ItsMetadata;
        match loss.directory_use {
            DirectoryUse::SameRun { complete: true, .. } => return Wish::Leave(LeaveReason::SameRunWentOn),
            _ if !is_metadata => {}
            _ if cause.is_flink_or_unknown() => return Wish::Leave(LeaveReason::SameRunWentOn),
            // A rule's marker is dated midnight, and its message nearly always comes later than this; the sweep looks again.
            _ if now < may_complete_until && cause == &Cause::Lifecycle => {
                return Wish::Leave(LeaveReason::SameRunWentOn);
            }
            _ if now < may_complete_until => {
                return Wish::Later {
                    not_before: may_complete_until,
                    why: LaterReason::NewerUnderWay,
                };
            }
            // A newer snapshot elsewhere has its state besides, or is one of a twin: nobody knows which, so people are asked. Once what it names is back
            // nothing shows any more that all of it was deleted.
            _ if referrer.moved && matches!(cause, Cause::Foreign(_)) => {
                return if referrer.told_as_a_whole {
                    Wish::Leave(LeaveReason::SameRunWentOn)
                } else if loss.whole {
                    Wish::Report(FindingCode::DeletedAsAWhole)
                } else {
                    Wish::Report(FindingCode::MetadataHidden)
                };
            }
            _ => {}
        }
    }
    match cause {
        Cause::Ours => Wish::Leave(LeaveReason::Ours),
        Cause::Lifecycle => match class {
            Class::Dormant if look.protect != Protect::All => Wish::Report(FindingCode::DormantExpired),
            Class::Dormant if look.sources.restored_before() >= 2 => Wish::Report(FindingCode::Held),
            Class::Spare | Class::Dormant | Class::Resting | Class::Running => by_rule(look),
        },
        // A discard that Flink had begun: what it took of the private files doesn't come back, so neither does `_metadata`.
        Cause::Foreign(_) if referrer.naming == Naming::ItsMetadata && half_discarded(loss) => {
            let wish = next_look(deletion, policy, now).unwrap_or(Wish::Report(FindingCode::DiscardCutShort));
            once_quiet(wish, class, loss, policy, now)
        }
        Cause::Foreign(_) => {
            let intent = loss.whole
                && (class < Class::Running || referrer.put_back_before || (referrer.moved && !went_on));
            let wish = if intent {
                Wish::Report(FindingCode::DeletedAsAWhole)
            } else {
                Wish::Restore(None)
            };
            // What is missing counts only what handles name: a tail brings its own marker.
            match referrer.naming {
                Naming::Tail if now < deletion.at.plus(policy.settle) && !matches!(wish, Wish::Leave(_)) => {
                    Wish::Later {
                        not_before: deletion.at.plus(policy.settle),
                        why: LaterReason::Quiet,
                    }
                }
                _ => once_quiet(wish, class, loss, policy, now),
            }
        }
        Cause::Flink | Cause::Unknown => {
            let wish = by_flink_or_unknown(cause, deletion, referrer, policy, now);
            once_quiet(wish, class, loss, policy, now)
        }
    }
}

/// A stranger or a rule took the key, and nobody knows yet who took `_metadata`: its message can be on the way, as messages come in any order, and
/// may say that it was the same hand. When that is no excuse any more.
fn unheard(deletion: &Deletion, loss: &Loss, policy: &Policy) -> Option<Timestamp> {
    match (&deletion.cause, &loss.metadata) {
        (
            Cause::Foreign(_) | Cause::Lifecycle,
            MetadataState::Hidden {
                at,
                cause: Cause::Unknown,
            },
        ) => Some(at.plus(policy.settle)),
        _ => None,
    }
}

fn by_rule(look: &Look<'_>) -> Wish {
    let again = look.sources.restored_before() >= 1;
    Wish::Restore(match (again, look.rule_takes_copies) {
        (true, _) => Some(FindingCode::RepeatOffence),
        (false, true) => Some(FindingCode::RuleTakesCopies),
        (false, false) => None,
    })
}

fn by_flink_or_unknown(
    cause: &Cause,
    deletion: &Deletion,
    referrer: &Referrer<'_>,
    policy: &Policy,
    now: Timestamp,
) -> Wish {
    let (loss, class) = (referrer.loss, referrer.class);
    let by_flink = *cause == Cause::Flink;
    let code = if by_flink {
        FindingCode::FlinkDeletedNeeded
    } else {
        FindingCode::DeletedNeeded
    };
    let discarded = match &loss.metadata {
        MetadataState::Hidden { cause, .. } => loss.whole || cause.is_flink_or_unknown(),
        MetadataState::Gone => true,
        MetadataState::Stands => false,
    };
    if discarded {
        return match (class, loss.whole) {
            (Class::Running, _) => Wish::Leave(LeaveReason::DiscardedByFlink),
            (_, true) => Wish::Report(FindingCode::DeletedAsAWhole),
            (_, false) => Wish::Report(FindingCode::MetadataHidden),
        };
    }
    if !loss.exclusive_missing_by_flink {
        // The job may have taken it along without a trace, and a slow clean-up comes to `_metadata` last.
        let may_be_a_discard = referrer.moved && by_flink;
        return match next_look(deletion, policy, now).filter(|_| may_be_a_discard) {
            _ if class == Class::Dormant => Wish::Report(code),
            Some(later) => later,
            None => Wish::Restore(Some(code)),
        };
    }
    if class == Class::Dormant {
        return if by_flink {
            Wish::Leave(LeaveReason::Dormant)
        } else {
            Wish::Report(code)
        };
    }
    if let Some(later) = next_look(deletion, policy, now) {
        return later;
    }
    if by_flink || referrer.left_to_flink {
        Wish::Report(FindingCode::DiscardCutShort)
    } else {
        Wish::Restore(Some(code))
    }
}

fn half_discarded(loss: &Loss) -> bool {
    let by_flink = |m: &MissingObject| m.exclusive && m.cause == Cause::Flink;
    // Of a whole deletion the cause of `_metadata` counts for all.
    !loss.whole && loss.missing.iter().any(by_flink)
}

/// Waits for the next look at what may be a discard under way; `None`: that was the last.
fn next_look(deletion: &Deletion, policy: &Policy, now: Timestamp) -> Option<Wish> {
    let mut looks = policy.looks().into_iter().map(|after| deletion.at.plus(after));
    looks.find(|at| now < *at).map(|not_before| Wish::Later {
        not_before,
        why: LaterReason::MayBeADiscard,
    })
}

/// Waits until nothing of the snapshot was deleted within the settle delay; for a running one no longer than three of them.
fn once_quiet(wish: Wish, class: Class, loss: &Loss, policy: &Policy, now: Timestamp) -> Wish {
    if matches!(wish, Wish::Leave(_)) {
        return wish;
    }
    let Some(quiet_from) = loss.newest_marker.map(|m| m.plus(policy.settle)) else {
        return wish;
    };
    if now >= quiet_from {
        return wish;
    }
    let waited_enough = class == Class::Running
        && loss
            .oldest_unanswered
            .is_some_and(|m| now.since(m) >= policy.quiet_at_most());
    if waited_enough {
        return wish;
    }
    match wish {
        Wish::Later { not_before, why } => Wish::Later {
            not_before: not_before.max(quiet_from),
            why,
        },
        Wish::Leave(_) | Wish::Report(_) | Wish::Restore(_) => Wish::Later {
            not_before: quiet_from,
            why: LaterReason::Quiet,
        },
    }
}
