//! What decides whether Stayput can help with a bucket: [`Facts`] that somebody asked for, and what follows from them, check by check.
//!
//! A fact that couldn't be asked for is [`Unknown`], with the reason, and so is the check that rests on it: it is never taken for fine.

use std::time::Duration;

use s3_documents::bucket::Versioning;
use s3_documents::lifecycle::LifecycleConfiguration;
use s3_documents::notification_configuration::NotificationConfiguration;
use serde::Serialize;
use stayput_core::cause::Principals;
use stayput_core::command::aws_s3api;
use stayput_core::location::ObjectLocation;
use stayput_core::report::finding::{Finding, Severity};
use stayput_core::timestamp::Timestamp;

use crate::port::PortError;
use crate::settings::Mode;

mod acting;
mod churn;
mod code;
mod hearing;
mod keeping;
mod permissions;
mod rules;

pub use churn::{Churn, ChurnCounter};
pub use code::Code;
pub use permissions::{Needs, Wanted, needs};

/// Why something isn't known, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// In words, without a full stop.
    pub because: String,
    /// The permission that was missing, where that is the reason.
    pub denied: bool,
}

impl Unknown {
    /// Not known for this reason.
    pub fn because(why: impl Into<String>) -> Self {
        Self {
            because: why.into(),
            denied: false,
        }
    }
}

impl From<PortError> for Unknown {
    fn from(error: PortError) -> Self {
        Self {
            denied: error.kind == crate::port::PortErrorKind::Denied,
            because: error.to_string(),
        }
    }
}

/// What was learnt by asking, or why it wasn't.
pub type Asked<T> = Result<T, Unknown>;

/// How new objects of a bucket are encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BucketEncryption {
    /// By S3's own keys.
    OfS3,
    /// By a key of KMS: its id or ARN; `None`: the one that AWS keeps for S3.
    ByKms(Option<String>),
}

/// Whether a key can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// It can.
    Enabled,
    /// Somebody has switched it off.
    Disabled,
    /// It will be deleted, and can't be used until somebody cancels that.
    PendingDeletion,
    /// Another state, by KMS's name.
    Other(String),
}

/// The two modes of Object Lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// Some may lift it.
    Governance,
    /// Nobody may.
    Compliance,
}

/// What every new version is locked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefaultRetention {
    /// By which mode.
    pub mode: LockMode,
    /// For so many days.
    pub days: u32,
}

/// A rule that replicates the bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replica {
    /// Its name.
    pub rule: String,
    /// Only keys that begin so.
    pub prefix: String,
    /// The destination bucket's ARN.
    pub destination: String,
    /// Whether markers that requests make are replicated. Those of lifecycle rules never are.
    pub with_markers: bool,
}

/// Whether a principal may do something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ability {
    /// `s3:GetObject`.
    pub action: String,
    /// The resource's ARN.
    pub resource: String,
    /// Whether its mode and the roots' strategies take it; if not, nobody should have it.
    pub needed: bool,
    /// Whether its policies allow it.
    pub allowed: bool,
}

/// The role whose permissions were looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// Its name, for people and commands.
    pub name: String,
    /// Whether it is Stayput's own, and not whoever happens to run the command.
    pub is_stayputs: bool,
    /// What it may do, of what was asked.
    pub may: Asked<Vec<Ability>>,
}

/// What a sweep that changes nothing found out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swept {
    /// All its findings, the forecast's too.
    pub findings: Vec<Finding>,
    /// Snapshots that were read.
    pub snapshots: u64,
    /// Objects that they need.
    pub objects: u64,
    /// What couldn't be read.
    pub gaps: Vec<String>,
}

/// A principal that wrote a `_metadata`, as a notification named it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writer {
    /// `AWS:AROAEXAMPLE:session`.
    pub principal: String,
    /// The `_metadata`, as a URL.
    pub example: String,
}

