//! An object's bytes, chunk by chunk into one buffer.

use aws_sdk_s3::primitives::ByteStream;
use stayput_guard::port::{PortError, PortErrorKind};

use crate::failure::{Call, in_words};

/// Reads to the end. `length` is what the answer's head promises; the buffer is that long from the beginning, so that the bytes are
/// in memory once.
pub(crate) async fn collect(
    call: Call<'_>,
    mut stream: ByteStream,
    length: Option<i64>,
    max_bytes: u64,
) -> Result<Vec<u8>, PortError> {
    let promised = length.and_then(|length| u64::try_from(length).ok());
    if let Some(size) = promised.filter(|size| *size > max_bytes) {
        return Err(call.error(PortErrorKind::TooLarge { size }));
    }
    let mut bytes = Vec::new();
    if let Some(size) = promised {
        let room = usize::try_from(size)
            .ok()
            .map(|size| bytes.try_reserve_exact(size));
        if !matches!(room, Some(Ok(()))) {
            return Err(call
                .error(PortErrorKind::TooLarge { size })
                .because("there isn't so much memory"));
        }
    }
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|e| {
            call.nonsense(format!(
                "the body broke off after {} bytes: {}",
                bytes.len(),
                in_words(&e)
            ))
        })?;
        let size = (bytes.len() as u64).saturating_add(chunk.len() as u64);
        if size > promised.unwrap_or(max_bytes) {
            return Err(match promised {
                Some(promised) => call.nonsense(format!("more than the {promised} bytes that it promised")),
                None => call.error(PortErrorKind::TooLarge { size }),
            });
        }
        bytes.extend_from_slice(&chunk);
    }
    match promised {
        Some(promised) if promised != bytes.len() as u64 => Err(call.nonsense(format!(
            "the body has {} bytes of the {promised} that it promised",
            bytes.len()
        ))),
        _ => Ok(bytes),
    }
}
