//! From the environment to a guard that watches.

use std::time::Duration;

use stayput_aws::clock::SystemClock;
use stayput_aws::connection::{Connection, ConnectionError};
use stayput_aws::deadline::Deadline;
use stayput_aws::parked::ParkedQueue;
use stayput_aws::s3::S3;
use stayput_aws::topic::Topic;
use stayput_aws::watch::Watch;
use stayput_core::location::Location;
use stayput_guard::port::{Clock, PortError, Reading};
use stayput_guard::settings::{Mode, Settings, SettingsError};

use crate::log;
use crate::metrics::{self, VARIABLE as METRICS};
use crate::watch::Watched;

const CONFIG: &str = "STAYPUT_CONFIG";
const CONFIG_URI: &str = "STAYPUT_CONFIG_URI";
const ROOTS: &str = "STAYPUT_ROOTS";
const MODE: &str = "STAYPUT_MODE";
/// Set by Lambda: the function's memory in MiB.
const MEMORY: &str = "AWS_LAMBDA_FUNCTION_MEMORY_SIZE";

/// No settings document is longer.
const LONGEST: u64 = 1 << 20;

/// Asking who we are must not use up the time that Lambda gives for a start.
const ASKING: Duration = Duration::from_secs(3);

/// Why the function can't start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    #[error(
        "there are no settings: set {ROOTS} to the prefixes that Flink writes below, or {CONFIG} to a settings document, or {CONFIG_URI} to its place in S3"
    )]
    NoSettings,
    #[error("{first} and {second} are both set: keep one")]
    Both {
        first: &'static str,
        second: &'static str,
    },
    #[error("{from}: {source}")]
    Settings {
        from: &'static str,
        source: SettingsError,
    },
    #[error("{CONFIG_URI} {0:?} is no S3 location: write s3://bucket/key")]
    NoLocation(String),
    #[error("{CONFIG_URI}: {0}")]
    Unread(PortError),
    #[error("{CONFIG_URI}: the document is no UTF-8 from byte {0} on")]
    NotUtf8(usize),
    #[error(
        "{METRICS} is {0:?}, which CloudWatch doesn't take as a namespace: up to 255 letters, digits and .-_/#:, not beginning with AWS/"
    )]
    Namespace(String),
    #[error(transparent)]
    Connection(#[from] ConnectionError),
}

/// Everything that a guard is made of.
pub(crate) struct Ready {
    /// Where the metrics are.
    pub(crate) namespace: String,
    connection: Connection,
    settings: Settings,
    instance: String,
    deadline: Deadline,
}

impl Ready {
    pub(crate) fn watch(&self) -> Watched {
        Watched {
            guard: Watch::new(&self.connection, &self.settings, &self.instance, &self.deadline),
            requests: self.connection.requests().clone(),
            topic: (self.settings.findings_topic.as_ref()).map(|arn| Topic::new(&self.connection, arn)),
            parked: (self.settings.parked_queue.as_ref()).map(|url| ParkedQueue::new(&self.connection, url)),
        }
    }

    /// When the call at hand must end, to be set at each.
    pub(crate) fn deadline(&self) -> Deadline {
        self.deadline.clone()
    }
}

pub(crate) async fn ready() -> Result<Ready, StartError> {
    let given = Given {
        config: variable(CONFIG),
        config_uri: variable(CONFIG_URI),
        roots: variable(ROOTS),
        mode: variable(MODE),
    };
    let source = given.source()?;
    let namespace = variable(METRICS).unwrap_or_else(|| metrics::NAMESPACE.to_owned());
    if !metrics::is_namespace(&namespace) {
        return Err(StartError::Namespace(namespace));
    }
    let connection = Connection::from_env().await?;
    let mut settings = match source {
        From::Text(text) => parse(CONFIG, &text)?,
        From::Roots { roots, mode } => Settings::from_short(&roots, mode.as_deref())
            .map_err(|source| StartError::Settings { from: ROOTS, source })?,
        From::Uri(uri) => parse(CONFIG_URI, &fetch(&connection, &uri).await?)?,
    };
    know_own_role(&connection, &mut settings).await;
    for doubt in settings.doubts() {
        tracing::warn!(target: log::TARGET, "{doubt}");
    }
    know_own_memory(&mut settings, variable(MEMORY).as_deref());
    let mode = match settings.mode {
        Mode::Observe => "observe",
        Mode::Restore => "restore",
    };
    let roots: Vec<String> = settings
        .mandate
        .roots
        .iter()
        .map(|r| format!("s3://{}/{}", r.bucket(), r.metadata_prefix()))
        .collect();
    tracing::info!(
        target: log::TARGET,
        mode,
        roots = roots.join(" "),
        max_metadata_bytes = settings.mandate.metadata_limit.bytes(),
        "Stayput watches"
    );
    Ok(Ready {
        namespace,
        connection,
        settings,
        instance: instance(),
        deadline: Deadline::default(),
    })
}

