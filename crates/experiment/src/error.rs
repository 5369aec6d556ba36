//! Errors that prevent an experiment or end it early.

use crate::guard::Panicked;
use crate::journal::JournalError;
use isthmus_scenario::ScenarioError;
use thiserror::Error;

/// Error that prevents an experiment from being set up.
#[derive(Debug, Error)]
pub enum SetupError {
    /// The scenario, which describes the machine and its workload, is invalid.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The journal, which stores the finished points, cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The caller cancelled the experiment while machines were built.
    #[error("stopped")]
    Cancelled,
}

/// Error that ended a run early.
#[derive(Debug, Error)]
pub enum RunError {
    /// The caller cancelled the run.
    #[error("stopped; finished points are kept")]
    Cancelled,
    /// The machine has stopped delivering messages, because messages block one another forever.
    #[error(
        "{place}: the machine has come to a standstill with {under_way} messages under way; this \
         is an error of isthmus, please report it with the scenario"
    )]
    Standstill {
        /// Text with the axis values of the point of the sweep.
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
        /// Text with the axis values of the point of the sweep.
        place: String,
        /// Number of messages that the warm-up should contain.
        messages: u64,
    },
    /// The run would exceed the longest time that the simulation can represent.
    #[error(
        "a replication passes {limit} of simulated time, the most that is simulated{place}; raise \
         the load, or ask for fewer messages"
    )]
    TooLong {
        /// Text with the axis values of the point of the sweep.
        place: String,
        /// The longest time that can be simulated, as text with its unit.
        limit: String,
    },
    /// A point needs more memory than the run may use, even when no other point is simulated.
    #[error(
        "the simulation takes more than {bound}, the memory that this run may use{place}; give \
         more by --memory (memory= in Python), or take fewer replications or a smaller machine"
    )]
    Memory {
        /// Text with the axis values of the point of the sweep.
        place: String,
        /// The memory limit of the run, as text with its unit.
        bound: String,
    },
    /// The code that simulates a point panicked.
    #[error("{0}; this is an error of isthmus, please report it with this line and the scenario")]
    Panicked(Panicked),
    /// A finished point could not be written to the journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The threads of the run could not be started.
    #[error("cannot start {jobs} threads: {problem}")]
    Threads {
        /// Number of threads requested.
        jobs: usize,
        /// Error of the operating system.
        problem: String,
    },
}

impl RunError {
    /// Return whether the error ends the whole run, not only the point at which it occurred.
    pub(crate) fn ends_all(&self) -> bool {
        match self {
            Self::Cancelled | Self::Threads { .. } => true,
            Self::Journal(error) => !error.of_one_file(),
            _ => false,
        }
    }
}

impl From<Panicked> for RunError {
    /// Convert a panic during the simulation of a point to an error of the run.
    fn from(panic: Panicked) -> Self {
        Self::Panicked(panic)
    }
}
