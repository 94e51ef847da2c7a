//! What was measured, with when and on what: kept raw in `docs/benchmarks.json`, from which the page is written.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use crate::series::Series;

/// All parts by name.
pub(crate) type Parts = BTreeMap<String, Part>;

/// What one run of one part measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Part {
    /// The day, UTC.
    pub(crate) day: String,
    /// The commit that was measured, with `+` if files had changed.
    pub(crate) commit: String,
    pub(crate) machine: String,
    /// Load averages of the last minute, before and after.
    pub(crate) load: [String; 2],
    pub(crate) rows: Vec<Row>,
    pub(crate) goals: Vec<Goal>,
    /// What belongs to it but is no series: counts of requests, sizes.
    pub(crate) facts: Vec<String>,
}

/// One measured quantity.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) unit: String,
    pub(crate) values: Series,
}

/// A goal and what came of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Goal {
    pub(crate) what: String,
    pub(crate) goal: String,
    pub(crate) got: String,
    pub(crate) met: bool,
}

impl Part {
    /// Begins a part: notes day, commit, machine and load.
    pub(crate) fn begin() -> Self {
        let load = load();
        Self {
            day: OffsetDateTime::now_utc().date().to_string(),
            commit: commit(),
            machine: machine(),
            load: [load.clone(), load],
            rows: Vec::new(),
            goals: Vec::new(),
            facts: Vec::new(),
        }
    }

    /// Notes the load at the end.
    pub(crate) fn end(mut self) -> Self {
        self.load[1] = load();
        self
    }

    pub(crate) fn row(&mut self, what: &str, unit: &str, values: Series) {
        self.rows.push(Row {
            what: what.to_owned(),
            unit: unit.to_owned(),
            values,
        });
    }

    /// A goal that is met by at most so much.
    pub(crate) fn at_most(&mut self, what: &str, got: f64, goal: f64, unit: &str) {
        self.judge(what, "≤", got, goal, unit, got <= goal);
    }

    /// A goal that is met by at least so much.
    pub(crate) fn at_least(&mut self, what: &str, got: f64, goal: f64, unit: &str) {
        self.judge(what, "≥", got, goal, unit, got >= goal);
    }

    fn judge(&mut self, what: &str, sign: &str, got: f64, goal: f64, unit: &str, met: bool) {
        self.goals.push(Goal {
            what: what.to_owned(),
            goal: format!("{sign} {goal} {unit}"),
            got: format!("{} {unit}", rounded(got)),
            met,
        });
    }
}

/// Three digits that mean something.
pub(crate) fn rounded(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}

fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    output.map_or_else(
        |_| String::new(),
        |o| String::from_utf8_lossy(&o.stdout).trim().to_owned(),
    )
}

fn commit() -> String {
    let changed = !said("git", &["status", "--porcelain", "--untracked-files=no"]).is_empty();
    let commit = said("git", &["rev-parse", "--short", "HEAD"]);
    format!("{commit}{}", if changed { "+" } else { "" })
}

fn machine() -> String {
    let field = |file: &str, name: &str| {
        let text = fs::read_to_string(file).unwrap_or_default();
        let value = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.split_once(':'));
        value.map_or_else(String::new, |(_, value)| value.trim().to_owned())
    };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let kibibytes = field("/proc/meminfo", "MemTotal");
    let gibibytes = kibibytes.trim_end_matches(" kB").parse::<f64>().unwrap_or(0.0) / 1048576.0;
    let rust = said("rustc", &["--version"]);
    format!(
        "{}, {cores} cores, {gibibytes:.0} GiB, {rust}",
        field("/proc/cpuinfo", "model name")
    )
}

pub(crate) fn read(file: &Path) -> Result<Parts, String> {
    match fs::read(file) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|e| format!("{}: {e}", file.display())),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Parts::new()),
        Err(e) => Err(format!("{}: {e}", file.display())),
    }
}

/// Puts one part into the file; the others stay as they were.
pub(crate) fn keep(file: &Path, name: &str, part: Part) -> Result<Parts, String> {
    let mut parts = read(file)?;
    parts.insert(name.to_owned(), part);
    let text = serde_json::to_string_pretty(&parts).map_err(|e| e.to_string())?;
    fs::write(file, text + "\n").map_err(|e| format!("{}: {e}", file.display()))?;
    Ok(parts)
}
