//! `stayput inspect FILE…`: what a checkpoint or savepoint is made of.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use flink_checkpoint::{Index, Limits};
use serde::Serialize;
use stayput_core::oracle;
use stayput_core::report::summary::{self, FORM, Reading};

use crate::exit::Exit;
use crate::input::{self, At, Input, InputError};
use crate::terminal::{Shown, ShownJson, complain};

mod text;

/// What `inspect` is given.
#[derive(Args, Debug)]
#[command(after_help = Exit::HELP)]
pub struct Arguments {
    /// `_metadata` files, directories that hold one, or - for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Where the checkpoint lies, if not where the file was found: s3://bucket/…/chk-8. Relative paths are resolved against it
    #[arg(long, value_name = "URI", value_parser = input::place)]
    at: Option<At>,
    /// The form of the answer
    #[arg(long, value_enum, default_value_t)]
    output: Output,
}

/// The form of the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people
    #[default]
    Text,
    /// One document for each file
    Json,
    /// Every handle and field, in the form in which Flink's own classes were asked for the test corpus
    Oracle,
}

/// Shows every file; those that can't be read don't hide the others.
///
/// # Errors
/// The output can't be written.
pub fn run(arguments: &Arguments, out: &mut dyn Write) -> io::Result<Exit> {
    if let Some(exit) = input::one_place_for_one_file(arguments.at.as_ref(), arguments.files.len()) {
        return Ok(exit);
    }
    let mut exit = Exit::Fine;
    for (number, file) in arguments.files.iter().enumerate() {
        let input = input::read(file, arguments.at.as_ref());
        if number > 0 && arguments.output == Output::Text {
            writeln!(out)?;
        }
        exit = exit.and(match input {
            Ok(input) => show(&input, arguments.output, out)?,
            Err(error) => {
                unreadable(&error, arguments.output, out)?;
                Exit::CantTell
            }
        });
    }
    Ok(exit)
}

fn show(input: &Input, output: Output, out: &mut dyn Write) -> io::Result<Exit> {
    if output == Output::Oracle {
        return show_oracle(input, out);
    }
    let reading = summary::read_at(&input.bytes, input.at.as_ref().map(|at| &at.location));
    let exit = match reading {
        Reading::Whole(_) => Exit::Fine,
        Reading::Damaged(_) | Reading::Refused { .. } => Exit::CantTell,
    };
    match output {
        Output::Json => write_json(
            &Document {
                file: &input.name,
                answer: &reading,
            },
            out,
        )?,
        Output::Text | Output::Oracle => text::write(
            &input.name,
            &reading,
            input.at.as_ref().is_some_and(|at| at.guessed),
            out,
        )?,
    }
    Ok(exit)
}

fn show_oracle(input: &Input, out: &mut dyn Write) -> io::Result<Exit> {
    let pointer = input.at.as_ref().map_or(".", |at| at.text.as_str());
    let limits = Limits::default();
    let index = match Index::build(&input.bytes, &limits) {
        Ok(index) => index,
        Err(damaged) => {
            complain(format_args!("stayput: {}: {damaged}", Shown(&input.name)));
            return Ok(Exit::CantTell);
        }
    };
    match index.view(&input.bytes) {
        Ok(snapshot) => {
            write_json(&oracle::document(snapshot, pointer), out)?;
            Ok(Exit::Fine)
        }
        Err(error) => {
            complain(format_args!("stayput: {}: {error}", Shown(&input.name)));
            Ok(Exit::CantTell)
        }
    }
}

/// The answer about one file.
#[derive(Serialize)]
struct Document<'a, A: Serialize> {
    file: &'a str,
    #[serde(flatten)]
    answer: &'a A,
}

/// The answer about a file that the system can't read.
#[derive(Serialize)]
struct Unreadable {
    reading: &'static str,
    form: &'static str,
    message: String,
}

fn unreadable(error: &InputError, output: Output, out: &mut dyn Write) -> io::Result<()> {
    complain(format_args!("stayput: {}", Shown(&error.to_string())));
    if output == Output::Json {
        let answer = Unreadable {
            reading: "unreadable",
            form: FORM,
            message: error.to_string(),
        };
        write_json(
            &Document {
                file: error.name(),
                answer: &answer,
            },
            out,
        )?;
    }
    Ok(())
}

fn write_json(document: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let text = serde_json::to_string_pretty(document)?;
    writeln!(out, "{}", ShownJson(&text))
}
