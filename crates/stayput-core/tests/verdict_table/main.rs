//! The verdict table of the design, one test per cell, named after what it says.

use std::time::Duration;

use s3_documents::bucket::Versioning;
use stayput_core::catalogue::{Catalogue, Naming};
use stayput_core::cause::Cause;
use stayput_core::class::Class;
use stayput_core::extent::Extent;
use stayput_core::location::ObjectLocation;
use stayput_core::loss::{DirectoryUse, Loss, MetadataState, MissingObject};
use stayput_core::report::finding::FindingCode;
use stayput_core::root::Protect;
use stayput_core::thaw::Readability;
use stayput_core::timestamp::Timestamp;
use stayput_core::verdict::{
    Candidate, Deletion, Evidence, LaterReason, LeaveReason, Look, Outcome, Policy, Proof, Referrer, Sources,
    Taken, Told, Verdict, Why, judge,
};
use stayput_core::version::{KeyHistory, VersionEntry, VersionId, VersionKind};

mod flink;
mod ha;
mod never;
mod rules;
mod sources;
mod strangers;
mod unknown;

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
    told_as_a_whole: bool,
    left_to_flink: bool,
    reference_lost: bool,
    named_elsewhere: bool,
    mendable: bool,
    loss: Loss,
    told: Told,
    visible: Option<bool>,
    protect: Protect,
    readability: Option<Readability>,
    released: bool,
    versioning: Versioning,
    history: KeyHistory,
    fits: bool,
    on_its_way_until: Option<Timestamp>,
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
        told_as_a_whole: false,
        left_to_flink: false,
        reference_lost: false,
        named_elsewhere: false,
        mendable: false,
        loss,
        told: Told {
            deleted: true,
            purged: false,
        },
        visible: None,
        protect: Protect::Default,
        readability: None,
        released: false,
        versioning: Versioning::Enabled,
        history: history(100, "STANDARD"),
        fits: true,
        on_its_way_until: None,
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
            told_as_a_whole: self.told_as_a_whole,
            left_to_flink: self.left_to_flink,
            reference_lost: self.reference_lost,
            named_elsewhere: self.named_elsewhere,
            mendable: self.mendable,
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
                readability: (self.readability)
                    .unwrap_or_else(|| Readability::of_class(version.storage_class())),
            });
        let look = Look {
            visible: self.visible,
            sources: Sources {
                versioning: self.versioning,
                history: &self.history,
                candidate,
                on_its_way_until: self.on_its_way_until,
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
            on_its_way_until: None,
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
        told_as_a_whole: false,
        left_to_flink: false,
        reference_lost: false,
        named_elsewhere: false,
        mendable: false,
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
