//! Checks against listings, forecasts, comparisons, exports and pointers.

use std::fmt::Write as _;

use s3_documents::listing::{self as documents, Row};

use super::*;
use crate::inspection::check::{Check, Verdict};
use crate::inspection::compare::{Difference, Sum, compare};
use crate::inspection::export::{Format, csv_cell};
use crate::inspection::listing::{Listing, ListingKind};
use crate::inspection::rules::Asked;
use crate::shown::is_unsafe;
use crate::timestamp::Timestamp;

fn objects(check: &Check, status: Status) -> u64 {
    let found = check.by_status.iter().find(|amount| amount.status == status);
    found.map_or(0, |amount| amount.amount.objects)
}

#[test]
fn a_dropped_directory_of_flinks_own_shows_what_is_there_and_what_flink_deleted() {
    let (mut present, mut away, mut healthy) = (0, 0, 0);
    for case in cases() {
        let folder = corpus().join(&case.name);
        let mut document = opened(&case.bytes, Some(&case.pointer));
        let listing =
            Listing::read(&std::fs::read(folder.join("listing.tsv")).unwrap(), "listing.tsv").unwrap();
        assert_eq!(listing.kind(), ListingKind::Directory);
        let check = document.check(&listing);
        let toml = std::fs::read_to_string(folder.join("case.toml")).unwrap();
        let missing = toml.lines().find(|line| line.starts_with("missing = ")).unwrap();
        let missing = missing
            .matches('/')
            .count()
            .min(missing.matches("\",").count() + usize::from(missing.contains('"')));
        let found = objects(&check, Status::Missing) + objects(&check, Status::NotCovered);
        assert_eq!(found, missing as u64, "{}: {check:?}", case.name);
        let total: u64 = check.by_status.iter().map(|amount| amount.amount.objects).sum();
        assert_eq!(
            objects(&check, Status::Present) + found,
            total,
            "{}: {check:?}",
            case.name
        );
        present += objects(&check, Status::Present);
        away += found;
        let expected = if missing > 0 || check.named_directories > 0 {
            Verdict::Unknown
        } else {
            Verdict::Healthy
        };
        assert_eq!(check.verdict, expected, "{}: {}", case.name, check.sentence);
        healthy += usize::from(check.verdict == Verdict::Healthy);
    }
    assert!(
        present >= 1_000 && away >= 30 && healthy >= 40,
        "{present} present, {away} away, {healthy} healthy"
    );
}

/// What a dropped tree shows of a checkpoint: the lengths of all its files but those that `keep` leaves out, with paths as `named` makes them of
/// the job's id, the directory below it and the name.
fn dropped(
    document: &Document,
    keep: impl Fn(&str) -> bool,
    named: impl Fn(&str, &str, &str) -> String,
) -> Listing {
    let mut lines = BTreeSet::new();
    for row in document.handles.all() {
        let path = document.handles.location(row, &document.bytes).to_string();
        let [name, directory, job] = path.rsplitn(4, '/').take(3).collect::<Vec<_>>()[..] else {
            panic!("{path} is short");
        };
        if keep(directory) {
            lines.insert(format!(
                "{}\t{}",
                named(job, directory, name),
                row.size().unwrap_or(0)
            ));
        }
    }
    let home = document.home.as_ref().unwrap().location.to_string();
    let [directory, job] = home.rsplitn(3, '/').take(2).collect::<Vec<_>>()[..] else {
        panic!("{home} is short");
    };
    lines.insert(format!(
        "{}\t{}",
        named(job, directory, "_metadata"),
        document.bytes.len()
    ));
    let lines: Vec<String> = lines.into_iter().collect();
    Listing::read(lines.join("\n").as_bytes(), "what was dropped").unwrap()
}

