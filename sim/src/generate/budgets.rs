//! What a share of the histories have besides: a budget of bytes that is spent soon.

use crate::dice::Dice;
use crate::scenario::Scenario;

/// So many in a thousand histories have one.
const SHARE: u32 = 100;

/// Adds to a scenario what its seed says.
pub(super) fn add(scenario: &mut Scenario) {
    let mut dice = Dice::for_purpose(scenario.seed, 6);
    // A budget is one Stayput's own.
    if dice.per_mille(SHARE) && !scenario.world.second_guard {
        // Files of these histories are some thousand bytes long.
        scenario.world.bytes_per_day = dice.pick(&[5_000, 20_000, 60_000]).copied();
    }
}
