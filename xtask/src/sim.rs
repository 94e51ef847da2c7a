//! The simulation: histories, and the planted faults that it must find.

use std::fs;
use std::path::{Path, PathBuf};

use crate::print;
use crate::process::{cargo, quietly, run, target_directory};

/// What the simulation is made of, and so what a copy with planted faults needs.
const PARTS: [&str; 6] = [
    "crates/flink-checkpoint",
    "crates/s3-documents",
    "crates/stayput-core",
    "crates/stayput-guard",
    "crates/s3-model",
    "sim",
];

/// Short histories that `cargo xtask test` plays, the same every time, for so many seconds at most.
const HISTORIES: &str = "3000";
const SECONDS: &str = "60";
/// And so many that nobody has seen, for so long at most. Three to six in a hundred thousand still show something that somebody must look at: more than
/// these are a fault that is new.
const FRESH: &str = "20000";
const FRESH_SECONDS: &str = "60";
const FRESH_MAY_VIOLATE: &str = "2";

/// And so many in a replica, the same every time.
const REPLICATED: &str = "1500";

fn build(root: &Path) -> Result<PathBuf, String> {
    run(cargo(root).args(["build", "--release", "-p", "stayput-sim"]))?;
    Ok(target_directory(root)?.join("release/stayput-sim"))
}

/// `cargo xtask sim …`: the words go to the program, but for `--mutants`.
pub(crate) fn sim(root: &Path, words: &[&str]) -> Result<bool, String> {
    if let ["--mutants", rest @ ..] = words {
        return mutants(root, rest).map(|()| true);
    }
    let program = build(root)?;
    let status = std::process::Command::new(&program)
        .args(words)
        .current_dir(root)
        .status()
        .map_err(|e| format!("{}: {e}", program.display()))?;
    Ok(status.success())
}

/// What `cargo xtask test` does: every history that was kept, and many others.
pub(crate) fn test(root: &Path, all: bool) -> Result<(), String> {
    let program = build(root)?;
    let play = |words: &[&str]| run(std::process::Command::new(&program).args(words).current_dir(root));
    play(&["--kept"])?;
    let same = ["--seeds", HISTORIES, "--from", "0"];
    if all {
        play(&same)?;
    } else {
        play(&[&same[..], &["--for", SECONDS]].concat())?;
    }
    play(&["--replicated", "--seeds", REPLICATED, "--from", "0"])?;
    play(&[
        "--seeds",
        FRESH,
        "--for",
        FRESH_SECONDS,
        "--at-most",
        FRESH_MAY_VIOLATE,
    ])
}

/// Copies the sources, plants every fault into the copy, builds it once and looks for each.
pub(crate) fn mutants(root: &Path, words: &[&str]) -> Result<(), String> {
    print::line("planting faults into a copy of the sources");
    let program = build(root)?;
    let copy = target_directory(root)?.join("planted");
    let (fresh, sources) = (copy.join("fresh"), copy.join("workspace"));
    if fresh.exists() {
        fs::remove_dir_all(&fresh).map_err(|e| format!("{}: {e}", fresh.display()))?;
    }
    for part in PARTS {
        copy_folder(&root.join(part), &fresh.join(part))?;
    }
    write_manifest(root, &fresh)?;
    let to = fresh.to_string_lossy().into_owned();
    quietly(std::process::Command::new(&program).args(["--plant", &to]))?;
    // What is the same keeps its time, so that cargo builds only what changed since the last time.
    make_same(&fresh, &sources)?;
    let mut build = cargo(&sources);
    build.env("CARGO_TARGET_DIR", copy.join("target")).args([
        "build",
        "--profile",
        "sim",
        "-p",
        "stayput-sim",
    ]);
    run(&mut build)?;
    run(std::process::Command::new(copy.join("target/sim/stayput-sim"))
        .arg("--mutants")
        .args(words))
}

/// The manifest of the workspace with these parts alone.
fn write_manifest(root: &Path, sources: &Path) -> Result<(), String> {
    let read = |path: PathBuf| fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()));
    let manifest = read(root.join("Cargo.toml"))?;
    let mut text = String::new();
    let mut skipping = false;
    for line in manifest.lines() {
        if line.starts_with("members = [") {
            let members: Vec<String> = PARTS.iter().map(|p| format!("\"{p}\"")).collect();
            text.push_str(&format!("members = [{}]\n", members.join(", ")));
            skipping = true;
        } else if line.starts_with("default-members = [") {
            skipping = true;
        } else if !skipping && !line.starts_with("exclude = ") {
            text.push_str(line);
            text.push('\n');
        }
        if line.starts_with(']') {
            skipping = false;
        }
    }
    for (file, contents) in [
        ("Cargo.toml", text),
        ("Cargo.lock", read(root.join("Cargo.lock"))?),
    ] {
        let path = sources.join(file);
        fs::write(&path, contents).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    // Its tests stay behind, and with them what they alone need.
    for part in PARTS {
        let path = sources.join(part).join("Cargo.toml");
        let text = read(path.clone())?;
        let mut kept = String::new();
        let mut of_tests = false;
        for line in text.lines() {
            if line.starts_with('[') {
                of_tests = ["[dev-dependencies]", "[[test]]", "[[example]]", "[[bench]]"].contains(&line);
            }
            if !of_tests {
                kept.push_str(line);
                kept.push('\n');
            }
        }
        fs::write(&path, kept).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(())
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), String> {
    fs::create_dir_all(to).map_err(|e| format!("{}: {e}", to.display()))?;
    let entries = fs::read_dir(from).map_err(|e| format!("{}: {e}", from.display()))?;
    for entry in entries {
        let path = entry.map_err(|e| format!("{}: {e}", from.display()))?.path();
        let Some(name) = path.file_name() else { continue };
        if ["tests", "benches", "examples", "target"]
            .iter()
            .any(|n| name == *n)
            && path.is_dir()
        {
            // The core's own tests that lie beside its sources are modules of it.
            if !from.ends_with("inspection") {
                continue;
            }
        }
        let target = to.join(name);
        if path.is_dir() {
            copy_folder(&path, &target)?;
        } else {
            fs::copy(&path, &target).map_err(|e| format!("{}: {e}", path.display()))?;
        }
    }
    Ok(())
}

/// Makes a folder what another is: files that differ are written, those that the other doesn't have go.
fn make_same(as_this: &Path, folder: &Path) -> Result<(), String> {
    let failed = |path: &Path, e: std::io::Error| format!("{}: {e}", path.display());
    fs::create_dir_all(folder).map_err(|e| failed(folder, e))?;
    for entry in fs::read_dir(folder).map_err(|e| failed(folder, e))? {
        let entry = entry.map_err(|e| failed(folder, e))?;
        let (old, new) = (entry.path(), as_this.join(entry.file_name()));
        if old.is_dir() && !new.is_dir() {
            fs::remove_dir_all(&old).map_err(|e| failed(&old, e))?;
        } else if old.is_file() && !new.is_file() {
            fs::remove_file(&old).map_err(|e| failed(&old, e))?;
        }
    }
    for entry in fs::read_dir(as_this).map_err(|e| failed(as_this, e))? {
        let entry = entry.map_err(|e| failed(as_this, e))?;
        let (new, old) = (entry.path(), folder.join(entry.file_name()));
        if new.is_dir() {
            make_same(&new, &old)?;
            continue;
        }
        let bytes = fs::read(&new).map_err(|e| failed(&new, e))?;
        if !old.exists() || fs::read(&old).map_err(|e| failed(&old, e))? != bytes {
            fs::write(&old, bytes).map_err(|e| failed(&old, e))?;
        }
    }
    Ok(())
}
