//! What the settings said at a time. What the function was told under other settings than today's, nobody asks it to know.

use super::{Need, Oracle, Scene, ToldAs};
use crate::clock::Millis;
use crate::scenario::{Change, Named, Telling, Unhides, World};
use crate::store::{Hand, Hiding};

/// What the settings say since some time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    since: Millis,
    /// Which role the jobs have.
    named: Named,
    /// A root for savepoints.
    savepoints: bool,
    /// A root for checkpoints.
    checkpoints: bool,
    pub(super) unhides: Unhides,
}

impl Settings {
    /// As a history begins.
    pub(super) fn of(world: &World) -> Self {
        Self {
            since: 0,
            named: Named::in_a_world(world.telling),
            savepoints: true,
            checkpoints: true,
            unhides: world.unhides,
        }
    }

    /// Whether there is a root where this `_metadata` lies.
    fn watches(self, metadata: &str) -> bool {
        if metadata.starts_with("sp/") {
            self.savepoints
        } else {
            self.checkpoints
        }
    }
}

impl Oracle<'_> {
    /// The function was deployed again.
    pub(super) fn note_settings(&mut self, change: Change, now: Millis) {
        let mut settings = Settings {
            since: now,
            ..self.settings_now()
        };
        match change {
            Change::Unhides(unhides) => settings.unhides = unhides,
            Change::Principals(_) | Change::AnothersRole => settings.named = settings.named.changed(change),
            Change::Savepoints(watched) => settings.savepoints = watched,
            Change::Checkpoints(watched) => settings.checkpoints = watched,
            Change::Acting(_) | Change::Settle(_) | Change::Code => return,
        }
        self.settings.push(settings);
    }

    /// What they say now.
    pub(super) fn settings_now(&self) -> Settings {
        self.settings.last().copied().unwrap_or(Settings::of(self.world))
    }

    /// Whether the settings name where a `_metadata` lies.
    pub(super) fn is_watched(&self, metadata: &str) -> bool {
        self.settings_now().watches(metadata)
    }

    /// Whether a snapshot's file was hidden while the settings had no root for it, and was gone for good before a sweep could see that.
    pub(super) fn went_unwatched(
        &self,
        scene: &Scene<'_>,
        need: &Need<'_>,
        key: &str,
        hiding: &Hiding,
    ) -> bool {
        let then = self.settings.iter().rposition(|s| s.since <= hiding.at);
        let metadata = &need.snapshot.metadata;
        let unwatched = then.filter(|n| !self.settings[*n].watches(metadata));
        let (Some(then), Some(purged)) = (unwatched, scene.store.purged_at(key)) else {
            return false;
        };
        let watched = self.settings[then..].iter().find(|s| s.watches(metadata));
        watched.is_none_or(|s| !self.ledger.swept_between(s.since, purged))
    }

    /// Whether some settings between its hiding and the answer named the role of the jobs, and that role hid it.
    pub(super) fn may_be_told_as_flink(&self, hiding: &Hiding) -> bool {
        let tells = self.world.telling != Telling::EventBridge
            && self.settings.iter().any(|s| s.named == Named::Theirs);
        tells
            && matches!(
                hiding.by,
                Hand::Flink(_) | Hand::PersonWithFlinksRole | Hand::Replication
            )
    }

    /// Whether some settings since its hiding named another's role, and the role of the jobs hid it.
    pub(super) fn may_be_told_as_foreign(&self, hiding: &Hiding) -> bool {
        let mut since = self.settings.iter().enumerate().filter(|(n, _)| {
            let until = self.settings.get(n + 1).map_or(Millis::MAX, |next| next.since);
            until > hiding.at
        });
        self.world.telling != Telling::EventBridge && since.any(|(_, s)| s.named == Named::Anothers)
    }

    /// Who messages say hid a key, as far as the settings told people apart from when that happened until the message was answered for good.
    pub(super) fn told_as(&self, hiding: &Hiding) -> ToldAs {
        let answered = self.ledger.answered_at(hiding.event).unwrap_or(Millis::MAX);
        let mut named = Vec::new();
        let mut watched = true;
        for (n, settings) in self.settings.iter().enumerate() {
            let until = self.settings.get(n + 1).map_or(Millis::MAX, |next| next.since);
            if settings.since <= answered && until > hiding.at {
                named.push(settings.named);
                watched &= settings.savepoints && settings.checkpoints;
            }
        }
        let tells = self.world.telling != Telling::EventBridge && watched;
        let all = |these: Named| named.iter().all(|n| *n == these);
        match hiding.by {
            Hand::Rule => ToldAs::Rule,
            Hand::Person if tells && !named.contains(&Named::None) => ToldAs::Foreign,
            Hand::Flink(_) | Hand::PersonWithFlinksRole | Hand::Replication
                if tells && all(Named::Theirs) =>
            {
                ToldAs::Flink
            }
            // Whoever has a role that isn't named is a stranger.
            Hand::Flink(_) | Hand::PersonWithFlinksRole | Hand::Replication
                if tells && all(Named::Anothers) =>
            {
                ToldAs::Foreign
            }
            // The function removes markers, and lays none.
            Hand::Person | Hand::Flink(_) | Hand::PersonWithFlinksRole | Hand::Replication | Hand::Guard => {
                ToldAs::Nobody
            }
        }
    }
}
