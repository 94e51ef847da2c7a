//! Real Flink beside us: its serializer writes the files, its own load is timed.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The release that the figures are of.
pub(crate) const RELEASE: &str = "2.3.0";

/// Flink's classes and our two programs, compiled.
pub(crate) struct Flink {
    class_path: String,
}

/// A kind of file, and how big.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    /// As the generator names it.
    pub(crate) name: &'static str,
    pub(crate) operators: u32,
    pub(crate) subtasks: u32,
    pub(crate) files: u32,
}

impl Flink {
    /// `folder` holds one folder for each release; `work` is ours.
    pub(crate) fn compile(folder: &Path, work: &Path) -> Result<Self, String> {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("flink");
        let classes = work.join("classes");
        fs::create_dir_all(&classes).map_err(|e| format!("{}: {e}", classes.display()))?;
        let lib = folder.join(RELEASE).join("lib");
        let jars = format!("{}/*", lib.display());
        run(Command::new("javac")
            .args(["-nowarn", "--release", "17", "-cp", &jars, "-d"])
            .arg(&classes)
            .args(["GenerateMetadata.java", "TimeLoading.java"].map(|name| sources.join(name))))?;
        Ok(Self {
            class_path: format!("{}:{jars}", classes.display()),
        })
    }

    fn java(&self) -> Command {
        let mut command = Command::new("java");
        // One collector thread: the others would be counted, or not, by chance.
        command.args(["-Xmx4g", "-XX:+UseSerialGC", "-cp", &self.class_path]);
        command
    }

    /// Writes a `_metadata` of this shape unless it is there, and gives its path.
    pub(crate) fn generate(&self, shape: Shape, job: &str, work: &Path) -> Result<PathBuf, String> {
        let numbers = [shape.operators, shape.subtasks, shape.files].map(|n| n.to_string());
        let folder = work.join(format!("{}-{}-{job}", shape.name, numbers.join("-")));
        let file = folder.join("_metadata");
        if !file.is_file() {
            fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
            // Renamed when whole, so that an interrupted run leaves no half file to be measured.
            let part = folder.join("part");
            run(self
                .java()
                .arg("GenerateMetadata")
                .arg(&part)
                .arg(shape.name)
                .args(numbers)
                .arg(job))?;
            fs::rename(&part, &file).map_err(|e| format!("{}: {e}", file.display()))?;
        }
        Ok(file)
    }

    /// Starts a process that loads this file as often as it is asked.
    pub(crate) fn loading(&self, file: &Path) -> Result<Loading, String> {
        let mut child = self
            .java()
            .arg("TimeLoading")
            .arg(file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| format!("java: {e}"))?;
        let (Some(ask), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("java has no standard input and output".to_owned());
        };
        Ok(Loading {
            child,
            ask,
            answers: BufReader::new(answers),
        })
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!(
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    ))
}

/// A warm Java process.
pub(crate) struct Loading {
    child: Child,
    ask: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// One load by Flink; times in milliseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) wall: f64,
    /// CPU of the loading thread alone.
    pub(crate) thread: f64,
    /// CPU of the process: with garbage collection and compilation.
    pub(crate) process: f64,
    /// Sum of all state sizes in bytes.
    pub(crate) state_size: u64,
}

impl Loading {
    /// `from` is `memory` or `file`.
    pub(crate) fn load(&mut self, from: &str) -> Result<Load, String> {
        let asked = writeln!(self.ask, "{from}").and_then(|()| self.ask.flush());
        asked.map_err(|e| format!("java: {e}"))?;
        let mut line = String::new();
        self.answers
            .read_line(&mut line)
            .map_err(|e| format!("java: {e}"))?;
        let numbers: Vec<u64> = line.split_whitespace().filter_map(|n| n.parse().ok()).collect();
        let [wall, thread, process, state_size] = numbers[..] else {
            return Err(format!("java answered {line:?}"));
        };
        let milliseconds = |nanoseconds: u64| nanoseconds as f64 / 1e6;
        Ok(Load {
            wall: milliseconds(wall),
            thread: milliseconds(thread),
            process: milliseconds(process),
            state_size,
        })
    }

    /// The most memory it has occupied, in bytes.
    pub(crate) fn peak_memory(&self) -> Result<f64, String> {
        crate::cpu::peak_memory(&self.child.id().to_string())
    }
}

impl Drop for Loading {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
