//! The fuzz targets by name.

use crate::{bucket_documents, events, java_object, metadata, references, sidecar};

/// What `_metadata` begins with. A fuzzer needn't find it.
const MAGIC: &[u8] = &[0x49, 0x60, 0x67, 0x2D];

/// A reader under test.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name: that of the fuzz target and of its corpus.
    pub name: &'static str,
    /// Stands before every input.
    prefix: &'static [u8],
    check: fn(&[u8]) -> bool,
}

/// All of them.
pub const TARGETS: [Target; 6] = [
    Target {
        name: "metadata",
        prefix: MAGIC,
        check: metadata::check,
    },
    Target {
        name: "references",
        prefix: MAGIC,
        check: references::check,
    },
    Target {
        name: "java_object",
        prefix: &[],
        check: java_object::check,
    },
    Target {
        name: "events",
        prefix: &[],
        check: events::check,
    },
    Target {
        name: "bucket_documents",
        prefix: &[],
        check: bucket_documents::check,
    },
    Target {
        name: "sidecar",
        prefix: &[],
        check: sidecar::check,
    },
];

impl Target {
    /// The target of this name.
    pub fn named(name: &str) -> Option<Target> {
        TARGETS.into_iter().find(|target| target.name == name)
    }

    /// Checks one input. Gives whether it is whole in the eyes of the reader.
    ///
    /// # Panics
    /// Something doesn't hold.
    pub fn check(self, input: &[u8]) -> bool {
        if self.prefix.is_empty() {
            return (self.check)(input);
        }
        let mut bytes = Vec::with_capacity(self.prefix.len() + input.len());
        bytes.extend_from_slice(self.prefix);
        bytes.extend_from_slice(input);
        (self.check)(&bytes)
    }

    /// A file as an input: without what stands before every input. `None` if it begins otherwise.
    pub fn input_of(self, file: &[u8]) -> Option<&[u8]> {
        file.strip_prefix(self.prefix)
    }
}
