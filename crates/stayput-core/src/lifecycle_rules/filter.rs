//! Whether a rule takes an object: yes, no, or perhaps, where something isn't known of the object.

use s3_documents::lifecycle::{LifecycleRule, RuleFilter, Tag};
use serde::Serialize;

use crate::extent::Extent;

/// What isn't known of an object or its bucket, and decides.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NotKnown {
    /// Its tags: no listing shows them.
    Tags,
    /// Its length.
    Size,
    /// Which minimum size of transitions the bucket has, see [`s3_documents::lifecycle::MinimumTransitionSize`].
    MinimumSize,
    /// Whether its version id is `null`, in a bucket whose versioning is suspended: then a marker replaces it for good.
    Version,
    /// How many newer noncurrent versions stand above it.
    NewerVersions,
}

/// Whether a rule takes an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fit {
    No,
    Yes,
    Perhaps(NotKnown),
}

impl Fit {
    /// Both hold. What rules it out wins; of two unknowns the first is named.
    pub(super) fn and(self, other: impl FnOnce() -> Self) -> Self {
        match self {
            Self::No => Self::No,
            Self::Yes => other(),
            Self::Perhaps(_) => match other() {
                Self::No => Self::No,
                Self::Yes | Self::Perhaps(_) => self,
            },
        }
    }

    /// `None`: no; else what it depends on.
    pub(super) fn depends_on(self) -> Option<Option<NotKnown>> {
        match self {
            Self::No => None,
            Self::Yes => Some(None),
            Self::Perhaps(why) => Some(Some(why)),
        }
    }
}

/// Whether a rule can take anything in or below a directory, as far as its prefix says.
pub(crate) fn reaches_into(rule: &LifecycleRule, directory: &str) -> bool {
    let prefix = rule.filter.prefix.as_str();
    directory.starts_with(prefix) || prefix.starts_with(directory)
}

/// What an enabled rule's filter says of an object.
pub(super) fn fit(rule: &LifecycleRule, key: &str, size: Extent, tags: Option<&[Tag]>) -> Fit {
    let filter = &rule.filter;
    if !rule.enabled || !key.starts_with(&filter.prefix) {
        return Fit::No;
    }
    fits_tags(filter, tags).and(|| fits_size(filter, size))
}

fn fits_tags(filter: &RuleFilter, tags: Option<&[Tag]>) -> Fit {
    match tags {
        _ if filter.tags.is_empty() => Fit::Yes,
        None => Fit::Perhaps(NotKnown::Tags),
        Some(have) if filter.tags.iter().all(|tag| have.contains(tag)) => Fit::Yes,
        Some(_) => Fit::No,
    }
}

fn fits_size(filter: &RuleFilter, size: Extent) -> Fit {
    let greater = filter.size_greater_than.map_or(Fit::Yes, |limit| match size {
        Extent::Exact(n) | Extent::AtLeast(n) if n > limit => Fit::Yes,
        Extent::Exact(_) => Fit::No,
        Extent::AtLeast(_) | Extent::Changelog(_) | Extent::Unknown => Fit::Perhaps(NotKnown::Size),
    });
    greater.and(|| {
        filter.size_less_than.map_or(Fit::Yes, |limit| match size {
            Extent::Exact(n) if n < limit => Fit::Yes,
            Extent::Exact(_) => Fit::No,
            Extent::AtLeast(n) if n >= limit => Fit::No,
            Extent::AtLeast(_) | Extent::Changelog(_) | Extent::Unknown => Fit::Perhaps(NotKnown::Size),
        })
    })
}
