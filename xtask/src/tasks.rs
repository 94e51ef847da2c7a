//! The tasks that a person or CI names.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ceph::Ceph;
use crate::fuzz;
use crate::infra;
use crate::ministack::MiniStack;
use crate::print;
use crate::process::{Variable, cargo, count_tests, quietly, run as run_command, target_directory};
use crate::provide;
use crate::sam_build;
use crate::sam_local;
use crate::seaweedfs::SeaweedFs;
use crate::sim;
use crate::steps::Steps;
use crate::tally::Tally;
use crate::web;

/// Whether `STAYPUT_REQUIRE` names a part.
fn required(part: &str) -> bool {
    std::env::var("STAYPUT_REQUIRE").is_ok_and(|list| list.split(',').any(|name| name.trim() == part))
}

fn end(steps: &Steps) -> bool {
    steps.print_table();
    steps.well()
}

/// Installs everything.
pub(crate) fn setup(root: &Path) -> Result<bool, String> {
    print::line(
        "setting up: Rust targets, the musl C compiler, MiniStack, AWS's Lambda emulator, the page's packages, Chromium",
    );
    let mut steps = Steps::default();
    steps.step("Rust targets and components", || {
        provide::rust(root, &[provide::MUSL, provide::WASM], &["rustfmt", "clippy"])
    });
    steps.step("musl C compiler", || provide::musl(root));
    steps.step("MiniStack", || provide::ministack(root));
    steps.step("Lambda emulator", || provide::rie(root));
    steps.step("the page's packages", || {
        provide::node()?;
        provide::npm(&root.join("web"))
    });
    steps.step("Chromium", provide::chromium);
    Ok(end(&steps))
}

