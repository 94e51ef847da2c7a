//! MiniStack: S3, SQS and Lambda on a loopback port, stopped when it goes out of scope.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A running server.
pub(crate) struct MiniStack {
    child: Child,
    port: u16,
}

impl MiniStack {
    /// Starts it on a free port and waits until it answers.
    pub(crate) fn start(program: &Path, log: &Path) -> Result<Self, String> {
        let port = free_port()?;
        let out = File::create(log).map_err(|e| format!("{}: {e}", log.display()))?;
        let err = out.try_clone().map_err(|e| format!("{}: {e}", log.display()))?;
        let child = Command::new(program)
            .env("BIND_HOST", "127.0.0.1")
            .env("GATEWAY_PORT", port.to_string())
            .env("MINISTACK_REGION", "us-east-1")
            // The function as a process of this machine, without Docker.
            .env("LAMBDA_EXECUTOR", "local")
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            .spawn()
            .map_err(|e| format!("{}: {e}", program.display()))?;
        let mut server = Self { child, port };
        let began = Instant::now();
        while !healthy(port) {
            if let Ok(Some(status)) = server.child.try_wait() {
                return Err(format!(
                    "MiniStack ended with {status}; its log is {}",
                    log.display()
                ));
            }
            if began.elapsed() > Duration::from_secs(60) {
                return Err(format!(
                    "MiniStack doesn't answer after a minute; its log is {}",
                    log.display()
                ));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(server)
    }

    /// Where it listens.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

impl Drop for MiniStack {
    fn drop(&mut self) {
        // It ends the functions that it runs when it is asked to end; killed at once, they would stay.
        let asked = Command::new("kill")
            .arg(self.child.id().to_string())
            .status()
            .is_ok_and(|status| status.success());
        let began = Instant::now();
        while asked && began.elapsed() < Duration::from_secs(10) {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> Result<u16, String> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|e| format!("no free port on the loopback address: {e}"))
}

fn healthy(port: u16) -> bool {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let Ok(mut stream) = TcpStream::connect_timeout(&address, Duration::from_secs(1)) else {
        return false;
    };
    let _ = stream.set_read_timeout(Some(Duration::from_secs(2)));
    let mut answer = [0; 12];
    stream
        .write_all(b"GET /_ministack/health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        .is_ok()
        && stream.read_exact(&mut answer).is_ok()
        && answer.ends_with(b" 200")
}
