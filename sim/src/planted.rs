//! Planted faults: what the simulation must find, or it is the simulation that is wrong.
//!
//! A fault is a piece of the sources and what stands there instead. The sources themselves hold none: `cargo xtask sim --mutants` copies the workspace,
//! puts every fault into the copy behind a number that is asked at run time, builds the copy once, and plays histories for each number.

use std::fs;
use std::path::Path;

mod search;
mod table;

pub use search::{Found, look_for_all};
pub use table::ALL;

/// A planted fault.
#[derive(Clone, Copy, Debug)]
pub struct Planted {
    /// What is wrong, in one word or a few.
    pub name: &'static str,
    /// Why that is dangerous.
    pub danger: &'static str,
    /// The file, from the root of the workspace.
    pub file: &'static str,
    /// An expression or a whole statement that stands there exactly once.
    pub find: &'static str,
    /// The same with the fault; `FAULT` stands for the question whether this fault is wanted.
    pub replace: &'static str,
}

/// Where the copy asks for the number of the fault.
const ASKED_IN: &str = "crates/stayput-core/src/lib.rs";
/// What the copy of the core has besides. A history is played on one thread, so each thread can look for a fault of its own.
const ASKING: &str = "
/// Which planted fault is wanted in this thread; 0: none.
pub mod planted {
    use std::cell::Cell;
    thread_local! {
        static WANTED: Cell<usize> = const { Cell::new(0) };
    }
    /// Wants this fault from now on.
    pub fn want(number: usize) {
        WANTED.with(|wanted| wanted.set(number));
    }
    /// Whether this fault is wanted.
    pub fn is(number: usize) -> bool {
        WANTED.with(Cell::get) == number
    }
}
";
/// Where the copy of the simulation passes the number on.
const PASSED_IN: &str = "sim/src/planted.rs";
const PASSED: &str = "    // Only the copy has any.\n    number == 0";
const PASSES: &str = "    stayput_core::planted::want(number);\n    true";

/// Wants a fault in this thread, 0 for none. Whether that is possible: the sources themselves hold none.
pub fn want(number: usize) -> bool {
    // Only the copy has any.
    number == 0
}

/// Puts every fault into a copy of the workspace.
///
/// # Errors
/// A fault's text doesn't stand in its file exactly once, or a file can't be read or written.
pub fn plant(copy: &Path) -> Result<(), String> {
    for (place, planted) in ALL.iter().enumerate() {
        let with_question = planted.replace.replace(
            "FAULT",
            &format!("{}::planted::is({})", core_from(planted.file), place + 1),
        );
        change(copy, planted.file, planted.find, &with_question)
            .map_err(|e| format!("{}: {e}", planted.name))?;
    }
    let core = copy.join(ASKED_IN);
    let text = fs::read_to_string(&core).map_err(|e| format!("{}: {e}", core.display()))?;
    fs::write(&core, text + ASKING).map_err(|e| format!("{}: {e}", core.display()))?;
    change(copy, PASSED_IN, PASSED, PASSES)
}

/// How a file names the core.
fn core_from(file: &str) -> &'static str {
    if file.starts_with("crates/stayput-core/") {
        "crate"
    } else {
        "stayput_core"
    }
}

fn change(root: &Path, file: &str, find: &str, replace: &str) -> Result<(), String> {
    let path = root.join(file);
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let times = text.matches(find).count();
    // This file says the text of its own change too.
    if times != 1 && file != PASSED_IN {
        return Err(format!("{file}: {times} times instead of once: {find}"));
    }
    let changed = match text.rfind(find) {
        Some(at) if file == PASSED_IN => format!("{}{replace}{}", &text[..at], &text[at + find.len()..]),
        _ => text.replacen(find, replace, 1),
    };
    fs::write(&path, changed).map_err(|e| format!("{}: {e}", path.display()))
}

/// What doesn't stand where the table says.
///
/// # Errors
/// A file can't be read.
pub fn misplaced(root: &Path) -> Result<Vec<String>, String> {
    let mut wrong = Vec::new();
    for planted in ALL {
        let path = root.join(planted.file);
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let times = text.matches(planted.find).count();
        if times != 1 {
            wrong.push(format!("{}: {times} times in {}", planted.name, planted.file));
        }
        if !planted.replace.contains("FAULT") {
            wrong.push(format!("{}: nothing asks for it", planted.name));
        }
    }
    Ok(wrong)
}
