//! `stayput-hostile`: the corpora as files and back, and mutation for a given time. `cargo xtask fuzz` and `cargo xtask test` call it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use peak_alloc::PeakAlloc;
use stayput_hostile::corpus;
use stayput_hostile::memory::is_counted;
use stayput_hostile::mutate::Stock;
use stayput_hostile::target::Target;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const USAGE: &str = "\
stayput-hostile NAME

  seeds TARGET FOLDER   writes what real systems wrote into FOLDER, one file for each input
  found TARGET FOLDER   writes what fuzzing found into FOLDER, one file for each input
  pack TARGET FOLDER    makes the corpus of TARGET out of the files in FOLDER
  check TARGET FILE…    checks inputs
  mutate SECONDS [SEED] checks mutants of valid inputs for so long; SEED is said at the end, and by each failure
  mutant SEED           checks the one mutant of this number
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["seeds", target, folder] => named(target).and_then(|target| {
            let inputs = corpus::seeds(target).map_err(|e| e.to_string())?;
            write(folder, inputs.into_iter().map(|(_, input)| input))
        }),
        ["found", target, folder] => {
            named(target).and_then(|target| write(folder, corpus::found(target).map_err(|e| e.to_string())?))
        }
        ["pack", target, folder] => named(target).and_then(|target| pack(target, folder)),
        ["mutate", seconds] => mutate(seconds, None),
        ["mutate", seconds, seed] => mutate(seconds, Some(seed)),
        ["mutant", seed] => mutant(seed),
        ["check", target, files @ ..] => named(target).and_then(|target| check(target, files)),
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("stayput-hostile: {message}");
            ExitCode::FAILURE
        }
    }
}

fn named(name: &str) -> Result<Target, String> {
    Target::named(name).ok_or_else(|| format!("{name:?} is no target"))
}

fn write(folder: &str, inputs: impl IntoIterator<Item = Vec<u8>>) -> Result<String, String> {
    fs::create_dir_all(folder).map_err(|e| format!("{folder}: {e}"))?;
    let mut count = 0;
    for (number, input) in inputs.into_iter().enumerate() {
        let path = Path::new(folder).join(format!("{number:05}"));
        fs::write(&path, input).map_err(|e| format!("{}: {e}", path.display()))?;
        count += 1;
    }
    Ok(format!("{count} inputs in {folder}"))
}

fn read(folder: &str) -> Result<Vec<Vec<u8>>, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{folder}: {e}"))?;
    entries
        .map(|entry| {
            let path = entry.map_err(|e| format!("{folder}: {e}"))?.path();
            fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))
        })
        .collect()
}

fn pack(target: Target, folder: &str) -> Result<String, String> {
    let count = corpus::pack(target, read(folder)?).map_err(|e| e.to_string())?;
    let path = corpus::pack_of(target);
    let size = fs::metadata(&path).map(|data| data.len()).unwrap_or_default();
    Ok(format!("{count} inputs, {size} bytes in {}", path.display()))
}

fn check(target: Target, files: &[&str]) -> Result<String, String> {
    let mut whole = 0;
    for file in files {
        let input = fs::read(file).map_err(|e| format!("{file}: {e}"))?;
        whole += usize::from(target.check(&input));
    }
    Ok(format!("{} inputs checked, {whole} of them whole", files.len()))
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{text:?} is no number"))
}

/// The number of the mutant that is being checked: said if the check fails.
static AT: AtomicU64 = AtomicU64::new(0);

fn say_which_mutant_fails() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        before(panic);
        let seed = AT.load(Ordering::Relaxed);
        eprintln!("mutant {seed} did it: cargo run -p stayput-hostile -- mutant {seed}");
    }));
}

fn mutate(seconds: &str, seed: Option<&str>) -> Result<String, String> {
    let time = Duration::from_secs(number(seconds)?);
    let seed = match seed {
        Some(seed) => number(seed)?,
        None => SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |since| since.as_secs() * 1_000_000),
    };
    if !is_counted() {
        return Err("memory isn't counted".to_owned());
    }
    println!("mutating for {seconds} s from seed {seed} on");
    let stock = Stock::load().map_err(|e| e.to_string())?;
    say_which_mutant_fails();
    let began = Instant::now();
    let mut done: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let mut at = seed;
    while began.elapsed() < time {
        AT.store(at, Ordering::Relaxed);
        let (target, input) = stock.mutant(at);
        let whole = target.check(&input);
        let (all, of_them_whole) = done.entry(target.name).or_default();
        *all += 1;
        *of_them_whole += u64::from(whole);
        at = at.wrapping_add(1);
    }
    let sum: u64 = done.values().map(|(all, _)| all).sum();
    let parts: Vec<String> = done
        .iter()
        .map(|(name, (all, whole))| format!("{name} {all} ({whole} whole)"))
        .collect();
    if sum < 100 {
        return Err(format!("only {sum} mutants in {seconds} s"));
    }
    Ok(format!("{sum} mutants from seed {seed} on: {}", parts.join(", ")))
}

fn mutant(seed: &str) -> Result<String, String> {
    let seed = number(seed)?;
    let stock = Stock::load().map_err(|e| e.to_string())?;
    AT.store(seed, Ordering::Relaxed);
    say_which_mutant_fails();
    let (target, input) = stock.mutant(seed);
    let whole = target.check(&input);
    Ok(format!("{}, {} bytes, whole: {whole}", target.name, input.len()))
}
