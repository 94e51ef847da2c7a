//! Names that somebody chose to do harm, in everything that the command prints: one line stays one line, nothing controls the terminal
//! or reads backwards, and JSON says exactly what the name is.

mod command;

use std::fs;
use std::path::{Path, PathBuf};

use command::stayput;
use s3_documents::bucket::Versioning;
use s3_model::{Content, Model, Object};
use serde_json::{Value, json};
use stayput_cli::guard_command::{self, Events, Output, Ports, Prepared, Reach, Task};
use stayput_core::shown::is_unsafe;
use stayput_core::timestamp::Timestamp;
use stayput_guard::settings::Settings;
use stayput_hostile::names::{BYTES, NAMES, metadata};

/// A name that harms nobody.
const HARMLESS: &str = "harmless";

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("hostile-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Tabs part the columns of `refs`, and nothing else may hold one.
fn check_text(what: &str, text: &str) {
    let found = text.find(|c: char| !matches!(c, '\n' | '\t') && is_unsafe(c));
    assert_eq!(found, None, "{what}: {text:?}");
}

/// Without what a name may change: its length.
fn shape(text: &str) -> (usize, usize) {
    (text.lines().count(), text.matches('\t').count())
}

/// Runs the command on a file in a folder. Gives what it prints on both ways.
fn run(arguments: &[&str], file: &Path) -> String {
    let file = file.to_str().unwrap();
    let said = stayput(&[arguments, &[file]].concat());
    let text = said.out + &said.err;
    assert!(!text.is_empty(), "{arguments:?} {file:?} printed nothing");
    text
}

const WAYS: [&[&str]; 7] = [
    &["inspect"],
    &["inspect", "--output", "json"],
    &["inspect", "--output", "oracle"],
    &["refs"],
    &["refs", "--output", "ndjson"],
    &["refs", "--count"],
    &["refs", "--count", "--output", "ndjson"],
];

#[test]
fn no_name_in_a_metadata_reaches_the_terminal_as_it_is() {
    let folder = scratch("metadata");
    let names: Vec<Vec<u8>> = NAMES
        .iter()
        .map(|name| name.as_bytes().to_vec())
        .chain(BYTES.iter().map(|bytes| bytes.to_vec()))
        .chain([
            b"n".repeat(65_000),
            "\u{202e}\u{1b}[2J\n".repeat(8_000).into_bytes(),
        ])
        .collect();
    let write = |name: &[u8]| {
        let path = folder.join("_metadata");
        fs::write(&path, metadata("s3://b/d/", name)).unwrap();
        path
    };
    let expected: Vec<(usize, usize)> = WAYS
        .iter()
        .map(|way| shape(&run(way, &write(HARMLESS.as_bytes()))))
        .collect();
    let mut checked = 0;
    for name in &names {
        let path = write(name);
        for (way, expected) in WAYS.iter().zip(&expected) {
            let text = run(way, &path);
            let what = format!(
                "{way:?} of {:?}",
                String::from_utf8_lossy(&name[..name.len().min(60)])
            );
            check_text(&what, &text);
            // One handle is one line. What is told of directories depends on the slashes, and on what is a location at all.
            let plain = std::str::from_utf8(name).is_ok_and(|name| {
                !name.trim().is_empty()
                    && name
                        .chars()
                        .all(|c| !matches!(c, '/' | '\0') && u32::from(c) <= 0xFFFF)
            });
            if way[0] == "refs" || (way.len() == 1 && plain) {
                assert_eq!(&shape(&text), expected, "{what}: {text}");
            }
            checked += 1;
        }
    }
    assert!(checked >= 370, "only {checked} checked");
}

#[test]
fn json_says_exactly_what_the_name_is() {
    let folder = scratch("json");
    let path = folder.join("_metadata");
    for name in NAMES
        .iter()
        .filter(|name| !name.is_empty() && name.chars().all(|c| c != '\0' && u32::from(c) <= 0xFFFF))
    {
        fs::write(&path, metadata("s3://b/d/", name.as_bytes())).unwrap();
        let text = run(&["refs", "--output", "ndjson"], &path);
        let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(first["path"], format!("s3://b/d/{name}-meta"));
        let text = run(&["inspect", "--output", "json"], &path);
        let document: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["operators"][0]["name"], *name);
        assert_eq!(document["operators"][0]["uid"], *name);
    }
}

