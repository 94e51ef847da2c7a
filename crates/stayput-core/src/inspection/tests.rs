//! The corpus, opened: what views, trees and answers say, held against what Flink's own classes said of the same files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::view::{Column, Query, Sort};
use super::*;

/// At least so many cases lie in `tests/corpus`.
const CASES: usize = 55;

struct Case {
    name: String,
    pointer: String,
    bytes: Vec<u8>,
    /// What Flink's own classes printed.
    oracle: Value,
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus")
}

fn cases() -> Vec<Case> {
    let folders = std::fs::read_dir(corpus()).unwrap();
    let mut cases: Vec<Case> = folders
        .map(|entry| entry.unwrap().path())
        .filter(|folder| folder.join("_metadata").is_file())
        .map(|folder| {
            let toml = std::fs::read_to_string(folder.join("case.toml")).unwrap();
            let pointer = toml
                .lines()
                .find_map(|line| line.strip_prefix("external_pointer = \""))
                .unwrap_or_else(|| panic!("{} has no external_pointer", folder.display()));
            Case {
                name: folder.file_name().unwrap().to_str().unwrap().to_owned(),
                pointer: pointer.trim_end_matches('"').to_owned(),
                bytes: std::fs::read(folder.join("_metadata")).unwrap(),
                oracle: serde_json::from_slice(&std::fs::read(folder.join("oracle.json")).unwrap()).unwrap(),
            }
        })
        .collect();
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(cases.len() >= CASES, "only {} cases in tests/corpus", cases.len());
    cases
}

fn opened(bytes: &[u8], at: Option<&str>) -> Document {
    match open(bytes.to_vec(), at) {
        Opened::Whole(document) => *document,
        Opened::Not(why) => panic!("{why}"),
    }
}

fn named(name: &str) -> (Document, Case) {
    let case = cases().into_iter().find(|case| case.name == name).unwrap();
    (opened(&case.bytes, Some(&case.pointer)), case)
}

#[test]
fn the_summary_is_the_commands_byte_for_byte() {
    for case in cases() {
        let document = opened(&case.bytes, Some(&case.pointer));
        assert_eq!(
            document.summary_json(),
            summary::json(&case.bytes, Some(&case.pointer)),
            "{}",
            case.name
        );
        let guessed = opened(&case.bytes, None);
        assert_eq!(
            guessed.summary_json(),
            summary::json(&case.bytes, None),
            "{}",
            case.name
        );
    }
}

/// Where Flink says that each file lies, in the one spelling that rows have, and how many handles name it.
fn files_of_flink(case: &Case) -> BTreeMap<String, u64> {
    let mut files: BTreeMap<String, u64> = BTreeMap::new();
    for file in case.oracle["files"].as_array().unwrap() {
        let uri = file["uri"].as_str().unwrap();
        let location = Location::parse_flink_path(uri).unwrap().to_string();
        *files.entry(location).or_default() += file["refs"].as_u64().unwrap();
    }
    files
}

#[test]
fn rows_are_the_handles_that_flink_counts() {
    let mut rows = 0;
    for case in cases() {
        let document = opened(&case.bytes, Some(&case.pointer));
        let mut files: BTreeMap<String, u64> = BTreeMap::new();
        for row in document.handles.all() {
            let location = document.handles.location(row, &document.bytes).to_string();
            *files.entry(location).or_default() += 1;
        }
        assert_eq!(files, files_of_flink(&case), "{}", case.name);
        for row in document.handles.all() {
            let location = document.handles.location(row, &document.bytes).to_string();
            assert_eq!(
                u64::from(document.handles.handles_of(row)),
                files[&location],
                "{}",
                case.name
            );
        }
        rows += document.handles.len();
    }
    assert!(rows >= 1_000, "{rows} rows");
}

