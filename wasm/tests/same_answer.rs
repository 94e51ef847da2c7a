//! The core compiled to WebAssembly gives the same text as the native one, byte for byte.
//!
//! Needs Node.js and the generated package: `cargo run -p xtask-wasm-bindgen -- check` builds it and runs this.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use stayput_core::inspection;
use stayput_core::inspection::export::Format;
use stayput_core::inspection::rules::Asked;
use stayput_core::timestamp::Timestamp;

/// At least so many cases lie in `tests/corpus`.
const CASES: usize = 55;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/corpus")
}

/// The `_metadata` of every case, in order.
fn cases() -> Vec<PathBuf> {
    let folders = std::fs::read_dir(corpus()).unwrap();
    let mut cases: Vec<PathBuf> = folders
        .map(|entry| entry.unwrap().path().join("_metadata"))
        .filter(|file| file.is_file())
        .collect();
    cases.sort();
    assert!(cases.len() >= CASES, "only {} cases in tests/corpus", cases.len());
    cases
}

/// What Flink was told to load.
fn pointer(metadata: &Path) -> String {
    let toml = std::fs::read_to_string(metadata.with_file_name("case.toml")).unwrap();
    let value = toml
        .lines()
        .find_map(|line| line.strip_prefix("external_pointer = \""))
        .unwrap_or_else(|| panic!("{} has no external_pointer", metadata.display()));
    value.trim_end_matches('"').to_owned()
}

/// One question as a line for the script: the file, how much of it, the byte to flip, the place, and the native answer.
fn question(file: &Path, length: usize, flipped: Option<usize>, at: Option<&str>) -> (String, String) {
    let mut bytes = std::fs::read(file).unwrap();
    bytes.truncate(length);
    if let Some(flipped) = flipped {
        bytes[flipped] ^= 0xFF;
    }
    let native = stayput_core::report::summary::json(&bytes, at);
    let line = serde_json::json!({ "file": file, "length": length, "flipped": flipped, "at": at, "native": native,
        "inspected": inspected(bytes, at) });
    (line.to_string(), native)
}

/// What the inspector says, by the name of the question: the answer to opening it and, of a whole snapshot, everything else.
fn inspected(bytes: Vec<u8>, at: Option<&str>) -> serde_json::Value {
    let mut document = match inspection::open(bytes, at) {
        inspection::Opened::Not(reading) => return serde_json::json!({ "reading": reading }),
        inspection::Opened::Whole(document) => *document,
    };
    let json = |value: serde_json::Result<String>| value.unwrap();
    let query = r#"{"sort":{"column":"location","descending":true},"each_object_once":true}"#;
    let view = document.view(&serde_json::from_str(query).unwrap());
    let listing = "2026-03-01 12:00:00 10 a/b\n";
    let rules =
        r#"{"Rules":[{"ID":"r","Status":"Enabled","Filter":{"Prefix":""},"Expiration":{"Days":30}}]}"#;
    let mut redaction = inspection::redact::Redaction::of(&document);
    let first = document.export(&view, 0, 1, Format::Text);
    let mut answers = serde_json::json!({
        "reading": document.summary_json(),
        "glance": json(serde_json::to_string(&document.glance())),
        "operators": json(serde_json::to_string(&document.operators())),
        "keyGroups": document.key_groups(0).map(|groups| json(serde_json::to_string(&groups))),
        "tree": json(serde_json::to_string(&document.tree(3, "").unwrap())),
        "referrers": json(serde_json::to_string(&document.referrers(&first))),
        "fields": json(serde_json::to_string(&document.fields(0, 500))),
        "texts": document.texts(&view, 0, 100),
        "numbers": document.numbers(&view, 0, 100),
        "detail": document.detail(0).map(|detail| json(serde_json::to_string(&detail))),
        "fieldsOfRow": document.fields_of_row(0).map(|fields| json(serde_json::to_string(&fields))),
        "redacted": redaction.summary_json(&document),
        "redactedCsv": redaction.export(&document, &view, 0, 100, Format::Csv),
        "rules": rules,
        "csv": document.export(&view, 0, 100, Format::Csv),
        "first": first,
        "query": query,
        "listing": listing,
    });
    let listing = inspection::listing::Listing::read(listing.as_bytes(), "a listing").unwrap();
    for (name, listing) in [("forecast", None), ("forecastWith", Some(&listing))] {
        let asked = Asked {
            rules: rules.as_bytes(),
            listing,
            now: Timestamp::from_millis(1_772_452_800_000),
            versioning: None,
        };
        answers[name] = match document.forecast(asked) {
            Ok(foretold) => json(serde_json::to_string(&foretold)).into(),
            Err(e) => serde_json::json!({ "message": e.to_string() }),
        };
    }
    answers["check"] = json(serde_json::to_string(&document.check(&listing))).into();
    answers["compared"] = json(serde_json::to_string(&inspection::compare::compare(&[&document]))).into();
    answers
}

#[test]
fn every_case_whole_cut_and_changed_reads_the_same_in_webassembly() {
    let package = std::env::var_os("STAYPUT_WASM_PACKAGE").map_or_else(
        || Path::new(env!("CARGO_TARGET_TMPDIR")).join("../wasm-package"),
        PathBuf::from,
    );
    let package = package.join("nodejs");
    assert!(
        package.join("stayput_wasm.js").is_file(),
        "{} holds no package: run `cargo run -p xtask-wasm-bindgen -- check`, which builds it first",
        package.display()
    );
    let mut questions = String::new();
    let (mut asked, mut whole, mut damaged, mut refused) = (0, 0, 0, 0);
    for file in cases() {
        let at = pointer(&file);
        let length = std::fs::read(&file).unwrap().len();
        let mut variants = vec![
            (length, None, Some(at.as_str())),
            (length, None, None),
            (length, None, Some("s3:")),
        ];
        // Cut at every tenth of the file, and one byte changed at each.
        for tenth in 0..10 {
            let somewhere = length * tenth / 10;
            variants.push((somewhere, None, Some(at.as_str())));
            variants.push((length, Some(somewhere), Some(at.as_str())));
        }
        for (length, flipped, at) in variants {
            let (line, native) = question(&file, length, flipped, at);
            writeln!(questions, "{line}").unwrap();
            asked += 1;
            whole += usize::from(native.starts_with("{\"reading\":\"whole\""));
            damaged += usize::from(native.starts_with("{\"reading\":\"damaged\""));
            refused += usize::from(native.starts_with("{\"reading\":\"refused\""));
        }
    }
    assert_eq!(asked, whole + damaged + refused);
    assert!(whole >= 2 * CASES && damaged >= 10 * CASES && refused >= CASES);
    let list = Path::new(env!("CARGO_TARGET_TMPDIR")).join("questions.jsonl");
    std::fs::write(&list, questions).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/same_answer.mjs");
    let node = Command::new("node").arg(script).arg(&package).arg(&list).output();
    let output = node
        .unwrap_or_else(|e| panic!("Node.js can't be started ({e}): install it and put node on the PATH"));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(said.trim(), format!("{asked} answers are the same"));
    println!("{asked} answers: {whole} whole, {damaged} damaged, {refused} refused");
}
