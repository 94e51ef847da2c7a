//! AWS's Runtime Interface Emulator around the real bootstrap, without Docker.

use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use ureq::Agent;

use crate::embedded_metrics::measured;

/// A running emulator. It takes one call at a time.
pub struct Emulator {
    child: Child,
    url: String,
    agent: Agent,
    log: PathBuf,
}

/// What a call came to.
pub struct Called {
    /// The answer's text.
    pub answer: String,
    /// The lines that the function logged meanwhile, those that are JSON.
    pub log: Vec<Value>,
}

impl Called {
    /// The type of the error that the function ended with.
    pub fn error(&self) -> Option<String> {
        let answer: Value = serde_json::from_str(&self.answer).ok()?;
        answer["errorType"].as_str().map(str::to_owned)
    }

    /// Ids of the messages that failed, of a call from a queue.
    pub fn failed(&self) -> Option<Vec<String>> {
        let answer: Value = serde_json::from_str(&self.answer).ok()?;
        let failures = answer["batchItemFailures"].as_array()?;
        failures
            .iter()
            .map(|failure| failure["itemIdentifier"].as_str().map(str::to_owned))
            .collect()
    }
}

impl Emulator {
    /// Starts `bootstrap` under the emulator, with these variables; without a word of them, as a function of 256 MB with 30 s for a call.
    ///
    /// # Panics
    /// If it can't be started.
    pub fn start(emulator: &Path, bootstrap: &Path, variables: &[(&str, &str)]) -> Self {
        let [calls, runtime] = [free_port(), free_port()];
        let log = std::env::temp_dir().join(format!("stayput-emulator-{}-{calls}.log", std::process::id()));
        let out = File::create(&log).unwrap_or_else(|e| panic!("{}: {e}", log.display()));
        let err = out
            .try_clone()
            .unwrap_or_else(|e| panic!("{}: {e}", log.display()));
        let child = Command::new(emulator)
            .args([
                "--runtime-interface-emulator-address",
                &format!("127.0.0.1:{calls}"),
            ])
            .args(["--runtime-api-address", &format!("127.0.0.1:{runtime}")])
            .arg(bootstrap)
            .env("AWS_LAMBDA_FUNCTION_TIMEOUT", "30")
            .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256")
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            .spawn()
            .unwrap_or_else(|e| panic!("{}: {e}", emulator.display()));
        let config = Agent::config_builder()
            .timeout_global(Some(Duration::from_secs(60)))
            .http_status_as_error(false)
            .build();
        let url = format!("http://127.0.0.1:{calls}/2015-03-31/functions/function/invocations");
        let started = Self {
            child,
            url,
            agent: config.into(),
            log,
        };
        started.wait_until_it_listens(calls);
        started
    }

    fn wait_until_it_listens(&self, port: u16) {
        let began = Instant::now();
        // A request before it listens would be lost, and two at once end it.
        while std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            assert!(
                began.elapsed() < Duration::from_secs(20),
                "the emulator doesn't listen:\n{}",
                self.output()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Calls the function and waits for its answer.
    ///
    /// # Panics
    /// If the emulator is gone, or the function wrote metrics that CloudWatch would refuse.
    pub fn call(&mut self, payload: &[u8]) -> Called {
        self.call_or_death(payload)
            .unwrap_or_else(|| panic!("the function is gone:\n{}", self.output()))
    }

    /// The same of a function that may be killed meanwhile: then there is no answer.
    ///
    /// # Panics
    /// As [`Self::call`].
    pub fn call_or_death(&mut self, payload: &[u8]) -> Option<Called> {
        let before = self.output().len();
        let mut answer = self
            .agent
            .post(&self.url)
            .send(payload)
            .unwrap_or_else(|e| panic!("the emulator: {e}:\n{}", self.output()));
        let text = answer
            .body_mut()
            .read_to_string()
            .unwrap_or_else(|e| panic!("the emulator: {e}"));
        if answer.status() == 502 {
            return None;
        }
        assert_eq!(answer.status(), 200, "{text}\n{}", self.output());
        let log: Vec<Value> = self.output()[before..]
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        // Whatever is tested: CloudWatch takes every line with metrics.
        drop(measured(&log));
        Some(Called { answer: text, log })
    }

    /// The process of the function, which the emulator starts at the first call. Linux only.
    pub fn function_process(&self) -> Option<u32> {
        function_of(self.child.id())
    }

    /// Ends the function at once, wherever it is, as an instance that is lost; from any thread. Linux only.
    pub fn killer(&self) -> impl Fn() + Send + Sync + 'static {
        let emulator = self.child.id();
        move || {
            if let Some(function) = function_of(emulator) {
                // It may have ended by itself meanwhile.
                let _ = Command::new("kill").args(["-9", &function.to_string()]).status();
            }
        }
    }

    /// Everything that the emulator and the function have printed.
    ///
    /// # Panics
    /// If it can't be read.
    pub fn output(&self) -> String {
        let bytes = fs::read(&self.log).unwrap_or_else(|e| panic!("{}: {e}", self.log.display()));
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// The process whose parent is the emulator.
fn function_of(emulator: u32) -> Option<u32> {
    let parent = format!("PPid:\t{emulator}");
    fs::read_dir("/proc").ok()?.flatten().find_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let status = fs::read_to_string(entry.path().join("status")).ok()?;
        status.lines().any(|line| line == parent).then_some(pid)
    })
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // The function ends with the emulator, which it asks for its next call.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_file(&self.log);
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port on the loopback address");
    listener.local_addr().expect("the listener's address").port()
}
