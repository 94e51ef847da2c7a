//! `stayput pause`, `resume`, `pin`, `unpin`, `release` and `switches`: what persons tell every Stayput under one control prefix.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Serialize;
use stayput_aws::clock::SystemClock;
use stayput_aws::connection::Connection;
use stayput_aws::journal::S3Journal;
use stayput_aws::s3::S3;
use stayput_core::location::ObjectLocation;
use stayput_guard::memory::{Memory, Switch, Switches};
use stayput_guard::port::{Clock, Journal, PortError, PortErrorKind, Reading};
use stayput_guard::settings::{Settings, SettingsError};

use crate::doctor::place;
use crate::exit::Exit;
use crate::terminal::{Shown, ShownJson};

const HELP: &str = "Exit status: 0 done, and the switches are printed as they are now, 1 there was nothing to take back, 2 usage (nothing was done), 3 a \
                    call failed.

The Lambda, serve and the command obey at their next call: they read the switches under the control prefix each time. Writing them takes \
                    s3:PutObject there, reading s3:GetObject and s3:ListBucket; nothing is deleted. Credentials, region and endpoint come from the environment \
                    as for the AWS command line.";

/// Where the switches are.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub struct Arguments {
    /// The settings whose control prefix counts: the same document as the Lambda's, TOML or JSON
    #[arg(long, value_name = "FILE", default_value = "stayput.toml")]
    config: PathBuf,
    /// The control prefix itself, instead of settings: s3://bucket/prefix
    #[arg(long, value_name = "URI", value_parser = place, conflicts_with = "config")]
    control: Option<ObjectLocation>,
    /// The form of the answer
    #[arg(long, value_enum, default_value_t)]
    output: Output,
}

/// Where the switches are, and what is meant.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub struct PlaceArguments {
    /// A directory, with everything in it, or one object: s3://bucket/checkpoints/JOB/chk-42
    #[arg(value_name = "URI", value_parser = named)]
    place: ObjectLocation,
    #[command(flatten)]
    at: Arguments,
}

/// What `release` is given.
#[derive(Args, Debug)]
pub struct ReleaseArguments {
    #[command(flatten)]
    place: PlaceArguments,
    /// Deletions there aren't intended any more
    #[arg(long)]
    undo: bool,
}

/// The form of the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people
    #[default]
    Text,
    /// One document
    Json,
}

