//! What the S3 writers keep of one file: an open multipart upload with its parts, and a tail.

use super::bytes::Bytes;
use super::{Recoverable, SinkError, SinkErrorKind};

/// `S3RecoverableSerializer`, little-endian.
const HADOOP: u32 = 0x9876_1432;
/// The only version of both serializers.
const VERSION: i32 = 1;
/// S3 has no more parts in one upload.
const MAX_PARTS: i32 = 10_000;

/// A multipart upload that a sink has begun. The bucket isn't in it: it is that of the file's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upload {
    /// Which writer.
    pub writer: Writer,
    /// The key of the object that it becomes, literally.
    pub key: String,
    /// The id of the upload.
    pub upload_id: String,
    /// The parts that the checkpoint counts on, in order. More can have been uploaded since.
    pub parts: Vec<Part>,
    /// The length of these parts together, in bytes.
    pub bytes_in_parts: u64,
    /// The bytes after the last part, in an object of their own.
    pub tail: Option<Tail>,
}

/// Which of Flink's S3 file systems wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Writer {
    /// `flink-s3-fs-hadoop`, since 1.7.
    Hadoop,
    /// `flink-s3-fs-native`, since 2.3.
    Native,
}

/// A part of a multipart upload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its number, from 1.
    pub number: u32,
    /// Its ETag: without quotes from the Hadoop-based writer, with quotes from the native one.
    pub etag: String,
}

/// The bytes after the last full part, in an object of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tail {
    /// Its key, literally, in the bucket of the file.
    pub key: String,
    /// Its length in bytes: another one fails the restore (Hadoop-based writer).
    pub bytes: u64,
}

/// Reads what a file system keeps of a file. `scheme` is that of the file, if it is known.
pub(super) fn read_recoverable(
    version: i32,
    bytes: Bytes<'_>,
    scheme: Option<&str>,
) -> Result<Recoverable, SinkError> {
    if scheme.is_some_and(|scheme| !matches!(scheme, "s3" | "s3a" | "s3n" | "s3p")) {
        return Ok(Recoverable::Elsewhere);
    }
    let hadoop = bytes.rest().starts_with(&HADOOP.to_le_bytes());
    if version != VERSION {
        // Other file systems count their versions too.
        let on_s3 = hadoop || scheme.is_some();
        return if on_s3 {
            bytes.unknown_version(version)
        } else {
            Ok(Recoverable::Elsewhere)
        };
    }
    if hadoop {
        return by_hadoop(bytes.of("the upload of the Hadoop-based S3 writer")).map(Recoverable::Upload);
    }
    match (native(bytes.of("the upload of the native S3 writer")), scheme) {
        (Ok(upload), _) => Ok(Recoverable::Upload(upload)),
        // It isn't said that the file lies on S3, so it is one of another file system.
        (Err(_), None) => Ok(Recoverable::Elsewhere),
        (Err(error), Some(_)) => Err(error),
    }
}

/// Reads what an S3 writer keeps of a file, without any wrapper around it.
///
/// # Errors
/// It is damaged, or not that of an S3 writer of Flink.
pub fn read_upload(bytes: &[u8]) -> Result<Upload, SinkError> {
    let bytes = Bytes::new(bytes, "the upload of an S3 writer");
    match read_recoverable(VERSION, bytes, Some("s3"))? {
        Recoverable::Upload(upload) => Ok(upload),
        Recoverable::Elsewhere => Err(SinkError {
            kind: SinkErrorKind::Magic(0),
            at: 0,
            reading: "the upload of an S3 writer",
        }),
    }
}

fn by_hadoop(mut bytes: Bytes<'_>) -> Result<Upload, SinkError> {
    bytes.take(4)?;
    let text = |bytes: &mut Bytes<'_>| {
        let n = bytes.i32_little()?;
        let n = bytes.length(n)?;
        let text = bytes.take(n)?;
        String::from_utf8(text.to_vec()).map_err(|_| bytes.error(SinkErrorKind::Text))
    };
    let key = text(&mut bytes)?;
    let upload_id = text(&mut bytes)?;
    let n = bytes.i32_little()?;
    let mut parts = Vec::new();
    for _ in 0..bytes.length(n)? {
        let number = bytes.i32_little()?;
        let etag = text(&mut bytes)?;
        parts.push(part(&bytes, number, etag, &parts)?);
    }
    let bytes_in_parts = bytes.i64_little()?;
    let bytes_in_parts = bytes.unsigned(bytes_in_parts)?;
    let tail_key = text(&mut bytes)?;
    let tail_length = bytes.i64_little()?;
    let tail = match (tail_key.is_empty(), u64::try_from(tail_length)) {
        (true, Err(_)) => None,
        (false, Ok(length)) => Some(Tail {
            key: tail_key,
            bytes: length,
        }),
        (true, Ok(_)) | (false, Err(_)) => return Err(bytes.error(SinkErrorKind::OutOfRange(tail_length))),
    };
    bytes.end()?;
    Ok(Upload {
        writer: Writer::Hadoop,
        key,
        upload_id,
        parts,
        bytes_in_parts,
        tail,
    })
}

fn native(mut bytes: Bytes<'_>) -> Result<Upload, SinkError> {
    let key = bytes.utf()?;
    let upload_id = bytes.utf()?;
    let bytes_in_parts = bytes.i64()?;
    let bytes_in_parts = bytes.unsigned(bytes_in_parts)?;
    let n = bytes.i32()?;
    let mut parts = Vec::new();
    for _ in 0..bytes.length(n)? {
        let number = bytes.i32()?;
        let etag = bytes.utf()?;
        parts.push(part(&bytes, number, etag, &parts)?);
    }
    let tail = if bytes.bool()? {
        let key = bytes.utf()?;
        let length = bytes.i64()?;
        let length = bytes.unsigned(length)?;
        Some(Tail { key, bytes: length })
    } else {
        None
    };
    bytes.end()?;
    Ok(Upload {
        writer: Writer::Native,
        key,
        upload_id,
        parts,
        bytes_in_parts,
        tail,
    })
}

/// Numbers rise: whatever else has such bytes isn't a list of parts.
fn part(bytes: &Bytes<'_>, number: i32, etag: String, before: &[Part]) -> Result<Part, SinkError> {
    let after = before.last().map_or(0, |part| part.number);
    match u32::try_from(number) {
        Ok(n) if n > after && number <= MAX_PARTS => Ok(Part { number: n, etag }),
        _ => Err(bytes.error(SinkErrorKind::OutOfRange(number.into()))),
    }
}
