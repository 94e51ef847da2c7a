//! A snapshot that was read to its end.

use std::cell::RefCell;
use std::rc::Rc;

use stayput_core::inspection;
use stayput_core::inspection::export::Format;
use stayput_core::inspection::rules::{Asked, Versioning};
use stayput_core::timestamp::Timestamp;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::{Listing, Redaction, View, error, json};

/// A snapshot that was read to its end. What isn't said to throw never does; what there isn't is `undefined`.
#[wasm_bindgen]
pub struct Document {
    pub(crate) inner: Rc<RefCell<inspection::Document>>,
}

#[wasm_bindgen]
impl Document {
    /// The snapshot at a glance, as JSON text: the same document as `stayput inspect --output json` prints (there with the file's name
    /// before it).
    pub fn summary(&self) -> String {
        self.inner.borrow().summary_json()
    }

    /// The same snapshot seen from where somebody says that it lies, a Flink path: as if it had been opened with that. What a check found is
    /// forgotten, and views must be made again.
    ///
    /// # Errors
    /// It is no path: a JSON text with `code` `place` and `message` is thrown, and nothing is changed.
    #[wasm_bindgen(js_name = liesAt)]
    pub fn lies_at(&self, at: &str) -> Result<(), String> {
        let moved = self.inner.borrow_mut().lies_at(at);
        moved.map_err(|e| error("place", &e.to_string()))
    }

    /// What somebody wants to know first, as JSON text.
    pub fn glance(&self) -> String {
        json(&self.inner.borrow().glance())
    }

    /// All operators, as JSON text.
    pub fn operators(&self) -> String {
        json(&self.inner.borrow().operators())
    }

    /// The bytes of each key group of an operator, as JSON text.
    #[wasm_bindgen(js_name = keyGroups)]
    pub fn key_groups(&self, operator: u32) -> Option<String> {
        self.inner
            .borrow()
            .key_groups(operator)
            .map(|groups| json(&groups))
    }

    /// A node of the tree operator, subtask, role, handle with so many levels below it (default 1, at most 4), as JSON text. `under` is the `key`
    /// of a node; not given: the whole snapshot.
    pub fn tree(&self, depth: Option<u8>, under: Option<String>) -> Option<String> {
        let under = under.unwrap_or_default();
        let node = self.inner.borrow().tree(depth.unwrap_or(1), &under);
        node.map(|node| json(&node))
    }

    /// The rows that a query wants, in its order. `query` is JSON text: every field may be left out.
    ///
    /// `{"sort":{"column":"at"|"location"|"size"|"operator"|"subtask"|"key_group"|"role"|"handles"|"directory"|"status","descending":false},
    /// "text":…, "role":…, "operator":number, "subtask":number, "directory":…, "whose":…, "status":…, "each_object_once":false}`
    ///
    /// # Errors
    /// The query makes no sense: a JSON text with `code` `query` and `message` is thrown.
    pub fn view(&self, query: &str) -> Result<View, String> {
        let query = serde_json::from_str(query).map_err(|e| error("query", &e.to_string()))?;
        let view = self.inner.borrow().view(&query);
        Ok(View {
            document: Rc::clone(&self.inner),
            view,
        })
    }

    /// Everything of a row, as JSON text.
    pub fn detail(&self, row: u32) -> Option<String> {
        self.inner.borrow().detail(row).map(|detail| json(&detail))
    }

    /// What breaks if this object vanishes, as JSON text. It can be a key, a URL, an ARN, a path, or the end of one.
    pub fn referrers(&self, path_or_url: &str) -> String {
        json(&self.inner.borrow().referrers(path_or_url))
    }

    /// The fields whose bytes meet `from..to`, as JSON text.
    pub fn fields(&self, from: usize, to: usize) -> String {
        json(&self.inner.borrow().fields(from, to))
    }

    /// The fields of a row's handle, as JSON text.
    #[wasm_bindgen(js_name = fieldsOfRow)]
    pub fn fields_of_row(&self, row: u32) -> Option<String> {
        self.inner.borrow().fields_of_row(row).map(|fields| json(&fields))
    }

    /// The bytes of a range, as far as the file goes.
    pub fn bytes(&self, from: usize, to: usize) -> Vec<u8> {
        self.inner.borrow().bytes_of(from..to).to_vec()
    }

    /// Holds what the snapshot needs against what exists, as JSON text; views know the status of each row from then on.
    pub fn check(&self, listing: &Listing) -> String {
        json(&self.inner.borrow_mut().check(&listing.listing))
    }

    /// What lifecycle rules (JSON or XML) would do to what the snapshot needs, as JSON text. `today`: milliseconds since 1970. `versioning`:
    /// `enabled`, `suspended` or `never`; not given: taken to be enabled, and said so. No day can be named without a listing.
    ///
    /// # Errors
    /// The rules can't be read, or the snapshot doesn't lie on S3: a JSON text with `code` and `message` is thrown.
    pub fn forecast(&self, rules: &[u8], today: f64, versioning: Option<String>) -> Result<String, String> {
        self.foretell(rules, None, today, versioning)
    }

    /// As `forecast`, with a listing for ages and sizes.
    ///
    /// # Errors
    /// As `forecast`.
    #[wasm_bindgen(js_name = forecastWith)]
    pub fn forecast_with(
        &self,
        rules: &[u8],
        listing: &Listing,
        today: f64,
        versioning: Option<String>,
    ) -> Result<String, String> {
        self.foretell(rules, Some(&listing.listing), today, versioning)
    }

    /// The rows `from..from + count` of a view for other programs. `format`: `csv` (formulas of spreadsheets defused), `json` or `text`. The chunks of
    /// a view, one after the other, are one document.
    ///
    /// # Errors
    /// There is no such format: a JSON text is thrown.
    #[wasm_bindgen(js_name = exportChunk)]
    pub fn export_chunk(
        &self,
        view: &View,
        from: usize,
        count: usize,
        format: &str,
    ) -> Result<String, String> {
        let format = Format::of(format).ok_or_else(|| error("format", "it is csv, json or text"))?;
        Ok(self.inner.borrow().export(&view.view, from, count, format))
    }

    /// The same answers without names, for sharing. They belong to this document.
    pub fn redaction(&self) -> Redaction {
        Redaction {
            redaction: inspection::redact::Redaction::of(&self.inner.borrow()),
            document: Rc::clone(&self.inner),
        }
    }

    /// Number of rows: handles that name an object or a directory.
    #[wasm_bindgen(getter)]
    pub fn rows(&self) -> usize {
        self.inner.borrow().handles().len()
    }
}

impl Document {
    fn foretell(
        &self,
        rules: &[u8],
        listing: Option<&inspection::listing::Listing>,
        today: f64,
        versioning: Option<String>,
    ) -> Result<String, String> {
        let versioning = match versioning.as_deref() {
            None => None,
            Some("enabled") => Some(Versioning::Enabled),
            Some("suspended") => Some(Versioning::Suspended),
            Some("never") => Some(Versioning::Never),
            Some(_) => return Err(error("versioning", "it is enabled, suspended or never")),
        };
        #[expect(
            clippy::cast_possible_truncation,
            reason = "milliseconds since 1970 are whole and small"
        )]
        let now = Timestamp::from_millis(today as i64);
        let asked = Asked {
            rules,
            listing,
            now,
            versioning,
        };
        match self.inner.borrow().forecast(asked) {
            Ok(foretold) => Ok(json(&foretold)),
            Err(e) => Err(error("rules", &e.to_string())),
        }
    }
}
