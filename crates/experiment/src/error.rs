//! Errors that prevent an experiment or end it early.

use crate::guard::Panicked;
use crate::journal::JournalError;
use isthmus_scenario::ScenarioError;
use thiserror::Error;

/// Error that prevents the setup of an experiment.
#[derive(Debug, Error)]
pub enum SetupError {
    /// The scenario is wrong.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The caller asked for a stop while machines were built.
    #[error("stopped")]
    Cancelled,
}

/// Error that ended a run early.
#[derive(Debug, Error)]
pub enum RunError {
    /// The caller asked for a stop.
    #[error("stopped; finished points are kept")]
    Cancelled,
    /// Messages block one another forever.
    #[error(
        "{place}: the machine has come to a standstill with {under_way} messages under way; this \
         is an error of isthmus, please report it with the scenario"
    )]
    Standstill {
        /// The point.
        place: String,
        /// Number of messages that wait.
        under_way: u64,
    },
    /// The point is invalid. A whole run reports this before any work, a part of a run when it reaches the
    /// point.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A run of a fixed time ended before its warm-up did.
    #[error(
        "stop.warmup_messages: the run is over before its warm-up of {messages} messages{place}; \
         give fewer, or a longer stop.time"
    )]
    AllWarmUp {
        /// The point.
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
        /// The point.
        place: String,
        /// The longest time.
        limit: String,
    },
    /// A point alone needs more memory than the run may use.
    #[error(
        "the simulation takes more than {bound}, the memory that this run may use{place}; give \
         more by --memory (memory= in Python), or take fewer replications or a smaller machine"
    )]
    Memory {
        /// The point.
        place: String,
        /// The memory limit of the run.
        bound: String,
    },
    /// The simulation core panicked.
    #[error("{0}; this is an error of isthmus, please report it with this line and the scenario")]
    Panicked(Panicked),
    /// A finished point could not be stored.
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
    /// Return whether the error prevents all other points too.
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
