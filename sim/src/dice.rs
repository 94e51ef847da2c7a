//! Choices that a number decides: the same number, the same choices, on every machine and in every release.

/// A source of choices (SplitMix64).
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// The choices of this number.
    pub fn of(seed: u64) -> Self {
        Self(seed ^ 0x9E37_79B9_7F4A_7C15)
    }

    /// The choices of this number for one purpose among several, so that what one purpose asks for doesn't change the others.
    pub fn for_purpose(seed: u64, purpose: u64) -> Self {
        let mut dice = Self::of(seed.wrapping_add(purpose.wrapping_mul(0xD134_2543_DE82_EF95)));
        dice.any();
        dice
    }

    /// Any number.
    pub fn any(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        // Not quite uniform, which nobody minds here.
        self.any() % n.max(1)
    }

    /// A place in a list of this length.
    pub fn place(&mut self, length: usize) -> usize {
        let n = u64::try_from(length).unwrap_or(u64::MAX);
        usize::try_from(self.below(n)).unwrap_or(0)
    }

    /// A number from `from` to `to`, both included.
    pub fn between(&mut self, from: i64, to: i64) -> i64 {
        let span = u64::try_from(to.saturating_sub(from))
            .unwrap_or(0)
            .saturating_add(1);
        from.saturating_add(i64::try_from(self.below(span)).unwrap_or(0))
    }

    /// True so many times in a thousand.
    pub fn per_mille(&mut self, times: u32) -> bool {
        self.below(1000) < u64::from(times)
    }

    /// One of these; `None` if there is none.
    pub fn pick<'t, T>(&mut self, these: &'t [T]) -> Option<&'t T> {
        these.get(self.place(these.len()))
    }

    /// One of these by weight; the first if all weigh nothing.
    pub fn weighed<T: Copy>(&mut self, these: &[(u32, T)]) -> Option<T> {
        let all: u64 = these.iter().map(|(w, _)| u64::from(*w)).sum();
        let mut left = self.below(all);
        for (weight, what) in these {
            let weight = u64::from(*weight);
            if left < weight {
                return Some(*what);
            }
            left -= weight;
        }
        these.first().map(|(_, what)| *what)
    }

    /// Puts a list into another order.
    pub fn shuffle<T>(&mut self, these: &mut [T]) {
        for n in (1..these.len()).rev() {
            these.swap(n, self.place(n + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Dice;

    #[test]
    fn the_same_number_gives_the_same_choices_and_each_purpose_its_own() {
        let throws = |mut d: Dice| (0..20).map(|_| d.below(100)).collect::<Vec<_>>();
        assert_eq!(throws(Dice::of(7)), throws(Dice::of(7)));
        assert_ne!(throws(Dice::of(7)), throws(Dice::of(8)));
        assert_ne!(throws(Dice::for_purpose(7, 1)), throws(Dice::for_purpose(7, 2)));
        let mut list = [1, 2, 3, 4, 5, 6, 7];
        Dice::of(3).shuffle(&mut list);
        assert_ne!(list, [1, 2, 3, 4, 5, 6, 7]);
        list.sort_unstable();
        assert_eq!(list, [1, 2, 3, 4, 5, 6, 7]);
    }
}
