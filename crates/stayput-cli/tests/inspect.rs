//! `stayput inspect`: the real command on real checkpoints.

mod command;

use std::collections::BTreeSet;

use command::{cases, metadata, rewritten, stayput, stayput_reading};
use serde_json::Value;

#[test]
fn a_claimed_chain_shows_whose_files_it_still_needs() {
    let said = stayput(&[
        "inspect",
        "1.14.6-rocks-inc-chain-j2-chk7",
        "--at",
        "file:///checkpoints/1.14.6/rocks-inc-chain/a4d30df693dfab84600c417c234d9225/chk-7",
    ]);
    insta::assert_snapshot!(said.out);
    assert_eq!((said.err.as_str(), said.status), ("", 0));
}

#[test]
fn merged_files_and_their_directories_are_told_apart_from_whole_files() {
    let said = stayput(&[
        "inspect",
        "2.3.0-merge-rocks-j2-chk8/_metadata",
        "--at",
        "file:///checkpoints/2.3.0/merge-rocks/5bff63ad7965385540695f8ad65bb928/chk-8",
    ]);
    insta::assert_snapshot!(said.out);
    assert_eq!((said.err.as_str(), said.status), ("", 0));
}

#[test]
fn a_native_savepoint_on_s3_can_be_moved() {
    let said = stayput(&[
        "inspect",
        "s3-2.3.0-filesink-stop-sp1",
        "--at",
        "s3a://flink-lab/2.3.0/filesink-stop/savepoints/savepoint-307265-d929fbfa493d/_metadata",
    ]);
    insta::assert_snapshot!(said.out);
    assert_eq!(said.status, 0);
}

#[test]
fn a_cut_file_says_where_it_ends_what_was_read_and_what_that_means() {
    let bytes = metadata("2.3.0-rocks-inc-chk8");
    let said = stayput_reading(&["inspect", "-", "--at", "s3://b/cp/chk-8"], &bytes[..2000]);
    insta::assert_snapshot!(said.out);
    assert_eq!(said.status, 3);

    let said = stayput_reading(&["inspect", "-", "--output", "json"], &bytes[..2000]);
    let document: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(document["reading"], "damaged");
    assert_eq!(document["code"], "end_of_file");
    assert_eq!(document["metadata_bytes"], 2000);
    assert!(document["offset"].as_u64().unwrap() < 2000);
    assert!(
        document["read_so_far"]["objects"]["total"]["objects"]
            .as_u64()
            .unwrap()
            > 0
    );
    assert_eq!(said.status, 3);

    // The oracle form has no room for a part.
    let said = stayput_reading(&["inspect", "-", "--output", "oracle"], &bytes[..2000]);
    assert_eq!((said.out.as_str(), said.status), ("", 3));
    assert!(said.err.contains("ends too early"), "{}", said.err);
}

#[test]
fn what_is_no_metadata_is_named() {
    for (bytes, word) in [
        (&b""[..], "empty"),
        (b"\x1f\x8b\x08\x00", "gzip"),
        (b"\xac\xed\x00\x05sr", "Java"),
    ] {
        let said = stayput_reading(&["inspect", "-"], bytes);
        assert_eq!(said.status, 3);
        assert!(said.out.contains(word), "{}", said.out);
        assert!(said.out.contains("read so far   nothing"), "{}", said.out);
    }
}

#[test]
fn the_oracle_form_equals_what_flinks_own_classes_said() {
    for case in cases() {
        let said = stayput(&["inspect", &case.name, "--output", "oracle", "--at", &case.pointer]);
        assert_eq!(said.status, 0, "{}: {}", case.name, said.err);
        let ours: Value = serde_json::from_str(&said.out).unwrap();
        assert!(ours == case.oracle, "{} differs", case.name);
    }
}

