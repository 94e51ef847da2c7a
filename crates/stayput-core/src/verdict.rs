//! The verdict on one deleted object.
//!
//! A partial loss is an accident, a whole deletion is intent; what Flink itself removes stays removed, unless the
//! snapshot that still stands as the newest needs it; where nobody can know, the answer says so.

use std::time::Duration;

use crate::catalogue::Naming;
use crate::cause::Cause;
use crate::class::Class;
use crate::location::ObjectLocation;
use crate::loss::{Loss, MetadataState};
use crate::report::finding::FindingCode;
use crate::restoring::Permit;
use crate::root::Protect;
use crate::timestamp::Timestamp;
use table::{Wish, new_run, wish};

mod archived;
mod outcome;
mod source;
mod table;

pub use archived::{Archived, NeededBy, judge_archived};
pub use outcome::{Basis, Incident, LaterReason, LeaveReason, Outcome, Verdict};
pub use source::{Candidate, SourceProblem, Sources};

/// What is fixed for all verdicts.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// How long nothing may have been deleted before a verdict falls, and the unit of the looks.
    pub settle: Duration,
    /// When a head or savepoint counts as forgotten.
    pub dormant_after: Duration,
}

impl Policy {
    /// Quiet is asked of a running snapshot's losses no longer than this.
    pub fn quiet_at_most(&self) -> Duration {
        self.settle.saturating_mul(3)
    }

    /// When private files that Flink deleted are looked at: after one, three and twelve settle delays; with the default, 5, 15 and 60 minutes.
    pub fn looks(&self) -> [Duration; 3] {
        [1, 3, 12].map(|n| self.settle.saturating_mul(n))
    }
}

/// What messages told about one key since its last verdict.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Told {
    /// A delete marker was created, or an object without versions was removed.
    pub deleted: bool,
    /// A version was purged.
    pub purged: bool,
}

/// A deleted object and what is known of its deletion.
#[derive(Clone, Debug)]
pub struct Deletion {
    /// Which object.
    pub location: ObjectLocation,
    /// What messages told.
    pub told: Told,
    /// Who put the marker directly above the data version there.
    pub cause: Cause,
    /// That marker's Last-Modified; of an object without versions, the time of the message or the look.
    pub at: Timestamp,
}

/// Whether anybody needs an object.
#[derive(Clone, Debug)]
pub enum Evidence<'c> {
    /// These snapshots name it.
    Referenced(Vec<Referrer<'c>>),
    /// An HA store's object (not one of its result stores): what Flink reads when a JobManager recovers.
    HaObject,
    /// No state handle of any snapshot names it.
    NotReferenced(Proof),
    /// Nobody can say.
    Unknown(Vec<Why>),
}

/// What a statement of absence rests on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proof {
    /// The oldest listing that it rests on; `None`: nothing is under the roots.
    pub oldest_listing: Option<Timestamp>,
    /// How many snapshots were looked through.
    pub snapshots: usize,
    /// Snapshots that can't be read, and so are excepted.
    pub except: Vec<ObjectLocation>,
}

/// Why nobody can say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Why {
    /// A snapshot near the key can't be read, now or later.
    Permanent {
        /// Its `_metadata`.
        metadata: ObjectLocation,
        /// Why, for people.
        because: String,
        /// What its own deletion says.
        taken: Taken,
    },
    /// A listing or a `_metadata` couldn't be read just now.
    Transient(String),
}

/// How a snapshot went that can't be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taken {
    /// It stands, or nobody meant to lose it.
    No,
    /// Flink or nobody known hid it: what it named isn't wanted for its sake.
    Discarded,
    /// A stranger deleted it with everything beside it while no job ran from it.
    AsAWhole,
}

