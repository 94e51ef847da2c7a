//! Listings as the command line prints them: those of the stories, and what can go wrong.

use std::collections::BTreeSet;
use std::path::PathBuf;

use s3_documents::listing::{Row, VersionListing, parse_objects, parse_versions};

fn stories() -> PathBuf {
    [
        env!("CARGO_MANIFEST_DIR"),
        "..",
        "..",
        "tests",
        "corpus",
        "stories",
    ]
    .iter()
    .collect()
}

fn story_listings() -> Vec<(String, VersionListing)> {
    let mut listings = Vec::new();
    for story in std::fs::read_dir(stories()).unwrap() {
        let story = story.unwrap();
        if !story.file_type().unwrap().is_dir() {
            continue;
        }
        for file in std::fs::read_dir(story.path()).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if name == "bucket.json" || (name.starts_with("bucket.") && name.ends_with(".json")) {
                let listing = parse_versions(&std::fs::read(&path).unwrap());
                listings.push((
                    path.display().to_string(),
                    listing.unwrap_or_else(|e| panic!("{}: {e}", path.display())),
                ));
            }
        }
    }
    listings
}

#[test]
fn every_listing_of_the_stories_is_read_whole() {
    let listings = story_listings();
    assert!(listings.len() >= 120, "only {} listings", listings.len());
    let versions: usize = listings.iter().map(|(_, l)| l.versions.len()).sum();
    let markers: usize = listings.iter().map(|(_, l)| l.delete_markers.len()).sum();
    assert!(
        versions >= 6_000 && markers >= 1_000,
        "{versions} versions, {markers} markers"
    );
    assert!(listings.iter().all(|(_, l)| !l.truncated));
}

#[test]
fn rows_put_the_latest_of_each_key_on_top() {
    let mut both = 0;
    for (path, listing) in story_listings() {
        let rows = listing.rows();
        assert_eq!(
            rows.len(),
            listing.versions.len() + listing.delete_markers.len(),
            "{path}"
        );
        assert!(rows.is_sorted_by_key(Row::key), "{path}");
        let mut seen = BTreeSet::new();
        for row in &rows {
            assert_eq!(row.is_latest(), seen.insert(row.key()), "{path}: {row:?}");
        }
        both += usize::from(!listing.versions.is_empty() && !listing.delete_markers.is_empty());
    }
    assert!(both >= 50, "only {both} listings have both kinds");
}

fn listing(rows: &[(&str, &str, bool, &str)]) -> VersionListing {
    let of = |wanted: &str| -> Vec<_> {
        rows.iter()
            .filter(|(kind, ..)| *kind == wanted)
            .map(|(_, id, latest, at)| {
                serde_json::json!({"Key": "k", "VersionId": id, "IsLatest": latest, "LastModified": at, "Size": 1})
            })
            .collect()
    };
    let json = serde_json::json!({"Versions": of("version"), "DeleteMarkers": of("marker")});
    parse_versions(json.to_string().as_bytes()).unwrap()
}

fn ids(listing: &VersionListing) -> Vec<&str> {
    listing.rows().iter().map(Row::version_id).collect()
}

#[test]
fn a_lifecycle_marker_is_on_top_although_it_is_dated_before_what_it_hides() {
    let listing = listing(&[
        ("version", "data", false, "2026-11-28T03:00:00Z"),
        ("marker", "rule", true, "2026-11-28T00:00:00Z"),
    ]);
    assert_eq!(ids(&listing), ["rule", "data"]);
}

#[test]
fn a_file_that_was_deleted_and_written_again_keeps_its_history() {
    let listing = listing(&[
        ("version", "again", true, "2026-11-28T05:00:00Z"),
        ("version", "first", false, "2026-11-28T03:00:00Z"),
        ("marker", "between", false, "2026-11-28T04:00:00Z"),
    ]);
    assert_eq!(ids(&listing), ["again", "between", "first"]);
}

#[test]
fn what_was_written_and_deleted_in_one_second_was_written_first() {
    let listing = listing(&[
        ("version", "new", true, "2026-11-28T05:00:00Z"),
        ("version", "data", false, "2026-11-28T04:00:00Z"),
        ("marker", "marker", false, "2026-11-28T04:00:00Z"),
    ]);
    assert_eq!(ids(&listing), ["new", "marker", "data"]);
}

