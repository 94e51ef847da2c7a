//! `stayput refs FILE…`: every object that a `_metadata` names, while it is read.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use flink_checkpoint::{
    Complete, Damaged, Extent, Limits, OperatorHead, OperatorId, OperatorNo, Reference, Target, Visitor,
};
use serde::Serialize;
use stayput_core::location::Location;
use stayput_core::report::summary::Objects;

use crate::exit::Exit;
use crate::input::{self, At, Input};
use crate::terminal::{Shown, ShownJson, complain};

/// What `refs` is given.
#[derive(Args, Debug)]
#[command(after_help = Exit::HELP)]
pub struct Arguments {
    /// `_metadata` files, directories that hold one, or - for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Where the checkpoint lies, if not where the file was found: s3://bucket/…/chk-8. Relative paths are resolved against it
    #[arg(long, value_name = "URI", value_parser = input::place)]
    at: Option<At>,
    /// The form of the answer. Text: length asked for, role, operator id, subtask, path, separated by tabs, in the order of the file
    #[arg(long, value_enum, default_value_t)]
    output: Output,
    /// Only the totals: objects each once, handles, directories, bytes
    #[arg(long)]
    count: bool,
    /// Name the columns of the text in a first line, as on a terminal. What goes into a file or another program has no such line without this
    #[arg(long, conflicts_with = "count")]
    header: bool,
}

/// The form of the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Output {
    /// One line for each handle
    #[default]
    Text,
    /// One JSON object for each handle
    Ndjson,
}

/// Lists what every file names; those that can't be read don't hide the others.
///
/// # Errors
/// The output can't be written.
pub fn run(arguments: &Arguments, out: &mut dyn Write) -> io::Result<Exit> {
    if let Some(exit) = input::one_place_for_one_file(arguments.at.as_ref(), arguments.files.len()) {
        return Ok(exit);
    }
    let mut exit = Exit::Fine;
    let several = arguments.files.len() > 1;
    let for_people = arguments.header || io::stdout().is_terminal();
    if for_people && arguments.output == Output::Text && !arguments.count {
        header(several, out)?;
    }
    for file in &arguments.files {
        exit = exit.and(match input::read(file, arguments.at.as_ref()) {
            Ok(input) if arguments.count => count(&input, arguments.output, several, out)?,
            Ok(input) => list(&input, arguments.output, several, out)?,
            Err(error) => {
                complain(format_args!("stayput: {}", Shown(&error.to_string())));
                if arguments.output == Output::Ndjson {
                    let end = End {
                        file: error.name(),
                        unreadable: error.to_string(),
                        offset: None,
                        handles_before: 0,
                    };
                    json_line(&end, out)?;
                }
                Exit::CantTell
            }
        });
    }
    Ok(exit)
}

/// The names of the columns of [`Output::Text`].
fn header(several: bool, out: &mut dyn Write) -> io::Result<()> {
    let file = if several { "file\t" } else { "" };
    writeln!(out, "{file}bytes\trole\toperator\tsubtask\tpath")
}

fn list(input: &Input, output: Output, several: bool, out: &mut dyn Write) -> io::Result<Exit> {
    let mut listing = Listing {
        name: several.then_some(input.name.as_str()),
        directory: input.at.as_ref().map(|at| at.location.to_string()),
        output,
        operator: None,
        handles: 0,
        out,
        failed: None,
    };
    let read = flink_checkpoint::visit(&input.bytes, &Limits::default(), &mut listing);
    let (handles, failed) = (listing.handles, listing.failed.take());
    if let Some(error) = failed {
        return Err(error);
    }
    end(input, read, handles, output, out)
}

/// Says if what was told is a part only.
fn end(
    input: &Input,
    read: Result<Complete, Damaged>,
    handles: u64,
    output: Output,
    out: &mut dyn Write,
) -> io::Result<Exit> {
    let Err(damaged) = read else {
        return Ok(Exit::Fine);
    };
    if output == Output::Ndjson {
        let end = End {
            file: &input.name,
            unreadable: damaged.error.to_string(),
            offset: Some(damaged.error.at),
            handles_before: handles,
        };
        json_line(&end, out)?;
    }
    out.flush()?;
    complain(format_args!(
        "stayput: {}: {}. What is listed ({handles} handles) is a part only: it doesn't tell what isn't needed",
        Shown(&input.name),
        Shown(&damaged.error.to_string()),
    ));
    Ok(Exit::CantTell)
}

/// The last line about a file that could not be read to its end: what was told before is a part only.
#[derive(Serialize)]
struct End<'a> {
    file: &'a str,
    unreadable: String,
    /// Byte at which it can't be read.
    offset: Option<usize>,
    handles_before: u64,
}

/// One handle.
#[derive(Serialize)]
struct Line<'a> {
    /// Only if several files are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    /// The one name of the object: `s3://` whatever scheme was configured; as in the file where that is no location.
    url: Cow<'a, str>,
    /// As in the file.
    path: Cow<'a, str>,
    /// `absolute`, `relative`, `directory`.
    target: &'static str,
    /// `exact`, `at_least`, `changelog`, `unknown`.
    length: &'static str,
    bytes: Option<u64>,
    role: String,
    operator: Option<String>,
    subtask: Option<u32>,
    /// First key group and number of them.
    key_groups: Option<(u32, u32)>,
    /// First byte of the handle in `_metadata`, and the one behind it.
    span: (usize, usize),
}

