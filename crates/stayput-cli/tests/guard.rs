//! `stayput guard`: the acceptance stories, told to the command's guard on a model of S3, and calls of the real command that can't work.

mod command;
mod stories;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use command::stayput;
use s3_model::{Model, ModelJournal};
use serde_json::Value;
use stayput_cli::exit::Exit;
use stayput_cli::guard_command::{self, Events, Output, Ports, Prepared, Reach, Task};
use stayput_cli::replay::{EarlierSwitches, Story};
use stayput_guard::settings::Settings;

/// Stories whose verdict needs what the guard can't do yet.
const NOT_YET: [&str; 0] = [];

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/corpus/stories")
        .join(name)
}

/// What one call of the command prints on a story, and what it leaves behind.
struct Told {
    model: Model,
    out: String,
    exit: Exit,
}

/// Sets the model up as the story's only look finds it, and calls.
fn tell(story: &Story, reach: Reach, output: Output) -> Told {
    let look = &story.looks()[0];
    let model = Model::new(look.at);
    story.apply(look, &model).unwrap();
    let told = call(story, &model, reach, output);
    Told { model, ..told }
}

fn call(story: &Story, model: &Model, reach: Reach, output: Output) -> Told {
    let settings = Settings::parse(&story.settings).unwrap();
    let journal: Option<ModelJournal> = settings.mandate.control.as_ref().map(|control| {
        let bucket = model.bucket(control.bucket());
        let never = s3_documents::bucket::Versioning::Never;
        let bucket = bucket.unwrap_or_else(|| model.create_bucket(control.bucket(), never));
        model.journal(&bucket, control.key())
    });
    let bodies: Vec<&str> = story.looks()[0]
        .messages
        .iter()
        .map(|message| message.body.as_str())
        .collect();
    let prepared = Prepared {
        settings,
        task: Task::Events(Events::read(bodies.join("\n").as_bytes())),
        reach,
        output,
    };
    let ports = Ports {
        reading: model.clone(),
        journal,
        clock: model.clone(),
        copies: model.clone(),
    };
    let mut out = Vec::new();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let exit = runtime
        .block_on(guard_command::run(&prepared, ports, &mut out))
        .unwrap();
    Told {
        model: model.clone(),
        out: String::from_utf8(out).unwrap(),
        exit,
    }
}

/// Stories that one call can tell: one look, nothing switched before.
fn told_in_one_call() -> Vec<Story> {
    let stories = stories::all();
    let stories = stories.iter().map(|path| stories::load(path));
    stories
        .filter(|story| story.looks().len() == 1 && !story.looks()[0].sweep)
        .filter(|story| {
            story.switches == EarlierSwitches::default() && !NOT_YET.contains(&story.name.as_str())
        })
        .collect()
}

/// Outcomes by key: those that the story allows.
fn expected(story: &Story) -> BTreeMap<String, Vec<String>> {
    let folder = stories::all()
        .into_iter()
        .find(|path| path.ends_with(&story.name));
    let text = fs::read_to_string(folder.unwrap().join("expected.tsv")).unwrap();
    let rows = text.lines().skip(1).map(|line| {
        let cells: Vec<&str> = line.split('\t').collect();
        let key = cells[1].to_owned();
        (key, cells[2].split('|').map(str::to_owned).collect())
    });
    rows.collect()
}

fn lines(text: &str, kind: &str) -> Vec<Value> {
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter_map(|line| line.get(kind).cloned()).collect()
}

#[test]
fn an_observing_call_says_what_every_story_expects_and_changes_nothing() {
    let stories = told_in_one_call();
    assert!(stories.len() >= 60, "only {} stories", stories.len());
    let (mut verdicts, mut by_exit) = (0, BTreeMap::new());
    for story in stories {
        let told = tell(&story, Reach::Observe, Output::Ndjson);
        let expected = expected(&story);
        let bucket = &story.bucket.bucket;
        let mut worst = Exit::Fine;
        let said = lines(&told.out, "verdict");
        // Directory markers get no verdict: they mean nothing.
        let marker = |key: &&String| key.ends_with('/');
        assert_eq!(
            said.len(),
            expected.keys().filter(|key| !marker(key)).count(),
            "{}: {}",
            story.name,
            told.out
        );
        for verdict in said {
            let key = verdict["object"]
                .as_str()
                .unwrap()
                .strip_prefix(&format!("s3://{bucket}/"))
                .unwrap();
            let outcome = verdict["outcome"].as_str().unwrap();
            assert!(
                expected[key].iter().any(|one| one == outcome),
                "{} {key}: {outcome}",
                story.name
            );
            assert!(!verdict["sentence"].as_str().unwrap().is_empty());
            worst = worst.and(match outcome {
                "leave" => Exit::Fine,
                "later" => Exit::CantTell,
                _ => Exit::Findings,
            });
            verdicts += 1;
        }
        assert!(
            told.exit >= worst,
            "{}: {:?} but {worst:?}",
            story.name,
            told.exit
        );
        assert_eq!(lines(&told.out, "summary").len(), 1);
        let writes = told.model.calls().into_iter().filter(|call| {
            [
                "CopyObject",
                "PutObject",
                "DeleteObject",
                "DeleteObjects",
                "RestoreObject",
            ]
            .contains(&call.operation)
        });
        assert_eq!(writes.count(), 0, "{}", story.name);
        *by_exit.entry(format!("{:?}", told.exit)).or_insert(0) += 1;
    }
    assert!(verdicts >= 150, "only {verdicts} verdicts");
    for exit in ["Fine", "Findings", "CantTell"] {
        assert!(by_exit[exit] >= 5, "{by_exit:?}");
    }
}

