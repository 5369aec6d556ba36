//! Number of processors that a run may use.

use std::num::NonZero;
use std::thread;

/// Return the number of processors that this process may use, at least 1: those of its affinity mask, or
/// fewer if a control group limits the processor time.
#[must_use]
pub fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Return the number of threads of a run: `wanted`, or one per processor if `wanted` is 0. It is at most the number of
/// processors, because more threads would only use memory.
pub(crate) fn threads(wanted: usize) -> usize {
    match wanted {
        0 => processors(),
        wanted => wanted.min(processors()),
    }
}

#[cfg(test)]
mod tests {
    use super::{processors, threads};

    /// Checks that a run has at least one thread and at most one per processor, for any requested number.
    #[test]
    fn a_run_has_at_least_one_thread_and_at_most_one_per_processor() {
        assert!(processors() >= 1);
        assert_eq!(threads(0), processors());
        assert_eq!(threads(1), 1);
        assert_eq!(threads(usize::MAX), processors());
    }
}
