//! The use cases of Stayput over ports: handle deletions, and later sweep, verify, restore, clean.
//!
//! No runtime, no spawn, no SDK: the ports are traits, and [`stayput_core`] decides.
#![warn(missing_docs)]

pub mod port;
