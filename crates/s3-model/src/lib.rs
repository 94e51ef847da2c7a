//! A model of versioned S3 buckets in memory.
