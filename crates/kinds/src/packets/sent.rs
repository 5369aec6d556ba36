//! The messages that the nodes of a job send: their routes, and how long they take with nothing in their way.

use super::Route;
use super::credits::Credits;
use isthmus_analytic::packets::Rules;
use isthmus_analytic::trains::Packets;
use isthmus_machine::packets::spec::NetworkSpec;
use std::collections::BTreeMap;

/// Writes, requests for reads, and the data that these bring.
pub(super) const KINDS: usize = 3;
pub(super) const REQUEST: usize = 1;
pub(super) const DATA: usize = 2;

/// Messages per ns by the switches of their route and its delays in ps.
pub(super) type Routes = BTreeMap<(u32, u64), f64>;

/// Messages of one kind of a job.
#[derive(Default)]
pub(super) struct Sent {
    /// Messages per ns of all nodes.
    pub rate: f64,
    /// Where they go.
    pub routes: Routes,
    /// The same of each client.
    pub clients: BTreeMap<u32, Routes>,
    pub lengths: Vec<Packets>,
}

/// Mean and mean square of a time, in ns and ns^2.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Moments {
    pub mean: f64,
    pub square: f64,
}

impl Moments {
    /// Of a time that is one of `each` at these rates.
    pub fn over(rates: &Routes, each: &BTreeMap<(u32, u64), Self>) -> Self {
        let all = rates.values().sum::<f64>().max(f64::MIN_POSITIVE);
        rates.iter().fold(Self::default(), |sum, (over, rate)| {
            let of = each[over];
            Self {
                mean: sum.mean + rate / all * of.mean,
                square: sum.square + rate / all * of.square,
            }
        })
    }

    pub fn variance(self) -> f64 {
        self.square - self.mean * self.mean
    }
}

/// What is known of links and interfaces.
pub(super) struct Links<'a> {
    pub spec: &'a NetworkSpec,
    pub rules: Rules,
    /// Of buffers behind links without length and behind the longest.
    pub credits: Option<[Credits; 2]>,
}

impl Links<'_> {
    /// Return the time of a header on its route, and the time from the end of a packet until its sender knows of it, in ns.
    fn header_and_back(&self, (switches, ps): (u32, u64)) -> (f64, f64) {
        let route = Route {
            switches: f64::from(switches),
            delay: ps as f64 / 1e3,
        };
        route.header_and_acknowledgement(&self.rules)
    }

    /// Return how many packets of a node may be on a route, and how long after the start of the first the next one may
    /// start, in ns: circuits end with the acknowledgement, the places of a buffer are free when the packet
    /// has left it. `None` where nothing limits them.
    fn window(&self, over: (u32, u64), packet: f64) -> (f64, f64) {
        let (header, back) = self.header_and_back(over);
        match &self.credits {
            None => {
                let circuits = self.rules.link.circuits;
                let most = self.rules.interface.in_flight.min(circuits);
                (most, packet + header + back)
            }
            // The link of the node has no length, those between switches have.
            Some([near, far]) => {
                let credits = if over.1 > 0 { far } else { near };
                let ps = packet * 1e3;
                (credits.places(ps), credits.round_ps(ps) / 1e3)
            }
        }
    }

    /// Return the time from the first packet of a message to the last, with nothing in the way.
    fn spread(&self, packets: &Packets, over: (u32, u64)) -> f64 {
        let (full, pace) = (packets.full, packets.full_pace_ns);
        let (most, turn) = self.window(over, packets.full_ns);
        (full / most).floor() * turn.max(most * pace) + full % most * pace
    }
}

impl Sent {
    /// Its messages at the pace that is left to many packets.
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

    /// Of a message with nothing in its way, from its first packet to the last byte or its acknowledgement: the mean
    /// and the mean square by its route, in ns.
    pub fn alone(&self, links: &Links<'_>, acknowledged: bool) -> BTreeMap<(u32, u64), Moments> {
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

    /// Return the mean of `of` over the routes.
    fn mean(&self, of: impl Fn((u32, u64)) -> f64) -> f64 {
        let all = self.routes.iter();
        let sum: f64 = all.map(|(&over, rate)| rate * of(over)).sum();
        sum / self.rate
    }
}
