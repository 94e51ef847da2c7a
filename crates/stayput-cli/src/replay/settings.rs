//! The settings of a story: `stayput.toml`, as far as a replay needs it.

use std::path::Path;
use std::time::Duration;

use bytesize::ByteSize;
use serde::Deserialize;
use stayput_core::cause::Principals;
use stayput_core::location::{Location, ObjectLocation};
use stayput_core::root::{Protect, Root, RootKind, Roots};
use stayput_core::timestamp::Timestamp;
use stayput_core::verdict::Policy;
use stayput_guard::mandate::Mandate;

use super::error::{StoryError, StoryProblem};

/// What a story's settings say.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) acts: bool,
    pub(super) control: ObjectLocation,
    pub(super) mandate: Mandate,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    mode: Mode,
    control: String,
    protect_since: Option<Timestamp>,
    #[serde(with = "humantime_serde")]
    dormant_after: Duration,
    #[serde(with = "humantime_serde")]
    settle: Duration,
    #[serde(with = "humantime_serde")]
    catalogue_max_age: Duration,
    max_metadata_bytes: Option<ByteSize>,
    roots: Vec<RootTable>,
    flink: FlinkTable,
    stayput: StayputTable,
}

#[derive(Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Observe,
    Restore,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RootTable {
    uri: String,
    kind: RootKind,
    entropy: Option<String>,
    #[serde(default)]
    protect: Protect,
    storage_class: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FlinkTable {
    principals: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StayputTable {
    guards: Vec<String>,
}

pub(super) fn parse(text: &str, path: &Path) -> Result<Settings, StoryError> {
    let document: Document = toml::from_str(text).map_err(|e| StoryError::toml(path, text, &e))?;
    let other = |problem: String| StoryError::new(path, StoryProblem::Settings(problem));
    let mut roots = Vec::new();
    for table in document.roots {
        let mut root =
            Root::new(&table.uri, table.kind, table.entropy.as_deref()).map_err(|e| other(e.to_string()))?;
        root.protect = table.protect;
        root.storage_class = table.storage_class;
        roots.push(root);
    }
    let control = match Location::parse_flink_path(&document.control) {
        Ok(Location::S3(control)) => control,
        Ok(Location::Foreign(_)) => return Err(other(format!("control {:?} isn't on S3", document.control))),
        Err(e) => return Err(other(format!("control: {e}"))),
    };
    Ok(Settings {
        acts: document.mode == Mode::Restore,
        control,
        mandate: Mandate {
            roots: Roots::new(roots),
            principals: Principals {
                flink: document.flink.principals,
                ours: document.stayput.guards,
            },
            policy: Policy {
                settle: document.settle,
                dormant_after: document.dormant_after,
            },
            catalogue_max_age: document.catalogue_max_age,
            max_metadata_bytes: document.max_metadata_bytes.map_or(2 << 30, |b| b.as_u64()),
            protect_since: document.protect_since,
            copies_per_call: u64::MAX,
            bytes_per_call: u64::MAX,
        },
    })
}
