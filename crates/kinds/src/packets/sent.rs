//! The messages that the nodes of a job send: their routes, and their latencies on an idle network.

use super::Route;
use super::credits::Credits;
use isthmus_analytic::packets::Rules;
use isthmus_analytic::trains::Packets;
use isthmus_machine::packets::spec::NetworkSpec;
use std::collections::BTreeMap;

/// Number of kinds of messages: writes, read requests, and the data of reads.
pub(super) const KINDS: usize = 3;
/// Index of read requests among the kinds of messages.
pub(super) const REQUEST: usize = 1;
/// Index of the data of reads among the kinds of messages.
pub(super) const DATA: usize = 2;

/// Message rates per ns for each kind of route: the number of switches, and the total signal delay in ps.
pub(super) type Routes = BTreeMap<(u32, u64), f64>;

/// Messages of one kind (writes, read requests or read data) that a job sends.
#[derive(Default)]
pub(super) struct Sent {
    /// Rate of the messages that all nodes together send, per ns.
    pub rate: f64,
    /// Message rates per ns by route.
    pub routes: Routes,
    /// Message rates per ns by route, for each client.
    pub clients: BTreeMap<u32, Routes>,
    /// Lengths of the messages with their probabilities.
    pub lengths: Vec<Packets>,
}

/// Mean of a time and mean of its square, in ns and ns^2.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Moments {
    pub mean: f64,
    pub square: f64,
}

impl Moments {
    /// Return the moments (means of a time and of its square) over the messages of all routes. `rates` holds the
    /// message rate of each route, and `each` its moments.
    pub fn over(rates: &Routes, each: &BTreeMap<(u32, u64), Self>) -> Self {
        let all = rates.values().sum::<f64>().max(f64::MIN_POSITIVE);
        rates.iter().fold(Self::default(), |sum, (over, rate)| {
            let route = each[over];
            Self {
                mean: sum.mean + rate / all * route.mean,
                square: sum.square + rate / all * route.square,
            }
        })
    }

    /// Return the variance of the time, in ns^2.
    pub fn variance(self) -> f64 {
        self.square - self.mean * self.mean
    }
}

/// Parameters of the links of a network and of the network interfaces of its nodes.
pub(super) struct Links<'a> {
    pub spec: &'a NetworkSpec,
    pub rules: Rules,
    /// Credits of the buffers behind links without delay and behind the longest link; `None` with circuits.
    pub credits: Option<[Credits; 2]>,
}

impl Links<'_> {
    /// Return the time of a header on its route, and the time from the end of a packet until its acknowledgement
    /// arrives, in ns.
    fn header_and_back(&self, (switches, ps): (u32, u64)) -> (f64, f64) {
        let route = Route {
            switches: f64::from(switches),
            delay: ps as f64 / 1e3,
        };
        route.header_and_acknowledgement(&self.rules)
    }

    /// Return the window of a route: the maximum number of packets of a node in flight, and the time in ns after which
    /// the circuit or buffer slot of a packet is free again. A circuit ends with the acknowledgement, and a slot is
    /// free when the credit has returned.
    fn window(&self, over: (u32, u64), packet: f64) -> (f64, f64) {
        let (header, back) = self.header_and_back(over);
        match &self.credits {
            None => {
                let circuits = self.rules.link.circuits;
                let most = self.rules.interface.in_flight.min(circuits);
                (most, packet + header + back)
            }
            // `near` is for routes without delay, such as those over links of nodes only; `far` is for routes with a
            // delay, which links between switches may have.
            Some([near, far]) => {
                let credits = if over.1 > 0 { far } else { near };
                let ps = packet * 1e3;
                (credits.places(ps), credits.round_ps(ps) / 1e3)
            }
        }
    }

    /// Return the time from the first packet of a message to the last on an idle network, in ns.
    fn spread(&self, packets: &Packets, over: (u32, u64)) -> f64 {
        let (full, pace) = (packets.full, packets.full_pace_ns);
        let (most, turn) = self.window(over, packets.full_ns);
        (full / most).floor() * turn.max(most * pace) + full % most * pace
    }
}

impl Sent {
    /// Return the packets of the messages at the pace that the windows (maximum numbers of packets in flight) of their
    /// routes allow in the long run.
    pub fn paced(&self, links: &Links<'_>) -> impl Iterator<Item = Packets> {
        let least = |packet: f64| match self.rate > 0.0 {
            true => self.mean(|over| {
                let (most, turn) = links.window(over, packet);
                turn / most
            }),
            false => 0.0,
        };
        self.lengths.iter().map(move |packets| Packets {
            full_pace_ns: packets.full_pace_ns.max(least(packets.full_ns)),
            last_pace_ns: packets.last_pace_ns.max(least(packets.last_ns)),
            ..*packets
        })
    }

    /// Return the latency of a message on an idle network, as mean and mean square, for each key of [`Routes`]. The
    /// latency runs from the first packet to the last byte or, if `acknowledged`, to its acknowledgement.
    pub fn idle_latencies(
        &self,
        links: &Links<'_>,
        acknowledged: bool,
    ) -> BTreeMap<(u32, u64), Moments> {
        let moments = self.routes.keys().map(|&over| {
            let (header, back) = links.header_and_back(over);
            let last = header + if acknowledged { back } else { 0.0 };
            let mut sum = Moments::default();
            for packets in &self.lengths {
                let time = links.spread(packets, over) + packets.last_ns + last;
                sum.mean += packets.probability * time;
                sum.square += packets.probability * time * time;
            }
            (over, sum)
        });
        moments.collect()
    }

    /// Return the mean of `value` over the messages, where `value` depends on the route.
    fn mean(&self, value: impl Fn((u32, u64)) -> f64) -> f64 {
        let all = self.routes.iter();
        let sum: f64 = all.map(|(&over, rate)| rate * value(over)).sum();
        sum / self.rate
    }
}
