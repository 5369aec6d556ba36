//! Errors that prevent an experiment or end it early.

use crate::guard::Panicked;
use crate::journal::JournalError;
use isthmus_scenario::ScenarioError;
use thiserror::Error;

/// Error that prevents the setup of an experiment.
#[derive(Debug, Error)]
pub enum SetupError {
    /// The scenario is invalid.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The caller requested a stop while machines were built.
    #[error("stopped")]
    Cancelled,
}

/// Error that ended a run early.
#[derive(Debug, Error)]
pub enum RunError {
    /// The caller requested a stop.
    #[error("stopped; finished points are kept")]
    Cancelled,
    /// Messages block one another forever.
    #[error(
        "{place}: the machine has come to a standstill with {under_way} messages under way; this \
         is an error of isthmus, please report it with the scenario"
    )]
    Standstill {
        /// The position of the point in the sweep, in words.
        place: String,
        /// Number of messages that wait for one another.
        under_way: u64,
    },
    /// The point is invalid. A run of the whole scenario reports this before it starts; a run of a part
    /// reports it when it reaches the point.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A run with a fixed time ended before the end of its warm-up.
    #[error(
        "stop.warmup_messages: the run is over before its warm-up of {messages} messages{place}; \
         give fewer, or a longer stop.time"
    )]
    AllWarmUp {
        /// The position of the point in the sweep, in words.
        place: String,
        /// Number of warm-up messages to discard.
        messages: u64,
    },
    /// The run would exceed the longest time that the simulation can represent.
    #[error(
        "a replication passes {limit} of simulated time, the most that is simulated{place}; raise \
         the load, or ask for fewer messages"
    )]
    TooLong {
        /// The position of the point in the sweep, in words.
        place: String,
        /// The longest time that can be simulated, as text.
        limit: String,
    },
    /// A point needs more memory than the run may use, even if no other point runs.
    #[error(
        "the simulation takes more than {bound}, the memory that this run may use{place}; give \
         more by --memory (memory= in Python), or take fewer replications or a smaller machine"
    )]
    Memory {
        /// The position of the point in the sweep, in words.
        place: String,
        /// The memory limit of the run, as text.
        bound: String,
    },
    /// The code that simulates a point panicked.
    #[error("{0}; this is an error of isthmus, please report it with this line and the scenario")]
    Panicked(Panicked),
    /// A finished point could not be written to the journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The threads could not be started.
    #[error("cannot start {jobs} threads: {problem}")]
    Threads {
        /// Number of threads requested.
        jobs: usize,
        /// Error of the operating system.
        problem: String,
    },
}

impl RunError {
    /// Return whether the error also prevents all other points.
    pub(crate) fn ends_all(&self) -> bool {
        match self {
            Self::Cancelled | Self::Threads { .. } => true,
            Self::Journal(error) => !error.of_one_file(),
            _ => false,
        }
    }
}

impl From<Panicked> for RunError {
    fn from(panic: Panicked) -> Self {
        Self::Panicked(panic)
    }
}
