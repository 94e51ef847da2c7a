//! Who changes the bucket: jobs, rules, people. Each keeps its own truth of what it would come back to; none knows anything of Stayput.

mod checkpoint;
mod cleanup;
mod java;
mod job;
mod layout;
mod metadata;
mod names;
pub mod people;
mod pointer;
pub mod rules;
mod sink;
mod sink_state;

pub use checkpoint::{Checkpoint, File, Place};
pub(crate) use job::dispose;
pub use job::{Completed, Ended, Job};
pub(crate) use layout::{LOG, POINTERS};
pub(crate) use sink::{OUTPUT, is_tail_key};
