//! Reads bytes as choices, so that every input of a fuzzer means something.

/// Numbers that are worth trying: few, around usual limits, and many.
const COUNTS: [usize; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 20, 32, 60, 70, 200, 1_000, 5_000, 20_000];

/// The choices that are left, and how much may still be generated.
pub(crate) struct Choices<'a> {
    bytes: &'a [u8],
    left: usize,
}

impl<'a> Choices<'a> {
    /// Everything that is generated may have about this many parts.
    pub(crate) fn new(bytes: &'a [u8], n_parts_max: usize) -> Self {
        Self { bytes, left: n_parts_max }
    }

    /// The next byte; zero after the end.
    pub(crate) fn byte(&mut self) -> u8 {
        match self.bytes.split_first() {
            Some((first, rest)) => {
                self.bytes = rest;
                *first
            }
            None => 0,
        }
    }

    /// Whether there is nothing left to choose from, or enough was generated.
    pub(crate) fn is_over(&self) -> bool {
        self.bytes.is_empty() || self.left == 0
    }

    /// One of these.
    pub(crate) fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::from(self.byte()) % all.len()]
    }

    /// A number up to a limit; what it counts is taken from what may still be generated.
    pub(crate) fn count(&mut self, limit: usize) -> usize {
        let count = self.of(&COUNTS).min(limit).min(self.left);
        self.left -= count;
        count
    }

    /// How often something of this size is repeated, up to a limit.
    pub(crate) fn copies(&mut self, limit: usize, size: usize) -> usize {
        let count = self.of(&COUNTS).min(limit).min(self.left / size.max(1));
        self.left -= count * size;
        count
    }

    /// Takes one part from what may still be generated.
    pub(crate) fn part(&mut self) {
        self.left = self.left.saturating_sub(1);
    }
}
