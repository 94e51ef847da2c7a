//! What must hold of any bytes that are read as `_metadata`.

use std::ops::ControlFlow;

use flink_checkpoint::{Complete, Damaged, Index, Limits, Reference, Visitor, facts, fields, references};

use crate::memory::bounded;
use crate::tree::touch;

/// Of a file of this many bytes the reading takes at most so much.
fn most(bytes: &[u8]) -> usize {
    4 * bytes.len() + 64 * 1024
}

/// Reads bytes in every way. All agree on whether they are whole, and on what they name; errors point into the file;
/// cut off, the file never names anything else. Gives whether they are whole.
///
/// # Panics
/// Something doesn't hold.
pub fn check(bytes: &[u8]) -> bool {
    let (told, whole) = told(bytes);
    // Where it is cut depends on all bytes, so that a fuzzer can reach every place.
    let cut = bytes
        .iter()
        .fold(bytes.len(), |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(usize::from(*byte))
        })
        .checked_rem(bytes.len())
        .unwrap_or(0);
    check_cut(bytes, &told, whole.is_ok(), cut);
    let limits = Limits::default();
    let index = bounded("index", most(bytes), || Index::build(bytes, &limits));
    let beside = bounded("index beside a visitor", most(bytes), || {
        indexed_beside(bytes, usize::MAX)
    });
    let (heard, heard_enough) = (1, bounded("index", most(bytes), || indexed_beside(bytes, 1)));
    let facts = bounded("facts", most(bytes), || {
        facts(bytes, &limits, &mut |_| {}).map(|facts| facts.complete)
    });
    let mut at = 0;
    let fields = bounded("fields", most(bytes), || {
        fields(bytes, &limits, &mut |_, span| {
            assert_eq!(span.start, at, "a field begins where the one before it ends");
            at = span.end;
        })
    });
    assert!(at <= bytes.len());
    match &whole {
        Ok(complete) => {
            let index = index.expect("references were read");
            assert_eq!(complete.counts.references(), told.len() as u64);
            assert_eq!(complete, index.complete());
            assert_eq!(
                beside,
                (Some(complete.clone()), told.len()),
                "one pass tells both"
            );
            let heard = heard.min(told.len());
            assert_eq!(heard_enough, (Some(complete.clone()), heard), "the index goes on");
            assert_eq!(complete, &facts.expect("references were read"));
            assert_eq!(complete, &fields.expect("references were read"));
            assert_eq!(at, bytes.len(), "every byte is part of a field");
            let snapshot = index.view(bytes).expect("the same bytes");
            touch(snapshot);
            let mut of_tree = Vec::new();
            snapshot.references(|reference| of_tree.push(named(reference, bytes.len())));
            assert_eq!(of_tree, told, "the tree names what the visitor was told");
        }
        Err(damaged) => {
            assert!(
                beside.0.is_none() && heard_enough.0.is_none(),
                "an index of damaged bytes"
            );
            check_error(damaged, bytes.len());
            for other in [index.map(drop), facts.map(drop), fields.map(drop)] {
                assert_eq!(other.expect_err("references weren't read").error, damaged.error);
            }
            let mut again = Vec::new();
            bounded("partial", most(bytes) + 2 * size_of_all(&told), || {
                damaged.partial.references(bytes, |reference| {
                    again.push(named(reference, bytes.len()));
                    ControlFlow::Continue(())
                });
            });
            assert_eq!(again, told, "a partial reading is the same again");
        }
    }
    whole.is_ok()
}

/// What a reader was told of one reference, in few bytes.
type Named = (usize, usize, u32, Option<u32>);

fn size_of_all(told: &[Named]) -> usize {
    // A vector that grows has at most twice its length, and the half of that beside it.
    (told.len() + 4) * size_of::<Named>() * 3
}

fn named(reference: &Reference<'_>, length: usize) -> Named {
    let span = reference.span;
    assert!(
        8 <= span.start && span.start < span.end && span.end <= length,
        "{span:?} of {length}"
    );
    assert!(
        reference.target.path().as_bytes().len() < span.end - span.start,
        "the path lies in its handle"
    );
    (span.start, span.end, reference.operator.0, reference.subtask)
}

fn told(bytes: &[u8]) -> (Vec<Named>, Result<Complete, Damaged>) {
    let limits = Limits::default();
    let silent = bounded("references", most(bytes), || {
        references(bytes, &limits, &mut |_| ControlFlow::Continue(()))
    });
    let mut told = Vec::new();
    let whole = references(bytes, &limits, &mut |reference| {
        told.push(named(reference, bytes.len()));
        ControlFlow::Continue(())
    });
    assert_eq!(silent.is_ok(), whole.is_ok());
    (told, whole)
}

fn check_error(damaged: &Damaged, length: usize) {
    assert!(
        damaged.error.at <= length,
        "the error points to byte {} of {length}",
        damaged.error.at
    );
    let text = damaged.to_string();
    assert!(
        !text.is_empty() && text.len() < 2_000,
        "an error of {} bytes",
        text.len()
    );
}

/// A file that was cut: an error, and nothing that the whole doesn't name.
fn check_cut(bytes: &[u8], told_of_whole: &[Named], whole: bool, cut: usize) {
    let (told_of_part, part) = told(&bytes[..cut]);
    match &part {
        // A file of format 3 in a layout that was replaced can by chance be whole in another one, if it is cut in the
        // right place; and what isn't whole as it stands can be whole without its end.
        Ok(complete) => assert!(
            !whole || complete.format_version == 3,
            "cut to {cut} of {} bytes it is still whole",
            bytes.len()
        ),
        Err(damaged) => {
            check_error(damaged, cut);
            if damaged.partial.format_version != Some(3) {
                assert!(
                    told_of_whole.starts_with(&told_of_part),
                    "cut to {cut} of {} bytes it names something else",
                    bytes.len()
                );
            }
        }
    }
}

/// What the index says that was built while a visitor was told of the file, and how many references it was told before it had heard enough.
fn indexed_beside(bytes: &[u8], enough: usize) -> (Option<Complete>, usize) {
    struct Counter {
        told: usize,
        enough: usize,
    }
    impl<'a> Visitor<'a> for Counter {
        fn reference(&mut self, _: &Reference<'a>) -> ControlFlow<()> {
            self.told += 1;
            if self.told == self.enough {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        }
    }
    let mut counter = Counter { told: 0, enough };
    let index = Index::build_and_visit(bytes, &Limits::default(), &mut counter);
    (index.ok().map(|index| index.complete().clone()), counter.told)
}
