//! Who changes the bucket: jobs, rules, people. Each keeps its own truth of what it would come back to; none knows anything of Stayput.

mod cleanup;
mod job;
mod metadata;
pub mod people;
pub mod rules;

pub(crate) use job::dispose;
pub use job::{Checkpoint, Completed, Ended, File, Job, Place};
