//! The ports of Stayput on the AWS SDK. No other crate knows the SDK.
//!
//! | port | here |
//! | --- | --- |
//! | [`Reading`](stayput_guard::port::Reading) | [`Bucket reading`](s3::S3): every page is read, or the call fails |
//! | [`CopyOnCondition`](stayput_guard::port::CopyOnCondition), [`CopyInParts`](stayput_guard::port::CopyInParts), [`RemoveMarker`](stayput_guard::port::RemoveMarker) | [`copies::Copies`] |
//! | [`Journal`](stayput_guard::port::Journal) | [`journal::S3Journal`] |
//! | [`Clock`](stayput_guard::port::Clock) | [`clock::SystemClock`] |
//!
//! With the feature `topic`, findings are published to a topic of SNS: [`topic`].
//!
//! With the feature `parking`, messages that wait are sent to a queue of SQS: [`parked`].
//!
//! With the feature `tools`, what `stayput doctor`, `setup` and `serve` ask besides: [`bucket_settings`], [`identity`], [`encryption_key`],
//! [`queue`].
//!
//! Nothing here deletes: the crate makes no request that removes or hides an object. What it can abort is an upload of its own, of which nothing
//! was ever visible.
#![warn(missing_docs)]

mod body;
#[cfg(feature = "tools")]
pub mod bucket_settings;
pub mod clock;
pub mod connection;
pub mod copies;
pub mod deadline;
#[cfg(feature = "tools")]
pub mod encryption_key;
mod failure;
#[cfg(feature = "tools")]
pub mod identity;
pub mod journal;
mod lifecycle;
mod pacer;
mod page_order;
mod paging;
#[cfg(feature = "parking")]
pub mod parked;
pub mod probe;
#[cfg(feature = "tools")]
pub mod queue;
pub mod requests;
pub mod s3;
#[cfg(test)]
mod scripted;
#[cfg(feature = "topic")]
pub mod topic;
pub mod watch;
