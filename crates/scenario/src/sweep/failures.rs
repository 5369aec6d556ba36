//! Possible failures of a machine, which its kind returns for axes over failures and for studies of failures.

use crate::file::error::Origin;
use crate::value::Choice;

/// Word for failures of every part that can fail, one at a time.
pub const SINGLE: &str = "single";

/// Request of an axis over failures, or of a study of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// Which parts may fail: [`SINGLE`] for all, or another word of the kind.
    pub of: &'static str,
    /// Number of pairs of failures to sample at random; all pairs if there are no more.
    pub doubles: u64,
    /// Seed of the random sample.
    pub seed: u64,
    /// Largest acceptable number of states.
    pub most: usize,
}

/// States of a machine after its possible failures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failures {
    /// Number of single failures with different effects.
    pub single: usize,
    /// Number of pairs of these.
    pub pairs: u64,
    /// The state without a failure, then single failures, then the sampled pairs.
    pub states: Vec<State>,
}

/// A machine after a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// The failed part as a value of the axis, such as `link 0-1`.
    pub label: String,
    /// The failed part with its effect, such as `link 0-1 (stops ring 0)`.
    pub words: String,
    /// The parts that have failed beyond the machine's own faults; empty without a failure.
    pub parts: Vec<Part>,
    /// Number of parts, or pairs of parts, whose failure has the same effect.
    pub weight: u64,
    /// Number of nodes that can still reach one another.
    pub live: u32,
    /// Whether the remaining machine can run.
    pub runs: bool,
}

/// A part that has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The field that lists such parts.
    pub field: &'static str,
    /// The part in that list.
    pub which: Which,
}

/// A part in a list of failed ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// A node, by its number.
    Node(u32),
    /// A link, by its two ends.
    Link(u32, u32),
}

/// Faults of one kind of machine.
#[derive(Debug, Clone, Copy)]
pub struct Faults {
    /// The words of an axis over failures: [`SINGLE`], and words for subsets of the parts.
    pub words: Choice,
    /// Fields that such an axis sets if the file does not, each with its value as written in a file.
    pub with: &'static [(&'static str, &'static str)],
}

/// The options of an axis over failures in a file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Wanted {
    pub(crate) of: &'static str,
    pub(crate) doubles: u64,
    pub(crate) origin: Origin,
}
