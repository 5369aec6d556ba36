//! Queues at nodes and links, and what trains wait for in all.

use super::Train;
use crate::queue::waiting_probability;
use std::collections::BTreeMap;

/// A kind of message.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Class {
    /// Its packets.
    pub train: Train,
    /// Whether its messages take turns at their node, packet by packet, with all that are there; otherwise they go
    /// one after another.
    pub by_turns: bool,
}

/// What asks for a link, or comes by one.
#[derive(Debug, Clone, Copy, Default)]
struct Work {
    /// rho.
    work: f64,
    /// R.
    residual: f64,
    /// r.
    packets: f64,
}

impl Work {
    fn add(&mut self, rate: f64, train: &Train) {
        self.work += rate * train.work;
        self.residual += rate * train.residual;
        self.packets += rate * train.packet_residual;
    }

    /// M.
    fn queue(&self) -> f64 {
        if self.work >= 1.0 {
            return f64::INFINITY;
        }
        self.residual / (1.0 - self.work)
    }
}

/// Mean waits of the messages of a class, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Wait {
    /// Of a message, for its turn at the node.
    pub node: f64,
    /// Of its last packet, for all links behind that of the node.
    pub last: f64,
    /// Distance between the bounds of the last packet's wait: head-of-line blocking may affect none or all of the
    /// messages that arrive meanwhile.
    pub uncertainty: f64,
}

/// What is asked of nodes and links.
#[derive(Debug, Default)]
pub struct Network {
    classes: usize,
    /// Messages of each class per ns from each node.
    nodes: BTreeMap<u32, Vec<f64>>,
    /// The same from one link on to another, by the second.
    crossings: BTreeMap<(u32, u32), Vec<f64>>,
    /// Links that lie beside the one.
    beside: BTreeMap<u32, u32>,
}

impl Network {
    /// A network without messages, of so many kinds.
    pub fn new(classes: usize) -> Self {
        Self {
            classes,
            ..Self::default()
        }
    }

    /// Add `rate` messages per ns of a class from a node over `links`: the first link of each bundle, and the width of
    /// the bundle.
    pub fn add(&mut self, class: usize, rate: f64, node: u32, links: &[(u32, u32)]) {
        let count = self.classes;
        let rates = |rates: &mut Vec<f64>| {
            rates.resize(count, 0.0);
            rates[class] += rate;
        };
        rates(self.nodes.entry(node).or_default());
        for pair in links.windows(2) {
            rates(self.crossings.entry((pair[1].0, pair[0].0)).or_default());
        }
        for &(link, beside) in links.iter().filter(|&&(_, beside)| beside > 1) {
            self.beside.insert(link, beside);
        }
    }

    /// Each node with a class of which it sends and how many messages per ns.
    pub fn sources(&self) -> impl Iterator<Item = (u32, usize, f64)> {
        let nodes = self.nodes.iter();
        nodes.flat_map(|(&node, rates)| {
            let each = rates.iter().copied().enumerate();
            each.map(move |(class, rate)| (node, class, rate))
        })
    }

    /// Links beside one another.
    fn width(&self, link: u32) -> f64 {
        self.beside.get(&link).copied().unwrap_or(1).into()
    }

    /// The queues of its nodes and links for messages of these kinds, where each input of a switch has so many lanes for
    /// a packet.
    pub fn queues<'a>(&'a self, classes: &'a [Class], lanes: f64) -> Queues<'a> {
        Queues {
            network: self,
            classes,
            lanes,
        }
    }
}

/// Queues at nodes and links.
#[derive(Debug)]
pub struct Queues<'a> {
    network: &'a Network,
    classes: &'a [Class],
    lanes: f64,
}

