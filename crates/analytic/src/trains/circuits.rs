//! Waits for channels that circuits hold; the module description of `trains` has the formulas.

use super::inputs::Input;
use super::network::{Channels, Circuits, Class};
use super::queues::Queues;
use crate::queue::waiting_probability;
use std::collections::BTreeMap;

/// Number of iterations. Each computes the waiting times for the channels of every link from those of the next links
/// in the previous iteration.
const ROUNDS: usize = 64;

/// Return Erlang's C: the probability that a customer has to wait at `servers` servers with the utilisation `rho`. A
/// fractional number of servers is interpolated linearly.
fn erlang_c(servers: f64, rho: f64) -> f64 {
    let whole = servers.floor().max(1.0);
    let of = |servers: f64| waiting_probability(rho * servers, 1.0, servers as u32);
    let part = servers - whole;
    of(whole) * (1.0 - part) + of(whole + 1.0) * part
}

/// Load on the channels of a link by one class of messages, of those that arrive over one particular other link.
#[derive(Debug, Clone, Copy)]
struct Demand {
    /// Share of the time, from 0 to 1, for which these messages use the channels of the link.
    share: f64,
    /// Time for which a message holds its channels, in ns.
    time: f64,
    /// Number of channels that a message holds at the same time.
    held: f64,
}

impl Demand {
    /// The demand of a class without messages: none.
    const NOTHING: Self = Self {
        share: 0.0,
        time: 0.0,
        held: 1.0,
    };
}

impl Queues<'_> {
    /// Return, for each pair of successive links, the sum of the times for which messages wait for a channel of the
    /// second link that another message holds. The list has one sum per class of messages; a sum is infinite if the
    /// demand exceeds the channels.
    pub(super) fn circuit_waits(
        &self,
        held: &BTreeMap<u32, Input<'_>>,
    ) -> BTreeMap<(u32, u32), Vec<f64>> {
        let mut waits = BTreeMap::new();
        let Channels::Circuits {
            channels,
            in_flight,
        } = self.channels
        else {
            return waits;
        };
        // For each link, the mean wait of a packet at all later links.
        let mut later: BTreeMap<u32, f64> = BTreeMap::new();
        for _ in 0..ROUNDS {
            waits.clear();
            let mut packet_waits = BTreeMap::new();
            for (&(to, _), inputs) in &self.network.circuits {
                let channels = channels * self.network.width(to);
                let behind = later.get(&to).copied().unwrap_or(0.0);
                let demand: Vec<Vec<Demand>> = (inputs.values())
                    .map(|circuits| self.demand(circuits, behind, channels, in_flight))
                    .collect();
                let taken = relative_wait(&demand, channels);
                let all: f64 = demand.iter().flatten().map(|of| of.share).sum();
                for ((&from, circuits), demand) in inputs.iter().zip(&demand) {
                    let own = demand.iter().map(|of| of.share).sum::<f64>();
                    let others = match all.is_finite() {
                        true => 1.0 - own / all,
                        false => 1.0,
                    };
                    let sums: &mut Vec<f64> = waits.entry((to, from)).or_default();
                    sums.resize(self.classes.len(), 0.0);
                    for (number, of) in demand.iter().enumerate() {
                        if of.share == 0.0 || others <= 1e-9 {
                            continue;
                        }
                        let train = &self.classes[number].train;
                        let packets = train.packets;
                        let rounds = (packets / of.held).max(1.0);
                        let share = match train.has_separate_routes() {
                            true => 0.5,
                            false => 1.0 - 0.5 / rounds,
                        };
                        let wait = of.time * share * others * taken;
                        let rate = circuits.rates[number];
                        sums[number] += rate * wait;
                        *packet_waits.entry((to, from)).or_default() +=
                            rate * packets * wait / rounds;
                    }
                }
            }
            later = self.waits_behind(held, &packet_waits, &later, in_flight);
        }
        waits
    }

    /// Return the load that each class of packets puts on the `channels` virtual channels of a link. `behind` is the
    /// mean time for which a packet waits at later links while it holds a channel of this link.
    fn demand(
        &self,
        circuits: &Circuits,
        behind: f64,
        channels: f64,
        in_flight: f64,
    ) -> Vec<Demand> {
        let rates = circuits.rates.iter().zip(&circuits.held);
        let each = self.classes.iter().zip(rates);
        each.map(|(Class { train, .. }, (&rate, &beyond))| {
            if rate == 0.0 {
                return Demand::NOTHING;
            }
            let packet = train.work / train.packets;
            let time = packet + beyond / rate + behind;
            let most = in_flight.min(train.packets).max(1.0);
            let held = (time * train.packets / train.pace).clamp(1.0, most);
            Demand {
                share: rate * train.packets * time / channels,
                time: train.packets * time / held,
                held,
            }
        })
        .collect()
    }

    /// Return, for each link, the mean time that a packet which holds the link waits at all later links of its
    /// path. It is computed from the results of the previous iteration, `before`.
    fn waits_behind(
        &self,
        held: &BTreeMap<u32, Input<'_>>,
        packet_waits: &BTreeMap<(u32, u32), f64>,
        before: &BTreeMap<u32, f64>,
        in_flight: f64,
    ) -> BTreeMap<u32, f64> {
        let behind = held.iter().map(|(&from, held)| {
            let (mut sum, mut count) = (0.0, 0.0);
            for crossing in &held.crossings {
                let behind = before.get(&crossing.to).copied().unwrap_or(0.0);
                let channel = packet_waits.get(&(crossing.to, from));
                sum += channel.copied().unwrap_or(0.0);
                for (class, &rate) in self.classes.iter().zip(crossing.rates) {
                    let packets = class.train.packets;
                    let rounds = (packets / in_flight).max(1.0);
                    let wait = crossing.first.wait(&class.train) / rounds;
                    sum += rate * packets * (wait + behind);
                    count += rate * packets;
                }
            }
            (from, sum / count)
        });
        behind.collect()
    }
}

