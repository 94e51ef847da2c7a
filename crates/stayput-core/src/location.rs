//! The one name of an object.

use std::fmt;

/// An S3 object: bucket and literal key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ObjectLocation {
    bucket: String,
    key: String,
}

/// Where a path points.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Location {
    /// S3.
    S3(ObjectLocation),
    /// Another file system.
    Foreign(String),
}

/// The path can't be read.
#[derive(Debug, thiserror::Error)]
#[error("not a path")]
pub struct LocationError;

impl Location {
    /// Reads Flink's spelling.
    pub fn parse_flink_path(path: &str) -> Result<Self, LocationError> {
        for scheme in ["s3://", "s3a://", "s3n://", "s3p://"] {
            if let Some(rest) = path.strip_prefix(scheme) {
                let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
                return Ok(Self::S3(ObjectLocation::new(bucket, key)));
            }
        }
        Ok(Self::Foreign(path.to_owned()))
    }
}

impl ObjectLocation {
    /// From a bucket and a literal key.
    pub fn new(bucket: impl Into<String>, key: impl Into<String>) -> Self {
        Self {
            bucket: bucket.into(),
            key: key.into(),
        }
    }
    /// The bucket.
    pub fn bucket(&self) -> &str {
        &self.bucket
    }
    /// The literal key.
    pub fn key(&self) -> &str {
        &self.key
    }
}

impl fmt::Display for ObjectLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s3://{}/{}", self.bucket, self.key)
    }
}
