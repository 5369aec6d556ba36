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

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the remark on a limit against a calculation by hand. Reads on a ring of 8: the response carries the
    /// data, the request none. Each direction takes its symbols and 4 links on average.
    #[test]
    fn the_send_rate_under_a_limit_is_as_calculated_by_hand() {
        let said = |outstanding: &str| {
            let text = format!(
                "version = 1\nname = \"x\"\n[machine]\nkind = \"sci\"\nfabric = \"ring\"\nsize = 8\n\
                 [workload]\nload = \"0.8 GB/s\"\ntransaction = \"read\"\noutstanding = {outstanding}\n"
            );
            let scenario = crate::KINDS.parse(&text, "s.toml", &[]).unwrap();
            let machine = Machine::new(scenario.machine.expect()).unwrap();
            let lengths = machine.lengths(scenario.workload.expect());
            let symbols = f64::from(lengths.request + lengths.response.unwrap());
            let hop = machine.clock().cycles_exact(machine.spec().hop);
            let ns = (symbols + 2.0 * 4.0 * hop) * machine.clock().cycle_us() * 1e3;
            let options = isthmus_experiment::Options::default();
            let experiment =
                isthmus_experiment::Experiment::new(&crate::KINDS, scenario, options).unwrap();
            (ns, experiment.capacity()[0].remarks.join(" "))
        };
        let (ns, one) = said("1");
        // The bound is 64 B per `ns` nanoseconds; the offered load is 100 MB/s.
        let expected = format!("a node sends at most {}", bandwidth(64.0 / ns * 1e3));
        match 64.0 / ns * 1e3 < 100.0 {
            true => assert!(one.contains(&expected), "{one} without {expected}"),
            false => assert!(!one.contains("under way"), "{one}"),
        }
        assert!(!said("64").1.contains("under way"));
        assert!(!said("\"unlimited\"").1.contains("under way"));
    }

    /// Checks the demand on a link against a calculation by hand. On a ring of 8 nodes, uniform packets cross 4 of 8
    /// links on average, echoes the other 4. A packet has s symbols and its echo e, so each packet of any node loads
    /// a link with half of s + 1 and half of e + 1. The link is full at one symbol per cycle.
    #[test]
    fn the_demand_on_a_ring_is_as_calculated_by_hand() {
        let text = r#"
version = 1
name = "x"
[machine]
kind = "sci"
fabric = "ring"
size = 8
[workload]
load = "0.5 GB/s"
"#;
        let scenario = crate::KINDS.parse(text, "s.toml", &[]).unwrap();
        let experiment = isthmus_experiment::Experiment::new(
            &crate::KINDS,
            scenario.clone(),
            isthmus_experiment::Options::default(),
        )
        .unwrap();
        let found = &experiment.capacity()[0];
        let machine = Machine::new(scenario.machine.expect()).unwrap();
        let traffic = scenario.workload.expect();
        let request = f64::from(machine.lengths(traffic).request);
        let slots = (request + 1.0 + f64::from(machine.echo_symbols()) + 1.0) / 2.0;
        let payload = traffic.payload.get() as f64;
        let full = payload / slots / (machine.clock().cycle_us() * 1e3) * 1e3;
        let fabric = &found.parts[1];
        assert!(
            (fabric.supply.unwrap() - full).abs() < 1e-9 * full,
            "{fabric:?} {full}"
        );
        assert_eq!(fabric.demand, Some(500.0));
        assert_eq!(found.parts[0].demand, Some(62.5));
        assert_eq!(found.load, Some(0.5));
    }
}
