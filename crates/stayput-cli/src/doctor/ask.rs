//! Asking for the facts.

use std::path::Path;

use s3_documents::notification::{Agent, Record, parse_body};
use s3_documents::notification_configuration::NotificationConfiguration;
use stayput_aws::bucket_settings::BucketSettings;
use stayput_aws::clock::SystemClock;
use stayput_aws::connection::Connection;
use stayput_aws::identity::Iam;
use stayput_aws::journal::S3Journal;
use stayput_aws::s3::S3;
use stayput_aws::{encryption_key, probe};
use stayput_core::cause::Principals;
use stayput_core::location::ObjectLocation;
use stayput_core::root::{Root, RootKind, Roots, Strategy};
use stayput_guard::doctor::{
    Asked, BucketEncryption, Chosen, Churn, ChurnCounter, Facts, KeyState, Role, Swept, Unknown, Wanted,
    Writer, needs,
};
use stayput_guard::guard::Guard;
use stayput_guard::mandate::Mandate;
use stayput_guard::port::{Clock, PortErrorKind, Reading, VersionsOf};
use stayput_guard::settings::{Mode, Settings};

use super::Arguments;
use crate::exit::Exit;
use crate::guard_command::Onlooker;
use crate::input;
use crate::principal::{self, Named};

/// The settings file that is taken if nobody names one.
const USUAL: &str = "stayput.toml";

/// Asks for everything that can be asked for. What can't be is a part of the answer.
///
/// # Errors
/// The settings or the messages can't be read ([`Exit::Usage`]), there is no such bucket, or nobody answers: nothing can be said at all. The
/// text is for people.
pub async fn ask(arguments: &Arguments, connection: &Connection) -> Result<Facts, (Exit, String)> {
    let usage = |text: String| (Exit::Usage, text);
    let settings = settings(arguments).map_err(usage)?;
    let writers = writers(arguments).map_err(usage)?;
    let place = &arguments.place;
    let reading = S3::new(connection);
    let bucket = BucketSettings::new(connection);
    let versioning = reading.versioning(place.bucket()).await;
    if let Err(error) = &versioning
        && matches!(
            error.kind,
            PortErrorKind::NotFound
                | PortErrorKind::Transient
                | PortErrorKind::Unreachable
                | PortErrorKind::NotSetUp
        )
    {
        return Err((Exit::of_failed_call(error), error.to_string()));
    }
    let encryption: Asked<BucketEncryption> = bucket.encryption(place.bucket()).await.map_err(Unknown::from);
    let key = match &encryption {
        Ok(BucketEncryption::ByKms(key)) => Some(key_state(connection, key.as_deref()).await),
        _ => None,
    };
    let control = settings.as_ref().ok().and_then(|s| s.mandate.control.clone());
    let control_listed = match &control {
        None => None,
        Some(at) => Some(
            reading
                .list(at.bucket(), at.key(), true)
                .await
                .map(drop)
                .map_err(Unknown::from),
        ),
    };
    let mode = arguments.mode.map(Mode::from);
    let mode = mode
        .or(settings.as_ref().ok().map(|s| s.mode))
        .unwrap_or_default();
    let roots = settings.as_ref().map(|s| s.mandate.roots.clone());
    let roots = roots.unwrap_or_default();
    let wanted = Wanted {
        bucket: place.bucket(),
        prefix: place.key(),
        control: control.as_ref().map(|at| (at.bucket(), at.key())),
        mode,
        key: match &encryption {
            Ok(BucketEncryption::ByKms(Some(key))) if key.starts_with("arn:") => Some(key.as_str()),
            _ => None,
        },
        roots: &roots,
    };
    let role = role(arguments, connection, wanted).await;
    let notifications = match bucket.notifications(place.bucket()).await {
        Ok(document) => {
            NotificationConfiguration::parse(&document).map_err(|e| Unknown::because(e.to_string()))
        }
        Err(error) => Err(error.into()),
    };
    Ok(Facts {
        place: place.clone(),
        of_aws: !connection.is_foreign(),
        now: SystemClock.now(),
        reaction: arguments.reaction,
        versioning: versioning.map_err(Unknown::from),
        mfa_delete: bucket.mfa_delete(place.bucket()).await.map_err(Unknown::from),
        rules: reading.lifecycle(place.bucket()).await.map_err(Unknown::from),
        churn: churn(&reading, place, arguments.pages).await,
        swept: swept(arguments, connection, &settings).await,
        retention: bucket
            .default_retention(place.bucket())
            .await
            .map_err(Unknown::from),
        encryption,
        key,
        notifications,
        our_targets: arguments.target.clone(),
        replicas: bucket.replicas(place.bucket()).await.map_err(Unknown::from),
        role,
        condition: condition(arguments, connection, control.as_ref()).await,
        settings: settings.map(|s| Chosen {
            mode,
            watches: watches(&s.mandate.roots, place).next().is_some(),
            unhides: mode == Mode::Restore
                && watches(&s.mandate.roots, place).any(|root| root.strategy == Strategy::Unhide),
            control: s.mandate.control.clone(),
            principals: Principals {
                flink: s.mandate.principals.flink.clone(),
                ours: s.mandate.principals.ours.clone(),
            },
        }),
        control: control_listed,
        writers,
    })
}

fn settings(arguments: &Arguments) -> Result<Asked<Settings>, String> {
    let file = match &arguments.config {
        Some(file) => file.as_path(),
        None if Path::new(USUAL).is_file() => Path::new(USUAL),
        None => {
            return Ok(Err(Unknown::because(format!(
                "no settings are here: name them with --config, or write {USUAL} with what `stayput setup` prints"
            ))));
        }
    };
    let bytes = std::fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let settings = Settings::parse(&String::from_utf8_lossy(&bytes));
    settings.map(Ok).map_err(|e| format!("{}: {e}", file.display()))
}

