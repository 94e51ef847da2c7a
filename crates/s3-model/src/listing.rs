//! ListObjectsV2 and ListObjectVersions over the contents of a bucket.

use std::ops::Bound;

use stayput_guard::port::{ListedObject, Listing, VersionListing, VersionsOf};

use crate::object::StoredVersion;
use crate::world::Contents;

/// How many rows and common prefixes together S3 puts on one page.
pub(crate) const PAGE: usize = 1000;

/// Requests that so many items take: an empty answer is a page too.
pub(crate) fn pages_of(items: usize) -> u32 {
    u32::try_from(items.div_ceil(PAGE).max(1)).unwrap_or(u32::MAX)
}

/// The common prefix that a key is rolled up into: up to and with the first `/` after the prefix.
pub(crate) fn roll_up<'k>(key: &'k str, prefix: &str) -> Option<&'k str> {
    let slash = key.get(prefix.len()..)?.find('/')?;
    key.get(..=prefix.len() + slash)
}

impl Contents {
    /// Calls `see` with every key that begins with the prefix and comes after `after`. It says whether to go on, and may name a common prefix
    /// whose other keys are passed over.
    pub(crate) fn walk<'s>(
        &'s self,
        prefix: &str,
        after: Option<&str>,
        mut see: impl FnMut(&'s str, &'s [StoredVersion]) -> Step<'s>,
    ) {
        let mut from = match after {
            Some(after) if after >= prefix => Bound::Excluded(after.to_owned()),
            _ => Bound::Included(prefix.to_owned()),
        };
        loop {
            let mut over = None;
            let range = self
                .keys
                .range::<str, _>((from.as_ref().map(String::as_str), Bound::Unbounded));
            for (key, stack) in range.take_while(|(key, _)| key.starts_with(prefix)) {
                match see(key, stack) {
                    Step::Next => {}
                    Step::Over(common) => {
                        over = Some(common);
                        break;
                    }
                    Step::Stop => return,
                }
            }
            match over {
                // What follows every key below `a/` is `a0`: 0 is the character after the slash.
                Some(common) => {
                    from = Bound::Included(format!("{}0", common.strip_suffix('/').unwrap_or(common)));
                }
                None => return,
            }
        }
    }

    /// The visible objects.
    pub(crate) fn visible(&self, prefix: &str, by_directory: bool) -> Listing {
        let mut listing = Listing::default();
        self.walk(prefix, None, |key, stack| {
            let Some(StoredVersion {
                object: Some(object),
                last_modified,
                ..
            }) = stack.last()
            else {
                return Step::Next;
            };
            if by_directory && let Some(common) = roll_up(key, prefix) {
                listing.prefixes.push(common.to_owned());
                return Step::Over(common);
            }
            listing.objects.push(ListedObject {
                key: key.to_owned(),
                size: object.content.len(),
                etag: object.etag.clone(),
                last_modified: *last_modified,
                storage_class: object.storage_class.clone().filter(|c| c != "STANDARD"),
            });
            Step::Next
        });
        listing
    }

    /// Versions and markers. A common prefix that isn't after the key-marker isn't listed again, as when S3 goes on after a page that ended with it.
    pub(crate) fn versions(&self, of: &VersionsOf<'_>) -> VersionListing {
        let limit = of.pages.map_or(usize::MAX, |pages| {
            usize::try_from(pages).unwrap_or(usize::MAX).saturating_mul(PAGE)
        });
        let mut listing = VersionListing::default();
        self.walk(of.prefix, of.after_key, |key, stack| {
            if of.by_directory
                && let Some(common) = roll_up(key, of.prefix)
            {
                if of.after_key.is_some_and(|after| common <= after) {
                    return Step::Over(common);
                }
                if listing.entries.len() + listing.prefixes.len() >= limit {
                    listing.truncated = true;
                    return Step::Stop;
                }
                listing.prefixes.push(common.to_owned());
                return Step::Over(common);
            }
            for (depth, version) in stack.iter().rev().enumerate() {
                if listing.entries.len() + listing.prefixes.len() >= limit {
                    listing.truncated = true;
                    return Step::Stop;
                }
                listing.entries.push(version.row(key, depth == 0));
            }
            Step::Next
        });
        listing
    }
}

/// What comes after a key.
pub(crate) enum Step<'s> {
    Next,
    Over(&'s str),
    Stop,
}
