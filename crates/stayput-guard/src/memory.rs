//! What Stayput remembers between calls, as documents under the control prefix.
//!
//! | name | says |
//! | --- | --- |
//! | `switch/pause` | Stayput is paused, unless the document itself says that it isn't any more |
//! | `switch/pin/<hash>`, `switch/release/<hash>` | a uri that a person named, and whether it was taken back |
//! | `hidden/<job hash>/<id>-<hash>` | who hid a `_metadata`; missing means nobody known, or Flink where no rule explains the marker |
//! | `cause/<hash>` | the cause of a marker that was left at "later", or that would pass for a rule's |
//! | `claimed/<hash>` | a snapshot that was claimed stays claimed |
//! | `left-to-flink/<hash>` | a verdict left a snapshot's loss to Flink |
//! | `put-back/<hash>` | a directory that was put back after a principal had deleted it as a whole |
//! | `upload/<hash>` | an upload by which an object comes back in parts, or that the last one of this key has ended |
//! | `spent/<day>/<instance>` | what one process copied on one day |
//! | `finding/<hash>` | when a finding was sent, and over how many objects |
//! | `orphans/*` | keys that `orphans` hid |
//! | `sidecar/<job hash>/<id modulo 64>`, `sidecar/<hash>` | what a large `_metadata` names ([`stayput_core::sidecar`]), of a checkpoint and of a savepoint; can be made again |

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use stayput_core::cause::Cause;
use stayput_core::location::ObjectLocation;
use stayput_core::loss::WHOLE_WITHIN;
use stayput_core::report::finding::{Finding, FindingCode};
use stayput_core::snapshot::{JobDirectory, identity_of};
use stayput_core::timestamp::Timestamp;
use stayput_core::version::VersionId;

use crate::port::{Journal, OwnUpload, PortError, PortErrorKind, Remembered};

mod sidecars;
mod switches;

pub use switches::{Switch, Switches};

/// A finding is sent again after so long, even if nothing changed.
const FINDING_AGAIN_AFTER: std::time::Duration = std::time::Duration::from_secs(24 * 3600);

/// Documents are small, sidecars excepted; a longer one isn't ours. In bytes.
const LONGEST_DOCUMENT: u64 = 16 << 20;

/// Folders of documents that no rule may take: what they say holds for good, or until a person changes it.
pub(crate) const LASTING: [&str; 6] = [
    "switch/",
    "hidden/",
    "cause/",
    "claimed/",
    "left-to-flink/",
    "upload/",
];

/// The journal, by meaning. Without a control prefix there is none, and what only it would know is unknown.
#[derive(Clone, Debug)]
pub struct Memory<J> {
    journal: Option<J>,
    /// Tells this process from others that count under the same control prefix.
    instance: String,
}

#[derive(Serialize, Deserialize)]
struct RememberedCause {
    object: String,
    marker: VersionId,
    #[serde(flatten)]
    cause: Cause,
}

#[derive(Serialize, Deserialize)]
struct RememberedSnapshot {
    metadata: String,
    at: Timestamp,
}

#[derive(Serialize, Deserialize)]
struct RememberedPutBack {
    directory: String,
    principal: String,
    /// Which `_metadata`, and when it was hidden: tells a second deletion from a second look at the first.
    metadata: String,
    deleted_at: Timestamp,
}

/// A snapshot that somebody began to put back after a whole deletion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PutBack {
    /// Its `_metadata`.
    pub metadata: ObjectLocation,
    /// When that had been hidden.
    pub deleted_at: Timestamp,
}

#[derive(Serialize, Deserialize)]
struct RememberedFinding {
    code: String,
    about: String,
    objects: u64,
    /// How many of them were back.
    #[serde(default)]
    back: u64,
    at: Timestamp,
}

/// The manifest of one run of `orphans`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OrphansManifest {
    /// The bucket.
    pub bucket: String,
    /// Keys that were hidden.
    pub keys: Vec<String>,
}

/// What the journal says of hidden `_metadata`, by job directory.
#[derive(Clone, Debug, Default)]
pub struct HiddenIds(BTreeMap<String, BTreeSet<u64>>);

impl HiddenIds {
    /// The ids in this directory, the highest first.
    pub fn of(&self, job: &JobDirectory) -> impl Iterator<Item = u64> {
        let ids = self.0.get(&job_hash(job)).into_iter().flatten();
        ids.rev().copied()
    }
}

/// What was copied on one day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Objects.
    pub objects: u64,
    /// Bytes.
    pub bytes: u64,
}

fn job_hash(job: &JobDirectory) -> String {
    hash(&[&job.bucket, &job.prefix])
}