#[test]
fn of_what_was_not_dropped_nothing_is_known_and_what_a_dropped_job_lacks_is_missing() {
    let (mut document, _) = named("2.3.0-rocks-inc-chk8");
    let all = document.handles.objects() as u64;
    let shared = |directory: &str| directory == "shared";
    let not_shared = |directory: &str| directory != "shared";
    let own = {
        let check = document.check(&dropped(
            &document,
            |_| true,
            |job, directory, name| format!("{job}/{directory}/{name}"),
        ));
        assert_eq!(
            (check.verdict, objects(&check, Status::Present)),
            (Verdict::Healthy, all)
        );
        let check = document.check(&dropped(&document, not_shared, |_, directory, name| {
            format!("{directory}/{name}")
        }));
        assert_eq!(
            check.verdict,
            Verdict::Unknown,
            "only the checkpoint's own directory was dropped"
        );
        objects(&check, Status::Present)
    };
    assert!(
        own >= 4 && own < all,
        "{own} of {all} lie in the checkpoint's own directory"
    );
    // The checkpoint's own directory in whatever wrapping: with what systems put beside it, renamed above, or its files alone.
    type Wrapping = fn(&str, &str, &str) -> String;
    let wrappings: [Wrapping; 3] = [
        |_, directory, name| format!("backup/of tuesday/{directory}/{name}"),
        |_, directory, name| match name {
            "_metadata" => format!("{directory}/.DS_Store\t6148\nnotes.txt\t5\n{directory}/_metadata"),
            _ => format!("{directory}/{name}"),
        },
        |_, _, name| name.to_owned(),
    ];
    for wrapping in wrappings {
        let check = document.check(&dropped(&document, not_shared, wrapping));
        assert_eq!(
            (check.verdict, objects(&check, Status::NotCovered)),
            (Verdict::Unknown, all - own),
            "{}",
            check.sentence
        );
        assert_eq!(
            (objects(&check, Status::Missing), objects(&check, Status::Present)),
            (0, own)
        );
    }
    // The job's directory under its id says of what it hasn't that it isn't there; a directory `shared` of any other job says nothing.
    let job: Wrapping = |job, directory, name| format!("{job}/{directory}/{name}");
    let check = document.check(&dropped(&document, not_shared, job));
    assert_eq!(objects(&check, Status::Missing), all - own, "{}", check.sentence);
    let other: Wrapping = |_, directory, name| match directory {
        "shared" => format!("0123456789abcdef0123456789abcdef/shared/x{name}"),
        _ => format!("{directory}/{name}"),
    };
    let check = document.check(&dropped(&document, |_| true, other));
    assert_eq!(
        objects(&check, Status::NotCovered),
        all - own,
        "{}",
        check.sentence
    );
    // A renamed copy of the job's directory has both.
    let renamed: Wrapping = |_, directory, name| format!("copy/{directory}/{name}");
    let one = std::cell::Cell::new(true);
    let check = document.check(&dropped(
        &document,
        |directory| !shared(directory) || !one.replace(false),
        renamed,
    ));
    assert_eq!(
        (
            objects(&check, Status::Missing),
            objects(&check, Status::NotCovered)
        ),
        (1, 0),
        "{}",
        check.sentence
    );
}

/// The listing of a bucket that has all that a snapshot needs, in one of the forms.
fn all_of(document: &Document, form: &str, without: Option<&str>) -> String {
    let mut rows: Vec<(String, String, u64)> = Vec::new();
    for row in document.handles.all() {
        let location = document.handles.location(row, &document.bytes).to_string();
        let Some((bucket, key)) = location
            .strip_prefix("s3://")
            .and_then(|rest| rest.split_once('/'))
        else {
            continue;
        };
        if Some(key) != without && !rows.iter().any(|(_, known, _)| known == key) {
            rows.push((bucket.to_owned(), key.to_owned(), row.size().unwrap_or(1)));
        }
    }
    let at = document.at().unwrap().s3().unwrap();
    rows.push((
        at.bucket().to_owned(),
        format!("{}/_metadata", at.key()),
        document.bytes.len() as u64,
    ));
    let mut text = String::new();
    match form {
        "versions" => {
            let versions: Vec<Value> = rows
                .iter()
                .map(|(_, key, size)| {
                    serde_json::json!({"Key": key, "Size": size, "VersionId": "v", "IsLatest": true, "ETag": "\"e\"",
                        "LastModified": "2026-03-01T12:00:00+00:00", "StorageClass": "STANDARD"})
                })
                .collect();
            text = serde_json::json!({ "Versions": versions, "DeleteMarkers": [] }).to_string();
        }
        "objects" => {
            let contents: Vec<Value> = rows
                .iter()
                .map(|(_, key, size)| {
                    serde_json::json!({"Key": key, "Size": size, "ETag": "\"e\"", "LastModified": "2026-03-01T12:00:00+00:00"})
                })
                .collect();
            text = serde_json::json!({ "Contents": contents }).to_string();
        }
        "text" => {
            for (_, key, size) in rows {
                writeln!(text, "2026-03-01 12:00:00 {size:>10} {key}").unwrap();
            }
        }
        _ => {
            for (bucket, key, size) in rows {
                let key = s3_documents::encoding::encode_form(&key);
                writeln!(
                    text,
                    "\"{bucket}\",\"{key}\",\"{size}\",\"2026-03-01T12:00:00.000Z\",\"e\",\"STANDARD\""
                )
                .unwrap();
            }
        }
    }
    text
}

