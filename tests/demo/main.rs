//! The main job, shown: a real checkpoint in a local S3, a careless deletion, the Lambda at work.
//!
//! `cargo xtask demo` builds everything, starts the server and runs this.

mod screen;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use flink_checkpoint::{Limits, Target, references};
use screen::Screen;
use serde_json::Value;
use stayput_tests::deployment::Deployment;
use stayput_tests::tree::Tree;

/// The job that was cancelled, and the one that took over its newest checkpoint.
const OLD_JOB: &str = "dcece6f052f11be38b0597169690f7b8";
const NEW_JOB: &str = "3f78e2cd88580e0e298862c640aa6b1e";
const SETTLE: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    let variable =
        |name: &str| std::env::var(name).map_err(|_| format!("{name} isn't set: run `cargo xtask demo`"));
    let told = (|| {
        let url = variable("STAYPUT_MINISTACK")?;
        let bootstrap = PathBuf::from(variable("STAYPUT_BOOTSTRAP")?);
        let command = PathBuf::from(variable("STAYPUT_COMMAND")?);
        tell(&url, &bootstrap, &command)
    })();
    match told {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("demo: {message}");
            ExitCode::FAILURE
        }
    }
}

fn settings(bucket: &str) -> String {
    format!(
        "mode = \"restore\"\ncontrol = \"s3://{bucket}/stayput/\"\nsettle = \"{}s\"\n\
         [[roots]]\nuri = \"s3://{bucket}/flink/\"\nkind = \"checkpoints\"\n\
         [flink]\nprincipals = [\"AROAFLINK\"]\n",
        SETTLE.as_secs()
    )
}

fn tell(url: &str, bootstrap: &Path, command: &Path) -> Result<(), String> {
    let began = Instant::now();
    let mut screen = Screen::new();
    screen.say("");
    screen.say(&screen.strong("Stayput: a checkpoint loses files, and gets them back"));

    screen.chapter("A real checkpoint in a local S3");
    let deployment = Deployment::new(url, bootstrap, "demo", Duration::from_secs(1), settings);
    let mut files = Tree::load("2.3.0-cross-job").rebased(&format!("s3://{}/flink", deployment.bucket));
    // As it is once the new job has subsumed what it claimed: of the old job, only `shared/` is left.
    files.retain(|key, _| !key.starts_with(&format!("{OLD_JOB}/chk-")));
    deployment.upload("flink/", &files);
    let newest = format!("flink/{NEW_JOB}/chk-5/_metadata");
    let metadata = deployment
        .get(&newest)
        .ok_or("the newest checkpoint isn't there")?;
    let needed = keys_named(&metadata, &deployment.bucket, &newest)?;
    let elsewhere = needed.iter().filter(|key| key.contains(OLD_JOB)).count();
    screen.tell(&format!(
        "{} objects that Flink 2.3.0 wrote, in s3://{}/flink/ (versioned)",
        files.len(),
        deployment.bucket
    ));
    screen.tell("");
    screen.tell(&format!(
        "{NEW_JOB}/  the job that runs; its newest checkpoint is chk-5"
    ));
    screen.tell(&format!(
        "{OLD_JOB}/  the job before it, cancelled long ago; only shared/ is left"
    ));
    screen.tell("");
    inspect(&screen, command, &metadata, &deployment, &newest)?;
    health(&screen, &deployment, &needed);

    screen.chapter("A careless deletion");
    let taken = deployment
        .cloud
        .list(&deployment.bucket, &format!("flink/{OLD_JOB}/shared/"));
    screen.tell(
        "“That job doesn't run any more, and its files are old.” Somebody empties the old job's directory:",
    );
    screen.tell("");
    screen.tell(&format!(
        "delete s3://{}/flink/{OLD_JOB}/shared/   {} objects",
        deployment.bucket,
        taken.len()
    ));
    for key in &taken {
        deployment.delete_as("AWS:AROASOMEBODY:console", key);
    }
    screen.tell("");
    health(&screen, &deployment, &needed);
    screen.tell(&format!(
        "chk-5 of the running job still names {elsewhere} of them. At its next failure Flink would not find them, and the job"
    ));
    screen.tell("could not start: java.io.FileNotFoundException.");

    screen.chapter("Stayput at work");
    screen.tell("S3 tells a queue of each deletion, and the queue calls the Lambda: the same binary that runs on AWS.");
    screen.tell(&format!(
        "It waits until nothing more is being deleted ({} seconds here, 5 minutes by default), looks at what",
        SETTLE.as_secs()
    ));
    screen.tell("every checkpoint names, and copies back what the newest one still needs.");
    screen.tell("");
    let deleted = Instant::now();
    for key in needed.intersection(&taken.iter().cloned().collect()) {
        deployment.wait_for(key, Duration::from_secs(90));
    }
    let back = deleted.elapsed();
    deployment.wait_until_idle(Duration::from_secs(60));
    verdicts(&screen, &deployment, &taken)?;

    screen.chapter("Healthy");
    let missing = health(&screen, &deployment, &needed);
    if missing > 0 {
        return Err(format!("{missing} objects that chk-5 names are missing"));
    }
    for key in &needed {
        let original = key.strip_prefix("flink/").and_then(|key| files.get(key));
        if deployment.get(key).as_ref() != original {
            return Err(format!("{key} came back with other bytes"));
        }
    }
    screen.tell(&format!(
        "Each of them is, byte for byte, what Flink wrote. Back {:.1} seconds after the deletion.",
        back.as_secs_f64()
    ));
    let stayed_away = taken.iter().filter(|key| deployment.get(key).is_none()).count();
    screen.tell(&format!(
        "{stayed_away} of {} deleted objects stayed away, as no newest checkpoint names them.",
        taken.len()
    ));
    screen.say("");
    screen.say(&screen.quiet(&format!(
        "The demo took {:.0} seconds; its server is being stopped.",
        began.elapsed().as_secs_f64()
    )));
    Ok(())
}