/// What the settings say that matters here.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// How far Stayput goes.
    pub mode: Mode,
    /// Whether one of the roots lies at, above or below the place in question.
    pub watches: bool,
    /// Whether such a root has its objects un-hidden (`strategy = "unhide"`), which only mode restore does.
    pub unhides: bool,
    /// The control prefix.
    pub control: Option<ObjectLocation>,
    /// The listed principals.
    pub principals: Principals,
}

/// Everything that was asked for.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The place in question; its key ends in `/` or is empty.
    pub place: ObjectLocation,
    /// Whether the server is AWS's own.
    pub of_aws: bool,
    /// When it was asked.
    pub now: Timestamp,
    /// How long people take until they have put something right.
    pub reaction: Duration,
    /// GetBucketVersioning.
    pub versioning: Asked<Versioning>,
    /// Whether MFA delete is on.
    pub mfa_delete: Asked<bool>,
    /// The lifecycle rules.
    pub rules: Asked<LifecycleConfiguration>,
    /// What a listing of versions showed.
    pub churn: Asked<Churn>,
    /// What the sweep found.
    pub swept: Asked<Swept>,
    /// The default retention of Object Lock.
    pub retention: Asked<Option<DefaultRetention>>,
    /// The default encryption.
    pub encryption: Asked<BucketEncryption>,
    /// The state of its key; only asked where KMS encrypts.
    pub key: Option<Asked<KeyState>>,
    /// Where the bucket sends what.
    pub notifications: Asked<NotificationConfiguration>,
    /// Targets that are known to lead to Stayput, by their ARNs.
    pub our_targets: Vec<String>,
    /// Rules that replicate the bucket.
    pub replicas: Asked<Vec<Replica>>,
    /// The role that acts.
    pub role: Asked<Role>,
    /// Whether the server honours `If-None-Match` of a copy; `Err`: nobody asked.
    pub condition: Asked<bool>,
    /// The settings.
    pub settings: Asked<Chosen>,
    /// Whether the control prefix can be listed; only where there is one.
    pub control: Option<Asked<()>>,
    /// Who wrote `_metadata` here.
    pub writers: Asked<Vec<Writer>>,
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Everything was answered, and nothing needs attention.
    Fine,
    /// Something was found. There may be unknown parts beside it.
    Finding,
    /// Nothing was found, but not everything could be answered.
    Unknown,
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    /// The stable code.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// The bucket, prefix, rule or principal.
    pub about: String,
    /// What was found.
    pub what: String,
    /// Why it matters.
    pub why: String,
    /// What to do: in words, then the command if there is one.
    pub fix: String,
    /// The command to paste, where one does it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

impl Diagnosis {
    fn new(code: Code, about: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            code: code.text(),
            severity: code.severity(),
            about: about.into(),
            what: what.into(),
            why: code.why().to_owned(),
            fix: code.fix().to_owned(),
            command: None,
        }
    }

    fn by(mut self, command: impl Into<Option<String>>) -> Self {
        self.command = command.into();
        self
    }

    fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = fix.into();
        self
    }

    /// What the sweep found, which has codes of its own.
    fn of_sweep(finding: &Finding) -> Self {
        let mut what = String::new();
        if finding.objects > 0 {
            let s = if finding.objects == 1 { "" } else { "s" };
            what = format!("{} object{s}", finding.objects);
            if let Some(first) = finding.examples.first() {
                what.push_str(&format!(", such as {first}"));
            }
            what.push_str(". ");
        }
        if let Some(because) = &finding.because {
            what.push_str(&format!("The reason: {because}. "));
        }
        if let Some(deadline) = finding.deadline {
            what.push_str(&format!("Deadline: {deadline}."));
        }
        Self {
            code: finding.code.text(),
            severity: finding.severity,
            about: finding.about.clone(),
            what: what.trim_end().to_owned(),
            why: finding.meaning.clone(),
            fix: match &finding.undo {
                Some(_) => format!("{} {}:", finding.next_step, finding.undo_does()),
                None => finding.next_step.clone(),
            },
            command: finding.undo.clone(),
        }
    }
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Its stable name.
    pub check: &'static str,
    /// How it ended.
    pub status: Status,
    /// What is so, where nothing was found.
    pub seen: Vec<String>,
    /// What was found.
    pub findings: Vec<Diagnosis>,
    /// What couldn't be answered, and why.
    pub unknown: Vec<String>,
}

