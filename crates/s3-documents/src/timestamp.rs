//! Times as S3 writes them in JSON: RFC 3339, with or without fractions of a second.

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{self, Serialize, Serializer};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Reads an RFC 3339 time such as `2026-03-14T09:26:53.589Z` or `2026-07-20T09:48:24+00:00`.
///
/// The answer is in milliseconds since the Unix epoch; digits below a millisecond are cut off towards
/// the past. `None` if the text is no such time. Years 0 to 9999.
#[must_use]
pub fn parse_timestamp(text: &str) -> Option<i64> {
    let at = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    // The range of years keeps both terms far from the ends of i64.
    Some(at.unix_timestamp() * 1000 + i64::from(at.millisecond()))
}

/// For `#[serde(deserialize_with)]`: a required time.
pub(crate) fn required<'de, D: Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
    Time::deserialize(from).map(|Time(at)| at)
}

/// For `#[serde(default, deserialize_with)]`: a time that may be missing or null, but not something else.
pub(crate) fn optional<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    Ok(Option::deserialize(from)?.map(|Time(at)| at))
}

/// A time in milliseconds since the epoch, UTC, that is read and written as RFC 3339.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Time(pub(crate) i64);

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let text = OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000_000)
            .ok()
            .and_then(|at| at.format(&Rfc3339).ok());
        match text {
            Some(text) => to.serialize_str(&text),
            None => Err(ser::Error::custom(format!(
                "{} ms since 1970 is no time of the years 0 to 9999",
                self.0
            ))),
        }
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_str(Read).map(Time)
    }
}

struct Read;

impl Visitor<'_> for Read {
    type Value = i64;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an RFC 3339 time such as 2026-03-14T09:26:53Z")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<i64, E> {
        parse_timestamp(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

#[cfg(test)]
mod tests {
    use super::parse_timestamp;

    #[test]
    fn all_spellings_of_one_moment_are_equal() {
        for text in [
            "2026-03-14T09:26:53.589Z",
            "2026-03-14T09:26:53.589999+00:00",
            "2026-03-14T10:26:53.589+01:00",
        ] {
            assert_eq!(parse_timestamp(text), Some(1_773_480_413_589), "{text}");
        }
        assert_eq!(parse_timestamp("1969-12-31T23:59:59.999Z"), Some(-1));
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "yesterday",
            "1773480413",
            "2026-03-14",
            "2026-02-30T00:00:00Z",
            "2026-03-14 09:26:53",
        ] {
            assert_eq!(parse_timestamp(text), None, "{text}");
        }
    }
}
