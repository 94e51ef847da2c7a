//! The real command on a local server, with a real checkpoint in a bucket.
#![allow(dead_code, reason = "each test uses a part")]

use std::io::Write as _;
use std::ops::Deref;
use std::process::Command;

use serde_json::Value;
use stayput_tests::cloud::{Cloud, REGION};
use stayput_tests::iam::Key;
use stayput_tests::tree::Tree;
use tempfile::TempPath;

pub(crate) const JOB: &str = "dcece6f052f11be38b0597169690f7b8/";

/// What a call said and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) status: i32,
}

impl Said {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }
}

/// Calls the command as whoever may do everything.
pub(crate) fn stayput(cloud: &Cloud, arguments: &[&str]) -> Said {
    let key = Key {
        id: "test".to_owned(),
        secret: "test".to_owned(),
    };
    stayput_as(cloud, &key, arguments)
}

/// Calls the command with this key.
pub(crate) fn stayput_as(cloud: &Cloud, key: &Key, arguments: &[&str]) -> Said {
    let output = Command::new(env!("CARGO_BIN_EXE_stayput"))
        .args(arguments)
        .current_dir(std::env::temp_dir())
        .env("AWS_ENDPOINT_URL", cloud.url())
        .env("AWS_REGION", REGION)
        .env("AWS_ACCESS_KEY_ID", &key.id)
        .env("AWS_SECRET_ACCESS_KEY", &key.secret)
        .output()
        .unwrap();
    Said {
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
        status: output.status.code().unwrap(),
    }
}

/// Puts a job below `flink/` of a bucket, as Flink does: state first.
pub(crate) fn upload(cloud: &Cloud, bucket: &str) {
    let tree = Tree::load("2.3.0-cross-job");
    let mut files = tree.rebased(&format!("s3://{bucket}/flink"));
    files.retain(|key, _| key.starts_with(JOB));
    let (metadata, state): (Vec<_>, Vec<_>) = files.iter().partition(|(key, _)| key.ends_with("/_metadata"));
    assert!(metadata.len() >= 2 && state.len() >= 10);
    for (key, bytes) in state.iter().chain(&metadata) {
        cloud.put(bucket, &format!("flink/{key}"), bytes);
    }
}

/// A file for one test, which is removed with this value; as text, its path.
#[derive(Debug)]
pub(crate) struct OwnFile(TempPath);

impl Deref for OwnFile {
    type Target = str;

    fn deref(&self) -> &str {
        self.0.to_str().expect("a path of text")
    }
}

/// A file for this test alone, whose name ends so.
pub(crate) fn file(name: &str, text: &str) -> OwnFile {
    let mut made = tempfile::Builder::new()
        .prefix("stayput-cli-")
        .suffix(&format!("-{name}"))
        .tempfile()
        .unwrap();
    made.write_all(text.as_bytes()).unwrap();
    OwnFile(made.into_temp_path())
}
