//! What the `stayput` command does, as functions: the command itself only reads arguments and prints.
#![warn(missing_docs)]

pub mod audit;
pub mod doctor;
pub mod exit;
pub mod guard_command;
pub mod input;
pub mod inspect;
pub mod principal;
pub mod quantity;
pub mod refs;
pub mod replay;
pub mod serve;
pub mod setup;
pub mod switch;
pub mod terminal;
pub mod ui;
