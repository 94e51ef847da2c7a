//! A JobManager and TaskManagers, as processes.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::release::{Release, scratch};
use crate::rest::{PATIENCE, Rest};

/// One story at a time: more would only wait for each other's CPU, and time is a part of what is tested.
pub(crate) fn turn() -> Turn {
    static TURN: Mutex<()> = Mutex::new(());
    lock(&TURN)
}

/// The right to use a cluster.
pub(crate) type Turn = MutexGuard<'static, ()>;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A running cluster, stopped when nobody has it any more.
pub(crate) struct Cluster {
    /// What it is asked by.
    pub(crate) rest: Rest,
    release: Release,
    folder: PathBuf,
    jobmanager: Process,
    taskmanager: Mutex<Option<Process>>,
}

/// Where a JobManager looks for jars below `web.upload.dir`. The job's lies there already, so it needn't be uploaded.
const UPLOADED: &str = "flink-web-upload";
/// The name of the job's jar there.
pub(crate) const JAR: &str = "count.jar";

/// What Flink needs of Java 17: its own start scripts open the same packages.
const OPENED: [&str; 12] = [
    "java.lang",
    "java.lang.invoke",
    "java.lang.reflect",
    "java.io",
    "java.net",
    "java.nio",
    "java.text",
    "java.time",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "java.util.concurrent.locks",
];

const LOG4J: &str = "\
rootLogger.level=INFO
rootLogger.appenderRef.out.ref=out
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%d{HH:mm:ss.SSS} %p %c{1} %m%n
";

impl Cluster {
    /// The cluster of a release: one that another test has, or a new one. `settings` go into Flink's configuration as they are.
    ///
    /// # Panics
    /// If it doesn't come up.
    pub(crate) fn of(release: &Release, settings: &BTreeMap<&str, String>) -> Arc<Self> {
        static RUNNING: Mutex<BTreeMap<&str, Weak<Cluster>>> = Mutex::new(BTreeMap::new());
        let mut running = lock(&RUNNING);
        if let Some(cluster) = running.get(release.version).and_then(Weak::upgrade) {
            return cluster;
        }
        let cluster = Arc::new(Self::start(release, settings));
        running.insert(release.version, Arc::downgrade(&cluster));
        cluster
    }

    fn start(release: &Release, settings: &BTreeMap<&str, String>) -> Self {
        let folder = scratch().join(release.version);
        for part in ["conf", "tmp", UPLOADED] {
            // Absent the first time. The logs stay: they tell why a story failed.
            let _ = fs::remove_dir_all(folder.join(part));
        }
        for part in ["conf", "tmp", "logs", UPLOADED] {
            let part = folder.join(part);
            fs::create_dir_all(&part).unwrap_or_else(|e| panic!("{}: {e}", part.display()));
        }
        let jar = folder.join(UPLOADED).join(JAR);
        fs::copy(&release.jar, &jar).unwrap_or_else(|e| panic!("{}: {e}", jar.display()));
        write(&folder.join("conf/log4j.properties"), LOG4J);
        let began = Instant::now();
        loop {
            // New ones each time: until Java listens, somebody else may have taken one.
            let [rpc, rest] = free_ports();
            let mut text = base(&folder, rpc, rest);
            for (key, value) in settings {
                text.push_str(&format!("{key}: {value}\n"));
            }
            for file in ["flink-conf.yaml", "config.yaml"] {
                write(&folder.join("conf").join(file), &text);
            }
            let mut cluster = Self {
                rest: Rest::at(&format!("http://127.0.0.1:{rest}"), release),
                release: release.clone(),
                folder: folder.clone(),
                jobmanager: Process::start(
                    release,
                    &folder,
                    "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint",
                    "jobmanager",
                ),
                taskmanager: Mutex::new(None),
            };
            cluster.start_taskmanager();
            if cluster.comes_up(began) {
                println!(
                    "Flink {} is up after {:.1} s",
                    release.version,
                    began.elapsed().as_secs_f32()
                );
                return cluster;
            }
        }
    }

