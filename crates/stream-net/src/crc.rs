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

    /// The one whose best try took less, by what `took` says of a try.
    fn quicker(woven: Woven, mut took: impl FnMut(Self) -> Duration) -> Self {
        let ways = [Self::Library, Self::Woven(woven)];
        let mut best = [Duration::MAX; 2];
        for _ in 0..TRIES {
            for (way, best) in ways.into_iter().zip(&mut best) {
                *best = took(way).min(*best);
            }
        }
        ways[usize::from(best[1] < best[0])]
    }

    /// The quicker one here. The first call in a process tries both; threads that do so at the same
    /// time may each take their own, as the sums are the same.
    fn here() -> Self {
        let quicker = QUICKER.load(Ordering::Relaxed);
        if quicker == LIBRARY {
            return Self::Library;
        }
        let Some(woven) = Woven::here() else {
            return Self::Library;
        };
        if quicker == WOVEN {
            return Self::Woven(woven);
        }
        let block = vec![0x5a; TRIED];
        let quicker = Self::quicker(woven, |way| {
            let begin = Instant::now();
            black_box(way.sum(black_box(&block)));
            begin.elapsed()
        });
        let code = match quicker {
            Self::Library => LIBRARY,
            Self::Woven(_) => WOVEN,
        };
        QUICKER.store(code, Ordering::Relaxed);
        quicker
    }
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

    #[test]
    fn the_best_try_counts() {
        let Some(woven) = Woven::here() else {
            // This processor knows one way only.
            return;
        };
        let mut tries = 0;
        let quicker = Way::quicker(woven, |way| {
            tries += 1;
            match way {
                // It was kept waiting but for one try.
                Way::Woven(_) if tries != 4 => Duration::from_millis(1),
                Way::Woven(_) => Duration::from_micros(1),
                Way::Library => Duration::from_micros(2),
            }
        });
        assert!(matches!(quicker, Way::Woven(_)));
        let alike = Way::quicker(woven, |_| Duration::from_micros(1));
        assert!(matches!(alike, Way::Library));
    }
}
