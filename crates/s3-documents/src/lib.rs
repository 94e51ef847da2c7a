//! Reads S3 notifications, listings and bucket configuration.
