//! Ceph's S3 gateway over one monitor and one storage daemon in memory. It carries lifecycle rules out by itself, with days of four seconds.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::process::{output, quietly};
use crate::server::{Server, answers, free_ports};

/// A lifecycle day has so many seconds. If carrying out one bucket's rules takes longer, the server begins with that bucket again and
/// never comes to the others.
const SECONDS_PER_DAY: u32 = 4;

/// Classes that rules move objects to.
const CLASSES: [&str; 6] = [
    "STANDARD_IA",
    "ONEZONE_IA",
    "GLACIER",
    "GLACIER_IR",
    "DEEP_ARCHIVE",
    "INTELLIGENT_TIERING",
];

/// A running gateway with what it needs.
pub(crate) struct Ceph {
    // In the order in which they are ended: the gateway first.
    servers: Vec<Server>,
    folder: PathBuf,
    port: u16,
}

/// Commands with this cluster's configuration.
struct Cluster<'c> {
    folder: &'c Path,
    logs: &'c Path,
}

impl Cluster<'_> {
    fn path(&self, name: &str) -> String {
        self.folder.join(name).to_string_lossy().into_owned()
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.args(["--conf", &self.path("ceph.conf")]);
        command
    }

    /// A daemon in the foreground.
    fn daemon(&self, program: &'static str, arguments: &[&str]) -> Result<Server, String> {
        let mut command = self.command(program);
        command.args(arguments).arg("--foreground");
        let log = self.logs.join(format!("{program}.log"));
        Server::start(program, &mut command, &log, Duration::from_secs(3))
    }

    /// Whether the cluster says this of itself.
    fn says(&self, question: &[&str], part: &str) -> bool {
        let mut ask = self.command("ceph");
        output(ask.args(["--connect-timeout", "2"]).args(question)).is_ok_and(|said| said.contains(part))
    }

    fn write_configuration(&self, port: u16) -> Result<(), String> {
        let [v2, v1] = free_ports()?;
        let of = |name: &str| self.path(name);
        let text = format!(
            "[global]\n\
             fsid = {FSID}\n\
             mon_initial_members = a\n\
             mon_host = [v2:127.0.0.1:{v2},v1:127.0.0.1:{v1}]\n\
             public_addr = 127.0.0.1\n\
             cluster_addr = 127.0.0.1\n\
             ms_bind_ipv6 = false\n\
             keyring = {keyring}\n\
             run_dir = {folder}\n\
             # The path of a socket must be short, and that of a checkout may not be.\n\
             admin_socket = \"\"\n\
             log_file = \"\"\n\
             log_to_stderr = true\n\
             mon_cluster_log_file = {cluster_log}\n\
             osd_pool_default_size = 1\n\
             osd_pool_default_min_size = 1\n\
             osd_pool_default_pg_num = 4\n\
             osd_pool_default_pgp_num = 4\n\
             osd_pool_default_pg_autoscale_mode = off\n\
             osd_crush_chooseleaf_type = 0\n\
             osd_objectstore = memstore\n\
             memstore_device_bytes = 4294967296\n\
             mon_allow_pool_size_one = true\n\
             mon_max_pg_per_osd = 2000\n\
             mon_data_avail_crit = 1\n\
             mon_data_avail_warn = 2\n\
             [mon.a]\n\
             mon_data = {mon}\n\
             [osd.0]\n\
             osd_data = {osd}\n\
             [client.rgw.a]\n\
             rgw_data = {rgw}\n\
             rgw_frontends = beast endpoint=127.0.0.1:{port}\n\
             rgw_lc_debug_interval = {SECONDS_PER_DAY}\n\
             # Of buckets that share one of these, the second waits for the first.\n\
             rgw_lc_max_objs = 61\n\
             rgw_enable_ops_log = false\n\
             rgw_dns_name = localhost\n\
             rgw_thread_pool_size = 32\n",
            folder = self.folder.display(),
            keyring = of("keyring"),
            cluster_log = of("cluster.log"),
            mon = of("mon"),
            osd = of("osd"),
            rgw = of("rgw"),
        );
        let conf = self.folder.join("ceph.conf");
        std::fs::write(&conf, text).map_err(|e| format!("{}: {e}", conf.display()))?;
        let keyring = of("keyring");
        let keys: [(&str, &[&str]); 4] = [
            ("mon.", &["mon", "allow *"]),
            (
                "client.admin",
                &["mon", "allow *", "osd", "allow *", "mgr", "allow *"],
            ),
            ("osd.0", &["mon", "allow profile osd", "osd", "allow *"]),
            ("client.rgw.a", &["mon", "allow rw", "osd", "allow rwx"]),
        ];
        for (number, (name, rights)) in keys.into_iter().enumerate() {
            let mut make = Command::new("ceph-authtool");
            make.args((number == 0).then_some("--create-keyring"))
                .args([&keyring, "--gen-key", "-n", name]);
            for right in rights.chunks(2) {
                make.arg("--cap").args(right);
            }
            quietly(&mut make)?;
        }
        quietly(Command::new("monmaptool").args([
            "--create",
            "--clobber",
            "--fsid",
            FSID,
            "--addv",
            "a",
            &format!("[v2:127.0.0.1:{v2},v1:127.0.0.1:{v1}]"),
            &of("monmap"),
        ]))
    }
}

