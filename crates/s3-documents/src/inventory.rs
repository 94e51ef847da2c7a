//! The CSV files of S3 Inventory (after gunzip).
//!
//! They have no header: which columns there are stands in `manifest.json` beside them. Bucket and key always come first; of an inventory of all
//! versions, version id, `IsLatest` and `IsDeleteMarker` follow; then the optional fields in a fixed order, of which `Size`, `LastModifiedDate`,
//! `ETag` and `StorageClass` come first. What is here is told by its form, so that one file is enough. Every field is quoted, keys are encoded as
//! form data.

use crate::document::unusable;
use crate::encoding::decode_form;
use crate::error::{DocumentError, Problem};
use crate::timestamp::parse_timestamp;

const NAME: &str = "a CSV file of S3 Inventory";

/// What one file of an inventory lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inventory {
    /// The bucket.
    pub bucket: String,
    /// Whether all versions are listed, or current ones only.
    pub all_versions: bool,
    /// The rows, in the order of the file.
    pub objects: Vec<InventoryRow>,
}

/// One row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InventoryRow {
    /// Literal key.
    pub key: String,
    /// Its version id; empty while versioning was never enabled. `None`: not listed.
    pub version_id: Option<String>,
    /// Whether it is on top of its key. Of an inventory of current versions always.
    pub is_latest: bool,
    /// Whether it is a delete marker.
    pub is_delete_marker: bool,
    /// Length in bytes; `None`: not listed, or a delete marker.
    pub size: Option<u64>,
    /// When it was written, in milliseconds since the epoch, UTC.
    pub last_modified: Option<i64>,
    /// As listed, such as `GLACIER`.
    pub storage_class: Option<String>,
}

/// Reads one file.
///
/// # Errors
/// No UTF-8, a row that isn't quoted as CSV, without bucket and key, or of another bucket than the first; a key with a broken escape.
pub fn parse(bytes: &[u8]) -> Result<Inventory, DocumentError> {
    let text = std::str::from_utf8(bytes).map_err(|e| unusable(NAME, e.into()))?;
    let mut inventory: Option<Inventory> = None;
    for (number, line) in (1..).zip(text.lines()) {
        if line.is_empty() {
            continue;
        }
        let wrong = |what: &str| {
            let what = format!("line {number} {what}");
            unusable(NAME, Problem::Unusable { what })
        };
        let fields =
            fields(line).ok_or_else(|| wrong("isn't fields in quotation marks with commas between"))?;
        let [bucket, key, rest @ ..] = fields.as_slice() else {
            return Err(wrong("has no bucket and key"));
        };
        let key = decode_form(key).map_err(|e| wrong(&format!("has a key that can't be decoded: {e}")))?;
        let (versions, rest) = match rest {
            [id, latest, marker, rest @ ..] if is_boolean(latest) && is_boolean(marker) => {
                (Some((id, latest, marker)), rest)
            }
            rest => (None, rest),
        };
        let inventory = inventory.get_or_insert_with(|| Inventory {
            bucket: bucket.clone(),
            all_versions: versions.is_some(),
            objects: Vec::new(),
        });
        if inventory.bucket != *bucket {
            return Err(wrong("is of another bucket than the first"));
        }
        if inventory.all_versions != versions.is_some() {
            return Err(wrong("has other columns than the first"));
        }
        inventory.objects.push(InventoryRow {
            key: key.into_owned(),
            version_id: versions.map(|(id, _, _)| id.clone()),
            is_latest: versions.is_none_or(|(_, latest, _)| latest == "true"),
            is_delete_marker: versions.is_some_and(|(_, _, marker)| marker == "true"),
            size: rest.first().and_then(|size| size.parse().ok()),
            last_modified: rest.iter().take(2).find_map(|field| parse_timestamp(field)),
            storage_class: rest.iter().find(|field| is_class(field)).cloned(),
        });
    }
    inventory.ok_or_else(|| {
        let what = "it is empty".to_owned();
        unusable(NAME, Problem::Unusable { what })
    })
}

