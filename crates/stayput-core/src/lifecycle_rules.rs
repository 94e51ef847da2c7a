//! What a bucket's lifecycle rules do to one object: which rule a marker fits, when a copy would be taken again,
//! until when a hidden version stays, and everything that is still to come.
//!
//! One evaluator, [`BucketRules::effects`]; what verdicts ask are questions to it.

use std::time::Duration;

use s3_documents::bucket::Versioning;
use s3_documents::lifecycle::{LifecycleConfiguration, LifecycleRule, Tag};

use crate::extent::Extent;
use crate::timestamp::Timestamp;

mod effect;
mod filter;
mod storage_class;

pub(crate) use effect::NearRules;
pub use effect::{Action, BucketRules, Effect, RuledVersion, VersionPlace, When, days_not_due_yet};
pub use filter::NotKnown;
pub(crate) use filter::reaches_into;
pub use storage_class::{is_of_s3, is_readable};

const DAY: Duration = Duration::from_secs(86_400);

/// An object, as verdicts know it.
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

impl<'o> RuledObject<'o> {
    fn version(self) -> RuledVersion<'o> {
        RuledVersion {
            size: Extent::Exact(self.size),
            written: Some(self.written),
            tags: self.tags,
            ..RuledVersion::named(self.key)
        }
    }
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

/// The rule that hides the object first, and the midnight from which it does.
pub fn hides<'r>(
    rules: &'r LifecycleConfiguration,
    object: RuledObject<'_>,
) -> Option<(&'r LifecycleRule, Timestamp)> {
    let mut effects = Vec::new();
    BucketRules::new(rules, Versioning::Enabled, object.written).effects(&object.version(), &mut effects);
    let first = effects
        .iter()
        .find(|effect| effect.action == Action::Hide && effect.depends_on.is_none())?;
    // A marker is dated 00:00 of its day, so that of a dated rule can be older than what it hides: from its date on.
    let from = match first.when {
        When::Date(date) => date,
        When::Days(_) => first.at?,
    };
    Some((rules.rules.get(first.rule)?, from))
}

/// The rule that surely moves the object to a class in which no job can read it, and the midnight from which it does.
pub fn archives<'r>(
    rules: &'r LifecycleConfiguration,
    object: RuledObject<'_>,
) -> Option<(&'r LifecycleRule, Timestamp)> {
    let mut effects = Vec::new();
    BucketRules::new(rules, Versioning::Enabled, object.written).effects(&object.version(), &mut effects);
    let first = effects.iter().find(|effect| match effect.action {
        Action::Transition { storage_class } => {
            is_readable(storage_class) == Some(false) && effect.depends_on.is_none()
        }
        _ => false,
    })?;
    Some((rules.rules.get(first.rule)?, first.at?))
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
/// Rules that keep a number of newer versions are read as if they kept none, and those that ask for tags that aren't known as if they
/// fitted: the deadline is never too late.
pub fn purges(
    rules: &LifecycleConfiguration,
    object: RuledObject<'_>,
    since: Timestamp,
) -> Option<Timestamp> {
    BucketRules::new(rules, Versioning::Enabled, since)
        .purge(&object.version(), Some(since), None)?
        .at
}
