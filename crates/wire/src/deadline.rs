//! Waits for a descriptor to become ready, and the timeout of a call.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::fmt;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// The interval at which a waiting call checks whether its caller still wants to wait.
const SLICE: Duration = Duration::from_millis(100);

/// Wait until a descriptor is ready. Return `false` if the deadline passes first.
pub fn wait_ready(fd: impl AsFd, flags: PollFlags, deadline: Instant) -> bool {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match poll(&mut [PollFd::new(&fd, flags)], Some(&timespec(left))) {
            Ok(0) if Instant::now() >= deadline => return false,
            Ok(0) | Err(Errno::INTR) => {}
            // Count an error as ready: the caller's next operation on the descriptor reports it.
            Ok(_) | Err(_) => return true,
        }
    }
}

/// Convert a duration to the type that `poll` takes, or to the maximum of this type if it is
/// longer.
#[must_use]
pub fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(time.subsec_nanos()),
    }
}

/// The reason why a wait ended before its descriptor was ready.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expired {
    /// The timeout has expired.
    TimedOut,
    /// The caller no longer wants to wait.
    Interrupted,
}

/// The timeout of a call: the time for which it may make no progress, and a condition that ends it
/// early. A call that waits only for a reply of the daemon may take this long in total.
#[derive(Clone, Copy)]
pub struct Timeout<'a> {
    deadline: Option<Instant>,
    given: Duration,
    go_on: Option<&'a (dyn Fn(Instant) -> bool + Sync)>,
}

impl Timeout<'static> {
    /// Create a timeout that expires when a call makes no progress for this time.
    #[must_use]
    pub fn after(time: Duration) -> Self {
        Self {
            deadline: Instant::now().checked_add(time),
            given: time,
            go_on: None,
        }
    }

    /// Create a timeout that never expires. The call still ends when the daemon ends.
    #[must_use]
    pub fn never() -> Self {
        Self::after(Duration::MAX)
    }
}

impl<'a> Timeout<'a> {
    /// Also end the call with [`Expired::Interrupted`] when `go_on` returns `false`. The call
    /// passes the present time to `go_on` before each wait and ten times a second during one.
    #[must_use]
    pub fn while_true<'b>(self, go_on: &'b (dyn Fn(Instant) -> bool + Sync)) -> Timeout<'b> {
        Timeout {
            deadline: self.deadline,
            given: self.given,
            go_on: Some(go_on),
        }
    }

    /// Return the timeout with its full time again, for use after progress.
    #[must_use]
    pub fn restarted(self) -> Self {
        let deadline = self.deadline.and(Instant::now().checked_add(self.given));
        Self { deadline, ..self }
    }

    /// Return a timeout of a quarter of this timeout's time, which starts now.
    #[must_use]
    pub fn quarter(self) -> Self {
        let quarter = Instant::now().checked_add(self.given / 4);
        let deadline = self.deadline.and(quarter);
        Self { deadline, ..self }
    }

    /// Return the end of the next slice (at most 0.1 s) of a wait, after which the caller checks
    /// the timeout again.
    ///
    /// # Errors
    /// The timeout has expired, or the caller interrupted the wait.
    pub fn slice(&self) -> Result<Instant, Expired> {
        let now = Instant::now();
        if self.go_on.is_some_and(|go_on| !go_on(now)) {
            return Err(Expired::Interrupted);
        }
        match self.deadline {
            Some(deadline) if deadline <= now => Err(Expired::TimedOut),
            Some(deadline) => Ok(deadline.min(now + SLICE)),
            None => Ok(now + SLICE),
        }
    }

    /// Return how long the caller may wait before the next call: at most 0.1 s, so that an
    /// interruption ends the wait soon.
    ///
    /// # Errors
    /// The timeout has expired, or the caller interrupted the wait.
    pub fn slice_left(&self) -> Result<Duration, Expired> {
        Ok(self.slice()?.saturating_duration_since(Instant::now()))
    }

    /// Return the remaining time of the timeout.
    #[must_use]
    pub fn left(&self) -> Duration {
        let left = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
        self.deadline.map_or(Duration::MAX, left)
    }

    /// Return the full time of the timeout, formatted for error messages.
    #[must_use]
    pub fn given(&self) -> impl fmt::Display + use<> {
        Seconds(self.given)
    }
}

/// Wrapper that formats a duration for error messages, in s or ms.
struct Seconds(Duration);

impl fmt::Display for Seconds {
    /// Write the duration in seconds, or in milliseconds if it is below one second.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs_f64();
        match seconds >= 1.0 {
            true => write!(f, "{} s", (seconds * 10.0).round() / 10.0),
            false => write!(f, "{} ms", (seconds * 1e4).round() / 10.0),
        }
    }
}

impl fmt::Debug for Timeout<'_> {
    /// Write the deadline, without the function that may end the wait.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timeout")
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}
