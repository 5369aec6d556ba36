//! Results of the model: latency of every message class, load of every kind of channel, saturation load.

use serde::{Deserialize, Serialize};

use super::channel::{Channel, Layout, groups};
use super::input::HypercubeIo;
use super::reading::Reading;
use super::routes::messages;
use crate::Error;
use crate::error::check_not_negative;
use crate::path::MessageClass;
use crate::staged::{GroupState, Network, Rules};

/// Mean header latency of one message class.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HeaderLatency {
    /// Message class whose latency this is.
    pub class: MessageClass,
    /// Messages of the class per cycle and PE.
    pub rate: f64,
    /// Mean number of channels on the path. This is the latency in cycles from generation without contention.
    pub channels: f64,
    /// Cycles from the grant of the injection lane to the header's arrival, minus one. This includes waits for the
    /// channels of the network, the first one included, but not the wait for the injection lane.
    pub router: f64,
    /// Mean wait in cycles for the injection lane.
    pub source_wait: f64,
    /// Cycles from generation to the header's arrival: `router` + 1 + `source_wait`.
    pub generation: f64,
}

/// Load of one kind of channel.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ChannelUse {
    /// Kind and dimension of the channels.
    pub channel: Channel,
    /// Number of lanes of each channel.
    pub lanes: u32,
    /// Messages per cycle on each channel.
    pub rate: f64,
    /// Mean length in flits of the messages on the channel, which is the base service time in cycles.
    pub base_service: f64,
    /// C^2 (squared coefficient of variation) of the lengths of the messages.
    pub base_scv: f64,
    /// Adjusted service time: the mean time for which a message holds a lane, in cycles.
    pub service: f64,
    /// C^2 (squared coefficient of variation) of the service time, from which the wait is computed.
    pub scv: f64,
    /// Share of time in which flits move on a lane: utilisation (rho) computed with the base service time.
    pub carried: f64,
    /// Share of time in which a message holds a lane: utilisation (rho) computed with the adjusted service time. The
    /// channel is saturated at 1.
    pub utilisation: f64,
    /// Mean wait for a lane in cycles.
    pub wait: f64,
}

/// Solution of the model at one load: latencies and loads of channels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Solution {
    /// Load of the machine: messages per cycle and PE.
    pub rate: f64,
    /// Latencies of the message classes, in the order of [`MessageClass::ALL`].
    pub latencies: Vec<HeaderLatency>,
    /// Channels with traffic, in the order in which paths cross them.
    pub channels: Vec<ChannelUse>,
    /// The saturated channel, if any. Of several it is the last one on the paths, which blocks the others.
    pub saturated: Option<Channel>,
    /// P_l: probability that a read is local, for the mean over local and remote reads.
    locality: f64,
}

impl Solution {
    /// Return the latency of one message class.
    pub fn latency(&self, class: MessageClass) -> &HeaderLatency {
        &self.latencies[class as usize]
    }

    /// Return the header latency in cycles of a whole read: request + P(remote) (forward + remote reply) + P(local)
    /// (local reply), with each message counted from its generation.
    pub fn read_generation(&self) -> f64 {
        let of = |class| self.latency(class).generation;
        let forward = of(MessageClass::Forward);
        of(MessageClass::Request)
            + self.mean_reply(|class| match class {
                MessageClass::ReplyRemote => of(class) + forward,
                _ => of(class),
            })
    }

    /// Return the mean header latency in cycles of the I/O-PE replies, local and remote: section 6's "I/O-PE latency",
    /// from generation.
    pub fn reply_generation(&self) -> f64 {
        self.mean_reply(|class| self.latency(class).generation)
    }

    /// Return the mean of a latency over local and remote replies.
    fn mean_reply(&self, of: impl Fn(MessageClass) -> f64) -> f64 {
        let part = |share: f64, class| if share > 0.0 { share * of(class) } else { 0.0 };
        part(self.locality, MessageClass::ReplyLocal)
            + part(1.0 - self.locality, MessageClass::ReplyRemote)
    }
}