fn hash(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.as_bytes());
        hasher.update([0]);
    }
    let digest = hasher.finalize();
    let first_half = digest
        .iter()
        .take(16)
        .fold(0, |n, byte| n << 8 | u128::from(*byte));
    format!("{first_half:032x}")
}
impl<J: Journal> Memory<J> {
    /// Over a journal, or over none.
    pub fn new(journal: Option<J>) -> Self {
        Self {
            journal,
            instance: hash(&["the only one"]),
        }
    }

    /// As one of several processes under the same control prefix: each needs a name of its own, so that none overwrites
    /// what another has counted.
    #[must_use]
    pub fn of_instance(mut self, name: &str) -> Self {
        self.instance = hash(&[name]);
        self
    }

    /// Whether anything is remembered at all.
    pub fn is_there(&self) -> bool {
        self.journal.is_some()
    }

    async fn read<T: for<'de> Deserialize<'de>>(&self, name: &str) -> Result<Option<T>, PortError> {
        let Some(journal) = &self.journal else {
            return Ok(None);
        };
        let Some(bytes) = journal.read(name, LONGEST_DOCUMENT).await? else {
            return Ok(None);
        };
        serde_json::from_slice(&bytes).map(Some).map_err(|e| {
            PortError::new(
                PortErrorKind::Unreadable,
                "GetObject",
                format!("journal document {name}"),
            )
            .because(format!("{e}; it isn't one that Stayput wrote: move it away"))
        })
    }

    async fn write<T: Serialize>(&self, name: &str, document: &T) -> Result<(), PortError> {
        let Some(journal) = &self.journal else {
            return Ok(());
        };
        let bytes = serde_json::to_vec(document).map_err(|e| {
            PortError::new(PortErrorKind::Unreadable, "PutObject", name).because(e.to_string())
        })?;
        journal.write(name, bytes).await
    }

    async fn names(&self, prefix: &str) -> Result<Vec<String>, PortError> {
        match &self.journal {
            Some(journal) => journal.names(prefix).await,
            None => Ok(Vec::new()),
        }
    }

    fn hidden_prefix(job: &JobDirectory) -> String {
        format!("hidden/{}/", job_hash(job))
    }

    /// Remembers who hid a `_metadata`. Unknown isn't remembered: missing means it. Flink needn't be, but where a rule would explain the marker.
    pub async fn remember_hidden(
        &self,
        job: &JobDirectory,
        id: Option<u64>,
        metadata: &ObjectLocation,
        marker: &VersionId,
        cause: &Cause,
    ) -> Result<(), PortError> {
        if *cause == Cause::Unknown {
            return Ok(());
        }
        let name = format!(
            "{}{}-{}",
            Self::hidden_prefix(job),
            id.unwrap_or_default(),
            hash(&[metadata.bucket(), metadata.key(), marker.as_str()])
        );
        let document = RememberedCause {
            object: metadata.to_string(),
            marker: marker.clone(),
            cause: cause.clone(),
        };
        self.write(&name, &document).await
    }

    /// Per job directory, the checkpoint ids of whose `_metadata` it is remembered who hid it: one listing for all.
    pub async fn hidden(&self) -> Result<HiddenIds, PortError> {
        let mut hidden = HiddenIds::default();
        for name in self.names("hidden/").await? {
            let mut parts = name.split('/').skip(1);
            let (Some(job), Some(file)) = (parts.next(), parts.next()) else {
                continue;
            };
            let Some(id) = file.split_once('-').and_then(|(id, _)| id.parse().ok()) else {
                continue;
            };
            hidden.0.entry(job.to_owned()).or_default().insert(id);
        }
        Ok(hidden)
    }

    /// Who hid this `_metadata`, if that is remembered.
    pub async fn who_hid(
        &self,
        job: &JobDirectory,
        id: Option<u64>,
        metadata: &ObjectLocation,
        marker: &VersionId,
    ) -> Result<Option<Cause>, PortError> {
        let name = format!(
            "{}{}-{}",
            Self::hidden_prefix(job),
            id.unwrap_or_default(),
            hash(&[metadata.bucket(), metadata.key(), marker.as_str()])
        );
        Ok(self.read::<RememberedCause>(&name).await?.map(|r| r.cause))
    }

    /// Remembers the cause of a marker whose verdict waits.
    pub async fn remember_cause(
        &self,
        object: &ObjectLocation,
        marker: &VersionId,
        cause: &Cause,
    ) -> Result<(), PortError> {
        let name = cause_name(object, marker);
        let document = RememberedCause {
            object: object.to_string(),
            marker: marker.clone(),
            cause: cause.clone(),
        };
        self.write(&name, &document).await
    }

    /// The remembered cause of a marker.
    pub async fn cause(
        &self,
        object: &ObjectLocation,
        marker: &VersionId,
    ) -> Result<Option<Cause>, PortError> {
        let name = cause_name(object, marker);
        Ok(self.read::<RememberedCause>(&name).await?.map(|r| r.cause))
    }