#[test]
fn no_name_of_a_file_reaches_the_terminal_as_it_is() {
    let folder = scratch("files");
    let mut checked = 0;
    for name in NAMES
        .iter()
        .filter(|name| !name.is_empty() && !name.contains(['/', '\0']))
    {
        let path = folder.join(format!("f{name}"));
        for bytes in [metadata("s3://b/d/", b"n"), b"neither".to_vec()] {
            fs::write(&path, bytes).unwrap();
            for way in WAYS {
                check_text(&format!("{way:?} of a file {name:?}"), &run(way, &path));
                checked += 1;
            }
        }
        fs::remove_file(&path).unwrap();
        check_text("a file that isn't there", &run(&["inspect"], &path));
        check_text("a story that isn't there", &run(&["replay"], &path));
        check_text(
            "settings that aren't there",
            &run(&["guard", "--events", "-", "--config"], &path),
        );
    }
    assert!(checked >= 400, "only {checked} checked");
}

/// What the guard says of one deleted object of this name, which a checkpoint needs and somebody of this name deleted.
fn guard_on(name: &str, by: &str, output: Output) -> String {
    let start = Timestamp::parse("2026-11-28T10:00:00Z").unwrap();
    let model = Model::new(start);
    let bucket = model.create_bucket("b", Versioning::Enabled);
    let job = "cp/0123456789abcdef0123456789abcdef";
    let directory = format!("{job}/shared/x");
    let bytes = metadata(&format!("s3://b/{directory}"), name.as_bytes());
    bucket.put(&format!("{job}/chk-8/_metadata"), Object::new(bytes.as_slice()));
    let keys: Vec<String> = ["-meta", "-a", "-b"]
        .iter()
        .map(|end| format!("{directory}{name}{end}"))
        .collect();
    for key in &keys {
        bucket.put(key, Object::new(Content::Zeroes(3)));
    }
    bucket.put(&format!("{job}/chk-8/d/{name}"), Object::new(Content::Zeroes(3)));
    let mut events = Vec::new();
    for key in &keys {
        let marker = bucket.delete(key).expect("a versioned bucket");
        let form: String = key.bytes().map(|b| format!("%{b:02X}")).collect();
        let event = json!({"Records": [{
            "eventVersion": "2.1", "eventSource": "aws:s3", "eventName": "ObjectRemoved:DeleteMarkerCreated",
            "eventTime": "2026-11-28T10:00:00Z", "userIdentity": {"principalId": by},
            "s3": {"bucket": {"name": "b"}, "object": {"key": form, "versionId": marker.as_str()}},
        }]});
        events.push(event.to_string());
    }
    // And a line that is no message at all.
    events.push(json!({"Records": [{"eventSource": name}]}).to_string());
    model.advance(std::time::Duration::from_secs(3600));
    let settings = "settle = \"1m\"\n[[roots]]\nuri = \"s3://b/cp/\"\nkind = \"checkpoints\"\n[flink]\nprincipals = [\"AROAFLINK\"]\n";
    let prepared = Prepared {
        settings: Settings::parse(settings).unwrap(),
        task: Task::Events(Events::read(events.join("\n").as_bytes())),
        reach: Reach::Observe,
        output,
    };
    let ports = Ports {
        reading: model.clone(),
        journal: None::<s3_model::ModelJournal>,
        clock: model.clone(),
        copies: model.clone(),
    };
    let mut out = Vec::new();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime
        .block_on(guard_command::run(&prepared, ports, &mut out))
        .unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn no_name_of_an_object_or_a_person_reaches_the_terminal_as_it_is() {
    let mut undos = 0;
    for by in ["AWS:AROAFLINK:s", "AWS:\u{1b}[2J\n\u{202e}:s"] {
        let expected = shape(&guard_on(HARMLESS, by, Output::Text)).0;
        let expected_json = guard_on(HARMLESS, by, Output::Ndjson).lines().count();
        for name in NAMES {
            // S3 takes no such key, and no model should.
            if name.contains('\0') {
                continue;
            }
            let what = format!("guard on {name:?}");
            let text = guard_on(name, by, Output::Text);
            check_text(&what, &text);
            // Flink makes one slash of several, so that such a path means another key.
            let same_key = !name.contains("//");
            if same_key {
                assert_eq!(shape(&text).0, expected, "{what}: {text}");
            }
            let text = guard_on(name, by, Output::Ndjson);
            check_text(&what, &text);
            if same_key {
                assert_eq!(text.lines().count(), expected_json, "{what}: {text}");
            }
            for line in text.lines() {
                let line: Value = serde_json::from_str(line).unwrap();
                if let Some(undo) = line["finding"]["undo"].as_str() {
                    assert!(!undo.contains(is_unsafe), "{what}: {undo:?}");
                    undos += 1;
                }
            }
        }
    }
    assert!(undos >= 30, "only {undos} commands to undo");
}