#[test]
fn in_every_form_of_listing_what_is_there_is_there_and_what_is_not_is_not() {
    let mut checked = 0;
    for case in cases().iter().filter(|case| case.pointer.starts_with("s3")) {
        let mut document = opened(&case.bytes, Some(&case.pointer));
        let Some(row) = document.handles.all().first() else {
            continue;
        };
        let first = document.handles.location(row, &document.bytes).to_string();
        let key = first
            .strip_prefix("s3://")
            .unwrap()
            .split_once('/')
            .unwrap()
            .1
            .to_owned();
        for (form, without_it) in [
            ("versions", Verdict::Lost),
            ("objects", Verdict::Unknown),
            ("text", Verdict::Unknown),
            ("inventory", Verdict::Unknown),
        ] {
            let listing = Listing::read(all_of(&document, form, None).as_bytes(), form).unwrap();
            let check = document.check(&listing);
            assert_eq!(check.verdict, Verdict::Healthy, "{} {form}: {check:?}", case.name);
            assert_eq!(check.unreferenced_own.objects, 0);
            let listing = Listing::read(all_of(&document, form, Some(&key)).as_bytes(), form).unwrap();
            let check = document.check(&listing);
            assert_eq!(check.verdict, without_it, "{} {form}: {check:?}", case.name);
            let view = document.view(&Query {
                status: Some(document.status(0)),
                ..Query::default()
            });
            let found = document.handles.all()[view.rows()[0] as usize];
            assert_eq!(
                document.handles.location(&found, &document.bytes).to_string(),
                first
            );
            checked += 1;
        }
        // A directory beside it is another job's: nobody listed it.
        let text = "2026-03-01 12:00:00 10 another/0123456789abcdef0123456789abcdef/chk-1/_metadata\n";
        let check = document.check(&Listing::read(text.as_bytes(), "another").unwrap());
        assert_eq!(check.verdict, Verdict::Unknown);
        assert_eq!(
            objects(&check, Status::NotCovered),
            document.handles.objects() as u64
        );
    }
    assert!(checked >= 12, "{checked} checks");
}

#[test]
fn a_hidden_an_overwritten_and_an_archived_object_are_told_apart() {
    let (mut document, _) = named("s3-1.20.5-s3a-rocks-inc-sp1");
    let all: Value = serde_json::from_str(&all_of(&document, "versions", None)).unwrap();
    let row = &document.handles.all()[0];
    let location = document.handles.location(row, &document.bytes).to_string();
    let key = location
        .strip_prefix("s3://")
        .unwrap()
        .split_once('/')
        .unwrap()
        .1
        .to_owned();
    let change = |change: &dyn Fn(&mut Value, &mut Vec<Value>)| {
        let mut all = all.clone();
        let mut markers = Vec::new();
        for version in all["Versions"].as_array_mut().unwrap() {
            if version["Key"] == key.as_str() {
                change(version, &mut markers);
            }
        }
        all["DeleteMarkers"] = markers.into();
        Listing::read(all.to_string().as_bytes(), "versions").unwrap()
    };
    let marker = serde_json::json!({"Key": key, "VersionId": "m", "IsLatest": true, "LastModified": "2026-03-02T00:00:00+00:00"});
    let hidden = change(&|version, markers| {
        version["IsLatest"] = false.into();
        markers.push(marker.clone());
    });
    let check = document.check(&hidden);
    assert_eq!(
        (check.verdict, document.status(0)),
        (Verdict::Repairable, Status::Recoverable)
    );
    assert!(check.sentence.contains("can be put back"), "{}", check.sentence);
    let shorter = change(&|version, markers| {
        version["IsLatest"] = false.into();
        version["Size"] = 1.into();
        markers.push(marker.clone());
    });
    let check = document.check(&shorter);
    assert_eq!((check.verdict, document.status(0)), (Verdict::Lost, Status::Gone));
    let archived = change(&|version, _| version["StorageClass"] = "GLACIER".into());
    let check = document.check(&archived);
    assert_eq!(
        (check.verdict, document.status(0)),
        (Verdict::Repairable, Status::Archived)
    );
    let wrong = change(&|version, _| version["Size"] = 1.into());
    let check = document.check(&wrong);
    assert_eq!((check.verdict, document.status(0)), (Verdict::Lost, Status::Gone));
}