/// Keys of all objects that a `_metadata` names.
fn keys_named(metadata: &[u8], bucket: &str, at: &str) -> Result<BTreeSet<String>, String> {
    let directory = at.trim_end_matches("_metadata");
    let here = format!("s3://{bucket}/");
    let mut keys = BTreeSet::new();
    references(metadata, &Limits::default(), &mut |reference| {
        let path = reference.target.path().to_string();
        match reference.target {
            Target::Exclusive(_) => keys.insert(format!("{directory}{path}")),
            Target::Absolute(_) => keys.insert(path.strip_prefix(&here).unwrap_or(&path).to_owned()),
            Target::Directory(_) => false,
        };
        ControlFlow::Continue(())
    })
    .map_err(|e| format!("{at}: {e}"))?;
    Ok(keys)
}

/// What the command says of the checkpoint.
fn inspect(
    screen: &Screen,
    command: &Path,
    metadata: &[u8],
    deployment: &Deployment,
    key: &str,
) -> Result<(), String> {
    let folder = std::env::temp_dir().join(&deployment.bucket);
    let file = folder.join("_metadata");
    let write = || std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&file, metadata));
    write().map_err(|e| format!("{}: {e}", file.display()))?;
    let ran = Command::new(command)
        .args(["inspect", "--at"])
        .arg(format!(
            "s3://{}/{}",
            deployment.bucket,
            key.trim_end_matches("/_metadata")
        ))
        .arg(&file)
        .output();
    let _ = std::fs::remove_dir_all(&folder);
    let ran = ran.map_err(|e| format!("{}: {e}", command.display()))?;
    if !ran.status.success() {
        return Err(format!(
            "stayput inspect: {}",
            String::from_utf8_lossy(&ran.stderr)
        ));
    }
    screen.tell(&screen.quiet("$ stayput inspect _metadata"));
    for line in String::from_utf8_lossy(&ran.stdout).lines().skip(1) {
        screen.tell(&screen.quiet(line));
    }
    screen.tell("");
    Ok(())
}

/// Compares what the checkpoint names with the listing. Returns how many are missing.
fn health(screen: &Screen, deployment: &Deployment, needed: &BTreeSet<String>) -> usize {
    let visible: BTreeSet<String> = deployment
        .cloud
        .list(&deployment.bucket, "flink/")
        .into_iter()
        .collect();
    let missing = needed.difference(&visible).count();
    let sentence = format!(
        "chk-5 names {} objects, {} of them are there",
        needed.len(),
        needed.len() - missing
    );
    let word = if missing == 0 {
        screen.good("healthy")
    } else {
        screen.bad("broken ")
    };
    screen.tell(&format!("{word}  {sentence}"));
    missing
}

/// One verdict for each deleted file: the last one that the function logged.
fn verdicts(screen: &Screen, deployment: &Deployment, taken: &[String]) -> Result<(), String> {
    let mut last: BTreeMap<String, Value> = BTreeMap::new();
    for line in deployment.log() {
        if let Some(verdict) = verdict(&line)
            && let Some(key) = verdict["object"]
                .as_str()
                .and_then(|url| url.strip_prefix(&format!("s3://{}/", deployment.bucket)))
        {
            last.insert(key.to_owned(), verdict.clone());
        }
    }
    let mut lines = Vec::with_capacity(taken.len());
    for key in taken {
        let verdict = last
            .get(key)
            .ok_or_else(|| format!("the function's log has no verdict on {key}"))?;
        let restored = verdict["outcome"] == "restore";
        let name = key.rsplit('/').next().unwrap_or(key);
        let word = if restored {
            screen.good("restored")
        } else {
            screen.quiet("left    ")
        };
        lines.push((!restored, format!("{word}  {name}  {}", why(verdict))));
    }
    // Those that came back first.
    lines.sort_by_key(|(left, _)| *left);
    for (_, line) in &lines {
        screen.tell(line);
    }
    screen.tell("");
    let restored = last
        .iter()
        .find(|(key, v)| taken.contains(key) && v["outcome"] == "restore");
    if let Some((_, verdict)) = restored
        && let Some(sentence) = verdict["sentence"].as_str()
    {
        screen.tell("In its own words, of one of them:");
        for line in wrapped(sentence, 100) {
            screen.tell(&format!("  {line}"));
        }
    }
    Ok(())
}

/// The verdict in a log line, wherever the log's form puts it.
fn verdict(line: &Value) -> Option<&Value> {
    match line {
        Value::Object(fields) if fields.contains_key("object") && fields.contains_key("outcome") => {
            Some(line)
        }
        Value::Object(fields) => fields.values().find_map(verdict),
        _ => None,
    }
}

/// A few words on why.
fn why(verdict: &Value) -> String {
    let snapshot = verdict["snapshot"]
        .as_str()
        .and_then(|url| url.trim_end_matches("/_metadata").rsplit('/').next());
    match (verdict["outcome"].as_str(), verdict["reason"].as_str(), snapshot) {
        (Some("restore"), _, Some(snapshot)) => {
            format!("{snapshot} needs it, the newest checkpoint of the running job")
        }
        (_, Some("spare"), _) => "only an older checkpoint names it".to_owned(),
        (_, Some("not referenced"), _) => "no checkpoint names it".to_owned(),
        (_, reason, _) => reason.unwrap_or_default().to_owned(),
    }
}

/// Breaks at spaces. Words that are longer than a line stay whole.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines
            .last_mut()
            .filter(|line| line.is_empty() || line.chars().count() + word.chars().count() < width);
        match line {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(word.to_owned()),
        }
    }
    lines
}