impl Queues<'_> {
    fn load(&self, rates: &[f64], width: f64) -> Work {
        let mut load = Work::default();
        for (class, rate) in self.classes.iter().zip(rates) {
            load.add(rate / width, &class.train);
        }
        load
    }

    /// Return the utilisation that the busiest link or node would need; from 1 on it is saturated.
    pub fn busiest(&self) -> f64 {
        let mut links: BTreeMap<u32, f64> = BTreeMap::new();
        for (&(to, _), rates) in &self.network.crossings {
            *links.entry(to).or_default() += self.load(rates, self.network.width(to)).work;
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
        for rates in self.network.nodes.values() {
            let (work, left) = self.node(rates);
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
                let wait = match (work >= 1.0, class.by_turns) {
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
        for held in self.held().values() {
            for crossing in &held.crossings {
                let [low, before, high] =
                    [0.0, 0.5, 1.0].map(|part| held.before(crossing, part) / self.lanes);
                for (number, class) in self.classes.iter().enumerate() {
                    let rate = crossing.rates[number];
                    if rate > 0.0 {
                        let (train, first) = (&class.train, &crossing.first);
                        sums[number].last += rate * (first.wait(train.before_last) + before);
                        sums[number].uncertainty += rate * (high - low);
                    }
                }
            }
        }
        for (sum, rate) in sums.iter_mut().zip(sent) {
            if rate > 0.0 {
                *sum = Wait {
                    node: sum.node / rate,
                    last: sum.last / rate,
                    uncertainty: sum.uncertainty / rate,
                };
            }
        }
        sums
    }

    /// All crossings, by the link from which they lead.
    fn held(&self) -> BTreeMap<u32, Held<'_>> {
        let mut held: BTreeMap<u32, Held<'_>> = BTreeMap::new();
        let mut crossings = self.network.crossings.iter().peekable();
        while let Some(&(&(to, _), _)) = crossings.peek() {
            let mut inputs = Vec::new();
            while let Some((&(_, from), rates)) = crossings.next_if(|((other, _), _)| *other == to)
            {
                inputs.push((from, rates));
            }
            self.at_link(self.network.width(to), &inputs, &mut held);
        }
        held
    }

    /// What packets wait for a link, by the links that they come by.
    fn at_link<'a>(
        &self,
        width: f64,
        inputs: &[(u32, &'a Vec<f64>)],
        held: &mut BTreeMap<u32, Held<'a>>,
    ) {
        let loads: Vec<Work> = (inputs.iter())
            .map(|(_, rates)| self.load(rates, width))
            .collect();
        let mut all = Work::default();
        let mut behind = 0.0;
        for load in &loads {
            all.work += load.work;
            all.residual += load.residual;
            all.packets += load.packets;
            behind += load.queue();
        }
        // Of several links one may be free: M/G/m over M/G/1, by Lee and Longton.
        let taken = match width > 1.0 && all.work > 0.0 && all.work < 1.0 {
            true => waiting_probability(all.work * width, 1.0, width as u32) / (all.work * width),
            false => 1.0,
        };
        for (&(from, rates), own) in inputs.iter().zip(&loads) {
            let others = (all.work - own.work).max(0.0);
            let first = match all.work >= 1.0 {
                true => First {
                    fixed: f64::INFINITY,
                    others: 0.0,
                },
                false => First {
                    fixed: taken
                        * (all.queue() - behind
                            + others * own.queue()
                            + (all.packets - own.packets)),
                    others: taken * others,
                },
            };
            let of = held.entry(from).or_default();
            for (class, &rate) in self.classes.iter().zip(rates) {
                of.load.add(rate, &class.train);
                let wait = first.wait(class.train.before_last);
                of.wait += rate * wait;
                of.met += rate * wait * class.train.work;
            }
            of.crossings.push(Crossing {
                rates,
                own: *own,
                first,
            });
        }
    }
}

/// The wait of the first packet of an input for a link.
#[derive(Debug, Clone, Copy)]
struct First {
    fixed: f64,
    /// Share of the link that other inputs ask for.
    others: f64,
}

impl First {
    /// Of a packet of a train, so much of which comes before it.
    fn wait(&self, before: f64) -> f64 {
        (self.fixed + self.others * before).max(0.0)
    }
}

#[derive(Debug)]
struct Crossing<'a> {
    rates: &'a Vec<f64>,
    own: Work,
    first: First,
}

/// A link into a switch, and what its packets go on to.
#[derive(Debug, Default)]
struct Held<'a> {
    load: Work,
    /// lambda W
    wait: f64,
    met: f64,
    crossings: Vec<Crossing<'a>>,
}

impl Held<'_> {
    /// What the packets that wait here, for other links than its own, bring a packet.
    fn before(&self, own: &Crossing<'_>, part: f64) -> f64 {
        let share = self.load.work;
        if share <= 0.0 || share >= 1.0 {
            return 0.0;
        }
        let other = (1.0 - own.own.work / share).max(0.0);
        let (wait, met) = (other * self.wait, other * self.met);
        let left = self.load.residual / share;
        let held = self.load.residual + met + 2.0 / 3.0 * wait * left;
        let free = 1.0 - share - part * wait;
        if free <= 0.0 {
            return f64::INFINITY;
        }
        (held / free - self.load.queue()).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trains::Packets;

    /// Messages of some packets of 1 ns.
    fn class(packets: f64) -> Class {
        let packets = Packets {
            probability: 1.0,
            full: packets - 1.0,
            full_ns: 1.0,
            full_pace_ns: 1.0,
            last_ns: 1.0,
            last_pace_ns: 1.0,
        };
        Class {
            train: Train::new([packets]).unwrap(),
            by_turns: false,
        }
    }

    /// The wait at link 9, to which nodes send so many messages per ns each over links of their own.
    fn wait(packets: f64, rates: &[f64]) -> f64 {
        let mut network = Network::new(1);
        for (node, &rate) in (0..).zip(rates) {
            network.add(0, rate, node, &[(node, 1), (9, 1)]);
        }
        let classes = [class(packets)];
        network.queues(&classes, f64::INFINITY).waits()[0].last
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
    /// of one waits for the packets of the other before it, K (K - 1/2) ns over all ways to meet.
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
}
