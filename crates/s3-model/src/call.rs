//! What was asked through the ports.

use stayput_core::version::VersionId;
use stayput_guard::port::PortErrorKind;

/// One call through a port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// The S3 operation by its API name: `ListObjectsV2`.
    pub operation: &'static str,
    /// The bucket.
    pub bucket: String,
    /// The key or, of a listing, the prefix; empty for the bucket itself.
    pub key: String,
    /// The version asked for, if one was.
    pub version: Option<VersionId>,
    /// The requests that it took: one for each page of 1,000 rows and common prefixes of a listing; 1 for anything else; 0
    /// while the call isn't answered yet, and when a planned failure came before it reached the server.
    pub pages: u32,
    /// What the caller was told; `None`: it went well.
    pub error: Option<PortErrorKind>,
    /// Whether the caller had crashed, at this call or before, and so got no answer at all.
    pub crashed: bool,
}

impl Call {
    /// Whether the operation changes a bucket.
    pub fn mutates(&self) -> bool {
        !["Get", "Head", "List"]
            .iter()
            .any(|reading| self.operation.starts_with(reading))
    }

    /// The bucket, key or prefix for people: `s3://bucket/key`.
    pub fn subject(&self) -> String {
        subject(&self.bucket, &self.key)
    }
}

pub(crate) fn subject(bucket: &str, key: &str) -> String {
    format!("s3://{bucket}/{key}")
}
