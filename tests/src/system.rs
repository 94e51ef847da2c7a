//! What `cargo xtask` has started and built for the tests.

use std::path::PathBuf;

/// The value of a variable that `cargo xtask` sets. Without it a test is skipped and says so, unless `STAYPUT_REQUIRE`
/// names the part.
///
/// # Panics
/// If the part is required and not there.
pub fn given(variable: &str, part: &str) -> Option<String> {
    if let Ok(value) = std::env::var(variable) {
        return Some(value);
    }
    let required = std::env::var("STAYPUT_REQUIRE").unwrap_or_default();
    assert!(
        !required.split(',').any(|name| name.trim() == part),
        "STAYPUT_REQUIRE names {part}, but {variable} isn't set: run the tests by `cargo xtask test`, or with `--all`"
    );
    println!("skipped: {variable} isn't set; `cargo xtask test` sets it, or only `cargo xtask test --all`");
    None
}

/// URL of MiniStack.
pub fn ministack() -> Option<String> {
    given("STAYPUT_MINISTACK", "ministack")
}

/// AWS's Runtime Interface Emulator.
pub fn emulator() -> Option<PathBuf> {
    given("STAYPUT_RIE", "rie").map(PathBuf::from)
}

/// URL of a MiniStack that checks what a role may do, and makes stacks of templates.
pub fn guarded_ministack() -> Option<String> {
    given("STAYPUT_MINISTACK_GUARDED", "stack")
}

/// The SAM command.
pub fn sam() -> Option<PathBuf> {
    given("STAYPUT_SAM", "stack").map(PathBuf::from)
}

/// The folder with one folder for each release of Flink.
pub fn flink() -> Option<PathBuf> {
    given("STAYPUT_FLINK", "flink").map(PathBuf::from)
}

/// The Lambda's binary.
pub fn bootstrap(part: &str) -> Option<PathBuf> {
    given("STAYPUT_BOOTSTRAP", part).map(PathBuf::from)
}

/// Whether there is time for what takes minutes: `cargo xtask test --all`.
pub fn time_for_all() -> bool {
    given("STAYPUT_ALL", "all").is_some()
}
