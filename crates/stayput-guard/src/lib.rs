//! The use cases of Stayput over ports.
