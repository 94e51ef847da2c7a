//! Measures what docs/benchmarks.md says, and writes it. `cargo xtask bench` runs it with Flink, the servers and the Lambda at hand.

mod cold;
mod cpu;
mod deciding;
mod flink;
mod flood;
mod fold;
mod function;
mod gate;
mod index;
mod page;
mod parser;
mod record;
mod scale;
mod series;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::flink::Flink;
use crate::record::Part;

const USAGE: &str = "\
usage: stayput-bench PART...
parts: parser, shapes, index, cold, deciding, deletions, scale, start
It measures the parts, keeps the numbers in docs/benchmarks.json and writes docs/benchmarks.md; `page` only writes.
usage: stayput-bench gate [--keep]
It counts instructions and holds them against bench/instructions.json, or writes that file.
";

/// What xtask tells.
struct Place {
    root: PathBuf,
    /// A folder for big files, kept between runs.
    work: PathBuf,
}

impl Place {
    fn find() -> Result<Self, String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let work =
            std::env::var_os("STAYPUT_BENCH_WORK").map_or_else(|| root.join(".stayput/bench"), PathBuf::from);
        std::fs::create_dir_all(&work).map_err(|e| format!("{}: {e}", work.display()))?;
        Ok(Self { root, work })
    }

    fn flink(&self) -> Result<Flink, String> {
        let folder = stayput_tests::system::flink()
            .ok_or("Flink isn't here: run this by `cargo xtask bench`, which installs it")?;
        Flink::compile(&folder, &self.work)
    }

    fn measure(&self, part: &str) -> Result<Part, String> {
        match part {
            "parser" => parser::measure(&self.flink()?, &self.work),
            "shapes" => parser::measure_shapes(&self.flink()?, &self.work),
            "index" => index::measure(&self.flink()?, &self.work),
            "cold" => cold::measure(),
            "deciding" => deciding::measure(),
            "deletions" => function::deletions(&self.flink()?, &self.work),
            "scale" => scale::measure(),
            "start" => function::start(),
            other => Err(format!("{other} is no part\n{USAGE}")),
        }
    }

    fn run(&self, names: &[&str]) -> Result<(), String> {
        let numbers = self.root.join("docs/benchmarks.json");
        for name in names.iter().filter(|name| **name != "page") {
            println!("measuring: {name}");
            let part = self.measure(name)?;
            for fact in &part.facts {
                println!("  {fact}");
            }
            for goal in &part.goals {
                let met = if goal.met { "met   " } else { "missed" };
                println!("  {met} {}: {} ({})", goal.what, goal.got, goal.goal);
            }
            record::keep(&numbers, name, part)?;
        }
        page::write(&record::read(&numbers)?, &self.root)
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        [] => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
        ["peak", file] => parser::peak(Path::new(file)),
        ["work", work, rounds] => gate::work(work, rounds),
        ["gate"] => Place::find().and_then(|place| gate::gate(&place.root, false)),
        ["gate", "--keep"] => Place::find().and_then(|place| gate::gate(&place.root, true)),
        parts => Place::find().and_then(|place| place.run(parts)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("stayput-bench: {message}");
            ExitCode::FAILURE
        }
    }
}
