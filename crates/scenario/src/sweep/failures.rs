//! What can fail of a machine, as its kind says it to axes over failures and to studies of them.

use crate::file::error::Origin;
use crate::value::Choice;

/// Every part that can fail, by itself.
pub const SINGLE: &str = "single";

/// What an axis over failures or a study of them asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// Which parts may fail: [`SINGLE`] for all, or another word of the kind.
    pub of: &'static str,
    /// Pairs of them to draw; all if there are no more.
    pub doubles: u64,
    /// What they are drawn under.
    pub seed: u64,
    /// Most states that are of use.
    pub most: usize,
}

/// The states of a machine that failures lead to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failures {
    /// Number of single failures that differ in what they do.
    pub single: usize,
    /// Number of pairs of them.
    pub pairs: u64,
    /// No failure, then the single ones, then the pairs that were drawn.
    pub states: Vec<State>,
}

/// A machine after a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// What has failed, as a value of the axis: `link 0-1`.
    pub label: String,
    /// The same with what it does: `link 0-1 (stops ring 0)`.
    pub words: String,
    /// The parts that have failed beyond the machine's own faults; empty without a failure.
    pub parts: Vec<Part>,
    /// How many parts, or pairs of parts, fail alike.
    pub weight: u64,
    /// Nodes that still reach one another.
    pub live: u32,
    /// Whether what is left can be run.
    pub runs: bool,
}

/// A part that has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The field that lists such parts.
    pub field: &'static str,
    /// Which of them.
    pub which: Which,
}

/// A part in a list of failed ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// By its number.
    Node(u32),
    /// By its two ends.
    Link(u32, u32),
}

/// What a kind of machine says of its faults.
#[derive(Debug, Clone, Copy)]
pub struct Faults {
    /// The words of an axis over failures: [`SINGLE`] and those for some of the parts.
    pub words: Choice,
    /// Fields that such an axis gives where the file does not, each with its value as it would be
    /// written.
    pub with: &'static [(&'static str, &'static str)],
}

/// An axis as a file asks for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Wanted {
    pub(crate) of: &'static str,
    pub(crate) doubles: u64,
    pub(crate) origin: Origin,
}
