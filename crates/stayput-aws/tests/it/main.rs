//! The ports against real servers.

mod ministack;
mod server;