/// A file of an inventory is a day old and one of several: what it doesn't show can exist.
#[test]
fn a_file_of_an_inventory_never_says_that_something_is_lost() {
    let mut checked = 0;
    for case in cases().iter().filter(|case| case.pointer.starts_with("s3")) {
        let mut document = opened(&case.bytes, Some(&case.pointer));
        let Some(row) = document.handles.all().first().copied() else {
            continue;
        };
        let location = document.handles.location(&row, &document.bytes).to_string();
        let (bucket, key) = location.strip_prefix("s3://").unwrap().split_once('/').unwrap();
        let size = row.size().unwrap();
        let line = |latest: bool, marker: bool, size: u64| {
            let size = if marker { String::new() } else { size.to_string() };
            format!(
                "\"{bucket}\",\"{key}\",\"v\",\"{latest}\",\"{marker}\",\"{size}\",\"2026-03-01T12:00:00.000Z\"\n"
            )
        };
        let other =
            format!("\"{bucket}\",\"another\",\"v\",\"true\",\"false\",\"1\",\"2026-03-01T12:00:00.000Z\"\n");
        for (rows, status) in [
            (other.clone(), Status::NotCovered),
            (line(true, true, 0), Status::Missing),
            (
                line(true, true, 0) + &line(false, false, size + 7),
                Status::Missing,
            ),
            (
                line(true, true, 0) + &line(false, false, size),
                Status::Recoverable,
            ),
            (line(true, false, size + 7), Status::WrongSize),
            (
                line(true, false, size + 7) + &line(false, false, size),
                Status::Overwritten,
            ),
            (line(true, false, size), Status::Present),
        ] {
            let listing = Listing::read(rows.as_bytes(), "inventory.csv").unwrap();
            assert!(
                listing.describe().sentence.contains("inventory"),
                "{}",
                listing.describe().sentence
            );
            let check = document.check(&listing);
            assert_eq!(document.status(0), status, "{rows}");
            assert_ne!(check.verdict, Verdict::Lost, "{rows}: {check:?}");
            checked += 1;
        }
    }
    assert!(checked >= 21, "{checked} checks");
}

/// The stories hold real listings of versions beside the `_metadata` files that name what is in them.
#[test]
fn real_listings_of_the_stories_give_each_object_the_state_that_their_rows_show() {
    let (mut checked, mut by_status) = (0, BTreeMap::<Status, u64>::new());
    for story in std::fs::read_dir(corpus().join("stories")).unwrap() {
        let story = story.unwrap().path();
        let Ok(bucket) = std::fs::read(story.join("bucket.json")) else {
            continue;
        };
        let rows = documents::parse_versions(&bucket).unwrap();
        let listing = Listing::read(&bucket, "bucket.json").unwrap();
        let top: BTreeMap<&str, (bool, Option<u64>)> = rows
            .rows()
            .into_iter()
            .filter(Row::is_latest)
            .map(|row| match row {
                Row::Version(version) => (row.key(), (true, Some(version.size))),
                Row::Marker(_) => (row.key(), (false, None)),
            })
            .collect();
        let mut folders = vec![story.join("metadata")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let Opened::Whole(mut document) = open(std::fs::read(&path).unwrap(), None) else {
                    continue;
                };
                if document.at().is_none_or(|at| at.s3().is_none()) {
                    continue;
                }
                let check = document.check(&listing);
                checked += 1;
                for amount in &check.by_status {
                    *by_status.entry(amount.status).or_default() += amount.amount.objects;
                }
                for row in document.handles.all() {
                    let location = document.handles.location(row, &document.bytes).to_string();
                    let Some((_, key)) = location
                        .strip_prefix("s3://")
                        .and_then(|rest| rest.split_once('/'))
                    else {
                        continue;
                    };
                    match (document.status_of(row), top.get(key)) {
                        (Status::Present | Status::Archived | Status::Overwritten, Some((true, _)))
                        | (Status::Recoverable, Some((false, _)))
                        | (Status::Gone, _)
                        | (Status::NotCovered | Status::NotChecked, None) => {}
                        (status, seen) => panic!("{}: {key} is {status:?}, seen {seen:?}", story.display()),
                    }
                }
            }
        }
    }
    assert!(checked >= 40, "{checked} checks");
    for status in [Status::Present, Status::Recoverable, Status::Gone] {
        assert!(
            by_status.get(&status).is_some_and(|n| *n > 0),
            "no {status:?} among {by_status:?}"
        );
    }
}

