//! Streams of notifications that real Flink jobs caused, played in any order against the bucket as it stood.

mod flinks_own;
mod play;
mod recording;
mod strangers;
