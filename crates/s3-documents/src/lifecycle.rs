//! Lifecycle.
