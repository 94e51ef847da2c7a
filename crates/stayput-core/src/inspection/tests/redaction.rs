//! Answers without names: no name of the corpus is left, and what was equal still is.

use super::*;
use crate::inspection::export::Format;
use crate::inspection::redact::Redaction;
use crate::layout::checkpoint_id;

/// All texts of a JSON document.
fn texts<'v>(value: &'v Value, into: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => into.push(text),
        Value::Array(list) => list.iter().for_each(|one| texts(one, into)),
        Value::Object(map) => map.values().for_each(|one| texts(one, into)),
        _ => {}
    }
}

/// The parts of paths that somebody chose, and whole names.
fn names(document: &Document) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut paths: Vec<String> = document.at().map(ToString::to_string).into_iter().collect();
    for row in document.handles.all() {
        paths.push(document.handles.location(row, &document.bytes).to_string());
    }
    for path in &paths {
        let (_, parts) = path.split_once(':').unwrap_or(("", path));
        let flinks = |part: &str| {
            ["", "shared", "taskowned", "_metadata"].contains(&part) || checkpoint_id(part).is_some()
        };
        names.extend(parts.split('/').filter(|part| !flinks(part)).map(str::to_owned));
    }
    for operator in &document.summary().operators {
        names.insert(operator.id.clone());
        names.extend(operator.uid.clone());
        names.extend(operator.name.clone());
    }
    names.extend(
        document
            .summary()
            .master_states
            .iter()
            .map(|state| state.name.clone()),
    );
    names
}

#[test]
fn no_name_is_left_and_what_was_equal_still_is() {
    let (mut hidden, mut compared) = (0, 0);
    for case in cases() {
        let document = opened(&case.bytes, Some(&case.pointer));
        let names = names(&document);
        let mut redaction = Redaction::of(&document);
        let summary = redaction.summary_json(&document);
        let view = document.view(&Query::default());
        let all: Vec<String> = [Format::Csv, Format::Json, Format::Text]
            .map(|format| redaction.export(&document, &view, 0, usize::MAX, format))
            .into();
        let summary: Value = serde_json::from_str(&summary).unwrap();
        let rows: Value = serde_json::from_str(&all[1]).unwrap();
        // A directory of the corpus has the name of a feature.
        let mut named = summary.clone();
        named.as_object_mut().unwrap().remove("features");
        let mut said = Vec::new();
        texts(&named, &mut said);
        texts(&rows, &mut said);
        let parts: BTreeSet<&str> = said
            .iter()
            .flat_map(|text| text.split('/'))
            .chain(said.iter().copied())
            .collect();
        for name in &names {
            assert!(!parts.contains(name.as_str()), "{}: {name} is left", case.name);
            // A short name can be a part of any word.
            if name.len() >= 12 {
                assert!(
                    !all.iter().any(|text| text.contains(name.as_str())),
                    "{}: {name} is left",
                    case.name
                );
                assert!(
                    !named.to_string().contains(name.as_str()),
                    "{}: {name} is left",
                    case.name
                );
            }
            hidden += 1;
        }
        // Numbers stay, and so does what is the same.
        let plain: Value = serde_json::from_str(&document.summary_json()).unwrap();
        for field in [
            "/objects/total",
            "/state",
            "/features",
            "/inlined",
            "/checkpoint_id",
            "/releases",
            "/kind",
        ] {
            assert_eq!(
                summary.pointer(field),
                plain.pointer(field),
                "{} {field}",
                case.name
            );
        }
        let plain: Value =
            serde_json::from_str(&document.export(&view, 0, usize::MAX, Format::Json)).unwrap();
        for field in ["location", "directory", "operator", "operator_uid", "operator_id"] {
            let mut same: BTreeMap<String, String> = BTreeMap::new();
            let mut back: BTreeMap<String, String> = BTreeMap::new();
            for (before, after) in plain.as_array().unwrap().iter().zip(rows.as_array().unwrap()) {
                let (before, after) = (before[field].to_string(), after[field].to_string());
                assert_eq!(
                    *same.entry(before.clone()).or_insert_with(|| after.clone()),
                    after,
                    "{} {field}",
                    case.name
                );
                assert_eq!(
                    *back.entry(after).or_insert_with(|| before.clone()),
                    before,
                    "{} {field}",
                    case.name
                );
                compared += 1;
            }
        }
    }
    assert!(
        hidden >= 1_000 && compared >= 9_000,
        "{hidden} names, {compared} comparisons"
    );
}

#[test]
fn report_and_rows_call_a_directory_by_the_same_name() {
    let (document, _) = named("1.14.6-rocks-inc-chain-j2-chk7");
    let mut redaction = Redaction::of(&document);
    let summary = redaction.summary(&document);
    let view = document.view(&Query::default());
    let rows = redaction.export(&document, &view, 0, usize::MAX, Format::Json);
    assert_eq!(summary.objects.by_directory.len(), 2);
    for directory in &summary.objects.by_directory {
        assert!(rows.contains(&directory.directory), "{}", directory.directory);
    }
    // It lies in its own job's directory, and the path still says so.
    let at = summary.at.unwrap().to_string();
    assert!(at.starts_with("file:/") && at.ends_with("/job-1/chk-7"), "{at}");
}