#[test]
fn apply_puts_back_what_is_needed_and_a_second_call_finds_nothing_missing() {
    let story = stories::load(&folder("lifecycle-running"));
    let told = tell(&story, Reach::Apply, Output::Ndjson);
    let verdicts = lines(&told.out, "verdict");
    let copied: Vec<&Value> = verdicts
        .iter()
        .filter(|verdict| verdict["done"] == "copied")
        .collect();
    assert!(!copied.is_empty(), "{}", told.out);
    let bucket = told.model.bucket(&story.bucket.bucket).unwrap();
    let visible = bucket.visible_keys();
    let before = format!("s3://{}/", story.bucket.bucket);
    for verdict in &copied {
        let key = verdict["object"].as_str().unwrap().strip_prefix(&before).unwrap();
        assert!(visible.iter().any(|one| one == key), "{key}");
    }
    // A person reads the same.
    let read = tell(&story, Reach::Apply, Output::Text);
    assert!(
        read.out.contains(&format!("{} put back", copied.len())),
        "{}",
        read.out
    );
    let again = call(&story, &told.model, Reach::Apply, Output::Ndjson);
    assert!(
        lines(&again.out, "verdict")
            .iter()
            .all(|verdict| verdict["outcome"] == "leave"),
        "{}",
        again.out
    );
    assert_eq!(again.exit, Exit::Fine, "{}", again.out);
}

#[test]
fn without_apply_the_mode_in_the_settings_copies_nothing() {
    let story = stories::load(&folder("lifecycle-running"));
    assert!(story.settings.contains("restore"));
    let told = tell(&story, Reach::Observe, Output::Text);
    assert_eq!(told.exit, Exit::Findings);
    assert_eq!(told.model.requests("CopyObject"), 0);
    insta::assert_snapshot!(told.out);
}

#[test]
fn a_line_that_is_no_message_hides_no_other() {
    let story = stories::load(&folder("lifecycle-running"));
    let good: Vec<&str> = story.looks()[0]
        .messages
        .iter()
        .map(|message| message.body.as_str())
        .collect();
    let text = format!("{{\"Records\":7}}\n\n{}\nnot json\u{1b}\n", good.join("\n"));
    let look = &story.looks()[0];
    let model = Model::new(look.at);
    story.apply(look, &model).unwrap();
    let prepared = Prepared {
        settings: Settings::parse(&story.settings).unwrap(),
        task: Task::Events(Events::read(text.as_bytes())),
        reach: Reach::Observe,
        output: Output::Ndjson,
    };
    let ports = Ports {
        reading: model.clone(),
        journal: None::<ModelJournal>,
        clock: model.clone(),
        copies: model,
    };
    let mut out = Vec::new();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let exit = runtime
        .block_on(guard_command::run(&prepared, ports, &mut out))
        .unwrap();
    let out = String::from_utf8(out).unwrap();
    let unreadable: Vec<u64> = lines(&out, "unreadable")
        .iter()
        .map(|line| line["line"].as_u64().unwrap())
        .collect();
    assert_eq!(unreadable, [1, 3 + good.len() as u64]);
    assert!(
        lines(&out, "verdict")
            .iter()
            .any(|verdict| verdict["outcome"] == "restore"),
        "{out}"
    );
    assert_eq!(exit, Exit::CantTell);
}

#[test]
fn settings_and_files_that_make_no_sense_end_with_2() {
    let wrong = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wrong-settings.toml");
    fs::write(
        &wrong,
        "[[roots]]\nuri = \"hdfs://x/y\"\nkind = \"checkpoints\"\n",
    )
    .unwrap();
    let wrong = wrong.to_str().unwrap();
    let calls = [
        (vec!["guard"], "--events"),
        (vec!["guard", "--events", "-"], "stayput.toml"),
        (vec!["guard", "--events", "-", "--config", wrong], "roots.uri"),
        (
            vec![
                "guard",
                "--events",
                "not-there",
                "--config",
                "stories/lifecycle-running/stayput.toml",
            ],
            "not-there",
        ),
    ];
    for (arguments, word) in calls {
        let said = stayput(&arguments);
        assert_eq!(
            (said.out.as_str(), said.status),
            ("", 2),
            "{arguments:?}: {}",
            said.err
        );
        assert!(said.err.contains(word), "{}", said.err);
    }
}
