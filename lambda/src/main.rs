//! The AWS Lambda of Stayput.

fn main() {}
