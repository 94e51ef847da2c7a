//! The one name of an object, and the ways in which others spell it.
//!
//! The same object is written `s3://`, `s3a://`, `s3n://` or `s3p://` by what Flink was configured with, percent-encoded
//! in Java's URIs, form-encoded in notifications, and with repeated or trailing slashes in settings. All of
//! this is resolved here, once; inside there is only bucket and literal key.

use std::fmt;

use s3_documents::encoding::{EncodingError, decode_form, decode_percent, encode_form, encode_percent};
use serde::{Serialize, Serializer};

/// The schemes under which Flink's and Hadoop's file systems reach S3: the S3 plugins of Flink register `s3`, `s3a` (Hadoop)
/// and `s3p` (Presto), Hadoop itself once `s3n`. They name the same objects.
const S3_SCHEMES: [&str; 4] = ["s3", "s3a", "s3n", "s3p"];

/// An object of S3: its bucket and its literal key. Two spellings of one object give equal values.
///
/// Ordered by bucket, then by key as bytes, which is the order of S3's listings. Shown, and serialised, as `s3://bucket/key`
/// with the key as it is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ObjectLocation {
    bucket: String,
    key: String,
}

/// Where a path points.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Location {
    /// An object, or with an empty key a whole bucket.
    S3(ObjectLocation),
    /// A place in another file system, kept so that it can be named.
    Foreign(ForeignLocation),
}

/// A path that isn't on S3: local, HDFS, or in another cloud.
///
/// Shown as Flink prints it: `file:/tmp/x`, `hdfs://name-node:8020/x`, `/tmp/x`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ForeignLocation {
    scheme: String,
    rest: String,
}

/// Why a path can't be read. Each names the path as it was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocationError {
    /// There is nothing.
    #[error("the path is empty; write s3://bucket/key")]
    Empty,
    /// An S3 scheme without a bucket.
    #[error("{path:?} names no bucket; write s3://bucket/key, with two slashes before the bucket")]
    NoBucket {
        /// The path as written.
        path: String,
    },
    /// A URI whose escapes can't be decoded.
    #[error("{path:?} is no valid URI: {source}")]
    Encoding {
        /// The path as written.
        path: String,
        /// Where, and what is wrong.
        source: EncodingError,
    },
    /// A URI with a bare `?` or `#`. In a URI, a key's own would be written `%3F` and `%23`.
    #[error(
        "{path:?} has a query or fragment at byte {at}, and no object is named like that; a ? or # of the key itself must be \
         written %3F or %23"
    )]
    QueryOrFragment {
        /// The path as written.
        path: String,
        /// Offset of the first `?` or `#`.
        at: usize,
    },
}

impl Location {
    /// Reads a path as `org.apache.flink.core.fs.Path.toString()` prints it and `_metadata` holds it: nothing is encoded, so
    /// `%20` is three characters of the key. Repeated slashes become one and trailing ones go, as in Flink's
    /// `Path.normalizePath`; `.` and `..` stay, since in a key they are literal. Settings are written in the same way.
    ///
    /// A bare `s3://bucket` gives an empty key. A path without a scheme is foreign, as Flink takes it for a local one.
    ///
    /// # Errors
    /// An empty path, or an S3 scheme without a bucket.
    pub fn parse_flink_path(path: &str) -> Result<Self, LocationError> {
        let (scheme, rest) = split_scheme(path);
        if rest.is_empty() {
            return Err(LocationError::Empty);
        }
        if !is_s3(scheme) {
            return Ok(Self::Foreign(ForeignLocation::new(scheme, rest)));
        }
        let (bucket, key) = split_authority(rest);
        Self::on_s3(path, bucket, collapse(key))
    }

    /// Reads a URI as `java.net.URI.toString()` prints it and Java serialisation holds it: percent-encoded, decoded here once.
    /// Characters outside ASCII may stand unencoded. Slashes are resolved as in [`Self::parse_flink_path`].
    ///
    /// # Errors
    /// As [`Self::parse_flink_path`], and for broken escapes, bytes that are no UTF-8, a query or a fragment.
    pub fn parse_java_uri(uri: &str) -> Result<Self, LocationError> {
        let (scheme, rest) = split_scheme(uri);
        if rest.is_empty() {
            return Err(LocationError::Empty);
        }
        if let Some(at) = uri.find(['?', '#']) {
            return Err(LocationError::QueryOrFragment {
                path: uri.to_owned(),
                at,
            });
        }
        let decoded = |part| {
            decode_percent(part).map_err(|source| LocationError::Encoding {
                path: uri.to_owned(),
                source,
            })
        };
        if !is_s3(scheme) {
            return Ok(Self::Foreign(ForeignLocation::new(scheme, &decoded(rest)?)));
        }
        let (bucket, key) = split_authority(rest);
        Self::on_s3(uri, bucket, collapse(&decoded(key)?))
    }

    /// The object, if it lies on S3.
    #[must_use]
    pub fn s3(&self) -> Option<&ObjectLocation> {
        match self {
            Self::S3(object) => Some(object),
            Self::Foreign(_) => None,
        }
    }

    fn on_s3(path: &str, bucket: &str, key: String) -> Result<Self, LocationError> {
        if bucket.is_empty() {
            return Err(LocationError::NoBucket {
                path: path.to_owned(),
            });
        }
        Ok(Self::S3(ObjectLocation::new(bucket, key)))
    }
}

impl ObjectLocation {
    /// From a bucket and a literal key, as a listing or a decoded event gives them. Nothing is changed: `a//b` and `a/b` are two
    /// objects of S3, though Flink can only name the second.
    pub fn new(bucket: impl Into<String>, key: impl Into<String>) -> Self {
        Self {
            bucket: bucket.into(),
            key: key.into(),
        }
    }

