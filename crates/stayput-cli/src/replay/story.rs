//! Reading a story's folder.

use std::collections::BTreeMap;
use std::path::Path;

use s3_documents::bucket::{BucketConfiguration, parse_configuration};
use s3_documents::listing::{VersionListing, parse_versions};
use serde::Deserialize;
use stayput_core::timestamp::Timestamp;

use super::error::{StoryError, StoryProblem};
use super::files::{self, Numbered, NumberedFiles};

/// A data version: its key and its version id.
pub(super) type Version = (String, String);

/// A story, read to its end and checked: every file belongs to a look, every version that is described is in a bucket.
#[derive(Clone, Debug)]
pub struct Story {
    /// The folder's name.
    pub name: String,
    /// `stayput.toml` as it stands.
    pub settings: String,
    /// The bucket, its versioning and its rules.
    pub bucket: BucketConfiguration,
    /// What lies under the control prefix before the first look.
    pub switches: EarlierSwitches,
    pub(super) looks: Vec<Look>,
    /// Bytes of versions, the same at all looks.
    pub(super) bodies: BTreeMap<Version, Vec<u8>>,
}

/// `story.toml`: what persons and `orphans` have left under the control prefix before the first look.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EarlierSwitches {
    /// Uris of `stayput pin`.
    pub pinned: Vec<String>,
    /// Uris of `stayput release`.
    pub released: Vec<String>,
    /// Whether `stayput pause` was called.
    pub paused: bool,
    /// Keys of the story's bucket in the manifest of `orphans`.
    pub hidden_by_orphans: Vec<String>,
}

/// A moment at which somebody looks.
#[derive(Clone, Debug)]
pub struct Look {
    /// Counted from 1.
    pub number: usize,
    /// The time.
    pub at: Timestamp,
    /// Whether it is the scheduled sweep, which takes no messages.
    pub sweep: bool,
    /// What arrives before it, in this order. Messages whose last verdict was "later" come again besides; that is for the player to know.
    pub messages: Vec<MessageLine>,
    /// The bucket, if it isn't what the look before left.
    pub(super) listing: Option<VersionListing>,
    /// What is known of single objects, if it changes at this look.
    pub(super) objects: Option<BTreeMap<Version, ObjectNotes>>,
}

/// A line of `events.jsonl`: one body, as it stands in SQS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageLine {
    /// The file's name and the line, counted from 1: `events.jsonl:3`.
    pub place: String,
    /// The body.
    pub body: String,
}

/// What `objects.json` says of a version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ObjectNotes {
    #[serde(rename = "Metadata")]
    pub(super) metadata: BTreeMap<String, String>,
    #[serde(rename = "Tags")]
    pub(super) tags: BTreeMap<String, String>,
    pub(super) error: Option<GetObjectError>,
}

/// What GetObject answers instead of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) enum GetObjectError {
    AccessDenied,
    SlowDown,
}

impl Story {
    /// Reads a story's folder.
    ///
    /// # Errors
    /// Whatever keeps it from being played as it was meant, with file and line.
    pub fn load(folder: &Path) -> Result<Self, StoryError> {
        let numbered = files::numbered_files(folder)?;
        let mut looks = looks(&folder.join("now"))?;
        if let Some(((_, look), path)) = numbered.iter().find(|((_, look), _)| *look > looks.len()) {
            let (look, looks) = (*look, looks.len());
            return Err(StoryError::new(&**path, StoryProblem::NoSuchLook { look, looks }));
        }
        for look in &mut looks {
            fill(look, &numbered, folder)?;
        }
        let sizes = sizes(&looks);
        for look in &looks {
            let versions = look.objects.iter().flat_map(BTreeMap::keys);
            if let Some((key, version)) = versions.into_iter().find(|v| !sizes.contains_key(*v)) {
                let path = numbered.get(&(Numbered::Objects, look.number));
                let problem = StoryProblem::NotInTheBucket {
                    key: key.clone(),
                    version: version.clone(),
                };
                return Err(StoryError::new(path.map_or(folder, |p| p.as_path()), problem));
            }
        }
        Ok(Self {
            name: folder
                .file_name()
                .map(|n| n.to_string_lossy().into_owned())
                .unwrap_or_default(),
            settings: files::text(&folder.join("stayput.toml"))?,
            bucket: configuration(&folder.join("bucket-config.json"))?,
            switches: switches(&folder.join("story.toml"))?,
            looks,
            bodies: bodies(&folder.join("metadata"), &sizes)?,
        })
    }

    /// The looks, in order.
    pub fn looks(&self) -> &[Look] {
        &self.looks
    }
}

