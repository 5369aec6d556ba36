//! Whether two builds tell the same, word for word and in the same order, about every run.

mod fattree;
mod hypercube;
mod sci;

/// FNV-1a, 64 bits at a time.
struct Hash {
    value: u64,
}

impl Hash {
    fn new() -> Self {
        Self {
            value: 0xCBF2_9CE4_8422_2325,
        }
    }

    fn add(&mut self, words: &[u64]) {
        for word in words {
            self.value = (self.value ^ word).wrapping_mul(0x0000_0100_0000_01B3);
        }
    }
}

/// Fingerprints of runs on every kind of machine, by name.
pub fn all() -> Vec<(String, u64)> {
    let mut rows = Vec::new();
    hypercube::all(&mut rows);
    sci::all(&mut rows);
    fattree::all(&mut rows);
    rows
}
