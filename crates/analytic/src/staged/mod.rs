//! Waits in a network of wormhole channels that messages cross in stages.
//!
//! Channels that carry statistically the same traffic form one *group*. A message class passes a
//! fixed list of stages; in each it crosses at most one channel. Which one depends on the state it
//! is in (where it stands, whether it has moved at all): the path is a Markov chain.
//!
//! A blocked worm keeps the channels behind its head, so the time a message holds channel i is its
//! length plus its waits on every channel after i: x_adj,i = x_i + sum_j P_j W_j (section 6 of the
//! hypercube paper). This holds while messages are longer (in flits) than their paths.
//!
//! Groups are listed in the order in which messages cross them, so that one pass from the last
//! group to the first has every W_j at hand when it needs it; nothing is iterated. Deterministic
//! deadlock-free routing always gives such an order.

mod chain;
mod network;

pub use chain::STATES;
pub(crate) use chain::apportion;
pub use network::{GroupState, Network, Rules, Solved};

use crate::moments::Moments;

/// How C^2 of a service time is found once waits on later channels have been added to its mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Variation {
    /// C^2 = 1.
    One,
    /// C^2 of the message lengths, unchanged.
    Base,
    /// Variance of the message lengths over the square of the adjusted mean: falls with the load.
    Falling,
    /// Variance between and within message classes, each with the mean of its own waits added.
    ByClass,
    /// As `ByClass`, and the waits vary too (first three moments are carried along).
    WithWaits,
}

/// Which part of a queue's wait a worm has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Blocking {
    /// All of it, as if it came from nowhere.
    AllInputs,
    /// What it can have, given the way it came by. Two shares are taken off.
    ///
    /// A worm that arrives by a channel of one lane finds none of that channel's other messages
    /// before it, since they follow it (those that arrive by several lanes may find them on the
    /// others): its input's share of the work does not count, as in Draper and Ghosh,
    /// *J. Parallel and Distributed Computing* 23 (1994) 202-214.
    ///
    /// A worm that waits behind another one which itself waits for a later channel j has, by the
    /// time it gets to j itself, waited out whatever kept j busy: that share of the work counts
    /// only for worms that do not go to j. (Only where the waits' variance is carried along; else
    /// the work holds no such share.)
    OtherInputs,
}

/// Which formula gives the wait for a group with several lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum ManyLanes {
    /// M/M/m: C^2 is taken as 1, as in section 6 of the hypercube paper.
    Exponential,
    /// M/G/m by Allen and Cunneen.
    General,
}

/// Channels that carry statistically the same traffic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Group {
    /// Lanes of each channel.
    pub lanes: u32,
    /// Number of channels in the group.
    pub channels: f64,
    /// Whether messages wait here; if not, the wait is taken as zero below saturation.
    pub queued: bool,
    /// How C^2 is found.
    pub variation: Variation,
}

/// One way to cross a stage. `rate` and `path` follow from `given` in an exact model; the readings
/// of a paper let the three differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Visit {
    /// Index of the group.
    pub group: usize,
    /// Probability per message that counts for the arrival rate.
    pub rate: f64,
    /// Probability per message that counts for the latency.
    pub path: f64,
    /// Probability for a message that reaches this stage in state `from`: counts for the waits
    /// after an earlier channel.
    pub given: f64,
    /// The state, below [`STATES`], in which this can happen; `None` for any.
    pub from: Option<usize>,
    /// The state afterwards.
    pub to: usize,
}

/// Channels of which a message crosses at most one, at one point of its path.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// The router input that these channels are to whatever is crossed next; stages of different
    /// classes with the same number share it.
    pub port: u32,
    /// The alternatives.
    pub visits: Vec<Visit>,
}

/// A class of messages.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Messages per cycle in the whole network at a load of 1.
    pub rate: f64,
    /// Length in flits.
    pub length: Moments,
    /// The stages in the order of the path; the first is the source's injection lane. Messages
    /// start in state 0.
    pub stages: Vec<Stage>,
}
