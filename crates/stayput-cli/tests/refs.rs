//! `stayput refs`: every object that a real checkpoint names.

mod command;

use std::collections::{BTreeMap, BTreeSet};

use command::{Case, cases, metadata, rewritten, stayput, stayput_reading};
use serde_json::Value;
use stayput_core::location::Location;

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// What Flink's classes say of each file must be what the lines say together.
#[test]
fn the_lines_name_exactly_the_files_that_flink_says() {
    let mut handles = 0;
    for case in cases() {
        let said = stayput(&["refs", &case.name, "--output", "ndjson", "--at", &case.pointer]);
        assert_eq!((said.err.as_str(), said.status), ("", 0), "{}", case.name);
        let mut ours: BTreeMap<String, (u64, BTreeSet<String>, i64)> = BTreeMap::new();
        for line in lines(&said.out) {
            let url = line["url"].as_str().unwrap().to_owned();
            let (refs, roles, size) = ours.entry(url).or_insert((0, BTreeSet::new(), 0));
            *refs += 1;
            roles.insert(line["role"].as_str().unwrap().to_owned());
            *size = (*size).max(line["bytes"].as_i64().unwrap_or(0));
            let span = (
                line["span"][0].as_u64().unwrap(),
                line["span"][1].as_u64().unwrap(),
            );
            assert!(span.0 < span.1);
            handles += 1;
        }
        let mut theirs = BTreeMap::new();
        for file in case.oracle["files"].as_array().unwrap() {
            let uri = Location::parse_flink_path(file["uri"].as_str().unwrap())
                .unwrap()
                .to_string();
            let roles = file["roles"]
                .as_array()
                .unwrap()
                .iter()
                .map(|role| role.as_str().unwrap().to_owned());
            let size = file["declared_size"].as_i64().unwrap();
            theirs.insert(uri, (file["refs"].as_u64().unwrap(), roles.collect(), size));
        }
        assert_eq!(ours, theirs, "{}", case.name);
    }
    assert!(handles >= 1500, "only {handles} handles");
}

#[test]
fn columns_are_named_for_people_and_what_other_programs_read_has_no_such_line() {
    let pipe = |case: &Case| stayput(&["refs", &case.name, "--at", &case.pointer]);
    let cases = cases();
    let case = cases
        .iter()
        .find(|case| !pipe(case).out.is_empty())
        .expect("one with handles");
    let piped = pipe(case);
    let asked = stayput(&["refs", &case.name, "--at", &case.pointer, "--header"]);
    let (first, rest) = asked.out.split_once('\n').unwrap();
    assert_eq!(first, "bytes\trole\toperator\tsubtask\tpath");
    assert_eq!(rest, piped.out);
    assert_eq!(
        first.split('\t').count(),
        rest.lines().next().unwrap().split('\t').count()
    );
    // Of several files the first column says which.
    let several = stayput(&["refs", &case.name, &case.name, "--header"]);
    assert!(several.out.starts_with("file\tbytes\t"), "{}", several.out);
    assert_eq!(several.out.matches("bytes\trole").count(), 1);
    // JSON names its fields itself.
    let json = stayput(&["refs", &case.name, "--header", "--output", "ndjson"]);
    assert_eq!(lines(&json.out).len(), rest.lines().count());
}

#[test]
fn text_has_a_line_for_each_handle_in_the_order_of_the_file() {
    for case in cases() {
        let text = stayput(&["refs", &case.name, "--at", &case.pointer]);
        let json = stayput(&["refs", &case.name, "--at", &case.pointer, "--output", "ndjson"]);
        let json = lines(&json.out);
        assert_eq!(text.out.lines().count(), json.len(), "{}", case.name);
        for (line, json) in text.out.lines().zip(json) {
            let cells: Vec<&str> = line.split('\t').collect();
            assert_eq!(cells.len(), 5, "{line}");
            assert_eq!(cells[1], json["role"]);
            assert_eq!(cells[2], json["operator"]);
            assert_eq!(cells[3], json["subtask"].to_string());
            assert_eq!(cells[4], json["url"]);
            let length = match json["length"].as_str().unwrap() {
                "exact" => json["bytes"].to_string(),
                "at_least" => format!(">={}", json["bytes"]),
                "changelog" => format!("~{}", json["bytes"]),
                _ if json["target"] == "directory" => "whole directory".to_owned(),
                _ => "?".to_owned(),
            };
            assert_eq!(cells[0], length);
        }
    }
}

