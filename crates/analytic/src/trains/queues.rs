//! Queues at nodes and links, and how long messages wait in all of them.

use super::Train;
use super::held::{Crossing, First, Held, Work};
use super::network::{Channels, Class, Network};
use crate::queue::waiting_probability;
use std::collections::{BTreeMap, BTreeSet};

/// Rounds of the iteration for the factors of slow links. Each takes half of what is new, since places that are held for
/// longer let waits for other links fall.
const ROUNDS: usize = 12;

/// Mean waits of the messages of a class, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Wait {
    /// Of a message, for its turn at the node.
    pub node: f64,
    /// Of its last packet, for all links behind that of the node.
    pub last: f64,
}

impl Network {
    /// The queues of its nodes and links for messages of these kinds.
    pub fn queues<'a>(&'a self, classes: &'a [Class], channels: Channels) -> Queues<'a> {
        let mut queues = Queues {
            network: self,
            classes,
            channels,
            slower: BTreeMap::new(),
        };
        queues.slower = queues.slower_links(&BTreeMap::new());
        if !self.buffers.is_empty() {
            for _ in 0..ROUNDS {
                let next = queues.slower_links(&queues.held());
                let halfway = |&link| {
                    let next = next.get(&link).copied().unwrap_or(1.0);
                    (link, (queues.slower(link) + next) / 2.0)
                };
                let links: BTreeSet<u32> =
                    queues.slower.keys().chain(next.keys()).copied().collect();
                queues.slower = links.iter().map(halfway).collect();
            }
        }
        queues
    }
}

/// Queues at nodes and links.
#[derive(Debug)]
pub struct Queues<'a> {
    pub(super) network: &'a Network,
    pub(super) classes: &'a [Class],
    pub(super) channels: Channels,
    /// Links on which packets take more than their time alone, and how many times as long.
    slower: BTreeMap<u32, f64>,
}

