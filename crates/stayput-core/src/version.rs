//! The versions and delete markers of one key, as a versioned bucket lists them.

use serde::{Deserialize, Serialize};

use crate::timestamp::Timestamp;

/// A version id as S3 gave it. `null` is the id of what was written while versioning was off or suspended.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VersionId(String);

impl VersionId {
    /// The id as listed; never empty in a listing.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The text of the id.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the `null` version, which a later write replaces.
    pub fn is_null(&self) -> bool {
        self.0 == "null"
    }
}

impl std::fmt::Display for VersionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// One row of ListObjectVersions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VersionEntry {
    /// The full key.
    pub key: String,
    /// The version id of the data version or of the marker.
    pub id: VersionId,
    /// Whether it is the current one of its key.
    pub is_latest: bool,
    /// When it was written; of a lifecycle marker: 00:00 UTC of that day.
    pub last_modified: Timestamp,
    /// Data or a marker.
    pub kind: VersionKind,
}

/// Storage classes whose bytes can't be read or copied before they are thawed.
pub fn is_archive_class(class: &str) -> bool {
    matches!(class, "GLACIER" | "DEEP_ARCHIVE")
}

/// What a version is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum VersionKind {
    /// Bytes.
    Data {
        /// Length in bytes.
        size: u64,
        /// The ETag as listed, quotes included.
        etag: String,
        /// The storage class as listed; `None`: not said, which means STANDARD.
        storage_class: Option<String>,
    },
    /// A delete marker.
    Marker,
}

/// All versions and markers of one key, the newest first, in the order of the listing; only what is current by its own word comes before
/// whatever is listed above it.
///
/// Never sorted by time: a lifecycle marker is dated 00:00 UTC and can be older than what it hides. The order of a listing is a custom,
/// `IsLatest` is S3's word for what is current: where they should differ, the word counts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KeyHistory {
    entries: Vec<VersionEntry>,
}

/// The run of markers above the newest data version.
#[derive(Clone, Copy, Debug)]
pub struct Hidden<'h> {
    /// The marker on top: the newest.
    pub newest: &'h VersionEntry,
    /// The marker directly above the data version: the one whose cause counts.
    pub above_data: &'h VersionEntry,
}

/// How often an object came back after it had been hidden, as its versions alone show it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Returns {
    /// How many times; 0 for an original.
    pub times: u32,
    /// Last-Modified of the oldest of these versions: when the bytes were first written, as far as they are still kept.
    pub first_written: Timestamp,
}

impl KeyHistory {
    /// From the rows of a listing that belong to one key, in listing order. Where none says that it is the current one, the first is.
    pub fn new(mut entries: Vec<VersionEntry>) -> Self {
        if let Some(place) = entries.iter().position(|row| row.is_latest) {
            entries[..=place].rotate_right(1);
        }
        Self { entries }
    }

    /// All rows, the newest first.
    pub fn entries(&self) -> &[VersionEntry] {
        &self.entries
    }

    /// Whether there is neither version nor marker.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The current data version, if the key is visible.
    pub fn current(&self) -> Option<&VersionEntry> {
        self.entries
            .first()
            .filter(|e| matches!(e.kind, VersionKind::Data { .. }))
    }

    /// The markers that hide the key; `None` if it is visible or nothing is there at all.
    pub fn hidden(&self) -> Option<Hidden<'_>> {
        let newest = self.entries.first().filter(|e| e.kind == VersionKind::Marker)?;
        let above_data = self
            .entries
            .iter()
            .take_while(|e| e.kind == VersionKind::Marker)
            .last()?;
        Some(Hidden { newest, above_data })
    }

    /// How often the bytes of this version came back, for servers that don't keep what a copy says of itself: data versions below it that
    /// have its length and ETag count, where a marker lies between one and the next. An upload that was made twice in a row is no return, nor is
    /// what somebody copied onto itself; its bytes are as old as the first of them all the same.
    /// The ETag of an upload in parts says nothing about a copy of it, which S3 makes in one: there the length alone counts.
    /// `None`: there is no such data version.
    ///
    /// What a rule for noncurrent versions has purged isn't counted any more, and a copy that a person made counts as one of ours.
    pub fn returns(&self, id: &VersionId) -> Option<Returns> {
        let mut rows = self.entries.iter().skip_while(|e| e.id != *id);
        let version = rows.next()?;
        let VersionKind::Data { size, etag, .. } = &version.kind else {
            return None;
        };
        let mut returns = Returns {
            times: 0,
            first_written: version.last_modified,
        };
        let mut hidden = false;
        for row in rows {
            match &row.kind {
                VersionKind::Marker => hidden = true,
                VersionKind::Data { size: s, etag: e, .. } if s == size && may_be_equal(e, etag) => {
                    returns.times = returns.times.saturating_add(u32::from(hidden));
                    returns.first_written = row.last_modified;
                    hidden = false;
                }
                VersionKind::Data { .. } => {}
            }
        }
        Some(returns)
    }

    /// The data versions down to the first marker below them, the newest first: what was written over one another.
    pub fn newest_without_marker(&self) -> impl Iterator<Item = &VersionEntry> {
        let is_data = |e: &&VersionEntry| matches!(e.kind, VersionKind::Data { .. });
        let newest = self.entries.iter().skip_while(move |e| !is_data(e));
        newest.take_while(is_data)
    }

    /// The data versions, the newest first.
    pub fn data_versions(&self) -> impl Iterator<Item = &VersionEntry> {
        self.entries
            .iter()
            .filter(|e| matches!(e.kind, VersionKind::Data { .. }))
    }
}

