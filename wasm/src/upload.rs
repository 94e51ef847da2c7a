//! A file that comes in pieces, and what came of it.

use std::cell::RefCell;
use std::rc::Rc;

use stayput_core::inspection;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::{Document, error};

/// A file that is being read. Its memory is taken at once, so that a file that doesn't fit is told before anything is read.
#[wasm_bindgen]
pub struct Upload {
    bytes: Vec<u8>,
    length: usize,
}

#[wasm_bindgen]
impl Upload {
    /// Takes memory for a file of `length` bytes.
    ///
    /// # Errors
    /// It doesn't fit: a JSON text with `code` `does_not_fit` and `message` is thrown.
    #[wasm_bindgen(constructor)]
    pub fn new(length: f64) -> Result<Upload, String> {
        let too_large = || {
            let message = format!(
                "a file of {length} bytes doesn't fit into the memory that this page can have. List what it names with `stayput refs`."
            );
            error("does_not_fit", &message)
        };
        // Sizes of files are exact in JavaScript's numbers; what is negative or no number becomes 0.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked right below"
        )]
        let wanted = length as u64;
        let length = usize::try_from(wanted).map_err(|_| too_large())?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(length).map_err(|_| too_large())?;
        Ok(Upload { bytes, length })
    }

    /// Adds the next piece.
    ///
    /// # Errors
    /// There are more bytes than the file was said to have: it was changed meanwhile.
    pub fn push(&mut self, chunk: &[u8]) -> Result<(), String> {
        if chunk.len() > self.length - self.bytes.len() {
            return Err(error(
                "file_changed",
                "the file is longer than it was said to be: it was changed while it was read. Open it again.",
            ));
        }
        self.bytes.extend_from_slice(chunk);
        Ok(())
    }

    /// How many bytes have come.
    #[wasm_bindgen(getter)]
    pub fn received(&self) -> usize {
        self.bytes.len()
    }

    /// Reads what has come. `at` says where the snapshot lies, as a Flink path: `s3://bucket/…/chk-8`.
    pub fn finish(self, at: Option<String>) -> Opened {
        match inspection::open(self.bytes, at.as_deref()) {
            inspection::Opened::Whole(document) => Opened {
                reading: document.summary_json(),
                document: Some(Document {
                    inner: Rc::new(RefCell::new(*document)),
                }),
            },
            inspection::Opened::Not(reading) => Opened {
                reading,
                document: None,
            },
        }
    }
}

/// What came of reading a file.
#[wasm_bindgen]
pub struct Opened {
    reading: String,
    document: Option<Document>,
}

#[wasm_bindgen]
impl Opened {
    /// What came of it, as JSON text: `reading` is `whole` (then the rest is [`Document::summary`]), `damaged`, `refused`, or `not_metadata`
    /// with `looks_like`, `sentence`, `meaning` and `what_next`.
    pub fn reading(&self) -> String {
        self.reading.clone()
    }

    /// The snapshot, if it was read to its end; the first call takes it.
    pub fn document(&mut self) -> Option<Document> {
        self.document.take()
    }
}