struct Listing<'o> {
    name: Option<&'o str>,
    directory: Option<String>,
    output: Output,
    operator: Option<OperatorId>,
    handles: u64,
    out: &'o mut dyn Write,
    failed: Option<io::Error>,
}

impl Listing<'_> {
    fn write(&mut self, reference: &Reference<'_>) -> io::Result<()> {
        let (length, bytes) = match reference.extent {
            Extent::Exact(n) => ("exact", Some(n)),
            Extent::AtLeast(n) => ("at_least", Some(n)),
            Extent::Changelog(n) => ("changelog", Some(n)),
            Extent::Unknown => ("unknown", None),
        };
        let path = reference.target.path();
        let path = path.as_str().unwrap_or_else(|| Cow::Owned(path.to_string()));
        let target = match reference.target {
            Target::Absolute(_) => "absolute",
            Target::Exclusive(_) => "relative",
            Target::Directory(_) => "directory",
        };
        let url = self.url(reference, &path);
        match self.output {
            Output::Ndjson => {
                let line = Line {
                    file: self.name,
                    url,
                    path: Cow::Borrowed(&path),
                    target,
                    length,
                    bytes,
                    role: reference.role.to_string(),
                    operator: self.operator.map(|id| id.to_string()),
                    subtask: reference.subtask,
                    key_groups: reference.key_groups.map(|groups| (groups.start, groups.count)),
                    span: (reference.span.start, reference.span.end),
                };
                json_line(&line, self.out)
            }
            Output::Text => {
                let out = &mut *self.out;
                if let Some(name) = self.name {
                    write!(out, "{}\t", Shown(name))?;
                }
                match (reference.target, length, bytes) {
                    (Target::Directory(_), ..) => write!(out, "whole directory\t")?,
                    (_, "at_least", Some(n)) => write!(out, ">={n}\t")?,
                    (_, "changelog", Some(n)) => write!(out, "~{n}\t")?,
                    (.., Some(n)) => write!(out, "{n}\t")?,
                    (.., None) => write!(out, "?\t")?,
                }
                write!(out, "{}\t", reference.role)?;
                match self.operator {
                    Some(id) => write!(out, "{id}\t")?,
                    None => write!(out, "-\t")?,
                }
                match reference.subtask {
                    Some(subtask) => write!(out, "{subtask}\t")?,
                    None => write!(out, "-\t")?,
                }
                writeln!(out, "{}", Shown(&url))
            }
        }
    }

    fn url<'p>(&self, reference: &Reference<'_>, path: &'p str) -> Cow<'p, str> {
        match (reference.target, &self.directory) {
            (Target::Exclusive(_), None) => Cow::Borrowed(path),
            (Target::Exclusive(_), Some(directory)) => {
                Cow::Owned(format!("{}/{path}", directory.trim_end_matches('/')))
            }
            // Nearly all paths are spelled like this already.
            _ if path.starts_with("s3://") && !path[5..].contains("//") && !path.ends_with('/') => {
                Cow::Borrowed(path)
            }
            _ => Location::parse_flink_path(path)
                .map_or(Cow::Borrowed(path), |location| Cow::Owned(location.to_string())),
        }
    }
}

impl<'a> Visitor<'a> for Listing<'_> {
    fn operator(&mut self, _: OperatorNo, operator: &OperatorHead<'a>) {
        self.operator = Some(operator.id);
    }

    fn reference(&mut self, reference: &Reference<'a>) -> ControlFlow<()> {
        self.handles += 1;
        match self.write(reference) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failed = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

fn json_line(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let text = serde_json::to_string(value)?;
    writeln!(out, "{}", ShownJson(&text))
}

/// The totals of one file.
#[derive(Serialize)]
struct Totals<'a> {
    file: &'a str,
    /// Whether the file was read to its end. If not, there can be more.
    complete: bool,
    #[serde(flatten)]
    objects: &'a Objects,
}

fn count(input: &Input, output: Output, several: bool, out: &mut dyn Write) -> io::Result<Exit> {
    let (objects, read) = Objects::read(&input.bytes, input.at.as_ref().map(|at| &at.location));
    match output {
        Output::Ndjson => json_line(
            &Totals {
                file: &input.name,
                complete: read.is_ok(),
                objects: &objects,
            },
            out,
        )?,
        Output::Text => {
            if several {
                write!(out, "{}\t", Shown(&input.name))?;
            }
            writeln!(
                out,
                "{} objects\t{} bytes\t{} handles\t{} directories",
                objects.total.objects, objects.total.bytes, objects.handles, objects.named_directory_count
            )?;
        }
    }
    match read {
        Ok(_) => Ok(Exit::Fine),
        Err(damaged) => {
            out.flush()?;
            complain(format_args!(
                "stayput: {}: {}. The totals are those of a part only",
                Shown(&input.name),
                Shown(&damaged.error.to_string())
            ));
            Ok(Exit::CantTell)
        }
    }
}
