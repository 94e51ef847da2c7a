//! Stories are read whole or refused with file and line, and the model shows what the story says.

use std::fs;
use std::path::{Path, PathBuf};

use s3_model::{Content, Model};
use stayput_cli::replay::{Story, StoryError};
use stayput_core::timestamp::Timestamp;
use stayput_core::version::VersionId;
use stayput_guard::port::{PortErrorKind, Reading};

mod stories;

fn at(time: &str) -> Timestamp {
    Timestamp::parse(time).unwrap()
}

fn json(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// A folder with the smallest story there can be, for this test alone.
fn smallest(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    fs::create_dir_all(folder.join("metadata/cp/chk-1")).unwrap();
    let put = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    put("stayput.toml", "mode = \"restore\"\n");
    put("now", "2026-11-28T10:06:00Z\n2026-11-28T11:00:00Z sweep\n");
    put("events.jsonl", "{\"Records\":[]}\n\n{\"Records\":[ ]}\n");
    put(
        "bucket-config.json",
        r#"{"Bucket": "flink-lab", "Versioning": {"Status": "Enabled"}, "Lifecycle": {"Rules": []}}"#,
    );
    put(
        "bucket.json",
        r#"{"Versions": [
        {"Key": "cp/chk-1/_metadata", "VersionId": "v1", "IsLatest": true, "LastModified": "2026-11-28T10:00:00+00:00", "Size": 4, "ETag": "\"e\""},
        {"Key": "cp/chk-0/_metadata", "VersionId": "v0", "IsLatest": false, "LastModified": "2026-11-28T09:00:00+00:00", "Size": 4, "ETag": "\"f\""},
        {"Key": "cp/shared/a", "VersionId": "v2", "IsLatest": true, "LastModified": "2026-11-28T10:00:00+00:00", "Size": 9, "ETag": "\"g\""}],
        "DeleteMarkers": [
        {"Key": "cp/chk-0/_metadata", "VersionId": "m0", "IsLatest": true, "LastModified": "2026-11-28T10:00:01+00:00"}]}"#,
    );
    put("metadata/cp/chk-1/_metadata@v1", "abcd");
    folder
}

fn refused(folder: &Path) -> String {
    let error: StoryError = Story::load(folder).unwrap_err();
    let text = error.to_string();
    text.strip_prefix(&format!("{}/", folder.display()))
        .unwrap_or(&text)
        .to_owned()
}

#[tokio::test]
async fn every_acceptance_story_loads_and_the_model_holds_its_bucket_and_bytes() {
    let (mut rows_seen, mut bodies_seen, mut messages_seen) = (0, 0, 0);
    for folder in stories::all() {
        let name = folder.display();
        let story = stories::load(&folder);
        let model = Model::new(at("1970-01-01T00:00:00Z"));
        let lines = fs::read_to_string(folder.join("now")).unwrap().lines().count();
        assert_eq!(story.looks().len(), lines, "{name}");
        let mut rows = 0;
        for look in story.looks() {
            story.apply(look, &model).unwrap();
            assert_eq!(model.now(), look.at, "{name}");
            let number = look.number;
            let listing = match number {
                1 => folder.join("bucket.json"),
                n => folder.join(format!("bucket.{n}.json")),
            };
            if listing.exists() {
                let listing = json(&listing);
                rows = ["Versions", "DeleteMarkers"]
                    .iter()
                    .map(|f| listing[f].as_array().unwrap().len())
                    .sum();
            }
            let bucket = model.bucket(&story.bucket.bucket).unwrap();
            let here: usize = bucket
                .keys()
                .iter()
                .map(|k| bucket.history(k).entries().len())
                .sum();
            assert_eq!(here, rows, "{name} look {number}");
            messages_seen += look.messages.len();
        }
        rows_seen += rows;
        // All bytes that the story has, read through the port.
        let bucket = model.bucket(&story.bucket.bucket).unwrap();
        for key in bucket.keys() {
            for entry in bucket.history(&key).data_versions() {
                let file = folder.join("metadata").join(format!("{key}@{}", entry.id));
                if !file.is_file() {
                    continue;
                }
                let body = model.body(&bucket.at(&key), Some(&entry.id), u64::MAX).await;
                match body {
                    Ok(body) => assert_eq!(body.bytes, fs::read(file).unwrap(), "{name} {key}"),
                    Err(e) => assert!(
                        matches!(
                            e.kind,
                            PortErrorKind::Denied | PortErrorKind::Throttled | PortErrorKind::Archived
                        ),
                        "{name}: {e}"
                    ),
                }
                bodies_seen += 1;
            }
        }
        assert!(model.reads_in_vain().is_empty(), "{name}");
    }
    assert!(
        rows_seen >= 5000 && bodies_seen >= 200 && messages_seen >= 300,
        "{rows_seen} {bodies_seen} {messages_seen}"
    );
}