#[test]
fn operators_and_trees_add_up_to_the_summary() {
    let mut operators_seen = 0;
    for case in cases() {
        let document = opened(&case.bytes, Some(&case.pointer));
        let operators = document.operators();
        let tree = document.tree(4, "").unwrap();
        assert_eq!(
            tree.bytes,
            operators.iter().map(|o| o.bytes).sum::<u64>(),
            "{}",
            case.name
        );
        adds_up(&tree);
        for (number, operator) in operators.iter().enumerate() {
            operators_seen += 1;
            let of_subtasks: u64 = operator.per_subtask.iter().map(|subtask| subtask.bytes).sum();
            assert_eq!(
                of_subtasks + operator.coordinator_bytes.unwrap_or(0),
                operator.bytes,
                "{}, operator {number}",
                case.name
            );
            let node = tree.children.iter().find(|node| node.key == number.to_string());
            assert_eq!(node.map_or(0, |node| node.bytes), operator.bytes, "{}", case.name);
            let flink = &case.oracle["operators"][number];
            assert_eq!(
                flink["operator_id"].as_str(),
                Some(operator.id.as_str()),
                "{}",
                case.name
            );
            assert_eq!(
                flink["max_parallelism"].as_i64(),
                Some(operator.max_parallelism.into())
            );
            if let Some(node) = node {
                let alone = document.tree(1, &node.key).unwrap();
                assert_eq!(
                    (alone.bytes, alone.handles),
                    (node.bytes, node.handles),
                    "{}",
                    case.name
                );
            }
        }
    }
    assert!(operators_seen >= 150, "{operators_seen} operators");
}

fn adds_up(node: &tree::Node) {
    if node.children.is_empty() {
        return;
    }
    let children: u64 = node.children.iter().map(|child| child.bytes).sum();
    assert_eq!(children + node.others_bytes, node.bytes, "{}", node.key);
    assert!(node.children.len() as u64 <= node.child_count);
    node.children.iter().for_each(adds_up);
}

#[test]
fn key_groups_hold_all_keyed_bytes() {
    let (mut exact, mut spread) = (0, 0);
    for case in cases() {
        let document = opened(&case.bytes, Some(&case.pointer));
        for operator in document.operators() {
            let groups = document.key_groups(operator.number).unwrap();
            let sum: u64 = groups.bytes.iter().sum();
            assert_eq!(sum, groups.exact + groups.spread, "{}", case.name);
            assert_eq!(
                groups.bytes.len(),
                usize::try_from(operator.max_parallelism).unwrap_or(0)
            );
            exact += groups.exact;
            spread += groups.spread;
        }
        assert!(document.key_groups(u32::MAX).is_none());
    }
    assert!(
        exact > 1_000 && spread > 1_000_000,
        "{exact} exact, {spread} spread"
    );
}

/// The rows that a query wants, by looking at each in the simplest way.
fn naive(document: &Document, query: &Query) -> Vec<u32> {
    let location = |number: &u32| {
        let row = &document.handles.all()[*number as usize];
        document.handles.location(row, &document.bytes).to_string()
    };
    let mut rows: Vec<u32> = (0..)
        .zip(document.handles.all())
        .filter(|(number, row)| {
            query
                .text
                .as_ref()
                .is_none_or(|text| location(number).contains(text.as_str()))
                && query.operator.is_none_or(|operator| row.operator == operator)
                && query.subtask.is_none_or(|subtask| row.subtask == subtask)
                && query.role.as_ref().is_none_or(|role| {
                    let of_row = row.role().to_string();
                    of_row == *role || of_row.starts_with(&format!("{role}."))
                })
        })
        .map(|(number, _)| number)
        .collect();
    let mut seen = BTreeSet::new();
    if query.each_object_once {
        rows.retain(|number| seen.insert(document.handles.all()[*number as usize].object));
    }
    let key = |number: &u32| -> (String, String, u64) {
        let row = &document.handles.all()[*number as usize];
        let lies = document.handles.lies(row);
        match query.sort.column {
            Column::At => (String::new(), String::new(), u64::from(*number)),
            Column::Location => {
                let name = String::from_utf8_lossy(row.name(&document.bytes)).into_owned();
                (
                    lies.map_or_else(|| "\u{10FFFF}".to_owned(), |l| l.directory.clone()),
                    name,
                    0,
                )
            }
            Column::Size => (String::new(), String::new(), row.size().map_or(0, |n| n + 1)),
            Column::Operator => (String::new(), String::new(), row.operator.into()),
            Column::Subtask => (
                String::new(),
                String::new(),
                u64::from(row.subtask.wrapping_add(1)),
            ),
            Column::KeyGroup => (
                String::new(),
                String::new(),
                row.key_groups().map_or(0, |groups| u64::from(groups.start) + 1),
            ),
            Column::Role => {
                let role = row.role();
                let order = (role.state, role.materialized, role.part);
                (
                    format!("{:?}", (order.0 as u8, order.1, order.2 as u8)),
                    String::new(),
                    0,
                )
            }
            Column::Handles => (
                String::new(),
                String::new(),
                document.handles.handles_of(row).into(),
            ),
            Column::Directory => (
                lies.map_or_else(|| "\u{10FFFF}".to_owned(), |l| l.job.clone()),
                String::new(),
                0,
            ),
            Column::Status => (String::new(), String::new(), document.status_of(row) as u64),
        }
    };
    rows.sort_by(|a, b| {
        let order = key(a).cmp(&key(b));
        let order = if query.sort.descending {
            order.reverse()
        } else {
            order
        };
        if query.sort.column == Column::At {
            order
        } else {
            order.then(a.cmp(b))
        }
    });
    rows
}

