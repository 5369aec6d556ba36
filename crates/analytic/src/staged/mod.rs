//! Waits in a network of wormhole channels that messages cross in a fixed order of stages.
//!
//! Channels that carry statistically the same traffic form one *group*. A message class passes a
//! fixed list of stages; in each it crosses at most one channel. The channel depends on the state
//! of the message (its position, whether it has moved at all): the path is a Markov chain.
//!
//! A blocked worm keeps the channels behind its head. So the holding time of channel i is the
//! message length plus the waits for every later channel: x_adj,i = x_i + sum_j P_j W_j (section 6
//! of the hypercube paper). This holds while messages are longer (in flits) than their paths.
//!
//! Groups are listed in the order in which messages cross them. A pass from the last group to the
//! first then has computed every W_j before it is needed, without iteration. Deterministic
//! deadlock-free routing always permits such an order.

mod chain;
mod network;

pub use chain::STATES;
pub(crate) use chain::apportion;
pub use network::{GroupState, Network, Rules, Solved};

use crate::moments::Moments;

/// Method for C^2 (squared coefficient of variation) of a service time after the waits for later
/// channels are added to its mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Variation {
    /// The model uses 1 as C^2 (squared coefficient of variation) of every service time.
    One,
    /// C^2 of the service time equals that of the message lengths.
    Base,
    /// C^2 is the variance of the message lengths divided by the square of the mean service time. It decreases as the
    /// waits raise this mean.
    Falling,
    /// C^2 follows from the variance of service times within and between message classes. The mean of each class
    /// includes its own later waits.
    ByClass,
    /// C^2 is computed as for `ByClass`, but with later waits that vary, too (their first three
    /// moments are used).
    WithWaits,
}

/// How much of the wait of a queue a worm experiences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Blocking {
    /// The worm experiences the whole wait of the queue, including the share that worms of its own input cause.
    AllInputs,
    /// The worm experiences only the wait that is possible behind its input. Two shares are subtracted.
    ///
    /// A worm that arrives through a channel of one lane finds none of that channel's other
    /// messages before it, since they follow it. (With several lanes, it may find the messages of
    /// the other lanes.) So the share of the work from its own input does not count, as in Draper
    /// and Ghosh, *J. Parallel and Distributed Computing* 23 (1994) 202-214.
    ///
    /// A worm may wait behind another worm that waits for a later channel j. When the first worm
    /// reaches j itself, the messages that occupied j have passed. So that share of the work counts
    /// only for worms that do not go to j. (This applies only where the variance of waits is
    /// included in service times; otherwise the work contains no such share.)
    OtherInputs,
}

/// Formula for the wait at a group of channels with several lanes each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum ManyLanes {
    /// M/M/m, with C^2 = 1, as in section 6 of the hypercube paper.
    Exponential,
    /// The queue M/G/m, by the formula of Allen and Cunneen.
    General,
}

/// A group of channels whose traffic is statistically the same, so that one queue models each of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Group {
    /// Number of lanes of each channel of the group.
    pub lanes: u32,
    /// Number of channels in the group.
    pub channels: f64,
    /// Whether messages wait at this group. If not, the wait is zero below saturation.
    pub queued: bool,
    /// Method for C^2 (squared coefficient of variation) of the service time.
    pub variation: Variation,
}

/// One possible crossing of a stage: a group of channels and its probabilities. In an exact model
/// `rate` and `path` follow from `given`; in readings of a paper the three may differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Visit {
    /// Index of the group of channels that the message crosses.
    pub group: usize,
    /// Probability that a message crosses the group of channels, as used for the arrival rate of the group.
    pub rate: f64,
    /// Probability that a message crosses the group of channels, as used for the latency of the message.
    pub path: f64,
    /// Probability that a message that reaches this stage in state `from` crosses the group. It is used for the later
    /// waits of a message that has crossed an earlier channel.
    pub given: f64,
    /// State (a number below [`STATES`]) that a message must have for this crossing; `None` for any state.
    pub from: Option<usize>,
    /// The state of messages that have made this crossing.
    pub to: usize,
}

/// A stage of a path: alternative groups of channels, at most one of which a message crosses.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// Number of the router input that these channels form for the next channel. Stages of
    /// different classes with the same number share the input.
    pub port: u32,
    /// The possible crossings of the stage, of which a message makes at most one.
    pub visits: Vec<Visit>,
}

/// A class of messages with one rate, length and path.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Messages of the class per cycle in the whole network, at a load of 1.
    pub rate: f64,
    /// Length of a message in flits.
    pub length: Moments,
    /// The stages in the order of the path; the first is the source's injection lane. Messages
    /// start in state 0.
    pub stages: Vec<Stage>,
}
