//! What is configured on a bucket as a whole.

use serde::Deserialize;

use crate::document::{read, unusable};
use crate::error::DocumentError;
use crate::lifecycle::{LifecycleConfiguration, LifecycleJson, from_json};

const VERSIONING: &str = "the output of `aws s3api get-bucket-versioning`";
const CONFIGURATION: &str = "the bucket configuration";

/// Whether a bucket keeps versions. Once enabled it can only be suspended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Versioning {
    /// A delete hides, a write keeps what was there.
    Enabled,
    /// Old versions are still there; a write or delete now replaces the `null` version.
    Suspended,
    /// Never enabled: a delete is for good.
    #[default]
    Never,
}

/// Settings of a bucket in one document, as the stories of `tests/corpus` hold them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketConfiguration {
    /// Name of the bucket.
    pub bucket: String,
    /// Its region, such as `eu-west-1`.
    pub region: Option<String>,
    /// The account that owns it, twelve digits.
    pub account: Option<String>,
    /// Whether it keeps versions.
    pub versioning: Versioning,
    /// Its lifecycle rules; without any, `rules` is empty.
    pub lifecycle: LifecycleConfiguration,
}

/// The answer of `get-bucket-versioning`: without `Status` versioning was never enabled. `MFADelete` may stand beside it.
#[derive(Debug, Deserialize)]
struct VersioningJson {
    #[serde(rename = "Status")]
    status: Option<Status>,
}

#[derive(Debug, Deserialize)]
enum Status {
    Enabled,
    Suspended,
}

impl From<VersioningJson> for Versioning {
    fn from(json: VersioningJson) -> Self {
        match json.status {
            Some(Status::Enabled) => Self::Enabled,
            Some(Status::Suspended) => Self::Suspended,
            None => Self::Never,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ConfigurationJson {
    bucket: String,
    region: Option<String>,
    account: Option<String>,
    versioning: VersioningJson,
    lifecycle: Option<LifecycleJson>,
}

/// Reads the output of `aws s3api get-bucket-versioning`. That command prints nothing at all for a bucket where versioning was never
/// enabled, so nothing but white space means [`Versioning::Never`].
///
/// # Errors
/// No JSON, or a status that isn't known.
pub fn parse_versioning(bytes: &[u8]) -> Result<Versioning, DocumentError> {
    if bytes.trim_ascii().is_empty() {
        return Ok(Versioning::Never);
    }
    read::<VersioningJson>(bytes, VERSIONING).map(Into::into)
}

/// Reads a document with `Bucket`, `Region`, `Account`, `Versioning` (the answer of `get-bucket-versioning`) and `Lifecycle` (that of
/// `get-bucket-lifecycle-configuration`; missing: no rules).
///
/// # Errors
/// No JSON, no bucket, no `Versioning`, or rules that can't be read, see [`crate::lifecycle::parse`].
pub fn parse_configuration(bytes: &[u8]) -> Result<BucketConfiguration, DocumentError> {
    let json: ConfigurationJson = read(bytes, CONFIGURATION)?;
    let lifecycle = match json.lifecycle {
        Some(lifecycle) => from_json(lifecycle).map_err(|problem| unusable(CONFIGURATION, problem))?,
        None => LifecycleConfiguration::default(),
    };
    Ok(BucketConfiguration {
        bucket: json.bucket,
        region: json.region,
        account: json.account,
        versioning: json.versioning.into(),
        lifecycle,
    })
}
