//! Where the example events lie.

use std::path::PathBuf;

/// The folder named by `STAYPUT_EVENTS`, else the repository's.
pub(crate) fn events() -> PathBuf {
    match std::env::var_os("STAYPUT_EVENTS") {
        Some(named) => named.into(),
        None => [
            env!("CARGO_MANIFEST_DIR"),
            "..",
            "..",
            "tests",
            "corpus",
            "events",
        ]
        .iter()
        .collect(),
    }
}