/// Everything in the summary that the oracle knows too, for every case.
#[test]
fn the_sums_of_the_summary_are_those_of_flink() {
    let mut features: BTreeSet<String> = BTreeSet::new();
    for case in cases() {
        let said = stayput(&["inspect", &case.name, "--output", "json", "--at", &case.pointer]);
        assert_eq!((said.err.as_str(), said.status), ("", 0), "{}", case.name);
        let ours: Value = serde_json::from_str(&said.out).unwrap();
        let theirs = &case.oracle;
        let name = &case.name;
        assert_eq!(ours["format_version"], theirs["format_version"], "{name}");
        assert_eq!(ours["checkpoint_id"], theirs["checkpoint_id"], "{name}");
        assert_eq!(ours["metadata_bytes"], theirs["metadata_bytes"], "{name}");
        let totals = &theirs["totals"];
        assert_eq!(ours["objects"]["total"]["objects"], totals["files"], "{name}");
        assert_eq!(
            ours["objects"]["total"]["bytes"], totals["referenced_bytes"],
            "{name}"
        );
        assert_eq!(
            ours["objects"]["named_directory_count"], totals["directories"],
            "{name}"
        );
        assert_eq!(ours["inlined"]["bytes"], totals["inline_bytes"], "{name}");
        assert_eq!(
            ours["operators"].as_array().unwrap().len() as u64,
            totals["operators"],
            "{name}"
        );
        let number = |value: &Value| value.as_u64().unwrap();
        let sum = |of: &Value, field: &str| {
            of.as_array()
                .unwrap()
                .iter()
                .map(|row| number(&row[field]))
                .sum::<u64>()
        };
        for rows in ["by_place", "by_directory"] {
            let rows = &ours["objects"][rows];
            assert_eq!(sum(rows, "objects"), number(&totals["files"]), "{name}");
            assert_eq!(sum(rows, "bytes"), number(&totals["referenced_bytes"]), "{name}");
        }
        let inlined: u64 = ours["state"]
            .as_object()
            .unwrap()
            .values()
            .map(|held| number(&held["inlined_bytes"]))
            .sum();
        assert_eq!(inlined, number(&totals["inline_bytes"]), "{name}");
        for (operator, oracle) in ours["operators"]
            .as_array()
            .unwrap()
            .iter()
            .zip(theirs["operators"].as_array().unwrap())
        {
            for (field, oracle_field) in [
                ("id", "operator_id"),
                ("uid", "uid"),
                ("name", "name"),
                ("parallelism", "parallelism"),
            ] {
                assert_eq!(operator[field], oracle[oracle_field], "{name}");
            }
        }
        assert_eq!(ours["objects"]["none_at_home"], false, "{name}");
        let release = name.trim_start_matches("s3-").split('-').next().unwrap();
        let minor = release.rsplit_once('.').unwrap().0;
        let (oldest, newest) = (
            ours["releases"]["oldest"].as_str().unwrap(),
            ours["releases"]["newest"].as_str().unwrap(),
        );
        let order = |release: &str| {
            let (major, minor) = release.split_once('.').unwrap();
            major.parse::<u32>().unwrap() * 100 + minor.parse::<u32>().unwrap()
        };
        assert!(
            order(oldest) <= order(minor) && order(minor) <= order(newest),
            "{name}: {oldest} to {newest}"
        );
        if let Some(kind) = ours["kind"].as_object() {
            assert_eq!(kind["savepoint"], case.pointer.contains("savepoint-"), "{name}");
        }
        features.extend(
            ours["features"]
                .as_array()
                .unwrap()
                .iter()
                .map(|f| f.as_str().unwrap().to_owned()),
        );
    }
    let features: Vec<&str> = features.iter().map(String::as_str).collect();
    assert_eq!(
        features,
        [
            "canonical_savepoint",
            "changelog",
            "changelog_in_memory",
            "file_merging",
            "finished_tasks",
            "full_keyed_state",
            "incremental_keyed_state",
            "merged_channel_state",
            "native_savepoint",
            "raw_keyed_state",
            "unaligned"
        ]
    );
}

