//! Possible failures of a machine, which each kind of machine lists. They are the values of an axis over
//! failures, and a study of failures examines them one by one.

use crate::file::error::Origin;
use crate::value::Choice;

/// Word that requests the failures of every part that can fail, one at a time.
pub const SINGLE: &str = "single";

/// Parameters for a list of the possible failures of a machine: the parts that may fail, the number of pairs of
/// failures, and a limit on the length of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// Word for the parts that may fail: [`SINGLE`] for all, or another word that the kind of machine
    /// defines.
    pub of: &'static str,
    /// Number of pairs of failures to sample at random. If no more pairs exist, all are used.
    pub doubles: u64,
    /// Seed of the random sample of pairs of failures.
    pub seed: u64,
    /// Maximum number of machine states to return: one without failures, and one for each failure or pair.
    pub most: usize,
}

/// The possible failures of a machine, and the state of the machine after each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failures {
    /// Number of failures of one part that have different effects.
    pub single: usize,
    /// Number of pairs of single failures that have different effects.
    pub pairs: u64,
    /// The state without a failure, then the states after single failures, then those after the sampled
    /// pairs.
    pub states: Vec<State>,
}

/// State of a machine after the failure of one part, of two parts, or of none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// Label of the state in plots and tables: the failed part, such as `link 0-1`.
    pub label: String,
    /// The failed part with its effect, such as `link 0-1 (stops ring 0)`.
    pub words: String,
    /// The parts that have failed beyond the machine's own faults; empty without a failure.
    pub parts: Vec<Part>,
    /// Number of failures with the same effect that this state stands for: of parts, or of pairs of parts.
    pub weight: u64,
    /// Number of nodes that can still communicate with one another.
    pub live: u32,
    /// Whether the machine can still run without the failed parts.
    pub runs: bool,
}

/// A part that has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Key of the field that lists failed parts of this type, such as links.
    pub field: &'static str,
    /// The failed part, as an entry of the list that `field` names.
    pub which: Which,
}

/// A failed node or link, as an entry in a list of failed parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// A failed node, by its number.
    Node(u32),
    /// A failed link, by the numbers of the nodes at its ends.
    Link(u32, u32),
}

/// What a sweep axis over failures may contain for one kind of machine: words that select parts, and fields that the
/// axis also sets.
#[derive(Debug, Clone, Copy)]
pub struct Faults {
    /// The words that select the parts that may fail: [`SINGLE`] for every part, and a word for each subset.
    pub words: Choice,
    /// Fields that an axis over failures sets if the file does not, each with its value as written in a file.
    pub with: &'static [(&'static str, &'static str)],
}

/// The options of a sweep axis over failures of parts of the machine, as the scenario file states them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Wanted {
    /// Word that selects the parts that may fail.
    pub(crate) of: &'static str,
    /// Number of pairs of failures to sample at random.
    pub(crate) doubles: u64,
    /// Where the axis over failures is defined: a place in the file, or an override.
    pub(crate) origin: Origin,
}
