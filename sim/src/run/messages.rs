//! Messages on their way from S3 to the function, the function's calls, and the oracle's looks at them.

use super::{Later, Run, scene};
use crate::clock::{BEGINNING, HOUR, MINUTE, Millis, SECOND};
use crate::dice::Dice;
use crate::function::{Called, Function};
use crate::store::{Hand, Happened};
use crate::trace::Lane;

/// Of so many in a thousand things that were thawed somebody deletes one while the function is at work.
const DELETED_WHEN_THAWED: u32 = 30;

impl Run<'_> {
    /// Sends the events that nobody has sent yet.
    pub(super) fn send(&mut self) {
        self.replicate_later();
        let delivery = self.scenario.world.delivery;
        let installed = self.installed_at();
        for event in self.store.take_events() {
            // Nobody had asked for messages yet.
            if event.at < installed {
                continue;
            }
            if let Happened::Hidden(_) = event.what {
                self.later(event.at + 72 * MINUTE, Later::Check);
                self.sent.push(event.clone());
                self.played.events += 1;
            }
            let mut dice = Dice::for_purpose(self.scenario.seed, 1_000_000 + event.number);
            if dice.per_mille(delivery.lost) {
                continue;
            }
            let copies = 1 + usize::from(dice.per_mille(delivery.doubled));
            for _ in 0..copies {
                let delay = if dice.per_mille(delivery.late) {
                    dice.between(10 * MINUTE, 6 * HOUR)
                } else {
                    dice.between(200, delivery.delay.max(300))
                };
                let at = event.at + delay;
                let functions = [&mut self.function].into_iter().chain(&mut self.second);
                let mut told = false;
                for function in functions {
                    told |= function.send(&event, at);
                }
                if told {
                    self.poll_at(at);
                }
            }
        }
    }

    pub(super) fn poll_at(&mut self, at: Millis) {
        // Messages of the same seconds are taken together.
        let at = (at / SECOND + 1) * SECOND;
        let again = self
            .agenda
            .range((at, 0)..(at + 1, 0))
            .any(|(_, what)| matches!(what, Later::Poll));
        if !again {
            self.later(at, Later::Poll);
        }
    }

    /// A deletion that is planned for the next seconds and happens while the function is at work instead.
    pub(super) fn race(&mut self) -> Option<(String, Hand)> {
        if !self.dice.per_mille(self.scenario.world.faults.racing) {
            return None;
        }
        let soon = self.now() + 30 * SECOND;
        let place = self
            .agenda
            .range(..(soon, 0))
            .find_map(|(place, what)| match what {
                Later::FlinkDeletes {
                    job,
                    incarnation,
                    key,
                } if self.origin.is_none()
                    && self.jobs.get(*job).is_some_and(|j| j.incarnation == *incarnation) =>
                {
                    Some((*place, key.clone(), Hand::Flink(*job)))
                }
                Later::PersonDeletes { key, by } => Some((*place, key.clone(), *by)),
                _ => None,
            });
        let (place, key, by) = place?;
        self.agenda.remove(&place);
        Some((key, by))
    }

    /// Somebody deletes what was thawed at the very moment at which the function copies it.
    fn race_for_thawed(&mut self) -> Option<(String, Hand)> {
        let key = self.function.told_of_thaw(self.now())?.to_owned();
        if !self.dice.per_mille(DELETED_WHEN_THAWED) || !self.store.is_visible(&key) {
            return None;
        }
        self.disturbed = true;
        self.happened("deletions of what was just thawed");
        Some((key, Hand::Person))
    }

    pub(super) fn poll(&mut self) {
        let race = self.race().or_else(|| self.race_for_thawed());
        let now = self.now();
        let mut key = race.as_ref().map(|(key, _)| key.clone());
        let mut raced = false;
        while let Some(called) = self.function.take_batch(now, &mut self.dice, key.take()) {
            raced |= !called.meanwhile.is_empty();
            self.called(called, race.as_ref().map(|(_, by)| *by));
        }
        // The call was over sooner, or there was none: it happens all the same.
        if let Some((key, by)) = race.filter(|_| !raced) {
            self.store.delete(&key, by);
        }
        // The other Stayput takes the same messages at the same time.
        if let Some(mut second) = self.second.take() {
            while let Some(called) = second.take_batch(now, &mut self.dice, None) {
                self.called(called, None);
                self.happened("calls of a second Stayput");
            }
            self.second = Some(second);
        }
        let next = [&self.function].into_iter().chain(&self.second);
        if let Some(next) = next.filter_map(Function::next_visible).min() {
            self.poll_at(next.max(now));
        }
    }

    fn installed_at(&self) -> Millis {
        let after = self.scenario.world.installed;
        after.map_or(0, |after| BEGINNING + after)
    }

    pub(super) fn sweep(&mut self) {
        if self.now() < self.installed_at() {
            return;
        }
        let called = self.function.sweep(&mut self.dice);
        self.called(called, None);
        if let Some(mut second) = self.second.take() {
            let called = second.sweep(&mut self.dice);
            self.called(called, None);
            self.second = Some(second);
        }
    }

    pub(super) fn called(&mut self, mut called: Called, race: Option<Hand>) {
        self.played.calls += 1;
        let world = &self.scenario.world;
        let is_of_bytes = world.bytes_per_day.is_some() && world.objects_per_day >= 10_000;
        if is_of_bytes && called.told.iter().any(|t| t.code == "budget_spent") {
            self.happened("calls that a budget of bytes stopped");
        }
        for (key, marker, visible) in &called.meanwhile {
            if let Some(by) = race {
                self.note(Lane::People, || {
                    format!("{by:?} deletes {key} while the function is at work")
                });
                self.store.note_hidden(key, marker, by, *visible);
            }
        }
        for (key, version) in &called.copied {
            // What was visible in an archive is copied onto itself.
            let was_visible =
                self.store.hiding(key).is_none() || called.meanwhile.iter().any(|(k, _, v)| k == key && *v);
            if was_visible && self.store.archived_since(key, version).is_some() {
                called.repaired.push((key.clone(), version.clone()));
                self.happened("copies of what lay in an archive onto itself");
            }
            if self.store.is_visible(key) {
                self.store.note_restored(key);
                if self.scenario.world.own_copies_told {
                    self.store.tell_of_copy(key);
                    if self.scenario.world.created_told && key.ends_with("/_metadata") {
                        self.happened("copies of a _metadata of which the function is told itself");
                    }
                }
            }
        }
        called.copied.retain(|copy| !called.repaired.contains(copy));
        for (key, marker) in &called.markers_removed {
            if let Some(version) = self.store.note_marker_removed(key, marker) {
                called.unhidden.push((key.clone(), version));
            }
        }
        called.unhidden.sort();
        called.unhidden.dedup();
        for _ in 0..called.unhidden.len() {
            self.happened("objects that were un-hidden");
        }
        for (key, version) in &called.thaws {
            self.happened("thaws that were asked for");
            if let Some(ready) = self.store.thawed_at(key, version) {
                self.later(ready, Later::Thawed(key.clone(), version.clone()));
            }
        }
        let called = &called;
        self.played.trace.note_call(self.store.now(), called);
        let scene = scene(
            &self.store,
            &self.origin,
            &self.jobs,
            &self.savepoints,
            &self.function,
            self.disturbed,
            &self.cut_short,
        );
        let found = self.oracle.look_at_call(&scene, called);
        self.violations(found);
    }

    pub(super) fn check(&mut self) {
        let scene = scene(
            &self.store,
            &self.origin,
            &self.jobs,
            &self.savepoints,
            &self.function,
            self.disturbed,
            &self.cut_short,
        );
        let found = self.oracle.look_at_needs(&scene);
        self.violations(found);
    }
}
