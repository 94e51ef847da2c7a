//! Large `_metadata` files that are valid: of many handles, or of much inlined state.

use flink_checkpoint::Field as F;

use crate::tokens::Writer;

/// A `_metadata` of format 3 with one operator of one subtask: `inlined` bytes of operator state lie in the file itself, and its
/// keyed state is these shared files, as RocksDB's incremental checkpoints name them.
///
/// # Panics
/// More than 2 GiB of state, or a path of more than 65,535 bytes.
pub fn metadata(id: i64, inlined: usize, files: &[String]) -> Vec<u8> {
    let int = |n: usize| i32::try_from(n).expect("Java counts no further");
    let mut w = Writer::header(3, id);
    w.0.reserve(inlined + 256);
    w.i32(0).i32(1).raw(&[7; 16]).i32(1).i32(128).u8(0).i32(1).i32(0);
    // Managed operator state: no named state, the bytes inlined.
    w.i32(1)
        .u8(4)
        .i32(0)
        .u8(1)
        .utf("inlined")
        .is(F::InlineLength)
        .i32(int(inlined));
    w.0.resize(w.0.len() + inlined, 0);
    // No raw one; managed keyed state.
    w.i32(0)
        .u8(5)
        .i64(id)
        .utf("11112222-3333-4444-5555-666677778888")
        .i32(0)
        .i32(128);
    w.u8(0).i32(int(files.len()));
    for file in files {
        w.utf("000012.sst").u8(2).i64(1).utf(file);
        // Of so many nobody asks for the pieces.
        w.1.clear();
    }
    // No private files, no raw keyed state, no channels.
    w.i32(0).u8(0).i32(0).i32(0);
    w.0
}

/// The path of the `n`th file below a directory that ends in `/`: named as Flink names them.
pub fn file(directory: &str, n: usize) -> String {
    format!(
        "{directory}{:08x}-0000-4000-8000-{n:012x}",
        n.wrapping_mul(0x9E37_79B1) & 0xFFFF_FFFF
    )
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use flink_checkpoint::{Limits, references};

    use super::*;

    #[test]
    fn a_large_file_is_valid_and_names_what_it_should() {
        let files: Vec<String> = (0..1_000).map(|n| file("s3://b/job/shared/", n)).collect();
        let bytes = metadata(5, 100_000, &files);
        let mut named = Vec::new();
        let complete = references(&bytes, &Limits::default(), &mut |reference| {
            named.push(reference.target.path().to_string());
            ControlFlow::Continue(())
        })
        .expect("a valid file");
        assert_eq!(named, files);
        assert_eq!(
            (complete.checkpoint_id, complete.counts.inline_bytes),
            (5, 100_000)
        );
    }
}
