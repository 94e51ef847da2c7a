//! MiniStack: S3, SQS and Lambda on a loopback port, stopped when it goes out of scope.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::server::{Server, answers, free_ports};

/// A running server.
pub(crate) struct MiniStack {
    _server: Server,
    port: u16,
}

impl MiniStack {
    /// Starts it on a free port and waits until it answers.
    pub(crate) fn start(program: &Path, log: &Path) -> Result<Self, String> {
        Self::start_with(program, log, false)
    }

    /// The same, but it checks what a function's role may do, and tells functions where it is.
    pub(crate) fn start_guarded(program: &Path, log: &Path) -> Result<Self, String> {
        Self::start_with(program, log, true)
    }

    fn start_with(program: &Path, log: &Path, guarded: bool) -> Result<Self, String> {
        let [port] = free_ports()?;
        let mut command = Command::new(program);
        command
            .env("BIND_HOST", "127.0.0.1")
            .env("GATEWAY_PORT", port.to_string())
            .env("MINISTACK_REGION", "us-east-1")
            // The function as a process of this machine, without Docker.
            .env("LAMBDA_EXECUTOR", "local");
        if guarded {
            command
                .env("AUTH", "true")
                .env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{port}"));
        }
        // It ends the functions that it runs when it is asked to end; killed at once, they would stay.
        let mut server = Server::start("MiniStack", &mut command, log, Duration::from_secs(10))?;
        server.wait_until(|| answers(port, "/_ministack/health", &["200"]))?;
        Ok(Self {
            _server: server,
            port,
        })
    }

    /// Where it listens.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}
