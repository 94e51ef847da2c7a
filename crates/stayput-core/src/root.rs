//! Roots: the prefixes under which Flink writes, and what a key under them is.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::location::{Location, ObjectLocation};

/// What lies under a root.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RootKind {
    /// Checkpoints: job directories with `chk-N/`, `shared/` and `taskowned/`, at most four levels below.
    Checkpoints,
    /// Savepoints: `savepoint-*` directories.
    Savepoints,
    /// A `high-availability.storageDir`.
    Ha,
    /// Changelog files (`state.changelog.dstl.dfs.base-path`).
    Dstl,
    /// The output of exactly-once file sinks.
    Sink,
}

/// How far Stayput goes for what lies under a root.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protect {
    /// As the verdict table says.
    #[default]
    Default,
    /// Dormant snapshots are restored after a lifecycle rule too.
    All,
    /// Findings only; nothing is ever copied.
    Report,
}

/// How an object comes back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    /// A copy of its version onto its own key. Takes no permission to delete, and the copy is young again.
    #[default]
    Copy,
    /// Its delete markers are removed; a copy where that can't be or wouldn't last. Takes `s3:DeleteObjectVersion`.
    Unhide,
}

/// A prefix that Flink writes below.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Root {
    bucket: String,
    /// The prefix as written in the settings, with the entropy marker in it; ends in `/` unless empty.
    prefix: String,
    entropy: Option<Entropy>,
    /// What lies here.
    pub kind: RootKind,
    /// How far to go.
    pub protect: Protect,
    /// How objects come back.
    pub strategy: Strategy,
    /// The storage class of copies; `None`: STANDARD.
    pub storage_class: Option<String>,
}

/// The text that entropy injection replaces in data files and removes in `_metadata` paths
/// (`s3.entropy.key`; Flink's `EntropyInjector`).
#[derive(Clone, PartialEq, Eq, Debug)]
struct Entropy {
    before: String,
    after: String,
}

/// Why a root in the settings can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RootError {
    /// The uri isn't an S3 location.
    #[error("roots.uri {uri:?} is no S3 location: {why}. Write s3://bucket/prefix/")]
    NotS3 {
        /// As written.
        uri: String,
        /// What is wrong with it.
        why: String,
    },
    /// `entropy` is set but doesn't occur in `uri`.
    #[error(
        "roots.entropy {marker:?} doesn't occur in roots.uri {uri:?}: write the uri as in Flink's configuration, marker included"
    )]
    MarkerNotInUri {
        /// The marker as written.
        marker: String,
        /// The uri as written.
        uri: String,
    },
}

impl Root {
    /// A root at `uri` (any of the S3 schemes; a missing last slash is added). With `entropy`, the uri must hold that marker.
    pub fn new(uri: &str, kind: RootKind, entropy: Option<&str>) -> Result<Self, RootError> {
        let not_s3 = |why: String| RootError::NotS3 {
            uri: uri.to_owned(),
            why,
        };
        let location = match Location::parse_flink_path(uri) {
            Ok(Location::S3(location)) => location,
            Ok(Location::Foreign(_)) => return Err(not_s3("it has another scheme".to_owned())),
            Err(e) => return Err(not_s3(e.to_string())),
        };
        let mut prefix = location.key().trim_end_matches('/').to_owned();
        if !prefix.is_empty() {
            prefix.push('/');
        }
        let entropy = match entropy {
            None => None,
            Some(marker) => {
                let (before, after) = prefix
                    .split_once(marker)
                    .filter(|_| !marker.is_empty())
                    .ok_or_else(|| RootError::MarkerNotInUri {
                        marker: marker.to_owned(),
                        uri: uri.to_owned(),
                    })?;
                Some(Entropy {
                    before: before.to_owned(),
                    after: after.to_owned(),
                })
            }
        };
        Ok(Self {
            bucket: location.bucket().to_owned(),
            prefix,
            entropy,
            kind,
            protect: Protect::Default,
            strategy: Strategy::Copy,
            storage_class: None,
        })
    }

    /// The bucket.
    pub fn bucket(&self) -> &str {
        &self.bucket
    }

