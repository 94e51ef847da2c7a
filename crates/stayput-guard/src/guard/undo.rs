//! The command that a person may paste to undo a deletion.

use stayput_core::command::aws_s3api;
use stayput_core::location::ObjectLocation;
use stayput_core::version::{KeyHistory, VersionKind};

/// The command that removes the markers on top, all of them, so that the version below is visible again.
pub(super) fn undo_command(location: &ObjectLocation, history: Option<&KeyHistory>) -> Option<String> {
    let commands: Vec<String> = history?
        .entries()
        .iter()
        .take_while(|entry| entry.kind == VersionKind::Marker)
        .map(|marker| {
            let names = [
                ("Bucket", location.bucket()),
                ("Key", location.key()),
                ("VersionId", marker.id.as_str()),
            ];
            aws_s3api("delete-object", &names)
        })
        .collect();
    (!commands.is_empty()).then(|| commands.join(" && "))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;
    use stayput_core::command::is_an_argument;
    use stayput_core::shown::is_unsafe;
    use stayput_core::timestamp::Timestamp;
    use stayput_core::version::{VersionEntry, VersionId};

    use super::*;

    fn entry(key: &str, id: &str, kind: VersionKind) -> VersionEntry {
        VersionEntry {
            key: key.to_owned(),
            id: VersionId::new(id),
            is_latest: false,
            last_modified: Timestamp::from_millis(0),
            kind,
        }
    }

    fn data() -> VersionKind {
        VersionKind::Data {
            size: 1,
            etag: String::new(),
            storage_class: None,
        }
    }

    #[test]
    fn an_undo_removes_every_marker_above_the_data_and_survives_a_shell() {
        let history = KeyHistory::new(vec![
            entry("cp/it's", "m2", VersionKind::Marker),
            entry("cp/it's", "m1", VersionKind::Marker),
            entry("cp/it's", "d", data()),
            entry("cp/it's", "m0", VersionKind::Marker),
        ]);
        let location = ObjectLocation::new("b", "cp/it's");
        let command = undo_command(&location, Some(&history)).expect("it is hidden");
        let one =
            |id: &str| format!(r"aws s3api delete-object --bucket b --key 'cp/it'\''s' --version-id {id}");
        assert_eq!(command, format!("{} && {}", one("m2"), one("m1")));
        let unhidden = KeyHistory::new(vec![entry("cp/it's", "d", data())]);
        assert_eq!(undo_command(&location, Some(&unhidden)), None);
    }

    /// What the AWS command would be given, by a real shell. `aws` is a function that prints its arguments.
    fn arguments(shell: &str, command: &str) -> Vec<String> {
        let script = format!("aws() {{ printf '%s\\0' \"$@\"; }}\n{command}\n");
        let output = Command::new(shell)
            .args(["-c", &script])
            .output()
            .expect("a shell");
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{command}: {output:?}"
        );
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        text.split_terminator('\0').map(str::to_owned).collect()
    }

    /// Bucket, key and version that the arguments mean, as the AWS command takes them.
    fn meant(arguments: &[String]) -> (String, String, String) {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match words.as_slice() {
            [
                "s3api",
                "delete-object",
                "--bucket",
                bucket,
                "--key",
                key,
                "--version-id",
                version,
            ] => {
                for value in [bucket, key, version] {
                    assert!(is_an_argument(value), "{value:?}");
                }
                ((*bucket).to_owned(), (*key).to_owned(), (*version).to_owned())
            }
            ["s3api", "delete-object", "--cli-input-json", json] => {
                let value: serde_json::Value = serde_json::from_str(json).expect("JSON");
                let text = |name: &str| value[name].as_str().expect("text").to_owned();
                (text("Bucket"), text("Key"), text("VersionId"))
            }
            other => panic!("{other:?}"),
        }
    }

    fn means_this_key_in_every_shell(key: &str, version: &str) {
        let history = KeyHistory::new(vec![
            entry(key, version, VersionKind::Marker),
            entry(key, "d", data()),
        ]);
        let location = ObjectLocation::new("b", key);
        let command = undo_command(&location, Some(&history)).expect("it is hidden");
        assert!(!command.contains(is_unsafe), "{command:?}");
        for shell in ["sh", "bash"] {
            let (bucket, meant_key, meant_version) = meant(&arguments(shell, &command));
            assert_eq!(
                (bucket.as_str(), meant_key.as_str(), meant_version.as_str()),
                ("b", key, version)
            );
        }
    }

    #[test]
    fn no_name_becomes_a_command_an_option_or_a_local_file() {
        let names = [
            "$(touch /tmp/x)",
            "`id`",
            "'; rm -rf / #",
            "\"; rm -rf / #",
            "a b",
            "~",
            "*",
            "!!",
            "$HOME",
            "a\nrm -rf /",
            "a\\",
            "\\'",
            "-f",
            "--cli-input-json",
            "--endpoint-url=http://x",
            "file:///etc/passwd",
            "fileb://x",
            "http://169.254.169.254/",
            "https://x",
            "\u{1b}[2J",
            "\u{202e}gpj",
            "\u{9b}31m",
            "a\tb",
            "a\rb",
            "\u{2028}",
            "ü/€/😀",
            "\u{7f}",
            "\u{0}",
            "<b>&amp;",
            "%s%n",
            "&&",
            "|",
            "#",
            "{a,b}",
            "\u{e0041}",
        ];
        for name in names {
            means_this_key_in_every_shell(name, "v");
            means_this_key_in_every_shell("k", name);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_name_is_pasted_as_it_is(key in "\\PC{1,20}|.{1,20}|[-$`'\"\\\\;&|<>(){}!#~*?\\[\\] \n\t\u{1b}\u{202e}a]{1,20}") {
            means_this_key_in_every_shell(&key, "v");
        }
    }
}
