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

use crate::fold;

/// Reads a file and gives something that depends on all of it.
type Work = fn(&[u8]) -> u64;

/// What is counted, by name.
const WORKS: [(&str, Work); 4] = [
    ("references", references),
    ("tree", tree),
    ("index", index),
    ("document", document),
];

/// More than that above the kept number is too much, in percent.
const TOO_MUCH: f64 = 5.0;

/// Rounds of the short and of the long run: their difference is free of what starting costs.
const ROUNDS: [u32; 2] = [1, 4];

const HANDLES: usize = 20_000;

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
    let _ = enter(bytes, &at, &Roots::default(), [], &mut index);
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

/// Does a work so many times: what runs under Valgrind.
pub(crate) fn work(name: &str, rounds: &str) -> Result<(), String> {
    let (_, work) = WORKS
        .iter()
        .find(|(known, _)| *known == name)
        .ok_or_else(|| format!("{name} is no work"))?;
    let rounds: u32 = rounds.parse().map_err(|_| format!("{rounds} is no number"))?;
    let file = many_handles();
    let mut sum = 0u64;
    for _ in 0..rounds {
        sum = sum.wrapping_add(work(black_box(&file)));
    }
    black_box(sum);
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
    for (name, _) in WORKS {
        let [short, long] = ROUNDS;
        let handles = HANDLES as f64 * f64::from(long - short);
        let each = (instructions(name, long)? - instructions(name, short)?) / handles;
        let before = kept.get(name).copied();
        let change = before.map(|before| (each / before - 1.0) * 100.0);
        match (before, change) {
            (Some(before), Some(change)) => {
                println!("{name}: {each:.0} instructions for a handle, {change:+.1} % against {before:.0}");
            }
            _ => println!("{name}: {each:.0} instructions for a handle"),
        }
        if change.is_none_or(|change| change > TOO_MUCH) {
            too_much.push(name);
        }
        counted.insert(name, each.round());
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
