//! A simulated world that judges the guard: jobs, lifecycle rules, careless people, messages that come late, twice or never, a function that
//! dies, and an oracle that knows what each of them would restore from.
//!
//! One seed decides a history. `cargo xtask sim --seeds N` plays many, `cargo xtask sim --seed S --trace` shows one.
#![warn(missing_docs)]

pub mod actors;
pub mod clock;
pub mod crowd;
pub mod dice;
pub mod function;
pub mod generate;
pub mod kept;
pub mod oracle;
pub mod picture;
pub mod planted;
pub mod run;
pub mod scenario;
pub mod shrink;
pub mod store;
pub mod trace;