/// A snapshot that names the object, with what it has lost.
#[derive(Clone, Debug)]
pub struct Referrer<'c> {
    /// Its `_metadata`.
    pub metadata: ObjectLocation,
    /// How it names the object.
    pub naming: Naming,
    /// Its class at the moment that counts.
    pub class: Class,
    /// When it was first written.
    pub written: Timestamp,
    /// Whether a snapshot of another directory took it over.
    pub claimed: bool,
    /// What it has lost.
    pub loss: &'c Loss,
    /// A newer snapshot elsewhere has its operators and a higher id.
    pub moved: bool,
    /// The directory was put back once after this principal had deleted it as a whole.
    pub put_back_before: bool,
    /// People were told of this deletion that it was of the whole.
    pub told_as_a_whole: bool,
    /// An earlier verdict left its loss to Flink.
    pub left_to_flink: bool,
    /// It names an object that can't be put back, so its `_metadata` must stay hidden.
    pub reference_lost: bool,
    /// Another visible snapshot, no spare, names the object too.
    pub named_elsewhere: bool,
    /// A spare that a sweep found broken by lifecycle rules alone, and that copies would make whole.
    pub mendable: bool,
}

/// What is known of the object's place and versions.
#[derive(Clone, Debug)]
pub struct Look<'c> {
    /// Whether it is visible now; with `Some(false)` its length fits no handle.
    pub visible: Option<bool>,
    /// What could be copied.
    pub sources: Sources<'c>,
    /// How far to go for its root.
    pub protect: Protect,
    /// Deletions here were declared as intended.
    pub released: bool,
    /// The storage class of copies here.
    pub storage_class: Option<&'c str>,
    /// The rule that explains the deletion, where one is known.
    pub rule: Option<&'c str>,
    /// A rule that would take the copy within seven days.
    pub rule_takes_copies: bool,
}

/// Whether the answer is "leave" whatever a look at the object's versions would show, so that none is needed.
/// `cause` is what the messages say; the marker directly above the data version can only be someone else's if there are two.
pub fn leave_without_a_look(referrals: &[(Naming, Class)], cause: &Cause) -> Option<LeaveReason> {
    let counting = |naming: &Naming| naming.counts_against_flink() || !cause.is_flink_or_unknown();
    if referrals
        .iter()
        .any(|(naming, class)| *class != Class::Spare && counting(naming))
    {
        return None;
    }
    if referrals.is_empty() {
        return None;
    }
    let spare = referrals.iter().all(|(_, class)| *class == Class::Spare);
    Some(if spare {
        LeaveReason::Spare
    } else if referrals
        .iter()
        .all(|(naming, class)| *naming == Naming::Tail || *class == Class::Spare)
    {
        LeaveReason::SinkTail
    } else {
        LeaveReason::NamedByDirectoryOnly
    })
}

/// The verdict. Pure: the same arguments give the same answer.
pub fn judge(
    deletion: &Deletion,
    evidence: &Evidence<'_>,
    look: &Look<'_>,
    policy: &Policy,
    now: Timestamp,
) -> Verdict {
    let mut verdict = Verdict {
        location: deletion.location.clone(),
        incident: Incident::Deletion,
        outcome: Outcome::Leave(LeaveReason::DirectoryMarker),
        findings: Vec::new(),
        basis: match evidence {
            Evidence::Referenced(_) => Basis::Referenced,
            Evidence::HaObject => Basis::HaObject,
            Evidence::NotReferenced(_) => Basis::NotReferenced,
            Evidence::Unknown(_) => Basis::Unknown,
        },
        class: None,
        cause: deletion.cause.clone(),
        decided_by: None,
    };
    if deletion.location.is_directory_marker() {
        return verdict;
    }
    if let Evidence::Referenced(referrers) = evidence {
        verdict.class = referrers.iter().map(|r| r.class).max();
    }
    verdict.outcome = if look.released {
        Outcome::Leave(LeaveReason::Released)
    } else if look.visible == Some(true) {
        Outcome::Leave(LeaveReason::Visible)
    } else if deletion.cause == Cause::Ours {
        Outcome::Leave(LeaveReason::Ours)
    } else {
        match evidence {
            Evidence::NotReferenced(proof) => Outcome::Leave(LeaveReason::NotReferenced(proof.clone())),
            Evidence::HaObject if deletion.cause.is_flink_or_unknown() => {
                Outcome::Leave(LeaveReason::HaByFlink)
            }
            Evidence::HaObject => wanted(deletion, look, now, &mut verdict),
            Evidence::Unknown(why) => unknown(deletion, why, look, policy, now, &mut verdict),
            Evidence::Referenced(referrers) => {
                referenced(deletion, referrers, look, policy, now, &mut verdict)
            }
        }
    };
    verdict
}

