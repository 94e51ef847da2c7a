//! Decides which deleted objects an Apache Flink® checkpoint still needs.
//!
//! Pure functions over values: no I/O, no clock, no async. Bytes become values in `flink-checkpoint` and
//! `s3-documents`; ports and their calls live in `stayput-guard`.
#![warn(missing_docs)]

pub mod catalogue;
pub mod cause;
pub mod chain;
pub mod class;
pub mod command;
pub mod extent;
pub mod forecast;
pub mod ha;
pub mod handles;
pub mod inspection;
pub mod layout;
pub mod lifecycle_rules;
pub mod location;
pub mod loss;
pub mod metadata;
pub mod metadata_limit;
pub mod oracle;
pub mod reference_index;
pub mod report;
pub mod restoring;
pub mod root;
pub mod shown;
pub mod sidecar;
pub mod sinks;
pub mod snapshot;
pub mod thaw;
pub mod timestamp;
pub mod verdict;
pub mod version;
pub mod whereabouts;