const COLUMNS: [Column; 10] = [
    Column::At,
    Column::Location,
    Column::Size,
    Column::Operator,
    Column::Subtask,
    Column::KeyGroup,
    Column::Role,
    Column::Handles,
    Column::Directory,
    Column::Status,
];

#[test]
fn views_are_what_a_naive_search_and_sort_gives() {
    let mut asked = 0;
    for case in cases() {
        let document = opened(&case.bytes, Some(&case.pointer));
        let first = document
            .handles
            .all()
            .first()
            .map(|row| document.handles.location(row, &document.bytes).to_string());
        let pieces = first.as_ref().map_or(Vec::new(), |location| {
            let (a, b) = (location.len() / 3, location.len() * 2 / 3);
            vec![
                location.clone(),
                location[a..b].to_owned(),
                location[b..].to_owned(),
                "/shared/".to_owned(),
            ]
        });
        let texts =
            pieces
                .into_iter()
                .map(Some)
                .chain([None, Some("a".to_owned()), Some("nowhere".to_owned())]);
        for text in texts {
            for column in COLUMNS {
                for (descending, each_object_once) in [(false, false), (true, false), (true, true)] {
                    let query = Query {
                        sort: Sort { column, descending },
                        text: text.clone(),
                        each_object_once,
                        ..Query::default()
                    };
                    assert_eq!(
                        document.view(&query).rows(),
                        naive(&document, &query),
                        "{}: {query:?}",
                        case.name
                    );
                    asked += 1;
                }
            }
        }
        for operator in 0..3 {
            let query = Query {
                operator: Some(operator),
                role: Some("managed_keyed".to_owned()),
                subtask: Some(1),
                ..Query::default()
            };
            assert_eq!(
                document.view(&query).rows(),
                naive(&document, &query),
                "{}",
                case.name
            );
        }
    }
    assert!(asked >= 5_000, "{asked} views");
}

#[test]
fn windows_have_as_many_cells_as_they_say() {
    for case in cases() {
        let document = opened(&case.bytes, Some(&case.pointer));
        let view = document.view(&Query::default());
        for (from, count) in [
            (0, 10),
            (3, usize::MAX),
            (view.len(), 1),
            (usize::MAX, usize::MAX),
        ] {
            let expected = view.len().saturating_sub(from).min(count);
            let numbers = document.numbers(&view, from, count);
            assert_eq!(numbers.len(), expected * view::NUMBERS.len(), "{}", case.name);
            let texts = document.texts(&view, from, count);
            let lines: Vec<&str> = texts.lines().collect();
            assert_eq!(lines.len(), expected, "{}", case.name);
            assert!(
                lines
                    .iter()
                    .all(|line| line.split('\t').count() == view::TEXTS.len())
            );
        }
    }
}

