//! Buckets and directories by number, each text kept once.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::{IndexFull, OTHER_NAME};

/// Buckets with directories, each once, by number.
#[derive(Default)]
pub(super) struct Directories {
    texts: Vec<(Box<str>, Box<str>)>,
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
    last: Option<u32>,
}

impl Directories {
    /// Bucket and key prefix.
    pub(super) fn get(&self, number: u32) -> (&str, &str) {
        let (bucket, directory) = &self.texts[number as usize];
        (bucket, directory)
    }

    fn is(&self, number: u32, bucket: &str, directory: &str) -> bool {
        let (b, d) = self.get(number);
        d == directory && b == bucket
    }

    pub(super) fn find(&self, bucket: &str, directory: &str) -> Option<u32> {
        // References of one snapshot come in runs from one directory.
        if let Some(last) = self.last
            && self.is(last, bucket, directory)
        {
            return Some(last);
        }
        let hash = self.hasher.hash_one((bucket, directory));
        self.numbers
            .find(hash, |number| self.is(*number, bucket, directory))
            .copied()
    }

    pub(super) fn intern(&mut self, bucket: &str, directory: &str) -> Result<u32, IndexFull> {
        let number = match self.find(bucket, directory) {
            Some(number) => number,
            None => {
                let number = u32::try_from(self.texts.len())
                    .ok()
                    .filter(|n| *n < OTHER_NAME)
                    .ok_or(IndexFull)?;
                let hash = self.hasher.hash_one((bucket, directory));
                self.texts.push((Box::from(bucket), Box::from(directory)));
                let Self {
                    texts,
                    numbers,
                    hasher,
                    ..
                } = self;
                numbers.insert_unique(hash, number, |n| {
                    let (bucket, directory) = &texts[*n as usize];
                    hasher.hash_one((&**bucket, &**directory))
                });
                number
            }
        };
        self.last = Some(number);
        Ok(number)
    }
}
