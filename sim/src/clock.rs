//! Simulated time: milliseconds since 1970, as S3 and Flink count them.

/// A point in time or a span, in milliseconds.
pub type Millis = i64;

/// One second.
pub const SECOND: Millis = 1000;
/// One minute.
pub const MINUTE: Millis = 60 * SECOND;
/// One hour.
pub const HOUR: Millis = 60 * MINUTE;
/// One day.
pub const DAY: Millis = 24 * HOUR;

/// When every history begins: 2 November 2026, 10:00 UTC, a Monday.
pub const BEGINNING: Millis = 1_793_613_600_000;

/// Midnight UTC at the beginning of this day.
pub fn midnight(at: Millis) -> Millis {
    at - at.rem_euclid(DAY)
}

/// For people: day and time since the beginning, such as `day 3 14:05:09`.
pub fn shown(at: Millis) -> String {
    let since = at - midnight(BEGINNING);
    let (day, rest) = (since.div_euclid(DAY), since.rem_euclid(DAY));
    format!(
        "day {day} {:02}:{:02}:{:02}",
        rest / HOUR,
        rest % HOUR / MINUTE,
        rest % MINUTE / SECOND
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_from_the_midnight_before_the_beginning() {
        assert_eq!(shown(BEGINNING), "day 0 10:00:00");
        assert_eq!(
            shown(midnight(BEGINNING) + 3 * DAY + 61 * MINUTE),
            "day 3 01:01:00"
        );
        assert_eq!(midnight(BEGINNING) % DAY, 0);
    }
}