fn unknown(
    deletion: &Deletion,
    why: &[Why],
    look: &Look<'_>,
    policy: &Policy,
    now: Timestamp,
    verdict: &mut Verdict,
) -> Outcome {
    if let Some(text) = why.iter().find_map(|w| match w {
        Why::Transient(text) => Some(text),
        Why::Permanent { .. } => None,
    }) {
        return Outcome::Later {
            not_before: now.plus(policy.settle),
            why: LaterReason::Transient(text.clone()),
        };
    }
    let unreadable = why.iter().find_map(|w| match w {
        Why::Permanent { metadata, .. } => Some(metadata.clone()),
        Why::Transient(_) => None,
    });
    verdict.decided_by.clone_from(&unreadable);
    let taken = |w: &Why| match w {
        Why::Permanent { taken, .. } => *taken,
        Why::Transient(_) => Taken::No,
    };
    let intended =
        why.iter().any(|w| taken(w) == Taken::AsAWhole) && why.iter().all(|w| taken(w) != Taken::No);
    let quiet_from = deletion.at.plus(policy.settle);
    match deletion.cause {
        // Whether it was a part or the whole shows only when the rest is gone too.
        Cause::Foreign(_) if now < quiet_from => Outcome::Later {
            not_before: quiet_from,
            why: LaterReason::Quiet,
        },
        Cause::Foreign(_) if intended => {
            if let Some(metadata) = unreadable {
                verdict.findings.push((FindingCode::DeletedAsAWhole, metadata));
            }
            Outcome::Report(FindingCode::DeletedAsAWhole)
        }
        Cause::Lifecycle | Cause::Foreign(_) => wanted(deletion, look, now, verdict),
        Cause::Flink | Cause::Unknown | Cause::Ours => Outcome::Report(FindingCode::CannotJudge),
    }
}

