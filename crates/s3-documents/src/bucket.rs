//! Bucket.
