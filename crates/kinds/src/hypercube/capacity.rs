//! Demand of the PEs on the channels and I/O nodes of a hypercube, and the supply of these parts.
//!
//! The supply of a channel is its number of lanes times the bandwidth of a lane. The demand is proportional to the
//! load, so the model of section 6 of the hypercube paper is solved at a light load and scaled. The demand on a kind of
//! channel is the flits of each kind of message, times the mean number of such channels on the route of the message. An
//! I/O node receives PEs * rate * P_io / (number of I/O nodes) requests, where only working PEs and I/O nodes count. A
//! disk with a queue serves 1 / (share of misses * mean access time) requests.

use super::Built;
use super::analysis::utilisation;
use crate::outstanding::Sender;
use isthmus_analytic::hypercube_io::Reading;
use isthmus_experiment::capacity::{Capacity, PartKind, number};
use isthmus_machine::hypercube::spec::HypercubeSpec;
use isthmus_units::Bytes;
use isthmus_workload::spec::TrafficSpec;

/// Load at which the model is solved, as a fraction of the saturation load of the channels: queues stay short.
const LIGHT_LOAD: f64 = 1e-3;

/// Return the name in results, the description in words and the number of lanes of each kind of channel, in the order
/// in which messages cross them.
fn kinds(spec: &HypercubeSpec) -> [(&'static str, &'static str, u32); 9] {
    let lanes = spec.lanes;
    [
        ("pe_inject", "PE to its router", lanes.pe),
        ("link", "link between PEs", lanes.link),
        ("pe_eject", "router to its PE", lanes.pe),
        ("io_node_in", "router to I/O node", lanes.io_node),
        ("io_node_out", "I/O node to router", lanes.io_node),
        ("io_inject", "I/O node to I/O router", lanes.io_source),
        ("io_link", "link between I/O nodes", lanes.io_link),
        ("io_eject", "I/O router to I/O node", lanes.io_source),
        ("io_to_pe", "I/O router to PE router", lanes.io_to_pe),
    ]
}

/// Return the demand of the PEs on each kind of channel and device, and the supply of these parts. `per_ms` is the
/// load of each PE; `None` in a closed loop.
pub(super) fn capacity(built: &Built, traffic: &TrafficSpec, per_ms: Option<f64>) -> Capacity {
    let mut capacity = Capacity::default();
    channels(built, traffic, &mut capacity);
    devices(built, traffic, per_ms, &mut capacity);
    capacity
        .remarks
        .extend(limit_remark(built, traffic, per_ms));
    capacity
}

/// Return a remark if the limit on demands in flight slows the PEs. A message between PEs takes a cycle for each
/// channel and for each flit after the first; its successor starts in the cycle in which its tail arrives. An I/O
/// demand takes at least the request, the device, a start-up and the data, at the nearest I/O node. Its first start-up
/// does not count.
fn limit_remark(built: &Built, traffic: &TrafficSpec, per_ms: Option<f64>) -> Option<String> {
    let (machine, times) = (&built.machine, built.machine.times());
    let clock = machine.clock();
    let flits = |bytes: Bytes| f64::from(clock.flits(bytes));
    let pes = f64::from(machine.cube().node_count());
    let hops = f64::from(built.spec.dimension) / 2.0 * pes / (pes - 1.0).max(1.0) + 2.0;
    let message = hops + flits(traffic.message) - 1.0;
    let misses = 1.0 - built.spec.device.cache_hit_rate;
    let device = times.access as f64 + misses * times.disk.mean_access(traffic.block.get());
    let data = flits(traffic.request) + flits(traffic.block) + machine.startup() as f64;
    let io = traffic.io_probability;
    let cycles = (1.0 - io) * message + io * (device + data);
    Sender {
        field: "workload.outstanding",
        who: "a PE",
        what: match traffic.outstanding.limit()? {
            1 => "demand",
            _ => "demands",
        },
        outstanding: traffic.outstanding,
        alone_us: cycles * clock.cycle_us(),
        each: 1.0,
        asked: Some(per_ms? / 1e3),
        most: None,
    }
    .remark(|per_us| format!("{} /ms", number(per_us * 1e3)))
}

/// Add the demand on each kind of channel and its supply to `capacity`.
fn channels(built: &Built, traffic: &TrafficSpec, capacity: &mut Capacity) {
    let reading = Reading::default();
    let light = built.queueing(traffic).and_then(|queueing| {
        let full = queueing.model.saturation(&reading).ok()?.per_ms(1.0);
        let rate = full * LIGHT_LOAD;
        Some((
            queueing.model.solve(rate, &reading).ok()?,
            queueing.rate / rate,
        ))
    });
    let Some((solution, scale)) = light else {
        capacity.remarks.push(
            "Channels are left out: closed loops, bursts, hot spots, collectives, files that are broken up \
             and faults take the simulation."
                .to_owned(),
        );
        return;
    };
    let lane = built.spec.bandwidth.bits_per_s() as f64 / 8e6;
    let carried = utilisation(&built.machine, &solution);
    for (kind, name, lanes) in kinds(&built.spec) {
        let Some(share) = carried.get(kind).filter(|share| **share > 0.0) else {
            continue;
        };
        let supply = f64::from(lanes) * lane;
        let lanes = match lanes {
            1 => "1 lane".to_owned(),
            lanes => format!("{lanes} lanes"),
        };
        capacity.parts.push(PartKind {
            name: name.to_owned(),
            demand: Some(share * scale * supply),
            at_most: false,
            supply: Some(supply),
            unit: "MB/s",
            basis: format!("{lanes} of {} MB/s, the mean one", number(lane)),
        });
    }
    capacity.remarks.push(
        "Wormholes hold the channels behind them while they wait: channels fill long before 100%."
            .to_owned(),
    );
}

/// Add the demand on I/O nodes and their disks, and the supply of both, to `capacity`.
fn devices(built: &Built, traffic: &TrafficSpec, per_ms: Option<f64>, capacity: &mut Capacity) {
    if traffic.io_probability <= 0.0 {
        return;
    }
    let machine = &built.machine;
    let io_nodes = f64::from(machine.working_io_nodes());
    let pes = f64::from(machine.working_pes());
    let demand = per_ms.map(|rate| rate * pes * traffic.io_probability / io_nodes);
    let times = machine.times();
    let misses = 1.0 - built.spec.device.cache_hit_rate;
    let blocks = traffic.file_blocks_max.min(traffic.file_blocks_split);
    let mean = f64::from(traffic.file_blocks_min.min(blocks) + blocks) / 2.0;
    let bytes = Bytes::new((traffic.block.get() as f64 * mean) as u64);
    let access_ms = times.disk.mean_access(bytes.get()) * machine.clock().cycle_us() / 1e3;
    let (supply, basis) = if misses > 0.0 && times.queued {
        let basis = format!(
            "one disk, {} ms for each of {}% of requests",
            number(access_ms),
            number(100.0 * misses)
        );
        (Some(1.0 / (misses * access_ms)), basis)
    } else {
        (None, "devices are pure delays and never fill".to_owned())
    };
    capacity.parts.push(PartKind {
        name: "I/O node, requests".to_owned(),
        demand,
        at_most: false,
        supply,
        unit: "1/ms",
        basis,
    });
}
