//! From bytes to a typed value, for documents that are used whole or not at all.

use serde::Deserialize;

use crate::error::{DocumentError, Place, Problem};

/// Reads JSON; `name` is what people call the document.
pub(crate) fn read<'de, T: Deserialize<'de>>(
    bytes: &'de [u8],
    name: &'static str,
) -> Result<T, DocumentError> {
    let text = std::str::from_utf8(bytes).map_err(|e| unusable(name, e.into()))?;
    serde_json::from_str(text).map_err(|e| unusable(name, e.into()))
}

pub(crate) fn unusable(name: &'static str, problem: Problem) -> DocumentError {
    DocumentError::new(Place::Document(name), problem)
}
