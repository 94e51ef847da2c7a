//! Arbitrary bytes as `_metadata`.
#![no_main]

use std::ops::ControlFlow;

use flink_checkpoint::{Index, Limits, Snapshot, facts, fields, references};
use libfuzzer_sys::fuzz_target;
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

fn bounded<R>(input: usize, f: impl FnOnce() -> R) -> R {
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    let result = f();
    let used = MEMORY.peak_usage().saturating_sub(before);
    assert!(
        used <= 4 * input + 64 * 1024,
        "{used} bytes of memory for {input} bytes"
    );
    result
}

/// Asks for everything in the tree; gives the number of references in it.
fn touch(snapshot: Snapshot<'_>) -> u64 {
    for operator in snapshot.operators() {
        for subtask in operator.subtasks() {
            assert!(operator.span.start < subtask.span.start && subtask.span.end <= operator.span.end);
            for state in [subtask.managed_operator(), subtask.raw_operator()]
                .into_iter()
                .flatten()
            {
                assert_eq!(state.states().count(), state.head.state_count);
            }
            for state in subtask.input_channels().chain(subtask.result_subpartitions()) {
                state
                    .channels()
                    .for_each(|channel| drop(channel.offsets.iter().max()));
            }
        }
    }
    let mut n = 0;
    snapshot.references(|reference| {
        assert!(!reference.target.path().to_string().contains('\n'));
        n += 1;
    });
    n
}

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits::default();
    let mut told = 0;
    let whole = bounded(bytes.len(), || {
        references(bytes, &limits, &mut |_| {
            told += 1;
            ControlFlow::Continue(())
        })
    });
    let index = bounded(bytes.len(), || Index::build(bytes, &limits));
    let facts = bounded(bytes.len(), || {
        facts(bytes, &limits, &mut |_| {}).map(|facts| facts.complete)
    });
    let mut at = 0;
    let fields = bounded(bytes.len(), || {
        fields(bytes, &limits, &mut |_, span| {
            assert_eq!(span.start, at);
            at = span.end;
        })
    });
    match whole {
        Ok(complete) => {
            let index = index.expect("references were read");
            assert_eq!(&complete, index.complete());
            assert_eq!(complete, facts.expect("references were read"));
            assert_eq!(complete, fields.expect("references were read"));
            assert_eq!(at, bytes.len());
            assert_eq!(touch(index.view(bytes).expect("the same bytes")), told);
        }
        Err(damaged) => {
            let _ = damaged.to_string();
            for other in [index.map(drop), facts.map(drop), fields.map(drop)] {
                assert_eq!(other.expect_err("references weren't read").error, damaged.error);
            }
            let mut again = 0;
            damaged.partial.references(bytes, |_| {
                again += 1;
                ControlFlow::Continue(())
            });
            assert_eq!(again, told);
        }
    }
});
