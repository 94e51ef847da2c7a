//! How long an object must be for the handles that name it.

/// The length that handles ask of an object, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Extent {
    /// Exactly so long: files and relative files (tags 2 and 6).
    Exact(u64),
    /// At least so long: segments of merged files (tag 15); the whole length isn't recorded.
    AtLeast(u64),
    /// A changelog (DSTL) file with this many uncompressed bytes: one byte longer when plain, of any length when compressed.
    Changelog(u64),
    /// The handle doesn't say.
    Unknown,
}

impl Extent {
    /// Whether an object of `size` bytes can be what the handle means. A changelog file may be compressed, so any length but zero can be.
    pub fn allows(self, size: u64) -> bool {
        match self {
            Self::Exact(n) => size == n,
            Self::AtLeast(n) => size >= n,
            Self::Changelog(_) => size > 0,
            Self::Unknown => true,
        }
    }

    /// Whether `size` is what a plain, undamaged object has: tells a changelog file's plain form from one that may be compressed.
    pub fn is_plain_length(self, size: u64) -> bool {
        match self {
            Self::Changelog(n) => Some(size) == n.checked_add(1),
            other => other.allows(size),
        }
    }

    const SIZE_BITS: u32 = 62;

    /// Two bits of kind, 62 bits of size: no object is longer than 2^62 bytes, and what claims to be is unknown.
    pub(crate) fn packed(self) -> u64 {
        let (kind, size) = match self {
            Self::Exact(n) => (0, n),
            Self::AtLeast(n) => (1, n),
            Self::Changelog(n) => (2, n),
            Self::Unknown => (3, 0),
        };
        if size >> Self::SIZE_BITS == 0 {
            (kind << Self::SIZE_BITS) | size
        } else {
            3 << Self::SIZE_BITS
        }
    }

    pub(crate) fn unpacked(bits: u64) -> Self {
        let size = bits & ((1 << Self::SIZE_BITS) - 1);
        match bits >> Self::SIZE_BITS {
            0 => Self::Exact(size),
            1 => Self::AtLeast(size),
            2 => Self::Changelog(size),
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_keeps_kind_and_size() {
        for e in [
            Extent::Exact(0),
            Extent::AtLeast(7),
            Extent::Changelog((1 << 62) - 1),
            Extent::Unknown,
        ] {
            assert_eq!(Extent::unpacked(e.packed()), e);
        }
        assert_eq!(
            Extent::unpacked(Extent::Exact(u64::MAX).packed()),
            Extent::Unknown
        );
    }

    #[test]
    fn a_plain_changelog_file_is_one_byte_longer_and_a_compressed_one_is_anything() {
        assert!(Extent::Changelog(100).is_plain_length(101));
        assert!(!Extent::Changelog(100).is_plain_length(100));
        assert!(Extent::Changelog(100).allows(42) && !Extent::Changelog(100).allows(0));
    }
}
