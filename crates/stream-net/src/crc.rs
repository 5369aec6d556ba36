//! CRC32C of data, by the way that is quicker on this machine.
//!
//! Both know the instruction that there is for this sum, and weave it with multiplications without
//! carries: the library in registers of 512 bits where there are any and of 128 where not, ours in
//! such of 256. Which is quicker depends on the processor.

use isthmus_stream::checksum::{Woven, crc32c};
use std::hint::black_box;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// A way to sum.
#[derive(Clone, Copy, Debug)]
enum Way {
    Library,
    Woven(Woven),
}

/// Bytes of a try: a block as ranks sum them.
const TRIED: usize = crate::frame::BLOCK_BYTES;

/// Tries of each, in turn. The best counts: a pause falls on one.
const TRIES: usize = 8;

/// What [`QUICKER`] says.
const UNKNOWN: u8 = 0;
const LIBRARY: u8 = 1;
const WOVEN: u8 = 2;

/// The quicker [`Way`], unknown before the first sum. No lock: a process that is forked while
/// another thread tries them would wait for it for ever.
static QUICKER: AtomicU8 = AtomicU8::new(UNKNOWN);

impl Way {
    fn sum(self, data: &[u8]) -> u32 {
        match self {
            Self::Library => crc32c(data),
            Self::Woven(woven) => woven.crc32c(data),
        }
    }

    /// The quicker one here. The first call in a process tries both; threads that do so at the same
    /// time may each take their own, as the sums are the same.
    fn here() -> Self {
        let known = QUICKER.load(Ordering::Relaxed);
        if known == LIBRARY {
            return Self::Library;
        }
        let Some(woven) = Woven::here() else {
            return Self::Library;
        };
        if known == WOVEN {
            return Self::Woven(woven);
        }
        let block = vec![0x5a; TRIED];
        let found = quicker([Self::Library, Self::Woven(woven)], |way| {
            let begin = Instant::now();
            black_box(way.sum(black_box(&block)));
            begin.elapsed()
        });
        let code = match found {
            Self::Library => LIBRARY,
            Self::Woven(_) => WOVEN,
        };
        QUICKER.store(code, Ordering::Relaxed);
        found
    }
}

/// The one of two whose best try took less, by what `took` says of a try; the first of equals.
fn quicker<W: Copy>(ways: [W; 2], mut took: impl FnMut(W) -> Duration) -> W {
    let mut best = [Duration::MAX; 2];
    for _ in 0..TRIES {
        for (way, best) in ways.into_iter().zip(&mut best) {
            *best = took(way).min(*best);
        }
    }
    ways[usize::from(best[1] < best[0])]
}

/// The CRC32C of `data`.
pub(crate) fn of(data: &[u8]) -> u32 {
    Way::here().sum(data)
}

/// The way by which data is summed in this process.
pub(crate) fn way() -> &'static str {
    match Way::here() {
        Way::Library => "crc-fast",
        Way::Woven(_) => "woven",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Each way is held to a naive loop by the tests of its own crate.
        #[test]
        fn whichever_way_gives_the_same_sum(data in prop::collection::vec(any::<u8>(), 0..40_000)) {
            prop_assert_eq!(of(&data), crc32c(&data));
        }
    }

    #[test]
    fn the_best_try_counts() {
        let mut tries = 0;
        let found = quicker(["first", "second"], |way| {
            tries += 1;
            match way {
                // It was kept waiting but for one try.
                "second" if tries != 4 => Duration::from_millis(1),
                "second" => Duration::from_micros(1),
                _ => Duration::from_micros(2),
            }
        });
        assert_eq!(found, "second");
        assert_eq!(quicker([1, 2], |_| Duration::from_micros(1)), 1);
    }
}
