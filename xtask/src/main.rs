//! Every build, check and demo step. `cargo xtask` alone lists them.

mod ceph;
mod fuzz;
mod infra;
mod ministack;
mod print;
mod process;
mod provide;
mod sam_build;
mod sam_local;
mod seaweedfs;
mod server;
mod sim;
mod steps;
mod tally;
mod tasks;
mod web;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask NAME

  setup        install what the other steps need, and say what
  test         everything that CI runs; the last line counts the tests
  test --all   that, and real Flink, Ceph and SeaweedFS as well, large files, and the gate: minutes more, 700 MB more
  demo         a deleted object comes back: on this machine, without AWS
  bench [PART] docs/benchmarks.md, with real Flink beside us: all of it, or one part (parser, shapes, index, cold, deciding, deletions, scale, start)
  gate [--keep]
               instructions for a handle, counted by Valgrind: 5 % more than bench/instructions.json says is a failure; --keep
               writes that file. `test --all` does it too
  infra lint   the linters of infra/: cfn-lint, sam validate, checkov, and its own checks
  infra build  what `sam build` makes for AWS: the function for arm64, by cargo-lambda (PyPI, 470 MB), without Docker
  infra template
               the template with the function for this machine, to deploy on a local server: infra/local/README.md
  infra local  the function in containers, as `sam local invoke` and `sam local start-lambda` run it
  lint         formatting, clippy, documentation
  wasm         the core for WebAssembly
  web [build]  the inspector's page: builds it as a folder and as one file, and serves it on the loopback address
  lambda       the Lambda's bootstrap and its zip
  fuzz [--for 30m] [--target NAME]… [--keep]
               the fuzz targets, two at a time, with nightly Rust; --keep takes what they found into the repository
  sim [--seeds N] [--from S] [--for SECONDS] [--long] [--replicated]
               histories of a simulated world: jobs, rules, careless people, lost messages; what must hold is in sim/src/oracle
  sim --seed S --trace
               one of them, step by step; --html FILE draws it, --shrink makes it small, --keep NAME STORY keeps it in sim/kept
  sim --kept   every history that once failed
  sim --mutants [--seeds N] [--only WORDS]
               faults planted into a copy of the guard: each must be found
  run COMMAND  run a command with the local servers up, for example: cargo xtask run cargo test -p stayput-tests

Each is safe to run twice. STAYPUT_REQUIRE=rie,ministack,stack,infra,arm64,docker,flink,ceph,seaweedfs,chromium makes a missing part a failure instead of a skip.
STAYPUT_SEED gives the mutants of `test` the number that a failing run has said.
";

/// The folder of the workspace, found at run time: the binary may be older than the place where it lies now.
fn workspace() -> Result<PathBuf, String> {
    let here = std::env::current_dir().map_err(|e| format!("the current folder can't be read: {e}"))?;
    here.ancestors()
        .find(|folder| folder.join("xtask/Cargo.toml").is_file() && folder.join("Cargo.lock").is_file())
        .map(Path::to_path_buf)
        .ok_or_else(|| format!("{} isn't inside a checkout of Stayput", here.display()))
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ended = match words.as_slice() {
        [] | ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        ["setup"] => workspace().and_then(|root| tasks::setup(&root)),
        ["test"] => workspace().and_then(|root| tasks::test(&root, false)),
        ["test", "--all"] => workspace().and_then(|root| tasks::test(&root, true)),
        ["demo"] => workspace().and_then(|root| tasks::demo(&root)),
        ["bench", parts @ ..] => workspace().and_then(|root| tasks::bench(&root, parts)),
        ["gate"] => workspace().and_then(|root| tasks::gate(&root, false)),
        ["gate", "--keep"] => workspace().and_then(|root| tasks::gate(&root, true)),
        ["infra", "lint"] => workspace().and_then(|root| tasks::infra_lint(&root)),
        ["infra", "build"] => workspace().and_then(|root| tasks::infra_build(&root)),
        ["infra", "template"] => workspace().and_then(|root| tasks::infra_template(&root)),
        ["infra", "local"] => workspace().and_then(|root| tasks::infra_local(&root)),
        ["lint"] => workspace().and_then(|root| tasks::lint(&root)),
        ["wasm"] => workspace().and_then(|root| tasks::wasm(&root)),
        ["web"] => workspace().and_then(|root| tasks::web(&root, true)),
        ["web", "build"] => workspace().and_then(|root| tasks::web(&root, false)),
        ["lambda"] => workspace().and_then(|root| tasks::lambda(&root)),
        ["fuzz", rest @ ..] => workspace()
            .and_then(|root| fuzz::Wanted::read(rest).and_then(|wanted| fuzz::fuzz(&root, &wanted))),
        ["sim", rest @ ..] => workspace().and_then(|root| sim::sim(&root, rest)),
        ["run", command, rest @ ..] => workspace().and_then(|root| tasks::run(&root, command, rest)),
        _ => {
            eprint!("unknown: {}\n\n{USAGE}", arguments.join(" "));
            return ExitCode::from(2);
        }
    };
    match ended {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}
