//! Every build, check and demo step.

fn main() {}
