//! Demands of the PEs: messages, reads, writes and collective I/O.

use crate::arrival::Arrivals;
use crate::others::Others;
use crate::spec::{FileLayout, HotSpot, TrafficSpec};
use isthmus_kernel::{Chance, Cycles, Gap, Stream, Streams, Uniform};
use isthmus_units::Clock;

/// One demand of a PE (processing element): a message to send, a file to read or write, or a collective I/O operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Demand {
    /// A message to another processing element (PE).
    Message {
        /// Number of the processing element (PE) that receives the message.
        to: u32,
    },
    /// Read a file of `blocks` blocks.
    Read {
        /// File size in blocks.
        blocks: u32,
    },
    /// Write a file of `blocks` blocks.
    Write {
        /// File size in blocks.
        blocks: u32,
    },
    /// Read one block and send it to all processing elements (PEs).
    Broadcast,
    /// Read blocks and send one to each processing element (PE) of a group.
    Scatter,
    /// Collect one block from each processing element (PE) of a group.
    Gather,
}

/// Location of a block of a file, relative to the I/O node that received the request for the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Location {
    /// The block is at the I/O node that received the request.
    Local,
    /// The block is at the other I/O node with this number.
    Remote(u32),
}

/// The random streams and arrival state of one processing element (PE).
#[derive(Debug, Clone)]
struct Source {
    stream: Stream,
    gap: Gap,
}

/// The traffic of all processing elements (PEs) of a machine: draws times, kinds and targets of the demands.
#[derive(Debug, Clone)]
pub struct Traffic {
    sources: Vec<Source>,
    arrivals: Arrivals,
    io: Chance,
    read: Chance,
    local: Chance,
    file_blocks: Option<(u32, Uniform)>,
    fixed_blocks: u32,
    hot_pe: Option<(Chance, u32)>,
    hot_io_node: Option<(Chance, u32)>,
    broadcast: Chance,
    scatter: Chance,
    gather: Chance,
    collective: bool,
    layout: FileLayout,
    others: Option<Others>,
    group: u32,
}

impl Traffic {
    /// Return the traffic `spec` of `pes` processing elements (PEs). Each PE draws from stream "pe" with its own
    /// number.
    pub fn new(spec: &TrafficSpec, clock: Clock, pes: u32, streams: Streams) -> Self {
        let hot = |spot: Option<HotSpot>| spot.map(|s| (Chance::new(s.probability), s.target));
        let sources = (0..pes)
            .map(|pe| Source {
                stream: streams.stream("pe", u64::from(pe)),
                gap: Gap::default(),
            })
            .collect();
        let (min, max) = (spec.file_blocks_min, spec.file_blocks_max);
        let collectives = spec.collectives;
        // Convert shares of demands to conditional probabilities. Whether a demand is a broadcast is drawn first. If it
        // is not, whether it is a scatter is drawn, and then whether it is a gather.
        let scatter = collectives.scatter / (1.0 - collectives.broadcast);
        let gather =
            collectives.gather / (1.0 - collectives.broadcast - collectives.scatter).max(0.0);
        Self {
            sources,
            arrivals: Arrivals::new(spec.arrival, clock),
            io: Chance::new(spec.io_probability),
            read: Chance::new(spec.read_ratio),
            local: Chance::new(spec.locality),
            file_blocks: (max > min).then(|| (min, Uniform::below(max - min + 1))),
            fixed_blocks: min,
            hot_pe: hot(spec.hot_pe),
            hot_io_node: hot(spec.hot_io_node),
            broadcast: Chance::new(collectives.broadcast),
            scatter: Chance::new(if scatter.is_finite() { scatter } else { 0.0 }),
            gather: Chance::new(if gather.is_finite() { gather } else { 0.0 }),
            collective: collectives.broadcast + collectives.scatter + collectives.gather > 0.0,
            layout: spec.layout,
            others: Others::among(pes),
            group: collectives.group.clamp(1, pes.max(1)),
        }
    }