#[test]
fn what_is_no_listing_is_refused_in_a_sentence() {
    for text in ["", "   ", "hello", "{\"Versions\": 3}", "{", "\"a\",", "<xml/>"] {
        let error = Listing::read(text.as_bytes(), "x\u{202e}.txt")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("can't be read as a listing") && !error.chars().any(is_unsafe),
            "{error}"
        );
    }
}

const SEVEN_DAYS: &str =
    r#"{"Rules":[{"ID":"expire-tmp","Status":"Enabled","Filter":{"Prefix":""},"Expiration":{"Days":7}}]}"#;

#[test]
fn a_rule_of_seven_days_is_foretold_with_and_without_a_listing() {
    let (document, _) = named("s3-1.20.5-s3a-rocks-inc-sp1");
    let now = Timestamp::parse("2026-03-03T00:00:00Z").unwrap();
    let asked = Asked {
        rules: SEVEN_DAYS.as_bytes(),
        listing: None,
        now,
        versioning: None,
    };
    let without = document.forecast(asked).unwrap();
    assert!(
        without.forecast.is_harmful() && without.sentence.contains("7 days after"),
        "{}",
        without.sentence
    );
    let listing = Listing::read(all_of(&document, "versions", None).as_bytes(), "versions").unwrap();
    let with = document
        .forecast(Asked {
            listing: Some(&listing),
            ..asked
        })
        .unwrap();
    assert!(with.sentence.contains("from 2026-03-09 on"), "{}", with.sentence);
    let harm = &with.forecast.buckets[0].harms[0];
    let own = document
        .handles
        .all()
        .iter()
        .filter(|row| row.names() != crate::handles::Names::Directory)
        .map(|row| row.object)
        .collect::<BTreeSet<_>>();
    // With its _metadata.
    assert_eq!(harm.amount.objects, own.len() as u64 + 1);
    let correction = with.forecast.buckets[0].correction.as_ref().unwrap();
    let corrected = correction.configuration.as_ref().unwrap();
    let again = document
        .forecast(Asked {
            rules: corrected.as_bytes(),
            listing: Some(&listing),
            ..asked
        })
        .unwrap();
    assert!(
        !again.forecast.is_harmful() && again.sentence.contains("take nothing"),
        "{}",
        again.sentence
    );
    let no_rules = document.forecast(Asked {
        rules: b"nonsense",
        ..asked
    });
    assert!(no_rules.unwrap_err().to_string().contains("can't be read"));
}

fn sum(files: &BTreeMap<String, u64>, fits: impl Fn(&str) -> bool) -> Sum {
    let mut sum = Sum::default();
    for (_, bytes) in files.iter().filter(|(uri, _)| fits(uri)) {
        sum.objects += 1;
        sum.bytes += bytes;
    }
    sum
}

/// What Flink's own classes name: location to declared size.
fn of_flink(case: &Case) -> BTreeMap<String, u64> {
    case.oracle["files"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|file| file["kind"] != "directory")
        .map(|file| {
            let location = Location::parse_flink_path(file["uri"].as_str().unwrap())
                .unwrap()
                .to_string();
            (
                location,
                u64::try_from(file["declared_size"].as_i64().unwrap()).unwrap_or(0),
            )
        })
        .collect()
}

