//! One integration binary for the whole system.

mod deletions;
