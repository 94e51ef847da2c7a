//! `stayput guard --events FILE` judges deletions as the Lambda does, from messages that somebody kept; `stayput sweep` looks at
//! everything that snapshots need.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use s3_documents::DocumentError;
use s3_documents::notification::parse_body;
use stayput_guard::batch::Message;
use stayput_guard::guard::{Guard, Hand};
use stayput_guard::port::{Clock, Journal, Reading, Restoring};
use stayput_guard::settings::Settings;

use crate::exit::Exit;
use crate::terminal::{Shown, complain};
use print::Told;

mod aws;
mod onlooker;
mod print;

pub use aws::on_aws;
pub use onlooker::Onlooker;

const HELP: &str = "Exit status: 0 nothing is missing (any more), 1 findings, or something is needed and wasn't put back, 2 usage (nothing was \
                    done), 3 can't tell (a message or a checkpoint can't be read, a verdict waits, or a call failed).

Credentials, region and endpoint come from the environment as for the AWS command line; STAYPUT_S3_PATH_STYLE=true for servers that need it.";

/// What `guard` is given.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub struct Arguments {
    /// Messages, one body of an SQS message in each line; - for standard input
    #[arg(long, value_name = "FILE")]
    events: PathBuf,
    #[command(flatten)]
    how: How,
}

/// What `sweep` is given.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub struct SweepArguments {
    #[command(flatten)]
    how: How,
}

/// What both are given.
#[derive(Args, Debug)]
struct How {
    /// The settings: the same document as the Lambda's, TOML or JSON
    #[arg(long, value_name = "FILE", default_value = "stayput.toml")]
    config: PathBuf,
    /// Put back what is needed. Without it nothing is changed anywhere, whatever the mode in the settings
    #[arg(long)]
    apply: bool,
    /// The form of the answer
    #[arg(long, value_enum, default_value_t)]
    output: Output,
}

/// The form of the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people
    #[default]
    Text,
    /// One JSON object in each line: verdicts, findings, messages that can't be read, and the summary last
    Ndjson,
}

/// How far the guard goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// It says what it would do, and writes nothing at all.
    Observe,
    /// It puts back what is needed.
    Apply,
}

/// The world that the guard looks at and acts on.
#[derive(Clone, Debug)]
pub struct Ports<R, J, C, M> {
    /// Looking.
    pub reading: R,
    /// Its memory under the control prefix, if the settings name one.
    pub journal: Option<J>,
    /// The time.
    pub clock: C,
    /// Putting back; not used when observing.
    pub copies: M,
}

/// Messages that were read from a file.
#[derive(Debug, Default)]
pub struct Events {
    messages: Vec<Message>,
    unreadable: Vec<Unreadable>,
}

/// A line that is no message.
#[derive(Debug)]
struct Unreadable {
    line: usize,
    error: DocumentError,
}

impl Events {
    /// Reads messages, one in each line. Lines that are none are kept with the reason; empty ones mean nothing.
    pub fn read(text: &[u8]) -> Self {
        let mut events = Self::default();
        for (number, line) in text.split(|&byte| byte == b'\n').enumerate() {
            if line.trim_ascii().is_empty() {
                continue;
            }
            let line_number = number + 1;
            match parse_body(line) {
                Ok(records) => events.messages.push(Message {
                    id: format!("line {line_number}"),
                    records,
                }),
                Err(error) => events.unreadable.push(Unreadable {
                    line: line_number,
                    error,
                }),
            }
        }
        events
    }
}

/// What is to be done.
#[derive(Debug)]
pub enum Task {
    /// Judge what these messages tell of.
    Events(Events),
    /// Look at everything that snapshots need.
    Sweep,
}

/// What was read for a call: settings, what to do, and how to answer.
#[derive(Debug)]
pub struct Prepared {
    /// The settings.
    pub settings: Settings,
    /// What to do.
    pub task: Task,
    /// How far to go.
    pub reach: Reach,
    /// The form of the answer.
    pub output: Output,
}