    /// Return whether the next demand of a processing element (PE) waits for the completion of an earlier demand.
    pub fn is_closed(&self) -> bool {
        self.arrivals.is_closed()
    }

    /// Return the layout of the blocks of a file on the I/O nodes.
    pub fn layout(&self) -> FileLayout {
        self.layout
    }

    /// Return the number of demands with which a processing element (PE) starts: in a closed loop its number of
    /// outstanding demands, otherwise one.
    pub fn initial(&self) -> u32 {
        self.arrivals.initial()
    }

    /// Draw the number of cycles from the start of the run to the first demand of `pe`.
    pub fn first(&mut self, pe: u32) -> Cycles {
        let source = &mut self.sources[pe as usize];
        self.arrivals.first(&mut source.gap, &mut source.stream)
    }

    /// Draw the number of cycles from a demand of `pe` to its next demand (open loop), or from a completion to its next
    /// demand (closed loop).
    #[inline]
    pub fn next(&mut self, pe: u32) -> Cycles {
        let source = &mut self.sources[pe as usize];
        self.arrivals.next(&mut source.gap, &mut source.stream)
    }

    /// Draw the next demand of `pe` (section 4.3 of the hypercube paper). The hot processing element (PE) sends its own
    /// messages to the other PEs, uniformly.
    #[inline]
    pub fn demand(&mut self, pe: u32) -> Demand {
        let stream = &mut self.sources[pe as usize].stream;
        let Some(others) = self.others else {
            // Draw an I/O demand if the machine has only one PE, which cannot send messages to another.
            return self.io_demand(pe);
        };
        if self.io.draw(stream) {
            return self.io_demand(pe);
        }
        if let Some((chance, target)) = self.hot_pe
            && chance.draw(stream)
            && target != pe
        {
            return Demand::Message { to: target };
        }
        Demand::Message {
            to: others.draw(pe, stream),
        }
    }

    /// Draw a new receiver for a message of `pe`, uniform over the other processing elements (PEs).
    ///
    /// # Panics
    /// If the machine has only one PE.
    pub fn receiver(&mut self, pe: u32) -> u32 {
        let others = self.others.expect("a machine of several PEs");
        others.draw(pe, &mut self.sources[pe as usize].stream)
    }

    /// Draw a demand of `pe` for I/O: a read, a write or a collective operation.
    fn io_demand(&mut self, pe: u32) -> Demand {
        let stream = &mut self.sources[pe as usize].stream;
        if self.collective {
            if self.broadcast.draw(stream) {
                return Demand::Broadcast;
            }
            if self.scatter.draw(stream) {
                return Demand::Scatter;
            }
            if self.gather.draw(stream) {
                return Demand::Gather;
            }
        }
        let read = self.read.draw(stream);
        let blocks = match self.file_blocks {
            None => self.fixed_blocks,
            Some((min, spread)) => min + spread.draw(stream),
        };
        if read {
            Demand::Read { blocks }
        } else {
            Demand::Write { blocks }
        }
    }

    /// Draw the location of a block that was requested at I/O node `io_node` of `io_nodes`. The hot I/O node has the
    /// block with its configured probability. Otherwise the block is at `io_node` with the probability of locality,
    /// else at any other I/O node with equal probability (spherical locality, Fig. 3 of the hypercube paper). `stream`
    /// must belong to I/O node `io_node`.
    #[inline]
    pub fn locate(&self, io_node: u32, io_nodes: u32, stream: &mut Stream) -> Location {
        if let Some((chance, target)) = self.hot_io_node
            && chance.draw(stream)
        {
            return if target == io_node {
                Location::Local
            } else {
                Location::Remote(target)
            };
        }
        match Others::among(io_nodes) {
            Some(others) if !self.local.draw(stream) => {
                Location::Remote(others.draw(io_node, stream))
            }
            _ => Location::Local,
        }
    }

