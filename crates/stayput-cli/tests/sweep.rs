//! `stayput sweep`: what it says and how it ends, on the stories of lost messages.

use std::path::Path;

use s3_model::{Fault, Model, ModelJournal};
use stayput_cli::exit::Exit;
use stayput_cli::guard_command::{self, Output, Ports, Prepared, Reach, Task};
use stayput_cli::replay::Story;
use stayput_guard::port::PortErrorKind;
use stayput_guard::settings::Settings;

mod stories;

fn story(name: &str) -> Story {
    let folder = stories::all().into_iter().find(|path| path.ends_with(name));
    stories::load(&folder.unwrap_or_else(|| Path::new(name).to_owned()))
}

fn sweep(model: &Model, story: &Story, reach: Reach, output: Output) -> (String, Exit) {
    let settings = Settings::parse(&story.settings).unwrap();
    let ports = Ports {
        reading: model.clone(),
        journal: None::<ModelJournal>,
        clock: model.clone(),
        copies: model.clone(),
    };
    let prepared = Prepared {
        settings,
        task: Task::Sweep,
        reach,
        output,
    };
    let mut out = Vec::new();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let exit = runtime
        .block_on(guard_command::run(&prepared, ports, &mut out))
        .unwrap();
    (String::from_utf8(out).unwrap(), exit)
}

fn world(story: &Story) -> Model {
    let look = &story.looks()[0];
    let model = Model::new(look.at);
    story.apply(look, &model).unwrap();
    model.create_bucket("ops", s3_documents::bucket::Versioning::Never);
    model
}

#[test]
fn a_healthy_bucket_ends_with_0_and_one_look_says_so() {
    let story = story("sweep-healthy");
    let (out, exit) = sweep(&world(&story), &story, Reach::Observe, Output::Text);
    assert_eq!(exit, Exit::Fine, "{out}");
    assert!(
        out.contains("needed objects looked at; whole: 1 running, 1 spare"),
        "{out}"
    );
    assert_eq!(out.lines().count(), 2, "{out}");
}

#[test]
fn what_is_missing_is_told_with_1_put_back_with_apply_and_then_all_is_well() {
    let story = story("sweep-lifecycle-without-events");
    let model = world(&story);
    let (out, exit) = sweep(&model, &story, Reach::Observe, Output::Text);
    assert_eq!(exit, Exit::Findings, "{out}");
    assert_eq!(out.matches("restore  s3://flink-lab/").count(), 5, "{out}");
    assert!(out.contains("5 to restore"), "{out}");
    let (out, exit) = sweep(&model, &story, Reach::Apply, Output::Text);
    assert!(out.contains("5 put back"), "{out}");
    // All is back, and the rule that took it is still there.
    assert_eq!(exit, Exit::Findings, "{out}");
    assert!(out.contains("finding  rule_will_hide_needed"), "{out}");
    let (out, _) = sweep(&model, &story, Reach::Observe, Output::Text);
    assert!(
        !out.contains("restore  s3://") && out.contains("whole: 1 running, 1 spare"),
        "{out}"
    );
}

#[test]
fn programs_get_a_line_for_each_thing_and_the_numbers_last() {
    let story = story("sweep-never-uploaded");
    let (out, exit) = sweep(&world(&story), &story, Reach::Observe, Output::Ndjson);
    assert_eq!(exit, Exit::Findings);
    let lines: Vec<serde_json::Value> = out.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let of = |kind: &str| lines.iter().filter(|l| l.get(kind).is_some()).count();
    assert_eq!((of("verdict"), of("sweep"), of("summary")), (16, 1, 1), "{out}");
    assert!(
        lines
            .iter()
            .any(|l| l["finding"]["code"] == "never_there" && l["finding"]["objects"] == 16)
    );
    assert!(lines.last().is_some_and(|l| l.get("summary").is_some()));
}

#[test]
fn what_cannot_be_read_ends_with_3_and_names_it() {
    let story = story("sweep-lifecycle-without-events");
    let model = world(&story);
    model.plan(
        Fault::answers(PortErrorKind::Throttled)
            .on("ListObjectsV2")
            .key("chk-")
            .always(),
    );
    let (out, exit) = sweep(&model, &story, Reach::Observe, Output::Text);
    assert_eq!(exit, Exit::CantTell, "{out}");
    assert!(out.contains("unread   ListObjectsV2 on s3://flink-lab/"), "{out}");
}
