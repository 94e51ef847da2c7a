//! The ports against real servers.

mod ports;
mod server;
