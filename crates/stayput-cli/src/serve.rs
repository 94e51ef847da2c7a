//! `stayput serve`: Stayput without Lambda. Notifications come by HTTP or from queues of SQS, the same guard judges them, and the sweep runs on a
//! timer.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use stayput_aws::connection::{Connection, ConnectionError};
use stayput_aws::deadline::Deadline;
use stayput_aws::queue::Queue;
use stayput_aws::watch::Watch;
use stayput_guard::settings::{Mode, Settings, SettingsError};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};

use crate::exit::Exit;
use crate::terminal::{Shown, complain};

mod door;
mod measures;
mod poll;
mod tell;
mod token;
mod worker;

use door::Door;
use measures::Measures;
pub use token::{Token, TokenError};
use worker::Worker;

/// The variable that may hold the token.
pub const TOKEN: &str = "STAYPUT_TOKEN";

const HELP: &str = "POST notifications to /events with the header `Authorization: Bearer TOKEN`, or to /events/TOKEN. GET /health says whether all is \
                    well (200 or 503), GET /metrics has the counts for Prometheus. One JSON object in each line of the output: verdicts that \
                    aren't Flink's own clean-up, findings, and a summary of each batch and sweep.

The mode of the settings decides whether it restores. TERM or INT ends it after the batch at hand; what waits is left to the next sweep.

Exit status: 0 it was asked to end, 2 usage, 3 it can't listen.

Credentials, region and endpoint come from the environment as for the AWS command line; STAYPUT_S3_PATH_STYLE=true for servers that need it.";

/// What `serve` is given.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub struct Arguments {
    /// The settings: the same document as the Lambda's, TOML or JSON
    #[arg(long, value_name = "FILE", default_value = "stayput.toml")]
    config: PathBuf,
    /// Where to listen. Others than this machine reach an address that isn't its loopback
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// The file with the token that senders of notifications must know; else the variable STAYPUT_TOKEN. Without one nobody may send
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// A queue to take notifications from, by its URL
    #[arg(long, value_name = "URL")]
    queue: Vec<String>,
    /// So often everything is looked at, the first time at once
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = humantime::parse_duration)]
    sweep_every: Duration,
    /// A notification may have so many bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20)]
    max_body: usize,
}

/// Why it can't serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The settings can't be read.
    #[error("{name}: {source}. Name the settings with --config")]
    File {
        /// The file.
        name: String,
        /// Why.
        source: std::io::Error,
    },
    /// The settings make no sense.
    #[error("{name}: {source}")]
    Settings {
        /// The file.
        name: String,
        /// What is wrong, with the field.
        source: SettingsError,
    },
    /// The token can't be used.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// Nothing would ever come.
    #[error(
        "nobody may send notifications and no queue is named: give a token by --token-file or {TOKEN}, or --queue. For the sweep alone, let a timer \
         call `stayput sweep`"
    )]
    NothingToHear,
    /// The environment makes no sense.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// The address is taken, or isn't ours.
    #[error("{address}: {source}")]
    Listen {
        /// Where it should listen.
        address: SocketAddr,
        /// Why it can't.
        source: std::io::Error,
    },
    /// The system gives no signals.
    #[error("signals can't be waited for: {0}")]
    Signals(std::io::Error),
}

impl ServeError {
    /// How the command ends.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Listen { .. } | Self::Signals(_) => Exit::CantTell,
            _ => Exit::Usage,
        }
    }
}

fn settings(arguments: &Arguments) -> Result<Settings, ServeError> {
    let name = arguments.config.display().to_string();
    let bytes = std::fs::read(&arguments.config).map_err(|source| ServeError::File {
        name: name.clone(),
        source,
    })?;
    Settings::parse(&String::from_utf8_lossy(&bytes)).map_err(|source| ServeError::Settings { name, source })
}

/// Serves until it is asked to end.
///
/// # Errors
/// Something keeps it from beginning.
pub async fn run(arguments: &Arguments) -> Result<Exit, ServeError> {
    let mut settings = settings(arguments)?;
    for doubt in settings.doubts() {
        complain(format_args!("stayput: {}", Shown(&doubt)));
    }
    if settings.parked_queue.is_some() {
        complain(format_args!(
            "stayput: parked_queue is for the Lambda: here each message waits in its own queue until it is due, by a visibility timeout of its own"
        ));
    }
    let token = Token::read(arguments.token_file.as_deref())?;
    if token.is_none() && arguments.queue.is_empty() {
        return Err(ServeError::NothingToHear);
    }
    let connection = Connection::from_env().await?;
    know_own_role(&connection, &mut settings).await;
    let address = arguments.listen;
    let unheard = |source| ServeError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(unheard)?;
    let (stop, stopped) = watch::channel(false);
    let signals = signals().map_err(ServeError::Signals)?;
    tokio::spawn(async move {
        signals.await;
        let _ = stop.send(true);
    });

    let measures = Arc::new(Measures::new(arguments.sweep_every));
    let (jobs, waiting) = mpsc::channel(worker::MOST_WAITING);
    let address = listener.local_addr().map_err(unheard)?;
    tell::started(
        address,
        settings.mode == Mode::Restore,
        token.is_some(),
        &arguments.queue,
    );
    let door = Door::new(token, arguments.max_body, jobs.clone(), Arc::clone(&measures));
    let mut tasks = vec![tokio::spawn(door.answer(listener, stopped.clone()))];
    for url in &arguments.queue {
        let queue = Queue::new(&connection, url);
        tasks.push(tokio::spawn(poll::run(
            queue,
            jobs.clone(),
            Arc::clone(&measures),
            stopped.clone(),
        )));
    }
    drop(jobs);
    let instance = format!("serve-{}-{}", std::process::id(), measures::now());
    // It runs until somebody ends it, so that there is always time for another part of a copy.
    let deadline = Deadline::default();
    let make = || Watch::new(&connection, &settings, &instance, &deadline);
    let worker = Worker::new(make, arguments.sweep_every, measures);
    let left = worker.work(waiting, stopped).await;
    for task in tasks {
        // A panic in one of them was printed where it happened.
        let _ = task.await;
    }
    tell::ended(left);
    Ok(Exit::Fine)
}

/// Our own deletions and copies must be told from those of others; without the settings' word the server is asked once.
async fn know_own_role(connection: &Connection, settings: &mut Settings) {
    if settings.role.is_some() {
        return;
    }
    match connection.own_role().await {
        Ok(role) => {
            settings.mandate.principals.ours.push(role.clone());
            settings.role = Some(role);
        }
        Err(error) => complain(format_args!("stayput: {}", Shown(&error.to_string()))),
    }
}

/// Ends when somebody asks the process to end.
fn signals() -> std::io::Result<impl Future<Output = ()> + Send> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminated = signal(SignalKind::terminate())?;
    let mut interrupted = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminated.recv() => {}
            _ = interrupted.recv() => {}
        }
    })
}

/// Ends when the process is asked to end.
async fn asked_to_end(stopped: &mut watch::Receiver<bool>) {
    // An error means that nobody can ask any more, which is the end too.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}
