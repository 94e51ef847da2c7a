//! Markers that the function removes: which, where, and whether what is visible again stays so.

use super::{LASTS, MARKERS, Oracle, Scene, Violation};
use crate::actors::rules;
use crate::clock::{DAY, Millis};
use crate::function::Called;
use crate::scenario::Unhides;

/// So long it must be left by rules.
const LEFT_FOR: Millis = 2 * DAY;

impl Oracle<'_> {
    /// What is wrong with the markers that a call removed.
    pub(super) fn look_at_markers(&self, scene: &Scene<'_>, called: &Called) -> Vec<Violation> {
        let mut found = Vec::new();
        for (key, marker) in &called.markers_removed {
            if marker == "null" {
                let what = format!("a marker of {key} without an id was removed");
                found.push(self.violation(scene, MARKERS, what));
            }
            if !self.asks_for_unhiding(key) {
                let what = format!("{key} lost its marker {marker}, and the settings ask for copies");
                found.push(self.violation(scene, MARKERS, what));
            }
        }
        for (key, version) in &called.unhidden {
            let hidden = scene.store.came_back_after(key).map(|h| h.at);
            let taken = rules::takes_from(&self.world.rules, scene.store, key, version, hidden);
            if let Some(from) = taken.filter(|from| *from < scene.store.now() + LEFT_FOR) {
                let hours = (from - scene.store.now()) / (DAY / 24);
                let what = format!("a rule would take {key} in {hours} hours");
                found.push(self.violation(scene, LASTS, what));
            }
        }
        found
    }

    fn asks_for_unhiding(&self, key: &str) -> bool {
        match self.settings_now().unhides {
            Unhides::Nowhere => false,
            Unhides::Everywhere => true,
            // With entropy a random part lies before the path.
            Unhides::Checkpoints => {
                key.starts_with("cp/") || key.get(4..).is_some_and(|k| k.starts_with("/cp/"))
            }
        }
    }
}
