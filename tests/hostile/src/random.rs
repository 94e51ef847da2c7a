//! Choices that a number decides: the same number, the same choices.

use proptest::prelude::Rng as _;
use proptest::test_runner::{RngAlgorithm, TestRng};

/// A source of choices.
#[derive(Debug)]
pub struct Random(TestRng);

impl Random {
    /// The choices of this number.
    pub fn of(seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_be_bytes());
        Self(TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
    }

    /// A number below `n`, which isn't 0.
    pub fn below(&mut self, n: usize) -> usize {
        // Not quite uniform, which nobody minds here.
        let n = u64::try_from(n).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.0.next_u64() % n).unwrap_or(0)
    }

    /// Whether one of `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of these.
    ///
    /// # Panics
    /// There is none.
    pub fn of_these<'t, T>(&mut self, these: &'t [T]) -> &'t T {
        &these[self.below(these.len())]
    }

    /// Any number.
    pub fn any(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// So many bytes.
    pub fn bytes(&mut self, n: usize) -> Vec<u8> {
        let mut bytes = vec![0; n];
        self.0.fill_bytes(&mut bytes);
        bytes
    }
}
