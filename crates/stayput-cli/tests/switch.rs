//! `stayput pause`, `pin`, `release` and what takes them back, on a local server, obeyed by `stayput sweep`.

mod cloud;

use cloud::{JOB, OwnFile, file, stayput, upload};
use stayput_tests::cloud::Cloud;
use stayput_tests::system::ministack;

fn settings(bucket: &str) -> OwnFile {
    file(
        "switch.toml",
        &format!(
            "mode = \"restore\"\ncontrol = \"s3://{bucket}/control/\"\n[[roots]]\nuri = \"s3://{bucket}/flink/\"\nkind = \"checkpoints\"\n\
             [stayput]\nrole = \"AROASTAYPUT\"\n"
        ),
    )
}

#[test]
fn what_is_switched_is_shown_obeyed_and_taken_back() {
    let Some(url) = ministack() else { return };
    let cloud = Cloud::at(&url);
    let bucket = "switches";
    cloud.make_versioned_bucket(bucket);
    upload(&cloud, bucket);
    let config = settings(bucket);
    let call = |words: &[&str]| {
        stayput(
            &cloud,
            &[words, &["--config", &config, "--output", "json"]].concat(),
        )
    };
    let shown = call(&["switches"]);
    assert_eq!(
        (shown.status, &shown.json()["paused"]),
        (0, &false.into()),
        "{shown:?}"
    );

    let paused = call(&["pause"]);
    assert_eq!(
        (paused.status, &paused.json()["paused"]),
        (0, &true.into()),
        "{paused:?}"
    );
    let sweep = || stayput(&cloud, &["sweep", "--config", &config]);
    let paused = sweep();
    assert_eq!(paused.status, 0, "{paused:?}");
    assert!(paused.out.contains("; paused: nothing is restored"), "{paused:?}");
    let resumed = call(&["resume"]);
    assert!(!sweep().out.contains("paused"), "it goes on");
    assert_eq!(
        (resumed.status, &resumed.json()["paused"]),
        (0, &false.into()),
        "{resumed:?}"
    );
    let again = call(&["resume"]);
    assert_eq!(again.status, 1, "{again:?}");
    assert!(again.out.contains("it wasn't paused"), "{again:?}");
    // Whatever a person put there pauses.
    cloud.put(bucket, "control/switch/pause", b"the bucket is on fire");
    assert_eq!(call(&["switches"]).json()["paused"], true);
    assert_eq!(call(&["resume"]).status, 0);

    let job = format!("s3://{bucket}/flink/{}", JOB.trim_end_matches('/'));
    let written_otherwise = format!("s3a://{bucket}/flink//{JOB}");
    let pinned = call(&["pin", &written_otherwise]);
    assert_eq!(
        (pinned.status, &pinned.json()["pinned"][0]),
        (0, &job.as_str().into()),
        "{pinned:?}"
    );
    assert!(
        pinned.out.contains("every snapshot in a directory below"),
        "{pinned:?}"
    );
    let checkpoint = format!("{job}/chk-999");
    let wrong = call(&["unpin", &checkpoint]);
    assert_eq!(wrong.status, 1, "{wrong:?}");
    assert!(wrong.out.contains("wasn't pinned"), "{wrong:?}");
    let unpinned = call(&["unpin", &job]);
    assert_eq!(unpinned.json()["pinned"], serde_json::json!([]), "{unpinned:?}");

    let released = call(&["release", &job]);
    assert_eq!(released.json()["released"][0], job, "{released:?}");
    let back = call(&["release", &job, "--undo"]);
    assert_eq!(
        (back.status, &back.json()["released"]),
        (0, &serde_json::json!([])),
        "{back:?}"
    );

    let text = stayput(
        &cloud,
        &["switches", "--control", &format!("s3://{bucket}/control")],
    );
    assert_eq!(
        text.out,
        format!(
            "Switches under s3://{bucket}/control/:\n  not paused\n  nothing pinned\n  nothing released\n"
        ),
        "{text:?}"
    );
}

#[test]
fn where_nothing_can_be_switched_it_says_what_to_write() {
    let Some(url) = ministack() else { return };
    let cloud = Cloud::at(&url);
    let without = file(
        "switch-none.toml",
        "[[roots]]\nuri = \"s3://switches-none/flink/\"\nkind = \"checkpoints\"\n",
    );
    let refused = stayput(&cloud, &["pause", "--config", &without]);
    assert_eq!(refused.status, 2, "{refused:?}");
    assert!(refused.err.contains("add control = "), "{refused:?}");
    let absent = stayput(&cloud, &["pause", "--control", "s3://switches-absent/control"]);
    assert_eq!(absent.status, 3, "{absent:?}");
    let whole = stayput(&cloud, &["release", "s3://switches-none", "--config", &without]);
    assert_eq!(whole.status, 2, "{whole:?}");
    assert!(whole.err.contains("a whole bucket"), "{whole:?}");
}