#[tokio::test]
async fn the_smallest_story_shows_bytes_zeroes_and_what_nobody_may_need() {
    let story = Story::load(&smallest("bytes")).unwrap();
    let model = Model::new(at("1970-01-01T00:00:00Z"));
    let [first, second] = story.looks() else {
        panic!("two looks")
    };
    assert!(!first.sweep && second.sweep);
    let places: Vec<_> = first.messages.iter().map(|m| m.place.as_str()).collect();
    assert_eq!(
        places,
        ["events.jsonl:1", "events.jsonl:3"],
        "blank lines are no messages, but they are lines"
    );
    assert!(second.messages.is_empty());

    story.apply(first, &model).unwrap();
    let bucket = model.bucket("flink-lab").unwrap();
    assert_eq!(
        model
            .body(&bucket.at("cp/chk-1/_metadata"), None, 99)
            .await
            .unwrap()
            .bytes,
        b"abcd"
    );
    assert_eq!(
        model
            .body(&bucket.at("cp/shared/a"), None, 99)
            .await
            .unwrap()
            .bytes,
        [0; 9]
    );
    let subsumed = VersionId::new("v0");
    let error = model
        .body(&bucket.at("cp/chk-0/_metadata"), Some(&subsumed), 99)
        .await
        .unwrap_err();
    assert_eq!(error.kind, PortErrorKind::NotFound);
    assert_eq!(
        model.reads_in_vain(),
        [(bucket.at("cp/chk-0/_metadata"), subsumed)]
    );

    // What happens between the looks stays, since the story has no second bucket.
    bucket.put("cp/shared/b", Content::Zeroes(1));
    story.apply(second, &model).unwrap();
    assert!(bucket.is_visible("cp/shared/b"));
    assert_eq!(model.now(), at("2026-11-28T11:00:00Z"));
}

#[tokio::test]
async fn a_second_bucket_and_second_notes_replace_the_first() {
    let folder = smallest("second");
    let note = r#"{"cp/chk-1/_metadata@v1": {"error": "SlowDown", "Metadata": {"stayput-count": "2"}, "Tags": {"class": "hot"}}}"#;
    fs::write(folder.join("objects.json"), note).unwrap();
    fs::write(folder.join("objects.2.json"), "{}").unwrap();
    fs::write(folder.join("events.2.jsonl"), "{}\n").unwrap();
    let story = Story::load(&folder).unwrap();
    let model = Model::new(at("1970-01-01T00:00:00Z"));
    story.apply(&story.looks()[0], &model).unwrap();
    let bucket = model.bucket("flink-lab").unwrap();
    let metadata = bucket.at("cp/chk-1/_metadata");
    let error = model.body(&metadata, None, 99).await.unwrap_err();
    assert_eq!(error.kind, PortErrorKind::Throttled);
    let head = model.head(&metadata, None).await.unwrap();
    assert_eq!(head.metadata_value("stayput-count"), Some("2"));
    assert_eq!(
        bucket.current(metadata.key()).unwrap().object.unwrap().tags["class"],
        "hot"
    );

    story.apply(&story.looks()[1], &model).unwrap();
    let body = model.body(&metadata, None, 99).await.unwrap();
    assert_eq!(
        (body.bytes.as_slice(), body.head.metadata.len()),
        (b"abcd".as_slice(), 0)
    );
    assert_eq!(story.looks()[1].messages.len(), 1);

    let listing = json(&folder.join("bucket.json"))
        .to_string()
        .replace("cp/shared/a", "cp/shared/z");
    fs::write(folder.join("bucket.2.json"), listing).unwrap();
    fs::remove_file(folder.join("objects.2.json")).unwrap();
    let story = Story::load(&folder).unwrap();
    story.apply(&story.looks()[0], &model).unwrap();
    bucket.put("cp/shared/b", Content::Zeroes(1));
    story.apply(&story.looks()[1], &model).unwrap();
    assert!(bucket.is_visible("cp/shared/z"));
    assert!(!bucket.is_visible("cp/shared/a") && !bucket.is_visible("cp/shared/b"));
    let error = model.body(&metadata, None, 99).await.unwrap_err();
    assert_eq!(
        error.kind,
        PortErrorKind::Throttled,
        "the notes of look 1 hold until others replace them"
    );
}

