//! The inspector's page: what it needs, how it is built, served and tested.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::print;
use crate::process::{Variable, cargo, count_tests, quietly, run as run_command, target_directory};
use crate::provide;
use crate::tally::Tally;

/// The page's packages, as its lock file has them.
fn packages(web: &Path) -> Result<(), String> {
    provide::node()?;
    provide::npm(web)
}

/// The core for browsers; gives the folder of its package.
fn core(root: &Path) -> Result<PathBuf, String> {
    provide::rust(root, &[provide::WASM], &[])?;
    run_command(cargo(root).args(["run", "--package", "xtask-wasm-bindgen", "--", "build"]))?;
    Ok(target_directory(root)?.join("wasm-package/web"))
}

fn npm(web: &Path) -> Command {
    let mut command = Command::new("npm");
    command.current_dir(web);
    command
}

/// Builds the core and the page: a folder for web servers and one file for disks. Gives the folder of both.
pub(crate) fn build(root: &Path) -> Result<PathBuf, String> {
    let web = root.join("web");
    packages(&web)?;
    let core = core(root)?;
    // Where the build of the command looks for it: `stayput ui` serves it.
    let out = web.join("dist");
    quietly(npm(&web).args(["run", "--silent", "check"]))?;
    quietly(
        npm(&web)
            .args(["run", "--silent", "build"])
            .env("STAYPUT_WASM_WEB", core)
            .env("STAYPUT_WEB_OUT", &out),
    )?;
    print::line(&format!("the page: {}", out.join("static").display()));
    print::line(&format!(
        "in one file: {}",
        out.join("single/inspector.html").display()
    ));
    Ok(out)
}

/// Serves the built page until it is interrupted.
pub(crate) fn serve(root: &Path, out: &Path) -> Result<(), String> {
    run_command(
        Command::new("node")
            .arg(root.join("web/build/serve.mjs"))
            .arg(out.join("static")),
    )
}

/// Named one by one: what a folder means differs between releases of Node.js.
fn test_files(web: &Path) -> Result<Vec<PathBuf>, String> {
    let folder = web.join("tests");
    let unreadable = |e| format!("{}: {e}", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.to_string_lossy().ends_with(".test.mjs") {
            files.push(path);
        }
    }
    if files.len() < 7 {
        return Err(format!(
            "only {} files of tests in {}",
            files.len(),
            folder.display()
        ));
    }
    files.sort();
    Ok(files)
}

/// Tests the built page in Chromium. `all`: with the figures of a million rows as well.
pub(crate) fn test(root: &Path, chromium: &Path, command: &Path, all: bool) -> Result<Tally, String> {
    let out = build(root)?;
    let mut variables: Vec<Variable> = vec![
        ("STAYPUT_WEB_OUT", out.to_string_lossy().into_owned()),
        ("STAYPUT_CHROMIUM", chromium.to_string_lossy().into_owned()),
        ("STAYPUT_COMMAND", command.to_string_lossy().into_owned()),
    ];
    if all {
        variables.push(("STAYPUT_WEB_FIGURES", "1".to_owned()));
    }
    let web = root.join("web");
    count_tests(
        Command::new("node")
            .current_dir(&web)
            .args([
                "--test",
                "--test-concurrency=1",
                "--test-reporter=./tests/support/reporter.mjs",
            ])
            .args(test_files(&web)?)
            .envs(variables),
        &provide::local(root)?.join("logs/page.log"),
    )
}