/// Return the mean time for which a message waits for one of the channels of a link, divided by the time for which it
/// then holds the channel. `demand` is that of the messages that arrive over other links.
fn relative_wait(demand: &[Vec<Demand>], channels: f64) -> f64 {
    let each = || demand.iter().flatten();
    let all: f64 = each().map(|of| of.share).sum();
    let weighted_held: f64 = each().map(|of| of.share * of.held).sum();
    let servers = (channels * all / weighted_held).max(1.0);
    match all < 1.0 {
        _ if all == 0.0 => 0.0,
        true => erlang_c(servers, all) / (servers * (1.0 - all)),
        false => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use crate::trains::network::examples::{class, hop};
    use crate::trains::{Channels, Hop, Network};

    /// Checks the mean wait for the channels of a link that two nodes share. Each node sends packets at the rate r per
    /// ns, and each packet holds a channel for 4 ns. Packets of one node never wait for one another, so the wait is
    /// half of that in a queue. With one channel this is an M/D/1 queue: the wait is 4 rho / (2 (1 - rho)), rho = 8 r.
    /// With two channels the wait is C 4 / (4 (1 - rho)) for rho = 4 r, where C = 2 rho^2 / (1 + rho) is Erlang's C.
    #[test]
    fn circuits_wait_for_channels() {
        let rate = 0.05;
        let held = |channel: u32| Hop {
            held: 3.0,
            ..hop(channel)
        };
        let mut network = Network::new(1);
        for node in 0..2 {
            network.add(0, rate, node, &[held(node), held(9)]);
        }
        let classes = [class(1.0)];
        let wait = |channels: f64| {
            let circuits = Channels::Circuits {
                channels,
                in_flight: 1.0,
            };
            let last = |channels| network.queues(&classes, channels).waits()[0].last;
            last(circuits) - last(Channels::Buffers(f64::INFINITY))
        };
        let (one, two) = (8.0 * rate, 4.0 * rate);
        let erlang_c = 2.0 * two * two / (1.0 + two);
        for (channels, expected) in [
            (1.0, one * 4.0 / (2.0 * (1.0 - one)) / 2.0),
            (2.0, erlang_c * 4.0 / (4.0 * (1.0 - two)) / 2.0),
        ] {
            let found = wait(channels);
            assert!((found - expected).abs() < 1e-12, "{found} for {expected}");
        }
    }
}
