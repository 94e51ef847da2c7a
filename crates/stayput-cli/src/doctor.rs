//! `stayput doctor`: everything that decides whether Stayput can help with a bucket.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde::Serialize;
use stayput_core::location::{Location, ObjectLocation};
use stayput_core::report::finding::Severity;
use stayput_core::timestamp::Timestamp;
use stayput_guard::doctor::{Check, Facts, Status, examine};
use stayput_guard::settings::Mode;

use crate::exit::Exit;
use crate::terminal::ShownJson;

mod ask;
mod text;

pub use ask::ask;

const HELP: &str = "Exit status: 0 fine, 1 something of severity warning or worse was found, 2 usage (nothing was asked), 3 something couldn't be \
                    answered.

Credentials, region and endpoint come from the environment as for the AWS command line; STAYPUT_S3_PATH_STYLE=true for servers that need it. \
Nothing is written anywhere, but with --probe one small object.";

/// The form of the document; it grows by fields only.
pub const FORM: u32 = 1;

/// What `doctor` is given.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub struct Arguments {
    /// The bucket and prefix of checkpoints: s3://bucket/prefix
    #[arg(value_name = "URI", value_parser = place)]
    pub(crate) place: ObjectLocation,
    /// The settings. Default: stayput.toml, if it is there
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The role that Stayput runs as, by name or ARN. Default: whoever calls
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// The mode whose permissions are looked at. Default: that of the settings
    #[arg(long, value_enum, value_name = "MODE")]
    mode: Option<ModeArgument>,
    /// Messages of the bucket, one body in each line, that say who wrote _metadata; - for standard input
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,
    /// A queue, topic or function that leads to Stayput, by its ARN, besides those named stayput-…
    #[arg(long, value_name = "ARN")]
    target: Vec<String>,
    /// How long it takes people to notice and put something right
    #[arg(long, value_name = "TIME", default_value = "7d", value_parser = humantime::parse_duration)]
    reaction: Duration,
    /// So many pages of 1,000 versions and markers are listed to see how much is hidden a day
    #[arg(long, value_name = "N", default_value_t = 20)]
    pages: u32,
    /// Don't read the checkpoints: what rules will take isn't foretold then
    #[arg(long)]
    no_sweep: bool,
    /// Write one small object below the control prefix, to see what the server does with a copy
    #[arg(long)]
    probe: bool,
    /// The form of the answer
    #[arg(long, value_enum, default_value_t)]
    output: Output,
    /// The same as --output json
    #[arg(long)]
    json: bool,
}

/// How far Stayput goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ModeArgument {
    /// It reads
    Observe,
    /// It copies too
    Restore,
}

impl From<ModeArgument> for Mode {
    fn from(mode: ModeArgument) -> Self {
        match mode {
            ModeArgument::Observe => Self::Observe,
            ModeArgument::Restore => Self::Restore,
        }
    }
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

/// A bucket and a prefix in it, which ends in `/` or is empty.
pub(crate) fn place(text: &str) -> Result<ObjectLocation, String> {
    match Location::parse_flink_path(text) {
        Ok(Location::S3(at)) => {
            let key = at.key().trim_end_matches('/');
            let key = if key.is_empty() {
                String::new()
            } else {
                format!("{key}/")
            };
            Ok(ObjectLocation::new(at.bucket(), key))
        }
        Ok(Location::Foreign(_)) => Err("it is no place in S3: write s3://bucket/prefix".to_owned()),
        Err(e) => Err(format!("{e}. Write s3://bucket/prefix")),
    }
}

/// What was asked and what followed.
#[derive(Serialize)]
struct Document<'a> {
    form: u32,
    about: String,
    now: Timestamp,
    checks: &'a [Check],
    summary: Summary,
}

/// The checks in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct Summary {
    fine: usize,
    finding: usize,
    unknown: usize,
}

/// Looks at the facts and says what follows.
///
/// # Errors
/// The output can't be written.
pub fn answer(arguments: &Arguments, facts: &Facts, out: &mut dyn Write) -> io::Result<Exit> {
    let checks = examine(facts);
    let mut summary = Summary::default();
    let mut exit = Exit::Fine;
    for check in &checks {
        match check.status {
            Status::Fine => summary.fine += 1,
            Status::Finding => summary.finding += 1,
            Status::Unknown => summary.unknown += 1,
        }
        if !check.unknown.is_empty() {
            exit = exit.and(Exit::CantTell);
        }
        if check
            .findings
            .iter()
            .any(|found| found.severity > Severity::Notice)
        {
            exit = exit.and(Exit::Findings);
        }
    }
    if arguments.json || arguments.output == Output::Json {
        let document = Document {
            form: FORM,
            about: facts.place.to_string(),
            now: facts.now,
            checks: &checks,
            summary,
        };
        writeln!(out, "{}", ShownJson(&serde_json::to_string_pretty(&document)?))?;
    } else {
        text::write(facts, &checks, summary, out)?;
    }
    Ok(exit)
}
