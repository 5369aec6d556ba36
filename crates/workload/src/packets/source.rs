//! Generates the packets of each node: their times and their destinations.

use crate::gaps::Gaps;
use crate::others::Others;
use crate::packets::spec::{PacketTraffic, Spacing};
use isthmus_kernel::{Chance, Cycles, Gap, Stream, Streams};
use isthmus_units::Clock;

/// A transaction that a node starts: its time and its destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The cycle in which the node generates the transaction.
    pub time: Cycles,
    /// The node that the transaction goes to, never the sender.
    pub destination: u32,
}

/// Source of the packets that each node generates. Responses are not included.
///
/// Gaps are exact to a fraction of a cycle. A packet is generated in the cycle that contains its
/// exact time, so rounding errors do not accumulate and the long-run mean is correct.
///
/// Each node draws its gaps from its stream "arrival" and its destinations from its stream
/// "destination". So loads can be compared under the same destinations, and the packets of one
/// node do not depend on calls for other nodes.
///
/// ```
/// use isthmus_kernel::Streams;
/// use isthmus_units::{Bandwidth, Bytes, Clock, Time};
/// use isthmus_workload::Outstanding;
/// use isthmus_workload::packets::PacketSource;
/// use isthmus_workload::packets::spec::{PacketTraffic, Spacing, Transaction};
///
/// // Table 1 of the SCI paper: 2 ns a symbol, 64 bytes at 1 GB/s from four nodes together.
/// let clock = Clock::new(Bytes::new(2), Bandwidth::from_mb_per_s(1_000)).unwrap();
/// let traffic = PacketTraffic {
///     load: Bandwidth::from_mb_per_s(1_000),
///     spacing: Spacing::Deterministic,
///     phases: 1.0,
///     transaction: Transaction::Move,
///     payload: Bytes::new(64),
///     senders: Vec::new(),
///     hot_node: None,
///     turnaround: Time::ZERO,
///     outstanding: Outstanding::Unlimited,
/// };
/// let mut source = PacketSource::new(&traffic, &[0, 1, 2, 3], clock, Streams::new(1, 0));
/// let (first, second) = (source.next(2), source.next(2));
/// // A packet of each node every 64 B / (1 GB/s / 4) = 256 ns, which are 128 cycles.
/// assert_eq!(second.time - first.time, 128);
/// assert_ne!(second.destination, 2);
/// ```
#[derive(Debug, Clone)]
pub struct PacketSource {
    gaps: Gaps,
    /// Mean time between two packets of a node, in cycles.
    mean: f64,
    hot: Option<(Chance, u32)>,
    /// The nodes in service (working and connected), ascending.
    live: Vec<u32>,
    /// Chooses a random destination as an index in `live`, never that of the sender.
    others: Option<Others>,
    senders: Vec<u32>,
    nodes: Vec<Node>,
    /// For each node number, the index of the node in `nodes`.
    node_index: Vec<u32>,
}

/// State of one node that sends packets: its next time to send, and the streams of its random numbers.
#[derive(Debug, Clone)]
struct Node {
    /// Index of the node in the list of live nodes.
    own: u32,
    has_sent: bool,
    time: Cycles,
    gap: Gap,
    arrival: Stream,
    destination: Stream,
}

impl PacketSource {
    /// Return the packets of `traffic` on a fabric whose nodes `live`, ascending, are in service.
    ///
    /// A sender that is out of service does not send; the other senders share the whole load. Each packet carries one
    /// payload, so the mean gap of a node is payload * senders / load (Table 1 of the SCI paper: 64/(total offered
    /// load/N)). A hot node that is out of service is ignored. With fewer than two nodes in service no node sends.
    ///
    /// # Panics
    /// If the load is zero or `live` is not ascending.
    pub fn new(traffic: &PacketTraffic, live: &[u32], clock: Clock, streams: Streams) -> Self {
        assert!(traffic.load.bits_per_s() > 0, "a load of zero has no gaps");
        assert!(
            live.is_sorted_by(|a, b| a < b),
            "the nodes in service must be ascending"
        );
        let others = Others::among(u32::try_from(live.len()).unwrap_or(u32::MAX));
        let sends = |node: &u32| {
            others.is_some() && (traffic.senders.is_empty() || traffic.senders.contains(node))
        };
        let mut node_index = vec![u32::MAX; live.last().map_or(0, |&last| last as usize + 1)];
        let (mut senders, mut nodes) = (Vec::new(), Vec::new());
        for (own, &node) in (0u32..).zip(live) {
            if !sends(&node) {
                continue;
            }
            node_index[node as usize] = nodes.len() as u32;
            senders.push(node);
            nodes.push(Node {
                own,
                has_sent: false,
                time: 0,
                gap: Gap::default(),
                arrival: streams.stream("arrival", node.into()),
                destination: streams.stream("destination", node.into()),
            });
        }
        let bits = traffic.payload.get() as f64 * 8.0 * senders.len() as f64;
        let mean_us = bits * 1e6 / traffic.load.bits_per_s() as f64;
        let hot = traffic.hot_node;
        Self {
            gaps: match traffic.spacing {
                Spacing::Exponential => Gaps::Exponential,
                Spacing::Deterministic => Gaps::Equal {
                    phases: traffic.phases,
                },
            },
            mean: mean_us / clock.cycle_us(),
            hot: hot
                .filter(|hot| live.binary_search(&hot.node).is_ok())
                .map(|hot| (Chance::new(hot.probability), hot.node)),
            live: live.to_vec(),
            others,
            senders,
            nodes,
            node_index,
        }
    }

    /// Return the nodes that send, ascending.
    pub fn senders(&self) -> &[u32] {
        &self.senders
    }

    /// Return the mean time between two packets of a node, in cycles.
    pub fn mean_gap(&self) -> f64 {
        self.mean
    }

    /// Return the next packet of `node`, whose random time is not before its previous packet. The first packet follows
    /// cycle 0 after a random gap; with deterministic spacing, it follows after a phase that is uniform over `phases`
    /// gaps.
    ///
    /// # Panics
    /// If `node` is not one of the [`senders`](Self::senders).
    #[inline]
    pub fn next(&mut self, node: u32) -> Request {
        let others = self.others.expect("a sender has others to send to");
        let sender = &mut self.nodes[self.node_index[node as usize] as usize];
        let gap = match sender.has_sent {
            true => (self.gaps).next(self.mean, &mut sender.gap, &mut sender.arrival),
            false => (self.gaps).first(self.mean, &mut sender.gap, &mut sender.arrival),
        };
        sender.has_sent = true;
        sender.time += gap;
        let time = sender.time;
        if let Some((chance, hot)) = self.hot
            && chance.draw(&mut sender.destination)
            && hot != node
        {
            return Request {
                time,
                destination: hot,
            };
        }
        let index = others.draw(sender.own, &mut sender.destination);
        Request {
            time,
            destination: self.live[index as usize],
        }
    }
}
