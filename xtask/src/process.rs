//! Running other programs.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::print;
use crate::tally::{self, Said, Tally};

/// A variable for programs that xtask starts.
pub(crate) type Variable = (&'static str, String);

/// Cargo, the one that runs us.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    // Set by `cargo run` for us; build scripts of the nested cargo would be told of a change each time.
    for name in [
        "CARGO_MANIFEST_DIR",
        "CARGO_MANIFEST_PATH",
        "CARGO_PKG_NAME",
        "CARGO_PKG_VERSION",
        "CARGO_PRIMARY_PACKAGE",
    ] {
        command.env_remove(name);
    }
    command
}

fn words(command: &Command) -> String {
    let parts = std::iter::once(command.get_program()).chain(command.get_args());
    parts.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

fn name(command: &Command) -> String {
    Path::new(command.get_program())
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// Runs it and lets it speak.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|e| not_started(command, &e))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("`{}` ended with {status}", words(command)))
    }
}

/// Runs it silently; its output is shown only if it fails.
pub(crate) fn quietly(command: &mut Command) -> Result<(), String> {
    output(command).map(|_| ())
}

/// Runs it and returns what it printed.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|e| not_started(command, &e))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
    said.push_str(&String::from_utf8_lossy(&output.stderr));
    Err(format!(
        "`{}` ended with {}:\n{}",
        words(command),
        output.status,
        said.trim_end()
    ))
}

fn not_started(command: &Command, error: &std::io::Error) -> String {
    if error.kind() == std::io::ErrorKind::NotFound {
        format!("{} isn't installed or not on PATH", name(command))
    } else {
        format!("{} can't be started: {error}", name(command))
    }
}

/// Runs `cargo test` and counts. Of binaries whose tests pass only the result and what was left out is shown; everything goes to `log`.
pub(crate) fn count_tests(command: &mut Command, log: &Path) -> Result<Tally, String> {
    use std::io::Write;
    let mut file = std::fs::File::create(log).map_err(|e| format!("{}: {e}", log.display()))?;
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| not_started(command, &e))?;
    let mut sum = Tally::default();
    if let Some(stdout) = child.stdout.take() {
        let mut held: Vec<String> = Vec::new();
        let mut left_out = Tally::default();
        for line in BufReader::new(stdout).split(b'\n') {
            let line = line.map_err(|e| format!("the output of cargo test can't be read: {e}"))?;
            let line = String::from_utf8_lossy(&line).into_owned();
            writeln!(file, "{line}").map_err(|e| format!("{}: {e}", log.display()))?;
            match tally::read(&line) {
                Said::Result(mut result) => {
                    if result.failed > 0 {
                        held.drain(..).for_each(|line| print::line(&line));
                    }
                    held.clear();
                    result.passed = result.passed.saturating_sub(left_out.passed);
                    result.skipped += left_out.skipped;
                    left_out = Tally::default();
                    if result != Tally::default() {
                        print::line(&format!("     {line}"));
                    }
                    sum += result;
                }
                Said::Skipped => {
                    left_out.passed += 1;
                    left_out.skipped += 1;
                    print::line(&format!("     {line}"));
                }
                Said::NotRun => {
                    left_out.skipped += 1;
                    print::line(&format!("     {line}"));
                }
                Said::Other => held.push(line),
            }
        }
        // A binary that died has no result.
        held.into_iter()
            .filter(|line| !line.is_empty())
            .for_each(|line| print::line(&line));
    }
    let status = child.wait().map_err(|e| format!("waiting for cargo test: {e}"))?;
    if !status.success() && sum.failed == 0 {
        return Err(format!("`{}` ended with {status}", words(command)));
    }
    Ok(sum)
}

/// Where cargo builds.
pub(crate) fn target_directory(root: &Path) -> Result<PathBuf, String> {
    let text = output(cargo(root).args(["metadata", "--no-deps", "--format-version", "1"]))?;
    let at = text
        .split_once("\"target_directory\":\"")
        .and_then(|(_, rest)| rest.split_once('"'));
    at.map(|(path, _)| PathBuf::from(path))
        .ok_or_else(|| "cargo metadata names no target_directory".to_owned())
}
