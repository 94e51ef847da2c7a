//! Decides which deleted objects a Flink checkpoint still needs.
