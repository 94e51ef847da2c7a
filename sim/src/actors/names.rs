//! Names that nobody chooses.

use crate::dice::Dice;

/// So many hex digits.
pub(super) fn hex(dice: &mut Dice, digits: usize) -> String {
    let mut text = String::new();
    while text.len() < digits {
        text.push_str(&format!("{:016x}", dice.any()));
    }
    text.truncate(digits);
    text
}

/// A UUID, as the file systems of Flink name files.
pub(super) fn uuid(dice: &mut Dice) -> String {
    let digits = hex(dice, 32);
    let parts = [
        &digits[..8],
        &digits[8..12],
        &digits[12..16],
        &digits[16..20],
        &digits[20..],
    ];
    parts.join("-")
}
