//! `cargo xtask fuzz`: the fuzz targets for a given time each, two at a time, and what they found into the repository.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::print;
use crate::process::{cargo, run};
use crate::provide;

/// Their names; `fuzz/Cargo.toml` and `tests/hostile/src/target.rs` have the same.
const TARGETS: [&str; 6] = [
    "metadata",
    "references",
    "java_object",
    "events",
    "bucket_documents",
    "sidecar",
];

/// No input is longer, in bytes: nearly all that a reader does, it does to fewer.
const LONGEST: u32 = 8192;

/// So many run at a time.
const AT_A_TIME: usize = 2;

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    time: Duration,
    targets: Vec<&'static str>,
    keep: bool,
}

impl Wanted {
    /// Reads `--for 30m`, `--target NAME` (again for more) and `--keep`.
    pub(crate) fn read(words: &[&str]) -> Result<Self, String> {
        let mut wanted = Self {
            time: Duration::from_secs(60),
            targets: Vec::new(),
            keep: false,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match *word {
                "--for" => wanted.time = time(value()?)?,
                "--target" => {
                    let name = value()?;
                    let known = TARGETS.into_iter().find(|known| known == name);
                    let known = known
                        .ok_or_else(|| format!("{name} is no target; there are {}", TARGETS.join(", ")))?;
                    wanted.targets.push(known);
                }
                "--keep" => wanted.keep = true,
                other => {
                    return Err(format!(
                        "{other} isn't known; fuzz takes --for, --target and --keep"
                    ));
                }
            }
        }
        if wanted.targets.is_empty() {
            wanted.targets = TARGETS.to_vec();
        }
        Ok(wanted)
    }
}

/// `90s`, `30m`, `2h`.
fn time(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no time: write 90s, 30m or 2h");
    let unit = match text.chars().last() {
        Some('s') => 1,
        Some('m') => 60,
        Some('h') => 3600,
        _ => return Err(wrong()),
    };
    let number: u64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    Ok(Duration::from_secs(number.checked_mul(unit).ok_or_else(wrong)?))
}

/// Where one target keeps its things, below `.stayput/fuzz`.
struct Place {
    /// What real systems wrote.
    seeds: PathBuf,
    /// What was found.
    corpus: PathBuf,
    /// Inputs at which something didn't hold.
    failures: PathBuf,
    log: PathBuf,
}

impl Place {
    fn of(folder: &Path, target: &str) -> Result<Self, String> {
        let place = Self {
            seeds: folder.join("seeds").join(target),
            corpus: folder.join("corpus").join(target),
            failures: folder.join("failures").join(target),
            log: folder.join(format!("{target}.log")),
        };
        for folder in [&place.seeds, &place.corpus, &place.failures] {
            fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        }
        Ok(place)
    }
}

/// Runs the targets. Those that find a failure don't keep the others from running.
pub(crate) fn fuzz(root: &Path, wanted: &Wanted) -> Result<bool, String> {
    let cargo_fuzz = provide::cargo_fuzz(root)?;
    let folder = provide::local(root)?.join("fuzz");
    print::line("building the fuzz targets with nightly Rust");
    let fuzz = |words: &[&str]| {
        let mut command = Command::new("cargo");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let with_ours = cargo_fuzz
            .parent()
            .into_iter()
            .map(Path::to_path_buf)
            .chain(std::env::split_paths(&path));
        command
            .current_dir(root.join("fuzz"))
            .env("PATH", std::env::join_paths(with_ours).unwrap_or(path.clone()))
            // Set by the cargo that runs us, for its own toolchain.
            .env_remove("RUSTUP_TOOLCHAIN")
            .env_remove("CARGO")
            .args(["+nightly", "fuzz"])
            .args(words)
            .args(["--fuzz-dir", "."])
            // Safe Rust has nothing that the sanitizers look for, and is four times as fast without.
            .args(["--sanitizer", "none", "--target-dir"])
            .arg(folder.join("target"));
        command
    };
    run(&mut fuzz(&["build"]))?;
    for target in &wanted.targets {
        let place = Place::of(&folder, target)?;
        for (what, to) in [("seeds", &place.seeds), ("found", &place.corpus)] {
            let mut command = hostile(root);
            run(command.args([what, target]).arg(to))?;
        }
    }
    let program = |target: &str| {
        let folder = folder.join("target/x86_64-unknown-linux-gnu/release");
        folder.join(target)
    };
    let mut well = true;
    let mut waiting: VecDeque<&str> = wanted.targets.iter().copied().collect();
    let mut running: Vec<(&str, Child)> = Vec::new();
    while !(waiting.is_empty() && running.is_empty()) {
        while running.len() < AT_A_TIME
            && let Some(target) = waiting.pop_front()
        {
            running.push((
                target,
                start(&program(target), &Place::of(&folder, target)?, wanted.time)?,
            ));
        }
        std::thread::sleep(Duration::from_millis(200));
        let mut still = Vec::new();
        for (target, mut child) in running {
            match child.try_wait().map_err(|e| format!("{target}: {e}"))? {
                None => still.push((target, child)),
                Some(status) => {
                    let place = Place::of(&folder, target)?;
                    well &= status.success();
                    say(target, status.success(), &place)?;
                }
            }
        }
        running = still;
    }
    if wanted.keep && well {
        for target in &wanted.targets {
            keep(root, &program(target), &Place::of(&folder, target)?, target)?;
        }
    }
    Ok(well)
}