/// Whether ETags can be those of the same bytes: one of an upload in parts ends in `-` and their number, and a copy of it has another.
fn may_be_equal(one: &str, other: &str) -> bool {
    one == other || one.contains('-') != other.contains('-')
}

impl VersionEntry {
    /// The storage class as listed; `None` for a marker, or where it isn't said.
    pub fn storage_class(&self) -> Option<&str> {
        match &self.kind {
            VersionKind::Data { storage_class, .. } => storage_class.as_deref(),
            VersionKind::Marker => None,
        }
    }

    /// Length in bytes; `None` for a marker.
    pub fn size(&self) -> Option<u64> {
        match &self.kind {
            VersionKind::Data { size, .. } => Some(*size),
            VersionKind::Marker => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows from a text, the newest first: `m` is a marker, any other letter a data version with that ETag. The oldest was written at 0 s,
    /// each later one a second after the one below.
    fn history(text: &str) -> KeyHistory {
        let rows = text.chars().enumerate().map(|(n, what)| {
            let age = i64::try_from(text.len() - 1 - n).unwrap();
            VersionEntry {
                key: "k".to_owned(),
                id: VersionId::new(n.to_string()),
                is_latest: n == 0,
                last_modified: Timestamp::from_millis(age * 1000),
                kind: match what {
                    'm' => VersionKind::Marker,
                    etag => VersionKind::Data {
                        size: 7,
                        etag: etag.to_string(),
                        storage_class: None,
                    },
                },
            }
        });
        KeyHistory::new(rows.collect())
    }

    #[test]
    fn what_says_that_it_is_current_is_on_top_wherever_it_is_listed() {
        // history, the row that is current by its own word, the order of the rows then
        let cases: [(&str, Option<usize>, &[&str]); 6] = [
            ("ab", Some(0), &["0", "1"]),
            ("ab", Some(1), &["1", "0"]),
            ("abm", Some(1), &["1", "0", "2"]),
            ("amb", Some(1), &["1", "0", "2"]),
            ("mab", Some(2), &["2", "0", "1"]),
            ("mab", None, &["0", "1", "2"]),
        ];
        for (text, current, expected) in cases {
            let mut rows = history(text).entries;
            for (n, row) in rows.iter_mut().enumerate() {
                row.is_latest = Some(n) == current;
            }
            let top = rows[current.unwrap_or(0)].clone();
            let history = KeyHistory::new(rows);
            let order: Vec<&str> = history.entries().iter().map(|row| row.id.as_str()).collect();
            assert_eq!(order, expected, "{text} {current:?}");
            assert_eq!(history.current().is_some(), top.size().is_some(), "{text}");
            assert_eq!(history.hidden().is_some(), top.size().is_none(), "{text}");
        }
    }

    #[test]
    fn an_object_that_came_back_has_its_own_bytes_below_a_marker() {
        let cases = [
            // history, place of the version, times, second of the first writing
            ("a", 0, Some((0, 0))),
            ("ma", 1, Some((0, 0))),
            ("mama", 1, Some((1, 0))),
            ("amama", 0, Some((2, 0))),
            ("mmammama", 2, Some((2, 0))),
            // An upload that was made twice, once because its answer was lost.
            ("maa", 1, Some((0, 0))),
            ("mamaa", 1, Some((1, 0))),
            // Somebody copied it onto itself.
            ("aaa", 0, Some((0, 0))),
            ("aba", 0, Some((0, 0))),
            // Somebody else wrote in between, or before.
            ("mambma", 1, Some((1, 0))),
            ("mamb", 1, Some((0, 2))),
            ("mabma", 1, Some((1, 0))),
            ("m", 0, None),
        ];
        for (text, place, expected) in cases {
            let history = history(text);
            let returns = history.returns(&VersionId::new(place.to_string()));
            let told = returns.map(|r| {
                (
                    r.times,
                    r.first_written.since(Timestamp::from_millis(0)).as_secs(),
                )
            });
            assert_eq!(told, expected, "{text}");
        }
        assert_eq!(history("a").returns(&VersionId::new("none")), None);
    }

    #[test]
    fn a_copy_of_an_upload_in_parts_came_back_though_its_etag_is_another() {
        let mut rows = history("amama").entries;
        let mut say = |place: usize, etag: &str| {
            if let VersionKind::Data { etag: of, .. } = &mut rows[place].kind {
                etag.clone_into(of);
            }
        };
        say(4, "\"d41d8cd98f00b204e9800998ecf8427e-2\"");
        let returns = |rows: &[VersionEntry]| {
            let history = KeyHistory::new(rows.to_vec());
            history.returns(&VersionId::new("0")).unwrap().times
        };
        assert_eq!(returns(&rows), 2);
        // Two uploads in parts that differ are two files.
        let mut rows = history("amama").entries;
        for (place, etag) in [(0, "\"a-2\""), (2, "\"b-2\""), (4, "\"a-2\"")] {
            if let VersionKind::Data { etag: of, .. } = &mut rows[place].kind {
                etag.clone_into(of);
            }
        }
        assert_eq!(returns(&rows), 1);
    }
}
