//! SeaweedFS: a storage engine of its own with an S3 that honours `If-None-Match` of copies. On loopback ports, its data in a folder that goes with it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::server::{Server, answers, free_ports};

/// A running server.
pub(crate) struct SeaweedFs {
    // Dropped, and so ended, before its folder is removed.
    server: Option<Server>,
    folder: PathBuf,
    port: u16,
}

impl SeaweedFs {
    /// Starts it and waits until it answers. `folder` is made anew.
    pub(crate) fn start(program: &Path, folder: &Path, log: &Path) -> Result<Self, String> {
        let _ = std::fs::remove_dir_all(folder);
        std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let ports: [u16; 10] = free_ports()?;
        let names = [
            "s3.port",
            "s3.port.grpc",
            "master.port",
            "master.port.grpc",
            "volume.port",
            "volume.port.grpc",
            "filer.port",
            "filer.port.grpc",
            "admin.port",
            "admin.port.grpc",
        ];
        let mut command = Command::new(program);
        command
            .arg("mini")
            .arg(format!("-dir={}", folder.display()))
            .args(["-ip=127.0.0.1", "-ip.bind=127.0.0.1"])
            .args(names.iter().zip(ports).map(|(name, port)| format!("-{name}={port}")))
            .args(["-s3.port.iceberg=0", "-s3.port.lance=0", "-webdav=false", "-admin.ui=false"])
            .arg("-master.telemetry=false")
            // Each bucket takes volumes of its own; of the default number a hundred buckets leave none.
            .args(["-volume.max=5000", "-master.volumeSizeLimitMB=32"])
            .envs([("AWS_ACCESS_KEY_ID", "test"), ("AWS_SECRET_ACCESS_KEY", "test")]);
        let mut started = Self {
            server: None,
            folder: folder.to_owned(),
            port: ports[0],
        };
        let mut server = Server::start("SeaweedFS", &mut command, log, Duration::from_secs(5))?;
        let answering = server.wait_until(|| answers(ports[0], "/", &["200", "403"]));
        started.server = Some(server);
        answering.map(|()| started)
    }

    /// Where its S3 listens. The keys are `test` and `test`.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

impl Drop for SeaweedFs {
    fn drop(&mut self) {
        self.server = None;
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
