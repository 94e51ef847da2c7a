//! The function in a container, as AWS's SAM runs it, without a network: a base image made here and a Docker daemon of its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::infra;
use crate::print;
use crate::process::{output, quietly};
use crate::provide;
use crate::server::{Server, connect, free_ports, post};

/// What SAM takes for the runtime's image. It adds AWS's emulator to it.
const IMAGE: &str = "stayput-local/provided:al2023";
/// The functions of the template.
const FUNCTIONS: [&str; 2] = ["Judge", "Sweep"];
/// What SAM needs in its image: its build steps are shell commands.
const COMMANDS: [&str; 5] = ["sh", "mv", "chmod", "cp", "rm"];

/// A Docker daemon: the user's, or one that ends with this.
pub(crate) struct Docker {
    host: String,
    _own: Option<Server>,
}

impl Docker {
    /// Starts one, if `DOCKER_HOST` names none.
    pub(crate) fn start(root: &Path) -> Result<Self, String> {
        let local = provide::local(root)?;
        if let Ok(host) = std::env::var("DOCKER_HOST") {
            return Ok(Self { host, _own: None });
        }
        provide::dockerd()?;
        let folder = local.join("docker");
        std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        // A socket's path is at most 107 bytes long, and a checkout may lie deep.
        let socket = std::env::temp_dir().join(format!("stayput-docker-{}.sock", std::process::id()));
        let host = format!("unix://{}", socket.display());
        let mut command = Command::new("dockerd");
        command
            // The machine's firewall and routes are left as they are.
            .args(["--iptables=false", "--ip6tables=false"])
            .args(["--ip-forward=false", "--ip-masq=false"])
            .arg("--data-root")
            .arg(folder.join("data"))
            .arg("--exec-root")
            .arg(folder.join("exec"))
            .arg("--pidfile")
            .arg(folder.join("pid"))
            .args(["-H", &host]);
        let log = local.join("logs/dockerd.log");
        let mut server = Server::start("dockerd", &mut command, &log, Duration::from_secs(20))?;
        server.wait_until(|| quietly(Command::new("docker").args(["-H", &host, "version"])).is_ok())?;
        Ok(Self {
            host,
            _own: Some(server),
        })
    }

    fn command(&self) -> Command {
        let mut command = Command::new("docker");
        command.args(["-H", &self.host]);
        command
    }

    /// An image with a shell and the folders that a runtime has.
    fn make_image(&self, local: &Path) -> Result<(), String> {
        let folder = local.join("image");
        let root = folder.join("root");
        let _ = std::fs::remove_dir_all(&root);
        for directory in ["bin", "tmp", "opt", "var/task", "var/runtime", "var/rapid"] {
            let directory = root.join(directory);
            std::fs::create_dir_all(&directory).map_err(|e| format!("{}: {e}", directory.display()))?;
        }
        let package = provide::busybox(&folder)?;
        quietly(Command::new("dpkg-deb").arg("-x").arg(&package).arg(&root))?;
        for name in COMMANDS {
            link(&root.join("bin").join(name))?;
        }
        let tar = folder.join("root.tar");
        quietly(
            Command::new("tar")
                .arg("-C")
                .arg(&root)
                .arg("-cf")
                .arg(&tar)
                .arg("."),
        )?;
        quietly(
            self.command()
                .args(["import", "--change", "WORKDIR /var/task"])
                .arg(&tar)
                .arg(IMAGE),
        )
    }

    /// Containers that run of our image, by their ids.
    fn running(&self) -> Result<Vec<String>, String> {
        let list = output(self.command().args(["ps", "--quiet"]))?;
        Ok(list.lines().map(str::to_owned).collect())
    }
}

#[cfg(unix)]
fn link(at: &Path) -> Result<(), String> {
    if at.exists() {
        return Ok(());
    }
    std::os::unix::fs::symlink("busybox", at).map_err(|e| format!("{}: {e}", at.display()))
}

#[cfg(not(unix))]
fn link(_: &Path) -> Result<(), String> {
    Err("SAM local is set up for Linux only".to_owned())
}

/// An event, and what the function must answer.
struct Case {
    name: String,
    event: PathBuf,
    answer: String,
}

fn cases(root: &Path) -> Result<Vec<Case>, String> {
    let folder = root.join("infra/local/events");
    let read = |path: &Path| std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()));
    let mut found = Vec::new();
    let entries = std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for entry in entries.flatten() {
        let event = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some(name) = name.strip_suffix(".json").filter(|n| !n.ends_with(".answer")) {
            found.push(Case {
                name: name.to_owned(),
                answer: plain(&read(&folder.join(format!("{name}.answer.json")))?),
                event,
            });
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    if found.len() < 2 {
        return Err(format!("{} has only {} events", folder.display(), found.len()));
    }
    Ok(found)
}

/// JSON without the spaces between its words; no text of ours has any.
fn plain(json: &str) -> String {
    json.split_whitespace().collect()
}

fn compare(how: &str, case: &Case, answer: &str) -> Result<(), String> {
    // The runtime may say on the way out that its emulator is gone.
    let answered = answer.lines().any(|line| plain(line) == case.answer);
    print::line(&format!("     {how}, {}: {}", case.name, answer.trim_end()));
    if answered {
        Ok(())
    } else {
        Err(format!("{how}, {}: {} was expected", case.name, case.answer))
    }
}

/// Calls the functions in containers, and compares what they answer.
pub(crate) fn run(root: &Path, docker: &Docker, bootstrap: &Path) -> Result<(), String> {
    let sam = provide::sam(root)?;
    let local = provide::local(root)?;
    let template = infra::built_template(root, bootstrap)?;
    docker.make_image(&local)?;
    let before = docker.running()?;
    let cases = cases(root)?;
    let arguments = |command: &mut Command| {
        command
            .env("DOCKER_HOST", &docker.host)
            .args(["--skip-pull-image", "--region", "eu-west-1"])
            .args(["--parameter-overrides", "StateBucket=flink-state"])
            .arg("Architecture=x86_64")
            .arg("--template")
            .arg(&template);
    };
    for (function, case) in FUNCTIONS.iter().zip(&cases) {
        let mut invoke = infra::command(&sam);
        invoke.args(["local", "invoke", function, "--invoke-image", IMAGE]);
        arguments(&mut invoke);
        let answer = output(invoke.arg("--event").arg(&case.event))?;
        compare(&format!("sam local invoke {function}"), case, &answer)?;
    }
    let [port] = free_ports()?;
    let mut start = infra::command(&sam);
    start.args(["local", "start-lambda", "--host", "127.0.0.1"]);
    start.args(["--port", &port.to_string(), "--warm-containers", "EAGER"]);
    start.args(["--invoke-image", IMAGE]);
    arguments(&mut start);
    let log = local.join("logs/start-lambda.log");
    let mut server = Server::start(
        "sam local start-lambda",
        &mut start,
        &log,
        Duration::from_secs(30),
    )?;
    server.wait_until(|| connect(port).is_some())?;
    for case in &cases {
        for function in FUNCTIONS {
            let event = std::fs::read(&case.event).map_err(|e| format!("{}: {e}", case.event.display()))?;
            let path = format!("/2015-03-31/functions/{function}/invocations");
            let answer = post(port, &path, &event)?;
            compare(&format!("start-lambda {function}"), case, &answer)?;
        }
    }
    drop(server);
    let after = docker.running()?;
    if after.len() > before.len() {
        return Err(format!("SAM left containers behind: {}", after.join(" ")));
    }
    Ok(())
}
