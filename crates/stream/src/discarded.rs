//! The set of streams of which a receiver discarded packets, in the form that packet headers
//! contain.

/// Number of recent streams for which the set has a bit of its own.
const STREAMS: u32 = u32::BITS;

/// The set of streams of one connection of which the receiver discarded packets. A header carries
/// the whole set and not a change, so that losing a header loses no information.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DiscardedStreams {
    newest: u32,
    /// Bit `i` is set if packets of stream `newest - i` were discarded.
    bits: u32,
}

impl DiscardedStreams {
    /// Records that the receiver discarded packets of this stream.
    pub fn add(&mut self, stream: u32) {
        if self.bits == 0 || stream > self.newest {
            self.bits = self.bits.checked_shl(stream - self.newest).unwrap_or(0);
            self.newest = stream;
        }
        let before = self.newest - stream;
        self.bits |= 1u32.checked_shl(before).unwrap_or(0);
    }

    /// Returns whether packets of this stream may have been discarded. True for streams that are
    /// too old to be recorded.
    #[must_use]
    pub fn holds(self, stream: u32) -> bool {
        let before = self.newest.checked_sub(stream).filter(|_| self.bits != 0);
        before.is_some_and(|before| before >= STREAMS || self.bits >> before & 1 == 1)
    }

    /// Returns this set as a 64-bit word: the number of the newest stream in the lower 32 bits, one
    /// bit per stream in the upper 32 bits.
    pub(crate) fn word(self) -> u64 {
        u64::from(self.newest) | u64::from(self.bits) << STREAMS
    }

    /// Parses 64 bits in the form of [`DiscardedStreams::word`] into a set. None if `word` cannot
    /// return these bits.
    pub(crate) fn of(word: u64) -> Option<Self> {
        let (newest, bits) = (word as u32, (word >> STREAMS) as u32);
        let first = bits & 1 == 1 || bits == 0 && newest == 0;
        // Refuse bits that would belong to streams with numbers below 0.
        let last = bits.checked_shr(newest.saturating_add(1)).unwrap_or(0) == 0;
        (first && last).then_some(Self { newest, bits })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Checks that the set contains the streams that were added. A plain set serves as the
        /// reference.
        #[test]
        fn the_set_contains_the_added_streams(added in prop::collection::vec(0u32..90, 0..40)) {
            let (mut discarded, mut all) = (DiscardedStreams::default(), BTreeSet::new());
            for stream in added {
                discarded.add(stream);
                all.insert(stream);
                let newest = *all.last().expect("one was added");
                for other in 0..100 {
                    let unknown = newest.checked_sub(other).is_some_and(|before| before >= 32);
                    prop_assert_eq!(discarded.holds(other), unknown || all.contains(&other));
                }
                prop_assert_eq!(DiscardedStreams::of(discarded.word()), Some(discarded));
            }
        }

        /// Checks that `of` accepts exactly the words that `word` can return.
        #[test]
        fn invalid_words_are_refused(newest in 0u32..40, bits: u32) {
            let word = u64::from(newest) | u64::from(bits) << 32;
            let built = (0..32).rev().filter(|before| bits >> before & 1 == 1);
            let streams: Option<Vec<u32>> = built.map(|before| newest.checked_sub(before)).collect();
            let mut discarded = DiscardedStreams::default();
            for stream in streams.iter().flatten() {
                discarded.add(*stream);
            }
            let known = streams.is_some() && discarded.word() == word;
            prop_assert_eq!(DiscardedStreams::of(word).is_some(), known);
        }
    }
}
