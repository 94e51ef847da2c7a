//! What must hold of every error about a document.

use s3_documents::DocumentError;

/// An error is a line in a log, which has a limit.
const LONGEST_ERROR: usize = 4_000;

/// An error is one short line, whatever the document says.
pub(crate) fn check_error(error: &DocumentError) {
    let text = error.to_string();
    assert!(
        !text.is_empty() && text.len() < LONGEST_ERROR,
        "an error of {} bytes",
        text.len()
    );
    assert!(!text.chars().any(char::is_control), "{text:?}");
}
