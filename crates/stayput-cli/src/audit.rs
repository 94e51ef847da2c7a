//! `stayput audit`: what lifecycle rules will do to checkpoints, from files alone, without any bucket.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::{Args, ValueEnum};
use s3_documents::bucket::Versioning;
use s3_documents::lifecycle::{self, LifecycleConfiguration, LifecycleRule};
use s3_documents::listing::{self, Listing, Row};
use serde::Serialize;
use stayput_core::catalogue::Catalogue;
use stayput_core::forecast::{self, Forecast, Forecaster, Listed};
use stayput_core::lifecycle_rules::is_of_s3;
use stayput_core::location::{Location, ObjectLocation};
use stayput_core::report::finding::Finding;
use stayput_core::sinks::Sinks;
use stayput_core::timestamp::Timestamp;
use stayput_core::whereabouts;

use crate::exit::Exit;
use crate::input::{self, At, Input};
use crate::terminal::{Shown, ShownJson, complain};

mod text;

/// What `audit` is given.
#[derive(Args, Debug)]
#[command(after_help = Exit::HELP)]
pub struct Arguments {
    /// The bucket's lifecycle rules: the output of `aws s3api get-bucket-lifecycle-configuration`, or XML. - for standard input
    #[arg(long, value_name = "FILE")]
    rules: PathBuf,
    /// `_metadata` files of checkpoints and savepoints that must stay, or directories that hold one
    #[arg(long, required = true, value_name = "FILE", num_args = 1..)]
    snapshot: Vec<PathBuf>,
    /// Listings of the bucket, for ages and sizes: the output of `aws s3api list-objects-v2`, `list-object-versions` or `aws s3 ls --recursive`
    #[arg(long, value_name = "FILE", num_args = 1..)]
    listing: Vec<PathBuf>,
    /// Where the snapshot lies, if its own paths don't say: s3://bucket/…/chk-8
    #[arg(long, value_name = "URI", value_parser = input::place)]
    at: Option<At>,
    /// The bucket of rules and listings, if the snapshots name several
    #[arg(long, value_name = "NAME")]
    bucket: Option<String>,
    /// Whether the bucket keeps versions. Not said: taken to be enabled
    #[arg(long, value_enum, value_name = "STATE")]
    versioning: Option<VersioningState>,
    /// The moment to ask about, such as 2026-03-14T00:00:00Z. Default: now
    #[arg(long, value_name = "TIME", value_parser = Timestamp::parse)]
    now: Option<Timestamp>,
    /// The form of the answer
    #[arg(long, value_enum, default_value_t)]
    output: Output,
    /// The same as --output json
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum VersioningState {
    /// A rule hides objects; they can be put back
    Enabled,
    /// Versions exist, but what is written now has none
    Suspended,
    /// A rule deletes objects for good
    Never,
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

/// What was found, and what it rests on.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    forecast: &'a Forecast,
    findings: &'a [Finding],
    /// Snapshots whose objects were asked about, as URLs of their `_metadata`.
    snapshots: Vec<String>,
    /// What the answer rests on besides, and what it leaves out.
    notes: &'a [String],
}

/// Everything that was read.
struct Audit {
    bucket: String,
    rules: LifecycleConfiguration,
    versioning: Versioning,
    catalogue: Catalogue,
    /// What the sinks of each snapshot keep, by its `_metadata`.
    sinks: Vec<(ObjectLocation, Sinks)>,
    now: Timestamp,
    notes: Vec<String>,
}

/// Holds snapshots against rules.
///
/// # Errors
/// The output can't be written.
pub fn run(arguments: &Arguments, out: &mut dyn Write) -> io::Result<Exit> {
    if let Some(exit) = input::one_place_for_one_file(arguments.at.as_ref(), arguments.snapshot.len()) {
        return Ok(exit);
    }
    let (audit, mut exit) = match read(arguments) {
        Ok(read) => read,
        Err((exit, message)) => {
            complain(format_args!("stayput: {}", Shown(&message)));
            return Ok(exit);
        }
    };
    let needed: Vec<_> = audit.catalogue.iter().map(|(id, _)| id).collect();
    let mut forecaster = Forecaster::new(&audit.catalogue, needed, audit.now);
    forecaster.bucket(&audit.bucket, &audit.rules, audit.versioning);
    for (metadata, sinks) in &audit.sinks {
        for (object, id) in sinks.uploads().into_keys() {
            forecaster.upload(metadata, &object, id, None);
        }
    }
    let mut notes = audit.notes.clone();
    for file in &arguments.listing {
        if let Err(message) = tell(file, &audit.bucket, &mut forecaster, &mut notes) {
            complain(format_args!("stayput: {}", Shown(&message)));
            return Ok(Exit::Usage);
        }
    }
    let forecast = forecaster.finish();
    let findings = forecast.findings();
    let hidden = forecast
        .buckets
        .iter()
        .any(|b| b.hidden > 0 || b.archived.objects > 0);
    if forecast.is_harmful() || hidden {
        exit = exit.and(Exit::Findings);
    }
    // A listing that shows nothing of what is needed is one of another place, or nearly all is gone.
    let unlisted = forecast
        .buckets
        .iter()
        .any(|b| b.needed.objects > 0 && b.unlisted >= b.needed.objects);
    if !arguments.listing.is_empty() && unlisted {
        exit = exit.and(Exit::Findings);
    }
    if forecast
        .buckets
        .iter()
        .all(|b| b.needed.objects == 0 && b.hidden == 0)
    {
        notes.push(format!(
            "Nothing that the snapshots need lies in s3://{}, so its rules were held against nothing. Say with --bucket which one the rules \
             are of.",
            audit.bucket
        ));
        exit = exit.and(Exit::CantTell);
    }
    for (rule, class) in unknown_classes(&audit.rules) {
        notes.push(format!(
            "The {rule} moves objects to {class:?}, which isn't a class of S3 (their names are written in capitals, such as GLACIER): \
             nobody can tell here whether a job could still read them."
        ));
        exit = exit.and(Exit::CantTell);
    }
    let snapshots: Vec<String> = audit
        .catalogue
        .iter()
        .map(|(_, s)| s.metadata.to_string())
        .collect();
    if arguments.json || arguments.output == Output::Json {
        let document = Document {
            forecast: &forecast,
            findings: &findings,
            snapshots,
            notes: &notes,
        };
        writeln!(out, "{}", ShownJson(&serde_json::to_string_pretty(&document)?))?;
    } else {
        text::write(
            &forecast,
            snapshots.len(),
            !arguments.listing.is_empty(),
            &notes,
            out,
        )?;
    }
    Ok(exit)
}

/// What can't be used at all, and how the command ends.
type Refused = (Exit, String);

fn read(arguments: &Arguments) -> Result<(Audit, Exit), Refused> {
    let rules = bytes(&arguments.rules, "the rules")?;
    let rules =
        lifecycle::parse(&rules).map_err(|e| (Exit::Usage, format!("{}: {e}", arguments.rules.display())))?;
    let mut catalogue = Catalogue::new();
    let mut notes = Vec::new();
    let mut exit = Exit::Fine;
    let mut elsewhere = 0;
    let mut sinks = Vec::new();
    for file in &arguments.snapshot {
        let input = input::read(file, arguments.at.as_ref()).map_err(|e| (Exit::Usage, e.to_string()))?;
        match snapshot(&input, &mut catalogue) {
            Ok(read) => {
                elsewhere += read.elsewhere;
                let of_sinks = stayput_core::sinks::find(&input.bytes, Some(&read.at));
                notes.extend(unread_sinks(&input.name, &of_sinks, &rules));
                sinks.push((read.at.clone(), of_sinks));
                if read.guessed {
                    notes.push(format!(
                        "{} is taken to lie at {}, by the paths in it. If it doesn't, say where with --at.",
                        input.name, read.at
                    ));
                }
            }
            Err((Exit::CantTell, message)) => {
                complain(format_args!("stayput: {}", Shown(&message)));
                notes.push(format!("{message} What it needs isn't part of this answer."));
                exit = exit.and(Exit::CantTell);
            }
            Err(refused) => return Err(refused),
        }
    }
    if elsewhere > 0 {
        notes.push(format!(
            "{elsewhere} handles name files on other file systems than S3, which no rule of a bucket reaches."
        ));
    }
    let bucket = bucket(arguments, &catalogue)?;
    let versioning = match arguments.versioning {
        Some(VersioningState::Enabled) => Versioning::Enabled,
        Some(VersioningState::Suspended) => Versioning::Suspended,
        Some(VersioningState::Never) => Versioning::Never,
        None => {
            notes.push(
                "Versioning is taken to be enabled. If it isn't, what a rule takes is gone for good: look with `aws s3api \
                 get-bucket-versioning`, and say it with --versioning."
                    .to_owned(),
            );
            Versioning::Enabled
        }
    };
    let now = match arguments.now {
        Some(now) => now,
        None => clock()?,
    };
    let audit = Audit {
        bucket,
        rules,
        versioning,
        catalogue,
        sinks,
        now,
        notes,
    };
    Ok((audit, exit))
}

fn clock() -> Result<Timestamp, Refused> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since
        .ok()
        .and_then(|since| i64::try_from(since.as_millis()).ok())
        .map(Timestamp::from_millis)
        .ok_or_else(|| {
            (
                Exit::Usage,
                "this machine's clock stands before 1970: say the time with --now".to_owned(),
            )
        })
}

