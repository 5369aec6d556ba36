//! Named random streams.
//!
//! Each entity, such as a node, has its own random stream. A change of one entity leaves the random
//! numbers of all others unchanged, and results do not depend on the order in which entities are
//! served.

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Random number generator of one entity, such as a node.
pub type Stream = Xoshiro256PlusPlus;

/// Factory for the random streams of one replication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Streams {
    key: u64,
}

impl Streams {
    /// Return the factory of the streams of replication `replication`, for the master seed `seed`.
    pub fn new(seed: u64, replication: u64) -> Self {
        Self {
            key: mix(mix(seed ^ 0x6973_7468_6D75_7331).wrapping_add(mix(replication))),
        }
    }

    /// Return the random stream of entity number `index` of the kind `name`.
    pub fn stream(self, name: &str, index: u64) -> Stream {
        Stream::seed_from_u64(self.seed(name, index))
    }

    /// Return the seed of entity number `index` of the kind `name`, for engines that have their own
    /// random number generator.
    pub fn seed(self, name: &str, index: u64) -> u64 {
        // The seed is FNV-1a over the name, then two rounds of mixing with the key and the index.
        let name = name.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
        });
        mix(mix(self.key ^ name).wrapping_add(mix(index)))
    }
}

/// Apply the finaliser of SplitMix64 (Steele, Lea, Flood 2014): a bijection that spreads every bit.
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::Rng;
    use std::collections::BTreeSet;

    /// Checks that streams that differ in name, index, seed or replication have different first
    /// numbers.
    #[test]
    fn every_name_index_seed_and_replication_has_its_own_stream() {
        let mut first_draws = BTreeSet::new();
        for seed in 0..4 {
            for replication in 0..4 {
                for name in ["pe", "io node"] {
                    for index in 0..64 {
                        let mut stream = Streams::new(seed, replication).stream(name, index);
                        first_draws.insert(stream.next_u64());
                    }
                }
            }
        }
        assert_eq!(first_draws.len(), 4 * 4 * 2 * 64);
    }

    /// Checks that two streams with equal parameters give the same numbers.
    #[test]
    fn streams_repeat() {
        let draw = || Streams::new(7, 3).stream("pe", 5).next_u64();
        assert_eq!(draw(), draw());
    }
}
