//! The settings of a deployment.

use std::time::Duration;

use stayput_core::cause::Principals;
use stayput_core::metadata_limit::MetadataLimit;
use stayput_core::root::{Root, RootKind, Roots, Strategy};
use stayput_core::timestamp::Timestamp;
use stayput_core::verdict::Policy;
use stayput_guard::mandate::{Mandate, SIDECARS_FROM};

use super::{FLINK, OURS, REPLICATION};
use crate::actors::{LOG, OUTPUT, POINTERS};
use crate::clock::BEGINNING;
use crate::scenario::{Layout, Named, Unhides, World};
use crate::store::BUCKET;

/// A role that nobody in this world has.
const ANOTHERS: &str = "AROABATCH";

/// What of the settings changes from one deployment to the next, besides what the world says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    /// Which role they say that the jobs have.
    pub(super) named: Named,
    /// Whether they have a root for savepoints.
    pub(super) savepoints: bool,
    /// Whether they have a root for checkpoints.
    pub(super) checkpoints: bool,
}

impl Settings {
    /// As a history begins.
    pub(super) fn of(world: &World) -> Self {
        Self {
            named: Named::in_a_world(world.telling),
            savepoints: true,
            checkpoints: true,
        }
    }

    fn roots(self, world: &World) -> Roots {
        let root = |prefix: &str, kind, entropy| {
            let mut root = Root::new(&format!("s3://{BUCKET}/{prefix}"), kind, entropy)
                .unwrap_or_else(|e| unreachable!("a root of the simulation: {e}"));
            root.strategy = match (world.unhides, kind) {
                (Unhides::Everywhere, _) | (Unhides::Checkpoints, RootKind::Checkpoints) => Strategy::Unhide,
                (Unhides::Checkpoints | Unhides::Nowhere, _) => Strategy::Copy,
            };
            root
        };
        let mut roots = Vec::new();
        if self.savepoints {
            roots.push(root("sp/", RootKind::Savepoints, None));
        }
        if self.checkpoints {
            roots.push(if world.jobs.iter().any(|j| j.entropy) {
                root("_entropy_/cp/", RootKind::Checkpoints, Some("_entropy_"))
            } else {
                root("cp/", RootKind::Checkpoints, None)
            });
        }
        if world.jobs.iter().any(|j| j.ha) {
            roots.push(root(POINTERS, RootKind::Ha, None));
        }
        if world.jobs.iter().any(|j| j.layout == Layout::Changelog) {
            roots.push(root(LOG, RootKind::Dstl, None));
        }
        if world.jobs.iter().any(|j| j.sink.is_some()) {
            roots.push(root(OUTPUT, RootKind::Sink, None));
        }
        Roots::new(roots)
    }

    /// What the guard is told to do by them.
    pub(super) fn mandate(self, world: &World) -> Mandate {
        let flink: &[&str] = match (self.named, world.replication) {
            (Named::Theirs, None) => &[FLINK],
            (Named::Theirs, Some(_)) => &[FLINK, REPLICATION],
            (Named::Anothers, _) => &[ANOTHERS],
            (Named::None, _) => &[],
        };
        Mandate {
            roots: self.roots(world),
            control: None,
            principals: Principals {
                flink: flink.iter().map(|role| (*role).to_owned()).collect(),
                ours: vec![OURS.to_owned()],
            },
            policy: Policy {
                settle: Duration::from_secs(300),
                dormant_after: Duration::from_secs(90 * 86_400),
            },
            catalogue_max_age: Duration::from_secs(300),
            metadata_limit: MetadataLimit::of_settings(1 << 24),
            sidecars_from: if world.sidecars { 1 } else { SIDECARS_FROM },
            protect_since: world
                .installed
                .map(|after| Timestamp::from_millis(BEGINNING + after)),
            objects_per_day: world.objects_per_day,
            bytes_per_day: world.bytes_per_day.unwrap_or(1 << 40),
        }
    }
}
