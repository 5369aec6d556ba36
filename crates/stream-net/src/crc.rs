//! CRC32C of data, by the library that is quicker on this machine.
//!
//! Both know the instruction that there is for this sum. `crc-fast`, which headers use, weaves it
//! with multiplications without carries, in registers of 512 bits where there are any; `crc32c`
//! runs three lanes of it. Which is quicker depends on the processor.

use isthmus_stream::checksum;
use std::hint::black_box;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// A library that sums.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Library {
    CrcFast = 1,
    Crc32c = 2,
}

/// Bytes of a try: a block as ranks sum them.
const TRIED: usize = crate::frame::BLOCK_BYTES;

/// Tries of each, in turn. The best counts: a pause falls on one.
const TRIES: usize = 8;

/// The quicker [`Library`], or 0 before the first sum. No lock: a process that is forked while
/// another thread tries them would wait for it for ever.
static QUICKER: AtomicU8 = AtomicU8::new(0);

impl Library {
    fn sum(self, data: &[u8]) -> u32 {
        match self {
            Self::CrcFast => checksum::crc32c(data),
            Self::Crc32c => crc32c::crc32c(data),
        }
    }

    /// The one whose best try took less, by what `took` says of a try.
    fn quicker(mut took: impl FnMut(Self) -> Duration) -> Self {
        let (mut first, mut second) = (Duration::MAX, Duration::MAX);
        for _ in 0..TRIES {
            first = first.min(took(Self::CrcFast));
            second = second.min(took(Self::Crc32c));
        }
        if first <= second {
            Self::CrcFast
        } else {
            Self::Crc32c
        }
    }

    /// The quicker one here. The first call in a process tries both; threads that do so at the same
    /// time may each take their own, as the sums are the same.
    fn here() -> Self {
        match QUICKER.load(Ordering::Relaxed) {
            1 => Self::CrcFast,
            2 => Self::Crc32c,
            _ => {
                let block = vec![0x5a; TRIED];
                let quicker = Self::quicker(|library| {
                    let begin = Instant::now();
                    black_box(library.sum(black_box(&block)));
                    begin.elapsed()
                });
                QUICKER.store(quicker as u8, Ordering::Relaxed);
                quicker
            }
        }
    }
}

/// The CRC32C of `data`.
pub(crate) fn of(data: &[u8]) -> u32 {
    Library::here().sum(data)
}

/// The library that sums data in this process.
pub(crate) fn library() -> &'static str {
    match Library::here() {
        Library::CrcFast => "crc-fast",
        Library::Crc32c => "crc32c",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        /// Data of any length up to more than sinks sum at a time, from any place. The first is held
        /// to a naive loop by the tests of its own crate.
        #[test]
        fn both_give_the_same_sum(
            block in prop::collection::vec(any::<u8>(), 4_093),
            bytes in prop_oneof![0..2_000usize, 0..600_000usize],
            skip in 0..17usize,
        ) {
            let data: Vec<u8> = block.iter().copied().cycle().take(bytes + skip).collect();
            let data = &data[skip..];
            let sum = Library::CrcFast.sum(data);
            prop_assert_eq!(Library::Crc32c.sum(data), sum);
            prop_assert_eq!(of(data), sum);
        }
    }

    #[test]
    fn the_best_try_counts() {
        let mut tries = 0;
        let quicker = Library::quicker(|library| {
            tries += 1;
            match library {
                // It was kept waiting but for one try.
                Library::Crc32c if tries != 4 => Duration::from_millis(1),
                Library::Crc32c => Duration::from_micros(1),
                Library::CrcFast => Duration::from_micros(2),
            }
        });
        assert_eq!(quicker, Library::Crc32c);
        let alike = Library::quicker(|_| Duration::from_micros(1));
        assert_eq!(alike, Library::CrcFast);
    }
}
