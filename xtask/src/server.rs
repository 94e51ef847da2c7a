//! Servers that run beside the tests: started with a log of their own, asked to end when they go out of scope.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A running server.
pub(crate) struct Server {
    name: &'static str,
    child: Child,
    log: PathBuf,
    /// It is given so long to end by itself.
    patience: Duration,
}

impl Server {
    /// Starts it; what it prints goes to `log`.
    pub(crate) fn start(
        name: &'static str,
        command: &mut Command,
        log: &Path,
        patience: Duration,
    ) -> Result<Self, String> {
        let unwritable = |e| format!("{}: {e}", log.display());
        let out = File::create(log).map_err(unwritable)?;
        let err = out.try_clone().map_err(unwritable)?;
        let child = command
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            .spawn()
            .map_err(|e| format!("{}: {e}", command.get_program().to_string_lossy()))?;
        Ok(Self {
            name,
            child,
            log: log.to_owned(),
            patience,
        })
    }

    /// Waits until it is ready, as `ready` says; at most a minute.
    pub(crate) fn wait_until(&mut self, ready: impl Fn() -> bool) -> Result<(), String> {
        let began = Instant::now();
        while !ready() {
            let (name, log) = (self.name, self.log.display());
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("{name} ended with {status}; its log is {log}"));
            }
            if began.elapsed() > Duration::from_secs(60) {
                return Err(format!("{name} doesn't answer after a minute; its log is {log}"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Asked first, since it may have processes and files of its own to tidy up.
        let asked = Command::new("kill")
            .arg(self.child.id().to_string())
            .status()
            .is_ok_and(|status| status.success());
        let began = Instant::now();
        while asked && began.elapsed() < self.patience {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Free ports on the loopback address, all different.
pub(crate) fn free_ports<const N: usize>() -> Result<[u16; N], String> {
    let mut held = Vec::with_capacity(N);
    let mut ports = [0; N];
    for port in &mut ports {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .map_err(|e| format!("no free port on the loopback address: {e}"))?;
        *port = listener.local_addr().map_err(|e| e.to_string())?.port();
        held.push(listener);
    }
    Ok(ports)
}

/// A connection to a port of the loopback address, if somebody listens there.
pub(crate) fn connect(port: u16) -> Option<TcpStream> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    TcpStream::connect_timeout(&address, Duration::from_secs(1)).ok()
}

/// Whether the server behind a port answers a GET of `path` with this status.
pub(crate) fn answers(port: u16, path: &str, statuses: &[&str]) -> bool {
    use std::io::{Read, Write};
    let Some(mut stream) = connect(port) else {
        return false;
    };
    let _ = stream.set_read_timeout(Some(Duration::from_secs(2)));
    let mut answer = [0; 12];
    let request = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).is_ok()
        && stream.read_exact(&mut answer).is_ok()
        && statuses
            .iter()
            .any(|status| answer.ends_with(format!(" {status}").as_bytes()))
}

/// What the server behind a port answers to a POST. Any status but 200 is an error.
pub(crate) fn post(port: u16, path: &str, body: &[u8]) -> Result<String, String> {
    use std::io::{Read, Write};
    let mut stream = connect(port).ok_or_else(|| format!("nobody listens on port {port}"))?;
    let mut send = || -> std::io::Result<Vec<u8>> {
        stream.set_read_timeout(Some(Duration::from_secs(120)))?;
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(answer)
    };
    let answer = send().map_err(|e| format!("POST {path}: {e}"))?;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    if head.split(' ').nth(1) == Some("200") {
        Ok(body.to_owned())
    } else {
        Err(format!("POST {path}: {answer}"))
    }
}
