//! Views and windows of them.

use std::cell::RefCell;
use std::rc::Rc;

use stayput_core::inspection;
use wasm_bindgen::prelude::wasm_bindgen;

/// Rows of a document in some order.
#[wasm_bindgen]
pub struct View {
    pub(crate) document: Rc<RefCell<inspection::Document>>,
    pub(crate) view: inspection::view::View,
}

#[wasm_bindgen]
impl View {
    /// Number of rows.
    #[wasm_bindgen(getter)]
    pub fn length(&self) -> usize {
        self.view.len()
    }

    /// The names of the columns and of statuses by their numbers, as JSON text: `{"numbers":[…],"texts":[…],"statuses":[{"name":…,"meaning":…}]}`.
    pub fn columns() -> String {
        let statuses: Vec<_> = inspection::check::Status::ALL
            .iter()
            .map(|status| serde_json::json!({ "name": status, "meaning": status.meaning() }))
            .collect();
        serde_json::json!({
            "numbers": inspection::view::NUMBERS,
            "texts": inspection::view::TEXTS,
            "statuses": statuses,
        })
        .to_string()
    }

    /// The numbers of a window, row after row; what isn't known is -1.
    pub fn numbers(&self, from: usize, count: usize) -> Vec<f64> {
        self.document.borrow().numbers(&self.view, from, count)
    }

    /// The texts of a window: rows joined by line ends, cells by tabs. Neither is in any cell, since names are escaped.
    pub fn texts(&self, from: usize, count: usize) -> String {
        self.document.borrow().texts(&self.view, from, count)
    }

    /// Bytes that the handles of all its rows say together; an object counts each time.
    #[wasm_bindgen(getter)]
    pub fn bytes(&self) -> f64 {
        self.document.borrow().bytes_of_view(&self.view)
    }
}
