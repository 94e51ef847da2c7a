//! Reads what S3 says about objects: notifications in every envelope, listings, and the configuration
//! of a bucket. Bytes go in, values come out.
//!
//! Nothing here does I/O, reads a clock or knows an SDK. No input makes it panic, and nothing is
//! allocated for a length or count that the input only claims. Every time is in milliseconds since the
//! Unix epoch, UTC; every size is in bytes; every key is the literal key, decoded once by the rule of
//! its source.
//!
//! | module | reads |
//! | --- | --- |
//! | [`notification`] | S3 events: direct, through SQS, SNS, both, and EventBridge |
//! | [`listing`] | `aws s3api list-object-versions` and `list-objects-v2`, and the text of `aws s3 ls --recursive` |
//! | [`inventory`] | the CSV files of S3 Inventory |
//! | [`lifecycle`] | `aws s3api get-bucket-lifecycle-configuration`, and the XML of S3's API |
//! | [`bucket`] | `aws s3api get-bucket-versioning`, and a bucket's settings in one document |
//! | [`notification_configuration`] | the XML of GetBucketNotificationConfiguration; and puts something into it |
//! | [`encoding`] | the two encodings of keys: form and percent |
#![warn(missing_docs)]

pub mod bucket;
mod document;
pub mod encoding;
mod error;
pub mod inventory;
pub mod lifecycle;
pub mod listing;
pub mod notification;
pub mod notification_configuration;
mod timestamp;
mod tolerant;
mod xml;

pub use error::{DocumentError, Place, Problem};
pub use timestamp::parse_timestamp;
