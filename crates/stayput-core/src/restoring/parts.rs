//! What is too large for one request is copied in parts, each a range of the source.

use std::ops::RangeInclusive;

/// The largest object that one CopyObject request takes: 5 GB in S3's binary sense, 5 × 2^30 bytes.
pub const MAX_SINGLE_COPY_BYTES: u64 = 5 << 30;
/// The parts of an upload are numbered from 1 to this (S3's limits for multipart uploads).
pub const MAX_PARTS: u64 = 10_000;

/// From which length on a copy is made in parts, and how long these are. Bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PartSizes {
    /// What is longer is copied in parts.
    pub single: u64,
    /// A part has so many bytes, unless the object has more than 10,000 of them. At least 5 MiB, or S3 refuses.
    pub part: u64,
}

impl PartSizes {
    /// S3's own limit, and parts that take a few seconds each.
    pub const S3: Self = Self {
        single: MAX_SINGLE_COPY_BYTES,
        part: 256 << 20,
    };

    /// How long the parts of an object of this length are, but for the last.
    pub fn part_of(self, size: u64) -> u64 {
        self.part.max(size.div_ceil(MAX_PARTS)).max(1)
    }
}

/// One part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PartRange {
    /// Its number, from 1 on.
    pub number: u32,
    /// First and last byte of the source.
    pub bytes: RangeInclusive<u64>,
}

impl PartRange {
    /// Length in bytes.
    pub fn size(&self) -> u64 {
        self.bytes.end() - self.bytes.start() + 1
    }
}

/// The parts of an object of `size` bytes, each `part` bytes long but the last. `None`: that isn't possible, there are no bytes or more than
/// 10,000 parts.
pub fn part_ranges(size: u64, part: u64) -> Option<impl Iterator<Item = PartRange>> {
    if size == 0 || part == 0 || size.div_ceil(part) > MAX_PARTS {
        return None;
    }
    let starts = (0..size.div_ceil(part)).map(move |n| n * part);
    Some(starts.zip(1..).map(move |(start, number)| PartRange {
        number,
        bytes: start..=(start + (part - 1)).min(size - 1),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_the_object_once_and_are_never_too_many() {
        let mib = 1 << 20;
        let sizes = [
            1,
            5 * mib,
            5 * mib + 1,
            256 * mib,
            MAX_SINGLE_COPY_BYTES + 1,
            3 << 40,
            MAX_PARTS * MAX_SINGLE_COPY_BYTES,
        ];
        for size in sizes {
            let part = PartSizes::S3.part_of(size);
            assert!(part <= MAX_SINGLE_COPY_BYTES, "{size}");
            let ranges: Vec<PartRange> = part_ranges(size, part).expect("parts").collect();
            assert!(ranges.len() as u64 <= MAX_PARTS, "{size}");
            assert_eq!(ranges[0].bytes.start(), &0);
            assert_eq!(*ranges.last().expect("a part").bytes.end(), size - 1);
            assert!(
                ranges
                    .windows(2)
                    .all(|w| w[0].bytes.end() + 1 == *w[1].bytes.start())
            );
            assert!(
                ranges
                    .windows(2)
                    .all(|w| w[0].size() == part && w[0].number + 1 == w[1].number)
            );
            assert_eq!(ranges.iter().map(PartRange::size).sum::<u64>(), size);
        }
        for (size, part) in [(0, 1), (1, 0), (MAX_PARTS + 1, 1), (u64::MAX, 1)] {
            assert!(part_ranges(size, part).is_none(), "{size} {part}");
        }
    }
}
