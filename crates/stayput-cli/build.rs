//! Puts the built page of the inspector into the command, if it was built before: `cargo xtask web build`. Without it everything else works, and
//! `stayput ui` says how to get it.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rerun-if-env-changed=STAYPUT_WEB_PAGE");
    let page = env::var_os("STAYPUT_WEB_PAGE").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/dist/static"),
        PathBuf::from,
    );
    println!("cargo::rerun-if-changed={}", page.display());
    let mut files = Vec::new();
    if page.join("index.html").is_file() {
        collect(&page, &page, &mut files);
    }
    files.sort();
    let mut code = String::from("&[\n");
    for (name, path) in files {
        // A service worker keeps a page for when its server is away; this server comes and goes with its files.
        if name != "sw.js" {
            let _ = writeln!(code, "    ({name:?}, include_bytes!({path:?}) as &[u8]),");
        }
    }
    code.push(']');
    if let Some(out) = env::var_os("OUT_DIR") {
        let to = Path::new(&out).join("page.rs");
        if let Err(e) = fs::write(&to, code) {
            println!("cargo::error={}: {e}", to.display());
        }
    }
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(root, &path, files);
            continue;
        }
        println!("cargo::rerun-if-changed={}", path.display());
        let absolute = fs::canonicalize(&path);
        if let (Ok(name), Ok(absolute)) = (path.strip_prefix(root), absolute)
            && let (Some(name), Some(absolute)) = (name.to_str(), absolute.to_str())
        {
            files.push((name.replace('\\', "/"), absolute.to_owned()));
        }
    }
}
