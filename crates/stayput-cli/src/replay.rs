//! `stayput replay STORY`: plays one acceptance story of the kind that `tests/corpus/stories` holds.
//!
//! A story is a folder: a bucket, what happened to it, and when somebody looks. [`Story::load`] reads and checks it, [`Story::apply`] puts the
//! model into the state of a look, and [`Look::messages`] are what arrives before it; [`Story::play`] feeds them to the guard.

mod error;
mod files;
mod line;
mod play;
mod state;
mod story;

pub use error::{StoryError, StoryProblem};
pub use line::Line;
pub use play::{Played, Process, Rehearsal};
pub use story::{EarlierSwitches, Look, MessageLine, Story};
