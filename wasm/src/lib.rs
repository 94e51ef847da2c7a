//! The core of Stayput for the browser: the bytes of a `_metadata` in, the same JSON document as from the command out.
#![warn(missing_docs)]

use wasm_bindgen::prelude::wasm_bindgen;

/// Reads a `_metadata` and gives the document of [`stayput_core::report::summary`] as JSON text: `reading` is `whole`, `damaged` (with
/// offset and what was read before) or `refused` (`at` is no location).
///
/// `at` says where the checkpoint lies, as a Flink path: `s3://bucket/…/chk-8`. Nothing is fetched from there.
#[wasm_bindgen]
pub fn parse_and_summarise(bytes: &[u8], at: Option<String>) -> String {
    stayput_core::report::summary::json(bytes, at.as_deref())
}
