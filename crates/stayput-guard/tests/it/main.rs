//! The stories of the guard, told on the model with checkpoints that real Flink wrote.

mod lab;
mod order;
