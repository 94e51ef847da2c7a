//! The verdict on a needed object that is visible, but was moved to an archive, where no job can read it.

use s3_documents::bucket::Versioning;

use crate::cause::Cause;
use crate::class::Class;
use crate::location::ObjectLocation;
use crate::report::finding::FindingCode;
use crate::restoring::Permit;
use crate::root::Protect;
use crate::thaw::Readability;
use crate::timestamp::Timestamp;
use crate::verdict::{Basis, Incident, LaterReason, LeaveReason, Outcome, Sources, Verdict};

/// Beyond so many copies a rule that takes what is forgotten is believed.
const TIMES_FOR_THE_FORGOTTEN: u32 = 2;

/// Who needs an object most.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NeededBy {
    /// The JobManager that recovers from an HA store, whose object it is.
    HaStore,
    /// A snapshot that stands.
    Snapshot {
        /// Its `_metadata`.
        metadata: ObjectLocation,
        /// Its class now.
        class: Class,
    },
}

/// A visible object in an archive, and what is known of it.
#[derive(Clone, Debug)]
pub struct Archived<'c> {
    /// Which object.
    pub location: ObjectLocation,
    /// Who needs it most.
    pub needed_by: NeededBy,
    /// The version that is visible, and the bucket's versioning.
    pub sources: Sources<'c>,
    /// How far to go for its root.
    pub protect: Protect,
    /// What befalls objects here is intended.
    pub released: bool,
    /// The storage class of copies here; `None`: STANDARD.
    pub storage_class: Option<&'c str>,
    /// The rule that moved it, where one is known.
    pub rule: Option<&'c str>,
    /// A rule that would move the copy within seven days.
    pub rule_takes_copies: bool,
}

/// The verdict. Pure: the same arguments give the same answer.
///
/// The class decides as it does where a rule hid an object. Nobody needs to be asked who did it: what is needed is of no use to anybody in an archive.
pub fn judge_archived(archived: &Archived<'_>, now: Timestamp) -> Verdict {
    let (basis, class, decided_by) = match &archived.needed_by {
        NeededBy::HaStore => (Basis::HaObject, None, None),
        NeededBy::Snapshot { metadata, class } => (Basis::Referenced, Some(*class), Some(metadata.clone())),
    };
    let cause = archived.rule.map_or(Cause::Unknown, |_| Cause::Lifecycle);
    let left = |reason| Verdict {
        incident: Incident::Archival,
        ..Verdict::left(archived.location.clone(), reason, basis, class, cause.clone())
    };
    if archived.released {
        return left(LeaveReason::Released);
    }
    if class == Some(Class::Spare) {
        return left(LeaveReason::Spare);
    }
    let about = decided_by.clone().unwrap_or_else(|| archived.location.clone());
    let mut findings = vec![FindingCode::ArchivedInPlace];
    let outcome = outcome(archived, class, now, &mut findings);
    Verdict {
        location: archived.location.clone(),
        incident: Incident::Archival,
        outcome,
        findings: findings.into_iter().map(|code| (code, about.clone())).collect(),
        basis,
        class,
        cause,
        decided_by,
    }
}

fn outcome(
    archived: &Archived<'_>,
    class: Option<Class>,
    now: Timestamp,
    findings: &mut Vec<FindingCode>,
) -> Outcome {
    let sources = &archived.sources;
    let told = Outcome::Report(FindingCode::ArchivedInPlace);
    let again = sources.restored_before();
    if class == Some(Class::Dormant) {
        if archived.protect != Protect::All {
            return told;
        }
        if again >= TIMES_FOR_THE_FORGOTTEN {
            return Outcome::Report(FindingCode::Held);
        }
    }
    // Where versions aren't kept, a copy would go over the only one.
    let (Versioning::Enabled, Some(candidate), Some(source)) =
        (sources.versioning, sources.candidate, sources.chosen())
    else {
        return told;
    };
    if archived.protect == Protect::Report {
        return Outcome::Report(FindingCode::ReportOnly);
    }
    if let Some(free) = sources.restored_within_a_day(now) {
        return Outcome::Later {
            not_before: free,
            why: LaterReason::OncePerDay,
        };
    }
    if again >= 1 {
        findings.push(FindingCode::RepeatOffence);
    } else if archived.rule_takes_copies {
        findings.push(FindingCode::RuleTakesCopies);
    }
    let permit = || {
        let (rule, storage_class) = (
            archived.rule.map(str::to_owned),
            archived.storage_class.map(str::to_owned),
        );
        Permit::granted(archived.location.clone(), source, rule, storage_class).onto_its_source()
    };
    match candidate.readability {
        Readability::Now => Outcome::Restore(permit()),
        Readability::Thawing => thaw(None, now),
        Readability::Archived => thaw(Some(permit()), now),
    }
}

fn thaw(permit: Option<Permit>, now: Timestamp) -> Outcome {
    Outcome::Later {
        not_before: now,
        why: LaterReason::Thaw(permit.map(Box::new)),
    }
}
