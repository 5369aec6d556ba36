//! Demand of traffic on the links of an SCI fabric, and the supply of the links.
//!
//! A packet of s symbols occupies each link that it crosses for s + 1 cycles. Its echo occupies for e + 1 cycles each
//! link from the point where the packet left the ring to the point where it entered. A link carries a symbol per
//! cycle. The demand of a transaction on a link is a sum over its packets: sends times s + 1 plus echoes times e + 1
//! ([`bottleneck`](isthmus_analytic::sci::bottleneck)). The fabric is full when the busiest link is.

use super::analysis::{self, Patterns};
use crate::outstanding::Sender;
use isthmus_experiment::capacity::{Capacity, PartKind, bandwidth, number};
use isthmus_experiment::subject::Overlay;
use isthmus_machine::sci::Machine;
use isthmus_workload::packets::spec::PacketTraffic;

/// Number of MB/s in a GB/s.
const MB: f64 = 1e3;

/// Number of idle symbols behind every packet.
const IDLE: f64 = 1.0;

/// Return the demand of the traffic on the links of the fabric and the supply of the links. `overlay` contains the
/// load at which the busiest link is full, if known.
pub(super) fn capacity(machine: &Machine, traffic: &PacketTraffic, overlay: &Overlay) -> Capacity {
    let fabric = machine.fabric();
    let load = traffic.load.bits_per_s() as f64 / 8e9;
    let live = fabric.live_nodes();
    let senders = match traffic.senders.len() {
        0 => live.len(),
        _ => traffic
            .senders
            .iter()
            .filter(|&sender| live.contains(sender))
            .count(),
    };
    let lengths = machine.lengths(traffic);
    let link = machine.spec().bandwidth.bits_per_s() as f64 / 8e6;
    let payload = traffic.payload.get() as f64;
    let symbol = machine.spec().symbol.get() as f64;
    let longest = f64::from(lengths.request.max(lengths.response.unwrap_or(0)));
    let slot = (longest + IDLE) * symbol;
    let mut capacity = Capacity::default();
    capacity.parts.push(PartKind {
        name: "link of a node".to_owned(),
        demand: Some(load * MB / senders.max(1) as f64),
        at_most: false,
        supply: Some(link * payload / slot),
        unit: "MB/s",
        basis: format!(
            "{} B of data in packets of {} B, on one ring alone",
            payload,
            number(slot)
        ),
    });
    if let Some(full) = overlay.saturation {
        let place = overlay.bottleneck.as_deref().unwrap_or("the busiest link");
        capacity.parts.push(PartKind {
            name: "fabric, by its busiest link".to_owned(),
            demand: Some(load * MB),
            at_most: false,
            supply: Some(full * MB),
            unit: "MB/s",
            basis: format!(
                "{place} is full of packets, echoes and idles of {}",
                bandwidth(link)
            ),
        });
    } else {
        capacity.remarks.push(
            "How full links are is left out: with go bits, and for patterns other than uniform traffic on \
             large fabrics, it takes the simulation."
                .to_owned(),
        );
    }
    capacity
}

/// Return a remark for the user if the limit on transactions in flight slows the nodes, else `None`.
pub(super) fn limited(
    machine: &Machine,
    traffic: &PacketTraffic,
    patterns: &Patterns,
) -> Option<String> {
    let alone_us = analysis::alone_us(machine, traffic, patterns)?;
    let load = traffic.load.bits_per_s() as f64 / 8e6;
    let live = machine.fabric().live_nodes();
    let senders = match traffic.senders.as_slice() {
        [] => live.len(),
        listed => listed.iter().filter(|node| live.contains(node)).count(),
    };
    Sender {
        field: "workload.outstanding",
        who: "a node",
        what: &match traffic.outstanding.limit()? {
            1 => format!("transaction of {}", traffic.payload),
            _ => format!("transactions of {}", traffic.payload),
        },
        outstanding: traffic.outstanding,
        alone_us,
        each: traffic.payload.get() as f64,
        asked: Some(load / senders.max(1) as f64),
        most: None,
    }
    .remark(bandwidth)
}