/// A name of this process alone: two that shared one would overwrite what each other copied of the day's budget.
/// Lambda gives every sandbox a log stream of its own; elsewhere the process and its start tell.
fn instance() -> String {
    variable("AWS_LAMBDA_LOG_STREAM_NAME")
        .unwrap_or_else(|| format!("process-{}-{}", std::process::id(), SystemClock.now().millis()))
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|v| !v.trim().is_empty())
}

fn parse(from: &'static str, text: &str) -> Result<Settings, StartError> {
    Settings::parse(text).map_err(|source| StartError::Settings { from, source })
}

/// What the environment says.
struct Given {
    config: Option<String>,
    config_uri: Option<String>,
    roots: Option<String>,
    mode: Option<String>,
}

#[derive(PartialEq, Eq, Debug)]
enum From {
    Text(String),
    Uri(String),
    Roots { roots: String, mode: Option<String> },
}

impl Given {
    /// The one place where the settings are. Two would be a guess at which is meant.
    fn source(self) -> Result<From, StartError> {
        let both = |first, second| Err(StartError::Both { first, second });
        match (self.config, self.config_uri, self.roots, self.mode) {
            (Some(_), Some(_), _, _) => both(CONFIG, CONFIG_URI),
            (Some(_), None, Some(_), _) => both(CONFIG, ROOTS),
            (None, Some(_), Some(_), _) => both(CONFIG_URI, ROOTS),
            (Some(_), None, None, Some(_)) => both(CONFIG, MODE),
            (None, Some(_), None, Some(_)) => both(CONFIG_URI, MODE),
            (Some(text), None, None, None) => Ok(From::Text(text)),
            (None, Some(uri), None, None) => Ok(From::Uri(uri)),
            (None, None, Some(roots), mode) => Ok(From::Roots { roots, mode }),
            (None, None, None, _) => Err(StartError::NoSettings),
        }
    }
}

async fn fetch(connection: &Connection, uri: &str) -> Result<String, StartError> {
    let Ok(Location::S3(at)) = Location::parse_flink_path(uri.trim()) else {
        return Err(StartError::NoLocation(uri.to_owned()));
    };
    let body = S3::new(connection)
        .body(&at, None, LONGEST)
        .await
        .map_err(StartError::Unread)?;
    String::from_utf8(body.bytes).map_err(|e| StartError::NotUtf8(e.utf8_error().valid_up_to()))
}

/// Our own deletions must be told from those of others; without the settings' word the role is asked once.
async fn know_own_role(connection: &Connection, settings: &mut Settings) {
    if settings.role.is_some() {
        return;
    }
    match tokio::time::timeout(ASKING, connection.own_role()).await {
        Ok(Ok(role)) => {
            settings.mandate.principals.ours.push(role.clone());
            settings.role = Some(role);
        }
        Ok(Err(e)) => tracing::warn!(target: log::TARGET, "{e}"),
        Err(_) => tracing::warn!(
            target: log::TARGET,
            "GetCallerIdentity didn't answer within {} s. Name the role by stayput.role in the settings",
            ASKING.as_secs()
        ),
    }
}

/// A `_metadata` that the function has no memory for would end it, and everything else that came in the same call with it.
fn know_own_memory(settings: &mut Settings, memory: Option<&str>) {
    let Some(mebibytes) = memory.and_then(|text| text.trim().parse().ok()) else {
        tracing::warn!(
            target: log::TARGET,
            "{MEMORY} isn't a number of megabytes, so that nobody knows how long a _metadata may be: max_metadata_bytes alone counts"
        );
        return;
    };
    settings.mandate.metadata_limit = settings.mandate.metadata_limit.within_memory(mebibytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(config: Option<&str>, uri: Option<&str>, roots: Option<&str>, mode: Option<&str>) -> Given {
        let own = |text: Option<&str>| text.map(str::to_owned);
        Given {
            config: own(config),
            config_uri: own(uri),
            roots: own(roots),
            mode: own(mode),
        }
    }

    #[test]
    fn the_functions_memory_bounds_what_is_read() {
        let limit = |memory| {
            let mut settings = Settings::from_short("s3://b/c/", None).unwrap();
            know_own_memory(&mut settings, memory);
            settings.mandate.metadata_limit.bytes()
        };
        assert_eq!(limit(Some("512")), 64 << 20);
        assert_eq!(limit(Some("10240")), 1280 << 20);
        assert_eq!(limit(None), 2 << 30);
        assert_eq!(limit(Some("much")), 2 << 30);
    }

    #[test]
    fn settings_come_from_one_place() {
        let message = |g: Given| g.source().unwrap_err().to_string();
        assert!(message(given(None, None, None, Some("restore"))).contains(ROOTS));
        assert!(message(given(Some("x"), None, Some("y"), None)).contains(ROOTS));
        assert!(message(given(Some("x"), None, None, Some("restore"))).contains(MODE));
        assert!(message(given(Some("x"), Some("y"), None, None)).contains(CONFIG_URI));
        assert_eq!(
            given(None, None, Some("s3://b/c/"), None).source().unwrap(),
            From::Roots {
                roots: "s3://b/c/".to_owned(),
                mode: None
            }
        );
    }
}
