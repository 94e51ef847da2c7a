//! The stayput command: reads arguments, prints, and ends with a status. What it does lies in the library.

use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use stayput_aws::connection::Connection;
use stayput_cli::audit;
use stayput_cli::doctor;
use stayput_cli::exit::Exit;
use stayput_cli::guard_command::{self, PrepareError, Prepared};
use stayput_cli::inspect;
use stayput_cli::refs;
use stayput_cli::replay::{Process, Rehearsal, Story};
use stayput_cli::serve;
use stayput_cli::setup;
use stayput_cli::switch::{self, Act};
use stayput_cli::terminal::{Complaining, Shown, ShownJson, WhileRead, complain};
use stayput_cli::ui;

/// Keeps the S3 objects that checkpoints of Apache Flink® still need.
#[derive(Parser)]
#[command(name = "stayput", version, after_help = Exit::HELP)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Shows what a checkpoint or savepoint is made of, from its _metadata
    Inspect(inspect::Arguments),
    /// Lists every object that a _metadata names
    Refs(refs::Arguments),
    /// Says which objects that checkpoints need a bucket's lifecycle rules will take, from which day, and how to change the rules
    Audit(audit::Arguments),
    /// Judges the deletions that messages tell of, as the Lambda does; says what it would do, or does it with --apply
    Guard(guard_command::Arguments),
    /// Looks at everything that snapshots need, whoever told of it or not; says what it would do, or does it with --apply
    Sweep(guard_command::SweepArguments),
    /// Says everything that decides whether Stayput can help with a bucket, why it matters, and how to put it right
    Doctor(doctor::Arguments),
    /// Lets a bucket send its deletions to Stayput without losing what it sends already, and prints settings; says what changes, or does it
    /// with --apply
    Setup(setup::Arguments),
    /// Watches without Lambda: takes notifications by HTTP (Ceph, MinIO) or from SQS, judges them, and sweeps on a timer
    Serve(serve::Arguments),
    /// Stops all restoring, of every Stayput under one control prefix; people are told of what is needed meanwhile
    Pause(switch::Arguments),
    /// Ends a pause
    Resume(switch::Arguments),
    /// Lets a snapshot, or all in a directory, count as running, however old it is
    Pin(switch::PlaceArguments),
    /// Takes a pin back
    Unpin(switch::PlaceArguments),
    /// Says that deletions in a directory are intended: nothing there comes back
    Release(switch::ReleaseArguments),
    /// Shows what is paused, pinned and released
    Switches(switch::Arguments),
    /// Shows checkpoints in a browser: the inspector, from this machine for this machine
    Ui(ui::Arguments),
    /// Plays an acceptance story on a model of S3 and prints one verdict for each key and look, as ndjson
    Replay {
        /// The story's folder
        story: PathBuf,
        /// One process for all looks, instead of a new one at each
        #[arg(long)]
        keep_process: bool,
    },
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Inspect(arguments) => printing(|out| inspect::run(&arguments, out)),
        Command::Refs(arguments) => printing(|out| refs::run(&arguments, out)),
        Command::Guard(arguments) => guard(guard_command::prepare(&arguments)),
        Command::Sweep(arguments) => guard(guard_command::prepare_sweep(&arguments)),
        Command::Audit(arguments) => printing(|out| audit::run(&arguments, out)),
        Command::Doctor(arguments) => {
            on_connection(
                async |connection, out| match doctor::ask(&arguments, &connection).await {
                    Ok(facts) => doctor::answer(&arguments, &facts, out),
                    Err((exit, message)) => Ok(said(exit, &message)),
                },
            )
        }
        Command::Setup(arguments) => on_connection(async |connection, out| {
            let ended = setup::run(&arguments, &connection, out, &mut Complaining).await?;
            Ok(ended.unwrap_or_else(|error| said(error.exit(), &error.to_string())))
        }),
        Command::Pause(arguments) => switching(&Act::Pause(&arguments)),
        Command::Resume(arguments) => switching(&Act::Resume(&arguments)),
        Command::Pin(arguments) => switching(&Act::Pin(&arguments)),
        Command::Unpin(arguments) => switching(&Act::Unpin(&arguments)),
        Command::Release(arguments) => switching(&Act::Release(&arguments)),
        Command::Switches(arguments) => switching(&Act::Show(&arguments)),
        Command::Serve(arguments) => serving(&arguments),
        Command::Ui(arguments) => printing(|out| ui::run(&arguments, out)),
        Command::Replay { story, keep_process } => {
            let process = if keep_process {
                Process::Kept
            } else {
                Process::NewAtEachLook
            };
            replay(&story, process)
        }
    }
}

