//! Answers that leave names out.

use std::cell::RefCell;
use std::rc::Rc;

use stayput_core::inspection;
use stayput_core::inspection::export::Format;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::{View, error};

/// A document's answers without the names of buckets, directories, files and operators. The same name has the same replacement in all of them.
#[wasm_bindgen]
pub struct Redaction {
    pub(crate) document: Rc<RefCell<inspection::Document>>,
    pub(crate) redaction: inspection::redact::Redaction,
}

#[wasm_bindgen]
impl Redaction {
    /// As `Document.summary`.
    pub fn summary(&mut self) -> String {
        self.redaction.summary_json(&self.document.borrow())
    }

    /// As `Document.exportChunk`.
    ///
    /// # Errors
    /// There is no such format: a JSON text is thrown.
    #[wasm_bindgen(js_name = exportChunk)]
    pub fn export_chunk(
        &mut self,
        view: &View,
        from: usize,
        count: usize,
        format: &str,
    ) -> Result<String, String> {
        let format = Format::of(format).ok_or_else(|| error("format", "it is csv, json or text"))?;
        let document = self.document.borrow();
        Ok(self.redaction.export(&document, &view.view, from, count, format))
    }
}
