//! Makes the module smaller with `wasm-opt`, where that can be had.
//!
//! Debian's binaryen 108 can't read what rustc writes since 1.87, so the one from npm is looked for first: it comes with the page's tools
//! (`npm ci` in `web`), or `npm install binaryen@132.0.0` anywhere and `STAYPUT_WASM_OPT` names it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What rustc writes since 1.87. With all that `wasm-opt` knows, it writes forms that no engine of today reads.
const FEATURES: [&str; 7] = [
    "--enable-bulk-memory",
    "--enable-bulk-memory-opt",
    "--enable-multivalue",
    "--enable-mutable-globals",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-sign-ext",
];

/// Where it may be, in this order.
fn candidates(workspace: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = env::var_os("STAYPUT_WASM_OPT")
        .map(PathBuf::from)
        .into_iter()
        .collect();
    for folder in ["web", "wasm/npm", ".stayput/npm"] {
        all.push(workspace.join(folder).join("node_modules/.bin/wasm-opt"));
    }
    all.push(PathBuf::from("wasm-opt"));
    all
}

/// Optimises a module in place. `Ok(false)`: there is no `wasm-opt`.
pub(crate) fn in_place(module: &Path, workspace: &Path) -> Result<bool, String> {
    let smaller = module.with_extension("optimised");
    for program in candidates(workspace) {
        let mut command = Command::new(&program);
        command
            .args(["-O3", "--strip-debug", "--strip-producers"])
            .args(FEATURES)
            .arg(module)
            .arg("-o")
            .arg(&smaller);
        let Ok(output) = command.output() else {
            continue;
        };
        if output.status.success() {
            std::fs::rename(&smaller, module).map_err(|e| format!("{}: {e}", module.display()))?;
            return Ok(true);
        }
        println!(
            "{} can't read the module, so it isn't used: {}",
            program.display(),
            String::from_utf8_lossy(&output.stderr)
                .lines()
                .next()
                .unwrap_or_default()
        );
    }
    Ok(false)
}
