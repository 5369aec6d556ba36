//! Checksums of pieces of data: striping units (SUs) from links, or parts of them from single
//! reads. They are combined into the checksums of packets (paper, 4.1 and 4.2).

use isthmus_stream::StreamId;
use isthmus_stream::checksum::{Checksum, Partial, combine_crc32c, crc32c};
use std::collections::BTreeMap;

/// The checksum of a piece of data, which can be combined with that of the next piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sum {
    /// No checksum.
    None,
    /// The Internet checksum of the piece (RFC 1071).
    Internet(Partial),
    /// The CRC32C of the piece.
    Crc(u32),
}

impl Sum {
    /// Creates the checksum of a piece without bytes, by this algorithm.
    #[must_use]
    pub fn new(algorithm: Checksum) -> Self {
        match algorithm {
            Checksum::None => Self::None,
            Checksum::Internet => Self::Internet(Partial::default()),
            Checksum::Crc32c => Self::Crc(0),
        }
    }

    /// Creates the checksum of a piece of `bytes` from a value in the form of [`Sum::rank_word`].
    #[must_use]
    pub fn from_word(checksum: Checksum, word: u32, bytes: u64) -> Self {
        match checksum {
            Checksum::None => Self::None,
            // The cast loses nothing: only the lower 16 bits are ever set.
            Checksum::Internet => Self::Internet(Partial::from_word(word as u16, bytes)),
            Checksum::Crc32c => Self::Crc(word),
        }
    }

    /// Updates the checksum for further `data` at the end of the piece.
    pub fn add(&mut self, data: &[u8]) {
        let more = match self {
            Self::None => Self::None,
            Self::Internet(_) => Self::Internet(Partial::of(data)),
            Self::Crc(_) => Self::Crc(crc32c(data)),
        };
        *self = self.then(more, data.len() as u64);
    }

    /// Returns the checksum of this piece followed by the piece of `next`, which has `bytes` bytes.
    #[must_use]
    pub fn then(self, next: Self, bytes: u64) -> Self {
        match (self, next) {
            (Self::Internet(first), Self::Internet(second)) => Self::Internet(first.then(second)),
            (Self::Crc(first), Self::Crc(second)) => {
                Self::Crc(combine_crc32c(first, second, bytes))
            }
            _ => Self::None,
        }
    }

    /// Returns the checksum as a rank sends it to the daemon, which combines it with those of other ranks. An Internet
    /// checksum is not inverted yet.
    #[must_use]
    pub fn rank_word(self) -> u32 {
        match self {
            Self::Internet(partial) => u32::from(partial.word()),
            other => other.word(),
        }
    }

    /// Returns the value of the checksum in the form of packet headers.
    #[must_use]
    pub fn word(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Internet(partial) => u32::from(partial.finish()),
            Self::Crc(sum) => sum,
        }
    }
}

/// The checksums of the pieces of a transfer unit in a buffer.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    /// The stream, the application data unit and the transfer unit to which the pieces belong;
    /// `None` before the first transfer unit.
    of: Option<(StreamId, u64, u64)>,
    /// Length in bytes and checksum of each piece, by the position of its first byte.
    sums: BTreeMap<u64, (u64, Sum)>,
}

impl Pieces {
    /// Starts to collect the checksums of a transfer unit (TU), and drops those of any other TU.
    /// Returns whether there were pieces of another TU.
    pub fn begin(&mut self, of: (StreamId, u64, u64)) -> bool {
        let other = self.of != Some(of);
        if other {
            self.of = Some(of);
            self.sums.clear();
        }
        other
    }

    /// Returns whether the pieces belong to a transfer unit of this stream.
    pub fn are_of(&self, stream: StreamId) -> bool {
        self.of.is_some_and(|(of, ..)| of == stream)
    }

    /// Drops the checksums of all pieces.
    pub fn clear(&mut self) {
        self.of = None;
        self.sums.clear();
    }

    /// Sets the checksum of the piece that begins at byte `at`.
    pub fn set(&mut self, at: u64, bytes: u64, sum: Sum) {
        self.sums.insert(at, (bytes, sum));
    }

    /// Returns the checksum of bytes `at .. at + bytes`; `None` unless pieces with this kind of
    /// checksum cover exactly these bytes.
    pub fn of(&self, checksum: Checksum, at: u64, bytes: u64) -> Option<Sum> {
        let mut next = at;
        let mut whole = Sum::new(checksum);
        for (begin, (len, sum)) in self.sums.range(at..at + bytes) {
            let alike = std::mem::discriminant(sum) == std::mem::discriminant(&whole);
            if *begin != next || !alike {
                return None;
            }
            whole = if next == at {
                *sum
            } else {
                whole.then(*sum, *len)
            };
            next += len;
        }
        (next == at + bytes).then_some(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that pieces which cover a range give the checksum of the range, and that there is
    /// none if pieces are missing.
    #[test]
    fn pieces_give_the_sum_of_the_whole_or_none() {
        let data: Vec<u8> = (0..1000u32).map(|at| (at * 7 + at / 13) as u8).collect();
        for checksum in [Checksum::Internet, Checksum::Crc32c, Checksum::None] {
            let sum = |range: std::ops::Range<usize>| {
                let mut sum = Sum::new(checksum);
                range.clone().step_by(101).for_each(|at| {
                    sum.add(&data[at..range.end.min(at + 101)]);
                });
                sum
            };
            let mut pieces = Pieces::default();
            // The pieces are added out of order, and the last one is missing.
            pieces.set(333, 300, sum(333..633));
            pieces.set(0, 333, sum(0..333));
            assert_eq!(pieces.of(checksum, 0, 633), Some(sum(0..633)));
            assert_eq!(pieces.of(checksum, 333, 300), Some(sum(333..633)));
            assert_eq!(pieces.of(checksum, 0, 1000), None, "a piece is missing");
            assert_eq!(pieces.of(checksum, 0, 500), None, "no piece ends there");
            assert_eq!(pieces.of(checksum, 1, 632), None, "no piece begins there");
        }
        assert_eq!(Sum::new(Checksum::Crc32c).word(), 0);
    }
}
