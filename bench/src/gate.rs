//! How many instructions a handle costs, counted by Valgrind: the same on a busy machine as on a quiet one.

use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;

use flink_checkpoint::{Index, Limits};
use stayput_core::location::ObjectLocation;
use stayput_core::metadata::enter;
use stayput_core::reference_index::ReferenceIndex;
use stayput_core::root::Roots;

use crate::deciding::{World, read};
use crate::fold;

/// What is counted.
struct Work {
    name: &'static str,
    /// So many of these are in one round.
    count: usize,
    of: &'static str,
    /// Does so many rounds and gives something that depends on all of them.
    run: fn(u32) -> Result<u64, String>,
}

const WORKS: [Work; 5] = [
    on_handles("references", |rounds| on_file(rounds, references)),
    on_handles("tree", |rounds| on_file(rounds, tree)),
    on_handles("index", |rounds| on_file(rounds, index)),
    on_handles("document", |rounds| on_file(rounds, document)),
    Work {
        name: "deletions",
        count: DELETIONS as usize,
        of: "deletion",
        run: deletions,
    },
];

const fn on_handles(name: &'static str, run: fn(u32) -> Result<u64, String>) -> Work {
    Work {
        name,
        count: HANDLES,
        of: "handle",
        run,
    }
}

fn work_named(name: &str) -> Result<&'static Work, String> {
    let found = WORKS.iter().find(|work| work.name == name);
    found.ok_or_else(|| format!("{name} is no work"))
}

/// More than that above the kept number is too much, in percent.
const TOO_MUCH: f64 = 5.0;

/// Rounds of the short and of the long run: their difference is free of what starting costs.
const ROUNDS: [u32; 2] = [1, 4];

const HANDLES: usize = 20_000;
const DELETIONS: u32 = 2_000;

fn references(bytes: &[u8]) -> u64 {
    let mut sum = 0;
    let _ = flink_checkpoint::references(bytes, &Limits::default(), &mut |reference| {
        sum += reference.target.path().len() as u64;
        std::ops::ControlFlow::Continue(())
    });
    sum
}

fn tree(bytes: &[u8]) -> u64 {
    let Ok(index) = Index::build(bytes, &Limits::default()) else {
        return 0;
    };
    index.view(bytes).map_or(0, fold::whole)
}

fn index(bytes: &[u8]) -> u64 {
    let at = ObjectLocation::new("flink-state", "checkpoints/job/chk-8/_metadata");
    let mut index = ReferenceIndex::new();
    let _ = enter(bytes, &at, &Roots::default(), [], &mut index, None);
    index.objects() as u64
}

fn document(bytes: &[u8]) -> u64 {
    stayput_core::report::summary::json(bytes, None).len() as u64
}

/// A file of so many handles as RocksDB's incremental checkpoints have them, so that what a file costs besides hardly counts.
fn many_handles() -> Vec<u8> {
    let files: Vec<String> = (0..HANDLES)
        .map(|n| stayput_hostile::large::file("s3://flink-state/checkpoints/job/shared/", n))
        .collect();
    stayput_hostile::large::metadata(7, 0, &files)
}

fn on_file(rounds: u32, read: fn(&[u8]) -> u64) -> Result<u64, String> {
    let file = many_handles();
    Ok((0..rounds).fold(0, |sum, _| sum.wrapping_add(read(black_box(&file)))))
}

/// Deletions by Flink, read and decided by a guard that has read the checkpoints.
fn deletions(rounds: u32) -> Result<u64, String> {
    let mut world = World::new(HANDLES / 10)?;
    // What making them costs is the same in the short and in the long run.
    let payloads: Vec<_> = (0..ROUNDS[1]).map(|_| world.payloads(DELETIONS)).collect();
    for payloads in payloads.iter().take(rounds as usize) {
        world.decide(&read(payloads)?)?;
    }
    Ok(0)
}

/// Does a work so many times: what runs under Valgrind.
pub(crate) fn work(name: &str, rounds: &str) -> Result<(), String> {
    let rounds: u32 = rounds.parse().map_err(|_| format!("{rounds} is no number"))?;
    black_box((work_named(name)?.run)(rounds)?);
    Ok(())
}

/// Instructions of one run.
fn instructions(work: &str, rounds: u32) -> Result<f64, String> {
    let program = std::env::current_exe().map_err(|e| format!("this program isn't found: {e}"))?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(["work", work, &rounds.to_string()])
        .output()
        .map_err(|e| format!("valgrind can't be started ({e}): `cargo xtask gate` installs it"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let collected = said.lines().find_map(|line| {
        let number = line.split_once("Collected :")?.1;
        number.trim().parse::<f64>().ok()
    });
    match collected {
        Some(number) if output.status.success() => Ok(number),
        _ => Err(format!("valgrind gave no number for {work}:\n{said}")),
    }
}

/// Counts all works and holds them against `bench/instructions.json`; with `keep` it writes that file instead.
pub(crate) fn gate(root: &Path, keep: bool) -> Result<(), String> {
    let file = root.join("bench/instructions.json");
    let kept: BTreeMap<String, f64> = match fs::read(&file) {
        Ok(text) => serde_json::from_slice(&text).map_err(|e| format!("{}: {e}", file.display()))?,
        Err(_) if keep => BTreeMap::new(),
        Err(e) => return Err(format!("{}: {e}", file.display())),
    };
    let mut counted = BTreeMap::new();
    let mut too_much = Vec::new();
    for Work { name, count, of, .. } in &WORKS {
        let name = *name;
        let [short, long] = ROUNDS;
        let all = *count as f64 * f64::from(long - short);
        let each = (instructions(name, long)? - instructions(name, short)?) / all;
        let before = kept.get(name).copied();
        let change = before.map(|before| (each / before - 1.0) * 100.0);
        match (before, change) {
            (Some(before), Some(change)) => {
                println!("{name}: {each:.0} instructions for a {of}, {change:+.1} % against {before:.0}");
            }
            _ => println!("{name}: {each:.0} instructions for a {of}"),
        }
        if change.is_none_or(|change| change > TOO_MUCH) {
            too_much.push(name);
        }
        counted.insert(name.to_owned(), each.round());
    }
    if keep {
        let text = serde_json::to_string_pretty(&counted).map_err(|e| e.to_string())?;
        return fs::write(&file, text + "\n").map_err(|e| format!("{}: {e}", file.display()));
    }
    if too_much.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{} cost over {TOO_MUCH} % more instructions than {} says: mend it, or if it must be, keep the new numbers with `cargo xtask \
         gate --keep` and say why",
        too_much.join(", "),
        file.display()
    ))
}
