//! Writing a sidecar while its `_metadata` is read.

use hashbrown::HashMap;

use super::{
    DIRECTORY_AGAIN, END, FORMAT, KIND_AT, MAGIC, NEW_DIRECTORY, OTHER_NAME, Of, PACKED_KIND_AT, RELEASE,
    UUID, seal_of,
};
use crate::extent::Extent;
use crate::location::ObjectLocation;
use crate::reference_index::{Name, Split};

/// Takes down what a `_metadata` names as it is read.
#[derive(Debug)]
pub struct Recorder {
    bytes: Vec<u8>,
    directories: HashMap<(Box<str>, Box<str>), u64>,
    /// Where the last reference lies: references of one snapshot come in runs from one directory.
    last: Option<(Box<str>, Box<str>)>,
    count: u64,
    has_sinks: bool,
}

impl Recorder {
    /// For the `_metadata` that is about to be read. `has_sinks`: whether it holds state of file sinks.
    pub fn of(of: Of<'_>, has_sinks: bool) -> Self {
        let mut bytes = MAGIC.to_vec();
        bytes.push(FORMAT);
        push_text(&mut bytes, RELEASE);
        for text in [of.metadata.bucket(), of.metadata.key(), of.etag] {
            push_text(&mut bytes, text);
        }
        push_number(&mut bytes, of.size);
        Self {
            bytes,
            directories: HashMap::new(),
            last: None,
            count: 0,
            has_sinks,
        }
    }

    pub(crate) fn name(&mut self, at: Split<'_>, extent: Extent) {
        let is_last = |(bucket, directory): &(Box<str>, Box<str>)| {
            **directory == *at.directory && **bucket == *at.bucket
        };
        if !self.last.as_ref().is_some_and(is_last) {
            self.begin_directory(at);
        }
        let packed = extent.packed();
        let [kind, ..] = (packed >> PACKED_KIND_AT).to_le_bytes();
        match Name::of(at.file) {
            Name::Uuid(bytes) => {
                self.bytes.push(UUID | kind << KIND_AT);
                self.bytes.extend_from_slice(&bytes);
            }
            Name::Other(text) => {
                self.bytes.push(OTHER_NAME | kind << KIND_AT);
                push_text(&mut self.bytes, text);
            }
        }
        push_number(&mut self.bytes, packed & ((1 << PACKED_KIND_AT) - 1));
        self.count += 1;
    }

    fn begin_directory(&mut self, at: Split<'_>) {
        let directory = (Box::from(at.bucket), Box::from(at.directory));
        if let Some(number) = self.directories.get(&directory) {
            self.bytes.push(DIRECTORY_AGAIN);
            push_number(&mut self.bytes, *number);
        } else {
            self.bytes.push(NEW_DIRECTORY);
            push_text(&mut self.bytes, at.bucket);
            push_text(&mut self.bytes, at.directory);
            let number = self.directories.len() as u64;
            self.directories.insert(directory.clone(), number);
        }
        self.last = Some(directory);
    }

    /// The whole sidecar. `directories`: those named as a whole, as they are written.
    pub(crate) fn finish(
        self,
        checkpoint_id: u64,
        operators: &[[u8; 16]],
        backends: &[Box<str>],
        directories: &[ObjectLocation],
    ) -> Vec<u8> {
        let mut bytes = self.bytes;
        bytes.push(END);
        push_number(&mut bytes, self.count);
        push_number(&mut bytes, checkpoint_id);
        bytes.push(self.has_sinks.into());
        push_number(&mut bytes, operators.len() as u64);
        bytes.extend(operators.iter().flatten());
        push_number(&mut bytes, backends.len() as u64);
        for backend in backends {
            push_text(&mut bytes, backend);
        }
        push_number(&mut bytes, directories.len() as u64);
        for directory in directories {
            push_text(&mut bytes, directory.bucket());
            push_text(&mut bytes, directory.key());
        }
        let seal = seal_of(&bytes);
        bytes.extend(seal);
        bytes
    }
}

fn push_number(bytes: &mut Vec<u8>, mut number: u64) {
    loop {
        let [lowest, ..] = number.to_le_bytes();
        number >>= 7;
        if number == 0 {
            return bytes.push(lowest);
        }
        bytes.push(lowest | 0x80);
    }
}

fn push_text(bytes: &mut Vec<u8>, text: &str) {
    push_number(bytes, text.len() as u64);
    bytes.extend_from_slice(text.as_bytes());
}