fn referenced(
    deletion: &Deletion,
    referrers: &[Referrer<'_>],
    look: &Look<'_>,
    policy: &Policy,
    now: Timestamp,
    verdict: &mut Verdict,
) -> Outcome {
    // The strongest wish wins; among equals the strongest class, then the newest, so that the explanation names who needs it most:
    // a job that goes on, not the one that it was restored from.
    let strongest = referrers
        .iter()
        .map(|r| (wish(deletion, r, look, policy, now), r))
        .max_by_key(|(wish, r)| (wish.rank(), r.class, r.written));
    let Some((wish, referrer)) = strongest else {
        return Outcome::Leave(LeaveReason::Spare);
    };
    verdict.decided_by = Some(referrer.metadata.clone());
    verdict.cause = referrer.loss.cause_for(&deletion.cause).clone();
    for r in referrers {
        if r.class != Class::Spare && new_run(r) {
            verdict
                .findings
                .push((FindingCode::DirectoryReused, r.metadata.clone()));
        }
    }
    let needed = !matches!(wish, Wish::Leave(_)) || is_needed_whatever_the_cause(referrer);
    if deletion.told.purged
        && needed
        && look.sources.nothing_left()
        && !referrer.claimed
        && referrer.class >= Class::Resting
    {
        return Outcome::Lost(FindingCode::PurgedVersion);
    }
    if !deletion.told.deleted {
        return Outcome::Leave(LeaveReason::Purge);
    }
    if let Some(not_before) = look.sources.may_come_until(now)
        && !matches!(wish, Wish::Leave(_))
    {
        let why = LaterReason::OnItsWay;
        return Outcome::Later { not_before, why };
    }
    match wish {
        Wish::Leave(reason) => Outcome::Leave(reason),
        Wish::Report(code) => {
            verdict.findings.push((code, referrer.metadata.clone()));
            Outcome::Report(code)
        }
        // No hand hid what has neither versions nor markers: a wait shows nothing new.
        Wish::Later { .. } if look.sources.was_never_there() => wanted(deletion, look, now, verdict),
        Wish::Later { not_before, why } => Outcome::Later { not_before, why },
        Wish::Restore(code) => {
            // What was never there nobody deleted.
            if let Some(code) = code.filter(|_| !look.sources.was_never_there()) {
                verdict.findings.push((code, referrer.metadata.clone()));
            }
            if let Naming::ByName { .. } = referrer.naming {
                verdict
                    .findings
                    .push((FindingCode::CopyIntoPlace, referrer.metadata.clone()));
            }
            if look.visible == Some(false) {
                return Outcome::Report(FindingCode::Overwritten);
            }
            let is_metadata = referrer.naming == Naming::ItsMetadata;
            if referrer.reference_lost && is_metadata {
                return Outcome::Lost(FindingCode::ReferenceLost);
            }
            if referrer.reference_lost
                && !referrer.named_elsewhere
                && referrer.loss.metadata != MetadataState::Stands
            {
                return match look.sources.problem_for(deletion.told) {
                    Some(SourceProblem::Lost(code)) => Outcome::Lost(code),
                    _ => Outcome::Report(FindingCode::ReferenceLost),
                };
            }
            wanted(deletion, look, now, verdict)
        }
    }
}

fn is_needed_whatever_the_cause(referrer: &Referrer<'_>) -> bool {
    referrer.class >= Class::Resting && referrer.loss.metadata == MetadataState::Stands
}

/// Somebody needs it: what can be copied, and whether it may be now.
fn wanted(deletion: &Deletion, look: &Look<'_>, now: Timestamp, verdict: &mut Verdict) -> Outcome {
    // Once in 24 hours is about rules that take the same key again and again; a person's second mistake is put right at once.
    if deletion.cause == Cause::Lifecycle
        && let Some(free) = look.sources.restored_within_a_day(now)
    {
        return Outcome::Later {
            not_before: free,
            why: LaterReason::OncePerDay,
        };
    }
    let permit = |source| {
        Permit::granted(
            deletion.location.clone(),
            source,
            look.rule.map(str::to_owned),
            look.storage_class.map(str::to_owned),
        )
    };
    if let Some(problem) = look.sources.problem_for(deletion.told) {
        return match problem {
            SourceProblem::Lost(code) => Outcome::Lost(code),
            SourceProblem::Report(code) => {
                if let Some(about) = &verdict.decided_by {
                    verdict.findings.push((code, about.clone()));
                }
                Outcome::Report(code)
            }
            SourceProblem::Archived { asked } => {
                if let Some(about) = &verdict.decided_by {
                    verdict.findings.push((FindingCode::Archived, about.clone()));
                }
                if look.protect == Protect::Report {
                    return Outcome::Report(FindingCode::ReportOnly);
                }
                let ask = look.sources.chosen().filter(|_| !asked).map(permit);
                Outcome::Later {
                    not_before: now,
                    why: LaterReason::Thaw(ask.map(Box::new)),
                }
            }
        };
    }
    if look.protect == Protect::Report {
        return Outcome::Report(FindingCode::ReportOnly);
    }
    match look.sources.chosen() {
        Some(source) => Outcome::Restore(permit(source)),
        None => Outcome::Report(FindingCode::NeverThere),
    }
}
