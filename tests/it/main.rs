//! One integration binary for the whole system.

mod architecture;
mod deletions;
mod events;
mod large;
mod sweep;