    /// The prefix as written in the settings, with the entropy marker in it; ends in `/` unless empty.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The prefix under which `_metadata` files lie: the entropy marker removed, no double slash; ends in `/` unless empty.
    pub fn metadata_prefix(&self) -> String {
        match &self.entropy {
            None => self.prefix.clone(),
            Some(e) => joined_without_marker(&e.before, &e.after),
        }
    }

    /// Whether data files under this root lie under random prefixes.
    pub fn has_entropy(&self) -> bool {
        self.entropy.is_some()
    }

    /// The key with the random part of entropy injection taken out, as Flink writes the paths of `_metadata`;
    /// `None` if the key isn't under this root.
    pub fn plain_key<'k>(&self, key: &'k str) -> Option<Cow<'k, str>> {
        let Some(entropy) = &self.entropy else {
            return key.starts_with(&self.prefix).then_some(Cow::Borrowed(key));
        };
        let metadata_prefix = joined_without_marker(&entropy.before, &entropy.after);
        if key.starts_with(&metadata_prefix) {
            return Some(Cow::Borrowed(key));
        }
        let rest = key.strip_prefix(entropy.before.as_str())?;
        // The random part is letters and digits and never crosses a slash.
        let end = rest
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        let below = (1..=end)
            .rev()
            .find_map(|at| rest.get(at..)?.strip_prefix(entropy.after.as_str()))?;
        Some(Cow::Owned(metadata_prefix + below))
    }
}

fn joined_without_marker(before: &str, after: &str) -> String {
    if before.is_empty() || before.ends_with('/') {
        format!("{before}{}", after.trim_start_matches('/'))
    } else {
        format!("{before}{after}")
    }
}

/// All roots. Where they nest, the longest uri wins.
#[derive(Clone, Debug, Default)]
pub struct Roots(Vec<Root>);

impl Roots {
    /// The roots of the settings, in any order.
    pub fn new(mut roots: Vec<Root>) -> Self {
        roots.sort_by_key(|r| std::cmp::Reverse(r.prefix.len()));
        Self(roots)
    }

    /// The root that `location` lies under, and its key without the random part.
    pub fn find<'k>(&self, location: &'k ObjectLocation) -> Option<(&Root, Cow<'k, str>)> {
        self.0
            .iter()
            .filter(|r| r.bucket == location.bucket())
            .find_map(|r| r.plain_key(location.key()).map(|plain| (r, plain)))
    }

    /// All roots, longest uri first.
    pub fn iter(&self) -> impl Iterator<Item = &Root> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_is_taken_out_of_data_keys_and_absent_from_metadata_keys() {
        let root = Root::new("s3://b/_entropy_/cp/", RootKind::Checkpoints, Some("_entropy_")).unwrap();
        assert_eq!(root.metadata_prefix(), "cp/");
        assert_eq!(root.plain_key("x7Qa/cp/j/shared/u").unwrap(), "cp/j/shared/u");
        assert_eq!(
            root.plain_key("cp/j/chk-3/_metadata").unwrap(),
            "cp/j/chk-3/_metadata"
        );
        assert_eq!(root.plain_key("_entropy_/cp/j/chk-3/u").unwrap(), "cp/j/chk-3/u");
        assert_eq!(root.plain_key("x7Qa/other/j"), None);
    }

    #[test]
    fn where_roots_nest_the_longest_wins() {
        let roots = Roots::new(vec![
            Root::new("s3a://b/cp", RootKind::Checkpoints, None).unwrap(),
            Root::new("s3://b/cp/sp/", RootKind::Savepoints, None).unwrap(),
        ]);
        assert_eq!(
            roots.find(&ObjectLocation::new("b", "cp/sp/x")).unwrap().0.kind,
            RootKind::Savepoints
        );
        assert_eq!(
            roots.find(&ObjectLocation::new("b", "cp/x")).unwrap().0.kind,
            RootKind::Checkpoints
        );
        assert!(roots.find(&ObjectLocation::new("other", "cp/x")).is_none());
        assert!(roots.find(&ObjectLocation::new("b", "cpx/x")).is_none());
    }

    #[test]
    fn a_marker_that_the_uri_lacks_is_an_error_that_names_the_field() {
        let error = Root::new("s3://b/cp/", RootKind::Checkpoints, Some("_entropy_")).unwrap_err();
        assert!(error.to_string().contains("roots.entropy"));
    }
}
