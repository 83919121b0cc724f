//! Repeatable choices: the same seed gives the same ones on every machine. Pure.

/// `SplitMix64`: small, and good enough to mix choices.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `sides`.
    pub(crate) fn below(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let sides = u64::try_from(sides).unwrap();
        usize::try_from((mixed ^ (mixed >> 31)) % sides).unwrap()
    }

    /// True once in so many times.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    /// Up to `most` of them, none twice, in an order of its own.
    pub(crate) fn some<T: Clone>(&mut self, from: &[T], most: usize) -> Vec<T> {
        let mut left = from.to_vec();
        let count = 1 + self.below(most.min(left.len()));
        (0..count).map(|_| left.swap_remove(self.below(left.len()))).collect()
    }
}
