//! Requests of clients that the store answers, such as `open` and `rename`: drains let these go first.
//!
//! A slow store answers a request only after the writes that it has taken before. While clients wait for it,
//! drains therefore write small pieces, and pause before each of them for as long as a request is under way, at
//! most as long as the piece before has taken: a drain has at least half of the time. A drain that the dirty
//! bound is waiting for does neither.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The size in bytes of a piece when no client waits for the store.
pub(super) const PIECE: u64 = 1 << 20;

/// The size in bytes of a piece otherwise.
const SMALL_PIECE: u64 = 64 << 10;

/// The time after a request until no client waits for the store: a program opens several files in turn.
const RECENT: Duration = Duration::from_secs(1);

/// The time after a request within which the next one of the same program arrives.
const NEXT: Duration = Duration::from_millis(1);

/// The requests of clients that the store answers.
#[derive(Debug, Default)]
pub(crate) struct Foreground {
    requests: Mutex<Requests>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Requests {
    /// The number of requests under way.
    count: usize,
    /// When the last one has ended.
    ended: Option<Instant>,
}

impl Foreground {
    fn requests(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Record that a request is under way, until the returned value is dropped.
    pub fn begin(&self) -> Request<'_> {
        self.requests().count += 1;
        Request(self)
    }

    /// Return the size in bytes of the next piece of a drain.
    pub(super) fn piece(&self) -> u64 {
        let requests = self.requests();
        let is_recent = requests.ended.is_some_and(|at| at.elapsed() < RECENT);
        match requests.count > 0 || is_recent {
            true => SMALL_PIECE,
            false => PIECE,
        }
    }

    /// Wait until no request is under way, and no further one arrives at once; at most for this time.
    pub(super) fn give_way(&self, most: Duration) {
        let until = Instant::now() + most;
        let mut requests = self.requests();
        loop {
            let now = Instant::now();
            let next = match (requests.count, requests.ended) {
                (0, None) => return,
                (0, Some(ended)) => ended + NEXT,
                _ => until,
            };
            let left = next.min(until).saturating_duration_since(now);
            if left.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(requests, left);
            requests = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// A request that is under way.
#[derive(Debug)]
pub(crate) struct Request<'a>(&'a Foreground);

impl Drop for Request<'_> {
    /// Record its end.
    fn drop(&mut self) {
        let mut requests = self.0.requests();
        requests.count -= 1;
        requests.ended = Some(Instant::now());
        drop(requests);
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request makes pieces small, during it and for a second.
    #[test]
    fn pieces_are_small_while_clients_wait_for_the_store() {
        let foreground = Foreground::default();
        assert_eq!(foreground.piece(), PIECE);
        let request = foreground.begin();
        assert_eq!(foreground.piece(), SMALL_PIECE);
        drop(request);
        assert_eq!(foreground.piece(), SMALL_PIECE);
        foreground.requests().ended = Instant::now().checked_sub(RECENT);
        assert_eq!(foreground.piece(), PIECE);
    }

    /// A drain waits for the end of a request, but no longer than it may.
    #[test]
    fn a_drain_gives_way_for_a_bounded_time() {
        let foreground = Foreground::default();
        let long = Duration::from_secs(60);
        foreground.give_way(long);
        let request = foreground.begin();
        let (begin, most) = (Instant::now(), Duration::from_millis(20));
        foreground.give_way(most);
        assert!(begin.elapsed() >= most);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| foreground.give_way(long));
            drop(request);
            waits.join().unwrap();
        });
        assert!(begin.elapsed() < long);
    }
}
