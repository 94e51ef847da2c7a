//! The ports against real servers.

mod chaos;
mod conformance;
mod doctor;
mod in_parts;
mod lifecycle;
mod ports;
mod programs;
mod push;
mod races;
mod rules;
mod server;
mod sidecars;
mod world;
