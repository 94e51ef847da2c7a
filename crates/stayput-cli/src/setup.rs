//! `stayput setup`: lets a bucket send its deletions to Stayput without losing what it sends already, and prints settings.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};
use s3_documents::notification_configuration::{
    CREATIONS, Change, EXPIRATIONS, Merged, NotificationConfiguration, Overlap, REMOVALS, THAWS, Target,
    Wanted,
};
use serde::Deserialize;
use stayput_aws::bucket_settings::BucketSettings;
use stayput_aws::clock::SystemClock;
use stayput_aws::connection::Connection;
use stayput_aws::identity::Iam;
use stayput_core::layout::METADATA_FILE;
use stayput_core::location::ObjectLocation;
use stayput_guard::port::{Clock, PortError};

use crate::doctor::place;
use crate::exit::Exit;
use crate::input;
use crate::principal::{self, Named, PrincipalError};

mod print;
mod settings;

const HELP: &str = "The settings are printed to the standard output, to be written to a file; what changes, to the standard error. With --output json all of it \
                    is one document.

Exit status: 0 the bucket sends what was asked for (with --apply: now), 1 it doesn't yet, or S3 would refuse it, 2 usage, or no region or no \
                    credentials (nothing was done), 3 a call failed, or somebody changed the bucket meanwhile (nothing was written).

Nothing is written without --apply. Credentials, region and endpoint come from the environment as for the AWS command line.";

/// What `setup` is given.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
#[command(group = ArgGroup::new("one").args(["queue", "topic", "notifications", "lifecycle_queue"]))]
pub struct Arguments {
    /// The bucket and prefix of checkpoints: s3://bucket/prefix
    #[arg(value_name = "URI", value_parser = place)]
    place: ObjectLocation,
    /// One queue for all deletions, by its ARN
    #[arg(long, value_name = "ARN", value_parser = arn_of("sqs"))]
    queue: Option<String>,
    /// One topic for all deletions, by its ARN: of SNS, or of Ceph
    #[arg(long, value_name = "ARN", value_parser = arn_of("sns"))]
    topic: Option<String>,
    /// The queue for what lifecycle rules do: the stack's output LifecycleQueueArn
    #[arg(long, value_name = "ARN", value_parser = arn_of("sqs"), requires = "removals_queue")]
    lifecycle_queue: Option<String>,
    /// The queue for what requests remove: the stack's output RemovalsQueueArn
    #[arg(long, value_name = "ARN", value_parser = arn_of("sqs"), requires = "lifecycle_queue")]
    removals_queue: Option<String>,
    /// The stack's output Notifications, as a file; - for standard input
    #[arg(long, value_name = "FILE")]
    notifications: Option<PathBuf>,
    /// Send every event to EventBridge: it overlaps with nothing, but names no role
    #[arg(long)]
    eventbridge: bool,
    /// Only for keys below the prefix. Files elsewhere in the bucket that checkpoints need aren't told of then
    #[arg(long)]
    only_below: bool,
    /// Tell of new checkpoints too, s3:ObjectCreated:* of keys that end in _metadata: what is new in them is looked at then
    #[arg(long, requires = "one", conflicts_with = "notifications")]
    new_checkpoints: bool,
    /// Only events of these types, instead of s3:ObjectRemoved:*, s3:LifecycleExpiration:* and s3:ObjectRestore:Completed, for servers that know others
    #[arg(long, value_name = "TYPE", requires = "one", conflicts_with_all = ["lifecycle_queue", "notifications"])]
    event: Vec<String>,
    /// A role (or user/NAME) of a Flink cluster or a replication, by name, ARN or unique id
    #[arg(long, value_name = "ROLE")]
    flink_role: Vec<String>,
    /// Where Stayput remembers: s3://bucket/prefix
    #[arg(long, value_name = "URI", value_parser = place)]
    control: Option<ObjectLocation>,
    /// Write the bucket's notification configuration
    #[arg(long)]
    apply: bool,
    /// The form of the answer
    #[arg(long, value_enum, default_value_t)]
    output: Output,
    /// The same as --output json
    #[arg(long)]
    json: bool,
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

fn arn_of(service: &'static str) -> impl Fn(&str) -> Result<String, String> + Clone {
    move |text| {
        let parts: Vec<&str> = text.splitn(6, ':').collect();
        match parts.as_slice() {
            ["arn", _, of, _, _, name] if *of == service && !name.is_empty() => Ok(text.to_owned()),
            _ => Err(format!("write its ARN, arn:aws:{service}:REGION:ACCOUNT:NAME")),
        }
    }
}

/// Where deletions can go.
const TARGETS: &str = "--notifications FILE (an output of the stack of infra/template.yaml), --lifecycle-queue ARN with --removals-queue ARN, --queue ARN, \
                       --topic ARN or --eventbridge";

/// Why nothing could be done.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// There is nothing to write.
    #[error(
        "--apply writes where the bucket sends its deletions, and no target was named, so nothing was done. Name one: {TARGETS}"
    )]
    NoTarget,
    /// The stack's output makes no sense.
    #[error("{0}")]
    Notifications(String),
    /// A principal isn't known.
    #[error("--flink-role {0}")]
    Principal(#[from] PrincipalError),
    /// A call failed.
    #[error("{0}")]
    Call(#[from] PortError),
    /// What the bucket sends can't be read.
    #[error("{0}")]
    Document(#[from] s3_documents::DocumentError),
    /// Somebody else was there.
    #[error(
        "the notification configuration of {0} changed between looking and writing, so nothing was written: look at it, and call again"
    )]
    Changed(String),
    /// The server took it and shows something else.
    #[error(
        "the server took the notification configuration of {bucket}, but doesn't show {missing}: what is in it now must be looked at"
    )]
    NotThere {
        /// The bucket.
        bucket: String,
        /// What isn't there.
        missing: String,
    },
}