/// Why a call can't even begin.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// A file can't be read.
    #[error("{name}: {source}{}", if *.config { ". Name the settings with --config" } else { "" })]
    File {
        /// What was given.
        name: String,
        /// Why.
        source: io::Error,
        /// Whether it is the settings.
        config: bool,
    },
    /// The settings make no sense.
    #[error("{name}: {source}")]
    Settings {
        /// The file.
        name: String,
        /// What is wrong, with the field.
        source: stayput_guard::settings::SettingsError,
    },
}

/// Reads settings and messages.
///
/// # Errors
/// A file can't be read, or the settings make no sense. Nothing was done.
pub fn prepare(arguments: &Arguments) -> Result<Prepared, PrepareError> {
    let prepared = read_settings(&arguments.how)?;
    let path = &arguments.events;
    let read = if path.as_os_str() == "-" {
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut io::stdin().lock(), &mut bytes).map(|_| bytes)
    } else {
        std::fs::read(path)
    };
    let text = read.map_err(|source| cant_read(path, source, false))?;
    Ok(Prepared {
        task: Task::Events(Events::read(&text)),
        ..prepared
    })
}

/// Reads settings.
///
/// # Errors
/// The file can't be read, or the settings make no sense. Nothing was done.
pub fn prepare_sweep(arguments: &SweepArguments) -> Result<Prepared, PrepareError> {
    read_settings(&arguments.how)
}

fn read_settings(how: &How) -> Result<Prepared, PrepareError> {
    let bytes = std::fs::read(&how.config).map_err(|source| cant_read(&how.config, source, true))?;
    let name = how.config.display().to_string();
    let settings = Settings::parse(&String::from_utf8_lossy(&bytes))
        .map_err(|source| PrepareError::Settings { name, source })?;
    Ok(Prepared {
        settings,
        task: Task::Sweep,
        reach: if how.apply { Reach::Apply } else { Reach::Observe },
        output: how.output,
    })
}

fn cant_read(path: &Path, source: io::Error, config: bool) -> PrepareError {
    PrepareError::File {
        name: path.display().to_string(),
        source,
        config,
    }
}

/// Judges, acts if it may, and prints. Findings count as told once they are printed, but only if the guard may write.
///
/// # Errors
/// The output can't be written.
pub async fn run<R, J, C, M>(
    prepared: &Prepared,
    ports: Ports<R, J, C, M>,
    out: &mut dyn Write,
) -> io::Result<Exit>
where
    R: Reading + Sync,
    J: Journal + Sync,
    C: Clock,
    M: Restoring + Sync,
{
    let Ports {
        reading,
        journal,
        clock,
        copies,
    } = ports;
    let mandate = prepared.settings.mandate.clone();
    match prepared.reach {
        Reach::Observe => {
            let journal = journal.map(Onlooker);
            let mut guard = Guard::observing(reading, journal, clock, mandate);
            carry_out(&mut guard, prepared, out).await
        }
        Reach::Apply => {
            // Budgets of all processes add up, so each has its own name.
            let name = format!("command-{}", clock.now().millis());
            let mut guard = Guard::acting(reading, journal, clock, copies, mandate).of_instance(&name);
            carry_out(&mut guard, prepared, out).await
        }
    }
}

async fn carry_out<R, J, C, H>(
    guard: &mut Guard<R, J, C, H>,
    prepared: &Prepared,
    out: &mut dyn Write,
) -> io::Result<Exit>
where
    R: Reading + Sync,
    J: Journal + Sync,
    C: Clock,
    H: Hand + Sync,
{
    let told = match &prepared.task {
        Task::Events(events) => Told::OfEvents(events, Box::new(guard.handle(&events.messages).await)),
        Task::Sweep => Told::OfSweep(Box::new(guard.sweep().await)),
    };
    let exit = print::write(&told, prepared.output, out)?;
    out.flush()?;
    match guard.findings_sent(&told.judged().findings).await {
        Ok(()) => Ok(exit),
        Err(error) => {
            complain(format_args!(
                "stayput: the findings were printed, but that couldn't be written down: {}",
                Shown(&error.to_string())
            ));
            Ok(exit.and(Exit::CantTell))
        }
    }
}