#[test]
fn a_chain_of_incremental_checkpoints_keeps_adds_and_drops_what_flink_says() {
    for names in [
        [
            "1.14.6-rocks-inc-chain-j1-chk3",
            "1.14.6-rocks-inc-chain-j1-chk4",
            "1.14.6-rocks-inc-chain-j2-chk6",
            "1.14.6-rocks-inc-chain-j3-chk10",
        ],
        [
            "1.14.6-rocks-inc-chain-j1-chk4",
            "1.14.6-rocks-inc-chain-j2-chk6",
            "1.14.6-rocks-inc-chain-j2-chk7",
            "1.14.6-rocks-inc-chain-j3-chk9",
        ],
    ] {
        let series: Vec<(Document, Case)> = names.iter().map(|name| named(name)).collect();
        // Given backwards: the order is that of the ids.
        let documents: Vec<&Document> = series.iter().rev().map(|(document, _)| document).collect();
        let comparison = compare(&documents);
        let flink: Vec<BTreeMap<String, u64>> = series.iter().map(|(_, case)| of_flink(case)).collect();
        assert_eq!(comparison.snapshots.len(), 4);
        let mut kept = 0;
        for (step, pair) in comparison.steps.iter().zip(flink.windows(2)) {
            let [before, after] = pair else { unreachable!() };
            let expected = Difference {
                kept: sum(after, |uri| before.contains_key(uri)),
                added: sum(after, |uri| !before.contains_key(uri)),
                dropped: sum(before, |uri| !after.contains_key(uri)),
            };
            assert_eq!(step.all, expected, "{names:?}");
            kept += expected.kept.objects;
        }
        assert!(kept > 0, "{names:?}");
        let last = flink.last().unwrap();
        let mut seen = BTreeSet::new();
        for (introduced, files) in comparison.lineage.iter().zip(&flink) {
            let expected = sum(last, |uri| files.contains_key(uri) && !seen.contains(uri));
            assert_eq!(introduced.sum, expected, "{names:?}: {introduced:?}");
            seen.extend(files.keys().cloned());
        }
        let whole: u64 = comparison
            .lineage
            .iter()
            .map(|introduced| introduced.sum.bytes)
            .sum();
        assert_eq!(whole, last.values().sum::<u64>());
    }
    assert!(compare(&[]).steps.is_empty());
}

#[test]
fn exports_come_in_chunks_that_are_one_document() {
    let mut exported = 0;
    for case in cases() {
        let document = opened(&case.bytes, Some(&case.pointer));
        let view = document.view(&Query::default());
        for format in [Format::Csv, Format::Json, Format::Text] {
            let whole = document.export(&view, 0, usize::MAX, format);
            let mut chunks = String::new();
            let mut from = 0;
            loop {
                chunks.push_str(&document.export(&view, from, 5, format));
                from += 5;
                if from >= view.len() {
                    break;
                }
            }
            assert_eq!(chunks, whole, "{} {format:?}", case.name);
            match format {
                Format::Json => {
                    let rows: Vec<Value> = serde_json::from_str(&whole).unwrap();
                    assert_eq!(rows.len(), view.len());
                    for (value, row) in rows.iter().zip(document.handles.all()) {
                        let location = document.handles.location(row, &document.bytes).to_string();
                        assert_eq!(value["location"].as_str(), Some(location.as_str()));
                        assert_eq!(value["size"].as_u64(), row.size());
                    }
                }
                Format::Csv => assert_eq!(whole.matches("\r\n").count(), view.len() + 1),
                Format::Text => assert_eq!(whole.lines().count(), view.len()),
            }
            exported += view.len();
        }
    }
    assert!(exported >= 3_000, "{exported} rows");
}

#[test]
fn no_cell_is_a_formula_and_no_name_ends_a_cell() {
    let cell = |text: &str| {
        let mut cell = String::new();
        csv_cell(text, &mut cell);
        cell
    };
    for formula in ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\u{FF1D}1", "%0A=1"] {
        assert!(cell(formula).starts_with("\"'"), "{}", cell(formula));
    }
    for control in ["\t=1", "\r=1", "\n=1", "a\u{202e}b"] {
        assert!(!cell(control).chars().any(is_unsafe), "{}", cell(control));
    }
    assert_eq!(cell("a\"b,c"), "\"a\"\"b,c\"");
    assert_eq!(cell("s3://b/k"), "s3://b/k");
    let long = cell(&"=\"".repeat(32_767));
    assert!(long.len() > 65_535 && long.ends_with('"'));
}

