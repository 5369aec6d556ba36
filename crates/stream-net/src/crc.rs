//! CRC32C of data, by the library that is quicker on this machine.
//!
//! `crc-fast`, which headers use, multiplies without carries: in registers of 512 bits, where
//! there are any, nothing else comes near it, and in those of 128 bits it depends on the processor.
//! `crc32c` runs three lanes of the instruction that there is for this sum.

use isthmus_stream::checksum;
use std::hint::black_box;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

type Library = fn(&[u8]) -> u32;

const LIBRARIES: [Library; 2] = [checksum::crc32c, crc32c::crc32c];

/// Bytes of a try: a block of [`crate::frame::BLOCK_BYTES`], as ranks sum them.
const TRIED: usize = crate::frame::BLOCK_BYTES;

/// Tries of each, in turn. The best counts: a pause falls on one.
const TRIES: usize = 8;

static QUICKER: LazyLock<Library> = LazyLock::new(|| {
    let block = vec![0x5a; TRIED];
    let mut least = [Duration::MAX; LIBRARIES.len()];
    for _ in 0..TRIES {
        for (least, sum) in least.iter_mut().zip(LIBRARIES) {
            let begin = Instant::now();
            black_box(sum(black_box(&block)));
            *least = begin.elapsed().min(*least);
        }
    }
    let [first, second] = LIBRARIES;
    if least[0] <= least[1] { first } else { second }
});

/// The CRC32C of `data`. The first call in a process tries the libraries, for some 30 us.
pub(crate) fn crc32c(data: &[u8]) -> u32 {
    QUICKER(data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Any data from any place, also of more than the blocks of either library. The first is
        /// compared with a naive loop by its own tests.
        #[test]
        fn both_give_the_same(
            data in prop::collection::vec(any::<u8>(), 0..100_000),
            skip in 0usize..17,
        ) {
            let data = &data[skip.min(data.len())..];
            let [first, second] = LIBRARIES.map(|sum| sum(data));
            prop_assert_eq!(first, second);
            prop_assert_eq!(crc32c(data), first);
        }
    }
}
