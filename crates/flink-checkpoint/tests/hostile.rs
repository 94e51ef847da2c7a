//! Damaged files: every prefix, every byte changed. Each gives a result or an error, never a panic, and never takes
//! more memory than four times the file and 64 kB.
//!
//! In its own binary, since the counting allocator counts for all threads: one test, so that nothing runs beside it.

mod support;

use std::ops::ControlFlow;

use flink_checkpoint::{Index, Limits, facts, fields, references};
use peak_alloc::PeakAlloc;
use stayput_hostile::tokens::Writer;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Small files that together hold every kind of record.
const CASES: [&str; 10] = [
    "1.9.3-cross-job-j1-chk1",
    "1.11.4-rocks-inc-sp1",
    "1.14.6-finished-sp1",
    "1.16.3-changelog-heap-chk8",
    "1.18.1-finished-sp1",
    "1.20.5-stop-sp-sp1",
    "2.0.2-merge-noclaim-j1-chk4",
    "2.1.3-stop-sp-sp2",
    "2.3.0-changelog-heap-chk8",
    "s3-1.14.6-filesink-inline-chk2",
];

/// Runs `f` and checks how much memory it took at most.
fn bounded<R>(what: &str, input: usize, f: impl FnOnce() -> R) -> R {
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    let result = f();
    let used = MEMORY.peak_usage().saturating_sub(before);
    assert!(
        used <= 4 * input + 64 * 1024,
        "{what}: {used} bytes of memory for {input} bytes"
    );
    result
}

/// Reads bytes in every way; all ways agree whether they are whole.
fn read(bytes: &[u8]) -> bool {
    let limits = Limits::default();
    let (mut told, mut told_of_partial) = (0u64, 0u64);
    let whole = bounded("references", bytes.len(), || {
        references(bytes, &limits, &mut |_| {
            told += 1;
            ControlFlow::Continue(())
        })
    });
    let index = bounded("index", bytes.len(), || Index::build(bytes, &limits));
    let facts = bounded("facts", bytes.len(), || {
        facts(bytes, &limits, &mut |_| {}).map(|facts| facts.complete)
    });
    let fields = bounded("fields", bytes.len(), || fields(bytes, &limits, &mut |_, _| {}));
    match &whole {
        Ok(complete) => {
            assert_eq!(complete.counts.references(), told);
            assert_eq!(complete, index.as_ref().unwrap().complete());
            assert_eq!(complete, facts.as_ref().unwrap());
            assert_eq!(complete, fields.as_ref().unwrap());
            let snapshot = index.as_ref().unwrap().view(bytes).unwrap();
            stayput_hostile::tree::touch(snapshot);
            let mut from_tree = 0;
            snapshot.references(|_| from_tree += 1);
            assert_eq!(from_tree, told);
        }
        Err(damaged) => {
            for other in [index.map(drop), facts.map(drop), fields.map(drop)] {
                assert_eq!(other.unwrap_err().error, damaged.error);
            }
            assert!(damaged.error.at <= bytes.len());
            assert!(!damaged.to_string().is_empty());
            bounded("partial", bytes.len(), || {
                damaged.partial.references(bytes, |_| {
                    told_of_partial += 1;
                    ControlFlow::Continue(())
                });
            });
            assert_eq!(told_of_partial, told, "a partial reading is the same again");
        }
    }
    whole.is_ok()
}

#[test]
fn truncated_and_changed_files_give_errors_and_take_little_memory() {
    let cases = support::small_corpus();
    let (mut readings, mut still_whole) = (0u64, 0u64);
    for name in CASES {
        let case = cases
            .iter()
            .find(|case| support::name(case) == name)
            .unwrap_or_else(|| panic!("no {name}"));
        let bytes = support::metadata(case);
        assert!(read(&bytes), "{name}");
        for end in 0..bytes.len() {
            assert!(!read(&bytes[..end]), "{name} cut to {end} bytes is read as whole");
        }
        let mut changed = bytes.clone();
        for at in 0..bytes.len() {
            for mask in [0xFF, 1 << (at % 8)] {
                changed[at] ^= mask;
                still_whole += u64::from(read(&changed));
                changed[at] ^= mask;
                readings += 1;
            }
        }
        changed.push(0);
        assert!(!read(&changed), "{name}: a byte behind the end isn't noticed");
        readings += bytes.len() as u64;
    }
    // Most bytes are text, numbers, inlined state: a change there can't be seen.
    assert!(
        readings > 100_000 && still_whole > readings / 3,
        "{readings} readings, {still_whole} whole"
    );
    println!("{readings} damaged files read, {still_whole} of them whole");

    for (what, bytes) in dense() {
        assert!(read(&bytes), "{what}");
    }
}

