//! One integration binary: each one links the SDK.
