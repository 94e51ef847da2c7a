//! The bytes of an operator state, as far as elements of list states can be found in them.

use std::io::Read as _;

use super::{SinkError, SinkErrorKind};

/// Before every blob: the version of `OperatorBackendSerializationProxy`, and since 6 (Flink 1.18) whether the rest is compressed.
const WITH_COMPRESSION: i32 = 6;
/// What begins a Snappy stream in the framing format. The offsets are those of chunks behind it.
const STREAM_IDENTIFIER: &[u8; 10] = b"\xff\x06\x00\x00sNaPpY";

/// The elements of a list state of bytes (`byte[]`), each read when it is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Elements<'a> {
    blob: &'a [u8],
    compressed: bool,
}

/// Finds out how the bytes of an operator state are written.
///
/// # Errors
/// They are too short, or of a version that isn't known here.
pub fn elements(blob: &[u8]) -> Result<Elements<'_>, SinkError> {
    let error = |kind| SinkError {
        kind,
        at: 0,
        reading: "an operator state",
    };
    let too_short = || error(SinkErrorKind::TooShort);
    let version = blob.first_chunk::<4>().ok_or_else(too_short)?;
    let compressed = match i32::from_be_bytes(*version) {
        1..WITH_COMPRESSION => false,
        WITH_COMPRESSION => *blob.get(4).ok_or_else(too_short)? != 0,
        other => return Err(error(SinkErrorKind::Version(other))),
    };
    Ok(Elements { blob, compressed })
}

impl Elements<'_> {
    /// The element that begins at an offset of its state in `_metadata`. An element is as long as itself says, and never longer than `at_most`.
    ///
    /// # Errors
    /// The offset or the length lies outside the blob or can't be; the compressed bytes are damaged, as those of Flink 1.18.0 and 1.18.1 are, which took
    /// offsets before it flushed.
    pub fn at(&self, offset: i64, at_most: usize) -> Result<Vec<u8>, SinkError> {
        let error = |kind| SinkError {
            kind,
            at: usize::try_from(offset).unwrap_or_default(),
            reading: "an operator state",
        };
        let from = usize::try_from(offset).map_err(|_| error(SinkErrorKind::OutOfRange(offset)))?;
        let rest = self
            .blob
            .get(from..)
            .ok_or_else(|| error(SinkErrorKind::OutOfRange(offset)))?;
        let length = |bytes: [u8; 4]| {
            let n = i32::from_be_bytes(bytes);
            usize::try_from(n)
                .ok()
                .filter(|n| *n <= at_most)
                .ok_or_else(|| error(SinkErrorKind::OutOfRange(n.into())))
        };
        if !self.compressed {
            let (n, rest) = rest
                .split_first_chunk::<4>()
                .ok_or_else(|| error(SinkErrorKind::TooShort))?;
            let element = rest
                .get(..length(*n)?)
                .ok_or_else(|| error(SinkErrorKind::TooShort))?;
            return Ok(element.to_vec());
        }
        let damaged = |_| error(SinkErrorKind::Compression);
        let mut stream = snap::read::FrameDecoder::new(STREAM_IDENTIFIER.chain(rest));
        let mut n = [0; 4];
        stream.read_exact(&mut n).map_err(damaged)?;
        let n = length(n)?;
        let mut element = Vec::new();
        let wanted = u64::try_from(n).unwrap_or(u64::MAX);
        // Grows as bytes come: nothing is allocated for a length that the blob only claims.
        let got = stream.take(wanted).read_to_end(&mut element).map_err(damaged)?;
        if got < n {
            return Err(error(SinkErrorKind::TooShort));
        }
        Ok(element)
    }
}