    /// Waits for both processes. `false`: one ended, and how has been said.
    fn comes_up(&mut self, began: Instant) -> bool {
        while !self.rest.has_slots() {
            let taskmanager = lock(&self.taskmanager).as_mut().and_then(Process::how_it_ended);
            let ended = self.jobmanager.how_it_ended().or(taskmanager);
            assert!(
                began.elapsed() < PATIENCE,
                "no TaskManager after {PATIENCE:?}; the logs are in {}",
                self.folder.join("logs").display()
            );
            if let Some(how) = ended {
                println!("Flink {} is started again: {how}", self.release.version);
                return false;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        true
    }

    /// Free for the next story: without the jobs of one that failed, and with a TaskManager.
    pub(crate) fn clear(&self) {
        self.rest.cancel_all();
        if lock(&self.taskmanager).is_none() {
            self.start_taskmanager();
        }
    }

    /// Starts a TaskManager.
    pub(crate) fn start_taskmanager(&self) {
        let started = Process::start(
            &self.release,
            &self.folder,
            "org.apache.flink.runtime.taskexecutor.TaskManagerRunner",
            "taskmanager",
        );
        *lock(&self.taskmanager) = Some(started);
    }

    /// Kills the TaskManager, as a machine that is gone.
    pub(crate) fn kill_taskmanager(&self) {
        lock(&self.taskmanager).take();
    }
}

fn free_ports<const N: usize>() -> [u16; N] {
    // Held until all are known, so that they differ.
    let listeners = [(); N].map(|()| {
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .unwrap_or_else(|e| panic!("no free port on the loopback address: {e}"))
    });
    listeners.map(|l| {
        l.local_addr()
            .unwrap_or_else(|e| panic!("a socket without an address: {e}"))
            .port()
    })
}

fn write(file: &Path, text: &str) {
    fs::write(file, text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
}

/// What isn't about checkpoints: addresses, folders, memory; and patience, since a busy machine isn't what is tested.
fn base(folder: &Path, rpc: u16, rest: u16) -> String {
    let folder = folder.display();
    format!(
        "jobmanager.rpc.address: 127.0.0.1
jobmanager.rpc.port: {rpc}
jobmanager.bind-host: 127.0.0.1
taskmanager.host: 127.0.0.1
taskmanager.bind-host: 127.0.0.1
rest.address: 127.0.0.1
rest.bind-address: 127.0.0.1
rest.port: {rest}
rest.bind-port: {rest}
web.upload.dir: {folder}
web.tmpdir: {folder}/tmp
io.tmp.dirs: {folder}/tmp
blob.storage.directory: {folder}/tmp
heartbeat.interval: 500
web.refresh-interval: 200
metrics.fetcher.update-interval: 500
heartbeat.timeout: 60000
pekko.ask.timeout: 60 s
taskmanager.numberOfTaskSlots: 1
taskmanager.cpu.cores: 1.0
taskmanager.memory.framework.heap.size: 128m
taskmanager.memory.framework.off-heap.size: 128m
taskmanager.memory.task.heap.size: 192m
taskmanager.memory.task.off-heap.size: 0m
taskmanager.memory.network.min: 64m
taskmanager.memory.network.max: 64m
taskmanager.memory.managed.size: 128m
taskmanager.memory.jvm-metaspace.size: 256m
taskmanager.memory.jvm-overhead.min: 192m
taskmanager.memory.jvm-overhead.max: 192m
"
    )
}

/// A JobManager or a TaskManager, killed when nobody has it any more.
struct Process {
    child: Child,
    name: String,
    log: PathBuf,
}

impl Process {
    fn start(release: &Release, folder: &Path, class: &str, what: &str) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("{what}-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let log = folder.join(format!("logs/{name}.log"));
        let out = File::create(&log).unwrap_or_else(|e| panic!("{}: {e}", log.display()));
        let err = out
            .try_clone()
            .unwrap_or_else(|e| panic!("{}: {e}", log.display()));
        let mut command = Command::new("java");
        command
            .args(["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"])
            .args(OPENED.map(|package| format!("--add-opens=java.base/{package}=ALL-UNNAMED")))
            // Flink's own setting for it (pekko.startup-timeout) sets another one; 10 seconds are too few on a busy machine.
            .arg("-Dpekko.remote.classic.startup-timeout=300s")
            .arg(format!("-Djava.io.tmpdir={}", folder.join("tmp").display()))
            .arg(format!(
                "-Dlog4j.configurationFile={}",
                folder.join("conf/log4j.properties").display()
            ))
            .args(["-cp", &release.class_path(), class, "--configDir"])
            .arg(folder.join("conf"))
            .env("FLINK_PLUGINS_DIR", release.home.join("plugins"))
            .env("FLINK_CONF_DIR", folder.join("conf"))
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err);
        if class.ends_with("Entrypoint") {
            command.args(["--executionMode", "cluster"]);
        }
        let child = command.spawn().unwrap_or_else(|e| panic!("java: {e}"));
        Self { child, name, log }
    }

    /// If it has ended: how, and what it said of that.
    fn how_it_ended(&mut self) -> Option<String> {
        let status = self.child.try_wait();
        let status = status.unwrap_or_else(|e| panic!("{}: {e}", self.name))?;
        let log = fs::read_to_string(&self.log).unwrap_or_else(|e| format!("{}: {e}", self.log.display()));
        let said = log
            .lines()
            .filter(|line| line.contains(" ERROR ") || line.contains("Exception"));
        let said: Vec<&str> = said.collect();
        let last = said[said.len().saturating_sub(4)..].join("\n  ");
        Some(format!("{} ended with {status}\n  {last}", self.name))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
