//! Reads random numbers and choices from the fuzzer's bytes.

use arbitrary::Unstructured;

/// The fuzzer's bytes, from which random values are read. When all bytes are used, every value is
/// 0.
pub struct Draw<'a>(Unstructured<'a>);

impl<'a> Draw<'a> {
    /// Creates a source of random values that reads these bytes of the fuzzer.
    pub fn new(data: &'a [u8]) -> Self {
        Self(Unstructured::new(data))
    }

    /// Returns whether any of the fuzzer's bytes are left.
    pub fn more(&self) -> bool {
        !self.0.is_empty()
    }

    /// Returns the next byte; 0 if all bytes are used.
    pub fn byte(&mut self) -> u8 {
        self.0.arbitrary().unwrap_or_default()
    }

    /// Returns a random number below `end`, which is at most 256.
    pub fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end
    }

    /// Returns a random Boolean.
    pub fn flip(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// Returns a random 64-bit number.
    pub fn word(&mut self) -> u64 {
        self.0.arbitrary().unwrap_or_default()
    }

    /// Returns a random number of any size. Small numbers, those near powers of two, and the
    /// largest ones are more frequent.
    pub fn number(&mut self) -> u64 {
        let form = self.byte();
        match form % 8 {
            0..4 => u64::from(self.byte()),
            4 => u64::from(self.byte()) << 8 | u64::from(self.byte()),
            5 => {
                let power = 1_u64 << (form >> 3) << (self.below(2) * 32);
                power.wrapping_add(self.below(5) as u64).wrapping_sub(2)
            }
            6 => u64::MAX - u64::from(self.byte()),
            _ => self.word(),
        }
    }

    /// Returns a sequence of at most 255 random bytes.
    pub fn bytes(&mut self) -> &'a [u8] {
        let len = usize::from(self.byte()).min(self.0.len());
        self.0.bytes(len).unwrap_or_default()
    }
}