/// The load at which a channel saturates, and this channel.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Saturation {
    /// Load of the machine: messages per cycle and PE.
    pub rate: f64,
    /// The channel that has rho = 1 at this load.
    pub channel: Channel,
}

impl Saturation {
    /// Return the load in messages per ms and PE. `cycles_per_ms` is 20,000 in the paper.
    pub fn per_ms(&self, cycles_per_ms: f64) -> f64 {
        self.rate * cycles_per_ms
    }
}

impl HypercubeIo {
    /// Return the latencies and channel loads if each PE generates `rate` messages per cycle.
    ///
    /// # Errors
    /// Those of [`HypercubeIo::validate`], or a rate that is negative or not finite.
    pub fn solve(&self, rate: f64, reading: &Reading) -> Result<Solution, Error> {
        check_not_negative("rate", rate)?;
        let network = self.network(reading)?;
        let channels = Layout::new(self).channels();
        let solved = network.solve(rate);
        let lanes = groups(self, reading);
        let latencies = MessageClass::ALL
            .into_iter()
            .enumerate()
            .map(|(index, class)| {
                let (length, waits, source_wait) = network.header(index, &solved);
                HeaderLatency {
                    class,
                    rate: rate * network.messages()[index].rate / self.pes(),
                    channels: length,
                    router: length - 1.0 + waits,
                    source_wait,
                    generation: length + waits + source_wait,
                }
            })
            .collect();
        Ok(Solution {
            rate,
            latencies,
            channels: (channels.iter().zip(&solved.groups).zip(&lanes))
                .filter(|((_, state), _)| state.length.mean > 0.0)
                .map(|((&channel, state), group)| channel_use(channel, state, group.lanes))
                .collect(),
            saturated: network.saturated(&solved).map(|group| channels[group]),
            locality: self.traffic.locality,
        })
    }

    /// Return the load at which some channel first has rho = 1 with its adjusted service time.
    ///
    /// # Errors
    /// Those of [`HypercubeIo::validate`].
    pub fn saturation(&self, reading: &Reading) -> Result<Saturation, Error> {
        let found = self.network(reading)?.saturation();
        Ok(self.with_channel(found))
    }

    /// Return the load at which some channel would have rho = 1 if worms never blocked. This is an upper bound of
    /// [`Self::saturation`]. For the control cube it is the lambda_max bound of section 6.
    ///
    /// # Errors
    /// Those of [`HypercubeIo::validate`].
    pub fn saturation_bound(&self, reading: &Reading) -> Result<Saturation, Error> {
        let found = self.network(reading)?.saturation_bound();
        Ok(self.with_channel(found))
    }

    /// Return the network of groups and message classes for the solver.
    pub(super) fn network(&self, reading: &Reading) -> Result<Network, Error> {
        self.validate()?;
        Network::new(
            groups(self, reading),
            messages(self, reading),
            Rules {
                many_lanes: reading.many_lanes,
                blocking: reading.blocking,
            },
        )
    }

    /// Convert a load and a group index, which the solver has found, to a load and a channel. Panics for `None`, which
    /// cannot occur: every PE sends.
    fn with_channel(&self, found: Option<(f64, usize)>) -> Saturation {
        let (rate, group) = found.expect("every PE sends, and messages have at least one flit");
        Saturation {
            rate,
            channel: Layout::new(self).channels()[group],
        }
    }
}

/// Return the load of a kind of channel from the state of its group.
fn channel_use(channel: Channel, state: &GroupState, lanes: u32) -> ChannelUse {
    ChannelUse {
        channel,
        lanes,
        rate: state.rate,
        base_service: state.length.mean,
        base_scv: state.length.scv(),
        service: state.service.mean,
        scv: state.scv,
        carried: state.carried,
        utilisation: state.utilisation,
        wait: state.wait.mean,
    }
}