fn is_boolean(field: &str) -> bool {
    matches!(field, "true" | "false")
}

/// Storage classes as S3 names them.
fn is_class(field: &str) -> bool {
    matches!(
        field,
        "STANDARD"
            | "REDUCED_REDUNDANCY"
            | "STANDARD_IA"
            | "ONEZONE_IA"
            | "INTELLIGENT_TIERING"
            | "GLACIER"
            | "DEEP_ARCHIVE"
            | "GLACIER_IR"
            | "EXPRESS_ONEZONE"
            | "OUTPOSTS"
            | "SNOW"
    )
}

/// The fields of a line: each in quotation marks, which are doubled within.
fn fields(line: &str) -> Option<Vec<String>> {
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        rest = rest.strip_prefix('"')?;
        let mut field = String::new();
        loop {
            let end = rest.find('"')?;
            field.push_str(&rest[..end]);
            rest = &rest[end + 1..];
            match rest.strip_prefix('"') {
                Some(more) => {
                    field.push('"');
                    rest = more;
                }
                None => break,
            }
        }
        fields.push(field);
        if rest.is_empty() {
            return Some(fields);
        }
        rest = rest.strip_prefix(',')?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The rows that the user guide of S3 shows for an inventory of all versions, and for one of current versions.
    const VERSIONS: &str = "\"amzn-s3-demo-bucket\",\"cp/a+b/chk-8/x%2By%25\",\"LgnpiShK\",\"true\",\"false\",\"1024\",\"2026-03-10T12:00:00.000Z\",\"bc7b\",\"GLACIER\"\n\
        \"amzn-s3-demo-bucket\",\"cp/gone\",\"v2\",\"true\",\"true\",\"\",\"2026-03-11T12:00:00.000Z\",\"\",\"\"\n\
        \"amzn-s3-demo-bucket\",\"cp/gone\",\"v1\",\"false\",\"false\",\"7\",\"2026-03-10T12:00:00.000Z\",\"aa\",\"STANDARD\"\n";
    const CURRENT: &str = "\"b\",\"cp/x\",\"1024\",\"2026-03-10T12:00:00.000Z\",\"bc7b\",\"STANDARD\"\r\n\"b\",\"cp/y\",\"0\",\"2026-03-10T12:00:00.000Z\",\"bc7b\",\"STANDARD\"\r\n";

    #[test]
    fn versions_markers_and_encoded_keys_are_read() {
        let inventory = parse(VERSIONS.as_bytes()).unwrap();
        assert!(inventory.all_versions);
        let [visible, marker, below] = inventory.objects.as_slice() else {
            panic!("three rows")
        };
        assert_eq!(
            (
                visible.key.as_str(),
                visible.size,
                visible.storage_class.as_deref()
            ),
            ("cp/a b/chk-8/x+y%", Some(1024), Some("GLACIER"))
        );
        assert!(marker.is_delete_marker && marker.is_latest && marker.size.is_none());
        assert!(!below.is_latest && below.size == Some(7));
        assert_eq!(visible.last_modified, parse_timestamp("2026-03-10T12:00:00Z"));
    }

    #[test]
    fn an_inventory_of_current_versions_is_told_by_its_form() {
        let inventory = parse(CURRENT.as_bytes()).unwrap();
        assert!(!inventory.all_versions && inventory.objects.iter().all(|row| row.is_latest));
        assert_eq!(inventory.objects[1].size, Some(0));
    }

    #[test]
    fn what_is_no_inventory_is_refused_with_its_line() {
        for (text, said) in [
            ("", "empty"),
            ("\"b\"", "line 1"),
            ("\"b\",\"k", "line 1"),
            ("\"b\",\"k\",\"1\"\n\"c\",\"k\",\"1\"", "line 2"),
            ("\"b\",\"%zz\",\"1\"", "decoded"),
            ("Bucket,Key,Size", "line 1"),
        ] {
            let error = parse(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
