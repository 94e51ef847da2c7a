//! `stayput serve` on a local server: what is needed and was deleted comes back, by a queue and by a webhook; who may send, and how it ends.

mod cloud;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cloud::{JOB, file, upload};
use serde_json::{Value, json};
use stayput_tests::cloud::{Cloud, REGION};
use stayput_tests::system::ministack;
use stayput_tests::tree::Tree;

const TOKEN: &str = "0123456789abcdef0123";
const PATIENCE: Duration = Duration::from_secs(60);

/// A serving process.
struct Serving {
    child: Child,
    address: String,
    lines: Arc<Mutex<Vec<Value>>>,
}

impl Serving {
    fn start(cloud: &Cloud, name: &str, bucket: &str, arguments: &[&str]) -> Self {
        let settings = format!(
            "mode = \"restore\"\nsettle = \"1s\"\ncontrol = \"s3://{bucket}/stayput/\"\n[[roots]]\nuri = \"s3://{bucket}/flink/\"\n\
             kind = \"checkpoints\"\n[flink]\nprincipals = [\"AROAFLINK\"]\n[stayput]\nrole = \"AROAOURS\"\n"
        );
        let config = file(&format!("{name}.toml"), &settings);
        let mut child = Command::new(env!("CARGO_BIN_EXE_stayput"))
            .args(["serve", "--config", &config, "--listen", "127.0.0.1:0"])
            .args(arguments)
            .env("AWS_ENDPOINT_URL", cloud.url())
            .env("AWS_REGION", REGION)
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .env("STAYPUT_TOKEN", TOKEN)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        out.read_line(&mut first).unwrap();
        let first: Value = serde_json::from_str(&first).unwrap_or_else(|e| panic!("{e}: {first}"));
        let address = first["started"]["listens"].as_str().unwrap().to_owned();
        let lines = Arc::new(Mutex::new(vec![first]));
        let seen = Arc::clone(&lines);
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                seen.lock().unwrap().push(serde_json::from_str(&line).unwrap());
            }
        });
        Self {
            child,
            address,
            lines,
        }
    }

    /// A request as it is; the status and what came after the head.
    fn request(&self, request: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        // A server that turns a long body away may break off.
        let _ = stream.read_to_string(&mut answer);
        let status = answer.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
        let body = answer
            .split_once("\r\n\r\n")
            .map(|(_, body)| body.to_owned())
            .unwrap_or_default();
        (status, body)
    }

    fn get(&self, path: &str) -> (u16, String) {
        self.request(&format!(
            "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        ))
    }

    fn post(&self, path: &str, token: Option<&str>, body: &str) -> (u16, String) {
        let token = token
            .map(|t| format!("Authorization: Bearer {t}\r\n"))
            .unwrap_or_default();
        self.request(&format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{token}Content-Length: {}\r\n\r\n{body}",
            body.len()
        ))
    }

    /// Lines with this field, so far.
    fn lines(&self, field: &str) -> Vec<Value> {
        let lines = self.lines.lock().unwrap();
        lines.iter().filter_map(|line| line.get(field).cloned()).collect()
    }

    fn wait(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !is_so(self) {
            assert!(
                began.elapsed() < PATIENCE,
                "{what}: {:#?}",
                self.lines.lock().unwrap()
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Asks it to end; how it ended.
    fn end(mut self) -> Option<i32> {
        let asked = Command::new("kill")
            .arg(self.child.id().to_string())
            .status()
            .unwrap();
        assert!(asked.success());
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                self.wait("no last line", |s| !s.lines("ended").is_empty());
                return status.code();
            }
            assert!(began.elapsed() < PATIENCE, "it doesn't end");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Keys of shared files that the newest checkpoint names, with their bytes.
fn needed(bucket: &str) -> BTreeMap<String, Vec<u8>> {
    let tree = Tree::load("2.3.0-cross-job");
    let files = tree.rebased(&format!("s3://{bucket}/flink"));
    let names = tree
        .references()
        .into_iter()
        .filter(|(key, by)| key.starts_with(&format!("{JOB}shared/")) && by.contains(&format!("{JOB}chk-3")));
    let needed: BTreeMap<String, Vec<u8>> = names
        .map(|(key, _)| (format!("flink/{key}"), files[&key].clone()))
        .collect();
    assert!(needed.len() >= 3, "{needed:?}");
    needed
}

/// A marker, as a server with webhooks tells of it.
fn notification(bucket: &str, key: &str, marker: &str) -> String {
    json!({"EventName": "s3:ObjectRemoved:DeleteMarkerCreated", "Key": format!("{bucket}/{key}"), "Records": [{
        "eventVersion": "2.0", "eventSource": "minio:s3", "awsRegion": "", "eventTime": "2026-11-30T03:00:00.000Z",
        "eventName": "s3:ObjectRemoved:DeleteMarkerCreated", "userIdentity": {"principalId": "somebody"},
        "s3": {"bucket": {"name": bucket}, "object": {"key": key, "versionId": marker, "sequencer": "0055AED6DCD90281E5"}},
    }]})
    .to_string()
}

#[test]
fn what_a_queue_tells_of_comes_back_and_so_does_what_only_the_sweep_finds() {
    let Some(url) = ministack() else { return };
    let cloud = Cloud::at(&url);
    let bucket = "serve-queue";
    cloud.make_versioned_bucket(bucket);
    upload(&cloud, bucket);
    let needed = needed(bucket);
    let keys: Vec<&String> = needed.keys().collect();
    let (untold, told) = (keys[0], keys[1]);
    let queue = cloud.make_queue("serve-queue", &json!({}));
    // Before the bucket tells anybody.
    cloud.delete(bucket, untold);
    std::thread::sleep(Duration::from_secs(2));
    cloud.notify_of_deletions(bucket, &queue);
    cloud.send(&queue, "no notification");
    let serving = Serving::start(&cloud, "queue", bucket, &["--queue", &queue.url]);
    serving.wait("the sweep", |_| {
        cloud.get(bucket, untold).as_ref() == Some(&needed[untold])
    });
    cloud.delete(bucket, told);
    serving.wait("the message", |_| {
        cloud.get(bucket, told).as_ref() == Some(&needed[told])
    });
    serving.wait("verdicts", |s| {
        s.lines("verdict")
            .iter()
            .filter(|v| v["done"] == "copied")
            .count()
            == 2
    });
    serving.wait("what is no notification", |s| {
        s.lines("trouble")
            .iter()
            .any(|t| t.as_str().unwrap_or_default().contains("isn't the JSON"))
    });

    let (status, health) = serving.get("/health");
    let health: Value = serde_json::from_str(&health).unwrap_or_else(|e| panic!("{e}: {health}"));
    assert_eq!((status, &health["status"]), (200, &json!("ok")));
    assert!(
        health["last_sweep"].as_i64().unwrap_or_default() > 1_700_000_000,
        "{health}"
    );
    let (status, metrics) = serving.get("/metrics");
    assert_eq!(status, 200);
    for line in [
        "stayput_objects_total{outcome=\"restored\"} 2",
        "stayput_restored_objects_total{how=\"copied\"} 2",
        "stayput_restored_objects_total{how=\"unhidden\"} 0",
        "stayput_sweeps_total{outcome=\"whole\"} 1",
        "stayput_refused_total{why=\"malformed\"} 1",
        "# EOF",
    ] {
        assert!(metrics.lines().any(|l| l == line), "{line} isn't in {metrics}");
    }
    // What is done is off the queue; what is no notification stays for the redrive policy.
    serving.wait("the queue", |_| cloud.depth(&queue) == (0, 1));
    assert_eq!(serving.end(), Some(0));
}

#[test]
fn only_who_knows_the_token_may_send_and_what_they_tell_of_comes_back() {
    let Some(url) = ministack() else { return };
    let cloud = Cloud::at(&url);
    let bucket = "serve-webhook";
    cloud.make_versioned_bucket(bucket);
    upload(&cloud, bucket);
    let needed = needed(bucket);
    let serving = Serving::start(
        &cloud,
        "webhook",
        bucket,
        &["--max-body", "4000", "--sweep-every", "1h"],
    );
    // The sweep has nothing to do with it.
    serving.wait("the first sweep", |s| !s.lines("sweep").is_empty());
    let keys: Vec<&String> = needed.keys().collect();
    let marker = cloud.delete(bucket, keys[0]);
    let event = notification(bucket, keys[0], &marker);
    for (path, token) in [
        ("/events", None),
        ("/events", Some("0123456789abcdef0124")),
        ("/events/", None),
        ("/events/0123456789abcdef012", None),
        ("/events/wrong", Some("")),
    ] {
        assert_eq!(serving.post(path, token, &event).0, 403, "{path} {token:?}");
    }
    let long = format!("{event}{}", " ".repeat(4_000));
    assert_eq!(serving.post("/events", Some(TOKEN), &long).0, 413);
    let (status, why) = serving.post("/events", Some(TOKEN), "{\"a\": 1}");
    assert!(
        status == 400 && why.contains("neither an S3 notification"),
        "{status} {why}"
    );
    assert_eq!(serving.post("/events", Some(TOKEN), "").0, 200);
    assert_eq!(serving.get("/events").0, 405);
    assert_eq!(serving.get("/").0, 404);
    assert_eq!(serving.post("/metrics", Some(TOKEN), &event).0, 405);
    assert!(cloud.get(bucket, keys[0]).is_none());

    assert_eq!(serving.post("/events", Some(TOKEN), &event).0, 200);
    serving.wait("by the header", |_| {
        cloud.get(bucket, keys[0]).as_ref() == Some(&needed[keys[0]])
    });
    let marker = cloud.delete(bucket, keys[1]);
    let path = format!("/events/{TOKEN}");
    assert_eq!(
        serving
            .post(&path, None, &notification(bucket, keys[1], &marker))
            .0,
        200
    );
    serving.wait("by the path", |_| {
        cloud.get(bucket, keys[1]).as_ref() == Some(&needed[keys[1]])
    });
    let metrics = serving.get("/metrics").1;
    assert!(
        metrics.contains("stayput_refused_total{why=\"token\"} 5\n"),
        "{metrics}"
    );
    assert!(
        metrics.contains("stayput_messages_total{way=\"webhook\"} 2\n"),
        "{metrics}"
    );
    // What Flink itself does makes no line.
    assert!(serving.lines("verdict").iter().all(|v| v["outcome"] != "leave"));
    assert_eq!(serving.end(), Some(0));
}

#[test]
fn what_makes_no_sense_ends_at_once() {
    let Some(url) = ministack() else { return };
    let config = file(
        "serve-refused.toml",
        "[[roots]]\nuri = \"s3://serve-refused/cp/\"\nkind = \"checkpoints\"\n",
    );
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let cases: [(&[&str], &str, i32, &str); 5] = [
        (&[], "", 2, "nobody may send notifications and no queue is named"),
        (&[], "short", 2, "at least 16 characters"),
        (&["--token-file", "/nothere"], "", 2, "/nothere"),
        (
            &["--config", "/nothere.toml"],
            TOKEN,
            2,
            "Name the settings with --config",
        ),
        (&["--listen", &address], TOKEN, 3, &address),
    ];
    for (arguments, token, status, text) in cases {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stayput"));
        command
            .arg("serve")
            .args(arguments)
            .env("AWS_ENDPOINT_URL", &url)
            .env("AWS_REGION", REGION);
        command
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test");
        if !arguments.contains(&"--config") {
            command.args(["--config", &config]);
        }
        if token.is_empty() {
            command.env_remove("STAYPUT_TOKEN");
        } else {
            command.env("STAYPUT_TOKEN", token);
        }
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {said}");
        assert!(said.contains(text), "{arguments:?}: {said}");
    }
}
