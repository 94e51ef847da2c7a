//! Every document that a person or a program sees, and the one place where a sentence is made from it.

pub mod finding;
pub mod message;
pub mod recovery;
pub mod summary;
pub mod verdict;