fn lint_steps(root: &Path, steps: &mut Steps) {
    steps.check("rustfmt and clippy", || {
        provide::rust(root, &[], &["rustfmt", "clippy"])
    });
    steps.check("fmt", || {
        run_command(cargo(root).args(["fmt", "--all", "--check", "--message-format", "short"]))
    });
    steps.check("clippy", || {
        run_command(cargo(root).args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
    });
    steps.check("doc", || {
        run_command(cargo(root)
                .env("RUSTDOCFLAGS", "-Dwarnings")
                // With examples comes what tests need: with other features of its crates the SDK would be checked a second time.
                .args(["doc", "--workspace", "--no-deps", "--lib", "--bins", "--examples"]))
    });
}

/// Formatting, clippy, documentation.
pub(crate) fn lint(root: &Path) -> Result<bool, String> {
    print::line("checking formatting, clippy and documentation");
    let mut steps = Steps::default();
    lint_steps(root, &mut steps);
    Ok(end(&steps))
}

/// The linters of the infrastructure.
pub(crate) fn infra_lint(root: &Path) -> Result<bool, String> {
    print::line("checking infra/: cfn-lint, sam validate, checkov, and its own checks");
    let mut steps = Steps::default();
    infra::lint(root, &mut steps, true);
    Ok(end(&steps))
}

fn check_sam_build(root: &Path, steps: &mut Steps, required: bool) {
    if steps
        .part("install cargo-lambda", required, || provide::cargo_lambda(root))
        .is_some()
        && steps
            .part("SAM to build with", required, || provide::sam(root))
            .is_some()
    {
        steps.check("sam build for arm64", || sam_build::run(root).map(|_| ()));
    }
}

/// What is deployed, built as SAM builds it.
pub(crate) fn infra_build(root: &Path) -> Result<bool, String> {
    print::line("building the function for arm64, as SAM builds it");
    let mut steps = Steps::default();
    check_sam_build(root, &mut steps, true);
    Ok(end(&steps))
}

/// The template with the function for this machine.
pub(crate) fn infra_template(root: &Path) -> Result<bool, String> {
    print::line("building the function for this machine, and putting the template beside it");
    let mut steps = Steps::default();
    if let Some(template) = steps.step("template", || infra::built_template(root, &build_lambda(root)?)) {
        print::line(&format!("{}", template.display()));
    }
    Ok(end(&steps))
}

fn check_sam_local(root: &Path, steps: &mut Steps, required: bool) {
    if let Some(docker) = steps.part("Docker", required, || sam_local::Docker::start(root)) {
        steps.check("SAM local", || {
            sam_local::run(root, &docker, &build_lambda(root)?)
        });
    }
}

/// The function in containers.
pub(crate) fn infra_local(root: &Path) -> Result<bool, String> {
    print::line("calling the function in containers, as SAM runs it");
    let mut steps = Steps::default();
    check_sam_local(root, &mut steps, true);
    Ok(end(&steps))
}

/// Builds the core for WebAssembly and compares its answers with the native one's.
fn check_wasm(root: &Path) -> Result<Tally, String> {
    provide::rust(root, &[provide::WASM], &[])?;
    provide::node()?;
    // With them comes wasm-opt: what is checked is what the page has.
    provide::npm(&root.join("web"))?;
    let mut command = cargo(root);
    command.args(["run", "--package", "xtask-wasm-bindgen", "--", "check"]);
    count_tests(&mut command, &provide::local(root)?.join("logs/wasm.log"))
}

/// The core for WebAssembly.
pub(crate) fn wasm(root: &Path) -> Result<bool, String> {
    print::line("building the core for WebAssembly, and comparing its answers with the native core's");
    let mut steps = Steps::default();
    steps.tests("wasm", || check_wasm(root));
    Ok(end(&steps))
}

/// The inspector's page.
pub(crate) fn web(root: &Path, serve: bool) -> Result<bool, String> {
    print::line("building the inspector's page");
    let mut steps = Steps::default();
    let built = steps.step("page", || web::build(root));
    if let (Some(out), true) = (built, serve) {
        web::serve(root, &out)?;
    }
    Ok(end(&steps))
}

/// The page in a browser, against the command of the same build.
fn test_page(root: &Path, steps: &mut Steps, all: bool) {
    let Some(chromium) = steps.part("Chromium", required("chromium"), provide::chromium) else {
        return;
    };
    steps.tests("page", || {
        let programs = build_programs(root)?;
        web::test(root, &chromium, &programs.join("stayput"), all)
    });
}

fn size(file: &Path) -> Result<u64, String> {
    std::fs::metadata(file)
        .map(|data| data.len())
        .map_err(|e| format!("{}: {e}", file.display()))
}

/// Packs the bootstrap; the same bytes give the same zip.
const ZIP: &str = "\
import sys, zipfile
with open(sys.argv[1], 'rb') as f: data = f.read()
entry = zipfile.ZipInfo('bootstrap', (1980, 1, 1, 0, 0, 0))
entry.external_attr = 0o100755 << 16
entry.compress_type = zipfile.ZIP_DEFLATED
with zipfile.ZipFile(sys.argv[2], 'w') as z: z.writestr(entry, data, compresslevel=9)
";

/// Builds the Lambda. Returns the bootstrap; the zip lies beside it.
fn build_lambda(root: &Path) -> Result<PathBuf, String> {
    provide::musl(root)?;
    run_command(cargo(root).args([
        "build",
        "--profile",
        "lambda",
        "--target",
        provide::MUSL,
        "-p",
        "stayput-lambda",
    ]))?;
    let bootstrap = target_directory(root)?
        .join(provide::MUSL)
        .join("lambda/bootstrap");
    let zip = bootstrap.with_file_name("stayput-lambda.zip");
    quietly(
        Command::new("python3")
            .args(["-c", ZIP])
            .arg(&bootstrap)
            .arg(&zip),
    )?;
    print::line(&format!(
        "bootstrap: {} bytes, stayput-lambda.zip: {} bytes",
        size(&bootstrap)?,
        size(&zip)?
    ));
    Ok(bootstrap)
}

/// The Lambda's bootstrap and its zip.
pub(crate) fn lambda(root: &Path) -> Result<bool, String> {
    print::line("building the Lambda for provided.al2023");
    let mut steps = Steps::default();
    if let Some(bootstrap) = steps.step("lambda", || build_lambda(root)) {
        print::line(&format!(
            "{}",
            bootstrap.with_file_name("stayput-lambda.zip").display()
        ));
    }
    Ok(end(&steps))
}

fn start_ministack(root: &Path) -> Result<MiniStack, String> {
    let program = provide::ministack(root)?;
    MiniStack::start(&program, &provide::local(root)?.join("logs/ministack.log"))
}

/// Builds the programs for this machine; returns their folder.
fn build_programs(root: &Path) -> Result<PathBuf, String> {
    // The whole workspace, and with examples what tests need, as the tests do: with other features the SDK would be compiled a second time.
    run_command(cargo(root).args(["build", "--workspace", "--bins", "--examples"]))?;
    Ok(target_directory(root)?.join("debug"))
}

fn start_ceph(root: &Path) -> Result<Ceph, String> {
    provide::ceph()?;
    let local = provide::local(root)?;
    Ceph::start(&local.join("ceph"), &local.join("logs"))
}

fn start_seaweedfs(root: &Path) -> Result<SeaweedFs, String> {
    let program = provide::seaweedfs(root)?;
    let local = provide::local(root)?;
    SeaweedFs::start(
        &program,
        &local.join("seaweedfs"),
        &local.join("logs/seaweedfs.log"),
    )
}

/// What tests of the whole system are told: where the servers are and what to run.
#[derive(Default)]
struct System {
    variables: Vec<Variable>,
    // Held so that it lives as long as the tests.
    _ministack: Option<MiniStack>,
    _guarded: Option<MiniStack>,
    _ceph: Option<Ceph>,
    _seaweedfs: Option<SeaweedFs>,
}

impl System {
    /// `lambda` builds the function, or waits for its build.
    fn start(
        root: &Path,
        steps: &mut Steps,
        all: bool,
        lambda: impl FnOnce() -> Result<PathBuf, String>,
    ) -> Self {
        let mut system = Self::default();
        let needed = ["rie", "ministack", "stack", "flink"].into_iter().any(required);
        if let Some(bootstrap) = steps.part("lambda", needed, lambda) {
            system.tell("STAYPUT_BOOTSTRAP", &bootstrap);
        }
        if let Some(server) = steps.part(
            "start MiniStack",
            required("ministack") || required("flink"),
            || start_ministack(root),
        ) {
            system.variables.push(("STAYPUT_MINISTACK", server.url()));
            system._ministack = Some(server);
        }
        let stack = all || required("stack");
        if stack && let Some(sam) = steps.part("SAM", required("stack"), || provide::sam(root)) {
            system.tell("STAYPUT_SAM", &sam);
        }
        if stack
            && let Some(server) = steps.part("start MiniStack that checks roles", required("stack"), || {
                let program = provide::ministack(root)?;
                MiniStack::start_guarded(
                    &program,
                    &provide::local(root)?.join("logs/ministack-guarded.log"),
                )
            })
        {
            system.variables.push(("STAYPUT_MINISTACK_GUARDED", server.url()));
            system._guarded = Some(server);
        }
        if let Some(program) = steps.part("Lambda emulator", required("rie"), || provide::rie(root)) {
            system.tell("STAYPUT_RIE", &program);
        }
        if (all || required("flink"))
            && let Some(folder) = steps.part("Flink", required("flink"), || provide::flink(root))
        {
            system.tell("STAYPUT_FLINK", &folder);
        }
        if all {
            system.variables.push(("STAYPUT_ALL", "1".to_owned()));
        }
        if all || required("ceph") {
            let ceph = steps.part("start Ceph", required("ceph"), || start_ceph(root));
            system
                .variables
                .extend(ceph.as_ref().map(|c| ("STAYPUT_CEPH", c.url())));
            system._ceph = ceph;
        }
        if all || required("seaweedfs") {
            let seaweedfs = steps.part("start SeaweedFS", required("seaweedfs"), || start_seaweedfs(root));
            system
                .variables
                .extend(seaweedfs.as_ref().map(|s| ("STAYPUT_SEAWEEDFS", s.url())));
            system._seaweedfs = seaweedfs;
        }
        let command = required("ceph") || required("seaweedfs");
        if (all || command)
            && let Some(programs) = steps.part("build the command", command, || build_programs(root))
        {
            system.tell("STAYPUT_COMMAND", &programs.join("stayput"));
        }
        system
    }

    fn tell(&mut self, name: &'static str, path: &Path) {
        self.variables.push((name, path.to_string_lossy().into_owned()));
    }
}

/// Everything that CI runs; `all`: and what takes too long for every change.
pub(crate) fn test(root: &Path, all: bool) -> Result<bool, String> {
    print::line(
        "testing: formatting, clippy, documentation, WebAssembly, the Lambda, all tests with local servers",
    );
    let logs = provide::local(root)?.join("logs");
    let mut steps = Steps::default();
    steps.check("Rust targets and components", || {
        provide::rust(root, &[provide::MUSL, provide::WASM], &["rustfmt", "clippy"])
    });
    steps.check("musl C compiler", || provide::musl(root));
    // Its largest crate is one long piece of work for one core: beside the lints it costs little.
    let lambda = std::thread::spawn({
        let root = root.to_owned();
        move || build_lambda(&root)
    });
    lint_steps(root, &mut steps);
    // Two large downloads, whose time in CI isn't known yet.
    if all || required("infra") {
        infra::lint(root, &mut steps, required("infra"));
    }
    steps.tests("wasm", || check_wasm(root));
    let system = System::start(root, &mut steps, all, || {
        lambda
            .join()
            .unwrap_or_else(|_| Err("the build of the Lambda panicked".to_owned()))
    });
    steps.tests("tests", || {
        let mut command = cargo(root);
        command
            .args(["test", "--workspace", "--no-fail-fast"])
            .envs(system.variables.iter().cloned());
        // What a test left out is said by the test, so its output must be seen.
        count_tests(command.args(["--", "--show-output"]), &logs.join("tests.log"))
    });
    drop(system);
    test_page(root, &mut steps, all);
    steps.check("mutants", || fuzz::mutate(root, if all { 60 } else { 30 }));
    steps.check("simulation", || sim::test(root, all));
    if all || required("arm64") {
        check_sam_build(root, &mut steps, required("arm64"));
    }
    if all || required("docker") {
        check_sam_local(root, &mut steps, required("docker"));
    }
    if all {
        steps.check("planted faults", || sim::mutants(root, &[]));
        steps.check("instructions", || count_instructions(root, false));
    }
    steps.print_table();
    steps.print_tally();
    Ok(steps.well())
}

/// Shows the main job: a deleted object that a checkpoint still needs comes back.
pub(crate) fn demo(root: &Path) -> Result<bool, String> {
    print::line(
        "the demo needs MiniStack, the Lambda and the stayput command; the first time that takes a few minutes",
    );
    let mut steps = Steps::default();
    let bootstrap = steps.step("build the Lambda", || build_lambda(root));
    let programs = steps.step("build the command and the demo", || build_programs(root));
    let server = steps.step("start MiniStack", || start_ministack(root));
    let (Some(bootstrap), Some(programs), Some(server)) = (bootstrap, programs, server) else {
        return Ok(end(&steps));
    };
    steps.step("demo", || {
        let mut demo = Command::new(programs.join("stayput-demo"));
        demo.env("STAYPUT_MINISTACK", server.url())
            .env("STAYPUT_BOOTSTRAP", &bootstrap)
            .env("STAYPUT_COMMAND", programs.join("stayput"));
        run_command(&mut demo)
    });
    drop(server);
    Ok(end(&steps))
}

/// Parts of the benchmark that call the function.
const WITH_FUNCTION: [&str; 2] = ["deletions", "start"];
/// Parts of the benchmark that read files which Flink writes.
const WITH_FLINK: [&str; 4] = ["parser", "shapes", "index", "deletions"];

/// Measures, and writes docs/benchmarks.md. No parts: all of them.
pub(crate) fn bench(root: &Path, parts: &[&str]) -> Result<bool, String> {
    let parts = if parts.is_empty() {
        &[
            "parser",
            "shapes",
            "index",
            "cold",
            "deciding",
            "deletions",
            "scale",
            "start",
        ]
    } else {
        parts
    };
    let mut steps = Steps::default();
    let mut system = System::default();
    if parts.iter().any(|part| WITH_FLINK.contains(part))
        && let Some(folder) = steps.step("Flink", || provide::flink(root))
    {
        system.tell("STAYPUT_FLINK", &folder);
    }
    if parts.iter().any(|part| WITH_FUNCTION.contains(part)) {
        if let Some(bootstrap) = steps.step("lambda", || build_lambda(root)) {
            system.tell("STAYPUT_BOOTSTRAP", &bootstrap);
        }
        if let Some(program) = steps.step("Lambda emulator", || provide::rie(root)) {
            system.tell("STAYPUT_RIE", &program);
        }
    }
    for part in parts {
        // A fresh server for each, as they use the same bucket.
        let server = if WITH_FUNCTION.contains(part) {
            steps.step("start MiniStack", || start_ministack(root))
        } else {
            None
        };
        steps.step(part, || {
            // As the Lambda is built, but for this machine's C library.
            let mut measure = cargo(root);
            measure
                .args(["run", "--profile", "lambda", "-p", "stayput-bench", "--", part])
                .envs(system.variables.iter().cloned());
            if let Some(server) = &server {
                measure.env("STAYPUT_MINISTACK", server.url());
            }
            run_command(&mut measure)
        });
    }
    Ok(end(&steps))
}

/// Counts instructions and holds them against those that were kept, or keeps them.
pub(crate) fn gate(root: &Path, keep: bool) -> Result<bool, String> {
    let mut steps = Steps::default();
    steps.step("instructions", || count_instructions(root, keep));
    Ok(end(&steps))
}

fn count_instructions(root: &Path, keep: bool) -> Result<(), String> {
    provide::valgrind()?;
    let mut gate = cargo(root);
    gate.args(["run", "--release", "-p", "stayput-bench", "--", "gate"]);
    if keep {
        gate.arg("--keep");
    }
    run_command(&mut gate)
}

/// Runs a command with the servers up.
pub(crate) fn run(root: &Path, program: &str, arguments: &[&str]) -> Result<bool, String> {
    let mut steps = Steps::default();
    let system = System::start(root, &mut steps, false, || build_lambda(root));
    if !steps.well() {
        return Ok(false);
    }
    let ran = run_command(
        Command::new(program)
            .args(arguments)
            .envs(system.variables.iter().cloned()),
    );
    drop(system);
    ran.map(|()| true)
}
