//! The npm package as others get it: packed, installed elsewhere, and used under Node.js and in a browser.
//!
//! Needs Node.js and the generated package: `cargo run -p xtask-wasm-bindgen -- check` builds it and runs this. The browser is Chromium on the PATH,
//! or the one that `STAYPUT_CHROMIUM` names; without it that half is skipped, which is said, unless `STAYPUT_REQUIRE` has `chromium`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn package() -> PathBuf {
    let package = std::env::var_os("STAYPUT_WASM_PACKAGE").map_or_else(
        || Path::new(env!("CARGO_TARGET_TMPDIR")).join("../wasm-package"),
        PathBuf::from,
    );
    let package = package.join("npm");
    assert!(
        package.join("index.js").is_file(),
        "{} holds no package: run `cargo run -p xtask-wasm-bindgen -- check`, which builds it first",
        package.display()
    );
    package
}

fn said(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|e| {
        panic!("{command:?} can't be started ({e}): install Node.js with npm and put them on the PATH")
    });
    assert!(output.status.success(), "{command:?}\n{}", said(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Packs the package and installs the result in a folder of its own.
fn installed(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let packed = run(Command::new("npm")
        .args(["pack", "--silent", "--pack-destination"])
        .arg(&folder)
        .current_dir(package()));
    let archive = folder.join(packed.trim());
    std::fs::write(
        folder.join("package.json"),
        "{\"type\":\"module\",\"private\":true}",
    )
    .unwrap();
    run(Command::new("npm")
        .args(["install", "--silent", "--offline", "--no-audit", "--no-fund"])
        .arg(&archive)
        .current_dir(&folder));
    folder
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/corpus")
}

#[test]
fn packed_and_installed_it_answers_under_node() {
    let folder = installed("npm-node");
    let script = folder.join("smoke.mjs");
    std::fs::copy(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/npm_package.mjs"),
        &script,
    )
    .unwrap();
    let answered = run(Command::new("node").arg(&script).arg(corpus()));
    assert!(answered.trim().ends_with("all is well"), "{answered}");
    println!("{answered}");
}

#[test]
fn packed_and_installed_it_answers_in_a_browser() {
    let named = std::env::var_os("STAYPUT_CHROMIUM").map(PathBuf::from);
    let known = [
        PathBuf::from("chromium"),
        PathBuf::from("chromium-browser"),
        PathBuf::from("google-chrome"),
    ];
    let chromium = named.into_iter().chain(known).find(|program| {
        Command::new(program)
            .arg("--version")
            .output()
            .is_ok_and(|o| o.status.success())
    });
    let Some(chromium) = chromium else {
        let required = std::env::var("STAYPUT_REQUIRE").unwrap_or_default();
        assert!(
            !required.split(',').any(|part| part == "chromium"),
            "there is no Chromium, and STAYPUT_REQUIRE asks for it"
        );
        println!("skipped: there is no Chromium on the PATH (apt-get install chromium)");
        return;
    };
    let folder = installed("npm-browser");
    let script = folder.join("browser.mjs");
    std::fs::copy(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/npm_browser.mjs"),
        &script,
    )
    .unwrap();
    let answered = run(Command::new("node")
        .arg(&script)
        .arg(corpus())
        .arg(chromium)
        .current_dir(&folder));
    assert!(answered.trim().ends_with("all is well"), "{answered}");
    println!("{answered}");
}
