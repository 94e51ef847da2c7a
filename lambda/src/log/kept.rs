//! The log of a test, kept instead of printed.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use tracing_subscriber::fmt::MakeWriter;

use super::Lines;

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Kept {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

/// What is logged meanwhile, as the function writes it.
pub(crate) fn written(meanwhile: impl FnOnce()) -> String {
    let kept = Kept::default();
    let subscriber = tracing_subscriber::fmt()
        .event_format(Lines)
        .with_writer(kept.clone())
        .finish();
    tracing::subscriber::with_default(subscriber, meanwhile);
    let bytes = kept.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    String::from_utf8(bytes).unwrap()
}
