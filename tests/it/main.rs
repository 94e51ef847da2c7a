//! One integration binary for the whole system.

mod architecture;
mod deletions;
mod docs;
mod events;
mod findings;
mod large;
mod parked;
mod permissions;
mod stack;
mod sweep;