impl SetupError {
    /// How the command ends.
    pub fn exit(&self) -> Exit {
        match self {
            Self::NoTarget | Self::Notifications(_) | Self::Principal(PrincipalError::NoPrincipal { .. }) => {
                Exit::Usage
            }
            Self::Call(error) | Self::Principal(PrincipalError::Asked(error)) => Exit::of_failed_call(error),
            _ => Exit::CantTell,
        }
    }
}

/// A principal that is to be listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// As written.
    pub given: String,
    /// The unique id.
    pub id: String,
}

/// What is there and what should be, before anything is written.
#[derive(Clone, Debug)]
pub struct Plan {
    bucket: String,
    before: Vec<u8>,
    to_event_bridge: bool,
    wanted: Vec<Wanted>,
    /// The document to be written, or what S3 would refuse.
    pub merged: Result<Merged, Vec<Overlap>>,
    /// Whether a filter by the prefix would avoid what S3 refuses.
    pub filter_helps: bool,
    /// Elements that stay as they are since nobody here understands them.
    pub not_understood: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct OfStack {
    queue_configurations: Vec<QueueOfStack>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct QueueOfStack {
    id: String,
    queue_arn: String,
    events: Vec<String>,
    #[serde(default)]
    filter: FilterOfStack,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct FilterOfStack {
    key: RulesOfStack,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct RulesOfStack {
    filter_rules: Vec<RuleOfStack>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct RuleOfStack {
    name: EndOfKeys,
    value: String,
}

/// The stack's filters are about ends of keys; `--only-below` says how they begin.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum EndOfKeys {
    Suffix,
}

impl Arguments {
    /// Whether there is anything that the bucket should send.
    fn names_a_target(&self) -> bool {
        let arns = [&self.queue, &self.topic, &self.lifecycle_queue];
        self.eventbridge || self.notifications.is_some() || arns.iter().any(|arn| arn.is_some())
    }

    /// What the bucket should send.
    fn wanted(&self) -> Result<Vec<Wanted>, SetupError> {
        let prefix = if self.only_below { self.place.key() } else { "" };
        // Setups of several prefixes of one bucket are told apart by their names.
        let named = |what: &str| match prefix.trim_end_matches('/') {
            "" => format!("stayput-{what}"),
            prefix => format!("stayput-{what}-{prefix}"),
        };
        let sending = |what: &str, target, arn: &str, events: &[&str]| Wanted {
            id: named(what),
            target,
            arn: arn.to_owned(),
            events: events.iter().map(|event| (*event).to_owned()).collect(),
            prefix: prefix.to_owned(),
            suffix: String::new(),
        };
        let all: Vec<&str> = match self.event.as_slice() {
            [] => vec![EXPIRATIONS, REMOVALS, THAWS],
            events => events.iter().map(String::as_str).collect(),
        };
        let with_new_checkpoints = |mut wanted: Vec<Wanted>, target, arn: &str| {
            wanted.extend(self.new_checkpoints.then(|| Wanted {
                suffix: METADATA_FILE.to_owned(),
                ..sending("checkpoints", target, arn, &[CREATIONS])
            }));
            wanted
        };
        if let Some(queue) = &self.queue {
            let wanted = vec![sending("deletions", Target::Queue, queue, &all)];
            return Ok(with_new_checkpoints(wanted, Target::Queue, queue));
        }
        if let Some(topic) = &self.topic {
            let wanted = vec![sending("deletions", Target::Topic, topic, &all)];
            return Ok(with_new_checkpoints(wanted, Target::Topic, topic));
        }
        if let (Some(lifecycle), Some(removals)) = (&self.lifecycle_queue, &self.removals_queue) {
            let wanted = vec![
                sending("lifecycle", Target::Queue, lifecycle, &[EXPIRATIONS, THAWS]),
                sending("removals", Target::Queue, removals, &[REMOVALS]),
            ];
            // With what Flink deletes when one is complete: one call then answers both.
            return Ok(with_new_checkpoints(wanted, Target::Queue, removals));
        }
        let Some(file) = &self.notifications else {
            return Ok(Vec::new());
        };
        let refuse = |why: String| SetupError::Notifications(format!("{}: {why}", file.display()));
        let bytes = input::read_file(file).map_err(|e| SetupError::Notifications(e.to_string()))?;
        let stack: OfStack = serde_json::from_slice(&bytes)
            .map_err(|e| refuse(format!("it isn't the stack's output Notifications: {e}")))?;
        let of_stack = stack.queue_configurations.into_iter().map(|queue| {
            let what = queue.id.strip_prefix("stayput-").unwrap_or(&queue.id);
            let arn = arn_of("sqs")(&queue.queue_arn).map_err(|why| refuse(format!("QueueArn: {why}")))?;
            let events: Vec<&str> = queue.events.iter().map(String::as_str).collect();
            let mut suffixes = queue
                .filter
                .key
                .filter_rules
                .into_iter()
                .map(|rule| match rule.name {
                    EndOfKeys::Suffix => rule.value,
                });
            Ok(Wanted {
                suffix: suffixes.next().unwrap_or_default(),
                ..sending(what, Target::Queue, &arn, &events)
            })
        });
        of_stack.collect()
    }
}

/// Looks at the bucket, and plans.
///
/// # Errors
/// The stack's output makes no sense, or what the bucket sends can't be read.
pub async fn plan(arguments: &Arguments, connection: &Connection) -> Result<Plan, SetupError> {
    let wanted = arguments.wanted()?;
    let bucket = arguments.place.bucket();
    let before = BucketSettings::new(connection).notifications(bucket).await?;
    let there = NotificationConfiguration::parse(&before)?;
    let merged = there.merged(&wanted, arguments.eventbridge);
    let filter_helps = merged.is_err() && !arguments.only_below && !arguments.place.key().is_empty() && {
        let filtered: Vec<Wanted> = wanted
            .iter()
            .map(|wanted| Wanted {
                prefix: arguments.place.key().to_owned(),
                ..wanted.clone()
            })
            .collect();
        there.merged(&filtered, arguments.eventbridge).is_ok()
    };
    Ok(Plan {
        bucket: bucket.to_owned(),
        to_event_bridge: arguments.eventbridge,
        wanted,
        merged,
        filter_helps,
        not_understood: there.not_understood,
        before,
    })
}

/// Writes what was planned, if the bucket still sends what it sent then. Looks afterwards whether all of it is there.
///
/// # Errors
/// Somebody changed the bucket meanwhile, the server refuses, or it shows something else afterwards.
pub async fn apply(plan: &Plan, connection: &Connection) -> Result<(), SetupError> {
    let Ok(merged) = &plan.merged else {
        return Ok(());
    };
    let settings = BucketSettings::new(connection);
    let bucket = plan.bucket.as_str();
    if settings.notifications(bucket).await? != plan.before {
        return Err(SetupError::Changed(format!("s3://{bucket}")));
    }
    settings.put_notifications(bucket, &merged.text).await?;
    let after = NotificationConfiguration::parse(&settings.notifications(bucket).await?)?;
    let missing = |what: &dyn std::fmt::Display| {
        Err(SetupError::NotThere {
            bucket: format!("s3://{bucket}"),
            missing: what.to_string(),
        })
    };
    let shown: Vec<String> = after.sendings.iter().map(ToString::to_string).collect();
    for change in &merged.changes {
        if let Change::Kept(kept) = change
            && !shown.contains(&kept.to_string())
        {
            return missing(kept);
        }
    }
    match after.merged(&plan.wanted, plan.to_event_bridge) {
        Ok(again) if again.changes_nothing() => Ok(()),
        Ok(again) => {
            let first = again.changes.iter().find_map(|change| match change {
                Change::Added(wanted) => Some(wanted.to_string()),
                Change::ToEventBridge => Some("EventBridge".to_owned()),
                Change::Kept(_) | Change::Removed(_) => None,
            });
            missing(&first.unwrap_or_default())
        }
        Err(overlaps) => missing(&overlaps.first().map(|o| o.wanted.to_string()).unwrap_or_default()),
    }
}

/// The unique ids of Flink's roles.
///
/// # Errors
/// One isn't known.
async fn principals(arguments: &Arguments, connection: &Connection) -> Result<Vec<Listed>, SetupError> {
    let mut named = Vec::new();
    for text in &arguments.flink_role {
        named.push((text, principal::parse(text)?));
    }
    let iam = Iam::new(connection);
    let caller = match named.iter().any(|(_, named)| !matches!(named, Named::Id(_))) {
        true => iam.caller().await.ok(),
        false => None,
    };
    let ours = caller.as_deref().and_then(principal::account_of);
    let mut listed: Vec<Listed> = Vec::new();
    for (text, named) in &named {
        let id = principal::resolve(&iam, text, named, ours).await?.id;
        if listed.iter().all(|known| known.id != id) {
            listed.push(Listed {
                given: (*text).clone(),
                id,
            });
        }
    }
    Ok(listed)
}

/// Looks, says what changes, writes it with `--apply`, and prints settings: those, or the document, to `out`, so that they can go into a file;
/// what people must know beside them to `people`.
///
/// # Errors
/// The output can't be written.
pub async fn run(
    arguments: &Arguments,
    connection: &Connection,
    out: &mut dyn Write,
    people: &mut dyn Write,
) -> io::Result<Result<Exit, SetupError>> {
    if arguments.apply && !arguments.names_a_target() {
        return Ok(Err(SetupError::NoTarget));
    }
    let listed = match principals(arguments, connection).await {
        Ok(listed) => listed,
        Err(error) => return Ok(Err(error)),
    };
    let plan = match plan(arguments, connection).await {
        Ok(plan) => plan,
        Err(error) => return Ok(Err(error)),
    };
    let changes = plan.merged.as_ref().is_ok_and(|merged| !merged.changes_nothing());
    let json = arguments.json || arguments.output == Output::Json;
    if !json {
        // Before anything is written: whoever stops here has seen it.
        print::plan(&plan, people)?;
        people.flush()?;
    }
    let applied = arguments.apply && changes;
    if applied && let Err(error) = apply(&plan, connection).await {
        return Ok(Err(error));
    }
    let settings = settings::text(
        &arguments.place,
        arguments.control.as_ref(),
        &listed,
        SystemClock.now(),
    );
    if json {
        print::document(&plan, applied, &listed, &settings, out)?;
    } else {
        print::after(&plan, applied, &listed, people)?;
        people.flush()?;
        print::settings(&settings, out)?;
    }
    Ok(Ok(if plan.merged.is_err() || (changes && !applied) {
        Exit::Findings
    } else {
        Exit::Fine
    }))
}