#[test]
fn what_people_switched_before_is_read_and_a_typing_error_is_named_with_its_line() {
    let folder = smallest("switches");
    let toml = "pinned = [\"s3://flink-lab/cp/chk-1/\"]\npaused = true\n";
    fs::write(folder.join("story.toml"), toml).unwrap();
    let switches = Story::load(&folder).unwrap().switches;
    assert!(switches.paused);
    assert_eq!(switches.pinned, ["s3://flink-lab/cp/chk-1/"]);
    assert!(switches.released.is_empty() && switches.hidden_by_orphans.is_empty());

    fs::write(folder.join("story.toml"), "paused = true\npined = []\n").unwrap();
    let error = refused(&folder);
    assert!(
        error.starts_with("story.toml:2: unknown field `pined`"),
        "{error}"
    );
}

#[test]
fn each_broken_story_is_refused_with_the_file_that_is_to_blame() {
    let cases: [(&str, &str, &str); 12] = [
        ("now", "", "now: it names no look"),
        (
            "now",
            "2026-11-28T10:06:00Z\nsoon\n",
            "now:2: \"soon\" is no point in time",
        ),
        (
            "now",
            "2026-11-28T10:06:00Z swept\n",
            "now:1: \"2026-11-28T10:06:00Z swept\" is neither",
        ),
        (
            "now",
            "2026-11-28T10:06:00Z\n2026-11-28T10:06:00Z\n",
            "now:2: this look isn't after",
        ),
        (
            "events.3.jsonl",
            "{}\n",
            "events.3.jsonl: it is for look 3, and `now` has 2",
        ),
        (
            "object.json",
            "{}",
            "object.json: no story has a file of this name",
        ),
        (
            "bucket.1.json",
            "{}",
            "bucket.1.json: no story has a file of this name",
        ),
        (
            "objects.json",
            "{\"cp/x@v9\": {}}",
            "objects.json: version v9 of cp/x is in no bucket.json",
        ),
        (
            "objects.json",
            "{\"cp/x\": {}}",
            "objects.json: \"cp/x\" isn't KEY@VERSIONID",
        ),
        (
            "objects.json",
            "{\"cp/shared/a@v2\": {\"error\": \"Gone\"}}",
            "objects.json: unknown variant `Gone`",
        ),
        (
            "metadata/cp/shared/a@v2",
            "four",
            "metadata/cp/shared/a@v2: it has 4 bytes, but bucket.json says 9",
        ),
        (
            "metadata/cp/shared/c@v2",
            "four",
            "metadata/cp/shared/c@v2: version v2 of cp/shared/c is in no bucket",
        ),
    ];
    for (number, (file, text, expected)) in cases.iter().enumerate() {
        let folder = smallest(&format!("broken-{number}"));
        fs::create_dir_all(folder.join("metadata/cp/shared")).unwrap();
        fs::write(folder.join(file), text).unwrap();
        let error = refused(&folder);
        assert!(error.starts_with(expected), "{file}: {error}");
    }
    for file in [
        "stayput.toml",
        "now",
        "bucket.json",
        "bucket-config.json",
        "events.jsonl",
    ] {
        let folder = smallest("missing");
        fs::remove_file(folder.join(file)).unwrap();
        let error = refused(&folder);
        assert!(error.starts_with(&format!("{file}: it can't be read")), "{error}");
    }
    let nowhere = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nowhere");
    assert!(refused(&nowhere).contains("nowhere: it can't be read"));
}

#[test]
fn a_listing_that_was_cut_off_is_no_bucket() {
    let folder = smallest("cut");
    fs::write(
        folder.join("bucket.json"),
        r#"{"Versions": [], "IsTruncated": true}"#,
    )
    .unwrap();
    let error = refused(&folder);
    assert!(
        error.starts_with("bucket.json: the listing was cut off"),
        "{error}"
    );
}

#[test]
fn text_that_is_no_utf8_is_named_with_its_line() {
    let folder = smallest("latin");
    fs::write(folder.join("events.jsonl"), b"{}\n\xe9\n").unwrap();
    let error = refused(&folder);
    assert_eq!(error, "events.jsonl:2: it is no UTF-8 from byte 3 on");
}
