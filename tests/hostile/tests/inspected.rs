//! Files that nobody wrote, of every layout, opened in the inspector: rows, operators, tree, windows and exports agree with what the file was made of.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value;
use stayput_core::inspection::export::Format;
use stayput_core::inspection::redact::Redaction;
use stayput_core::inspection::tree::{Node, NodeKind};
use stayput_core::inspection::view::Query;
use stayput_core::inspection::{Document, Opened, open};
use stayput_hostile::make::{Form, MadeFile, Maker};

fn opened(file: &MadeFile) -> Document {
    match open(file.bytes.clone(), Some("s3://bucket/cp/job/chk-7")) {
        Opened::Whole(document) => *document,
        Opened::Not(why) => panic!("{why}"),
    }
}

/// Every node has the bytes and handles of what is below it. Gives the rows that it found.
fn adds_up(node: &Node, rows: &mut Vec<u32>) {
    if node.kind == NodeKind::Handle {
        rows.extend(node.row);
    }
    if node.child_count == 0 || node.children.is_empty() {
        return;
    }
    assert_eq!(
        node.child_count,
        node.children.len() as u64,
        "{}: children were left out",
        node.name
    );
    let bytes: u64 = node.children.iter().map(|child| child.bytes).sum();
    assert_eq!(node.bytes, bytes + node.others_bytes, "bytes of {}", node.name);
    let handles: u64 = node.children.iter().map(|child| child.handles).sum();
    assert_eq!(node.handles, handles, "handles of {}", node.name);
    for child in &node.children {
        adds_up(child, rows);
    }
}

fn agree(file: &MadeFile) -> usize {
    let document = opened(file);
    let rows = document.handles().all();
    assert_eq!(rows.len(), file.made.len());
    for (row, (role, _, _, operator, subtask)) in rows.iter().zip(&file.made) {
        assert_eq!(row.role().to_string(), *role);
        assert_eq!(row.operator, *operator);
        assert_eq!((row.subtask != u32::MAX).then_some(row.subtask), *subtask);
    }
    let json = |value: &dyn Fn() -> String| -> Value { serde_json::from_str(&value()).unwrap() };
    let operators = json(&|| serde_json::to_string(&document.operators()).unwrap());
    let operators = operators.as_array().unwrap();
    assert_eq!(operators.len(), document.summary().operators.len());
    for (number, operator) in operators.iter().enumerate() {
        let made = file.made.iter().filter(|made| made.3 as usize == number).count();
        assert_eq!(
            operator["handles"].as_u64().unwrap(),
            made as u64,
            "handles of operator {number}"
        );
        let kinds = operator["state_by_kind"].as_object().unwrap().values();
        let sum: u64 = kinds
            .map(|held| held["bytes"].as_u64().unwrap() + held["inlined_bytes"].as_u64().unwrap())
            .sum();
        assert_eq!(
            operator["bytes"].as_u64().unwrap(),
            sum,
            "bytes of operator {number}"
        );
    }
    let mut found = Vec::new();
    let tree = document.tree(4, "").unwrap();
    let inlined = document.handles().inlined().len();
    assert_eq!(tree.handles, (rows.len() + inlined) as u64);
    adds_up(&tree, &mut found);
    found.sort_unstable();
    assert_eq!(found, (0..u32::try_from(rows.len()).unwrap()).collect::<Vec<_>>());
    let view = document.view(&Query::default());
    assert_eq!(view.len(), rows.len());
    let exported = json(&|| document.export(&view, 0, usize::MAX, Format::Json));
    let locations: BTreeSet<&str> = exported
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["location"].as_str().unwrap())
        .collect();
    let objects: BTreeSet<u32> = rows.iter().map(|row| row.object).collect();
    assert_eq!(locations.len(), objects.len(), "each object has one location");
    for row in exported.as_array().unwrap() {
        let asked = row["location"].as_str().unwrap();
        assert_ne!(
            document.referrers(asked).found_by,
            "nothing",
            "{asked} isn't found"
        );
    }
    let redaction = Redaction::of(&document);
    let redacted = json(&|| {
        redaction
            .clone()
            .export(&document, &view, 0, usize::MAX, Format::Json)
    });
    let hidden: BTreeSet<&str> = redacted
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["location"].as_str().unwrap())
        .collect();
    assert_eq!(hidden.len(), locations.len(), "what was told apart still is");
    rows.len()
}

#[test]
fn rows_sums_operators_and_tree_agree_in_files_of_every_layout() {
    let mut runner = TestRunner::new(Config {
        cases: 1_000,
        failure_persistence: None,
        ..Config::default()
    });
    let (mut files, mut rows) = (0, 0);
    let counted = std::cell::RefCell::new((&mut files, &mut rows));
    let any = (0..Form::ALL.len(), prop::collection::vec(any::<u8>(), 0..400));
    runner
        .run(&any, |(form, choices)| {
            let made = Maker::file(Form::ALL[form], &choices);
            let found = agree(&made);
            let mut counted = counted.borrow_mut();
            *counted.0 += 1;
            *counted.1 += found;
            Ok(())
        })
        .unwrap();
    assert!(files >= 1_000 && rows >= 3_000, "{files} files, {rows} rows");
}