impl Check {
    fn named(check: &'static str) -> Self {
        Self {
            check,
            status: Status::Fine,
            seen: Vec::new(),
            findings: Vec::new(),
            unknown: Vec::new(),
        }
    }

    fn sees(&mut self, what: impl Into<String>) {
        self.seen.push(what.into());
    }

    fn finds(&mut self, diagnosis: Diagnosis) {
        self.findings.push(diagnosis);
    }

    fn doesnt_know(&mut self, why: &Unknown) {
        self.unknown.push(why.because.clone());
    }

    /// The value of a fact; without one the check doesn't know.
    fn given<'f, T>(&mut self, fact: &'f Asked<T>) -> Option<&'f T> {
        match fact {
            Ok(value) => Some(value),
            Err(why) => {
                self.doesnt_know(why);
                None
            }
        }
    }

    fn ended(mut self) -> Self {
        self.status = match (self.findings.is_empty(), self.unknown.is_empty()) {
            (false, _) => Status::Finding,
            (true, false) => Status::Unknown,
            (true, true) => Status::Fine,
        };
        self
    }
}

/// A check by its stable name.
pub type Named = (&'static str, fn(&Facts, &mut Check));

/// All checks, in the order in which people should read them.
pub const CHECKS: [Named; 18] = [
    ("bucket_kind", keeping::bucket_kind),
    ("versioning", keeping::versioning),
    ("noncurrent_window", keeping::noncurrent_window),
    ("mfa_delete", keeping::mfa_delete),
    ("object_lock", keeping::object_lock),
    ("encryption", keeping::encryption),
    ("roots", rules::roots),
    ("forecast", rules::forecast),
    ("snapshots", rules::snapshots),
    ("abort_rules", rules::abort_rules),
    ("directory_markers", rules::directory_markers),
    ("notifications", hearing::notifications),
    ("principals", hearing::principals),
    ("writers", hearing::writers),
    ("permissions", permissions::permissions),
    ("conditional_copy", acting::conditional_copy),
    ("control", acting::control),
    ("replication", acting::replication),
];

/// What follows from the facts.
pub fn examine(facts: &Facts) -> Vec<Check> {
    CHECKS
        .iter()
        .map(|(name, check)| {
            let mut done = Check::named(name);
            check(facts, &mut done);
            done.ended()
        })
        .collect()
}

impl Facts {
    fn bucket(&self) -> &str {
        self.place.bucket()
    }

    /// Whether objects here come back by removing their delete markers, as far as is known.
    fn unhides(&self) -> bool {
        self.settings.as_ref().is_ok_and(|chosen| chosen.unhides)
    }

    fn about_bucket(&self) -> String {
        format!("s3://{}", self.bucket())
    }

    /// The command that writes these rules, if they can be written as an argument.
    fn rules_command(&self, rules: &LifecycleConfiguration) -> Option<String> {
        let json: serde_json::Value = serde_json::from_str(&rules.to_json()?).ok()?;
        let text = json.to_string();
        if !stayput_core::command::is_an_argument(&text) {
            return None;
        }
        let mut parameters = vec![("Bucket", self.bucket()), ("LifecycleConfiguration", &text)];
        if let Some(minimum) = rules.minimum_transition_size.name() {
            parameters.push(("TransitionDefaultMinimumObjectSize", minimum));
        }
        Some(aws_s3api("put-bucket-lifecycle-configuration", &parameters))
    }
}