/// The roots at, above or below a place.
fn watches<'r>(roots: &'r Roots, place: &'r ObjectLocation) -> impl Iterator<Item = &'r Root> {
    roots.iter().filter(|root| {
        root.bucket() == place.bucket()
            && (root.metadata_prefix().starts_with(place.key())
                || place.key().starts_with(&*root.metadata_prefix()))
    })
}

fn writers(arguments: &Arguments) -> Result<Asked<Vec<Writer>>, String> {
    let Some(file) = &arguments.events else {
        return Ok(Err(Unknown::because(
            "S3 keeps no record of who wrote an object. Give messages of s3:ObjectCreated:* with --events, as a queue or a log has them",
        )));
    };
    let text = input::read_file(file).map_err(|e| e.to_string())?;
    let place = &arguments.place;
    let mut writers = Vec::new();
    for (number, line) in (1..).zip(text.split(|&byte| byte == b'\n')) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let records = parse_body(line).map_err(|e| format!("{}: line {number}: {e}", file.display()))?;
        writers.extend(records.into_iter().filter_map(|record| {
            let Record::Created(new) = record else {
                return None;
            };
            let here = new.bucket == place.bucket() && new.key.starts_with(place.key());
            match new.agent {
                Agent::Principal(principal) if here && new.key.ends_with("/_metadata") => Some(Writer {
                    principal,
                    example: ObjectLocation::new(new.bucket, new.key).to_string(),
                }),
                _ => None,
            }
        }));
    }
    Ok(Ok(writers))
}

async fn key_state(connection: &Connection, key: Option<&str>) -> Asked<KeyState> {
    let state = encryption_key::state(connection, key.unwrap_or("alias/aws/s3")).await;
    state.map_err(Unknown::from)
}

/// Counts what a listing of versions shows, page after page, up to so many.
async fn churn(reading: &S3, place: &ObjectLocation, pages: u32) -> Asked<Churn> {
    let of = VersionsOf {
        bucket: place.bucket(),
        prefix: place.key(),
        by_directory: false,
        after_key: None,
        pages: Some(pages.max(1)),
    };
    let listing = reading.versions(of).await?;
    let mut counter = ChurnCounter::new(SystemClock.now());
    for row in &listing.entries {
        counter.count(row);
    }
    Ok(counter.finish(!listing.truncated))
}

/// A sweep that writes nothing, over the roots of the settings and this place.
async fn swept(arguments: &Arguments, connection: &Connection, settings: &Asked<Settings>) -> Asked<Swept> {
    if arguments.no_sweep {
        return Err(Unknown::because(
            "the checkpoints weren't read, as --no-sweep says",
        ));
    }
    let place = &arguments.place;
    let here = place.to_string();
    let mut mandate: Mandate = match settings {
        Ok(settings) => settings.mandate.clone(),
        Err(_) => match Settings::from_short(&here, None) {
            Ok(settings) => settings.mandate,
            Err(e) => return Err(Unknown::because(e.to_string())),
        },
    };
    if watches(&mandate.roots, place).next().is_none() {
        let root = Root::new(&here, RootKind::Checkpoints, None);
        let root = root.map_err(|e| Unknown::because(e.to_string()))?;
        let roots = mandate.roots.iter().cloned().chain([root]).collect();
        mandate.roots = Roots::new(roots);
    }
    let journal = mandate
        .control
        .clone()
        .map(|control| Onlooker(S3Journal::new(connection, control)));
    let mut guard = Guard::observing(S3::new(connection), journal, SystemClock, mandate);
    let report = guard.sweep().await;
    Ok(Swept {
        findings: report.judged.findings,
        snapshots: report.judged.summary.snapshots,
        objects: report.seen.objects,
        gaps: report.unread.into_iter().chain(report.unknown).collect(),
    })
}

async fn condition(
    arguments: &Arguments,
    connection: &Connection,
    control: Option<&ObjectLocation>,
) -> Asked<bool> {
    match control {
        _ if !arguments.probe => Err(Unknown::because(
            "what the server does with a copy onto what is visible can only be seen by writing: with --probe one small object is written below \
             the control prefix and copied onto itself",
        )),
        None => Err(Unknown::because(
            "--probe writes below the control prefix, and the settings name none",
        )),
        Some(control) => {
            let habits = probe::ask_below(connection, control).await?;
            Ok(habits.honours_condition)
        }
    }
}

async fn role(arguments: &Arguments, connection: &Connection, wanted: Wanted<'_>) -> Asked<Role> {
    let iam = Iam::new(connection);
    let caller = iam.caller().await?;
    let text = arguments.role.as_deref().unwrap_or(&caller);
    let named = principal::parse(text).map_err(|e| Unknown::because(e.to_string()))?;
    let (Named::Role { name, .. } | Named::User { name, .. }) = &named else {
        return Err(Unknown::because(format!(
            "{text} is an id; IAM is asked by name or ARN"
        )));
    };
    let found = principal::resolve(&iam, text, &named, principal::account_of(&caller)).await;
    let found = found.map_err(|e| Unknown::because(e.to_string()))?;
    Ok(Role {
        name: name.clone(),
        is_stayputs: arguments.role.is_some(),
        may: iam.may(&found.arn, &needs(wanted)).await.map_err(Unknown::from),
    })
}
