//! The settings document: TOML or JSON, the same for the Lambda and the command.

use std::time::Duration;

use bytesize::ByteSize;
use serde::Deserialize;
use stayput_core::cause::Principals;
use stayput_core::location::{Location, ObjectLocation};
use stayput_core::metadata_limit::MetadataLimit;
use stayput_core::restoring::parts::{MAX_SINGLE_COPY_BYTES, PartSizes};
use stayput_core::root::{Protect, Root, RootError, RootKind, Roots, Strategy};
use stayput_core::thaw::{ThawOrder, ThawTier};
use stayput_core::timestamp::Timestamp;
use stayput_core::verdict::Policy;
use stayput_core::version::is_archive_class;

use crate::mandate::{Mandate, SIDECARS_FROM};
use crate::parking::{NotAQueue, QueueUrl};
use crate::topic::{NotATopic, TopicArn};

/// Whether the guard copies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Says what it would do; writes only below `control`.
    #[default]
    Observe,
    /// Restores.
    Restore,
}

/// Settings that were read and checked.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Whether the guard copies.
    pub mode: Mode,
    /// The queue that messages wait in until they are due.
    pub parked_queue: Option<QueueUrl>,
    /// The topic that findings are published to.
    pub findings_topic: Option<TopicArn>,
    /// Our own role's id, if it was given; else it is asked once.
    pub role: Option<String>,
    /// At most so many copies a second in one prefix.
    pub copies_per_second: u32,
    /// What is copied in parts, and how long these are: `copy_in_parts_above`.
    pub part_sizes: PartSizes,
    /// How archived versions are asked for: `[thaw]`.
    pub thaw: ThawOrder,
    /// What the guard watches.
    pub mandate: Mandate,
}

/// Where, why, and the line that says which field it is: on one line, as a log and a terminal want it, and not as the picture that the parser draws.
fn place_and_reason(error: &toml::de::Error) -> String {
    let drawn = error.to_string();
    let place = drawn
        .lines()
        .next()
        .and_then(|first| first.strip_prefix("TOML parse error"));
    let reason = error.message().trim().replace('\n', "; ");
    let numbered = |line: &str| {
        let (number, text) = line.split_once(" | ")?;
        number.trim().parse::<u64>().ok()?;
        Some(text.trim().to_owned())
    };
    let line = drawn.lines().find_map(numbered);
    let line = line.map(|line| format!(", in `{line}`")).unwrap_or_default();
    format!("{}: {reason}{line}", place.unwrap_or_default())
}

