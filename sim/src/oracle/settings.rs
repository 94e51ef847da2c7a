//! What the settings said at a time. What the function was told under other settings than today's, nobody asks it to know.

use super::{Need, Oracle, Scene, ToldAs};
use crate::clock::Millis;
use crate::scenario::{Change, Telling, Unhides, World};
use crate::store::{Hand, Hiding};

/// What the settings say since some time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    since: Millis,
    /// The role of the jobs.
    named: bool,
    /// A root for savepoints.
    savepoints: bool,
    pub(super) unhides: Unhides,
}

impl Settings {
    /// As a history begins.
    pub(super) fn of(world: &World) -> Self {
        Self {
            since: 0,
            named: world.telling != Telling::NoPrincipals,
            savepoints: true,
            unhides: world.unhides,
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
            Change::Principals(named) => settings.named = named,
            Change::Savepoints(watched) => settings.savepoints = watched,
            Change::Acting(_) | Change::Settle(_) | Change::Code => return,
        }
        self.settings.push(settings);
    }

    /// What they say now.
    pub(super) fn settings_now(&self) -> Settings {
        self.settings.last().copied().unwrap_or(Settings::of(self.world))
    }

    /// Whether the settings name where its snapshot lies.
    pub(super) fn is_watched(&self, need: &Need<'_>) -> bool {
        self.settings_now().savepoints || !need.snapshot.metadata.starts_with("sp/")
    }

    /// Whether a savepoint's file was hidden while the settings had no root for it, and was gone for good before a sweep could see that.
    pub(super) fn went_unwatched(
        &self,
        scene: &Scene<'_>,
        need: &Need<'_>,
        key: &str,
        hiding: &Hiding,
    ) -> bool {
        let then = self.settings.iter().rposition(|s| s.since <= hiding.at);
        let unwatched =
            then.filter(|n| !self.settings[*n].savepoints && need.snapshot.metadata.starts_with("sp/"));
        let (Some(then), Some(purged)) = (unwatched, scene.store.purged_at(key)) else {
            return false;
        };
        let watched = self.settings[then..].iter().find(|s| s.savepoints);
        watched.is_none_or(|s| !self.ledger.swept_between(s.since, purged))
    }

    /// Whether some settings between its hiding and the answer named the role of the jobs, and that role hid it.
    pub(super) fn may_be_told_as_flink(&self, hiding: &Hiding) -> bool {
        let tells = self.world.telling != Telling::EventBridge && self.settings.iter().any(|s| s.named);
        tells && matches!(hiding.by, Hand::Flink(_) | Hand::PersonWithFlinksRole)
    }

    /// Who messages say hid a key, as far as the settings told people apart from when that happened until the message was answered for good.
    pub(super) fn told_as(&self, hiding: &Hiding) -> ToldAs {
        let answered = self.ledger.answered_at(hiding.event).unwrap_or(Millis::MAX);
        let (mut named, mut watched) = (true, true);
        for (n, settings) in self.settings.iter().enumerate() {
            let until = self.settings.get(n + 1).map_or(Millis::MAX, |next| next.since);
            if settings.since <= answered && until > hiding.at {
                named &= settings.named;
                watched &= settings.savepoints;
            }
        }
        let tells = self.world.telling != Telling::EventBridge && named && watched;
        match hiding.by {
            Hand::Rule => ToldAs::Rule,
            Hand::Person if tells => ToldAs::Foreign,
            Hand::Flink(_) | Hand::PersonWithFlinksRole if tells => ToldAs::Flink,
            // The function removes markers, and lays none.
            Hand::Person | Hand::Flink(_) | Hand::PersonWithFlinksRole | Hand::Guard => ToldAs::Nobody,
        }
    }
}