/// Any id does: the cluster lives as long as the tests.
const FSID: &str = "5c0ffee0-0000-4000-8000-000000000001";

impl Ceph {
    /// Starts everything and waits until the gateway answers: 15 to 20 seconds. `folder` is made anew.
    pub(crate) fn start(folder: &Path, logs: &Path) -> Result<Self, String> {
        let _ = std::fs::remove_dir_all(folder);
        for name in ["mon", "osd", "rgw"] {
            std::fs::create_dir_all(folder.join(name)).map_err(|e| format!("{}: {e}", folder.display()))?;
        }
        let [port] = free_ports()?;
        let mut started = Self {
            servers: Vec::new(),
            folder: folder.to_owned(),
            port,
        };
        let cluster = Cluster { folder, logs };
        cluster.write_configuration(port)?;

        quietly(
            cluster
                .command("ceph-mon")
                .args(["--mkfs", "-i", "a", "--monmap", &cluster.path("monmap")])
                .args(["--keyring", &cluster.path("keyring")]),
        )?;
        let mut monitor = cluster.daemon("ceph-mon", &["-i", "a"])?;
        let answering = monitor.wait_until(|| cluster.says(&["mon", "stat"], "quorum"));
        started.servers.insert(0, monitor);
        answering?;

        let uuid = "5c0ffee0-0000-4000-8000-000000000002";
        output(cluster.command("ceph").args(["osd", "create", uuid]))?;
        quietly(
            cluster
                .command("ceph-osd")
                .args(["-i", "0", "--osd-uuid", uuid, "--mkfs"]),
        )?;
        let mut storage = cluster.daemon("ceph-osd", &["-i", "0"])?;
        let up = storage.wait_until(|| cluster.says(&["osd", "stat"], "1 up"));
        started.servers.insert(0, storage);
        up?;

        let admin = |arguments: &[&str]| output(cluster.command("radosgw-admin").args(arguments));
        admin(&[
            "user",
            "create",
            "--uid=test",
            "--display-name=test",
            "--access-key=test",
            "--secret=test",
        ])?;
        for class in CLASSES {
            let placement = ["--placement-id", "default-placement", "--storage-class", class];
            let of_group = ["zonegroup", "placement", "add", "--rgw-zonegroup", "default"];
            admin(&[&of_group[..], &placement].concat())?;
            let of_zone = ["zone", "placement", "add", "--rgw-zone", "default"];
            let pool = ["--data-pool", "default.rgw.buckets.data"];
            admin(&[&of_zone[..], &placement, &pool].concat())?;
        }
        let mut gateway = cluster.daemon("radosgw", &["-n", "client.rgw.a"])?;
        let answering = gateway.wait_until(|| answers(port, "/", &["200", "403"]));
        started.servers.insert(0, gateway);
        answering.map(|()| started)
    }

    /// Where its S3 listens. The keys are `test` and `test`.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

impl Drop for Ceph {
    fn drop(&mut self) {
        for server in self.servers.drain(..) {
            drop(server);
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