#[test]
fn the_count_is_that_of_the_oracle() {
    let mut bytes = 0;
    for case in cases() {
        let said = stayput(&[
            "refs",
            "--count",
            &case.name,
            "--output",
            "ndjson",
            "--at",
            &case.pointer,
        ]);
        let counted: Value = serde_json::from_str(&said.out).unwrap();
        let totals = &case.oracle["totals"];
        assert_eq!(counted["complete"], true);
        assert_eq!(counted["total"]["objects"], totals["files"], "{}", case.name);
        assert_eq!(
            counted["total"]["bytes"], totals["referenced_bytes"],
            "{}",
            case.name
        );
        assert_eq!(
            counted["named_directory_count"], totals["directories"],
            "{}",
            case.name
        );
        bytes += counted["total"]["bytes"].as_u64().unwrap();
    }
    assert!(bytes > 10_000_000, "only {bytes} bytes");
    let said = stayput(&["refs", "--count", "2.3.0-merge-rocks-j2-chk8"]);
    assert_eq!(
        said.out,
        "36 objects\t1195005 bytes\t108 handles\t13 directories\n"
    );
}

#[test]
fn a_part_is_never_taken_for_the_whole() {
    let bytes = metadata("2.3.0-rocks-inc-chk8");
    let whole = stayput_reading(&["refs", "-"], &bytes);
    let said = stayput_reading(&["refs", "-"], &bytes[..3000]);
    assert_eq!(said.status, 3);
    let (part, all) = (said.out.lines().count(), whole.out.lines().count());
    assert!(part > 0 && part < all, "{part} of {all}");
    assert!(whole.out.starts_with(&said.out));
    assert!(said.err.contains("a part only"), "{}", said.err);

    let said = stayput_reading(&["refs", "-", "--output", "ndjson"], &bytes[..3000]);
    let lines = lines(&said.out);
    let last = lines.last().unwrap();
    assert!(last["unreadable"].as_str().unwrap().contains("ends too early"));
    assert_eq!(last["handles_before"], lines.len() - 1);
    assert_eq!(said.status, 3);

    let said = stayput_reading(&["refs", "-", "--count", "--output", "ndjson"], &bytes[..3000]);
    assert_eq!(
        serde_json::from_str::<Value>(&said.out).unwrap()["complete"],
        false
    );
    assert_eq!(said.status, 3);
}

#[test]
fn several_files_are_told_apart_and_one_that_is_missing_hides_none() {
    let said = stayput(&["refs", "2.3.0-rocks-inc-sp1", "not-there", "2.3.0-rocks-inc-sp2"]);
    assert_eq!(said.status, 3);
    for file in [
        "2.3.0-rocks-inc-sp1/_metadata\t",
        "2.3.0-rocks-inc-sp2/_metadata\t",
    ] {
        assert!(
            said.out.lines().any(|line| line.starts_with(file)),
            "{}",
            said.out
        );
    }
    assert!(said.err.contains("not-there"));
}

#[test]
fn a_hostile_path_stays_on_its_line() {
    // The directory of the job is named in every absolute path.
    let bytes = metadata("2.3.0-rocks-inc-chk8");
    let (from, to) = (&b"checkpoints"[..], "\n\u{1b}[2J\u{9b}31mm".as_bytes());
    let hostile = rewritten(bytes.clone(), from, to);
    let said = stayput_reading(&["refs", "-"], &hostile);
    let whole = stayput_reading(&["refs", "-"], &bytes);
    assert_eq!(said.status, 0);
    assert_eq!(said.out.lines().count(), whole.out.lines().count());
    assert!(said.out.contains("\\u{a}\\u{1b}[2J\\u{9b}31mm"), "{}", said.out);
    assert!(!said.out.contains(['\u{1b}', '\u{9b}']));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    use std::process::{Command, Stdio};
    let mut child = Command::new(env!("CARGO_BIN_EXE_stayput"))
        .args([
            "refs",
            "2.3.0-merge-rocks-j2-chk8",
            "2.3.0-merge-rocks-j1-chk4",
            "2.3.0-rocks-inc-chk8",
            "--output",
            "ndjson",
        ])
        .current_dir(command::corpus())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}
