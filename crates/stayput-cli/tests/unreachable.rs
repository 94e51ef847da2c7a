//! No region, no credentials, expired ones, nobody there, no TLS: what the command says then, in words, and how it ends.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;

/// What is missing from the environment, or wrong in it.
struct Trouble {
    name: &'static str,
    environment: Vec<(&'static str, String)>,
    /// What must be said.
    says: &'static [&'static str],
    /// How commands end that can say nothing else.
    status: i32,
}

/// No retry helps before somebody sets something.
const LASTS: &str = "a retry doesn't help";

fn to(endpoint: &str) -> Vec<(&'static str, String)> {
    let set = [
        ("AWS_REGION", "us-east-1"),
        ("AWS_ENDPOINT_URL", endpoint),
        ("AWS_MAX_ATTEMPTS", "1"),
    ];
    set.map(|(name, value)| (name, value.to_owned())).into()
}

fn with_keys(mut environment: Vec<(&'static str, String)>) -> Vec<(&'static str, String)> {
    let keys = [
        ("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
    ];
    environment.extend(keys.map(|(name, value)| (name, value.to_owned())));
    environment
}

/// A server that says of every request that its token has expired.
fn with_expired_tokens() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let (mut request, mut part) = (Vec::new(), [0; 4096]);
            // A handshake of TLS begins with 22, and is no request that ever ends.
            while request.first() != Some(&22) && !request.windows(4).any(|end| end == b"\r\n\r\n") {
                match stream.read(&mut part) {
                    Ok(0) | Err(_) => break,
                    Ok(n) => request.extend_from_slice(&part[..n]),
                }
            }
            // As S3 says it, and as STS does.
            let error = "<Code>ExpiredToken</Code><Message>The provided token has expired.</Message>";
            let body = match request.starts_with(b"POST") {
                true => format!("<ErrorResponse><Error>{error}</Error></ErrorResponse>"),
                false => format!("<Error>{error}</Error>"),
            };
            // Who hung up is told nothing.
            let _ = write!(
                stream,
                "HTTP/1.1 400 Bad Request\r\ncontent-type: application/xml\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    address
}

fn troubles() -> Vec<Trouble> {
    let expired = with_expired_tokens();
    vec![
        Trouble {
            name: "no region",
            environment: with_keys(Vec::new()),
            says: &["no region is set", "set AWS_REGION", "AWS_PROFILE"],
            status: 2,
        },
        Trouble {
            name: "no credentials",
            environment: to("http://127.0.0.1:1"),
            says: &["credential", "AWS_PROFILE", LASTS],
            status: 2,
        },
        Trouble {
            name: "a profile that isn't there",
            environment: [
                to("http://127.0.0.1:1"),
                vec![("AWS_PROFILE", "nobody".to_owned())],
            ]
            .concat(),
            says: &["credential", "AWS_PROFILE", LASTS],
            status: 2,
        },
        Trouble {
            name: "credentials that have expired",
            environment: with_keys(to(&format!("http://{expired}"))),
            says: &["ExpiredToken", "sign in again", LASTS],
            status: 2,
        },
        Trouble {
            name: "no TLS where https is asked for",
            environment: with_keys(to(&format!("https://{expired}"))),
            says: &["TLS", "AWS_ENDPOINT_URL (http or https)", LASTS],
            status: 2,
        },
        Trouble {
            name: "nobody there",
            environment: with_keys(to("http://127.0.0.1:1")),
            says: &["can't be reached", "Nobody answers there", "AWS_ENDPOINT_URL"],
            status: 3,
        },
        Trouble {
            name: "no such host",
            environment: with_keys(to("http://nowhere.invalid")),
            says: &["can't be reached", "Nobody answers there", "AWS_ENDPOINT_URL"],
            status: 3,
        },
    ]
}

#[test]
fn what_keeps_a_request_from_its_answer_is_said_with_what_to_do_and_isnt_called_transient() {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("unreachable");
    std::fs::create_dir_all(&home).unwrap();
    let settings =
        "mode = \"observe\"\n[[roots]]\nuri = \"s3://flink-state/checkpoints/\"\nkind = \"checkpoints\"\n";
    std::fs::write(home.join("stayput.toml"), settings).unwrap();
    let commands: [&[&str]; 4] = [
        &["sweep"],
        &["doctor", "s3://flink-state/checkpoints"],
        &["setup", "s3://flink-state/checkpoints"],
        &["switches", "--control", "s3://ops/stayput"],
    ];
    for trouble in troubles() {
        for arguments in commands {
            let mut command = Command::new(env!("CARGO_BIN_EXE_stayput"));
            command
                .args(arguments)
                .env_clear()
                .env("HOME", &home)
                .env("AWS_EC2_METADATA_DISABLED", "true")
                .current_dir(&home)
                .envs(trouble.environment.iter().map(|(name, value)| (name, value)));
            let output = command.output().unwrap();
            let said = format!(
                "{}{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            );
            let what = format!("{}, {arguments:?}: {said}", trouble.name);
            assert_eq!(output.status.code(), Some(trouble.status), "{what}");
            for words in trouble.says {
                assert!(said.contains(words), "doesn't say {words}: {what}");
            }
            assert!(!said.contains("transient"), "{what}");
            for types in ["Error {", "Error(", "Some(", "ConnectorError", "DispatchFailure"] {
                assert!(!said.contains(types), "shows what only programmers know: {what}");
            }
        }
    }
}
