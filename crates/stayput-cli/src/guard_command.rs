//! `stayput guard --events FILE`: judges deletions as the Lambda does, from messages that somebody kept.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use s3_documents::DocumentError;
use s3_documents::notification::parse_body;
use serde::Serialize;
use stayput_core::report::finding::Finding;
use stayput_core::report::verdict::{Done, VerdictDocument};
use stayput_core::verdict::{Basis, Outcome};
use stayput_guard::batch::{Acted, BatchReport, Message, Summary};
use stayput_guard::guard::Guard;
use stayput_guard::port::{Clock, CopyIfAbsent, Journal, Reading};
use stayput_guard::settings::Settings;

use crate::exit::Exit;
use crate::quantity::Count;
use crate::terminal::{Shown, ShownJson};

mod aws;
mod onlooker;

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

/// What was read for a call: settings, messages, and how to answer.
#[derive(Debug)]
pub struct Prepared {
    /// The settings.
    pub settings: Settings,
    /// The messages.
    pub events: Events,
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
    let file = |path: &Path, config: bool| {
        let read = if path.as_os_str() == "-" && !config {
            let mut bytes = Vec::new();
            io::Read::read_to_end(&mut io::stdin().lock(), &mut bytes).map(|_| bytes)
        } else {
            std::fs::read(path)
        };
        read.map_err(|source| PrepareError::File {
            name: path.display().to_string(),
            source,
            config,
        })
    };
    let name = arguments.config.display().to_string();
    let text = String::from_utf8_lossy(&file(&arguments.config, true)?).into_owned();
    let settings = Settings::parse(&text).map_err(|source| PrepareError::Settings { name, source })?;
    Ok(Prepared {
        settings,
        events: Events::read(&file(&arguments.events, false)?),
        reach: if arguments.apply {
            Reach::Apply
        } else {
            Reach::Observe
        },
        output: arguments.output,
    })
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
    M: CopyIfAbsent + Sync,
{
    let Ports {
        reading,
        journal,
        clock,
        copies,
    } = ports;
    let mandate = prepared.settings.mandate.clone();
    let messages = &prepared.events.messages;
    match prepared.reach {
        Reach::Observe => {
            let journal = journal.map(Onlooker);
            let mut guard = Guard::observing(reading, journal, clock, mandate);
            let report = guard.handle(messages).await;
            write(&prepared.events, &report, prepared.output, out)
        }
        Reach::Apply => {
            // Budgets of all processes add up, so each has its own name.
            let name = format!("command-{}", clock.now().millis());
            let mut guard = Guard::acting(reading, journal, clock, copies, mandate).of_instance(&name);
            let report = guard.handle(messages).await;
            let exit = write(&prepared.events, &report, prepared.output, out)?;
            out.flush()?;
            match guard.findings_sent(&report.findings).await {
                Ok(()) => Ok(exit),
                Err(error) => {
                    eprintln!(
                        "stayput: the findings were printed, but that couldn't be written down: {}",
                        Shown(&error.to_string())
                    );
                    Ok(exit.and(Exit::CantTell))
                }
            }
        }
    }
}

fn exit_of(events: &Events, report: &BatchReport) -> Exit {
    let mut exit = Exit::Fine;
    if !events.unreadable.is_empty() {
        exit = exit.and(Exit::CantTell);
    }
    if !report.findings.is_empty() {
        exit = exit.and(Exit::Findings);
    }
    for Acted { verdict, done, .. } in &report.verdicts {
        exit = exit.and(match (&verdict.outcome, done) {
            (_, Done::Failed(_)) => Exit::CantTell,
            _ if verdict.basis == Basis::Unknown => Exit::CantTell,
            (Outcome::Later { .. }, _) => Exit::CantTell,
            (Outcome::Report(_) | Outcome::Lost(_), _) => Exit::Findings,
            (Outcome::Restore(_), Done::Copied { .. } | Done::AlreadyCopied | Done::WrittenByOthers) => {
                Exit::Fine
            }
            (Outcome::Restore(_), Done::Nothing | Done::WouldCopy) => Exit::Findings,
            (Outcome::Leave(_), _) => Exit::Fine,
        });
    }
    exit
}

fn write(events: &Events, report: &BatchReport, output: Output, out: &mut dyn Write) -> io::Result<Exit> {
    match output {
        Output::Text => write_text(events, report, out)?,
        Output::Ndjson => write_ndjson(events, report, out)?,
    }
    Ok(exit_of(events, report))
}

fn write_text(events: &Events, report: &BatchReport, out: &mut dyn Write) -> io::Result<()> {
    for Unreadable { line, error } in &events.unreadable {
        writeln!(
            out,
            "message  line {line} can't be read: {}",
            Shown(&error.to_string())
        )?;
    }
    for acted in &report.verdicts {
        let document = acted.document();
        match (&acted.verdict.outcome, &document.reason) {
            // Flink's own clean-up is most of what comes: one line each.
            (Outcome::Leave(_), Some(reason)) => {
                writeln!(out, "leave    {} ({reason})", Shown(&document.object))?;
            }
            _ => {
                writeln!(out, "{:<8} {}", document.outcome, Shown(&document.object))?;
                writeln!(out, "         {}", Shown(&document.sentence))?;
            }
        }
    }
    for finding in &report.findings {
        writeln!(out, "finding  {}", Shown(&finding.to_string()))?;
    }
    let put_back = |acted: &&Acted| matches!(acted.done, Done::Copied { .. } | Done::AlreadyCopied);
    let put_back = report.verdicts.iter().filter(put_back).count() as u64;
    writeln!(out, "{}", summary_text(&report.summary, put_back))
}

/// In numbers; `put_back` of those that were to be restored are back.
fn summary_text(summary: &Summary, put_back: u64) -> String {
    let left: u64 = summary.left.values().sum();
    let mut text = format!(
        "{}, {} judged: {left} left",
        Count(summary.messages, "message", "messages"),
        Count(summary.judged, "object", "objects"),
    );
    if left > 0 {
        let reasons: Vec<String> = summary.left.iter().map(|(why, n)| format!("{n} {why}")).collect();
        // Writing to a string can't fail.
        let _ = write!(text, " ({})", reasons.join(", "));
    }
    for (n, what) in [
        (put_back, "put back"),
        (summary.restored.saturating_sub(put_back), "to restore"),
        (summary.later, "to be looked at again"),
        (summary.reported, "reported"),
        (summary.lost, "lost"),
        (summary.failed, "failed"),
        (summary.outside, "outside of every root"),
    ] {
        if n > 0 {
            let _ = write!(text, ", {n} {what}");
        }
    }
    let _ = write!(
        text,
        "; {} of {} known",
        Count(summary.snapshots, "snapshot", "snapshots"),
        Count(summary.jobs, "job directory", "job directories")
    );
    text
}

/// One line of ndjson, told apart by its only field.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Line<'a> {
    Unreadable { line: usize, message: String },
    Verdict(Box<VerdictDocument>),
    Finding(&'a Finding),
    Summary(&'a Summary),
}

fn write_ndjson(events: &Events, report: &BatchReport, out: &mut dyn Write) -> io::Result<()> {
    let unreadable = events.unreadable.iter().map(|unreadable| Line::Unreadable {
        line: unreadable.line,
        message: unreadable.error.to_string(),
    });
    let verdicts = report
        .verdicts
        .iter()
        .map(|acted| Line::Verdict(Box::new(acted.document())));
    let findings = report.findings.iter().map(Line::Finding);
    let summary = std::iter::once(Line::Summary(&report.summary));
    for line in unreadable.chain(verdicts).chain(findings).chain(summary) {
        let text = serde_json::to_string(&line)?;
        writeln!(out, "{}", ShownJson(&text))?;
    }
    Ok(())
}
