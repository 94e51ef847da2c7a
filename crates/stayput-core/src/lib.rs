//! Decides which deleted objects an Apache Flink® checkpoint still needs.
//!
//! Pure functions over values: no I/O, no clock, no async. Bytes become values in `flink-checkpoint` and
//! `s3-documents`; ports and their calls live in `stayput-guard`.
#![warn(missing_docs)]

pub mod cause;
pub mod layout;
pub mod location;
pub mod restoring;
pub mod root;
pub mod timestamp;
pub mod version;
