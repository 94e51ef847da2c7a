//! A release of Flink, and the job compiled for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use stayput_tests::system::flink;

/// A release that `cargo xtask` has unpacked: `lib/` and `plugins/`.
#[derive(Clone, Debug)]
pub(crate) struct Release {
    pub(crate) version: &'static str,
    pub(crate) home: PathBuf,
    /// The job's jar.
    pub(crate) jar: PathBuf,
}

/// Its entry class.
pub(crate) const JOB: &str = "CountJob";

/// Where this binary may write.
pub(crate) fn scratch() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("flink")
}

impl Release {
    /// The release, or why the test is skipped has been said.
    ///
    /// # Panics
    /// If Flink is there but not this release, or the job can't be compiled.
    pub(crate) fn given(version: &'static str) -> Option<Self> {
        let home = flink()?.join(version);
        assert!(
            home.join("lib").is_dir() && home.join("plugins/s3-fs-hadoop").is_dir(),
            "{} has no lib/ or no plugins/s3-fs-hadoop/; `cargo xtask test --all` installs them",
            home.display()
        );
        let release = Self {
            version,
            jar: scratch().join(format!("count-{version}.jar")),
            home,
        };
        static COMPILED: Mutex<Vec<&str>> = Mutex::new(Vec::new());
        let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
        if !compiled.contains(&version) {
            release.compile();
            compiled.push(version);
        }
        Some(release)
    }

    /// 2.0 renamed most settings.
    pub(crate) fn is_2(&self) -> bool {
        self.version.starts_with("2.")
    }

    /// What Java needs to find Flink.
    pub(crate) fn class_path(&self) -> String {
        let lib = self.home.join("lib");
        let jars = fs::read_dir(&lib).unwrap_or_else(|e| panic!("{}: {e}", lib.display()));
        let jars = jars
            .flatten()
            .map(|entry| entry.path())
            // The rest is for SQL and takes time to load.
            .filter(|path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                name.starts_with("flink-dist") || name.starts_with("log4j")
            })
            .map(|path| path.to_string_lossy().into_owned());
        jars.collect::<Vec<_>>().join(":")
    }

    fn compile(&self) {
        let classes = scratch().join(format!("classes-{}", self.version));
        // Absent the first time.
        let _ = fs::remove_dir_all(&classes);
        fs::create_dir_all(&classes).unwrap_or_else(|e| panic!("{}: {e}", classes.display()));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("flink/job/{JOB}.java"));
        run(Command::new("javac")
            .args(["--release", "11", "-Xlint:none", "-cp", &self.class_path(), "-d"])
            .arg(&classes)
            .arg(source));
        run(Command::new("jar")
            .args(["--create", "--file"])
            .arg(&self.jar)
            .arg("-C")
            .arg(&classes)
            .arg("."));
    }
}

fn run(command: &mut Command) {
    let output = command
        .output()
        .unwrap_or_else(|e| panic!("{command:?}: {e}; a JDK 17 must be on PATH"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
}
