//! A guess what a file is that is no `_metadata`: people point at the wrong object.

use std::fmt;

/// What a file seems to be, from its first and last bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LooksLike {
    /// No bytes at all.
    Empty,
    /// Only a beginning of the magic number.
    TruncatedMetadata,
    /// An SST file of RocksDB or ForSt.
    Sst,
    /// A handle as HA stores keep it in ZooKeeper or a ConfigMap.
    HaPointer,
    /// A `completedCheckpoint…` object of an HA storage directory.
    CompletedCheckpoint,
    /// Another Java object stream.
    JavaObjects,
    /// gzip.
    Gzip,
    /// A zip archive, so is a jar.
    Zip,
    /// zstd.
    Zstd,
    /// JSON or XML: often an error page of an object store.
    Text,
    /// Nothing known.
    Unknown {
        /// The first four bytes, zeros behind the end.
        first: [u8; 4],
    },
}

impl LooksLike {
    /// Guesses from the bytes of a whole file; cheap, looks only at both ends.
    pub fn guess(bytes: &[u8]) -> LooksLike {
        // The footer of RocksDB's block-based tables ends with this number, little-endian.
        const SST: [u8; 8] = 0x88e2_41b7_85f4_cff7_u64.to_le_bytes();
        let head = &bytes[..bytes.len().min(1024)];
        let has = |text: &[u8]| head.windows(text.len()).any(|window| window == text);
        match bytes {
            [] => LooksLike::Empty,
            [0x49] | [0x49, 0x60] | [0x49, 0x60, 0x67] => LooksLike::TruncatedMetadata,
            _ if bytes.ends_with(&SST) => LooksLike::Sst,
            [0xAC, 0xED, 0, 5, ..] if has(b"RetrievableStreamStateHandle") => LooksLike::HaPointer,
            [0xAC, 0xED, 0, 5, ..] if has(b"checkpoint.CompletedCheckpoint") => {
                LooksLike::CompletedCheckpoint
            }
            [0xAC, 0xED, 0, 5, ..] => LooksLike::JavaObjects,
            [0x1F, 0x8B, ..] => LooksLike::Gzip,
            [b'P', b'K', 3, 4, ..] => LooksLike::Zip,
            [0x28, 0xB5, 0x2F, 0xFD, ..] => LooksLike::Zstd,
            [b'{' | b'<' | b'[', ..] if head.is_ascii() => LooksLike::Text,
            _ => {
                let mut first = [0; 4];
                for (to, from) in first.iter_mut().zip(bytes) {
                    *to = *from;
                }
                LooksLike::Unknown { first }
            }
        }
    }
}

impl fmt::Display for LooksLike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LooksLike::Empty => f.write_str("it is empty"),
            LooksLike::TruncatedMetadata => f.write_str("it ends within the magic number"),
            LooksLike::Sst => f.write_str("it looks like an SST file of RocksDB or ForSt"),
            LooksLike::HaPointer => f.write_str(
                "it looks like a state handle from an HA store; the object that it names has the checkpoint",
            ),
            LooksLike::CompletedCheckpoint => {
                f.write_str("it looks like a completedCheckpoint object of an HA storage directory")
            }
            LooksLike::JavaObjects => f.write_str("it looks like a Java object stream"),
            LooksLike::Gzip => f.write_str("it looks like gzip; unpack it first"),
            LooksLike::Zip => f.write_str("it looks like a zip archive or jar"),
            LooksLike::Zstd => f.write_str("it looks like zstd; unpack it first"),
            LooksLike::Text => f.write_str("it looks like a JSON, XML or HTML text, maybe an error answer"),
            LooksLike::Unknown { first: [a, b, c, d] } => {
                write!(
                    f,
                    "it begins with {a:02x} {b:02x} {c:02x} {d:02x} instead of 49 60 67 2d"
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::LooksLike;

    #[test]
    fn the_wrong_object_is_named() {
        assert_eq!(LooksLike::guess(b""), LooksLike::Empty);
        assert_eq!(LooksLike::guess(b"\x49\x60"), LooksLike::TruncatedMetadata);
        assert_eq!(
            LooksLike::guess(b"...\xf7\xcf\xf4\x85\xb7\x41\xe2\x88"),
            LooksLike::Sst
        );
        assert_eq!(LooksLike::guess(b"\x1f\x8b\x08"), LooksLike::Gzip);
        assert_eq!(LooksLike::guess(b"PK\x03\x04"), LooksLike::Zip);
        assert_eq!(LooksLike::guess(b"\xac\xed\x00\x05sr"), LooksLike::JavaObjects);
        assert_eq!(LooksLike::guess(b"<Error><Code>NoSuchKey"), LooksLike::Text);
        assert_eq!(LooksLike::guess(b"ab"), LooksLike::Unknown { first: *b"ab\0\0" });
    }
}
