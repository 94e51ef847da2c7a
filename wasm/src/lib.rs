//! The core of Stayput for the browser: the bytes of a `_metadata` in, documents and windows of rows out.
//!
//! A thin layer: what is said here lies in `stayput_core::inspection`, where it is tested. Small answers are JSON text, windows of rows are
//! typed arrays and joined text. One worker should own the module, since a document is as large as its file.
#![warn(missing_docs)]

use std::cell::RefCell;
use std::rc::Rc;

use stayput_core::inspection;
use wasm_bindgen::prelude::wasm_bindgen;

mod document;
mod listing;
mod redaction;
mod upload;
mod view;

pub use document::Document;
pub use listing::Listing;
pub use redaction::Redaction;
pub use upload::{Opened, Upload};
pub use view::View;

/// Reads a `_metadata` and gives the document of [`stayput_core::report::summary`] as JSON text: `reading` is `whole`, `damaged` (with
/// offset and what was read before) or `refused` (`at` is no location).
///
/// `at` says where the checkpoint lies, as a Flink path: `s3://bucket/…/chk-8`. Nothing is fetched from there.
#[wasm_bindgen]
pub fn parse_and_summarise(bytes: &[u8], at: Option<String>) -> String {
    stayput_core::report::summary::json(bytes, at.as_deref())
}

/// The version of this package.
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// Short explanations of terms, as a JSON object: term to text.
#[wasm_bindgen(js_name = explainTerms)]
pub fn explain_terms() -> String {
    inspection::terms::json()
}

/// Says where an entry of an HA store points to, as JSON text. `bytes`: a znode, a ConfigMap as JSON, the base64 text in it, or an object of the HA
/// storage directory. `undefined`: it is nothing of the kind.
#[wasm_bindgen(js_name = readPointer)]
pub fn read_pointer(bytes: &[u8]) -> Option<String> {
    inspection::pointer::read(bytes).map(|pointers| json(&pointers))
}

/// What was kept, added and dropped between documents, in the order of their checkpoint ids, and which one brought what is still needed, as JSON
/// text. `documents` stay usable.
#[wasm_bindgen]
pub struct Comparing {
    documents: Vec<Rc<RefCell<inspection::Document>>>,
}

#[wasm_bindgen]
impl Comparing {
    /// Begins with no document.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Comparing {
        Comparing {
            documents: Vec::new(),
        }
    }

    /// Adds one; it stays usable.
    pub fn add(&mut self, document: &Document) {
        self.documents.push(Rc::clone(&document.inner));
    }

    /// The comparison, as JSON text.
    pub fn compare(&self) -> String {
        let documents: Vec<_> = self.documents.iter().map(|document| document.borrow()).collect();
        let documents: Vec<&inspection::Document> = documents.iter().map(|document| &**document).collect();
        json(&inspection::compare::compare(&documents))
    }
}

impl Default for Comparing {
    fn default() -> Self {
        Self::new()
    }
}

pub(crate) fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|e| error("internal", &e.to_string()))
}

/// What is thrown: JSON text with a code for programs and a message for people.
pub(crate) fn error(code: &str, message: &str) -> String {
    serde_json::json!({ "code": code, "message": message }).to_string()
}
