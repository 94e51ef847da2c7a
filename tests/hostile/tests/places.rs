//! A snapshot that is told afterwards where it lies is what it would have been if it had been told at once.

use flink_checkpoint::Field as F;
use proptest::prelude::*;
use stayput_core::inspection::view::{Column, Query, Sort};
use stayput_core::inspection::{Document, Opened, open};
use stayput_hostile::make::{Form, Maker};
use stayput_hostile::tokens::Writer;

fn opened(bytes: &[u8], at: Option<&str>) -> Document {
    match open(bytes.to_vec(), at) {
        Opened::Whole(document) => *document,
        Opened::Not(why) => panic!("{why}"),
    }
}

/// Everything that depends on where it lies.
fn shown(document: &Document) -> String {
    let query = Query {
        sort: Sort {
            column: Column::Location,
            descending: false,
        },
        ..Query::default()
    };
    let view = document.view(&query);
    format!(
        "{}\n{}\n{}\n{:?}\n{}",
        document.summary_json(),
        serde_json::to_string(&document.glance()).expect("JSON"),
        document.texts(&view, 0, view.len()),
        document.numbers(&view, 0, view.len()),
        serde_json::to_string(&document.tree(4, "")).expect("JSON"),
    )
}

fn assert_same_afterwards(bytes: &[u8], at: &str) {
    let at_once = shown(&opened(bytes, Some(at)));
    let mut document = opened(bytes, None);
    document
        .lies_at("s3://elsewhere/00000000000000000000000000000000/chk-1")
        .expect("a path");
    document.lies_at(at).expect("a path");
    assert_eq!(shown(&document), at_once);
}

proptest! {
    #[test]
    fn made_files_are_the_same_afterwards(
        form in proptest::sample::select(Form::ALL.to_vec()),
        choices in proptest::collection::vec(any::<u8>(), 0..400),
    ) {
        let made = Maker::file(form, &choices);
        let mut places = vec!["s3://bucket/job/chk-7".to_owned()];
        // Where one of its own files lies.
        places.extend(made.made.iter().find_map(|(_, path, ..)| {
            let (directory, _) = path.rsplit_once('/')?;
            (!directory.ends_with(':') && !directory.ends_with('/')).then(|| directory.to_owned())
        }));
        for at in places {
            if matches!(open(made.bytes.clone(), Some(&at)), Opened::Whole(_)) {
                assert_same_afterwards(&made.bytes, &at);
            }
        }
    }
}

#[test]
fn a_file_that_is_named_both_ways_is_one_object_for_whoever_knows_its_place() {
    let home = "s3://flink-state/checkpoints/00000000000000000000000000000000/chk-7";
    let name = "2f1a2b3c-0000-4000-8000-000000000001";
    let mut w = Writer::header(3, 7);
    w.i32(0).i32(1).raw(&[7; 16]).i32(1).i32(128).u8(0).i32(1).i32(0);
    // No operator state; managed keyed state: one private file by its path, one beside `_metadata`.
    w.i32(0)
        .i32(0)
        .u8(5)
        .i64(7)
        .utf("11112222-3333-4444-5555-666677778888")
        .i32(0)
        .i32(128);
    w.u8(0).i32(0).is(F::PrivateCount).i32(2);
    w.utf("000012.sst").u8(2).i64(9).utf(&format!("{home}/{name}"));
    w.utf("000013.sst").u8(6).utf(name).i64(9);
    w.u8(0).i32(0).i32(0);
    assert_eq!(opened(&w.0, Some(home)).handles().objects(), 1);
    assert_eq!(opened(&w.0, None).handles().objects(), 2);
    assert_same_afterwards(&w.0, home);
}
