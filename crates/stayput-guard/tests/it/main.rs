//! The stories of the guard, told on the model with checkpoints that real Flink wrote.

mod claimed;
mod copying;
mod cost;
mod crash;
mod delete_order;
mod doctor;
mod goes_on;
mod ha;
mod in_parts;
mod journal;
mod lab;
mod measures;
mod mixes;
mod observing;
mod order;
mod purges;
mod quiet;
mod restraint;
mod reused;
mod several;
mod sources;
mod streams;
mod sweep;
mod tails;
mod template_settings;
mod unread;
