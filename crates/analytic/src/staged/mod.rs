//! Waits in a network of wormhole channels that messages cross in stages.
//!
//! Channels that carry statistically the same traffic form one *group*. A message class passes a
//! fixed list of stages; in each it crosses at most one channel. The channel depends on the state
//! of the message (its position, whether it has moved at all): the path is a Markov chain.
//!
//! A blocked worm keeps the channels behind its head. So the holding time of channel i is the
//! message length plus the waits for every later channel: x_adj,i = x_i + sum_j P_j W_j (section 6
//! of the hypercube paper). This holds while messages are longer (in flits) than their paths.
//!
//! Groups are listed in the order in which messages cross them. One pass from the last group to the
//! first then has every W_j when it needs it, without iteration. Deterministic deadlock-free
//! routing always permits such an order.

mod chain;
mod network;

pub use chain::STATES;
pub(crate) use chain::apportion;
pub use network::{GroupState, Network, Rules, Solved};

use crate::moments::Moments;

/// How C^2 of a service time is computed after the waits for later channels are added to its mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Variation {
    /// C^2 = 1.
    One,
    /// C^2 of the message lengths, unchanged.
    Base,
    /// Variance of the message lengths over the square of the adjusted mean: decreases with the
    /// load.
    Falling,
    /// Variance between and within message classes, each with the mean of its own later waits
    /// added.
    ByClass,
    /// Like `ByClass`, but the later waits vary, too (their first three moments are used).
    WithWaits,
}

/// The part of a queue's wait that a worm experiences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Blocking {
    /// The whole wait, as if the worm came from no channel.
    AllInputs,
    /// Only the wait that is possible for a worm from its input. Two shares are subtracted.
    ///
    /// A worm that arrives through a channel of one lane finds none of that channel's other
    /// messages before it, since they follow it. (With several lanes, it may find those of the
    /// other lanes.) So the share of the work from its own input does not count, as in Draper and
    /// Ghosh, *J. Parallel and Distributed Computing* 23 (1994) 202-214.
    ///
    /// A worm may wait behind another one that waits for a later channel j. When it reaches j
    /// itself, the messages that kept j busy have passed. So that share of the work counts only for
    /// worms that do not go to j. (Only where the variance of waits is carried along; otherwise the
    /// work contains no such share.)
    OtherInputs,
}

/// Formula for the wait at a group with several lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum ManyLanes {
    /// M/M/m: C^2 is assumed to be 1, as in section 6 of the hypercube paper.
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
    /// Whether messages wait here. If not, the wait is zero below saturation.
    pub queued: bool,
    /// Method for C^2.
    pub variation: Variation,
}

/// One possible crossing of a stage. In an exact model `rate` and `path` follow from `given`; in
/// readings of a paper the three may differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Visit {
    /// Index of the group.
    pub group: usize,
    /// Probability per message that counts for the arrival rate.
    pub rate: f64,
    /// Probability per message that counts for the latency.
    pub path: f64,
    /// Probability for a message that reaches this stage in state `from`, used for the waits after
    /// an earlier channel.
    pub given: f64,
    /// The state, below [`STATES`], to which this applies; `None` for any state.
    pub from: Option<usize>,
    /// The state afterwards.
    pub to: usize,
}

/// Alternative channels at one point of a path. A message crosses at most one of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// Number of the router input that these channels form for the next channel. Stages of
    /// different classes with the same number share the input.
    pub port: u32,
    /// The alternatives.
    pub visits: Vec<Visit>,
}

/// A class of messages.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Messages per cycle in the whole network for a load of 1.
    pub rate: f64,
    /// Length in flits.
    pub length: Moments,
    /// The stages in the order of the path; the first is the source's injection lane. Messages
    /// start in state 0.
    pub stages: Vec<Stage>,
}
