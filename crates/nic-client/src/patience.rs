//! How long a call may take.

use crate::error::{Error, Result};
use std::fmt;
use std::time::{Duration, Instant};

/// How long is waited before the caller is asked whether it still wants to.
const SLICE: Duration = Duration::from_millis(100);

/// How long a call may go on without anything being moved, and what else ends it. What waits for an
/// answer of the daemon alone may take so long in all.
#[derive(Clone, Copy)]
pub struct Patience<'a> {
    deadline: Option<Instant>,
    given: Duration,
    go_on: Option<&'a (dyn Fn(Instant) -> bool + Sync)>,
}

impl Patience<'static> {
    /// This long from now on.
    #[must_use]
    pub fn of(time: Duration) -> Self {
        Self {
            deadline: Instant::now().checked_add(time),
            given: time,
            go_on: None,
        }
    }

    /// For as long as it takes; the daemon's end ends it all the same.
    #[must_use]
    pub fn endless() -> Self {
        Self {
            deadline: None,
            given: Duration::MAX,
            go_on: None,
        }
    }
}

impl<'a> Patience<'a> {
    /// The same, but ends with [`Error::Interrupted`] when `go_on` says false. It is given the
    /// present, before each wait and ten times a second in one.
    #[must_use]
    pub fn asking<'b>(self, go_on: &'b (dyn Fn(Instant) -> bool + Sync)) -> Patience<'b> {
        Patience {
            deadline: self.deadline,
            given: self.given,
            go_on: Some(go_on),
        }
    }

    /// The same from now on: something was moved.
    pub(crate) fn renewed(self) -> Self {
        let deadline = self.deadline.and(Instant::now().checked_add(self.given));
        Self { deadline, ..self }
    }

    /// A quarter of it, from now on.
    pub(crate) fn quarter(self) -> Self {
        let quarter = Instant::now().checked_add(self.given / 4);
        let deadline = self.deadline.and(quarter);
        Self { deadline, ..self }
    }

    /// The end of the next stretch of waiting.
    ///
    /// # Errors
    /// [`Error::TimedOut`] with nothing said yet, [`Error::Interrupted`].
    pub(crate) fn slice(&self) -> Result<Instant> {
        let now = Instant::now();
        if self.go_on.is_some_and(|go_on| !go_on(now)) {
            return Err(Error::Interrupted);
        }
        match self.deadline {
            Some(deadline) if deadline <= now => Err(Error::TimedOut(String::new())),
            Some(deadline) => Ok(deadline.min(now + SLICE)),
            None => Ok(now + SLICE),
        }
    }

    /// The same as a time from now on.
    ///
    /// # Errors
    /// As [`Patience::slice`].
    pub(crate) fn slice_left(&self) -> Result<Duration> {
        Ok(self.slice()?.saturating_duration_since(Instant::now()))
    }

    /// What is left of it.
    pub(crate) fn left(&self) -> Duration {
        let left = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
        self.deadline.map_or(Duration::MAX, left)
    }

    /// How long it was at first, for messages.
    pub(crate) fn given(&self) -> impl fmt::Display {
        Shown(self.given)
    }
}

struct Shown(Duration);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs_f64();
        match seconds >= 1.0 {
            true => write!(f, "{} s", (seconds * 10.0).round() / 10.0),
            false => write!(f, "{} ms", (seconds * 1e4).round() / 10.0),
        }
    }
}

impl fmt::Debug for Patience<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Patience")
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}
