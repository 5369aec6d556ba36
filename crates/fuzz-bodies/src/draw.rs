//! Numbers and choices from the fuzzer's bytes.

use arbitrary::Unstructured;

/// Bytes that are used up; once they are, everything is 0.
pub struct Draw<'a>(Unstructured<'a>);

impl<'a> Draw<'a> {
    pub fn new(data: &'a [u8]) -> Self {
        Self(Unstructured::new(data))
    }

    pub fn more(&self) -> bool {
        !self.0.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        self.0.arbitrary().unwrap_or_default()
    }

    /// A number below `end`, which is at most 256.
    pub fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end
    }

    pub fn flip(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    pub fn word(&mut self) -> u64 {
        self.0.arbitrary().unwrap_or_default()
    }

    /// Any number: small ones, those around powers of two, and those at the end more often.
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

    /// Some bytes, at most 255.
    pub fn bytes(&mut self) -> &'a [u8] {
        let len = usize::from(self.byte()).min(self.0.len());
        self.0.bytes(len).unwrap_or_default()
    }
}