/// Runs what prints. A reader that has seen enough, such as `head`, changes nothing of how it ends.
fn printing(run: impl FnOnce(&mut dyn Write) -> std::io::Result<Exit>) -> ExitCode {
    let mut out = BufWriter::with_capacity(1 << 16, WhileRead::new(std::io::stdout().lock()));
    let ended = run(&mut out).and_then(|exit| out.flush().map(|()| exit));
    match ended {
        Ok(exit) => exit.into(),
        Err(e) => {
            complain(format_args!("stayput: the output can't be written: {e}"));
            Exit::CantTell.into()
        }
    }
}

/// Connects as the environment says, and runs what prints.
fn on_connection(run: impl AsyncFnOnce(Connection, &mut dyn Write) -> std::io::Result<Exit>) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(e) => return failed(&e),
    };
    let connection = match runtime.block_on(Connection::from_env()) {
        Ok(connection) => connection,
        Err(e) => return failed(&e),
    };
    printing(|out| runtime.block_on(run(connection, out)))
}

/// Switches, and shows the switches.
fn switching(act: &Act<'_>) -> ExitCode {
    on_connection(async |connection, out| {
        let ended = switch::run(act, &connection, out).await?;
        Ok(ended.unwrap_or_else(|error| said(error.exit(), &error.to_string())))
    })
}

/// Serves until somebody asks it to end.
fn serving(arguments: &serve::Arguments) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(e) => return failed(&e),
    };
    let ended = runtime.block_on(serve::run(arguments));
    ended
        .unwrap_or_else(|error| said(error.exit(), &error.to_string()))
        .into()
}

/// Why there is no answer, and how the command ends.
fn said(exit: Exit, message: &str) -> Exit {
    complain(format_args!("stayput: {}", Shown(message)));
    exit
}

/// Ends with 2 if settings, messages or environment make no sense.
fn guard(prepared: Result<Prepared, PrepareError>) -> ExitCode {
    let mut prepared = match prepared {
        Ok(prepared) => prepared,
        Err(e) => return failed(&e),
    };
    for doubt in prepared.settings.doubts() {
        complain(format_args!("stayput: {}", Shown(&doubt)));
    }
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(e) => return failed(&e),
    };
    let ports = match runtime.block_on(guard_command::on_aws(&mut prepared)) {
        Ok(ports) => ports,
        Err(e) => return failed(&e),
    };
    printing(|out| runtime.block_on(guard_command::run(&prepared, ports, out)))
}

/// Ends with 0, with 1 if a look couldn't be played, with 2 if the story can't be read.
fn replay(folder: &std::path::Path, process: Process) -> ExitCode {
    let rehearsal = Rehearsal {
        process,
        ..Rehearsal::default()
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().build() {
        Ok(runtime) => runtime,
        Err(e) => return failed(&e),
    };
    let played = match Story::load(folder).and_then(|story| runtime.block_on(story.play(&rehearsal))) {
        Ok(played) => played,
        Err(e) => return failed(&e),
    };
    let mut out = WhileRead::new(std::io::stdout().lock());
    for line in &played.lines {
        let written = serde_json::to_string(line)
            .map_err(std::io::Error::from)
            .and_then(|text| writeln!(out, "{}", ShownJson(&text)));
        if let Err(e) = written {
            return failed(&e);
        }
    }
    ExitCode::SUCCESS
}

fn failed(error: &dyn std::error::Error) -> ExitCode {
    complain(format_args!("stayput: {}", Shown(&error.to_string())));
    ExitCode::from(2)
}