fn hostile(root: &Path) -> Command {
    let mut command = cargo(root);
    command.args(["run", "--quiet", "--package", "stayput-hostile", "--"]);
    command
}

fn start(program: &Path, place: &Place, time: Duration) -> Result<Child, String> {
    let log = fs::File::create(&place.log).map_err(|e| format!("{}: {e}", place.log.display()))?;
    let mut command = Command::new("nice");
    command
        .args(["-n", "19"])
        .arg(program)
        .arg(format!("-max_total_time={}", time.as_secs()))
        .arg(format!("-max_len={LONGEST}"))
        .args(["-timeout=20", "-print_final_stats=1"])
        .arg(format!("-artifact_prefix={}/", place.failures.display()))
        .arg(&place.corpus)
        .arg(&place.seeds)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log);
    command
        .spawn()
        .map_err(|e| format!("{} can't be started: {e}", program.display()))
}

/// What a run came to: executions, coverage, and where an input lies at which something doesn't hold.
fn say(target: &str, well: bool, place: &Place) -> Result<(), String> {
    let bytes = fs::read(&place.log).map_err(|e| format!("{}: {e}", place.log.display()))?;
    let text = String::from_utf8_lossy(&bytes);
    let after = |mark: &str| {
        let line = text.lines().rev().find(|line| line.contains(mark))?;
        line.split_once(mark)?
            .1
            .split_whitespace()
            .next()
            .map(str::to_owned)
    };
    let executions = after("stat::number_of_executed_units:").unwrap_or_else(|| "?".to_owned());
    let coverage = after("cov: ").unwrap_or_else(|| "?".to_owned());
    print::line(&format!(
        "{target}: {executions} executions, {coverage} edges covered"
    ));
    if !well {
        let message = text
            .lines()
            .find(|line| line.contains("panicked at"))
            .unwrap_or_default();
        print::line(&print::bad(&format!(
            "{target}: something doesn't hold. {message}"
        )));
        print::line(&format!(
            "the input lies in {}, the log is {}; again: cargo run -p stayput-hostile -- check {target} FILE",
            place.failures.display(),
            place.log.display()
        ));
    }
    Ok(())
}

/// Takes what adds anything to the seeds into the repository.
fn keep(root: &Path, program: &Path, place: &Place, target: &str) -> Result<(), String> {
    let merged = place.corpus.with_file_name(format!("{target}-merged"));
    let _ = fs::remove_dir_all(&merged);
    fs::create_dir_all(&merged).map_err(|e| format!("{}: {e}", merged.display()))?;
    // What is covered by the first folder isn't taken from the others, so the seeds come first and are taken out again.
    let seeds: Vec<_> = fs::read_dir(&place.seeds)
        .map_err(|e| format!("{}: {e}", place.seeds.display()))?
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .collect();
    for seed in &seeds {
        let copy = merged.join(seed.file_name().unwrap_or_default());
        fs::copy(seed, &copy).map_err(|e| format!("{}: {e}", copy.display()))?;
    }
    let mut merge = Command::new(program);
    merge
        .args(["-merge=1", "-timeout=20", "-max_len=2048"])
        .arg(&merged)
        .arg(&place.corpus)
        .stderr(Stdio::null());
    run(&mut merge)?;
    for seed in &seeds {
        let copy = merged.join(seed.file_name().unwrap_or_default());
        fs::remove_file(&copy).map_err(|e| format!("{}: {e}", copy.display()))?;
    }
    let mut pack = hostile(root);
    run(pack.args(["pack", target]).arg(&merged))
}

/// Mutants of valid inputs for so many seconds.
pub(crate) fn mutate(root: &Path, seconds: u32) -> Result<(), String> {
    let mut command = hostile(root);
    command.arg("mutate").arg(seconds.to_string());
    if let Ok(seed) = std::env::var("STAYPUT_SEED") {
        command.arg(seed);
    }
    run(&mut command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_says_how_long_and_what() {
        let wanted = Wanted::read(&["--for", "30m", "--target", "events", "--keep"]).unwrap();
        assert_eq!(wanted.time, Duration::from_secs(1800));
        assert_eq!(wanted.targets, ["events"]);
        assert!(wanted.keep);
        assert_eq!(Wanted::read(&[]).unwrap().targets, TARGETS);
        for wrong in [
            &["--for"][..],
            &["--for", "30"],
            &["--for", "xm"],
            &["--target", "x"],
            &["now"],
        ] {
            assert!(Wanted::read(wrong).is_err(), "{wrong:?}");
        }
    }
}