#[test]
fn several_files_are_all_shown_and_the_worst_decides_how_it_ends() {
    let said = stayput(&[
        "inspect",
        "2.3.0-rocks-inc-chk8",
        "not-there",
        "stories",
        "2.0.2-finished-sp1",
        "--output",
        "json",
    ]);
    let documents: Vec<Value> = serde_json::Deserializer::from_str(&said.out)
        .into_iter()
        .map(Result::unwrap)
        .collect();
    let readings: Vec<&str> = documents
        .iter()
        .map(|document| document["reading"].as_str().unwrap())
        .collect();
    assert_eq!(readings, ["whole", "unreadable", "unreadable", "whole"]);
    assert_eq!(documents[1]["file"], "not-there");
    assert!(
        said.err.contains("not-there: there is no such file"),
        "{}",
        said.err
    );
    assert!(
        said.err.contains("stories: this directory holds no _metadata"),
        "{}",
        said.err
    );
    assert_eq!(said.status, 3);

    let said = stayput(&["inspect", "2.3.0-rocks-inc-chk8", "2.0.2-finished-sp1"]);
    assert_eq!((said.err.as_str(), said.status), ("", 0));
    assert!(
        said.out.contains("2.3.0-rocks-inc-chk8/_metadata\n")
            && said.out.contains("\n\n2.0.2-finished-sp1/_metadata\n")
    );
}

#[test]
fn a_copy_is_recognised_as_one() {
    let said = stayput(&["inspect", "2.3.0-rocks-inc-chk8"]);
    assert!(said.out.contains("it looks copied"), "{}", said.out);
    assert!(said.out.contains("--at"), "{}", said.out);
    let case = cases()
        .into_iter()
        .find(|case| case.name == "2.3.0-rocks-inc-chk8")
        .unwrap();
    let said = stayput(&["inspect", "2.3.0-rocks-inc-chk8", "--at", &case.pointer]);
    assert!(!said.out.contains("it looks copied"), "{}", said.out);
}

/// Clears the screen, turns the reading direction, and has the length of the uid that it takes the place of.
const HOSTILE: &str = "\u{1b}[2J\u{202e}nur";

#[test]
fn a_hostile_uid_can_neither_clear_the_screen_nor_read_backwards() {
    let bytes = rewritten(
        metadata("2.3.0-rocks-inc-chk8"),
        b"uid-source",
        HOSTILE.as_bytes(),
    );
    let said = stayput_reading(&["inspect", "-"], &bytes);
    assert_eq!(said.status, 0);
    assert!(said.out.contains("\\u{1b}[2J\\u{202e}nur"), "{}", said.out);
    assert!(!said.out.contains(['\u{1b}', '\u{202e}']));

    // The document keeps the name, in an escaped form.
    let said = stayput_reading(&["inspect", "-", "--output", "json"], &bytes);
    assert!(!said.out.contains(['\u{1b}', '\u{202e}']));
    let document: Value = serde_json::from_str(&said.out).unwrap();
    let uids = document["operators"]
        .as_array()
        .unwrap()
        .iter()
        .map(|operator| &operator["uid"]);
    assert_eq!(uids.filter(|uid| *uid == HOSTILE).count(), 1);
}

#[test]
fn calls_that_make_no_sense_end_with_2() {
    for arguments in [
        &["inspect"][..],
        &["inspect", "x", "--output", "yaml"],
        &["inspect", "2.3.0-rocks-inc-chk8", "--at", "s3:"],
        &[
            "inspect",
            "2.3.0-rocks-inc-chk8",
            "2.3.0-rocks-inc-sp1",
            "--at",
            "s3://b/chk-8",
        ],
        &["no-such-command"],
    ] {
        let said = stayput(arguments);
        assert_eq!((said.out.as_str(), said.status), ("", 2), "{arguments:?}");
        assert!(!said.err.is_empty());
    }
    for arguments in [&["--help"][..], &["inspect", "--help"], &["refs", "--help"]] {
        let said = stayput(arguments);
        assert_eq!(said.status, 0);
        assert!(
            said.out.contains("Exit status: 0 fine, 1 findings, 2 usage"),
            "{}",
            said.out
        );
    }
}
