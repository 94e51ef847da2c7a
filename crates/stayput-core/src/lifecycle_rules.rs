//! What a bucket's lifecycle rules do to one object: which rule a marker fits, when a copy would be taken again,
//! and until when a hidden version stays.

use std::time::Duration;

use s3_documents::lifecycle::{Expiration, LifecycleConfiguration, LifecycleRule, Tag};

use crate::timestamp::Timestamp;

const DAY: Duration = Duration::from_secs(86_400);

/// An object, as rules see it.
#[derive(Clone, Copy, Debug)]
pub struct RuledObject<'o> {
    /// The key.
    pub key: &'o str,
    /// Length in bytes.
    pub size: u64,
    /// Last-Modified of its version.
    pub written: Timestamp,
    /// Its tags, where they are known; rules that ask for tags match nothing without.
    pub tags: Option<&'o [Tag]>,
}

/// The first midnight at which S3 may apply a number of days: they are added and the sum is rounded up to midnight UTC.
fn due(from: Timestamp, days: u32) -> Timestamp {
    let sum = from.plus(DAY.saturating_mul(days));
    if sum.is_midnight() {
        sum
    } else {
        sum.midnight().plus(DAY)
    }
}

fn matches(rule: &LifecycleRule, object: RuledObject<'_>) -> bool {
    let filter = &rule.filter;
    rule.enabled
        && object.key.starts_with(&filter.prefix)
        && filter.size_greater_than.is_none_or(|n| object.size > n)
        && filter.size_less_than.is_none_or(|n| object.size < n)
        && (filter.tags.is_empty()
            || object
                .tags
                .is_some_and(|have| filter.tags.iter().all(|t| have.contains(t))))
}

/// The rule that hides the object first, and the midnight from which it does.
pub fn hides<'r>(
    rules: &'r LifecycleConfiguration,
    object: RuledObject<'_>,
) -> Option<(&'r LifecycleRule, Timestamp)> {
    rules
        .rules
        .iter()
        .filter(|r| matches(r, object))
        .filter_map(|r| match r.expiration {
            Some(Expiration::Days(days)) => Some((r, due(object.written, days))),
            Some(Expiration::Date(millis)) => Some((r, Timestamp::from_millis(millis))),
            Some(Expiration::ExpiredObjectDeleteMarker) | None => None,
        })
        .min_by_key(|(_, from)| *from)
}

/// The rule that explains a marker at this time: it lies at midnight UTC and the object was old enough for it.
pub fn explains<'r>(
    rules: &'r LifecycleConfiguration,
    object: RuledObject<'_>,
    marker: Timestamp,
) -> Option<&'r LifecycleRule> {
    if !marker.is_midnight() {
        return None;
    }
    hides(rules, object)
        .filter(|(_, from)| *from <= marker)
        .map(|(rule, _)| rule)
}

/// From when on a version that became noncurrent at `since` may be purged; `None`: no rule purges it.
/// Rules that keep a number of newer versions are read as if they kept none: the deadline is never too late.
pub fn purges(
    rules: &LifecycleConfiguration,
    object: RuledObject<'_>,
    since: Timestamp,
) -> Option<Timestamp> {
    rules
        .rules
        .iter()
        .filter(|r| {
            // Without tags at hand a rule that asks for some might match: warn too early rather than too late.
            let unknown_tags = RuledObject {
                tags: Some(&r.filter.tags),
                ..object
            };
            matches(
                r,
                if object.tags.is_none() {
                    unknown_tags
                } else {
                    object
                },
            )
        })
        .filter_map(|r| {
            r.noncurrent_expiration
                .as_ref()
                .map(|n| due(since, n.noncurrent_days))
        })
        .min()
}
