//! What `stayput setup` prints where: settings that a file takes on the standard output, what people read on the standard error.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use stayput_guard::settings::Settings;

/// A bucket that sends nothing to anybody, and how many requests it was asked.
fn bucket() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let (mut request, mut part) = (Vec::new(), [0; 4096]);
            while !request.windows(4).any(|end| end == b"\r\n\r\n") {
                match stream.read(&mut part) {
                    Ok(0) | Err(_) => break,
                    Ok(n) => request.extend_from_slice(&part[..n]),
                }
            }
            count.fetch_add(1, Ordering::SeqCst);
            let body = "<NotificationConfiguration/>";
            // Who hung up is told nothing.
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-type: application/xml\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    (address, asked)
}

fn setup(at: SocketAddr, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_stayput"))
        .args(["setup", "s3://flink-state/checkpoints"])
        .args(arguments)
        .env("AWS_ENDPOINT_URL", format!("http://{at}"))
        .env("AWS_REGION", "us-east-1")
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", "test")
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

const QUEUE: [&str; 2] = ["--queue", "arn:aws:sqs:us-east-1:000000000000:stayput"];

#[test]
fn settings_go_into_a_file_and_what_changes_to_whoever_looks_on() {
    let (at, _) = bucket();
    let output = setup(at, &[&QUEUE[..], &["--flink-role", "AROAEXAMPLEID"]].concat());
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let settings = text(&output.stdout);
    let parsed = Settings::parse(settings).unwrap_or_else(|e| panic!("{e}: {settings}"));
    assert_eq!(parsed.mandate.principals.flink, ["AROAEXAMPLEID"]);
    let said = text(&output.stderr);
    for part in [
        "What s3://flink-state sends:",
        "  + stayput-deletions",
        "--apply writes this",
        "FlinkRoleIds=AROAEXAMPLEID",
    ] {
        assert!(said.contains(part), "{part}: {said}");
        assert!(!settings.contains(part), "{part}: {settings}");
    }
}

#[test]
fn to_apply_without_a_target_is_an_error_and_nothing_is_asked() {
    let (at, asked) = bucket();
    for arguments in [
        &["--apply"][..],
        &["--apply", "--json"],
        &["--apply", "--flink-role", "AROAEXAMPLEID"],
    ] {
        let output = setup(at, arguments);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert_eq!(text(&output.stdout), "");
        let said = text(&output.stderr);
        assert!(
            said.contains("no target was named") && said.contains("--queue ARN"),
            "{said}"
        );
    }
    assert_eq!(asked.load(Ordering::SeqCst), 0);
    // Without --apply there is something to look at all the same.
    let output = setup(at, &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text(&output.stderr).contains("no target was named"), "{output:?}");
}
