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
    jobmanager: Child,
    taskmanager: Mutex<Option<Child>>,
    taskmanagers_ever: AtomicUsize,
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
        // Absent the first time.
        let _ = fs::remove_dir_all(&folder);
        for part in ["conf", "tmp", "logs", UPLOADED] {
            let part = folder.join(part);
            fs::create_dir_all(&part).unwrap_or_else(|e| panic!("{}: {e}", part.display()));
        }
        let jar = folder.join(UPLOADED).join(JAR);
        fs::copy(&release.jar, &jar).unwrap_or_else(|e| panic!("{}: {e}", jar.display()));
        let [rpc, rest] = free_ports();
        let mut text = base(&folder, rpc, rest);
        for (key, value) in settings {
            text.push_str(&format!("{key}: {value}\n"));
        }
        for file in ["flink-conf.yaml", "config.yaml"] {
            write(&folder.join("conf").join(file), &text);
        }
        write(&folder.join("conf/log4j.properties"), LOG4J);
        let jobmanager = || {
            java(
                release,
                &folder,
                "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint",
                "jobmanager",
            )
        };
        let mut cluster = Self {
            rest: Rest::at(&format!("http://127.0.0.1:{rest}"), release),
            release: release.clone(),
            folder: folder.clone(),
            jobmanager: jobmanager(),
            taskmanager: Mutex::new(None),
            taskmanagers_ever: AtomicUsize::new(0),
        };
        let began = Instant::now();
        cluster.start_taskmanager();
        while !cluster.rest.has_slots() {
            let logs = cluster.folder.join("logs");
            if ended(&mut cluster.jobmanager) {
                println!("the JobManager ended before it was up; another one is started");
                cluster.jobmanager = jobmanager();
            }
            if lock(&cluster.taskmanager).as_mut().is_some_and(ended) {
                println!("the TaskManager ended before it was up; another one is started");
                cluster.start_taskmanager();
            }
            assert!(
                began.elapsed() < PATIENCE,
                "no TaskManager after {PATIENCE:?}; the logs are in {}",
                logs.display()
            );
            std::thread::sleep(Duration::from_millis(100));
        }
        println!(
            "Flink {} is up after {:.1} s",
            release.version,
            began.elapsed().as_secs_f32()
        );
        cluster
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
        let number = self.taskmanagers_ever.fetch_add(1, Ordering::Relaxed);
        let child = java(
            &self.release,
            &self.folder,
            "org.apache.flink.runtime.taskexecutor.TaskManagerRunner",
            &format!("taskmanager-{number}"),
        );
        *lock(&self.taskmanager) = Some(child);
    }

    /// Kills the TaskManager, as a machine that is gone.
    pub(crate) fn kill_taskmanager(&self) {
        if let Some(mut child) = lock(&self.taskmanager).take() {
            kill(&mut child);
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.kill_taskmanager();
        kill(&mut self.jobmanager);
    }
}

fn ended(child: &mut Child) -> bool {
    let status = child
        .try_wait()
        .unwrap_or_else(|e| panic!("a process of Flink: {e}"));
    status.is_some()
}

fn kill(child: &mut Child) {
    // It may have ended by itself.
    let _ = child.kill();
    let _ = child.wait();
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

fn java(release: &Release, folder: &Path, class: &str, log: &str) -> Child {
    let log = folder.join(format!("logs/{log}.log"));
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
    command.spawn().unwrap_or_else(|e| panic!("java: {e}"))
}
