//! Text that others chose, shown so that it can't control the terminal or pretend to be something else.

pub use stayput_core::shown::{Shown, ShownJson};
