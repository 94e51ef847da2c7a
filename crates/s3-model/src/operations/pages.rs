//! ListObjectsV2 and ListObjectVersions, page by page.

use stayput_core::timestamp::Timestamp;
use stayput_core::version::{VersionEntry, VersionId};

use super::{Operations, Page, PageItem};
use crate::error::ErrorCode;
use crate::listing::{PAGE, Step, roll_up};
use crate::world::Contents;

/// A visible object in a listing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listed {
    /// The key.
    pub key: String,
    /// Length in bytes.
    pub size: u64,
    /// The ETag, quotes included.
    pub etag: String,
    /// Last-Modified.
    pub last_modified: Timestamp,
    /// The storage class, which listings always say.
    pub storage_class: String,
}

impl Operations {
    /// ListObjectsV2: at most so many rows and common prefixes below a prefix, after a key; `by_directory`: with `/` as delimiter.
    ///
    /// # Errors
    /// S3's own: no such bucket.
    pub fn list(
        &self,
        prefix: &str,
        by_directory: bool,
        after: Option<&str>,
        at_most: usize,
    ) -> Result<Page<Listed>, ErrorCode> {
        self.request("ListObjectsV2", prefix, None, |contents, _| {
            let mut page = Pages::new(at_most);
            contents.walk(prefix, after, |key, stack| {
                let Some(object) = stack.last().and_then(|v| v.object.as_ref()) else {
                    return Step::Next;
                };
                if by_directory && let Some(common) = roll_up(key, prefix) {
                    return page.directory(common, after);
                }
                let last_modified = stack
                    .last()
                    .map_or(Timestamp::from_millis(0), |v| v.last_modified);
                page.row(key, None, || Listed {
                    key: key.to_owned(),
                    size: object.content.len(),
                    etag: object.etag.clone(),
                    last_modified,
                    storage_class: object
                        .storage_class
                        .clone()
                        .unwrap_or_else(|| "STANDARD".to_owned()),
                })
            });
            Ok(page.page)
        })
    }

    /// ListObjectVersions: at most so many rows and common prefixes below a prefix, after a key or after a version of it.
    ///
    /// # Errors
    /// S3's own: no such bucket.
    pub fn list_versions(
        &self,
        prefix: &str,
        by_directory: bool,
        after: Option<(&str, Option<&VersionId>)>,
        at_most: usize,
    ) -> Result<Page<VersionEntry>, ErrorCode> {
        self.request("ListObjectVersions", prefix, None, |contents, _| {
            let mut page = Pages::new(at_most);
            if let Some((key, Some(version))) = after {
                contents.rest_of_key(key, version, &mut page);
            }
            let after = after.map(|(key, _)| key);
            if page.page.next.is_some() {
                return Ok(page.page);
            }
            contents.walk(prefix, after, |key, stack| {
                if by_directory && let Some(common) = roll_up(key, prefix) {
                    return page.directory(common, after);
                }
                for (depth, version) in stack.iter().rev().enumerate() {
                    if let Step::Stop = page.row(key, Some(&version.id), || version.row(key, depth == 0)) {
                        return Step::Stop;
                    }
                }
                Step::Next
            });
            Ok(page.page)
        })
    }
}

impl Contents {
    /// The versions of a key below one of them, which was the last of the page before.
    fn rest_of_key(&self, key: &str, after: &VersionId, page: &mut Pages<VersionEntry>) {
        let rows = self.keys.get(key).into_iter().flatten().rev();
        for version in rows.skip_while(|v| v.id != *after).skip(1) {
            if let Step::Stop = page.row(key, Some(&version.id), || version.row(key, false)) {
                return;
            }
        }
    }
}

/// A page that is being filled.
struct Pages<Row> {
    page: Page<Row>,
    at_most: usize,
    last: Option<(String, Option<VersionId>)>,
}

impl<Row> Pages<Row> {
    fn new(at_most: usize) -> Self {
        Self {
            page: Page {
                items: Vec::new(),
                next: None,
            },
            at_most: at_most.min(PAGE),
            last: None,
        }
    }

    /// Whether the page is full, so that it ends before this.
    fn is_full(&mut self) -> bool {
        let full = self.page.items.len() >= self.at_most;
        if full {
            self.page.next = self.last.take();
        }
        full
    }

    fn row(&mut self, key: &str, version: Option<&VersionId>, row: impl FnOnce() -> Row) -> Step<'static> {
        if self.is_full() {
            return Step::Stop;
        }
        self.page.items.push(PageItem::Row(row()));
        self.last = Some((key.to_owned(), version.cloned()));
        Step::Next
    }

    fn directory<'k>(&mut self, common: &'k str, after: Option<&str>) -> Step<'k> {
        // A page that ended with this prefix goes on after it.
        if after.is_some_and(|after| after.starts_with(common)) {
            return Step::Over(common);
        }
        if self.is_full() {
            return Step::Stop;
        }
        self.page.items.push(PageItem::Prefix(common.to_owned()));
        self.last = Some((common.to_owned(), None));
        Step::Over(common)
    }
}
