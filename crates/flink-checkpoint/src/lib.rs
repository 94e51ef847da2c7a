//! Reads every on-disk format of Apache Flink that names files.
