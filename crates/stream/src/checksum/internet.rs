//! The Internet checksum (RFC 1071), combined from parts.

/// The ones' complement sum of a piece of data, before it is inverted. The default is the sum of an
/// empty piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Partial {
    /// The ones' complement sum of the big-endian words, folded into 16 bits, as if the piece began
    /// at an even position.
    sum: u16,
    /// Whether the piece has an odd number of bytes.
    odd: bool,
}

impl Partial {
    /// Computes the ones' complement sum of the piece `data`.
    #[must_use]
    pub fn of(data: &[u8]) -> Self {
        Self {
            sum: sum_of_words(data),
            odd: data.len() % 2 == 1,
        }
    }

    /// Restores the sum of a piece of `bytes` bytes from the value that [`Partial::word`] returned.
    #[must_use]
    pub fn from_word(word: u16, bytes: u64) -> Self {
        Self {
            sum: word,
            odd: bytes % 2 == 1,
        }
    }

    /// Returns the ones' complement sum as 16 bits, not inverted.
    #[must_use]
    pub fn word(self) -> u16 {
        self.sum
    }

    /// Returns the sum of this piece followed by the piece of `next`. If this piece has an odd
    /// number of bytes, the bytes of the next piece swap their positions within words, so its sum
    /// is swapped too (RFC 1071, 2.B).
    #[must_use]
    pub fn then(self, next: Self) -> Self {
        let moved = if self.odd {
            next.sum.swap_bytes()
        } else {
            next.sum
        };
        Self {
            sum: fold(u64::from(self.sum) + u64::from(moved)),
            odd: self.odd ^ next.odd,
        }
    }

    /// Returns the Internet checksum of the piece, which is its inverted sum.
    #[must_use]
    pub fn finish(self) -> u16 {
        !self.sum
    }
}

/// Returns the ones' complement sum of the big-endian 16-bit words of `data`; an odd last byte is
/// the upper half of a word. Four bytes at a time are added to eight independent counters without
/// swapping. The sum of swapped words is the swapped sum (RFC 1071, 2.B), so only the result is
/// swapped.
fn sum_of_words(data: &[u8]) -> u16 {
    let mut counts = [0u64; 8];
    let (blocks, rest) = data.as_chunks::<32>();
    for block in blocks {
        let (fours, _) = block.as_chunks::<4>();
        for (count, four) in counts.iter_mut().zip(fours) {
            *count += u64::from(u32::from_ne_bytes(*four));
        }
    }
    let (pairs, last) = rest.as_chunks::<2>();
    let mut tail: u64 = pairs
        .iter()
        .map(|pair| u64::from(u16::from_ne_bytes(*pair)))
        .sum();
    if let [byte] = last {
        tail += u64::from(u16::from_ne_bytes([*byte, 0]));
    }
    // Fold each counter to 16 bits before adding them, because the sum of the unfolded counters may
    // overflow.
    let folded = counts.iter().map(|count| u64::from(fold(*count)));
    u16::from_be(fold(folded.sum::<u64>() + tail))
}

/// Folds `sum` into 16 bits: adds the upper bits to the lowest 16 until no upper bits remain.
fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
