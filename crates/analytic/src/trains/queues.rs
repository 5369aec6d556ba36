//! Queues of messages at nodes and links, and the total times for which messages wait in them.

use super::Train;
use super::inputs::{Crossing, FirstWait, Input, LinkLoad};
use super::network::{Channels, Class, Network};
use crate::queue::waiting_probability;
use std::collections::{BTreeMap, BTreeSet};

/// Number of rounds of the iteration for the slowdown of links. Each round makes half of the change, since longer
/// occupation of buffer slots shortens the waits for other links.
const ROUNDS: usize = 12;

/// Mean waits of the messages of a class, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Wait {
    /// Mean wait of a message until its node starts to send it.
    pub node: f64,
    /// Mean total wait of the last packet of a message at the links of its route.
    pub last: f64,
}

impl Network {
    /// Return the queues of the nodes and links for messages of these classes.
    pub fn queues<'a>(&'a self, classes: &'a [Class], channels: Channels) -> Queues<'a> {
        let mut queues = Queues {
            network: self,
            classes,
            channels,
            slower: BTreeMap::new(),
        };
        queues.slower = queues.relative_times(&BTreeMap::new());
        if !self.buffers.is_empty() {
            for _ in 0..ROUNDS {
                let next = queues.relative_times(&queues.inputs());
                let halfway = |&link| {
                    let next = next.get(&link).copied().unwrap_or(1.0);
                    (link, (queues.relative_time(link) + next) / 2.0)
                };
                let links: BTreeSet<u32> =
                    queues.slower.keys().chain(next.keys()).copied().collect();
                queues.slower = links.iter().map(halfway).collect();
            }
        }
        queues
    }
}

/// Queues of the messages of a network at nodes and links.
#[derive(Debug)]
pub struct Queues<'a> {
    pub(super) network: &'a Network,
    pub(super) classes: &'a [Class],
    pub(super) channels: Channels,
    /// For each link that its buffer slows down, the factor by which the waits lengthen the transmission of a packet.
    slower: BTreeMap<u32, f64>,
}

