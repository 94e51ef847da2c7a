//! Where a snapshot lies: told by its paths, or by somebody after it was opened.

use super::*;

#[test]
fn where_a_snapshot_lies_is_told_by_its_own_paths() {
    let (mut told, mut right) = (0, 0);
    for case in cases() {
        let document = opened(&case.bytes, None);
        let Some(at) = document.at() else { continue };
        told += 1;
        let said = Location::parse_flink_path(&case.pointer).unwrap();
        right += usize::from(at.to_string() == said.to_string());
    }
    assert!(
        told >= 20 && right * 10 >= told * 7,
        "{right} right of {told} told"
    );
}

#[test]
fn told_afterwards_where_it_lies_it_is_what_it_would_have_been() {
    let (mut moved, mut relative) = (0, 0);
    for case in cases() {
        let at_once = opened(&case.bytes, Some(&case.pointer));
        let mut afterwards = opened(&case.bytes, None);
        afterwards
            .lies_at("s3://elsewhere/00000000000000000000000000000000/chk-1")
            .unwrap();
        assert!(afterwards.lies_at("s3://").is_err());
        afterwards.lies_at(&case.pointer).unwrap();
        assert_same(&case.name, &at_once, &afterwards);
        moved += 1;
        relative += usize::from(at_once.handles.counted().relative > 0);
    }
    assert!(relative >= 5, "{relative} of {moved} have relative handles");
}

fn assert_same(name: &str, one: &Document, other: &Document) {
    assert_eq!(one.summary_json(), other.summary_json(), "{name}");
    let glance = |document: &Document| serde_json::to_string(&document.glance()).unwrap();
    assert_eq!(glance(one), glance(other), "{name}");
    let query = Query {
        sort: Sort {
            column: Column::Location,
            descending: false,
        },
        ..Query::default()
    };
    let (view, other_view) = (one.view(&query), other.view(&query));
    assert_eq!(view, other_view, "{name}");
    let all = view.len();
    assert_eq!(
        one.texts(&view, 0, all),
        other.texts(&other_view, 0, all),
        "{name}"
    );
    assert_eq!(
        one.numbers(&view, 0, all),
        other.numbers(&other_view, 0, all),
        "{name}"
    );
    let tree = |document: &Document| serde_json::to_string(&document.tree(4, "")).unwrap();
    assert_eq!(tree(one), tree(other), "{name}");
}
