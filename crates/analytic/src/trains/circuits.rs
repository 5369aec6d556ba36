//! Waits for channels that circuits hold; see the module's description.

use super::held::Held;
use super::network::{Channels, Circuits, Class};
use super::queues::Queues;
use crate::queue::waiting_probability;
use std::collections::BTreeMap;

/// Rounds in which waits for circuits are found from those behind them.
const ROUNDS: usize = 64;

/// The probability that customers who ask for the share `rho` of as many servers have to wait (Erlang's C), between whole
/// numbers of servers in proportion.
fn shared(servers: f64, rho: f64) -> f64 {
    let whole = servers.floor().max(1.0);
    let of = |servers: f64| waiting_probability(rho * servers, 1.0, servers as u32);
    let part = servers - whole;
    of(whole) * (1.0 - part) + of(whole + 1.0) * part
}

/// What the messages of a class that come by one link ask of the channels of another.
#[derive(Debug, Clone, Copy)]
struct Asked {
    /// Share of the time of all channels.
    share: f64,
    /// For how long a message holds its channels.
    time: f64,
    /// Channels that it holds at a time.
    held: f64,
}

impl Asked {
    const NOTHING: Self = Self {
        share: 0.0,
        time: 0.0,
        held: 1.0,
    };
}

impl Queues<'_> {
    /// Sums of what messages of each class wait for channels that circuits hold, by the links that they cross to and
    /// from; infinite where channels are asked for more than they do.
    pub(super) fn circuits(
        &self,
        held: &BTreeMap<u32, Held<'_>>,
    ) -> BTreeMap<(u32, u32), Vec<f64>> {
        let mut waits = BTreeMap::new();
        let Channels::Circuits {
            channels,
            in_flight,
        } = self.channels
        else {
            return waits;
        };
        // Of a packet, behind each link.
        let mut later: BTreeMap<u32, f64> = BTreeMap::new();
        for _ in 0..ROUNDS {
            waits.clear();
            let mut packet_waits = BTreeMap::new();
            for (&(to, _), inputs) in &self.network.circuits {
                let channels = channels * self.network.width(to);
                let behind = later.get(&to).copied().unwrap_or(0.0);
                let asked: Vec<Vec<Asked>> = (inputs.values())
                    .map(|circuits| self.asked(circuits, behind, channels, in_flight))
                    .collect();
                let taken = taken(&asked, channels);
                let all: f64 = asked.iter().flatten().map(|of| of.share).sum();
                for ((&from, circuits), asked) in inputs.iter().zip(&asked) {
                    let own = asked.iter().map(|of| of.share).sum::<f64>();
                    let others = match all.is_finite() {
                        true => 1.0 - own / all,
                        false => 1.0,
                    };
                    let sums: &mut Vec<f64> = waits.entry((to, from)).or_default();
                    sums.resize(self.classes.len(), 0.0);
                    for (number, of) in asked.iter().enumerate() {
                        if of.share == 0.0 || others <= 1e-9 {
                            continue;
                        }
                        let train = &self.classes[number].train;
                        let packets = train.packets;
                        let rounds = (packets / of.held).max(1.0);
                        let share = match train.is_apart() {
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
            later = self.later(held, &packet_waits, &later, in_flight);
        }
        waits
    }

    /// What each class asks of so many channels, where a packet waits for the time `behind` after this link.
    fn asked(&self, circuits: &Circuits, behind: f64, channels: f64, in_flight: f64) -> Vec<Asked> {
        let rates = circuits.rates.iter().zip(&circuits.held);
        let each = self.classes.iter().zip(rates);
        each.map(|(Class { train, .. }, (&rate, &beyond))| {
            if rate == 0.0 {
                return Asked::NOTHING;
            }
            let packet = train.work / train.packets;
            let time = packet + beyond / rate + behind;
            let most = in_flight.min(train.packets).max(1.0);
            let held = (time * train.packets / train.pace).clamp(1.0, most);
            Asked {
                share: rate * train.packets * time / channels,
                time: train.packets * time / held,
                held,
            }
        })
        .collect()
    }

    /// What a packet waits behind each link, from what it waited behind the next ones.
    fn later(
        &self,
        held: &BTreeMap<u32, Held<'_>>,
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

/// By what share of the time of its channels a message waits, if all that it meets came by other links.
fn taken(asked: &[Vec<Asked>], channels: f64) -> f64 {
    let each = || asked.iter().flatten();
    let all: f64 = each().map(|of| of.share).sum();
    let held_by: f64 = each().map(|of| of.share * of.held).sum();
    let servers = (channels * all / held_by).max(1.0);
    match all < 1.0 {
        _ if all == 0.0 => 0.0,
        true => shared(servers, all) / (servers * (1.0 - all)),
        false => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use crate::trains::network::examples::{class, hop};
    use crate::trains::{Channels, Hop, Network};

    /// Circuits of two nodes on one channel that each holds for 1 ns of its packet and 3 ns more, at the rate r: with
    /// rho = 8 r they wait half of M/D/1, rho 4 / (2 (1 - rho)), since those of one node never meet. Of two channels
    /// each, with Erlang's C = rho^2 2 / (1 + rho) at rho = 4 r, half of C 4 / (4 (1 - rho)).
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
        let shared = 2.0 * two * two / (1.0 + two);
        for (channels, expected) in [
            (1.0, one * 4.0 / (2.0 * (1.0 - one)) / 2.0),
            (2.0, shared * 4.0 / (4.0 * (1.0 - two)) / 2.0),
        ] {
            let found = wait(channels);
            assert!((found - expected).abs() < 1e-12, "{found} for {expected}");
        }
    }
}