/// A file that is used whole or not at all.
fn bytes(file: &Path, what: &str) -> Result<Vec<u8>, Refused> {
    input::read_file(file).map_err(|e| (Exit::Usage, format!("{e} ({what})")))
}

/// What isn't known of the sinks of a snapshot, where a rule aborts uploads.
fn unread_sinks(name: &str, sinks: &Sinks, rules: &LifecycleConfiguration) -> Option<String> {
    let aborts = |rule: &LifecycleRule| rule.enabled && rule.abort_incomplete_upload_days.is_some();
    let unread = sinks.blobs.len() + sinks.unknown.len();
    (unread > 0 && rules.rules.iter().any(aborts)).then(|| {
        format!(
            "{name}: state of file sinks that lies in other objects, or that can't be read, isn't part of this answer ({unread} of them): \
             unfinished uploads that it names aren't counted."
        )
    })
}

/// A `_metadata` that was put into the catalogue.
struct InCatalogue {
    at: ObjectLocation,
    /// Its own paths say so, nobody else.
    guessed: bool,
    /// How many of its handles name files on other file systems.
    elsewhere: u64,
}

/// Puts a `_metadata` into the catalogue.
fn snapshot(input: &Input, catalogue: &mut Catalogue) -> Result<InCatalogue, Refused> {
    let said = input.at.as_ref().is_some_and(|at| !at.guessed);
    let at = match &input.at {
        Some(At {
            location: Location::S3(directory),
            guessed: false,
            ..
        }) => forecast::metadata_in(directory),
        Some(At {
            guessed: false, text, ..
        }) => {
            return Err((
                Exit::Usage,
                format!(
                    "--at {text}: rules of a bucket reach only what lies on S3; write s3://bucket/…/chk-8"
                ),
            ));
        }
        Some(At { guessed: true, .. }) | None => whereabouts::told_by_paths(&input.bytes, |at| {
            at.s3().is_some()
        })
        .map_err(|e| (Exit::CantTell, format!("{}: {e}.", input.name)))?
        .as_ref()
        .and_then(Location::s3)
        .map(forecast::metadata_in)
        .ok_or_else(|| {
            (
                Exit::Usage,
                format!(
                    "{}: its paths don't say where on S3 it lies. Say it with --at s3://bucket/…/chk-8",
                    input.name
                ),
            )
        })?,
    };
    let entered = forecast::enter(catalogue, &input.bytes, &at)
        .map_err(|why| (Exit::CantTell, format!("{}: {why}.", input.name)))?;
    Ok(InCatalogue {
        at,
        guessed: !said,
        elsewhere: entered.elsewhere,
    })
}

