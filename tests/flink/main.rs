//! Real Flink writes checkpoints to a local S3; somebody deletes what they need; the real Lambda puts it back.
//!
//! A cluster is a JobManager and a TaskManager, each a process of its own, with `flink-s3-fs-hadoop` as people have it.
//! `cargo xtask test --all` installs Flink and runs this.

mod cluster;
mod failover;
mod lab;
mod quiet;
mod release;
mod rest;
mod restore;
mod snapshot;
