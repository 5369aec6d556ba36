//! Parallel execution of jobs that start in the order of their numbers.

use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Call `run` for the numbers below `count` on all threads and return the results in order. The calls also
/// start in the order of the numbers. In a parallel iterator they would not, as it splits the list in halves.
pub(super) fn run_in_order<R: Send>(count: usize, run: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let all = (0..count).into_par_iter().with_max_len(1).map(|_| {
        let at = next.fetch_add(1, Ordering::Relaxed);
        (at, run(at))
    });
    let mut all: Vec<_> = all.collect();
    all.sort_unstable_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, came)| came).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Condvar, Mutex};
    use std::time::Duration;

    /// Checks that two threads start with the first two jobs.
    #[test]
    fn two_threads_start_with_the_first_two_jobs() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2);
        let started = (Mutex::new(0), Condvar::new());
        let came = pool.build().unwrap().install(|| {
            run_in_order(64, |at| {
                if at > 1 {
                    return true;
                }
                // Count the started calls, and wait until both have started.
                let (count, wake) = &started;
                let mut count = count.lock().unwrap();
                *count += 1;
                wake.notify_all();
                let limit = Duration::from_secs(60);
                let waited = wake.wait_timeout_while(count, limit, |count| *count < 2);
                !waited.unwrap().1.timed_out()
            })
        });
        assert_eq!(came, [true; 64]);
    }

    /// Checks that results are in the order of the jobs, although threads may finish in another order.
    #[test]
    fn results_are_in_the_order_of_the_jobs() {
        assert_eq!(run_in_order(100, |at| at), (0..100).collect::<Vec<_>>());
        assert!(run_in_order(0, |at| at).is_empty());
    }
}
