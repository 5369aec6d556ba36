//! How many processors a run may use.

use std::num::NonZero;
use std::thread;

/// Processors that this process may use, 1 at least: those of its affinity mask, fewer where a
/// control group grants less time than they have.
#[must_use]
pub fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Threads of a run for which `wanted` were asked: 0 means one for each processor, and more than
/// processors would only take memory.
pub(crate) fn threads(wanted: usize) -> usize {
    match wanted {
        0 => processors(),
        wanted => wanted.min(processors()),
    }
}

#[cfg(test)]
mod tests {
    use super::{processors, threads};

    #[test]
    fn a_run_has_a_thread_and_no_more_than_processors() {
        assert!(processors() >= 1);
        assert_eq!(threads(0), processors());
        assert_eq!(threads(1), 1);
        assert_eq!(threads(usize::MAX), processors());
    }
}