/// Files of about 1 MB made of the smallest records there are: the most index for the fewest bytes.
fn dense() -> Vec<(&'static str, Vec<u8>)> {
    const MANY: i32 = 200_000;
    let operator = |subtasks: i32| {
        let mut w = Writer::header(3, 1);
        w.i32(0).i32(1).raw(&[1; 16]).i32(1).i32(128).u8(0).i32(subtasks);
        w
    };
    let mut finished = operator(MANY);
    (0..MANY).for_each(|_| {
        finished.i32(-1);
    });
    let mut operators = Writer::header(3, 1);
    operators.i32(0).i32(MANY / 10);
    (0..MANY / 10).for_each(|_| {
        operators.raw(&[1; 16]).i32(1).i32(128).u8(0).i32(-1);
    });
    let mut subtasks = operator(MANY / 10);
    (0..MANY / 10).for_each(|_| {
        subtasks.i32(0).i32(0).i32(0).u8(0).u8(0).i32(0).i32(0);
    });
    let mut shared = operator(1);
    shared
        .i32(0)
        .i32(0)
        .i32(0)
        .u8(5)
        .i64(1)
        .utf("")
        .i32(0)
        .i32(1)
        .u8(0)
        .i32(MANY);
    (0..MANY).for_each(|_| {
        shared.utf("").u8(16);
    });
    shared.i32(0).u8(0).i32(0).i32(0);
    let mut materialized = operator(1);
    materialized
        .i32(0)
        .i32(0)
        .i32(0)
        .u8(14)
        .i32(0)
        .i32(1)
        .i64(0)
        .i32(MANY / 4);
    (0..MANY / 4).for_each(|_| {
        materialized.u8(3).i32(0).i32(0).u8(0);
    });
    materialized.i32(0).i64(0).i64(0).utf("").u8(0).i32(0).i32(0);
    let mut backends = operator(MANY / 10);
    (0..MANY / 10).for_each(|_| {
        backends.i32(0).i32(0).i32(0);
        for _ in 0..2 {
            backends.u8(5).i64(1).utf("").i32(0).i32(1).u8(0).i32(0).i32(0);
        }
        backends.i32(0).i32(0);
    });
    let mut channels = operator(1);
    channels.i32(0).i32(0).i32(0).u8(0).u8(0).i32(MANY / 10);
    (0..MANY / 10).for_each(|_| {
        channels.i32(0).i32(0).i32(0).i32(0).i64(0).u8(0);
    });
    channels.i32(0);
    // As many Java values as the limit allows, each as small as can be: an array of nulls inside the properties.
    let mut java = Writer::header(4, 1);
    java.i32(0)
        .i32(0)
        .raw(&[0xAC, 0xED, 0, 5, 0x75, 0x72])
        .utf("[L")
        .i64(0)
        .u8(2)
        .raw(&[0, 0, 0x78, 0x70]);
    java.i32(100_000);
    (0..100_000).for_each(|_| {
        java.u8(0x70);
    });
    let limits = Limits::default();
    let refused = bounded("java", 0, || {
        references(&java.0, &limits, &mut |_| ControlFlow::Continue(()))
    });
    assert!(refused.unwrap_err().to_string().contains("more than 200 values"));

    vec![
        ("finished subtasks", finished.0),
        ("finished operators", operators.0),
        ("subtasks", subtasks.0),
        ("shared files", shared.0),
        ("materialized handles", materialized.0),
        ("backends", backends.0),
        ("channels", channels.0),
    ]
}