    /// Return the processing elements (PEs) of a scatter or gather by `pe`: `pe` and the PEs with the next higher
    /// numbers.
    pub fn group(&self, pe: u32) -> impl Iterator<Item = u32> + use<> {
        let pes = self.sources.len() as u32;
        (0..self.group).map(move |k| ((u64::from(pe) + u64::from(k)) % u64::from(pes)) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Collectives;
    use isthmus_units::{Bandwidth, Bytes};
    use std::collections::BTreeMap;

    /// Return the traffic of `pes` processing elements (PEs) with a fixed seed.
    fn traffic(spec: &TrafficSpec, pes: u32) -> Traffic {
        let clock = Clock::new(Bytes::new(1), Bandwidth::from_mb_per_s(20)).unwrap();
        Traffic::new(spec, clock, pes, Streams::new(11, 0))
    }

    /// Return whether `count` of `n` random trials is plausible for the probability `p`: within four standard
    /// deviations of the binomial distribution.
    fn near(count: usize, n: usize, p: f64) -> bool {
        let n = n as f64;
        (count as f64 / n - p).abs() <= 4.0 * (p * (1.0 - p) / n).sqrt()
    }

    /// Checks that messages, reads, writes and collective operations occur with the requested probabilities.
    #[test]
    fn demands_have_the_requested_shares() {
        let spec = TrafficSpec {
            io_probability: 0.3,
            read_ratio: 0.75,
            collectives: Collectives {
                broadcast: 0.1,
                scatter: 0.2,
                gather: 0.3,
                group: 4,
            },
            ..TrafficSpec::default()
        };
        let mut traffic = traffic(&spec, 8);
        let n = 100_000;
        let mut counts = [0; 6];
        for k in 0..n {
            let at = match traffic.demand(k as u32 % 8) {
                Demand::Message { to } => {
                    assert!(to < 8 && to != k as u32 % 8);
                    0
                }
                Demand::Read { .. } => 1,
                Demand::Write { .. } => 2,
                Demand::Broadcast => 3,
                Demand::Scatter => 4,
                Demand::Gather => 5,
            };
            counts[at] += 1;
        }
        let expected = [0.7, 0.3 * 0.4 * 0.75, 0.3 * 0.4 * 0.25, 0.03, 0.06, 0.09];
        for (count, p) in counts.into_iter().zip(expected) {
            assert!(near(count, n, p), "{counts:?}");
        }
    }

    /// Checks that the hot processing element (PE) receives its extra share of the messages, and the other PEs receive
    /// equal shares.
    #[test]
    fn receivers_are_uniform_except_the_hot_one() {
        let spec = TrafficSpec {
            io_probability: 0.0,
            hot_pe: Some(HotSpot {
                target: 2,
                probability: 0.25,
            }),
            ..TrafficSpec::default()
        };
        let mut traffic = traffic(&spec, 5);
        let n = 100_000;
        let mut counts = BTreeMap::new();
        for _ in 0..n {
            *counts.entry(traffic.demand(0)).or_insert(0usize) += 1;
        }
        for to in [1, 3, 4] {
            assert!(near(counts[&Demand::Message { to }], n, 0.75 / 4.0));
        }
        assert!(near(
            counts[&Demand::Message { to: 2 }],
            n,
            0.25 + 0.75 / 4.0
        ));
    }

    /// Checks that a block is at the local I/O node with the requested probability, else at any other I/O node with
    /// equal probability.
    #[test]
    fn remote_blocks_are_spread_evenly_over_the_other_io_nodes() {
        let spec = TrafficSpec {
            locality: 0.3,
            ..TrafficSpec::default()
        };
        let traffic = traffic(&spec, 8);
        let mut stream = Streams::new(1, 0).stream("io node", 3);
        let n = 100_000;
        let mut counts = [0usize; 5];
        for _ in 0..n {
            match traffic.locate(3, 5, &mut stream) {
                Location::Local => counts[3] += 1,
                Location::Remote(node) => {
                    assert_ne!(node, 3);
                    counts[node as usize] += 1;
                }
            }
        }
        for (node, count) in counts.into_iter().enumerate() {
            assert!(near(count, n, if node == 3 { 0.3 } else { 0.7 / 4.0 }));
        }
    }
}