/// Classes that rules move objects to and that S3 doesn't have.
fn unknown_classes(rules: &LifecycleConfiguration) -> Vec<(String, &str)> {
    let named = |rule: &LifecycleRule| match &rule.id {
        Some(id) => format!("rule {id:?}"),
        None => "unnamed rule".to_owned(),
    };
    let rules = rules.rules.iter().filter(|rule| rule.enabled);
    let classes = rules.flat_map(|rule| {
        rule.transitions
            .iter()
            .map(move |t| (named(rule), t.storage_class.as_str()))
    });
    classes.filter(|(_, class)| !is_of_s3(class)).collect()
}

/// The bucket that rules and listings are of: that of the snapshots, unless it was said.
fn bucket(arguments: &Arguments, catalogue: &Catalogue) -> Result<String, Refused> {
    if let Some(bucket) = &arguments.bucket {
        if bucket.is_empty() {
            return Err((Exit::Usage, "--bucket names no bucket".to_owned()));
        }
        return Ok(bucket.clone());
    }
    let mut buckets: Vec<&str> = catalogue.iter().map(|(_, s)| s.metadata.bucket()).collect();
    buckets.sort_unstable();
    buckets.dedup();
    match buckets.as_slice() {
        [bucket] => Ok((*bucket).to_owned()),
        [] => Err((
            Exit::CantTell,
            "no snapshot could be read, so nothing can be said about the rules".to_owned(),
        )),
        several => Err((
            Exit::Usage,
            format!(
                "the snapshots lie in several buckets ({}): say with --bucket which one the rules are of",
                several.join(", ")
            ),
        )),
    }
}

/// Tells the forecaster what a listing shows.
fn tell(
    file: &Path,
    bucket: &str,
    forecaster: &mut Forecaster<'_>,
    notes: &mut Vec<String>,
) -> Result<(), String> {
    let name = file.display();
    let bytes = input::read_file(file).map_err(|e| format!("{e} (a listing)"))?;
    let listing = listing::parse(&bytes).map_err(|e| format!("{name}: {e}"))?;
    let truncated = match listing {
        Listing::Versions(versions) => {
            for row in versions.rows().into_iter().filter(Row::is_latest) {
                let location = ObjectLocation::new(bucket, row.key());
                match row {
                    Row::Version(version) => forecaster.listed(
                        &location,
                        &Listed {
                            size: version.size,
                            written: Timestamp::from_millis(version.last_modified),
                            storage_class: version.storage_class.as_deref(),
                            tags: None,
                            null_version: Some(version.version_id == "null"),
                        },
                    ),
                    Row::Marker(_) => forecaster.hidden(&location),
                }
            }
            versions.truncated
        }
        Listing::Objects(objects) | Listing::Text(objects) => {
            for object in objects.objects {
                forecaster.listed(
                    &ObjectLocation::new(bucket, object.key),
                    &Listed {
                        size: object.size,
                        written: Timestamp::from_millis(object.last_modified),
                        storage_class: object.storage_class.as_deref(),
                        tags: None,
                        null_version: None,
                    },
                );
            }
            objects.truncated
        }
    };
    if truncated {
        notes.push(format!(
            "The listing {name} was cut off: more objects would follow."
        ));
    }
    Ok(())
}