impl Queues<'_> {
    /// Return for each link the factor by which the waits in `held` lengthen the transmission of packets, because they
    /// occupy the buffer behind the link.
    fn relative_times(&self, held: &BTreeMap<u32, Input<'_>>) -> BTreeMap<u32, f64> {
        let each = self.network.buffers.iter().map(|(&link, buffer)| {
            let alone = (buffer.round / buffer.room).max(1.0);
            let more = held
                .get(&link)
                .map_or(0.0, |held| held.slowdown(self.classes, *buffer));
            (link, alone + more)
        });
        each.filter(|&(_, slower)| slower > 1.0).collect()
    }

    /// Return the factor by which waits for buffers lengthen the transmission of a packet on a link; 1 if they do not.
    fn relative_time(&self, link: u32) -> f64 {
        self.slower.get(&link).copied().unwrap_or(1.0)
    }

    /// Return the load that these messages cause on each link of a bundle of `width` parallel links. `relative_time`
    /// returns the factor by which waits lengthen the transmission of a packet.
    fn link_load(
        &self,
        rates: &[f64],
        width: f64,
        relative_time: impl Fn(&Train) -> f64,
    ) -> LinkLoad {
        let mut load = LinkLoad::default();
        for (Class { train, .. }, rate) in self.classes.iter().zip(rates) {
            load.add(rate / width, train, relative_time(train));
        }
        load
    }

    /// Return the utilisation of the busiest link or node. A value of 1 or more means saturation.
    pub fn busiest(&self) -> f64 {
        let mut links: BTreeMap<u32, f64> = BTreeMap::new();
        for (&(to, _), rates) in &self.network.crossings {
            *links.entry(to).or_default() +=
                self.link_load(rates, self.network.width(to), |_| 1.0).work;
        }
        let nodes = self.network.nodes.values();
        let nodes = nodes.map(|rates| self.node_load(rates).0);
        nodes.chain(links.into_values()).fold(0.0, f64::max)
    }

    /// Return the utilisation of a node, and the mean residual work of the messages that it sends.
    fn node_load(&self, rates: &[f64]) -> (f64, f64) {
        let all = self.classes.iter().zip(rates);
        all.fold((0.0, 0.0), |(work, left), (class, rate)| {
            let Train {
                pace,
                pace_residual,
                ..
            } = class.train;
            (work + rate * pace, left + rate * pace_residual)
        })
    }

    /// Return the waits of each class, infinite if a node or a link is saturated.
    pub fn waits(&self) -> Vec<Wait> {
        let count = self.classes.len();
        let mut sums = vec![Wait::default(); count];
        let mut sent = vec![0.0; count];
        for (&node, rates) in &self.network.nodes {
            let (all, left) = self.node_load(rates);
            for (number, class) in self.classes.iter().enumerate() {
                let rate = rates[number];
                if rate == 0.0 {
                    continue;
                }
                let Train {
                    pace,
                    packets,
                    spread,
                    ..
                } = class.train;
                let work = match class.requested_one_by_one {
                    true => all * (1.0 - self.same_destination_share(node, number, rate)),
                    false => all,
                };
                let wait = match (all >= 1.0, class.by_turns) {
                    (true, _) => f64::INFINITY,
                    // The formula is that of M/G/1 with processor sharing (Kleinrock, vol. 2, 1976, section 4.4) until
                    // the last packet, which finds a packet half done.
                    (_, true) => (spread + pace / packets / 2.0) * work / (1.0 - work),
                    (_, false) => left / (1.0 - work),
                };
                sums[number].node += rate * wait;
                sent[number] += rate;
            }
        }
        let held = self.inputs();
        let circuits = self.circuit_waits(&held);
        for (&from, held) in &held {
            for crossing in &held.crossings {
                let blocked = match self.channels {
                    Channels::Buffers(lanes) => held.blocking(crossing, lanes),
                    Channels::Circuits { .. } => 0.0,
                };
                for (number, class) in self.classes.iter().enumerate() {
                    let rate = crossing.rates[number];
                    if rate > 0.0 {
                        let (train, first) = (&class.train, &crossing.first);
                        let taken = circuits.get(&(crossing.to, from));
                        let taken = taken.map_or(0.0, |waits| waits[number] / rate);
                        sums[number].last += rate * (first.wait(train) + blocked / 2.0 + taken);
                    }
                }
            }
        }
        for (sum, rate) in sums.iter_mut().zip(sent) {
            if rate > 0.0 {
                *sum = Wait {
                    node: sum.node / rate,
                    last: sum.last / rate,
                };
            }
        }
        sums
    }

    /// Return the probability that the previous message of a class from a node goes to the same destination.
    fn same_destination_share(&self, node: u32, class: usize, rate: f64) -> f64 {
        let to = self.network.sent_to.range((node, 0)..=(node, u32::MAX));
        to.map(|(_, rates)| (rates[class] / rate).powi(2)).sum()
    }

    /// Return, for each link that leads into a switch, its load and the waits of its packets for each of the next
    /// links.
    pub(super) fn inputs(&self) -> BTreeMap<u32, Input<'_>> {
        let mut held: BTreeMap<u32, Input<'_>> = BTreeMap::new();
        let mut crossings = self.network.crossings.iter().peekable();
        while let Some(&(&(to, _), _)) = crossings.peek() {
            let mut inputs = Vec::new();
            while let Some((&(_, from), rates)) = crossings.next_if(|((other, _), _)| *other == to)
            {
                inputs.push((from, rates));
            }
            self.add_link_waits(to, &inputs, &mut held);
        }
        held
    }

    /// Compute the waits of packets for link `to`, and add them to the entries in `held` of the links that the packets
    /// come from.
    fn add_link_waits<'a>(
        &self,
        to: u32,
        inputs: &[(u32, &'a Vec<f64>)],
        held: &mut BTreeMap<u32, Input<'a>>,
    ) {
        let width = self.network.width(to);
        let slower = self.relative_time(to);
        let loads: Vec<LinkLoad> = (inputs.iter())
            .map(|(_, rates)| self.link_load(rates, width, |_| slower))
            .collect();
        let mut brought: Vec<f64> = Vec::new();
        let mut all = LinkLoad::default();
        let mut behind = 0.0;
        for (load, (from, rates)) in loads.iter().zip(inputs) {
            all.work += load.work;
            all.residual += load.residual;
            all.packets += load.packets;
            all.count += load.count;
            // Factor by which the previous link, or the node, has already spread the packets over time.
            let before = self.relative_time(*from);
            let there = self.link_load(rates, width, |train| {
                before.max(slower.min(train.pace / train.work))
            });
            let queue = there.mean_work();
            behind += queue * (load.work / there.work.max(f64::MIN_POSITIVE));
            brought.push(queue);
        }
        // With several links, one may be free: the ratio of M/G/m to M/G/1 by Lee and Longton applies.
        let taken = match width > 1.0 && all.work > 0.0 && all.work < 1.0 {
            true => waiting_probability(all.work * width, 1.0, width as u32) / (all.work * width),
            false => 1.0,
        };
        // Waits are infinite if this link or a previous one is saturated.
        let is_full = all.work >= 1.0 || !behind.is_finite();
        for ((&(from, rates), own), before) in inputs.iter().zip(&loads).zip(&brought) {
            let others = (all.work - own.work).max(0.0);
            let first = match is_full {
                true => FirstWait {
                    fixed: f64::INFINITY,
                    others: 0.0,
                    relative_time: slower,
                },
                false => FirstWait {
                    fixed: taken
                        * (all.mean_work() - behind
                            + others * before
                            + (all.packets - own.packets)),
                    others: taken * others,
                    relative_time: slower,
                },
            };
            let of = held.entry(from).or_default();
            // Compute the load of a single link of the bundle of parallel links.
            let beside = self.network.width(from);
            for (class, &rate) in self.classes.iter().zip(rates) {
                let rate = rate / beside;
                of.load.add(rate, &class.train, 1.0);
                let wait = first.wait(&class.train);
                of.wait += rate * wait;
                of.met_others += rate * others;
                of.met += rate * wait * class.train.work;
            }
            of.crossings.push(Crossing {
                to,
                rates,
                own: own.work / slower * width / beside,
                first,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trains::network::examples::{class, hop};
    use crate::trains::{Buffer, Packets};

    /// Return the mean wait in ns of a message's last packet at a link that several nodes share. Node `i` sends
    /// `rates[i]` messages per ns, of `packets` packets each.
    fn wait(packets: f64, rates: &[f64]) -> f64 {
        let mut network = Network::new(1);
        for (node, &rate) in (0..).zip(rates) {
            network.add(0, rate, node, &[hop(node), hop(9)]);
        }
        let classes = [class(packets)];
        network
            .queues(&classes, Channels::Buffers(f64::INFINITY))
            .waits()[0]
            .last
    }

    /// Checks that messages of one packet wait as long, over all queues on their routes, as in one queue. By
    /// conservation of work, packets of one length that arrive over several links wait, at nodes and at the common link
    /// together, as long as in one M/D/1 queue. Two nodes with half of the load each have M(rho / 2) of this wait.
    #[test]
    fn single_packets_wait_as_in_one_queue() {
        let queue = |rho: f64| rho / 2.0 / (1.0 - rho);
        for rho in [0.1, 0.5, 0.9] {
            let expected = queue(rho) - queue(rho / 2.0);
            let found = wait(1.0, &[rho / 2.0; 2]);
            assert!((found - expected).abs() < 1e-12, "{found} for {expected}");
        }
        assert_eq!(wait(1.0, &[0.4, 0.7]), f64::INFINITY);
    }

    /// Checks that messages wait only for messages that arrive over other links. Packets that arrive over one link
    /// alone never wait behind it. If two trains of K packets seldom meet, the last packet of one waits for the packets
    /// of the other that are before it: K (K - 1/2) ns, summed over the offsets at which the trains meet.
    #[test]
    fn trains_meet_those_of_other_links_only() {
        assert!(wait(8.0, &[0.1]).abs() < 1e-12);
        let rate = 1e-7;
        for packets in [1.0, 2.0, 3.0, 8.0] {
            let found = wait(packets, &[rate; 2]) / rate;
            let expected = packets * (packets - 0.5);
            assert!(
                (found / expected - 1.0).abs() < 1e-5,
                "{found} for {expected}"
            );
        }
    }

    /// Checks that a short buffer has the effect of a link with less bandwidth. A link whose buffer halves its
    /// throughput has the same waits, for trains at that pace, as a link of half the bandwidth.
    #[test]
    fn short_buffers_slow_their_link() {
        for packets in [1.0, 3.0] {
            let mut network = Network::new(1);
            for node in 0..2 {
                network.add(0, 0.05, node, &[hop(node), hop(9)]);
            }
            let wait = |network: &Network, ns: f64, pace: f64| {
                let train = Train::new([Packets {
                    probability: 1.0,
                    full: packets - 1.0,
                    full_ns: ns,
                    full_pace_ns: pace,
                    last_ns: ns,
                    last_pace_ns: pace,
                }]);
                let class = Class {
                    train: train.unwrap(),
                    ..class(packets)
                };
                let classes = [class];
                let queues = network.queues(&classes, Channels::Buffers(f64::INFINITY));
                queues.waits()[0].last
            };
            let expected = wait(&network, 2.0, 2.0);
            let buffer = Buffer {
                room: 3.0,
                round: 6.0,
            };
            network.buffer(9, buffer);
            let found = wait(&network, 1.0, 2.0);
            assert!(expected > 0.0 && (found - expected).abs() < 1e-12);
        }
    }

    /// Checks that additional lanes reduce the wait behind blocked packets. A packet finds an empty lane unless a
    /// packet waits on each lane.
    #[test]
    fn lanes_keep_packets_from_blocking_others() {
        let mut network = Network::new(1);
        for (node, to) in [(0, 9), (1, 9), (0, 8)] {
            network.add(0, 0.2, node, &[hop(node), hop(to)]);
        }
        let classes = [class(1.0)];
        let blocked = |lanes: f64| {
            let queues = network.queues(&classes, Channels::Buffers(lanes));
            queues.waits()[0].last
        };
        let blocked = |lanes: f64| blocked(lanes) - blocked(f64::INFINITY);
        let [one, two, four] = [1.0, 2.0, 4.0].map(blocked);
        assert!(one > 0.0 && two < one / 2.0);
        // Each additional lane reduces the wait by the same factor.
        assert!((four / one - (two / one).powi(3)).abs() < 1e-9);
    }
}