    /// Of which markers a cause is remembered: one listing for all.
    pub async fn causes(&self) -> Result<RememberedCauses, PortError> {
        Ok(RememberedCauses(
            self.names("cause/").await?.into_iter().collect(),
        ))
    }

    /// Remembers that a snapshot was claimed.
    pub async fn remember_claimed(&self, metadata: &ObjectLocation, at: Timestamp) -> Result<(), PortError> {
        self.write(
            &snapshot_name("claimed", metadata),
            &RememberedSnapshot {
                metadata: metadata.to_string(),
                at,
            },
        )
        .await
    }

    /// Whether a snapshot that was `written` then was ever seen claimed.
    pub async fn was_claimed(
        &self,
        metadata: &ObjectLocation,
        written: Timestamp,
    ) -> Result<bool, PortError> {
        self.remembers("claimed", metadata, written).await
    }

    /// Whether something is remembered of a snapshot that was `written` then. What is older was said of another one: a run whose ids began again
    /// writes the same keys.
    async fn remembers(
        &self,
        kind: &str,
        metadata: &ObjectLocation,
        written: Timestamp,
    ) -> Result<bool, PortError> {
        let remembered: Option<RememberedSnapshot> = self.read(&snapshot_name(kind, metadata)).await?;
        Ok(remembered.is_some_and(|r| r.at >= written))
    }

    /// Remembers that a verdict left a snapshot's loss to Flink.
    pub async fn remember_left_to_flink(
        &self,
        metadata: &ObjectLocation,
        at: Timestamp,
    ) -> Result<(), PortError> {
        self.write(
            &snapshot_name("left-to-flink", metadata),
            &RememberedSnapshot {
                metadata: metadata.to_string(),
                at,
            },
        )
        .await
    }

    /// Whether a verdict ever left the loss of a snapshot that was `written` then to Flink.
    pub async fn was_left_to_flink(
        &self,
        metadata: &ObjectLocation,
        written: Timestamp,
    ) -> Result<bool, PortError> {
        self.remembers("left-to-flink", metadata, written).await
    }

    /// Remembers that the directory of a snapshot is being put back after a principal deleted it as a whole. Written before the
    /// first copy: a crash in between must not make the second deletion look like the first.
    pub async fn remember_put_back(
        &self,
        metadata: &ObjectLocation,
        principal: &str,
        deleted_at: Timestamp,
    ) -> Result<(), PortError> {
        let job = identity_of(metadata).1;
        let document = RememberedPutBack {
            directory: job.to_string(),
            principal: principal.to_owned(),
            metadata: metadata.to_string(),
            deleted_at,
        };
        self.write(&put_back_name(&job, principal), &document).await
    }

    /// The last time that somebody began to put the directory of this snapshot back, after the same principal had deleted it as a whole at another
    /// time: this snapshot itself, or another one more than an hour earlier or later.
    pub async fn put_back_before(
        &self,
        metadata: &ObjectLocation,
        principal: &str,
        deleted_at: Timestamp,
    ) -> Result<Option<PutBack>, PortError> {
        let job = identity_of(metadata).1;
        let before: Option<RememberedPutBack> = self.read(&put_back_name(&job, principal)).await?;
        Ok(before.and_then(|b| {
            let apart = deleted_at.since(b.deleted_at).max(b.deleted_at.since(deleted_at));
            let (bucket, key) = b.metadata.strip_prefix("s3://")?.split_once('/')?;
            let before = PutBack {
                metadata: ObjectLocation::new(bucket, key),
                deleted_at: b.deleted_at,
            };
            let at_another_time = if before.metadata == *metadata {
                !apart.is_zero()
            } else {
                apart > WHOLE_WITHIN
            };
            at_another_time.then_some(before)
        }))
    }

    /// Whether a finding is news: never sent, changed, or sent more than a day ago.
    pub async fn is_news(&self, finding: &Finding, now: Timestamp) -> Result<bool, PortError> {
        let before: Option<RememberedFinding> = self.read(&finding_name(finding)).await?;
        Ok(before.is_none_or(|b| {
            (b.objects, b.back) != (finding.objects, finding.back()) || now.since(b.at) >= FINDING_AGAIN_AFTER
        }))
    }

    /// Whether people were told this of something since then.
    pub async fn was_told(
        &self,
        code: FindingCode,
        about: &ObjectLocation,
        since: Timestamp,
    ) -> Result<bool, PortError> {
        let name = finding_name(&Finding::new(code, about.to_string()));
        let told: Option<RememberedFinding> = self.read(&name).await?;
        Ok(told.is_some_and(|told| told.at >= since))
    }