impl Queues<'_> {
    /// How many times as long as alone packets take on links whose buffers they hold for so long.
    fn slower_links(&self, held: &BTreeMap<u32, Held<'_>>) -> BTreeMap<u32, f64> {
        let each = self.network.buffers.iter().map(|(&link, buffer)| {
            let alone = (buffer.round / buffer.room).max(1.0);
            let more = held
                .get(&link)
                .map_or(0.0, |held| held.longer(self.classes, *buffer));
            (link, alone + more)
        });
        each.filter(|&(_, slower)| slower > 1.0).collect()
    }

    /// How many times as long as alone packets take on a link.
    fn slower(&self, link: u32) -> f64 {
        self.slower.get(&link).copied().unwrap_or(1.0)
    }

    /// What these messages ask of a link of such a bundle where packets take so many times as long as alone.
    fn load(&self, rates: &[f64], width: f64, slower: impl Fn(&Train) -> f64) -> Work {
        let mut load = Work::default();
        for (Class { train, .. }, rate) in self.classes.iter().zip(rates) {
            load.add(rate / width, train, slower(train));
        }
        load
    }

    /// Return the utilisation that the busiest link or node would need; from 1 on it is saturated.
    pub fn busiest(&self) -> f64 {
        let mut links: BTreeMap<u32, f64> = BTreeMap::new();
        for (&(to, _), rates) in &self.network.crossings {
            *links.entry(to).or_default() += self.load(rates, self.network.width(to), |_| 1.0).work;
        }
        let nodes = self.network.nodes.values();
        let nodes = nodes.map(|rates| self.node(rates).0);
        nodes.chain(links.into_values()).fold(0.0, f64::max)
    }

    /// The share of its time for which a node sends, and the work that is left of what it sends.
    fn node(&self, rates: &[f64]) -> (f64, f64) {
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

    /// The waits of each class; infinite where a node or a link is asked for more than it does.
    pub fn waits(&self) -> Vec<Wait> {
        let count = self.classes.len();
        let mut sums = vec![Wait::default(); count];
        let mut sent = vec![0.0; count];
        for (&node, rates) in &self.network.nodes {
            let (all, left) = self.node(rates);
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
                let work = match class.asked_one_by_one {
                    true => all * (1.0 - self.own_share(node, number, rate)),
                    false => all,
                };
                let wait = match (all >= 1.0, class.by_turns) {
                    (true, _) => f64::INFINITY,
                    // M/G/1 with processor sharing (Kleinrock, vol. 2, 1976, section 4.4) until the last packet, which
                    // finds one half done.
                    (_, true) => (spread + pace / packets / 2.0) * work / (1.0 - work),
                    (_, false) => left / (1.0 - work),
                };
                sums[number].node += rate * wait;
                sent[number] += rate;
            }
        }
        let held = self.held();
        let circuits = self.circuits(&held);
        for (&from, held) in &held {
            for crossing in &held.crossings {
                let blocked = match self.channels {
                    Channels::Buffers(lanes) => held.before(crossing, lanes),
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

    /// How likely a message of a class finds one from its node to the same one.
    fn own_share(&self, node: u32, class: usize, rate: f64) -> f64 {
        let to = self.network.sent_to.range((node, 0)..=(node, u32::MAX));
        to.map(|(_, rates)| (rates[class] / rate).powi(2)).sum()
    }

    /// All crossings, by the link from which they lead.
    pub(super) fn held(&self) -> BTreeMap<u32, Held<'_>> {
        let mut held: BTreeMap<u32, Held<'_>> = BTreeMap::new();
        let mut crossings = self.network.crossings.iter().peekable();
        while let Some(&(&(to, _), _)) = crossings.peek() {
            let mut inputs = Vec::new();
            while let Some((&(_, from), rates)) = crossings.next_if(|((other, _), _)| *other == to)
            {
                inputs.push((from, rates));
            }
            self.at_link(to, &inputs, &mut held);
        }
        held
    }

    /// What packets wait for a link, by the links that they come by.
    fn at_link<'a>(
        &self,
        to: u32,
        inputs: &[(u32, &'a Vec<f64>)],
        held: &mut BTreeMap<u32, Held<'a>>,
    ) {
        let width = self.network.width(to);
        let slower = self.slower(to);
        let loads: Vec<Work> = (inputs.iter())
            .map(|(_, rates)| self.load(rates, width, |_| slower))
            .collect();
        let mut brought: Vec<f64> = Vec::new();
        let mut all = Work::default();
        let mut behind = 0.0;
        for (load, (from, rates)) in loads.iter().zip(inputs) {
            all.work += load.work;
            all.residual += load.residual;
            all.packets += load.packets;
            all.count += load.count;
            // The link before, or their node, has put packets apart.
            let before = self.slower(*from);
            let there = self.load(rates, width, |train| {
                before.max(slower.min(train.pace / train.work))
            });
            let queue = there.queue();
            behind += queue * (load.work / there.work.max(f64::MIN_POSITIVE));
            brought.push(queue);
        }
        // Of several links one may be free: M/G/m over M/G/1, by Lee and Longton.
        let taken = match width > 1.0 && all.work > 0.0 && all.work < 1.0 {
            true => waiting_probability(all.work * width, 1.0, width as u32) / (all.work * width),
            false => 1.0,
        };
        // The work in front of a full link, or of a full one before it, has no limit.
        let is_full = all.work >= 1.0 || !behind.is_finite();
        for ((&(from, rates), own), before) in inputs.iter().zip(&loads).zip(&brought) {
            let others = (all.work - own.work).max(0.0);
            let first = match is_full {
                true => First {
                    fixed: f64::INFINITY,
                    others: 0.0,
                    slower,
                },
                false => First {
                    fixed: taken
                        * (all.queue() - behind + others * before + (all.packets - own.packets)),
                    others: taken * others,
                    slower,
                },
            };
            let of = held.entry(from).or_default();
            // Of one of the links that lie side by side.
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

    /// The wait at link 9, to which nodes send so many messages per ns each over links of their own.
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

    /// By conservation of work: packets of one length that come by several links wait, at nodes and at the link they
    /// share, as long as in one queue M/D/1. Nodes with half the load each have M(rho / 2) of it.
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

    /// What comes by one link alone never waits behind it. Of two trains of K packets that seldom meet, the last packet
    /// of one waits for the packets of the other before it, K (K - 1/2) ns summed over the offsets at which they meet.
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

    /// A link whose buffer lets half of it through, for trains at the pace of that, has the waits of links of half the
    /// bandwidth.
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

    /// A packet finds an empty lane but where all of them have one that waits.
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
        // Each lane more leaves the same part.
        assert!((four / one - (two / one).powi(3)).abs() < 1e-9);
    }
}
