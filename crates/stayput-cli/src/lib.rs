//! What the `stayput` command does, as functions: the command itself only reads arguments and prints.
#![warn(missing_docs)]

pub mod replay;