    /// Remembers that a finding was sent.
    pub async fn remember_sent(&self, finding: &Finding, now: Timestamp) -> Result<(), PortError> {
        let document = RememberedFinding {
            code: finding.code.text().to_owned(),
            about: finding.about.clone(),
            objects: finding.objects,
            back: finding.back(),
            at: now,
        };
        self.write(&finding_name(finding), &document).await
    }

    /// What all instances together copied on the day of `now` (UTC): one listing, one read for each instance.
    pub async fn spent(&self, now: Timestamp) -> Result<Spent, PortError> {
        let mut all = Spent::default();
        for name in self.names(&format!("spent/{}/", day(now))).await? {
            let one: Spent = self.read(&name).await?.unwrap_or_default();
            all.objects = all.objects.saturating_add(one.objects);
            all.bytes = all.bytes.saturating_add(one.bytes);
        }
        Ok(all)
    }

    /// Adds to what this instance copied on the day of `now`.
    pub async fn spend(&self, now: Timestamp, more: Spent) -> Result<(), PortError> {
        let name = format!("spent/{}/{}", day(now), self.instance);
        let mut own: Spent = self.read(&name).await?.unwrap_or_default();
        own.objects = own.objects.saturating_add(more.objects);
        own.bytes = own.bytes.saturating_add(more.bytes);
        self.write(&name, &own).await
    }

    /// Remembers an upload that was begun, in place of an earlier one onto the same key.
    pub async fn remember_upload(&self, upload: &OwnUpload) -> Result<(), PortError> {
        self.write(&upload_name(&upload.location()), &upload.document(false))
            .await
    }

    /// The upload of ours onto this key that hasn't ended.
    pub async fn upload(&self, location: &ObjectLocation) -> Result<Option<OwnUpload>, PortError> {
        let document: Option<Remembered> = self.read(&upload_name(location)).await?;
        Ok(document.and_then(OwnUpload::remembered))
    }

    /// Remembers that an upload was completed or abandoned. If another one is remembered by now, that stays.
    pub async fn forget_upload(&self, upload: &OwnUpload) -> Result<(), PortError> {
        let location = upload.location();
        if self.upload(&location).await?.as_ref() == Some(upload) {
            self.write(&upload_name(&location), &upload.document(true))
                .await?;
        }
        Ok(())
    }

    /// All uploads of ours that haven't ended: one listing, and one read for each key that ever had one.
    pub async fn uploads(&self) -> Result<Vec<OwnUpload>, PortError> {
        let mut all = Vec::new();
        for name in self.names("upload/").await? {
            let document: Option<Remembered> = self.read(&name).await?;
            all.extend(document.and_then(OwnUpload::remembered));
        }
        Ok(all)
    }

    /// Remembers what `orphans` hid.
    pub async fn remember_orphans(&self, run: &str, manifest: &OrphansManifest) -> Result<(), PortError> {
        self.write(&format!("orphans/{run}"), manifest).await
    }

    /// Whether `orphans` hid this object, by its manifests.
    pub async fn hidden_by_orphans(&self, object: &ObjectLocation) -> Result<bool, PortError> {
        for name in self.names("orphans/").await? {
            let manifest: Option<OrphansManifest> = self.read(&name).await?;
            if manifest
                .is_some_and(|m| m.bucket == object.bucket() && m.keys.iter().any(|k| k == object.key()))
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The markers of which a cause is remembered.
#[derive(Clone, Debug, Default)]
pub struct RememberedCauses(BTreeSet<String>);

impl RememberedCauses {
    /// Whether one is remembered of this marker.
    pub fn know(&self, object: &ObjectLocation, marker: &VersionId) -> bool {
        self.0.contains(&cause_name(object, marker))
    }
}

fn cause_name(object: &ObjectLocation, marker: &VersionId) -> String {
    format!(
        "cause/{}",
        hash(&[object.bucket(), object.key(), marker.as_str()])
    )
}

fn upload_name(location: &ObjectLocation) -> String {
    format!("upload/{}", hash(&[location.bucket(), location.key()]))
}

fn day(now: Timestamp) -> String {
    now.midnight().to_string().chars().take(10).collect()
}

fn snapshot_name(kind: &str, metadata: &ObjectLocation) -> String {
    format!("{kind}/{}", hash(&[metadata.bucket(), metadata.key()]))
}

fn finding_name(finding: &Finding) -> String {
    format!("finding/{}", hash(&[finding.code.text(), &finding.about]))
}

fn put_back_name(job: &JobDirectory, principal: &str) -> String {
    // A session name changes with every login; the role is what comes back.
    let role = principal.strip_prefix("AWS:").unwrap_or(principal);
    let role = role.split_once(':').map_or(role, |(id, _)| id);
    format!("put-back/{}", hash(&[&job.bucket, &job.prefix, role]))
}
