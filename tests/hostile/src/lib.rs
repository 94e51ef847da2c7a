//! What must hold of every reader, whatever it is given: one definition, which the fuzz targets, the replay of their corpora
//! and the mutating test call. And files that nobody wrote in earnest: every layout of `_metadata`, field by field.
#![warn(missing_docs)]

pub mod bucket_documents;
pub mod corpus;
mod document_error;
pub mod events;
pub mod java_object;
pub mod large;
pub mod make;
pub mod memory;
pub mod metadata;
pub mod mutate;
pub mod names;
pub mod random;
pub mod references;
pub mod sidecar;
pub mod target;
pub mod tokens;
pub mod tree;
