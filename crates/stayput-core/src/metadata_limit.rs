//! How long a `_metadata` may be to be read.

use std::fmt;

/// So many bytes of a function's memory there must be for each byte of a `_metadata`. The bytes lie in memory once, and of one with nothing
/// but handles the catalogue and a look at all of its objects take some more (`crates/stayput-guard/tests/memory.rs` measures it and
/// holds this number against it); the rest is for the program, for the catalogue of everything else, and for connections.
pub const MEMORY_PER_BYTE: u64 = 8;

/// How long a `_metadata` may be to be read, in bytes, and what says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MetadataLimit {
    bytes: u64,
    set_by: SetBy,
}

/// What sets the limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SetBy {
    Setting,
    Memory {
        mebibytes: u64,
    },
    /// What is read is never longer if Flink wrote it.
    Kind,
}

impl MetadataLimit {
    /// The limit of the settings (`max_metadata_bytes`), in bytes.
    pub const fn of_settings(bytes: u64) -> Self {
        Self {
            bytes,
            set_by: SetBy::Setting,
        }
    }

    /// The same, but not more than a function of this memory (`AWS_LAMBDA_FUNCTION_MEMORY_SIZE`, which counts in MiB) can read: an eighth
    /// of it.
    #[must_use]
    pub const fn within_memory(self, mebibytes: u64) -> Self {
        let share = mebibytes.saturating_mul(1 << 20) / MEMORY_PER_BYTE;
        if share < self.bytes {
            Self {
                bytes: share,
                set_by: SetBy::Memory { mebibytes },
            }
        } else {
            self
        }
    }

    /// The same for a kind of object of which nobody reads more than so many bytes.
    #[must_use]
    pub const fn at_most(self, bytes: u64) -> Self {
        if bytes < self.bytes {
            Self {
                bytes,
                set_by: SetBy::Kind,
            }
        } else {
            self
        }
    }

    /// In bytes.
    pub const fn bytes(self) -> u64 {
        self.bytes
    }

    /// What to change so that a `_metadata` of `size` bytes is read.
    pub fn remedy(self, size: u64) -> String {
        match self.set_by {
            SetBy::Setting => format!("Set max_metadata_bytes to {size} or more."),
            SetBy::Kind => "Nothing: no setting makes it be read.".to_owned(),
            SetBy::Memory { .. } => {
                let mebibytes = size.saturating_mul(MEMORY_PER_BYTE).div_ceil(1 << 20);
                format!("Give the function {mebibytes} MB of memory or more.")
            }
        }
    }
}

impl fmt::Display for MetadataLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.set_by {
            SetBy::Setting => write!(f, "max_metadata_bytes = {}", self.bytes),
            SetBy::Kind => write!(f, "the {} bytes that such an object can have", self.bytes),
            SetBy::Memory { mebibytes } => write!(
                f,
                "the {} bytes that a function with {mebibytes} MB of memory reads",
                self.bytes
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smaller_of_setting_and_memory_counts_and_says_so() {
        let setting = MetadataLimit::of_settings(2 << 30);
        assert_eq!(setting.within_memory(10_240).bytes(), 1280 << 20);
        assert_eq!(setting.within_memory(16_384), setting);
        let small = setting.within_memory(512);
        assert_eq!(small.bytes(), 64 << 20);
        assert_eq!(
            small.to_string(),
            "the 67108864 bytes that a function with 512 MB of memory reads"
        );
        assert_eq!(
            small.remedy(500_000_000),
            "Give the function 3815 MB of memory or more."
        );
        assert!(setting.within_memory(3814).bytes() < 500_000_000);
        assert!(setting.within_memory(3815).bytes() >= 500_000_000);
        assert_eq!(
            MetadataLimit::of_settings(7).within_memory(512).to_string(),
            "max_metadata_bytes = 7"
        );
        assert_eq!(setting.within_memory(u64::MAX), setting);
    }
}