#[test]
fn every_object_is_found_by_all_its_names_and_needed_by_whom_flink_says() {
    let mut asked = 0;
    for case in cases() {
        let document = opened(&case.bytes, Some(&case.pointer));
        for (location, handles) in files_of_flink(&case).into_iter().take(30) {
            let is_directory = case.oracle["files"].as_array().unwrap().iter().any(|file| {
                file["kind"] == "directory"
                    && Location::parse_flink_path(file["uri"].as_str().unwrap())
                        .unwrap()
                        .to_string()
                        == location
            });
            if is_directory {
                let below = document.referrers(&format!("{location}/some-file"));
                assert_eq!(below.found_by, "directory", "{}: {location}", case.name);
                continue;
            }
            let by_location = document.referrers(&format!("  {location}\n"));
            assert_eq!(
                (by_location.found_by, by_location.handles),
                ("location", handles),
                "{}",
                case.name
            );
            assert_eq!(by_location.objects, std::slice::from_ref(&location));
            assert!(by_location.sentence.contains("can't be restored"));
            let name = location.rsplit('/').next().unwrap();
            let by_name = document.referrers(name);
            assert_eq!(by_name.found_by, "file_name", "{}: {name}", case.name);
            assert!(by_name.handles >= handles);
            if let Some(rest) = location.strip_prefix("s3://") {
                let (bucket, key) = rest.split_once('/').unwrap();
                for other in [
                    key.to_owned(),
                    format!("s3a://{rest}"),
                    format!("https://{bucket}.s3.eu-central-1.amazonaws.com/{key}"),
                    format!("https://s3.eu-central-1.amazonaws.com/{bucket}/{key}?versionId=x"),
                    format!("http://127.0.0.1:9000/{bucket}/{key}"),
                    format!("arn:aws:s3:::{bucket}/{key}"),
                ] {
                    let found = document.referrers(&other);
                    assert_eq!((found.found_by, found.handles), ("location", handles), "{other}");
                }
                let elsewhere = document.referrers(&format!("s3://another-bucket/{key}"));
                assert_eq!(elsewhere.found_by, "nothing");
            }
            asked += 1;
        }
        let own = document.referrers(&format!("{}/_metadata", document.at().unwrap()));
        assert_eq!(own.found_by, "metadata");
        let nobody = document.referrers("s3://nobody/nothing");
        assert_eq!((nobody.found_by, nobody.handles), ("nothing", 0));
        assert!(nobody.sentence.contains("no proof"));
    }
    assert!(asked >= 500, "{asked} objects");
}

#[test]
fn details_and_fields_tell_each_handles_own_bytes() {
    let (mut local, mut rows) = (0, 0);
    for case in cases() {
        let document = opened(&case.bytes, Some(&case.pointer));
        for number in (0..document.handles.len()).step_by(7).take(12) {
            let number = u32::try_from(number).unwrap();
            let detail = document.detail(number).unwrap();
            local += usize::from(detail.local_path.is_some());
            let needs_local = detail.role.ends_with(".shared") || detail.role.ends_with(".private");
            assert_eq!(
                detail.local_path.is_some(),
                needs_local,
                "{} {}",
                case.name,
                detail.role
            );
            let fields = document.fields(detail.bytes.0, detail.bytes.1);
            let first = fields.fields.first().unwrap();
            let last = fields.fields.last().unwrap();
            if detail.names != "directory" {
                assert_eq!((first.at, last.at + last.length), detail.bytes, "{}", case.name);
            }
            let quoted = format!("\"{}\"", detail.written);
            assert!(
                fields.fields.iter().any(|field| field.value == quoted),
                "{}: {quoted}",
                case.name
            );
            assert_eq!(detail.chain.len(), 4);
            rows += 1;
        }
        assert!(document.detail(u32::MAX).is_none());
        let whole = document.fields(0, document.bytes.len());
        if !whole.more {
            let mut at = 0;
            for field in &whole.fields {
                assert_eq!(field.at, at, "{}: every byte belongs to one field", case.name);
                at += field.length;
            }
            assert_eq!(at, document.bytes.len(), "{}", case.name);
        }
    }
    assert!(local >= 50 && rows >= 200, "{local} local names of {rows} rows");
}

mod checks;
mod redaction;
mod whereabouts;