/// Why settings can't be used. Every message names the field.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The text isn't TOML.
    #[error("the settings are no valid TOML for Stayput{}", place_and_reason(.0))]
    Toml(#[from] toml::de::Error),
    /// The text begins like JSON but isn't.
    #[error("the settings are no valid JSON for Stayput: {0}")]
    Json(#[from] serde_json::Error),
    /// Nothing to watch.
    #[error("roots is empty: name at least one prefix that Flink writes below, or set STAYPUT_ROOTS")]
    NoRoots,
    /// A root can't be used.
    #[error("{0}")]
    Root(#[from] RootError),
    /// `control` isn't an S3 prefix.
    #[error("control {0:?} is no S3 location: write s3://bucket/prefix/")]
    Control(String),
    /// `control` lies where Flink writes.
    #[error(
        "control {control} lies under the root {root}: rules and clean-ups there would take Stayput's memory; choose another prefix"
    )]
    ControlUnderRoot {
        /// The control prefix.
        control: String,
        /// The root.
        root: String,
    },
    /// Two roots are the same prefix.
    #[error(
        "roots.uri {0} is there twice: which kind, protect and storage_class hold would depend on their order; write it once"
    )]
    RootTwice(String),
    /// Copies would go to a class in which no job can read them.
    #[error(
        "roots.storage_class {0:?} is an archive, in which no job can read a copy: leave it out for STANDARD"
    )]
    CopiesInArchive(String),
    /// A principal that no S3 notification can name.
    #[error("{field} {text:?} {why}")]
    Principal {
        /// The field.
        field: &'static str,
        /// As written.
        text: String,
        /// What is wrong with it, and how to find the right one.
        why: &'static str,
    },
    /// `copy_in_parts_above` is nothing, or more than one request copies.
    #[error(
        "copy_in_parts_above is {0}: write at most 5GiB, which is all that one request copies, and at least a byte"
    )]
    InPartsAbove(ByteSize),
    /// `thaw.days` is shorter than a sweep's interval.
    #[error(
        "thaw.days is {0}: write at least 2, since the sweep that copies what was thawed comes once a day"
    )]
    ThawDays(u16),
    /// `parked_queue` names no queue.
    #[error(transparent)]
    Queue(#[from] NotAQueue),
    /// `findings_topic` names no topic.
    #[error(transparent)]
    Topic(#[from] NotATopic),
    /// `STAYPUT_MODE` is neither.
    #[error("STAYPUT_MODE is {0:?}: write observe or restore")]
    Mode(String),
    /// A kind in `STAYPUT_ROOTS` is none.
    #[error(
        "STAYPUT_ROOTS: {0:?} is no kind of root: write checkpoints=, savepoints=, ha=, dstl= or sink= before the uri, or nothing for checkpoints"
    )]
    Kind(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    mode: Mode,
    control: Option<String>,
    protect_since: Option<Timestamp>,
    #[serde(default = "ninety_days", with = "humantime_serde")]
    dormant_after: Duration,
    #[serde(default = "five_minutes", with = "humantime_serde")]
    settle: Duration,
    #[serde(default, with = "humantime_serde")]
    catalogue_max_age: Option<Duration>,
    #[serde(default = "two_gib")]
    max_metadata_bytes: ByteSize,
    #[serde(default = "five_gib")]
    copy_in_parts_above: ByteSize,
    parked_queue: Option<String>,
    findings_topic: Option<String>,
    #[serde(default)]
    roots: Vec<RootDocument>,
    #[serde(default)]
    flink: FlinkDocument,
    #[serde(default)]
    stayput: StayputDocument,
    #[serde(default)]
    budget: BudgetDocument,
    #[serde(default)]
    thaw: ThawDocument,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RootDocument {
    uri: String,
    kind: RootKind,
    entropy: Option<String>,
    #[serde(default)]
    protect: Protect,
    #[serde(default)]
    strategy: Strategy,
    storage_class: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct FlinkDocument {
    #[serde(default)]
    principals: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct StayputDocument {
    role: Option<String>,
    #[serde(default)]
    guards: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct BudgetDocument {
    objects_per_day: u64,
    bytes_per_day: ByteSize,
    copies_per_second: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ThawDocument {
    tier: ThawTier,
    days: u16,
}

impl Default for ThawDocument {
    fn default() -> Self {
        let ThawOrder { tier, days } = ThawOrder::default();
        Self { tier, days }
    }
}

impl Default for BudgetDocument {
    fn default() -> Self {
        Self {
            objects_per_day: 100_000,
            bytes_per_day: ByteSize::tb(2),
            copies_per_second: 100,
        }
    }
}

fn ninety_days() -> Duration {
    Duration::from_secs(90 * 86_400)
}

fn five_minutes() -> Duration {
    Duration::from_secs(300)
}

fn two_gib() -> ByteSize {
    ByteSize::gib(2)
}

fn five_gib() -> ByteSize {
    ByteSize::b(MAX_SINGLE_COPY_BYTES)
}

impl Settings {
    /// Reads a document: JSON if it begins with `{`, else TOML.
    pub fn parse(text: &str) -> Result<Self, SettingsError> {
        let document: Document = if text.trim_start().starts_with('{') {
            serde_json::from_str(text)?
        } else {
            toml::from_str(text)?
        };
        Self::check(document)
    }

    /// The two short variables that suffice to begin with: `STAYPUT_ROOTS`, uris separated by commas, each with an optional
    /// `kind=` before it (checkpoints if none), and `STAYPUT_MODE`.
    pub fn from_short(roots: &str, mode: Option<&str>) -> Result<Self, SettingsError> {
        let mode = match mode.map(str::trim) {
            None | Some("" | "observe") => Mode::Observe,
            Some("restore") => Mode::Restore,
            Some(other) => return Err(SettingsError::Mode(other.to_owned())),
        };
        let mut documents = Vec::new();
        for part in roots.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            let (kind, uri) = match part.split_once('=').filter(|(kind, _)| !kind.contains(':')) {
                None => (RootKind::Checkpoints, part),
                Some((kind, uri)) => {
                    let known = match kind.trim() {
                        "checkpoints" => RootKind::Checkpoints,
                        "savepoints" => RootKind::Savepoints,
                        "ha" => RootKind::Ha,
                        "dstl" => RootKind::Dstl,
                        "sink" => RootKind::Sink,
                        other => return Err(SettingsError::Kind(other.to_owned())),
                    };
                    (known, uri.trim())
                }
            };
            documents.push(RootDocument {
                uri: uri.to_owned(),
                kind,
                entropy: None,
                protect: Protect::Default,
                strategy: Strategy::Copy,
                storage_class: None,
            });
        }
        Self::check(Document {
            mode,
            control: None,
            protect_since: None,
            dormant_after: ninety_days(),
            settle: five_minutes(),
            catalogue_max_age: None,
            max_metadata_bytes: two_gib(),
            copy_in_parts_above: five_gib(),
            parked_queue: None,
            findings_topic: None,
            roots: documents,
            flink: FlinkDocument::default(),
            stayput: StayputDocument::default(),
            budget: BudgetDocument::default(),
            thaw: ThawDocument::default(),
        })
    }

    /// Sentences about what may be a mistake, for the log at start: on AWS it is one, other servers may mean it so.
    pub fn doubts(&self) -> Vec<String> {
        let principals = &self.mandate.principals;
        let looks_like_an_id = |text: &String| {
            text.starts_with('A')
                && text.len() >= 8
                && text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
        };
        let listed = (principals.flink.iter().map(|p| ("flink.principals", p))).chain(
            principals
                .ours
                .iter()
                .map(|p| ("stayput.role or stayput.guards", p)),
        );
        let queue = self.parked_queue.iter().filter(|url| !url.is_whole()).map(|url| {
            format!(
                "parked_queue: {:?} isn't a queue's whole URL (https://sqs.REGION.amazonaws.com/ACCOUNT/NAME): what can't be parked goes back to the \
                 queue that it came from",
                url.as_str()
            )
        });
        listed
            .filter(|(_, p)| !looks_like_an_id(p))
            .map(|(field, p)| {
                format!(
                    "{field}: {p:?} doesn't look like the unique id of a role (AROA…): if it is a role's name, AWS never sends it, and \
                     deletions by that role count as a stranger's. Ask for the id with `aws iam get-role --role-name {p} --query Role.RoleId`"
                )
            })
            .chain(queue)
            .collect()
    }

    fn check(document: Document) -> Result<Self, SettingsError> {
        if document.roots.is_empty() {
            return Err(SettingsError::NoRoots);
        }
        let mut roots = Vec::with_capacity(document.roots.len());
        for r in document.roots {
            let mut root = Root::new(&r.uri, r.kind, r.entropy.as_deref())?;
            root.protect = r.protect;
            root.strategy = r.strategy;
            if let Some(class) = r.storage_class.as_ref().filter(|class| is_archive_class(class)) {
                return Err(SettingsError::CopiesInArchive(class.clone()));
            }
            root.storage_class = r.storage_class;
            roots.push(root);
        }
        for (n, root) in roots.iter().enumerate() {
            let same = |other: &Root| other.bucket() == root.bucket() && other.prefix() == root.prefix();
            if roots[..n].iter().any(same) {
                let uri = format!("s3://{}/{}", root.bucket(), root.prefix());
                return Err(SettingsError::RootTwice(uri));
            }
        }
        check_principals("flink.principals", &document.flink.principals)?;
        check_principals("stayput.guards", &document.stayput.guards)?;
        check_principals("stayput.role", document.stayput.role.as_slice())?;
        let control = match document.control {
            None => None,
            Some(text) => match Location::parse_flink_path(&text) {
                Ok(Location::S3(at)) => {
                    let key = at.key().trim_end_matches('/');
                    let key = if key.is_empty() {
                        String::new()
                    } else {
                        format!("{key}/")
                    };
                    Some(ObjectLocation::new(at.bucket(), key))
                }
                Ok(Location::Foreign(_)) | Err(_) => return Err(SettingsError::Control(text)),
            },
        };
        if let Some(control) = &control
            && let Some(root) = roots
                .iter()
                .find(|r| r.bucket() == control.bucket() && r.plain_key(control.key()).is_some())
        {
            let root = format!("s3://{}/{}", root.bucket(), root.metadata_prefix());
            return Err(SettingsError::ControlUnderRoot {
                control: control.to_string(),
                root,
            });
        }
        let in_parts_above = document.copy_in_parts_above;
        if !(1..=MAX_SINGLE_COPY_BYTES).contains(&in_parts_above.as_u64()) {
            return Err(SettingsError::InPartsAbove(in_parts_above));
        }
        let ThawDocument { tier, days } = document.thaw;
        // The sweep comes once a day, and must find the bytes still there.
        if days < 2 {
            return Err(SettingsError::ThawDays(days));
        }
        let findings_topic = document.findings_topic;
        let mut ours = document.stayput.guards;
        ours.extend(document.stayput.role.clone());
        Ok(Self {
            mode: document.mode,
            parked_queue: document
                .parked_queue
                .as_deref()
                .map(QueueUrl::parse)
                .transpose()?,
            findings_topic: findings_topic.as_deref().map(TopicArn::parse).transpose()?,
            role: document.stayput.role,
            copies_per_second: document.budget.copies_per_second,
            part_sizes: PartSizes {
                single: in_parts_above.as_u64(),
                ..PartSizes::S3
            },
            thaw: ThawOrder { tier, days },
            mandate: Mandate {
                roots: Roots::new(roots),
                control,
                principals: Principals {
                    flink: document.flink.principals,
                    ours,
                },
                policy: Policy {
                    settle: document.settle,
                    dormant_after: document.dormant_after,
                },
                catalogue_max_age: document.catalogue_max_age.unwrap_or(document.settle),
                metadata_limit: MetadataLimit::of_settings(document.max_metadata_bytes.as_u64()),
                sidecars_from: SIDECARS_FROM,
                protect_since: document.protect_since,
                objects_per_day: document.budget.objects_per_day,
                bytes_per_day: document.budget.bytes_per_day.as_u64(),
            },
        })
    }
}

/// S3 names who deleted an object by the unique id of its role or user, never by ARN or name.
fn check_principals(field: &'static str, principals: &[String]) -> Result<(), SettingsError> {
    for text in principals {
        let why = if text.starts_with("arn:") {
            "is an ARN, but S3's notifications name a role by its unique id (AROA…), so it would match nobody: ask for it with \
             `aws iam get-role --role-name NAME --query Role.RoleId`"
        } else if text.len() == 12 && text.bytes().all(|b| b.is_ascii_digit()) {
            "is an account, and every role of it would pass for this one: name roles by their unique ids (AROA…)"
        } else if text.is_empty() || text.contains([':', '/']) || text.contains(char::is_whitespace) {
            "is no unique id of a role (AROA…) or user (AIDA…), without `AWS:` before and session name behind: ask for it with \
             `aws iam get-role --role-name NAME --query Role.RoleId`"
        } else {
            continue;
        };
        return Err(SettingsError::Principal {
            field,
            text: text.clone(),
            why,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"
        mode = "restore"
        control = "s3://ops/stayput/"
        protect_since = "2026-11-29T00:00:00Z"
        dormant_after = "90d"
        settle = "5m"
        max_metadata_bytes = "2GiB"
        parked_queue = "https://sqs.eu-west-1.amazonaws.com/111122223333/parked"
        [[roots]]
        uri = "s3://flink-state/checkpoints/"
        kind = "checkpoints"
        protect = "all"
        storage_class = "STANDARD"
        [flink]
        principals = ["AROAEXAMPLEID"]
        [stayput]
        role = "AROAOURS"
        guards = ["AROAOTHER"]
        [budget]
        objects_per_day = 100000
        bytes_per_day = "2TB"
        copies_per_second = 100
    "#;

    #[test]
    fn the_whole_document_is_read_and_what_is_left_out_has_a_default() {
        let settings = Settings::parse(WHOLE).unwrap();
        assert_eq!(settings.mode, Mode::Restore);
        assert_eq!(settings.mandate.metadata_limit.bytes(), 2 << 30);
        assert_eq!(settings.mandate.catalogue_max_age, Duration::from_secs(300));
        assert_eq!(settings.mandate.principals.ours, ["AROAOTHER", "AROAOURS"]);
        assert_eq!(settings.mandate.bytes_per_day, 2_000_000_000_000);
    }

    #[test]
    fn copies_never_go_to_an_archive() {
        for class in ["GLACIER", "DEEP_ARCHIVE"] {
            let refused = Settings::parse(&WHOLE.replace("\"STANDARD\"", &format!("{class:?}"))).unwrap_err();
            assert!(
                matches!(&refused, SettingsError::CopiesInArchive(c) if c == class),
                "{refused}"
            );
        }
        let settings = Settings::parse(&WHOLE.replace("\"STANDARD\"", "\"STANDARD_IA\"")).unwrap();
        let class = |root: &Root| root.storage_class.clone();
        assert_eq!(
            settings.mandate.roots.iter().next().and_then(class).as_deref(),
            Some("STANDARD_IA")
        );
    }

    #[test]
    fn what_is_wrong_with_a_value_is_told_on_one_line_with_its_place() {
        let roots = "[[roots]]\nuri = \"s3://b/cp/\"\nkind = \"checkpoints\"\n";
        for (text, place, field) in [
            (
                format!("{roots}[budget]\nobjects_per_day = \"many\"\n"),
                "line 5",
                "many",
            ),
            (format!("mode = \"obzerve\"\n{roots}"), "line 1", "obzerve"),
            ("mode = \n".to_owned(), "line 1", "string"),
        ] {
            let told = Settings::parse(&text).unwrap_err().to_string();
            assert!(told.contains(place) && told.contains(field), "{told}");
            assert!(!told.contains('\n'), "{told}");
        }
    }

    #[test]
    fn json_says_the_same_as_toml() {
        let json = r#"{"mode":"restore","settle":"2s","roots":[{"uri":"s3a://b/cp","kind":"checkpoints"}]}"#;
        let settings = Settings::parse(json).unwrap();
        assert_eq!(settings.mandate.policy.settle, Duration::from_secs(2));
        assert_eq!(
            settings.mandate.roots.iter().next().unwrap().metadata_prefix(),
            "cp/"
        );
    }

    #[test]
    fn every_message_names_the_field() {
        let wrong = [
            (
                "[[roots]]\nuri='s3://b/c/'\nkind='checkpoints'\n[budget]\nobjects='1'",
                "objects",
            ),
            ("mode='restore'", "roots"),
            (
                "settle='five'\n[[roots]]\nuri='s3://b/c/'\nkind='checkpoints'",
                "settle",
            ),
            ("[[roots]]\nuri='hdfs://b/c/'\nkind='checkpoints'", "roots.uri"),
            (
                "[[roots]]\nuri='s3://b/c/'\nkind='checkpoints'\n[thaw]\ndays=1",
                "thaw.days",
            ),
            (
                "[[roots]]\nuri='s3://b/c/'\nkind='checkpoints'\n[thaw]\ntier='fast'",
                "tier",
            ),
            (
                "copy_in_parts_above='6GiB'\n[[roots]]\nuri='s3://b/c/'\nkind='checkpoints'",
                "copy_in_parts_above",
            ),
            (
                "copy_in_parts_above='0B'\n[[roots]]\nuri='s3://b/c/'\nkind='checkpoints'",
                "copy_in_parts_above",
            ),
            (
                "findings_topic='findings'\n[[roots]]\nuri='s3://b/c/'\nkind='checkpoints'",
                "findings_topic",
            ),
            (
                "parked_queue='arn:aws:sqs:eu-west-1:111122223333:parked'\n[[roots]]\nuri='s3://b/c/'\nkind='checkpoints'",
                "parked_queue",
            ),
            (
                "control='/tmp'\n[[roots]]\nuri='s3://b/c/'\nkind='checkpoints'",
                "control",
            ),
            (
                "control='s3://b/c/x'\n[[roots]]\nuri='s3://b/c/'\nkind='checkpoints'",
                "control",
            ),
            (
                "modus='restore'\n[[roots]]\nuri='s3://b/c/'\nkind='checkpoints'",
                "modus",
            ),
            ("[[roots]]\nuri='s3://b/c/'\nkind='checkpoint'", "kind"),
            (
                "[[roots]]\nuri='s3://b/c/'\nkind='checkpoints'\n[[roots]]\nuri='s3a://b/c'\nkind='savepoints'",
                "roots.uri s3://b/c/ is there twice",
            ),
            (
                "[[roots]]\nuri='s3://b/c/'\nkind='checkpoints'\nentropy='_entropy_'",
                "roots.entropy \"_entropy_\" doesn't occur in roots.uri",
            ),
            (
                "[[roots]]\nuri='s3://b/c/'\nkind='checkpoints'\n[flink]\nprincipals=['arn:aws:iam::111122223333:role/flink']",
                "flink.principals",
            ),
            (
                "[[roots]]\nuri='s3://b/c/'\nkind='checkpoints'\n[flink]\nprincipals=['111122223333']",
                "is an account",
            ),
            (
                "[[roots]]\nuri='s3://b/c/'\nkind='checkpoints'\n[flink]\nprincipals=['AWS:AROAEXAMPLE:session']",
                "session name",
            ),
            (
                "[[roots]]\nuri='s3://b/c/'\nkind='checkpoints'\n[stayput]\nrole='arn:aws:iam::111122223333:role/stayput'",
                "stayput.role",
            ),
        ];
        for (text, field) in wrong {
            let message = Settings::parse(text).unwrap_err().to_string();
            assert!(message.contains(field), "{text}: {message}");
        }
    }

    #[test]
    fn a_roles_name_in_place_of_its_id_is_doubted_and_used() {
        let text = "[[roots]]\nuri='s3://b/c/'\nkind='checkpoints'\n[flink]\nprincipals=['flink-prod', 'AROAEXAMPLEID']";
        let settings = Settings::parse(text).unwrap();
        assert_eq!(settings.mandate.principals.flink.len(), 2);
        let doubts = settings.doubts();
        assert_eq!(doubts.len(), 1);
        assert!(doubts[0].contains("flink.principals") && doubts[0].contains("--role-name flink-prod"));
        assert!(Settings::parse(WHOLE).unwrap().doubts().is_empty());
        let text = "parked_queue='ParkedQueue'\n[[roots]]\nuri='s3://b/c/'\nkind='checkpoints'";
        let doubts = Settings::parse(text).unwrap().doubts();
        assert!(
            doubts.len() == 1 && doubts[0].starts_with("parked_queue"),
            "{doubts:?}"
        );
    }

    #[test]
    fn two_variables_suffice_and_observe_is_the_default() {
        let settings = Settings::from_short("s3://b/cp/, savepoints=s3://b/sp/", None).unwrap();
        assert_eq!(settings.mode, Mode::Observe);
        let kinds: Vec<_> = settings.mandate.roots.iter().map(|r| r.kind).collect();
        assert_eq!(kinds.len(), 2);
        assert!(kinds.contains(&RootKind::Savepoints));
        assert!(Settings::from_short("", None).is_err());
        assert!(
            Settings::from_short("s3://b/cp/", Some("yes"))
                .unwrap_err()
                .to_string()
                .contains("STAYPUT_MODE")
        );
        assert!(
            Settings::from_short("blob=s3://b/cp/", None)
                .unwrap_err()
                .to_string()
                .contains("blob")
        );
    }
}
