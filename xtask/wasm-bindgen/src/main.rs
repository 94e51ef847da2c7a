//! Builds the core for WebAssembly and the JavaScript around it, and checks that it answers as the native one.
//!
//! A package of its own, so that nobody else pays for building the generator.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use wasm_bindgen_cli_support::Bindgen;

mod optimise;

const USAGE: &str = "usage: cargo run -p xtask-wasm-bindgen -- build|check|speed
  build  <target>/wasm-package/web (browsers), …/nodejs, and …/npm (the npm package)
  check  the same, then compares the answers of the WebAssembly and the native core under Node.js, tries the npm package,
         and does what `speed` does
  speed  the same as build, then opens a file of a million handles with both cores in turn: more than 1.5 times the native time is an error";

/// Makes searching in names two to three times as fast; every current engine has it.
const SIMD: &str = "-C target-feature=+simd128";

/// So many times the native core's time may opening take.
const MOST_TIMES: &str = "1.5";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments.as_slice() {
        ["build"] => build().map(|_| ()),
        ["check"] => build().and_then(|package| check(&package).and_then(|()| speed(&package))),
        ["speed"] => build().and_then(|package| speed(&package)),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask-wasm-bindgen: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Builds all packages and gives their folder.
fn build() -> Result<PathBuf, String> {
    let target = target_directory();
    let mut module = command();
    module
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", SIMD)
        .args([
            "build",
            "--package",
            "stayput-wasm",
            "--profile",
            "wasm",
            "--target",
            "wasm32-unknown-unknown",
        ]);
    run(module)
        .map_err(|e| format!("{e}. If the target is missing: rustup target add wasm32-unknown-unknown"))?;
    let module = target.join("wasm32-unknown-unknown/wasm/stayput_wasm.wasm");
    let package = target.join("wasm-package");
    let mut optimised: Option<(Vec<u8>, Vec<u8>)> = None;
    // Both come from one module; glue and module of different runs don't fit together.
    for (name, for_browsers) in [("web", true), ("nodejs", false)] {
        let folder = package.join(name);
        generate(&module, &folder, for_browsers).map_err(|e| format!("{}: {e:#}", folder.display()))?;
        let file = folder.join("stayput_wasm_bg.wasm");
        let read = || std::fs::read(&file).map_err(|e| format!("{}: {e}", file.display()));
        let generated = read()?;
        match &optimised {
            // Optimising takes longer than everything else here.
            Some((before, after)) if *before == generated => {
                std::fs::write(&file, after).map_err(|e| format!("{}: {e}", file.display()))?;
            }
            _ => {
                if !optimise::in_place(&file, &workspace())? {
                    println!("not optimised: there is no wasm-opt. `npm ci` in web installs one");
                }
                optimised = Some((generated, read()?));
            }
        }
        println!("{}: {} bytes", file.display(), read()?.len());
    }
    npm_package(&package)?;
    Ok(package)
}

/// The npm package: the files of the one for browsers and the typed face of `wasm/npm`.
fn npm_package(package: &Path) -> Result<(), String> {
    let to = package.join("npm");
    let copied = |from: PathBuf, name: &str| {
        let copied = std::fs::create_dir_all(&to).and_then(|()| std::fs::copy(&from, to.join(name)));
        copied.map(|_| ()).map_err(|e| format!("{}: {e}", from.display()))
    };
    for name in [
        "stayput_wasm.js",
        "stayput_wasm.d.ts",
        "stayput_wasm_bg.wasm",
        "stayput_wasm_bg.wasm.d.ts",
    ] {
        copied(package.join("web").join(name), name)?;
    }
    for name in ["package.json", "README.md", "index.js", "index.d.ts"] {
        copied(workspace().join("wasm/npm").join(name), name)?;
    }
    copied(workspace().join("LICENSE"), "LICENSE")
}

fn generate(module: &Path, folder: &Path, for_browsers: bool) -> Result<(), Box<dyn std::error::Error>> {
    let mut bindgen = Bindgen::new();
    if for_browsers {
        bindgen.web(true)?;
    } else {
        bindgen.nodejs(true)?;
    }
    bindgen.input_path(module).typescript(true).generate(folder)?;
    Ok(())
}

fn check(package: &Path) -> Result<(), String> {
    let mut command = command();
    command
        .args(["test", "--package", "stayput-wasm", "--features", "with-node"])
        .env("STAYPUT_WASM_PACKAGE", package);
    run(command)
}

/// What opening a large file costs in WebAssembly, in the native core's times.
fn speed(package: &Path) -> Result<(), String> {
    let mut native = command();
    native.args([
        "build",
        "--release",
        "--package",
        "stayput-wasm",
        "--example",
        "open",
    ]);
    run(native)?;
    let mut node = Command::new("node");
    node.arg(workspace().join("wasm/bench/ratio.mjs"))
        .arg(target_directory().join("release/examples/open"))
        .arg(package.join("nodejs"))
        .arg(MOST_TIMES);
    run(node)
}

fn command() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace());
    command
}

fn run(mut command: Command) -> Result<(), String> {
    let shown = format!("{command:?}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{shown} ended with {status}")),
        Err(e) => Err(format!("{shown}: {e}")),
    }
}

/// The folder of the workspace: two above this package, which cargo names when it runs it.
fn workspace() -> PathBuf {
    let here =
        env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from("xtask/wasm-bindgen"), PathBuf::from);
    here.ancestors()
        .nth(2)
        .map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

fn target_directory() -> PathBuf {
    let named = env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let directory = named.unwrap_or_else(|| workspace().join("target"));
    std::path::absolute(&directory).unwrap_or(directory)
}