/// What is to be switched.
#[derive(Debug)]
pub enum Act<'a> {
    /// Nothing is restored any more.
    Pause(&'a Arguments),
    /// Restoring goes on.
    Resume(&'a Arguments),
    /// Snapshots there count as running.
    Pin(&'a PlaceArguments),
    /// They don't any more.
    Unpin(&'a PlaceArguments),
    /// Deletions there are intended, or not any more.
    Release(&'a ReleaseArguments),
    /// Nothing: the switches are shown.
    Show(&'a Arguments),
}

/// Why nothing was switched.
#[derive(Debug, thiserror::Error)]
pub enum SwitchError {
    /// The settings can't be read.
    #[error("{name}: {source}. Name the settings with --config, or the control prefix with --control")]
    File {
        /// The file.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// The settings make no sense.
    #[error("{name}: {source}")]
    Settings {
        /// The file.
        name: String,
        /// What is wrong, with the field.
        source: SettingsError,
    },
    /// Nothing can be remembered.
    #[error(
        "{0} names no control prefix, so nothing can be switched: add control = \"s3://bucket/prefix/\", to the Lambda's settings too"
    )]
    NoControl(String),
    /// A call failed.
    #[error("{0}")]
    Call(#[from] PortError),
}

impl SwitchError {
    /// How the command ends.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Call(error) => Exit::of_failed_call(error),
            _ => Exit::Usage,
        }
    }
}

/// A directory is written without the slash at its end, so that both ways of writing are one switch.
fn named(text: &str) -> Result<ObjectLocation, String> {
    let at = place(text)?;
    match at.key().trim_end_matches('/') {
        "" => Err("that is a whole bucket: name the directory of a job or a snapshot".to_owned()),
        key => Ok(ObjectLocation::new(at.bucket(), key)),
    }
}

impl Act<'_> {
    fn arguments(&self) -> &Arguments {
        match self {
            Self::Pause(at) | Self::Resume(at) | Self::Show(at) => at,
            Self::Pin(p) | Self::Unpin(p) => &p.at,
            Self::Release(r) => &r.place.at,
        }
    }

    fn control(&self) -> Result<ObjectLocation, SwitchError> {
        let at = self.arguments();
        if let Some(control) = &at.control {
            return Ok(control.clone());
        }
        let name = at.config.display().to_string();
        let bytes = std::fs::read(&at.config).map_err(|source| SwitchError::File {
            name: name.clone(),
            source,
        })?;
        let settings =
            Settings::parse(&String::from_utf8_lossy(&bytes)).map_err(|source| SwitchError::Settings {
                name: name.clone(),
                source,
            })?;
        settings.mandate.control.ok_or(SwitchError::NoControl(name))
    }
}

/// Switches, and prints the switches as they are then.
///
/// # Errors
/// The output can't be written; inside, why nothing was switched.
pub async fn run(
    act: &Act<'_>,
    connection: &Connection,
    out: &mut dyn Write,
) -> io::Result<Result<Exit, SwitchError>> {
    let control = match act.control() {
        Ok(control) => control,
        Err(error) => return Ok(Err(error)),
    };
    let memory = Memory::new(Some(S3Journal::new(connection, control.clone())));
    let done = async {
        let done = carry_out(act, &memory, &S3::new(connection)).await?;
        Ok::<_, PortError>((done, memory.switches().await?))
    };
    match done.await {
        Ok((done, switches)) => {
            write(&done, &control, &switches, act.arguments().output, out)?;
            Ok(Ok(done.exit))
        }
        Err(error) => Ok(Err(error.into())),
    }
}

/// What a person is told besides the switches.
struct Done {
    exit: Exit,
    said: Option<String>,
}

async fn carry_out<J: Journal, R: Reading>(
    act: &Act<'_>,
    memory: &Memory<J>,
    reading: &R,
) -> Result<Done, PortError> {
    let now = SystemClock.now();
    let before = memory.switches().await?;
    let fine = |said: Option<String>| Done {
        exit: Exit::Fine,
        said,
    };
    let nothing_to_take_back = |what: String| Done {
        exit: Exit::Findings,
        said: Some(what),
    };
    Ok(match act {
        Act::Show(_) => fine(None),
        Act::Pause(_) => {
            memory.pause(now).await?;
            fine(None)
        }
        Act::Resume(_) if !before.paused => nothing_to_take_back("it wasn't paused".to_owned()),
        Act::Resume(_) => {
            memory.resume(now).await?;
            fine(Some(
                "the next sweep takes up what was left meanwhile: stayput sweep --apply does it now"
                    .to_owned(),
            ))
        }
        Act::Pin(p) => {
            memory.switch_on(Switch::Pin, &p.place.to_string()).await?;
            fine(Some(what_is_pinned(&p.place, reading).await))
        }
        Act::Unpin(p) => {
            if !before.pinned.contains(&p.place) {
                return Ok(nothing_to_take_back(format!("{} wasn't pinned", p.place)));
            }
            memory.switch_off(Switch::Pin, &p.place.to_string()).await?;
            fine(None)
        }
        Act::Release(r) if r.undo => {
            let at = &r.place.place;
            if !before.released.contains(at) {
                return Ok(nothing_to_take_back(format!("{at} wasn't released")));
            }
            memory.switch_off(Switch::Release, &at.to_string()).await?;
            fine(None)
        }
        Act::Release(r) => {
            let at = &r.place.place;
            memory.switch_on(Switch::Release, &at.to_string()).await?;
            fine(Some(format!(
                "whatever is deleted below {at} from now on stays deleted, and nobody is told: take it back with --undo when you are done"
            )))
        }
    })
}

/// Says what a pin means, so that a slip of the pen shows.
async fn what_is_pinned<R: Reading>(place: &ObjectLocation, reading: &R) -> String {
    let metadata = if place.file_name() == "_metadata" {
        place.clone()
    } else {
        ObjectLocation::new(place.bucket(), format!("{}/_metadata", place.key()))
    };
    match reading.head(&metadata, None).await {
        Ok(_) => format!("{metadata} is there, and counts as running, however old it gets"),
        Err(e) if e.kind == PortErrorKind::NotFound => format!(
            "there is no {metadata}: every snapshot in a directory below {place} counts as running, if there is any"
        ),
        // The pin is written: that its target can't be looked at takes nothing of it back.
        Err(e) => format!("pinned, but whether {metadata} is there isn't known: {e}"),
    }
}

#[derive(Serialize)]
struct Document<'a> {
    control: String,
    paused: bool,
    pinned: Vec<String>,
    released: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
}

fn write(
    done: &Done,
    control: &ObjectLocation,
    switches: &Switches,
    output: Output,
    out: &mut dyn Write,
) -> io::Result<()> {
    let urls = |all: &[ObjectLocation]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
    let document = Document {
        control: control.to_string(),
        paused: switches.paused,
        pinned: urls(&switches.pinned),
        released: urls(&switches.released),
        note: done.said.as_deref(),
    };
    if output == Output::Json {
        let text = serde_json::to_string_pretty(&document).map_err(io::Error::other)?;
        return writeln!(out, "{}", ShownJson(&text));
    }
    if let Some(said) = document.note {
        writeln!(out, "{}\n", Shown(said))?;
    }
    let paused = if document.paused {
        "paused: nothing is restored, people are told of what is needed. stayput resume ends it"
    } else {
        "not paused"
    };
    writeln!(out, "Switches under {}:\n  {paused}", Shown(&document.control))?;
    for (word, all) in [("pinned", &document.pinned), ("released", &document.released)] {
        if all.is_empty() {
            writeln!(out, "  nothing {word}")?;
        }
        for uri in all {
            writeln!(out, "  {word}: {}", Shown(uri))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use s3_model::{Fault, Model};
    use stayput_core::timestamp::Timestamp;

    use super::*;

    #[test]
    fn a_pin_whose_target_may_not_be_looked_at_is_a_pin_with_a_note() {
        let model = Model::new(Timestamp::from_millis(1_796_000_000_000));
        model.create_bucket("state", s3_documents::bucket::Versioning::Enabled);
        model.plan(Fault::answers(PortErrorKind::Denied).on("HeadObject"));
        let job = place("s3://state/flink/0123456789abcdef0123456789abcdef").unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let said = runtime.block_on(what_is_pinned(&job, &model));
        assert!(
            said.starts_with("pinned, but whether s3://state/flink/"),
            "{said}"
        );
        let said = runtime.block_on(what_is_pinned(&job, &model));
        assert!(said.contains("every snapshot in a directory below"), "{said}");
    }
}
