//! Numbers of packets, and times between packets, for messages of variable length.

use crate::jobs::ns;
use isthmus_analytic::packets::Rules;
use isthmus_analytic::trains::Packets;
use isthmus_machine::packets::spec::NetworkSpec;
use isthmus_workload::jobs::spec::{Sizes, Spread};

/// Number of intervals of equal width per mean length, into which a distribution of lengths is divided.
const CELLS: f64 = 64.0;

/// Longest length as a multiple of the mean: an exponential distribution exceeds it with probability 10^-9.
const LONGEST: f64 = 20.0;

/// Parameters that determine the time between packets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace<'a> {
    pub spec: &'a NetworkSpec,
    pub rules: &'a Rules,
    /// Factor by which the packets that a node receives slow the node's DMA engine.
    pub slower: f64,
}

/// Return the packets of messages of these sizes: each possible length with its probability.
pub(super) fn lengths(sizes: Sizes, pace: Pace<'_>) -> Vec<Packets> {
    let Pace {
        spec,
        rules,
        slower,
    } = pace;
    let payload = rules.interface.payload;
    let engine = |data: f64| {
        let blocks = (data / rules.interface.padding.max(1.0)).ceil();
        (ns(spec.nic.dma_period) + blocks * ns(spec.nic.dma_block)) * slower
    };
    let packets = |(probability, bytes): (f64, f64)| {
        let full = ((bytes / payload).ceil() - 1.0).max(0.0);
        let last = bytes - full * payload;
        let [full_ns, last_ns] = [payload, last].map(|data| rules.packet_ns(data));
        Packets {
            probability,
            full,
            full_ns,
            full_pace_ns: full_ns.max(engine(payload)),
            last_ns,
            last_pace_ns: last_ns.max(engine(last)),
        }
    };
    spread(sizes).into_iter().map(packets).collect()
}

/// Return each possible length of messages in bytes with its probability, for a distribution of sizes.
fn spread(sizes: Sizes) -> Vec<(f64, f64)> {
    let mean = sizes.mean.get() as f64;
    let cells = |most: f64, above: &dyn Fn(f64) -> f64| -> Vec<(f64, f64)> {
        let edge = |cell: u32| f64::from(cell) / CELLS;
        let all = 1.0 - above(most);
        let cell = |cell: u32| {
            let within = above(edge(cell)) - above(edge(cell + 1));
            (within / all, (edge(cell) + edge(cell + 1)) / 2.0 * mean)
        };
        (0..(most * CELLS) as u32).map(cell).collect()
    };
    match sizes.spread {
        Spread::Fixed => vec![(1.0, mean)],
        Spread::Exponential => cells(LONGEST, &|ratio| (-ratio).exp()),
        Spread::Uniform => cells(2.0, &|ratio| 1.0 - ratio / 2.0),
    }
}
