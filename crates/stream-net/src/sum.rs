//! Checksums of data that come in pieces: of each link its SUs, of each SU the pieces that a read
//! gave; put together to those of packets (paper, 4.1 and 4.2).

use isthmus_stream::StreamId;
use isthmus_stream::checksum::{Checksum, Partial, combine_crc32c, crc32c};
use std::collections::BTreeMap;

/// The checksum of a piece, as a connection wants it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sum {
    /// The connection has none.
    None,
    /// The Internet checksum.
    Internet(Partial),
    /// CRC32C.
    Crc(u32),
}

impl Sum {
    /// That of nothing yet.
    #[must_use]
    pub fn new(checksum: Checksum) -> Self {
        match checksum {
            Checksum::None => Self::None,
            Checksum::Internet => Self::Internet(Partial::default()),
            Checksum::Crc32c => Self::Crc(0),
        }
    }

    /// That which another made of a piece of `bytes`, in the form of [`Sum::partial`].
    #[must_use]
    pub fn given(checksum: Checksum, word: u32, bytes: u64) -> Self {
        match checksum {
            Checksum::None => Self::None,
            // Higher bits are never set.
            Checksum::Internet => Self::Internet(Partial::from_word(word as u16, bytes)),
            Checksum::Crc32c => Self::Crc(word),
        }
    }

    /// That of this piece and `data` behind it.
    pub fn add(&mut self, data: &[u8]) {
        let more = match self {
            Self::None => Self::None,
            Self::Internet(_) => Self::Internet(Partial::of(data)),
            Self::Crc(_) => Self::Crc(crc32c(data)),
        };
        *self = self.then(more, data.len() as u64);
    }

    /// That of this piece and the next, which has `bytes`.
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

    /// As ranks give it: of the Internet checksum the sum that is not inverted.
    #[must_use]
    pub fn partial(self) -> u32 {
        match self {
            Self::Internet(partial) => u32::from(partial.word()),
            other => other.word(),
        }
    }

    /// As headers of packets carry it.
    #[must_use]
    pub fn word(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Internet(partial) => u32::from(partial.finish()),
            Self::Crc(sum) => sum,
        }
    }
}

/// The sums of the pieces of a buffer.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    /// Whose they are: stream, ADU, TU.
    of: Option<(StreamId, u64, u64)>,
    /// By first byte: length and sum.
    sums: BTreeMap<u64, (u64, Sum)>,
}

impl Pieces {
    /// Forgets those of another TU; whether there was another.
    pub fn begin(&mut self, of: (StreamId, u64, u64)) -> bool {
        let other = self.of != Some(of);
        if other {
            self.of = Some(of);
            self.sums.clear();
        }
        other
    }

    /// Whether they are of a TU of this stream.
    pub fn are_of(&self, stream: StreamId) -> bool {
        self.of.is_some_and(|(of, ..)| of == stream)
    }

    pub fn clear(&mut self) {
        self.of = None;
        self.sums.clear();
    }

    pub fn set(&mut self, at: u64, bytes: u64, sum: Sum) {
        self.sums.insert(at, (bytes, sum));
    }

    /// The sum of bytes `at .. at + bytes`, if pieces of the same kind of sum are just these.
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
            // In any order; the last one is not there yet.
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