#[test]
fn entries_of_ha_stores_say_where_they_point() {
    let (mut pointers, mut stores) = (0, 0);
    for store in std::fs::read_dir(corpus().join("ha")).unwrap() {
        let store = store.unwrap().path();
        if let Ok(maps) = std::fs::read(store.join("configmaps.json")) {
            stores += 1;
            let read = pointer::read(&maps).unwrap();
            assert!(
                read.unreadable.is_empty(),
                "{}: {:?}",
                store.display(),
                read.unreadable
            );
            pointers += read.pointers.len();
            let of_checkpoints = read.pointers.iter().filter(|p| p.points_to == "checkpoint");
            assert!(
                of_checkpoints.clone().count() > 0
                    && of_checkpoints
                        .clone()
                        .all(|p| p.location.contains("completedCheckpoint"))
            );
        }
        if let Ok(znodes) = std::fs::read(store.join("znodes.json")) {
            stores += 1;
            let nodes: Vec<Value> = serde_json::from_slice(&znodes).unwrap();
            for node in nodes {
                let Some(text) = node["data_base64"]
                    .as_str()
                    .filter(|text| text.starts_with("rO0AB"))
                else {
                    continue;
                };
                if let Some(read) = pointer::read(text.as_bytes()) {
                    pointers += read.pointers.len();
                }
            }
        }
    }
    assert!(
        stores >= 6 && pointers >= 10,
        "{pointers} pointers of {stores} stores"
    );
    for no_pointer in [
        &b""[..],
        b"hello",
        b"{}",
        b"{\"data\":{\"a\":\"b\"}}",
        b"aGVsbG8=",
    ] {
        assert!(pointer::read(no_pointer).is_none());
    }
}

#[test]
fn every_word_that_answers_use_is_explained() {
    let terms: BTreeMap<&str, &str> = terms::TERMS.into_iter().collect();
    assert_eq!(terms.len(), terms::TERMS.len(), "a term stands there twice");
    let mut roles = BTreeSet::new();
    for case in cases() {
        let document = opened(&case.bytes, Some(&case.pointer));
        for row in document.handles.all() {
            roles.extend(row.role().to_string().split('.').map(str::to_owned));
        }
        roles.extend(document.summary().state.keys().map(|kind| (*kind).to_owned()));
    }
    roles.remove("task_owned_dir");
    roles.remove("shared_dir");
    for role in &roles {
        assert!(terms.contains_key(role.as_str()), "{role} isn't explained");
    }
    assert!(roles.len() >= 8, "{roles:?}");
    assert!(terms.values().all(|text| text.ends_with('.') && text.len() < 260));
}

#[test]
fn the_wrong_file_is_named_and_what_to_do_is_said() {
    for (bytes, looks_like) in [
        (&b"PK\x03\x04rest"[..], "zip"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"...\xf7\xcf\xf4\x85\xb7\x41\xe2\x88", "sst"),
        (b"\xac\xed\x00\x05sr", "java_objects"),
        (b"<Error><Code>NoSuchKey</Code></Error>", "text"),
        (b"zz", "unknown"),
    ] {
        let Opened::Not(answer) = open(bytes.to_vec(), None) else {
            panic!("it is no snapshot")
        };
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["reading"], "not_metadata");
        assert_eq!(answer["looks_like"], looks_like);
        assert!(
            answer["sentence"].as_str().unwrap().len() > 20
                && answer["what_next"].as_str().unwrap().len() > 20
        );
    }
    let case = &cases()[0];
    let Opened::Not(cut) = open(case.bytes[..case.bytes.len() / 2].to_vec(), Some(&case.pointer)) else {
        panic!("half a file is no snapshot")
    };
    let cut: Value = serde_json::from_str(&cut).unwrap();
    assert_eq!(cut["reading"], "damaged");
    assert!(cut["offset"].as_u64().is_some() && cut["read_so_far"]["objects"]["handles"].as_u64().is_some());
}
