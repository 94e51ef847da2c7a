//! Moving a `_metadata` file to another root: the strings in it, lengths and all.

use flink_checkpoint::{Damaged, Field, Limits, Span, fields};

/// Rewrites every absolute path below `from` to lie below `to`. Other paths stay. Neither ends in `/`.
///
/// # Errors
/// [`Damaged`]: `metadata` can't be read to its end.
///
/// # Panics
/// If a path becomes longer than the 65,535 bytes that its length field can say.
pub fn rebase(metadata: &[u8], from: &str, to: &str) -> Result<Vec<u8>, Damaged> {
    let mut paths: Vec<Span> = Vec::new();
    fields(metadata, &Limits::default(), &mut |field, span| {
        if matches!(
            field,
            Field::Path | Field::TaskOwnedDirectory | Field::SharedDirectory
        ) {
            paths.push(span);
        }
    })?;
    let mut moved = Vec::with_capacity(metadata.len() + paths.len() * to.len());
    let mut copied = 0;
    for span in paths {
        // Two bytes of length, then the text.
        let Some((_, text)) = span.of(metadata).and_then(<[u8]>::split_first_chunk::<2>) else {
            continue;
        };
        let Some(rest) = text
            .strip_prefix(from.as_bytes())
            .filter(|rest| rest.first().is_none_or(|&b| b == b'/'))
        else {
            continue;
        };
        let length = u16::try_from(to.len() + rest.len()).expect("a path of at most 65,535 bytes");
        moved.extend_from_slice(&metadata[copied..span.start]);
        moved.extend_from_slice(&length.to_be_bytes());
        moved.extend_from_slice(to.as_bytes());
        moved.extend_from_slice(rest);
        copied = span.end;
    }
    moved.extend_from_slice(&metadata[copied..]);
    Ok(moved)
}
