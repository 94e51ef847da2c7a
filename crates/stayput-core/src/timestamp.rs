//! Points in time and spans, in milliseconds, as S3 and Flink count them.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A point in time: milliseconds since 1970-01-01T00:00:00Z. Shown as RFC 3339 in UTC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Timestamp(i64);

/// The text isn't a point in time in RFC 3339.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no point in time: expected RFC 3339, such as 2026-11-29T00:00:00Z")]
pub struct NotATimestamp(pub String);

const MILLIS_PER_DAY: i64 = 86_400_000;

impl Timestamp {
    /// From milliseconds since the epoch; may be negative.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the epoch.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Reads RFC 3339 text with any offset, to the millisecond.
    pub fn parse(text: &str) -> Result<Self, NotATimestamp> {
        let parsed = OffsetDateTime::parse(text, &Rfc3339).map_err(|_| NotATimestamp(text.to_owned()))?;
        i64::try_from(parsed.unix_timestamp_nanos().div_euclid(1_000_000))
            .map(Self)
            .map_err(|_| NotATimestamp(text.to_owned()))
    }

    /// How long after `earlier` this is; zero if it isn't after it.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// This long after; saturates at the end of time.
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        Self(
            self.0
                .saturating_add(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)),
        )
    }

    /// This long before; saturates at the beginning of time.
    #[must_use]
    pub fn minus(self, span: Duration) -> Self {
        Self(
            self.0
                .saturating_sub(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)),
        )
    }

    /// Midnight UTC at the beginning of this day: where S3 puts the markers of lifecycle rules.
    #[must_use]
    pub fn midnight(self) -> Self {
        Self(self.0.div_euclid(MILLIS_PER_DAY).saturating_mul(MILLIS_PER_DAY))
    }

    /// The day in UTC, such as `2026-11-29`, for people.
    pub fn day(self) -> String {
        let mut text = self.to_string();
        if let Some(end) = text.find('T') {
            text.truncate(end);
        }
        text
    }

    /// Whether this is midnight UTC exactly.
    pub fn is_midnight(self) -> bool {
        self.0.rem_euclid(MILLIS_PER_DAY) == 0
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = i128::from(self.0) * 1_000_000;
        match OffsetDateTime::from_unix_timestamp_nanos(nanos)
            .ok()
            .and_then(|t| t.format(&Rfc3339).ok())
        {
            Some(text) => f.write_str(&text),
            None => write!(f, "{} ms since 1970", self.0),
        }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_milliseconds_are_inverses() {
        let t = Timestamp::parse("2026-11-28T10:06:00.250+00:00").unwrap();
        assert_eq!(t.to_string(), "2026-11-28T10:06:00.25Z");
        assert_eq!(Timestamp::parse(&t.to_string()).unwrap(), t);
        assert!(Timestamp::parse("yesterday").is_err());
    }

    #[test]
    fn midnight_is_that_of_utc_also_before_the_epoch() {
        let t = Timestamp::parse("2026-11-28T10:06:00Z").unwrap();
        assert_eq!(t.midnight().to_string(), "2026-11-28T00:00:00Z");
        assert!(t.midnight().is_midnight() && !t.is_midnight());
        assert_eq!(Timestamp::from_millis(-1).midnight().millis(), -MILLIS_PER_DAY);
    }
}