    /// From a bucket and a key in the form encoding of S3's notifications.
    ///
    /// # Errors
    /// Broken escapes, or bytes that are no UTF-8.
    pub fn from_form_encoded(bucket: impl Into<String>, key: &str) -> Result<Self, EncodingError> {
        Ok(Self::new(bucket, decode_form(key)?))
    }

    /// The bucket.
    #[must_use]
    pub fn bucket(&self) -> &str {
        &self.bucket
    }

    /// The literal key; empty for the bucket itself.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The key up to and including its last slash; empty if it has none.
    #[must_use]
    pub fn directory(&self) -> &str {
        &self.key[..self.file_name_start()]
    }

    /// [`Self::directory`] and [`Self::file_name`].
    pub(crate) fn split(&self) -> (&str, &str) {
        self.key.split_at(self.file_name_start())
    }

    /// What follows the last slash of the key; empty for a directory marker.
    #[must_use]
    pub fn file_name(&self) -> &str {
        &self.key[self.file_name_start()..]
    }

    /// Another object in the same directory.
    #[must_use]
    pub fn sibling(&self, file_name: &str) -> Self {
        Self::new(self.bucket.as_str(), format!("{}{file_name}", self.directory()))
    }

    /// Whether the key ends in a slash: an empty object by which a file system remembers a directory. It means nothing.
    #[must_use]
    pub fn is_directory_marker(&self) -> bool {
        self.key.ends_with('/')
    }

    /// A percent-encoded `s3://bucket/key` for tools that take URIs; [`Location::parse_java_uri`] reads it.
    #[must_use]
    pub fn as_url(&self) -> String {
        format!("s3://{}/{}", self.bucket, encode_percent(&self.key))
    }

    /// The key in the form encoding of S3's notifications.
    #[must_use]
    pub fn form_encoded_key(&self) -> String {
        encode_form(&self.key)
    }

    fn file_name_start(&self) -> usize {
        file_name_start(&self.key)
    }
}

/// Where in a key what follows its last slash begins.
pub(crate) fn file_name_start(key: &str) -> usize {
    // Asked several times for every object of a listing; the standard library's search backwards costs several times as much.
    memchr::memrchr(b'/', key.as_bytes()).map_or(0, |slash| slash + 1)
}

impl ForeignLocation {
    fn new(scheme: &str, rest: &str) -> Self {
        let authority = rest.strip_prefix("//");
        let rest = match authority.map(split_authority) {
            // file:///x and file:/x are one place.
            Some(("", path)) => format!("/{}", collapse(path)),
            Some((authority, path)) => match collapse(path) {
                root if root.is_empty() => format!("//{authority}"),
                path => format!("//{authority}/{path}"),
            },
            None if rest.starts_with('/') => format!("/{}", collapse(rest)),
            None => collapse(rest),
        };
        Self {
            scheme: scheme.to_ascii_lowercase(),
            rest,
        }
    }

    /// The scheme in lower case: `file`, `hdfs`, `gs`, `abfs`, `oss` …; empty for a path without one, which Flink takes for local.
    #[must_use]
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// What follows the scheme and its colon, not encoded: `/tmp/x`, `//name-node:8020/x`.
    #[must_use]
    pub fn rest(&self) -> &str {
        &self.rest
    }

    /// The path on this machine, if it is a local one.
    #[must_use]
    pub fn local_path(&self) -> Option<&str> {
        let is_local = matches!(self.scheme.as_str(), "" | "file") && !self.rest.starts_with("//");
        is_local.then_some(self.rest.as_str())
    }
}

/// Splits at the first colon, if a scheme of RFC 3986 stands before it and no slash.
fn split_scheme(path: &str) -> (&str, &str) {
    match path.split_once(':') {
        Some((scheme, rest))
            if scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b)) =>
        {
            (scheme, rest)
        }
        _ => ("", path),
    }
}

fn is_s3(scheme: &str) -> bool {
    S3_SCHEMES.iter().any(|s3| s3.eq_ignore_ascii_case(scheme))
}

/// `bucket/key`, with or without `//` before it, into bucket and `/key`. Without the two slashes there is no authority.
fn split_authority(rest: &str) -> (&str, &str) {
    let rest = match rest.strip_prefix("//") {
        Some(rest) => rest,
        None if rest.starts_with('/') => return ("", rest),
        None => rest,
    };
    rest.split_at(rest.find('/').unwrap_or(rest.len()))
}

/// Drops empty segments: leading, repeated and trailing slashes.
fn collapse(path: &str) -> String {
    let path = path.trim_matches('/');
    if !path.contains("//") {
        return path.to_owned();
    }
    let mut out = String::with_capacity(path.len());
    for segment in path.split('/').filter(|segment| !segment.is_empty()) {
        if !out.is_empty() {
            out.push('/');
        }
        out.push_str(segment);
    }
    out
}

impl From<ObjectLocation> for Location {
    fn from(object: ObjectLocation) -> Self {
        Self::S3(object)
    }
}

impl fmt::Display for ObjectLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s3://{}/{}", self.bucket, self.key)
    }
}

impl fmt::Display for ForeignLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.scheme.is_empty() {
            write!(f, "{}:", self.scheme)?;
        }
        f.write_str(&self.rest)
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::S3(object) => object.fmt(f),
            Self::Foreign(foreign) => foreign.fmt(f),
        }
    }
}

impl Serialize for ObjectLocation {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl Serialize for ForeignLocation {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl Serialize for Location {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}
