//! The ports against real servers.

mod ports;
mod races;
mod server;
mod world;
