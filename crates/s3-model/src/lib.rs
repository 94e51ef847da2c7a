//! A model of versioned S3 buckets in memory: versions, delete markers and listings as S3 has them, and a second
//! implementation of the ports of [`stayput_guard::port`].
//!
//! A [`Model`] is what a client of S3 reaches. Buckets are changed as people, Flink and lifecycle rules change them
//! (put, delete, delete of a version, a marker at midnight) through [`ModelBucket`], which isn't recorded and can't fail; what goes through
//! the ports is recorded as [`Call`]s, counted in requests, and meets the planned [`Fault`]s. Nothing waits, nothing is random: ids come
//! from a counter, and time stands where it was set.
//!
//! Lifecycle rules are carried out when they are told to, or by the clock at each midnight that passes ([`ModelBucket::run_rules`],
//! [`ModelBucket::let_rules_run`]). What happens is told in S3's and EventBridge's own forms to whoever subscribed
//! ([`ModelBucket::subscribe`]), as reliably as the [`Delivery`] says.
//!
//! Two clients of one world ([`Model::another_client`]) have their own calls, faults and crashes, as two Lambdas have.
#![warn(missing_docs)]

mod bucket;
mod call;
mod client;
mod error;
mod event;
mod fault;
mod in_parts;
mod journal;
mod listing;
mod load;
mod object;
pub mod operations;
mod ports;
mod rules;
mod rules_run;
mod subscription;
mod thaw;
mod thawing;
mod uploads;
mod world;

pub use bucket::ModelBucket;
pub use call::Call;
pub use client::Model;
pub use error::ErrorCode;
pub use event::{Event, EventKind};
pub use fault::Fault;
pub use journal::ModelJournal;
pub use load::TruncatedListing;
pub use object::{Content, Object, Retention, RetentionMode, StoredVersion};
pub use rules_run::{RuleAction, RuleDeed};
pub use subscription::{Delivered, Delivery, Destination, Form, Subscription};
pub use thaw::{Thaw, Tier};
pub use uploads::Upload;
