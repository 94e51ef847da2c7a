//! Whole-system tests of Stayput: what they need to put a real checkpoint into a local S3, to call the real Lambda
//! from a queue, and to tell who deleted what.
//!
//! The servers are started by `cargo xtask`, which says by environment variables where they are.
#![warn(missing_docs)]

pub mod cloud;
pub mod deployment;
pub mod embedded_metrics;
pub mod emulator;
pub mod iam;
pub mod rebase;
pub mod recorder;
pub mod relay;
pub mod stack;
pub mod system;
pub mod tree;
