//! Bounds that protect against input that no Flink release writes.

/// Bounds for reading one file. The defaults fit every file that Flink writes; every bound that is hit
/// gives a typed error.
///
/// Counts and lengths need no setting: each is checked against the bytes that are left.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// How deep state handles may lie in each other. Flink nests three deep (changelog, incremental,
    /// stream); the default is 8.
    pub max_nesting: u8,
    /// How many layouts are tried for format 3, where two layouts changed without a new version or tag.
    /// 1 to 4, default 4; fewer means that files of Flink 1.11 or 1.14 may not be read.
    pub layout_attempts: u8,
    /// How many values (objects, strings, class descriptions, fields, array elements) the Java object
    /// stream behind the operators may hold. Flink writes about 50; the default is 200.
    pub max_properties_values: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_nesting: 8,
            layout_attempts: 4,
            max_properties_values: 200,
        }
    }
}