#[test]
fn a_listing_that_was_cut_off_says_so() {
    let truncated = |json: &str| parse_versions(json.as_bytes()).unwrap().truncated;
    assert!(truncated(r#"{"Versions": [], "IsTruncated": true}"#));
    assert!(truncated(r#"{"NextToken": "eyJ"}"#));
    assert!(truncated(r#"{"NextKeyMarker": "k", "NextVersionIdMarker": "v"}"#));
    assert!(!truncated(
        r#"{"RequestCharged": null, "NextToken": null, "IsTruncated": false, "Prefix": ""}"#
    ));
    assert!(
        parse_objects(br#"{"Contents": [], "NextContinuationToken": "x"}"#)
            .unwrap()
            .truncated
    );
}

#[test]
fn an_archived_version_tells_whether_it_was_brought_back() {
    let json = br#"{"Versions": [{"Key": "k", "VersionId": "null", "IsLatest": true, "Size": 5, "ETag": "\"e\"", "StorageClass": "GLACIER",
        "LastModified": "2026-11-28T05:00:00+00:00", "ChecksumAlgorithm": ["CRC64NVME"], "Owner": {"ID": "x"},
        "RestoreStatus": {"IsRestoreInProgress": false, "RestoreExpiryDate": "2026-12-01T00:00:00+00:00"}}]}"#;
    let listing = parse_versions(json).unwrap();
    let version = &listing.versions[0];
    assert_eq!(
        (version.etag.as_deref(), version.storage_class.as_deref()),
        (Some("\"e\""), Some("GLACIER"))
    );
    assert_eq!(
        version.restore_status.as_ref().unwrap().restore_expiry_date,
        Some(1_796_083_200_000)
    );
}

#[test]
fn objects_and_common_prefixes_are_read() {
    let json = br#"{"Contents": [{"Key": "cp/j/x y", "LastModified": "2026-11-28T05:00:00+00:00", "ETag": "\"e\"", "Size": 18231, "StorageClass": "STANDARD"}],
        "CommonPrefixes": [{"Prefix": "cp/j/chk-9/"}, {"Prefix": "cp/j/chk-10/"}], "RequestCharged": null, "Prefix": "cp/j/"}"#;
    let listing = parse_objects(json).unwrap();
    assert_eq!(
        (listing.objects[0].key.as_str(), listing.objects[0].size),
        ("cp/j/x y", 18_231)
    );
    assert_eq!(listing.objects[0].last_modified, 1_795_842_000_000);
    assert_eq!(listing.common_prefixes, ["cp/j/chk-9/", "cp/j/chk-10/"]);
    assert!(parse_objects(b"{}").unwrap().objects.is_empty());
}

#[test]
fn the_wrong_listing_is_not_taken_for_an_empty_one() {
    let e = parse_versions(br#"{"Contents": []}"#).unwrap_err().to_string();
    assert!(
        e.contains("list-objects-v2") && e.contains("neither versions nor markers"),
        "{e}"
    );
    let e = parse_objects(br#"{"DeleteMarkers": []}"#)
        .unwrap_err()
        .to_string();
    assert!(e.contains("list-object-versions"), "{e}");
}

#[test]
fn a_row_that_lacks_what_is_needed_is_named_by_line_and_field() {
    let e = parse_versions(b"{\"Versions\": [\n{\"Key\": \"k\", \"VersionId\": \"v\"}]}")
        .unwrap_err()
        .to_string();
    assert!(
        e.contains("missing field `IsLatest`") && e.contains("line 2"),
        "{e}"
    );
    let bad_time = r#"{"Contents": [{"Key": "k", "LastModified": "yesterday", "Size": 1}]}"#;
    let e = parse_objects(bad_time.as_bytes()).unwrap_err().to_string();
    assert!(e.contains("\"yesterday\"") && e.contains("RFC 3339"), "{e}");
    let negative = r#"{"Contents": [{"Key": "k", "LastModified": "2026-11-28T05:00:00Z", "Size": -1}]}"#;
    assert!(
        parse_objects(negative.as_bytes())
            .unwrap_err()
            .to_string()
            .contains("`-1`")
    );
}

#[test]
fn the_kind_of_a_listing_is_told_by_what_it_holds() {
    use s3_documents::listing::{Listing, parse};
    let versions = br#"{"DeleteMarkers": [], "Versions": []}"#;
    assert!(matches!(parse(versions), Ok(Listing::Versions(_))));
    assert!(matches!(parse(b" {\"Contents\": []}"), Ok(Listing::Objects(_))));
    let text = "2026-03-10 12:00:00       1234 cp/j/shared/a b\n2025-01-01 00:00:01          0  odd\n\nTotal Objects: 2\n   Total Size: 1234\n";
    let Ok(Listing::Text(read)) = parse(text.as_bytes()) else {
        panic!("no text listing")
    };
    let rows: Vec<_> = read
        .objects
        .iter()
        .map(|o| (o.key.as_str(), o.size, o.last_modified))
        .collect();
    assert_eq!(
        rows,
        [
            ("cp/j/shared/a b", 1234, 1_773_144_000_000),
            (" odd", 0, 1_735_689_601_000)
        ]
    );
    for (bad, why) in [
        ("2026-03-10 12:00:00    1.2 KiB cp/a", "without --human-readable"),
        ("                           PRE cp/", "line 1"),
        ("hello", "date, time, size"),
    ] {
        let e = parse(bad.as_bytes()).unwrap_err().to_string();
        assert!(e.contains(why), "{bad}: {e}");
    }
}
