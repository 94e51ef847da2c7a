//! Archived versions: whether their bytes can be copied, and how they are brought back for a while.

use std::time::Duration;

use serde::Deserialize;

use crate::version::is_archive_class;

/// Whether the bytes of a version can be copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Readability {
    /// Now.
    #[default]
    Now,
    /// They are in an archive, and somebody has asked for them.
    Thawing,
    /// They are in an archive.
    Archived,
}

impl Readability {
    /// By the class of a listing alone, which doesn't tell what was thawed nor the archive tiers of Intelligent-Tiering.
    pub fn of_class(storage_class: Option<&str>) -> Self {
        if storage_class.is_some_and(is_archive_class) {
            Self::Archived
        } else {
            Self::Now
        }
    }

    /// By what HeadObject says: the class, `x-amz-archive-status` (Intelligent-Tiering: `ARCHIVE_ACCESS`, `DEEP_ARCHIVE_ACCESS`), and `x-amz-restore`
    /// (`ongoing-request="true"`, or `"false"` with an expiry-date once a thaw is done).
    pub fn of_head(storage_class: Option<&str>, archive_status: Option<&str>, restore: Option<&str>) -> Self {
        let restore = restore.unwrap_or_default();
        let archived = Self::of_class(storage_class) == Self::Archived || archive_status.is_some();
        if restore.contains(r#"ongoing-request="true""#) {
            Self::Thawing
        } else if archived && !restore.contains(r#"ongoing-request="false""#) {
            Self::Archived
        } else {
            Self::Now
        }
    }
}

/// How fast an archived version shall be readable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThawTier {
    /// Minutes, and dear. A deep archive doesn't have it: there it is as `Standard`.
    Expedited,
    /// Hours.
    #[default]
    Standard,
    /// Half a day to two days, and cheap.
    Bulk,
}

/// How Stayput asks for archived versions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThawOrder {
    /// How fast.
    pub tier: ThawTier,
    /// For how many days the bytes stay readable; at least 1. The copy must be made in that time.
    pub days: u16,
}

impl Default for ThawOrder {
    fn default() -> Self {
        Self {
            tier: ThawTier::Standard,
            days: 7,
        }
    }
}

impl ThawTier {
    /// The tier that is asked for: an archive of this class or status may not have this one.
    #[must_use]
    pub fn in_archive(self, is_deep: bool) -> Self {
        match self {
            Self::Expedited if is_deep => Self::Standard,
            tier => tier,
        }
    }

    /// The longest that S3 says it takes (its table of retrieval options).
    pub fn takes(self, is_deep: bool) -> Duration {
        let minutes = match (self.in_archive(is_deep), is_deep) {
            (Self::Expedited, _) => 5,
            (Self::Standard, false) => 5 * 60,
            (Self::Bulk, false) | (Self::Standard, true) => 12 * 60,
            (Self::Bulk, true) => 48 * 60,
        };
        Duration::from_secs(60 * minutes)
    }
}

/// Whether this class or archive status is a deep archive's.
pub fn is_deep(class_or_status: &str) -> bool {
    matches!(class_or_status, "DEEP_ARCHIVE" | "DEEP_ARCHIVE_ACCESS")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_head_says_tells_whether_the_bytes_can_be_copied() {
        use Readability::{Archived, Now, Thawing};
        const ONGOING: Option<&str> = Some(r#"ongoing-request="true""#);
        const DONE: Option<&str> =
            Some(r#"ongoing-request="false", expiry-date="Fri, 21 Dec 2026 00:00:00 GMT""#);
        let cases = [
            (None, None, None, Now),
            (Some("GLACIER_IR"), None, None, Now),
            (Some("GLACIER"), None, None, Archived),
            (Some("DEEP_ARCHIVE"), None, None, Archived),
            (Some("GLACIER"), None, ONGOING, Thawing),
            (Some("GLACIER"), None, DONE, Now),
            (Some("INTELLIGENT_TIERING"), None, None, Now),
            (
                Some("INTELLIGENT_TIERING"),
                Some("ARCHIVE_ACCESS"),
                None,
                Archived,
            ),
            (
                Some("INTELLIGENT_TIERING"),
                Some("DEEP_ARCHIVE_ACCESS"),
                ONGOING,
                Thawing,
            ),
        ];
        for (class, status, restore, expected) in cases {
            assert_eq!(
                Readability::of_head(class, status, restore),
                expected,
                "{class:?} {status:?} {restore:?}"
            );
        }
    }

    #[test]
    fn a_deep_archive_takes_longer_and_has_no_expedited_tier() {
        assert_eq!(ThawTier::Expedited.in_archive(true), ThawTier::Standard);
        assert_eq!(ThawTier::Expedited.in_archive(false), ThawTier::Expedited);
        for tier in [ThawTier::Expedited, ThawTier::Standard, ThawTier::Bulk] {
            assert!(tier.takes(false) < tier.takes(true), "{tier:?}");
        }
    }
}