/// `now`: a line for each look.
fn looks(path: &Path) -> Result<Vec<Look>, StoryError> {
    let mut looks: Vec<Look> = Vec::new();
    for (index, line) in files::text(path)?.lines().enumerate() {
        let error = |problem: StoryProblem| StoryError::new(path, problem).at_line(index + 1);
        let (time, sweep) = match line.split_whitespace().collect::<Vec<_>>()[..] {
            [time] => (time, false),
            [time, "sweep"] => (time, true),
            _ => return Err(error(StoryProblem::NotALook(line.to_owned()))),
        };
        let at = Timestamp::parse(time).map_err(|e| error(e.into()))?;
        if looks.last().is_some_and(|before| at <= before.at) {
            return Err(error(StoryProblem::NotForward));
        }
        looks.push(Look {
            number: looks.len() + 1,
            at,
            sweep,
            messages: Vec::new(),
            listing: None,
            objects: None,
        });
    }
    if looks.is_empty() {
        return Err(StoryError::new(path, StoryProblem::NoLooks));
    }
    Ok(looks)
}

/// Reads the files of one look. The first must have a bucket and messages, be they none.
fn fill(look: &mut Look, numbered: &NumberedFiles, folder: &Path) -> Result<(), StoryError> {
    let path = |kind, name: &str| match numbered.get(&(kind, look.number)) {
        Some(path) => Some(path.clone()),
        None if look.number == 1 => Some(folder.join(name)),
        None => None,
    };
    if let Some(path) = path(Numbered::Bucket, "bucket.json") {
        let listing = parse_versions(&files::bytes(&path)?).map_err(|e| StoryError::new(&*path, e))?;
        if listing.truncated {
            return Err(StoryError::new(
                path,
                StoryProblem::Truncated(s3_model::TruncatedListing),
            ));
        }
        look.listing = Some(listing);
    }
    if let Some(path) = path(Numbered::Events, "events.jsonl") {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let text = files::text(&path)?;
        let lines = text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty());
        look.messages = lines
            .map(|(index, line)| MessageLine {
                place: format!("{name}:{}", index + 1),
                body: line.to_owned(),
            })
            .collect();
    }
    if let Some(path) = numbered.get(&(Numbered::Objects, look.number)) {
        look.objects = Some(object_notes(path)?);
    }
    Ok(())
}

fn object_notes(path: &Path) -> Result<BTreeMap<Version, ObjectNotes>, StoryError> {
    let notes: BTreeMap<String, ObjectNotes> = serde_json::from_slice(&files::bytes(path)?)
        .map_err(|e| StoryError::new(path, StoryProblem::Json(e)))?;
    notes
        .into_iter()
        .map(|(name, notes)| match files::version(&name) {
            Some(version) => Ok((version, notes)),
            None => Err(StoryError::new(path, StoryProblem::NotAVersion(name))),
        })
        .collect()
}

/// All data versions that any look lists, with their lengths. A version's bytes never change.
fn sizes(looks: &[Look]) -> BTreeMap<Version, u64> {
    let listings = looks.iter().filter_map(|l| l.listing.as_ref());
    listings
        .flat_map(|l| &l.versions)
        .map(|v| ((v.key.clone(), v.version_id.clone()), v.size))
        .collect()
}

fn bodies(folder: &Path, sizes: &BTreeMap<Version, u64>) -> Result<BTreeMap<Version, Vec<u8>>, StoryError> {
    let mut bodies = BTreeMap::new();
    for (name, path) in files::files_below(folder)? {
        let Some(version) = files::version(&name) else {
            return Err(StoryError::new(path, StoryProblem::NotAVersion(name)));
        };
        let Some(listed) = sizes.get(&version).copied() else {
            let (key, version) = version;
            return Err(StoryError::new(
                path,
                StoryProblem::NotInTheBucket { key, version },
            ));
        };
        let bytes = files::bytes(&path)?;
        let here = bytes.len() as u64;
        if here != listed {
            return Err(StoryError::new(path, StoryProblem::OtherSize { here, listed }));
        }
        bodies.insert(version, bytes);
    }
    Ok(bodies)
}

fn configuration(path: &Path) -> Result<BucketConfiguration, StoryError> {
    parse_configuration(&files::bytes(path)?).map_err(|e| StoryError::new(path, e))
}

fn switches(path: &Path) -> Result<EarlierSwitches, StoryError> {
    if !path.exists() {
        return Ok(EarlierSwitches::default());
    }
    let text = files::text(path)?;
    toml::from_str(&text).map_err(|e| StoryError::toml(path, &text, &e))
}
