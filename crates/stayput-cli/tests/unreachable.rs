//! No region, no credentials, nobody there: what the command says then, in words and without waiting for long.

use std::path::Path;
use std::process::Command;

struct Trouble {
    name: &'static str,
    environment: &'static [(&'static str, &'static str)],
    /// What must be said.
    says: &'static [&'static str],
}

const KEYS: [(&str, &str); 2] = [
    ("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE"),
    ("AWS_SECRET_ACCESS_KEY", "secret"),
];

const TROUBLES: [Trouble; 3] = [
    Trouble {
        name: "no region",
        environment: &[KEYS[0], KEYS[1]],
        says: &["region", "Set AWS_REGION"],
    },
    Trouble {
        name: "no credentials",
        environment: &[
            ("AWS_REGION", "us-east-1"),
            ("AWS_ENDPOINT_URL", "http://127.0.0.1:1"),
        ],
        says: &["credential", "AWS_PROFILE"],
    },
    Trouble {
        name: "nobody there",
        environment: &[
            ("AWS_REGION", "us-east-1"),
            ("AWS_ENDPOINT_URL", "http://127.0.0.1:1"),
            ("AWS_MAX_ATTEMPTS", "1"),
            KEYS[0],
            KEYS[1],
        ],
        says: &["Nobody answers there", "AWS_ENDPOINT_URL"],
    },
];

#[test]
fn what_keeps_a_request_from_being_sent_is_said_with_what_to_do() {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("unreachable");
    std::fs::create_dir_all(&home).unwrap();
    let settings =
        "mode = \"observe\"\n[[roots]]\nuri = \"s3://flink-state/checkpoints/\"\nkind = \"checkpoints\"\n";
    std::fs::write(home.join("stayput.toml"), settings).unwrap();
    for trouble in TROUBLES {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stayput"));
        command
            .arg("sweep")
            .env_clear()
            .env("HOME", &home)
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .current_dir(&home)
            .envs(trouble.environment.iter().copied());
        let output = command.output().unwrap();
        let said = format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        println!("{}: {said}", trouble.name);
        assert!(!output.status.success(), "{}: {said}", trouble.name);
        for words in trouble.says {
            assert!(
                said.contains(words),
                "{} doesn't say {words}: {said}",
                trouble.name
            );
        }
        for types in ["Error {", "Error(", "Some(", "ConnectorError", "DispatchFailure"] {
            assert!(
                !said.contains(types),
                "{} shows what only programmers know: {said}",
                trouble.name
            );
        }
    }
}
