//! Nobody reads what a command prints, or what it complains of: it ends as it would have ended.
#![cfg(unix)]

mod command;

use std::fs::{File, OpenOptions};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use command::corpus;

/// A broken `_metadata`, rules that take what is needed, a file that isn't there, and one that is well.
fn calls() -> Vec<(Vec<String>, i32)> {
    // Tests run beside each other, and one must not empty a file that another's command reads.
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!(
        "nobody-listens-{}",
        COUNT.fetch_add(1, Ordering::Relaxed)
    ));
    std::fs::create_dir_all(&folder).unwrap();
    let damaged = folder.join("nobody-listens-damaged");
    let whole = "2.3.0-rocks-inc-chk8/_metadata".to_owned();
    let bytes = std::fs::read(corpus().join(&whole)).unwrap();
    std::fs::write(&damaged, &bytes[..bytes.len() / 2]).unwrap();
    let rules = folder.join("nobody-listens-rules");
    let all = r#"{"Rules": [{"ID": "all", "Status": "Enabled", "Filter": {"Prefix": ""}, "Expiration": {"Days": 1}}]}"#;
    std::fs::write(&rules, all).unwrap();
    let (damaged, rules) = (damaged.to_str().unwrap(), rules.to_str().unwrap());
    let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    vec![
        (owned(&["inspect", &whole]), 0),
        (owned(&["inspect", damaged]), 3),
        (owned(&["inspect", "no-such-file"]), 3),
        (owned(&["refs", &whole]), 0),
        (owned(&["refs", damaged]), 3),
        (
            owned(&[
                "audit",
                "--rules",
                rules,
                "--snapshot",
                &whole,
                "--at",
                "s3://b/j/chk-8",
            ]),
            1,
        ),
        (
            owned(&["audit", "--rules", "no-such-file", "--snapshot", &whole]),
            2,
        ),
    ]
}

fn status(arguments: &[String], out: Stdio, err: Stdio) -> Option<i32> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_stayput"))
        .args(arguments)
        .current_dir(corpus())
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(err)
        .spawn()
        .unwrap();
    child.wait().unwrap().code()
}

/// The end of a pipe whose reader has gone.
fn gone() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

fn full() -> File {
    OpenOptions::new().write(true).open("/dev/full").unwrap()
}

#[test]
fn a_reader_that_has_gone_changes_no_status() {
    for (arguments, expected) in calls() {
        assert_eq!(
            status(&arguments, Stdio::null(), Stdio::null()),
            Some(expected),
            "{arguments:?}"
        );
        assert_eq!(
            status(&arguments, gone(), Stdio::null()),
            Some(expected),
            "{arguments:?}"
        );
        assert_eq!(
            status(&arguments, Stdio::null(), gone()),
            Some(expected),
            "{arguments:?}"
        );
    }
}

#[test]
fn complaints_that_cant_be_written_end_nothing() {
    for (arguments, expected) in calls() {
        assert_eq!(
            status(&arguments, Stdio::null(), full().into()),
            Some(expected),
            "{arguments:?}"
        );
    }
}

#[test]
fn output_that_cant_be_written_is_said() {
    for (arguments, _) in calls().into_iter().filter(|(_, expected)| *expected == 0) {
        assert_eq!(
            status(&arguments, full().into(), Stdio::null()),
            Some(3),
            "{arguments:?}"
        );
    }
}
