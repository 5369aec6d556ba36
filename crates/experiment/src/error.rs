//! Why an experiment cannot be set up, or ends early.

use crate::guard::Panicked;
use crate::journal::JournalError;
use isthmus_scenario::ScenarioError;
use thiserror::Error;

/// Why an experiment cannot be set up.
#[derive(Debug, Error)]
pub enum SetupError {
    /// The scenario is wrong.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// It was asked to stop while machines were built.
    #[error("stopped")]
    Cancelled,
}

/// Why a run ended early.
#[derive(Debug, Error)]
pub enum RunError {
    /// It was asked to stop.
    #[error("stopped; finished points are kept")]
    Cancelled,
    /// Messages block one another for ever.
    #[error(
        "{place}: the machine has come to a standstill with {under_way} messages under way; this \
         is an error of isthmus, please report it with the scenario"
    )]
    Standstill {
        /// The point.
        place: String,
        /// Messages that wait.
        under_way: u64,
    },
    /// The point makes no sense. A whole run reports it before any work, a part of a run at that point.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A run of a fixed time was over before its warm-up.
    #[error(
        "stop.warmup_messages: the run is over before its warm-up of {messages} messages{place}; \
         give fewer, or a longer stop.time"
    )]
    AllWarmUp {
        /// The point.
        place: String,
        /// Messages to discard.
        messages: u64,
    },
    /// It would last longer than times can be counted.
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
    /// A point alone takes more memory than the run may.
    #[error(
        "the simulation takes more than {bound}, the memory that this run may use{place}; give \
         more by --memory (memory= in Python), or take fewer replications or a smaller machine"
    )]
    Memory {
        /// The point.
        place: String,
        /// What the run may use.
        bound: String,
    },
    /// The core has failed.
    #[error("{0}; this is an error of isthmus, please report it with this line and the scenario")]
    Panicked(Panicked),
    /// A finished point could not be kept.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// No threads.
    #[error("cannot start {jobs} threads: {problem}")]
    Threads {
        /// Threads wanted.
        jobs: usize,
        /// What the system says.
        problem: String,
    },
}

impl RunError {
    /// Whether no other point can be done either.
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
