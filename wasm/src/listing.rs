//! What exists, for checks and forecasts.

use stayput_core::inspection;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::{error, json};

/// A listing of a bucket or of a directory.
#[wasm_bindgen]
pub struct Listing {
    pub(crate) listing: inspection::listing::Listing,
}

#[wasm_bindgen]
impl Listing {
    /// Reads a listing: the output of `aws s3api list-object-versions` or `list-objects-v2`, the text of `aws s3 ls --recursive`, a CSV file of S3
    /// Inventory (unpacked), or lines of path, tab and length for a directory. `name` is what people call it.
    ///
    /// # Errors
    /// It is no listing: a JSON text with `code` `no_listing` and `message` is thrown.
    pub fn read(bytes: &[u8], name: &str) -> Result<Listing, String> {
        match inspection::listing::Listing::read(bytes, name) {
            Ok(listing) => Ok(Listing { listing }),
            Err(e) => Err(error("no_listing", &e.to_string())),
        }
    }

    /// What it holds, as JSON text.
    pub fn describe(&self) -> String {
        json(&self.listing.describe())
    }
}
